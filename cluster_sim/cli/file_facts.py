"""What a file or a folder holds, in facts for people: what ``cluster-sim validate`` tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from cluster_sim.cli.config import settings_of
from cluster_sim.cli.kinds import Kind
from cluster_sim.cli.simulate import check, load
from cluster_sim.errors import counted, naming
from cluster_sim.extras import pip_line
from cluster_sim.formats.platform_files import has_time_unit
from cluster_sim.formats.reservations import read_reservations
from cluster_sim.models.power import power_models, watts
from cluster_sim.platform.platform import NodeType, Platform
from cluster_sim.records.assumptions import of_jobs, of_platform, of_simulation
from cluster_sim.records.result import Result
from cluster_sim.run.hosts import unstated_size
from cluster_sim.workload.fields import RESULT_TABLES
from cluster_sim.workload.workload import Workload

Facts = list[tuple[str, str]]
ASSUMED = "assumed"
CAUTIONS = (ASSUMED, "left_out", "happened")
"""The name of a fact that there may be several of: what a run will assume, or did."""


def facts_of(source: str, kind: Kind, options: dict[str, Any]) -> Facts:
    """Read all of a file or a folder of that kind, and say what it holds. Raises InputError for what is wrong."""
    if kind == "platform":
        return platform_facts(Platform.read(source, **(options if has_time_unit(source) else {})))
    if kind == "workload":
        return workload_facts(Workload.read(source, **options))
    return _FACTS[kind](source)


def platform_facts(platform: Platform) -> Facts:
    """Return what a platform holds, for people."""
    counts = platform.type_of_node
    facts = [
        ("id", platform.id),
        ("clusters", ", ".join(f"{c.id} ({counted(c.node_count, 'node')})" for c in platform.clusters)),
        ("nodes", f"{platform.node_count:,}"),
        ("processors", f"{platform.processor_count:,}"),
        ("cores", f"{platform.core_count:,}"),
        ("contention model", platform.contention_model),
        ("power model", platform.power_model),
    ]
    for index, node in enumerate(platform.node_types):
        facts.append((f"{int((counts == index).sum()):,} × {node.name}", _node_text(node, platform)))
    return facts + _assumed(of_platform(platform))


def workload_facts(workload: Workload) -> Facts:
    """Return what a workload holds, for people."""
    jobs = workload.jobs
    submit, cores = jobs["submit_time"].to_numpy(), jobs["requested_cores"].to_numpy()
    recorded = jobs["recorded_run_time"].to_numpy()
    given_as_work = int(jobs["operations"].notna().sum())
    asked = np.isfinite(jobs["requested_time"]) & ~jobs["requested_time_assumed"].astype(bool)
    users = set(jobs["user"]) - {""}
    resource = "hosts" if workload.counts_hosts else "cores"
    date = workload.start_date
    origin = f"{workload.origin_s:,.0f} s of the source" if date is None else f"{date:%Y-%m-%d %H:%M:%S %z}"
    facts = [
        ("name", workload.name),
        ("jobs", f"{len(jobs):,}"),
        ("submissions", f"{submit[0]:,.0f} s to {submit[-1]:,.0f} s ({(submit[-1] - submit[0]) / 86400:,.2f} days)"),
        ("origin", f"{origin} is 0 s here"),
        (f"{resource} per job", f"{cores.min():,} to {cores.max():,}, mean {cores.mean():,.2f}"),
        (
            "work",
            f"{counted(given_as_work, 'job')} in operations, {counted(len(jobs) - given_as_work, 'job')} in run time",
        ),
        ("recorded core-hours", f"{np.nansum(recorded * cores) / 3600:,.1f}"),
        ("requested time", f"{counted(int(asked.sum()), 'job')}"),
        ("ran longer than requested", counted(int((recorded[asked] > jobs["requested_time"][asked]).sum()), "job")),
        ("memory volume", f"{counted(int((jobs['mem_vol'] > 0).sum()), 'job')}"),
        ("users", f"{len(users):,}" if users else "not known"),
    ]
    stated = workload.stated_procs
    if stated is not None:
        facts.append((f"{resource} of the log's machine", f"{stated:,}"))
        facts.append(("wider than that machine", counted(int((cores > stated).sum()), "job")))
    elif workload.header:
        reason = unstated_size(workload)
        facts.append((f"{resource} of the log's machine", f"not known, {reason}; the widest job has {cores.max():,}"))
    return facts + _assumed(of_jobs(workload.columns))


def _configuration_facts(source: str) -> Facts:
    settings = settings_of(source, {})
    platform, workload = load(settings, [settings.scheduler])
    with naming(source):
        (simulation,) = check(settings, [settings.scheduler], platform, workload)
    facts = [
        ("platform", f"{settings.platform or 'as the log says'}: {counted(platform.node_count, 'node')}"),
        ("workload", f"{settings.workload}: {counted(len(workload), 'job')}"),
        ("scheduler", settings.scheduler),
        ("power policy", settings.power_policy),
        ("contention model", settings.contention_model or platform.contention_model),
        ("power model", settings.power_model or platform.power_model),
        ("seed", str(settings.seed)),
        ("quirks", ", ".join(settings.quirks) or "none"),
    ]
    return facts + _assumed(of_simulation(simulation, workload))


def _training_facts(source: str) -> Facts:
    from learning.training.configuration import read_config
    from learning.training.training import check

    config = read_config(source)
    with naming(source):
        assumptions = check(config)
    environment = config.environment
    logs = [environment, *(environment.also or ())]
    platforms = dict.fromkeys(log.platform or environment.platform or "the built-in case" for log in logs)
    return [
        ("environment", environment.kind),
        ("platform", ", ".join(platforms)),
        ("workload", ", ".join(log.workload or "the built-in case" for log in logs)),
        ("algorithm", config.algorithm.name),
        ("network", config.network),
        ("iterations", f"{config.iterations:,} of {counted(config.episodes, 'episode')}"),
        ("trainings", f"{config.seeds:,}"),
        ("baselines", ", ".join(config.baselines) or "none"),
        *_assumed(assumptions),
    ]


def _sweep_facts(source: str) -> Facts:
    from analysis.sweep import Grid
    from analysis.sweep.checks import check

    grid = Grid.read(source)
    assumptions = check(grid)
    factors = [(name, counted(len(values), "value")) for name, values in grid.factors.items() if len(values) > 1]
    size = [("replications", f"{grid.config.replications:,}"), ("runs", f"{len(grid):,}")]
    lacking = [] if find_spec("pyarrow") else [("sweep needs", f"pyarrow: {pip_line('parquet')}")]
    return [*factors, *size, *lacking, *_assumed(assumptions)]


def _reservations_facts(source: str) -> Facts:
    found = read_reservations(source)
    facts = [(entry.name, f"{entry.start:,g} s to {entry.end:,g} s on {entry.nodes}") for entry in found]
    return facts or [("none", "")]


def _result_facts(source: str) -> Facts:
    result = Result.load(source)
    tables = {name: len(getattr(result, name)) for name in RESULT_TABLES}
    said = {name: str(result.meta.get(name, "")) for name in ("platform", "workload", "scheduler", "power_policy")}
    counts = ((name, counted(rows, "row")) for name, rows in tables.items())
    return [*said.items(), *counts, *[(kind, line) for kind in CAUTIONS for line in getattr(result.cautions, kind)]]


def _agent_facts(source: str) -> Facts:
    from analysis.tables.wording import label_of
    from learning.training.agent import Agent, find_agents
    from learning.training.heuristics import REWARD

    folders = find_agents(source)
    agents = [Agent.load(folder) for folder in folders]
    best = agents[0]
    known = {name: str(best.facts[name]) for name in ("objective", "value", "iteration") if name in best.facts}
    if known.get("objective") == REWARD:
        known["objective"] = label_of(REWARD)  # which the value is
    return [
        ("agents", f"{len(agents)}, the best in {folders[0]}"),
        ("decides", {"scheduler": "about jobs", "power": "about nodes", "both": "about jobs and nodes"}[best.decides]),
        ("network", best.network),
        ("weights", f"{sum(weight.size for weight in best.weights.values()):,}"),
        *known.items(),
    ]


_FACTS: dict[Kind, Callable[[str], Facts]] = {
    "configuration": _configuration_facts,
    "training configuration": _training_facts,
    "sweep configuration": _sweep_facts,
    "reservations": _reservations_facts,
    "results": _result_facts,
    "agent": _agent_facts,
}


def _assumed(lines: Sequence[str]) -> Facts:
    """Return a fact for each line about what a run assumes."""
    return [(ASSUMED, line) for line in lines]


def _node_text(node: NodeType, platform: Platform) -> str:
    model = power_models.make(platform.power_model)
    groups = []
    for processor in dict.fromkeys(node.processors):
        number = node.processors.count(processor)
        contends = "" if processor.contention else ", no contention"
        groups.append(f"{number} × {processor.name} ({processor.cores} cores, {processor.clock_ghz:g} GHz{contends})")
    idle = sum(watts(model, processor, 0) for processor in node.processors)
    full = sum(watts(model, processor, processor.cores) for processor in node.processors)
    hosts = f"; {counted(node.hosts, 'host')} of Batsim's" if node.hosts else ""
    memory = "unlimited memory" if node.memory_gb is None else f"{node.memory_gb:g} GB"
    return f"{', '.join(groups)}{hosts}; {memory}; {idle:,.1f} W idle, {full:,.1f} W busy"
