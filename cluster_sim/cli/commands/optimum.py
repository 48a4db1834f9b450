"""``cluster-sim optimum``: the best schedule of a small instance, and how far schedulers are from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cluster_sim.cli.group import Invocation
from cluster_sim.cli.options import DeclaringCommand, given, out_option, setting_options, specs_option

if TYPE_CHECKING:
    from cluster_sim.platform.platform import Platform
    from schedulers.optimum import Optimum

SEARCH: dict[str, dict[str, Any]] = {
    "objective": {},
    "waiting": {},
    "max_nodes": {"metavar": "N"},
    "max_seconds": {"metavar": "S", "default": None},
    "order": {},
}
"""Options of the search, with click's arguments."""


@click.command(
    cls=DeclaringCommand,
    declared_by="schedulers.optimum.search:optimum",
    declared=SEARCH,
    short_help="Find the best schedule of a few jobs, and compare schedulers with it.",
)
@setting_options("platform", "workload", "first", "time_unit")
@specs_option("--against", "schedulers", of="scheduler", metavar="S", help="A scheduler to compare; several times.")
@setting_options("contention_model", "power_model")
@out_option("Folder for the results of its run.", required=False)
@click.pass_obj
def optimum(invocation: Invocation, schedulers: tuple[str, ...], out: str | None, **options: Any) -> None:
    """Find the schedule of least energy, makespan or EDP, and print it with the distance of schedulers from it.

    The search is exact, and grows exponentially with the jobs: take a few, or set a limit. The folder receives what run
    leaves, of a run that follows the schedule.
    """
    from analysis.tables.run_metrics import percent
    from cluster_sim.cli.config import settings_of
    from cluster_sim.cli.simulate import check, load, prepare, simulate
    from cluster_sim.run.simulation import Simulation
    from schedulers.optimum import optimum as search

    search_options = given({name: options.pop(name) for name in SEARCH})
    settings = settings_of(None, given(options))
    platform, workload = load(settings)
    check(settings, schedulers, platform, workload)
    if out is not None:
        prepare(out)
    platform = platform.with_models(settings.contention_model, settings.power_model)
    found = search(platform, workload, **search_options)
    invocation.tell_warnings()
    click.echo(_answer(found, platform))
    runs = {name: simulate(settings, name, platform, workload, invocation) for name in dict.fromkeys(schedulers)}
    if runs:
        click.echo("")
    metric, unit = _metric(found)
    width = max(map(len, runs), default=0)
    for name, result in runs.items():
        value = float(result.summary()[metric])
        above = percent(100 * (value / found.value - 1)) if found.value else ""
        click.echo(f"{name:<{width}}  {value:14.10g} {unit}  {above}".rstrip())
    if out is not None:
        followed = Simulation(platform, workload, found.scheduler()).run(warn=False)
        followed.meta["command"] = invocation.command
        followed.save(out)
        click.echo(f"\nThe results are in {out}")


def _metric(found: Optimum) -> tuple[str, str]:
    """Return the metric that is least, and its unit."""
    from cluster_sim.workload.fields import unit_of
    from schedulers.optimum.search import OBJECTIVES

    metric = OBJECTIVES[found.objective]
    return metric, unit_of(metric)


def _answer(found: Optimum, platform: Platform) -> str:
    """Describe the schedule found: its value, whether it is proven, and a line for each start."""
    _, unit = _metric(found)
    waiting = "with waiting" if found.waiting else "without waiting"
    proof = f"proven, {found.nodes_explored} positions looked at"
    if not found.proven:
        least = f"the optimum is at least {found.lower_bound:.10g} {unit}, {100 * found.gap:.2f} % less"
        proof = f"not proven after {found.nodes_explored} positions: {least}"
    lines = [f"{'optimum' if found.proven else 'best found'} ({found.objective}, {waiting}): {found.value:.10g} {unit}"]
    lines.append(proof)
    for start in found.schedule:
        cores = start.placement.cores_by_node().items()
        where = ", ".join(f"{platform.node_name(node)}: {count}" for node, count in cores)
        lines.append(f"  {start.start_time:12.6g} s  job {start.job_id}  {where}")
    return "\n".join(lines)
