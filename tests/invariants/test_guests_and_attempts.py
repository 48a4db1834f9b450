"""The same contract when processes of the user's hold cores and memory beside jobs, submit, requeue and kill."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isnan
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cluster_sim import CautionWarning, Platform, Result, Simulation, Workload, make_scheduler
from cluster_sim.errors import InputError, ModelWarning, NodeStateError, SimulationError
from cluster_sim.machine.node import Node
from schedulers import Scheduler, schedulers
from tests.support.contract import checks, full
from tests.support.contract.runs import LIST_SPECS, OTHER_SPECS, SLURM, TIMES, Case, Order, cases, orders, slurm_spec

SHORT = [0.0, 1.0, 1.0, 2.0, 2.5]

ORDERS = ("kill", "requeue", "submit", "fail", "repair", "switch_off", "switch_on", "set_clock")


@dataclass(frozen=True)
class Visit:
    """What one guest does; its times are in s, its place a number that stands for a processor or a node."""

    owner: str
    arrives: float
    place: int
    of_node: bool
    cores: int
    memory_gb: float
    expected_s: float | None
    patience: float
    loads: list[tuple[int, float, float]]  #: (cores, seconds, MB/s), begun together.
    stays: float  #: After its tasks have ended.
    leaves_early: bool  #: Whether it waits for that long only, and not for its tasks.


visits = st.lists(
    st.builds(
        Visit,
        st.sampled_from(["backup", "noise", "guest"]),
        st.sampled_from(TIMES),
        st.integers(0, 30),
        st.booleans(),
        st.integers(0, 8),
        st.sampled_from([0.0, 0.0, 0.25, 0.9]),
        st.sampled_from([None, 1.0, 3.0]),
        st.sampled_from([1.0, 4.0, 50.0]),
        st.lists(st.tuples(st.integers(1, 4), st.sampled_from(SHORT), st.sampled_from([0.0, 30.0, 400.0])), max_size=3),
        st.sampled_from(SHORT),
        st.booleans(),
    ),
    max_size=6,
)


@dataclass
class Seen:
    """What the guests saw themselves, to compare with the records."""

    loads: list[list[Any]] = field(default_factory=list)  #: [owner, node, processor, cores, start, end]
    held: list[list[Any]] = field(default_factory=list)  #: [owner, node, cores, MB, start, end]
    granted: list[Any] = field(default_factory=list)  #: The requests of these.

    def failing(self, node: Node) -> None:
        """End the stay of each guest that holds something there."""
        for request, stay in zip(self.granted, self.held, strict=True):
            if request.is_held and request.node == node.index:
                stay[-1] = request.env.now


def guest(simulation: Simulation, visit: Visit, seen: Seen) -> Generator[Any, Any, None]:
    """One guest, from its request to its leaving."""
    env, platform = simulation.env, simulation.platform
    yield env.timeout(visit.arrives)
    node = simulation.node(visit.place % platform.node_count)
    processor = node.processors[visit.place % len(node.processors)]
    if visit.of_node:
        capacity = platform.node_types[platform.type_of_node[node.index]].memory_gb
        memory = visit.memory_gb * (1.0 if capacity is None else capacity)
        cores = visit.cores % (node.cores + 1) if memory else 1 + visit.cores % node.cores
        request = node.request(cores, memory, visit.owner, visit.expected_s)
    else:
        memory, cores = 0.0, 1 + visit.cores % len(processor.cores)
        request = processor.request(cores, visit.owner, visit.expected_s)
    with request as held:
        yield held | env.timeout(visit.patience)
        if not held.triggered:
            return
        stay = [visit.owner, node.name, cores, memory * 1024, env.now, np.inf]
        seen.held.append(stay)
        seen.granted.append(held)
        try:
            yield from compute(simulation, visit, node.processors, seen)
            yield env.timeout(visit.stays)
        finally:
            stay[-1] = min(stay[-1], env.now)


def compute(simulation: Simulation, visit: Visit, processors: list[Any], seen: Seen) -> Generator[Any, Any, None]:
    """The tasks of a guest, on those of its cores on which they have room."""
    begun = []
    for cores, seconds, rate in visit.loads:
        for processor in processors:
            try:
                over = processor.load(cores, seconds, rate, visit.owner)
            except InputError:
                continue  # it has not as many cores there
            load = [visit.owner, processor.node.name, processor.name.split(".")[-1], cores, simulation.env.now, np.inf]
            seen.loads.append(load)
            over.callbacks.insert(0, lambda event, load=load: load.__setitem__(-1, simulation.env.now))
            begun.append(over)
            break
    for over in () if visit.leaves_early else begun:
        try:
            yield over
        except (NodeStateError, SimulationError):
            return


def run_again(simulation: Simulation) -> Generator[Any, Any, None]:
    """A user who has every other job that a breakdown killed wait again."""
    while True:
        for job in (yield simulation.on("job_killed")):
            if job.index % 2 and simulation.attempts.reason.get(job.index, "").endswith("failed"):
                simulation.requeue(job)


def shared_run(case: Case, scheduler: str, plan: list[Order], guests: list[Visit]) -> tuple[Simulation, Result, Seen]:
    """A run beside which all these processes live."""
    simulation, seen = case.simulation(scheduler), Seen()
    simulation.env.process(full.disturb(simulation, plan, seen.failing))
    simulation.env.process(run_again(simulation))
    for visit in guests:
        simulation.env.process(guest(simulation, visit, seen))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CautionWarning)
        warnings.filterwarnings("ignore", ".*the decision is refused, as all such are")
        if scheduler.startswith("slurm"):
            warnings.simplefilter("ignore", ModelWarning)  # of what its configuration does not say
        return simulation, simulation.run(), seen


def check_run(simulation: Simulation, result: Result, seen: Seen, plan: list[Order], quirks: tuple[str, ...]) -> None:
    """All that must hold."""
    assert not (result.jobs["state"] == "unfinished").any()
    if simulation.attempts.suspensions:  # attempts in several pieces, which .chaos judges
        checks.check_held_once(result.platform, result.holds.assign(job_id=result.holds["owner"]))
    else:
        check_attempts(result)
        check_holds(result, seen)
    loads = loads_of(result, seen)
    check_states(result, loads)
    checks.check_energy_identities(result, simulation)
    if not any(what == "set_clock" for _, what, _, _ in plan):
        check_second_opinion(result, loads, "unused-processors-draw-nothing" in quirks)
    if simulation.scheduler.memory:
        check_memory(simulation, result, seen)
    check_all_is_free(simulation)


def check_attempts(result: Result) -> None:
    """The table of jobs says of each job what its attempts say together."""
    attempts, jobs = result.attempts, result.jobs.set_index("job_id")
    assert (attempts["end_time"] >= attempts["allocation_time"]).all()
    assert not (attempts["start_time"] < attempts["allocation_time"]).any()
    assert (attempts["allocation_time"] >= attempts["queue_time"]).all()
    assert attempts["work_done"].between(0.0, 1.0).all()
    assert (attempts["lost_core_s"] >= 0.0).all()
    by_job: dict[str, list[Any]] = defaultdict(list)
    for row in checks.rows_of(attempts):
        by_job[row.job_id].append(row)
    of_each = checks.rows_by_job(result.jobs)
    for job_id, mine in by_job.items():
        job = of_each[job_id]
        assert [row.attempt for row in mine] == list(range(1, len(mine) + 1))
        for before, after in pairwise(mine):
            assert before.end_time <= after.queue_time <= after.allocation_time
            assert before.outcome != "completed"
        assert (job.state == "completed") == (mine[-1].outcome == "completed")
        if job.state == "completed":
            assert job.finish_time == mine[-1].end_time
        ran = [row.end_time - row.start_time for row in mine if not isnan(row.start_time)]
        if ran:
            assert job.run_time == pytest.approx(sum(ran), rel=1e-9, abs=1e-9)
            assert job.wait_time + job.run_time == pytest.approx(job.turnaround_time, rel=1e-9, abs=1e-9)
    assert result.summary()["lost_core_s"] == pytest.approx(attempts["lost_core_s"].sum(), rel=1e-9)
    assert (jobs[~jobs.index.isin(attempts["job_id"])]["state"] != "completed").all()


def check_holds(result: Result, seen: Seen) -> None:
    """No core is held twice, by whoever; each attempt has what its job asked for, and each guest what it was granted."""
    holds = result.holds
    checks.check_held_once(result.platform, holds.assign(job_id=holds["owner"]))
    rows = checks.rows_of(holds)
    of_jobs: dict[tuple[str, int], int] = defaultdict(int)
    of_guests: dict[tuple[Any, ...], int] = defaultdict(int)
    for row in rows:
        cores = row.last_core - row.first_core + 1
        if row.kind == "job":
            of_jobs[row.owner, row.attempt] += cores
        else:
            of_guests[row.owner, row.node, row.start, row.end] += cores
    asked = dict(zip(result.jobs["job_id"], result.jobs["requested_cores"], strict=True))
    # An attempt may begin, without coming to compute, after the last completion, where the records end.
    horizon = result.power["time"].iloc[-1]
    attempts = {
        (row.job_id, row.attempt): row for row in checks.rows_of(result.attempts) if row.allocation_time <= horizon
    }
    assert of_jobs == {(job, attempt): asked[job] for job, attempt in attempts}
    for row in rows:
        if row.kind == "job":
            attempt = attempts[row.owner, row.attempt]
            assert (row.start, row.end) == (attempt.allocation_time, min(attempt.end_time, horizon))
    # The guests' own diary and the records say the same, up to where the records end.
    told: dict[tuple[Any, ...], int] = defaultdict(int)
    for owner, node, cores, _, start, end in seen.held:
        if cores and start <= horizon:
            told[owner, node, start, min(end, horizon)] += cores
    assert of_guests == told


def loads_of(result: Result, seen: Seen) -> pd.DataFrame:
    """What jobs and guests computed on, in rows like those of the table of allocations, up to where the records end."""
    horizon = result.power["time"].iloc[-1]
    rows = [
        {
            "job_id": f"guest {owner}",
            "node": node,
            "processor": processor,
            "first_core": 0,
            "last_core": cores - 1,
            "start": start,
            "end": min(end, horizon),
        }
        for owner, node, processor, cores, start, end in seen.loads
        if start <= horizon
    ]
    return pd.concat([result.allocations, pd.DataFrame(rows, columns=result.allocations.columns)], ignore_index=True)


def check_states(result: Result, loads: pd.DataFrame) -> None:
    """Each node has one state at every time, and computes exactly while anybody's tasks load one of its cores."""
    checks.check_node_states(_Told(result, loads))


class _Told:
    """A result whose table of allocations has what guests computed on, too."""

    def __init__(self, result: Result, loads: pd.DataFrame):
        self.platform, self.power, self.node_states = result.platform, result.power, result.node_states
        self.p_states = result.p_states
        owners = [*result.jobs["job_id"], *dict.fromkeys(row for row in loads["job_id"] if row.startswith("guest "))]
        self.jobs, self.allocations = pd.DataFrame({"job_id": owners}), loads


def check_second_opinion(result: Result, loads: pd.DataFrame, unused_draw_nothing: bool) -> None:
    """What each job and all guests are charged, worked out a second time (under linear and baseline power)."""
    if result.platform.power_model not in ("linear", "baseline"):
        return
    total, by_owner = checks.second_opinion(_Told(result, loads), unused_draw_nothing)
    assert result.summary()["energy_j"] == pytest.approx(total, rel=1e-9, abs=1e-9)
    guests = sum(joules for owner, joules in by_owner.items() if owner.startswith("guest "))
    assert result.summary()["energy_guests_j"] == pytest.approx(guests, rel=1e-9, abs=1e-9)
    found = dict(zip(result.jobs["job_id"], result.jobs["energy_j"], strict=True))
    assert found == pytest.approx({job: by_owner[job] for job in found}, rel=1e-9, abs=1e-9)


def check_memory(simulation: Simulation, result: Result, seen: Seen) -> None:
    """Under a scheduler that looks at memory, jobs and guests together never have more of a node than it has."""
    columns, holds = simulation.jobs.columns, result.holds
    memory = dict(zip(columns["job_id"].tolist(), columns["memory"].tolist(), strict=True))
    used: dict[str, list[Any]] = defaultdict(list)
    for row in holds[holds["kind"] == "job"].itertuples():
        used[row.node].append((row.start, row.end, (row.last_core - row.first_core + 1) * memory[row.owner]))
    for _, node, _, mb, start, end in seen.held:
        used[node].append((start, end, mb))
    checks.check_memory_in_use(result.platform, used)


def check_all_is_free(simulation: Simulation) -> None:
    """When the last guest has left, too, no core is held or busy, no memory used and no bandwidth asked for."""
    simulation.env.run(until=simulation.env.now + 200.0)
    assert not simulation.machine.guests
    checks.check_all_is_free(simulation)


@pytest.mark.parametrize("scheduler", OTHER_SPECS)
@settings(max_examples=6)
@given(case=cases(), plan=orders(ORDERS), guests=visits)
def test_guests_beside_every_scheduler(scheduler: str, case: Case, plan: list[Order], guests: list[Visit]) -> None:
    """Under every registered scheduler, and whatever power policy comes with the case."""
    simulation, result, seen = shared_run(case, scheduler, plan, guests)
    check_run(simulation, result, seen, plan, case.options["quirks"])


@settings(max_examples=20)
@given(
    case=cases(),
    plan=orders(ORDERS),
    guests=visits,
    scheduler=st.sampled_from(LIST_SPECS),
    more=st.sampled_from(["yes", "no"]),
)
def test_guests_beside_list_schedulers(
    scheduler: str, more: str, case: Case, plan: list[Order], guests: list[Visit]
) -> None:
    """Under pairs of job and node orders, with and without memory, blocking or not."""
    simulation, result, seen = shared_run(case, f"{scheduler},memory={more},blocking={more}", plan, guests)
    check_run(simulation, result, seen, plan, case.options["quirks"])


@pytest.mark.parametrize("kind", SLURM)
@settings(max_examples=6)
@given(case=cases(), plan=orders(ORDERS), guests=visits, first=st.lists(st.booleans(), min_size=14, max_size=14))
def test_guests_beside_slurm(kind: str, case: Case, plan: list[Order], guests: list[Visit], first: list[bool]) -> None:
    """Slurm starts no job on cores that a guest holds, by whichever of its rules it chooses, preempts and resumes."""
    assume(case.power != "off-reservation")  # it offers nodes for one instant, and Slurm looks at its queue later
    partitions = ["first" if is_first else "batch" for is_first in first[: len(case.jobs["job_id"])]]
    # Slurm plans in minutes, and looks at its queue each second or so: guests that stay for a while meet it.
    guests = [replace(visit, stays=20.0 * visit.stays, patience=1000.0) for visit in guests]
    case = replace(case, jobs=case.jobs | {"partition": partitions})
    with slurm_spec(case.platform, kind) as spec:
        simulation, result, seen = shared_run(case, spec, plan, guests)
    assert not (result.jobs["state"] == "unfinished").any()
    checks.check_held_once(result.platform, result.holds.assign(job_id=result.holds["owner"]))
    checks.check_node_states(_Told(result, loads_of(result, seen)))
    checks.check_energy_identities(result, simulation)
    check_all_is_free(simulation)


@contextmanager
def made_scheduler(name: str, platform: Platform, workload: Workload) -> Iterator[Scheduler]:
    """A scheduler of a registered name, with what it cannot be made without."""
    if name == "learned":
        pytest.importorskip("torch")
    with slurm_spec(platform, "cons_tres") as slurm, TemporaryDirectory() as folder:
        Simulation(platform, workload, make_scheduler("fcfs")).run().save(folder)
        specs = {
            "learned": "learned:lopez-energy",
            "list": "list:first/first",
            "replay": f"replay:{folder}/jobs.csv",
            "slurm": slurm,
        }
        yield make_scheduler(specs.get(name, name))


@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
@pytest.mark.parametrize("expected_s", [None, 30.0, 600.0])
@pytest.mark.parametrize("name", [*schedulers])
def test_whatever_is_registered_meets_guests(name: str, expected_s: float | None) -> None:
    """A guest comes while jobs wait, and stays for less or more than it said: everybody gets what he asked for, once."""
    platform = Platform.homogeneous(nodes=3, cores=2)
    seconds = [164.0, 50.0, 8.0, 20.0, 100.0]
    workload = Workload(
        {"submit_time": [0.0, 10.0, 33.0, 60.0, 61.0], "requested_cores": [2, 4, 6, 1, 2]}
        | {"recorded_run_time": seconds, "requested_time": seconds, "mem_vol": [0.0] * 5}
    )
    with made_scheduler(name, platform, workload) as scheduler:
        simulation = Simulation(platform, workload, scheduler)

        def backup() -> Generator[Any, Any, None]:
            yield simulation.env.timeout(40.0)
            with simulation.node(1).request(2, owner="backup", expected_s=expected_s) as held:
                yield held
                yield simulation.env.timeout(200.0)

        simulation.env.process(backup())
        result = simulation.run()
    assert (result.jobs["state"] == "completed").all()
    assert "backup" in set(result.holds["owner"])
    checks.check_held_once(platform, result.holds.assign(job_id=result.holds["owner"]))
    checks.check_energy_identities(result, simulation)
