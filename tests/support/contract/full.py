"""The contract over full cases: everything registered, every wish of a job, and processes of the user's beside the run."""

from __future__ import annotations

import math
import tempfile
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from cluster_sim import CautionWarning, Platform, Result, Simulation
from cluster_sim.errors import InputError, ModelWarning, NodeStateError, SimulationError
from cluster_sim.machine.node import Node, NodeState
from cluster_sim.platform import NodeGroup, NodeType, PowerTransitions
from tests.support.contract import checks
from tests.support.contract.runs import Case, Order, draw_case, draw_scheduler

BY_HAND = "by hand"
TABLES = ("jobs", "allocations", "node_states", "nodes", "power", "queue", "p_states", "decisions")
LAST_REPAIR_S = 10.0


PLANNERS = ("easy", "saf-easy", "conservative")


class NotACase(Exception):
    """What was drawn is refused for a reason that is documented: there is no run to check."""


# ---------------------------------------------------------------------- making the run


def disturb(
    simulation: Simulation, plan: Sequence[Order], failing: Callable[[Node], None] = lambda node: None
) -> Generator[Any, Any, None]:
    """The user's process: gives each order at its time, on whatever the number stands for; what is refused is refused.

    In the end all is repaired; ``failing`` is told of a node before it fails.
    """
    platform = simulation.platform
    for time, what, number, factor in plan:
        if time > simulation.env.now:
            yield simulation.env.timeout(time - simulation.env.now)
        checks.check_books(simulation)
        node = simulation.node(number % platform.node_count)
        processor = simulation.machine.processor(number % platform.processor_count)
        job = str(number % len(simulation.jobs))
        try:
            match what:
                case "kill":
                    simulation.kill(job, "because")
                case "requeue":
                    simulation.requeue(job)
                case "submit":
                    cores = 1 + number % platform.widest_node
                    fields = {"requested_cores": cores, "recorded_run_time": 2.0 * factor, "requested_time": 2.0}
                    more = {"mem_vol": 900.0} if number % 3 == 0 else {}
                    simulation.submit(fields | more, at=simulation.env.now + (number % 2))
                case "set_clock":
                    nominal = platform.processor_types[platform.type_of_processor[processor.index]]
                    processor.set_clock(nominal.clock_ghz * factor)
                case "set_p_state":
                    processor.set_p_state(number % max(len(processor.type.p_states), 1))
                case "fail":
                    failing(node)
                    node.fail()
                case _:
                    getattr(node, what)()
        except NodeStateError:
            pass
        except InputError:
            if what not in ("requeue", "submit"):
                raise
    yield simulation.env.timeout(LAST_REPAIR_S)
    for node in simulation.nodes():
        if node.state is NodeState.FAILED:
            node.repair()


def run(case: Case) -> Result:
    """The run of a case: under its scheduler or by hand, at a stretch or with stops, alone or disturbed."""
    by_hand = case.scheduler == BY_HAND
    simulation = case.simulation(None if by_hand else case.scheduler)
    if case.orders:
        simulation.env.process(disturb(simulation, case.orders))
    try:
        if by_hand:
            return _by_hand(simulation)
        for time in case.stops:
            if time > simulation.env.now and not simulation.is_over:
                simulation.run(until=time)
                checks.check_books(simulation)
        return simulation.run()
    except InputError as error:
        if str(error).startswith("power cap:"):
            raise NotACase(
                str(error)
            ) from None  # less than the machine draws at rest, or no bound to the model's watts
        raise
    except SimulationError as error:
        if may_stall(case) and "jobs wait and none runs" in str(error):
            raise NotACase(str(error)) from None  # and the power policy would look at them for ever
        raise


def _by_hand(simulation: Simulation) -> Result:
    """Jobs in any order on any nodes; some wait for the next instant, as long as something runs."""
    random = Random(simulation.seed)
    while (view := simulation.step_to_decision()) is not None:
        jobs = list(view.pending)
        random.shuffle(jobs)
        for job in jobs:
            if view.running_count and random.random() < 0.2:
                continue
            order = np.array([random.random() for _ in range(view.platform.node_count)])
            placement = view.place(job, random.choice([None, order]))
            if placement is not None:
                view = simulation.decide((job, placement))
    return simulation.result()


# ---------------------------------------------------------------------- what must hold


def check(case: Case, thoroughly: bool = False) -> Result:
    """Run a case and check all that must hold of it; ``thoroughly``: also that it can be repeated, saved and loaded.

    Raises AssertionError, or what the run itself raised; NotACase when there is no run.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CautionWarning)
        warnings.simplefilter("ignore", ModelWarning)
        result = run(case)
        check_result(case, result)
        check_explanations(result, everything=thoroughly)
        if thoroughly:
            check_repeatable(case, result)
    return result


def check_result(case: Case, result: Result) -> None:
    """All that the tables must show."""
    workload, options = case.workload, case.options
    by_memory = f"{_option(case, 'memory')}" == "yes"
    capped = (case.power or "").startswith("power-cap")
    checks.check_times(result, workload)
    checks.check_dependencies(result, workload)
    checks.check_cores(result)
    checks.check_node_states(result)
    checks.check_wishes(result, workload, options.get("reservations", ()))
    checks.check_rejections(result, workload, by_memory, capped)
    checks.check_memory(result, workload, honoured=by_memory)
    checks.check_run_times(result, workload)
    checks.check_walltime(result, options["enforce_walltime"], disturbed=bool(case.orders))
    leaves_cores = capped or case.orders or options.get("reservations") or case.scheduler.startswith("patient")
    checks.check_shapes(result, workload, by_width_alone=not leaves_cores)
    checks.check_energy_identities(result)
    checks.check_nodes(result)
    checks.check_queue(result)
    if case.scheduler.startswith(PLANNERS) and not (case.power or case.orders or _reorders(case)):
        checks.check_promises(result)
    checks.check_metrics(result, workload)
    if not _idle_watts_are_open(case):
        checks.check_second_opinion(result, "unused-processors-draw-nothing" in options["quirks"])
    if capped and not case.orders and options.get("until") != 0.0:  # else the policy has not decided anything
        limit = float((case.power or "").partition(":")[2].partition(",")[0] or math.inf)
        assert result.power["watts"].max() <= limit * (1 + 1e-9)
    if options.get("until") is not None:
        assert result.power["time"].iloc[-1] == options["until"]
    elif not may_stall(case):
        unfinished = result.jobs[result.jobs["state"] == "unfinished"]["job_id"].tolist()
        assert not unfinished, f"jobs {unfinished} never start"


def _idle_watts_are_open(case: Case) -> bool:
    """Whether clocks may change in the instant in which a node is switched that then draws its idle watts: before or after?"""
    clocks = "how=slow" in (case.power or "") or any(order[1] in ("set_clock", "set_p_state") for order in case.orders)
    costs = [kind.transitions for kind in case.platform.node_types]
    return clocks and any(None in (cost.switch_on_w, cost.switch_off_w) for cost in costs)


def _reorders(case: Case) -> bool:
    """Whether a job may come before one that was promised a start earlier."""
    return "aging=" in case.scheduler or _option(case, "order") not in ("", "first")


def may_stall(case: Case) -> bool:
    """Whether jobs may rightly wait for ever.

    Those whose energy is above their limit, under the schedulers that look at it; and under a power cap where a user's
    process has the machine draw more than it did: nodes that are off boot, processors are faster.
    """
    raises = {"switch_off", "fail", "set_clock", "set_p_state"}  # what fails is repaired in the end, and boots
    if (case.power or "").startswith("power-cap") and any(order[1] in raises for order in case.orders):
        return True
    return "pcbe" in case.scheduler and min(case.jobs.get("max_energy", [math.inf])) < math.inf


def _option(case: Case, name: str) -> str:
    options = dict(part.partition("=")[::2] for part in case.scheduler.partition(":")[2].split(","))
    return options.get(name, "")


def check_explanations(result: Result, everything: bool) -> None:
    """Every job, or the first and the last, can be asked about."""
    ids = result.jobs["job_id"].tolist()
    for job_id in ids if everything else {ids[0], ids[-1]}:
        assert result.explain(job_id).startswith(f"Job {job_id}")


def check_repeatable(case: Case, result: Result) -> None:
    """The same run again writes the same bytes, and what was saved is what is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder, "one"), Path(folder, "two")
        result.save(one)
        run(case).save(two)
        names = sorted(path.name for path in one.iterdir())
        assert names == sorted(path.name for path in two.iterdir())
        for name in names:
            assert (one / name).read_bytes() == (two / name).read_bytes(), name
        loaded = Result.load(one)
        for name in TABLES:
            tables = [getattr(each, name) for each in (loaded, result)]
            if name == "allocations":  # whose rows have no order
                by = ["job_id", "node", "processor", "first_core"]
                tables = [table.sort_values(by, ignore_index=True) for table in tables]
            pd.testing.assert_frame_equal(*tables, check_dtype=False, obj=name)
        assert loaded.platform == result.platform
        pd.testing.assert_series_equal(loaded.summary(), result.summary(), check_names=False)
        _check_replay(case, result, one)


def _check_replay(case: Case, result: Result, folder: Path) -> None:
    """The record played back starts the same jobs, unless what is done from outside, or a cap, may come in between.

    In the record two jobs that ran one after the other within an instant have no order, and where nodes are booted anew all
    may be later: then the window of a reservation may close before a job can start.
    """
    late = bool(case.power) or (result.jobs["run_time"] == 0.0).any() or (result.node_states["state"] == "OFF").any()
    if case.orders or case.options.get("until") is not None or "power-cap" in (case.power or ""):
        return
    if late and case.options.get("reservations"):
        return
    again = run(replace(case, scheduler=f"replay:{folder / 'jobs.csv'}", stops=()))
    checks.check_cores(again)
    checks.check_energy_identities(again)
    started = result.jobs["allocation_time"].notna()
    assert again.jobs["allocation_time"].notna().equals(started)


# ---------------------------------------------------------------------- by seed


@dataclass(frozen=True)
class Violation:
    """A case that breaks the contract, and how: the exception's type, its text, and the line of ours that raised it."""

    case: Case
    kind: tuple[str, str]
    text: str


def full_case(seed: int, schedulers: Sequence[str] = ()) -> Case:
    """The full case of a seed; with names of schedulers, the same under one of them, its options drawn as well."""
    random = Random(seed)
    case = draw_case(random, full=True)
    return replace(case, scheduler=draw_scheduler(random, schedulers)) if schedulers else case


def violation(case: Case, thoroughly: bool, judge: Callable[[Case, bool], object] = check) -> Violation | None:
    """How a case breaks the contract; None if it does not, and NotACase if there is nothing to check."""
    try:
        judge(case, thoroughly)
    except NotACase:
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        kind = type(error).__name__, f"{Path(frame.filename).name}:{frame.name}:{frame.line}"
        return Violation(case, kind, "".join(traceback.format_exception(error)))
    return None


def reduced(
    found: Violation, thoroughly: bool, judge: Callable[[Case, bool], object] = check, most: int = 600
) -> Violation:
    """The same violation by a smaller case: whatever can be left out of it is left out, for at most so many tries."""
    tries = 0
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(found.case):
            tries += 1
            if tries > most:
                return found
            try:
                other = violation(smaller, thoroughly, judge)
            except NotACase:
                continue
            if other is not None and other.kind == found.kind:
                found, progress = other, True
                break
    return found


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with something less."""
    yield from (replace(case, **{name: empty}) for name, empty in _EMPTY.items() if getattr(case, name) != empty)
    for name in ("reservations", "network", "explain", "until"):
        if name in case.options:
            yield replace(case, options={key: value for key, value in case.options.items() if key != name})
    if case.options["quirks"] or case.options["enforce_walltime"] or case.options["seed"]:
        for name, plain in (("quirks", ()), ("enforce_walltime", False), ("seed", 0)):
            if case.options[name] != plain:
                yield replace(case, options={**case.options, name: plain})
    yield from fewer_jobs(case)
    for i in range(len(case.orders)):
        yield replace(case, orders=case.orders[:i] + case.orders[i + 1 :])
    for i in range(len(case.stops)):
        yield replace(case, stops=case.stops[:i] + case.stops[i + 1 :])
    for platform in _plainer(case.platform):
        yield replace(case, platform=platform)
    name, _, options = case.scheduler.partition(":")
    parts = options.split(",") if options else []
    for i in range(1 if name == "list" else 0, len(parts)):
        yield replace(case, scheduler=f"{name}:{','.join(parts[:i] + parts[i + 1 :])}".rstrip(":"))
    needed = ("job_id", "submit_time", "requested_cores", "recorded_run_time", "operations")
    for name in [name for name in case.jobs if name not in needed]:
        yield replace(case, jobs={key: values for key, values in case.jobs.items() if key != name})


_EMPTY: dict[str, Any] = {"orders": (), "stops": (), "power": None, "think_times": False, "scheduler": "fcfs"}


def fewer_jobs(case: Case) -> Iterator[Case]:
    """Half of the jobs, then all but one; the others no longer wait for those that are gone."""
    count = len(case.jobs["job_id"])
    halves = [range(count // 2), range(count // 2, count)] if count > 3 else []
    for gone in [*halves, *([i] for i in range(count) if count > 1)]:
        left = {case.jobs["job_id"][i] for i in range(count) if i not in gone}
        jobs = {name: [v for i, v in enumerate(values) if i not in gone] for name, values in case.jobs.items()}
        if "after" in jobs:
            jobs["after"] = [
                " ".join(word for word in text.split() if word.removeprefix("any:") in left) for text in jobs["after"]
            ]
        yield replace(case, jobs=jobs)


def _plainer(platform: Platform) -> Iterator[Platform]:
    """Platforms with fewer nodes, or nodes of which there is less to say."""
    if platform.contention_model != "none":
        yield replace(platform, contention_model="none")
    if platform.power_model != "linear":
        yield replace(platform, power_model="linear")
    for i, cluster in enumerate(platform.clusters):
        if len(platform.clusters) > 1:
            yield replace(platform, clusters=platform.clusters[:i] + platform.clusters[i + 1 :])
        for j, group in enumerate(cluster.groups):
            for count in {0, group.count - 1} - {group.count}:
                groups = (*cluster.groups[:j], NodeGroup(group.type, count), *cluster.groups[j + 1 :])
                if any(each.count for each in groups):
                    changed = replace(cluster, groups=tuple(each for each in groups if each.count))
                    yield replace(platform, clusters=(*platform.clusters[:i], changed, *platform.clusters[i + 1 :]))
    simpler: tuple[Callable[[NodeType], NodeType], ...] = (
        lambda kind: replace(kind, transitions=PowerTransitions()),
        lambda kind: replace(kind, initially_off=False),
        lambda kind: replace(kind, memory_gb=None),
        lambda kind: replace(kind, tags=frozenset()),
        lambda kind: replace(kind, processors=kind.processors[:1]),
    )
    for simplify in simpler:
        clusters = tuple(
            replace(cluster, groups=tuple(NodeGroup(simplify(group.type), group.count) for group in cluster.groups))
            for cluster in platform.clusters
        )
        if clusters != platform.clusters:
            yield replace(platform, clusters=clusters)


def described(case: Case) -> str:
    """The case as Python, to be run beside ``from math import inf, nan`` and the names that it uses."""
    platform = case.platform
    lines = [
        f"platform = Platform({platform.clusters!r}, 'p', {platform.contention_model!r}, {platform.power_model!r})",
        f"workload = Workload({case.jobs!r}){'.with_think_times()' if case.think_times else ''}",
        f"scheduler = {case.scheduler!r}; power = {case.power!r}",
        f"options = {case.options!r}",
    ]
    if case.orders:
        lines.append(f"orders = {case.orders!r}")
    if case.stops:
        lines.append(f"stops = {case.stops!r}")
    return "\n".join(lines)


def areas(case: Case) -> Iterator[str]:
    """What a case tries, in a few words each, to count by."""
    yield f"scheduler {case.scheduler.partition(':')[0]}"
    yield f"power policy {(case.power or 'none').partition(':')[0]}"
    for what, spec in (
        ("contention", case.platform.contention_model),
        ("power model", case.platform.power_model),
        ("network", case.options.get("network", "")),
    ):
        yield f"{what} {spec.partition(':')[0]}"
    yield from (f"quirk {quirk}" for quirk in case.options["quirks"])
    yield from (f"order {what}" for what in sorted({order[1] for order in case.orders}))
    yield from (name for name in ("reservations", "explain", "until") if name in case.options)
    wishes = ("after", "requires", "exclusive", "phases", "comm_vol", "fixed_run_time", "deadline", "priority")
    yield from (f"jobs with {name}" for name in wishes if len(set(case.jobs.get(name, [0]))) > 1)
    if case.think_times and max(case.jobs.get("preceding_job", [-1])) >= 0:
        yield "think times"
    if case.options["enforce_walltime"]:
        yield "enforced walltime"
    if case.stops:
        yield "stops on the way"
    kinds = case.platform.node_types
    if any(kind.initially_off for kind in kinds):
        yield "nodes off at first"
    if any(kind.transitions.switch_on_distribution for kind in kinds):
        yield "random boot times"
    if any(kind.p_states for kind in case.platform.processor_types):
        yield "p-states"
