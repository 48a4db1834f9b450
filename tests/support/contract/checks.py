"""What must hold of every run, from its tables alone, and its energy worked out a second time from them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, namedtuple
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cluster_sim import AdvanceReservation, Platform, Result, Simulation, Workload
from cluster_sim.engine import latest
from cluster_sim.machine.node import NodeState
from cluster_sim.platform import PowerTransitions, ProcessorType

ON = ("IDLE", "COMPUTING")


@lru_cache
def _row_of(columns: tuple[str, ...]) -> Any:
    return namedtuple("Row", columns)


def rows_of(table: pd.DataFrame) -> list[Any]:
    """The rows as named tuples: those of ``itertuples`` without the index, in a tenth of its time for a small table."""
    return [*map(_row_of(tuple(table))._make, table.to_numpy(dtype=object).tolist())]


def rows_by_job(table: pd.DataFrame) -> dict[str, Any]:
    """The rows by the jobs that they are about, one each."""
    rows = rows_of(table)
    found = {row.job_id: row for row in rows}
    assert len(found) == len(rows)
    return found


def expand_cores(allocations: pd.DataFrame) -> dict[tuple[str, str, int], list[tuple[float, float, str]]]:
    """For each core, who held it from when to when, in order."""
    held: dict[tuple[str, str, int], list[tuple[float, float, str]]] = defaultdict(list)
    for row in rows_of(allocations):
        for core in range(row.first_core, row.last_core + 1):
            held[row.node, row.processor, core].append((row.start, row.end, row.job_id))
    return {core: sorted(spans) for core, spans in held.items()}


def check_held_once(platform: Platform, held: pd.DataFrame) -> None:
    """Cores exist, and no core is held twice at a time, by whoever."""
    sizes = {
        (name, f"processor{i}"): kind.cores
        for name, node_type in zip(platform.node_names(), platform.type_of_node, strict=True)
        for i, kind in enumerate(platform.node_types[node_type].processors)
    }
    for (node, processor, core), spans in expand_cores(held).items():
        assert 0 <= core < sizes[node, processor]
        for (_, end, _), (start, _, _) in pairwise(spans):
            assert end <= start


def check_cores(result: Result) -> None:
    """No core runs two jobs at a time; each job that began has the cores it asked for, all its time."""
    platform, allocations = result.platform, result.allocations
    check_held_once(platform, allocations)
    jobs = rows_by_job(result.jobs)
    width: dict[str, int] = defaultdict(int)
    horizon = result.power["time"].iloc[-1]
    for row in rows_of(allocations):
        job = jobs[row.job_id]
        width[row.job_id] += row.last_core - row.first_core + 1
        end = horizon if isnan(job.finish_time) else job.finish_time
        assert (row.start, row.end) == (job.start_time, end)
    assert width == {job_id: job.requested_cores for job_id, job in jobs.items() if not isnan(job.start_time)}
    # Cores are held from the allocation on, while nodes may still boot.
    held = [job for job in jobs.values() if not isnan(job.allocation_time)]
    changes = [(job.allocation_time, job.requested_cores) for job in held]
    changes += [(job.finish_time, -job.requested_cores) for job in held if not isnan(job.finish_time)]
    at_once = 0
    for _, change in sorted(changes):  # ends before starts
        at_once += change
        assert at_once <= platform.core_count


def check_times(result: Result, workload: Workload) -> None:
    """Nothing starts before it was submitted or ends before it began; every job is in one state, as its times say."""
    jobs = result.jobs
    assert jobs["job_id"].tolist() == workload.jobs["job_id"].tolist()
    submit, allocated, start, finish = (
        jobs[c].to_numpy() for c in ("submit_time", "allocation_time", "start_time", "finish_time")
    )
    began = ~np.isnan(start)
    eligible = jobs["eligible_time"].to_numpy()
    got = ~np.isnan(allocated)
    assert (allocated[got] >= eligible[got]).all()
    assert (eligible[~np.isnan(eligible)] >= submit[~np.isnan(eligible)]).all()
    assert (start[began] >= allocated[began]).all()
    both = began & ~np.isnan(finish)
    assert (finish[both] >= start[both]).all()
    state = np.array(jobs["state"].tolist(), object)
    assert set(state) <= {"completed", "killed", "rejected", "unfinished"}
    assert both[state == "completed"].all()
    assert not np.isnan(finish[state == "killed"]).any()
    assert not began[state == "rejected"].any()
    assert np.isnan(finish[state == "unfinished"]).all()
    assert [why != "" for why in jobs["reason"]] == [each in ("killed", "rejected") for each in state]
    summary = result.summary()
    counts = {s: summary[f"jobs_{s}"] for s in ("completed", "killed", "rejected", "unfinished")}
    assert {s: n for s, n in counts.items() if n} == Counter(state.tolist())


def check_rejections(result: Result, workload: Workload, by_memory: bool, capped: bool = False) -> None:
    """Rejected is exactly who could not run on the empty machine; or, what is not asked here, perhaps not under a cap.

    Of jobs that name a reservation or wait for others only those that could never run are looked at.
    """
    platform = result.platform
    kinds = [platform.node_types[i] for i in platform.type_of_node]
    states = result.jobs["state"].to_numpy()
    for row, state in zip(rows_of(workload.jobs), states, strict=True):
        sizes = [kind.cores if set(row.requires.split()) <= kind.tags else 0 for kind in kinds]
        room = list(sizes)
        if by_memory and row.memory:
            limits = [
                size if kind.memory_gb is None else int(kind.memory_gb * 1024 / row.memory)
                for size, kind in zip(sizes, kinds, strict=True)
            ]
            room = [min(pair) for pair in zip(sizes, limits, strict=True)]
        # In a reservation a job goes over several nodes if none of these holds it, though another node might.
        widest = 0 if row.reservation else max(sizes)
        could = could_run(row.requested_cores, row.nodes, row.ntasks_per_node, room, widest)
        if not could:
            assert state in ("rejected", "unfinished")  # those not yet submitted when the run was stopped
        elif not (row.reservation or row.after or capped):
            assert state != "rejected"


def could_run(cores: int, nodes: int, per_node: int, room: list[int], widest: int) -> bool:
    """Whether a job fits on nodes with room for that many tasks each."""
    if nodes:
        wishes = [cores // nodes + (i < cores % nodes) for i in range(nodes)]
        if per_node and wishes[0] > per_node:
            return False
    elif per_node:
        wishes = [per_node] * (cores // per_node) + [cores % per_node] * (cores % per_node > 0)
    elif cores <= widest:
        wishes = [cores]
    else:
        return sum(room) >= cores
    if len(wishes) > len(room) or min(wishes) < 1:
        return False
    best = sorted(room, reverse=True)
    return all(wish <= best[i] for i, wish in enumerate(sorted(wishes, reverse=True)))


def check_memory(result: Result, workload: Workload, honoured: bool) -> None:
    """A scheduler that honours memory never puts more on a node than it has."""
    if not honoured:
        return
    memory = {row.job_id: row.memory for row in rows_of(workload.jobs)}
    used: dict[str, list[Any]] = defaultdict(list)
    for row in rows_of(result.allocations):
        used[row.node].append((row.start, row.end, (row.last_core - row.first_core + 1) * memory[row.job_id]))
    check_memory_in_use(result.platform, used)


def check_memory_in_use(platform: Platform, used: Mapping[str, list[tuple[float, float, float]]]) -> None:
    """No node has more memory in use than it has, by what is held there: (from, to, MB)."""
    for name, number in zip(platform.node_names(), platform.type_of_node, strict=True):
        capacity = platform.node_types[number].memory_gb
        held = used.get(name, [])
        for time, _, _ in held if capacity is not None else ():
            there = sum(mb for start, end, mb in held if start <= time < end)
            assert there <= capacity * 1024 * (1 + 1e-9), (name, time)


def check_run_times(result: Result, workload: Workload) -> None:
    """A completed job took its uncontended time on its slowest core, or longer where tasks slow each other.

    Or where they exchange data; where clocks were changed it took at least the time at the highest of them.
    """
    platform = result.platform
    rate = dict(zip(platform.node_names(), platform.type_of_node, strict=True))
    table = rows_by_job(workload.jobs)
    contended = platform.contention_model != "none"
    contended = contended and any(
        kind.contention or "bandwidth" in platform.contention_model for kind in platform.processor_types
    )
    nominal = {
        (name, f"processor{i}"): kind.clock_ghz
        for name, number in rate.items()
        for i, kind in enumerate(platform.node_types[number].processors)
    }
    ratios = [row.clock_ghz / nominal[row.node, row.processor] for row in rows_of(result.p_states)]
    quickest = max([1.0, *ratios])
    jobs = rows_by_job(result.jobs)
    slowest: dict[str, float] = {}
    for row in rows_of(result.allocations):
        kind = platform.node_types[rate[row.node]].processors[int(row.processor.removeprefix("processor"))]
        slowest[row.job_id] = min(slowest.get(row.job_id, np.inf), kind.ops_per_s)
    for job, ops_per_s in slowest.items():
        wanted = table[job]
        work, fixed = wanted.operations, wanted.fixed_run_time
        if isnan(work):
            work = wanted.recorded_run_time * (ops_per_s if fixed else platform.fastest_ops_per_s)
        took, alone = jobs[job].run_time, work / ops_per_s
        if jobs[job].state == "completed":
            assert took >= alone / (1.0 if fixed else quickest) * (1 - 1e-9) - 1e-9
            exchanges = wanted.comm_vol > 0.0 and result.meta["network_model"] != "none"
            as_alone = fixed or not (contended or any(ratio != 1.0 for ratio in ratios))
            if as_alone and not exchanges:
                assert took == pytest.approx(alone, rel=1e-9, abs=1e-9)
        else:
            assert jobs[job].state in ("killed", "unfinished")


def check_walltime(result: Result, enforced: bool, disturbed: bool = False) -> None:
    """With enforcement no job outlives its request, one that is killed has reached it exactly; without, none is killed.

    Unless by what a user's process did meanwhile (``disturbed``).
    """
    jobs = rows_of(result.jobs)
    killed = [job for job in jobs if job.state == "killed"]
    own = [job for job in killed if job.reason != "because" and not re.fullmatch(r"c\d\.node\d+ failed", job.reason)]
    assert disturbed or own == killed
    if not enforced:
        assert not own
        return
    for job in jobs:
        if not isnan(job.start_time) and not isnan(job.finish_time):
            assert job.finish_time <= latest(job.start_time + job.requested_time)
    assert all(job.finish_time >= job.start_time + job.requested_time for job in own)
    assert {job.reason for job in own} <= {"walltime"}


def check_shapes(result: Result, workload: Workload, by_width_alone: bool = True) -> None:
    """The width rule, and ``nodes`` and ``ntasks_per_node`` where they are given.

    Where schedulers and policies leave some of the free cores alone (not ``by_width_alone``), a wide job may too.
    """
    platform, jobs = result.platform, rows_by_job(result.jobs)
    tasks: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows_of(result.allocations):
        tasks[row.job_id][row.node] += row.last_core - row.first_core + 1
    capacity = dict(zip(platform.node_names(), platform.node_cores.tolist(), strict=True))
    wishes = rows_of(workload.jobs)
    limited = not by_width_alone or any(row.memory > 0 or row.exclusive or row.requires != "" for row in wishes)
    for row in wishes:
        counts = sorted(tasks[row.job_id].values(), reverse=True)
        if not counts:
            continue
        if row.ntasks_per_node:
            assert counts[0] <= row.ntasks_per_node
            assert row.nodes or all(count == row.ntasks_per_node for count in counts[:-1])
        if row.nodes:
            assert len(counts) == row.nodes
            assert counts[0] - counts[-1] <= 1
        if row.nodes or row.ntasks_per_node:
            continue
        tagged = [kind.cores for kind in platform.node_types if set(row.requires.split()) <= kind.tags]
        if row.reservation:
            continue  # then the widest node is the widest of the reservation
        if row.requested_cores <= max(tagged):
            assert len(counts) == 1
        elif not limited:
            # It took nodes whole, as far as they were free, but for the last.
            at = jobs[row.job_id].allocation_time
            held: dict[str, int] = defaultdict(int)
            for other, nodes in tasks.items():
                since, until = jobs[other].allocation_time, jobs[other].finish_time
                if since <= at and (until > at or since == at):
                    for node, count in nodes.items():
                        held[node] += count
            assert sum(held[node] < capacity[node] for node in tasks[row.job_id]) <= 1


def check_node_states(result: Result) -> None:
    """Each node has a state at every time from 0 to the end, computes exactly while it runs a job, and never twice."""
    horizon = result.power["time"].iloc[-1]
    rows: dict[str, list[Any]] = defaultdict(list)
    for row in rows_of(result.node_states):
        rows[row.node].append(row)
    if horizon > 0.0:
        assert list(rows) == result.platform.node_names()
    used: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows_of(result.allocations):
        if row.end > row.start:
            used[row.node].append((row.start, row.end))
    for node, states in rows.items():
        assert (states[0].start, states[-1].end) == (0.0, horizon)
        for before, after in pairwise(states):
            assert before.end == after.start
            # A boot that a failure and a repair of one instant have begin anew is a boot of its own.
            assert before.state != after.state or after.state == "SWITCHING_ON"
        assert all(row.end > row.start for row in states)
        computing = [(row.start, row.end) for row in states if row.state == "COMPUTING"]
        assert computing == merged(used[node])


def merged(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The union of intervals as maximal intervals."""
    union: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((start, end))
    return union


def integral(power: pd.DataFrame) -> float:
    """∫ power dt of a step function."""
    return float((power["watts"].to_numpy()[:-1] * np.diff(power["time"].to_numpy())).sum())


def check_energy_identities(result: Result, simulation: Simulation | None = None) -> None:
    """∫ power = total = jobs + guests + unused + idle + transitions + off + failed, to 1e-9; EDP is energy times makespan.

    With the ``simulation`` that is over also what the machine's meter counted, if nothing came after the records.
    """
    summary = result.summary()
    total = summary["energy_j"]
    close = pytest.approx(total, rel=1e-9, abs=1e-9)
    assert integral(result.power) == close
    parts = ("jobs", "guests", "unused", "idle", "switching_on", "switching_off", "off", "failed")
    assert sum(summary[f"energy_{part}_j"] for part in parts) == close
    assert summary["energy_jobs_j"] == pytest.approx(result.jobs["energy_j"].sum(), rel=1e-9, abs=1e-9)
    waste = sum(summary[f"energy_{part}_j"] for part in ("idle", "switching_on", "switching_off"))
    assert summary["energy_waste_j"] == pytest.approx(waste, rel=1e-12)
    assert summary["edp_js"] == pytest.approx(total * summary["makespan_s"], rel=1e-12)
    assert (result.power["watts"] >= 0.0).all()
    assert (np.diff(result.power["time"]) >= 0).all()
    if simulation is not None and result.power["time"].iloc[-1] == simulation.env.now:
        assert simulation.machine.power.energy_j == close


def check_second_opinion(result: Result, unused_draw_nothing: bool = False) -> None:
    """Energy of the platform and of each job, as worked out a second time (where the tasks' speeds do not count)."""
    if result.platform.power_model not in ("linear", "baseline", "idle"):
        return
    total, by_job = second_opinion(result, unused_draw_nothing)
    assert result.summary()["energy_j"] == pytest.approx(total, rel=1e-9, abs=1e-9)
    found = dict(zip(result.jobs["job_id"], result.jobs["energy_j"], strict=True))
    assert found == pytest.approx(by_job, rel=1e-9, abs=1e-9)


def second_opinion(result: Result, unused_draw_nothing: bool = False) -> tuple[float, dict[str, float]]:
    """Energy of the platform and of each job, worked out from the public tables, slowly.

    Linear, baseline and idle power as the papers give them, in so many words; nothing of the toolkit's own power code.
    """
    platform = result.platform
    states: dict[str, list[Any]] = defaultdict(list)
    for row in rows_of(result.node_states):
        states[row.node].append(row)
    tenants: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in rows_of(result.allocations):
        tenants[row.node, row.processor].append(row)
    clocks: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in rows_of(result.p_states):
        clocks[row.node, row.processor].append(row)
    total, by_job = 0.0, dict.fromkeys(result.jobs["job_id"], 0.0)
    for node, number in zip(platform.node_names(), platform.type_of_node.tolist(), strict=True):
        node_type = platform.node_types[number]
        idlers = []
        for i, nominal in enumerate(node_type.processors):
            name = f"processor{i}"
            mine = tenants[node, name]
            drawing_from = min((row.start for row in mine), default=np.inf) if unused_draw_nothing else 0.0
            idlers.append((drawing_from, nominal, clocks[node, name]))
            times = {time for row in (*states[node], *mine, *clocks[node, name]) for time in (row.start, row.end)}
            for begin, stop in pairwise(sorted(times)):
                if not any(row.start <= begin < row.end and row.state in ON for row in states[node]):
                    continue
                static, dynamic, idle = _linear(_kind_at(nominal, clocks[node, name], begin), platform)
                there = [row for row in mine if row.start <= begin < row.end]
                busy = sum(row.last_core - row.first_core + 1 for row in there)
                if not busy:
                    total += idle * (stop - begin) if begin >= drawing_from else 0.0
                    continue
                total += (static + dynamic * busy) * (stop - begin)
                for row in there:
                    count = row.last_core - row.first_core + 1
                    by_job[row.job_id] += (dynamic * count + static * count / busy) * (stop - begin)
        total += _while_not_on(states[node], node_type.transitions, idlers, platform)
    return total, by_job


def _kind_at(nominal: ProcessorType, clocks: list[Any], time: float) -> ProcessorType:
    """The processor with the clock and watts that it had then: those of a p-state, or by the square of the clock."""
    row = next((row for row in clocks if row.start <= time < row.end), None)
    if row is None:
        return nominal
    if row.p_state >= 0:
        return nominal.in_p_state(row.p_state)
    ratio = row.clock_ghz / nominal.clock_ghz
    power = {
        key: value * ratio**2 if key in ("static_w", "dynamic_w") else value for key, value in nominal.power.items()
    }
    return replace(nominal, clock_ghz=row.clock_ghz, power=power)


def _linear(kind: ProcessorType, platform: Platform) -> tuple[float, float, float]:
    """(static, dynamic per core, idle) watts of a processor."""
    static, dynamic, fraction = (kind.power.get(key, 0.0) for key in ("static_w", "dynamic_w", "min_power"))
    if platform.power_model == "baseline":
        return 0.0, dynamic, 0.0
    idle = static * fraction
    return (idle, 0.0, idle) if platform.power_model == "idle" else (static, dynamic, idle)


def _while_not_on(
    states: list[Any],
    costs: PowerTransitions,
    idlers: list[tuple[float, ProcessorType, list[Any]]],
    platform: Platform,
) -> float:
    """Energy in the other states; ``idlers`` are the processors' (time from which they draw, nominal type, clocks).

    A transition of no watts of its own draws the idle watts that the node had when it began.
    """
    total = 0.0
    for row in states:
        own = {"SWITCHING_ON": costs.switch_on_w, "SWITCHING_OFF": costs.switch_off_w, "OFF": costs.off_w}
        if row.state not in own:
            continue
        watts = own[row.state]
        if watts is not None:
            total += watts * (row.end - row.start)
            continue
        for since, nominal, clocks in idlers:
            idle = _linear(_kind_at(nominal, clocks, row.start), platform)[2]
            total += idle * max(row.end - max(row.start, since), 0.0)
    return total


def check_nodes(result: Result) -> None:
    """The table of nodes is the sums of the table of their states, and of the cores that jobs held; joules add up."""
    nodes = rows_of(result.nodes)
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    for state in rows_of(result.node_states):
        seconds[state.node, state.state] += state.end - state.start
    horizon = result.power["time"].iloc[-1]
    close = {"rel": 1e-9, "abs": 1e-9 * max(horizon, 1.0)}
    names = ("off", "switching_on", "idle", "computing", "switching_off", "failed")
    for row in nodes:
        for name in names:
            assert getattr(row, f"{name}_s") == pytest.approx(seconds[row.node, name.upper()], **close)
        joules = sum(getattr(row, f"{name}_j") for name in names)
        assert row.energy_j == pytest.approx(joules, rel=1e-9, abs=1e-9)
    core_s: dict[str, float] = defaultdict(float)
    for held in rows_of(result.allocations):
        core_s[held.node] += (held.last_core - held.first_core + 1) * (held.end - held.start)
    assert [row.busy_core_s for row in nodes] == pytest.approx([core_s[row.node] for row in nodes], **close)
    energy = sum(row.energy_j for row in nodes)
    assert energy == pytest.approx(result.summary()["energy_j"], rel=1e-9, abs=1e-9)


def check_dependencies(result: Result, workload: Workload) -> None:
    """A job becomes eligible when the jobs that it waits for are over, and is refused if one that must complete did not.

    In a workload with think times it is submitted that long after the job that it follows.
    """
    jobs = rows_by_job(result.jobs)
    for row in rows_of(workload.jobs):
        job = jobs[row.job_id]
        for word in row.after.split():
            before = jobs[word.removeprefix("any:")]
            if not isnan(job.eligible_time):
                assert job.eligible_time >= before.finish_time or before.state == "rejected"
            if before.state in ("killed", "rejected") and not word.startswith("any:"):
                assert job.state in ("rejected", "killed", "unfinished")
                assert isnan(job.allocation_time)
        if not (workload.think_times and row.preceding_job >= 0):
            assert job.submit_time == row.submit_time
        elif not isnan(job.submit_time) and jobs[str(row.preceding_job)].state != "rejected":
            ended = jobs[str(row.preceding_job)].finish_time
            assert job.submit_time == ended + max(row.think_time, 0.0)


def check_wishes(result: Result, workload: Workload, reservations: Iterable[AdvanceReservation]) -> None:
    """Tags, exclusive nodes, switches, and reservations by the jobs' requests, from the tables alone."""
    platform = result.platform
    kinds = dict(zip(platform.node_names(), platform.type_of_node, strict=True))
    wishes = rows_by_job(workload.jobs)
    times = rows_by_job(result.jobs)
    windows = {r.name: (r.start, r.end, {platform.node_name(n) for n in r.nodes}) for r in reservations}
    held: dict[str, list[tuple[float, float, str]]] = {}
    for row in rows_of(result.allocations):
        held.setdefault(row.node, []).append((times[row.job_id].allocation_time, row.end, row.job_id))
        wish = wishes[row.job_id]
        assert set(wish.requires.split()) <= platform.node_types[kinds[row.node]].tags
        start = times[row.job_id].allocation_time
        end = start + wish.requested_time
        for name, (opens, closes, nodes) in windows.items():
            if name == wish.reservation:
                assert row.node in nodes
                assert opens <= start
                assert end <= closes
            elif row.node in nodes:
                assert start >= closes or end <= opens
                assert not opens <= start < closes
    tree = platform.switch_tree
    leaf = dict(zip(platform.node_names(), tree.leaf_of_node.tolist(), strict=True))
    leaves: dict[str, set[int]] = {}
    for row in rows_of(result.allocations):
        leaves.setdefault(row.job_id, set()).add(leaf[row.node])
    for job, under in leaves.items():
        wish = wishes[job]
        waited = times[job].allocation_time >= wish.submit_time + wish.switch_wait
        assert not wish.switches or waited or len(under) <= wish.switches
    for holds in held.values():
        for start, end, job in holds:
            if wishes[job].exclusive:
                others = [(s, e) for s, e, other in holds if other != job]
                assert not any(s < end and start < e for s, e in others)
                assert not any(s == start and e > s for s, e in others if end > start)


def check_promises(result: Result) -> None:
    """No job gets its cores after any start that it was promised, as long as the machine and the jobs do as expected.

    That is: every node is on and stays so, no job outlives its request, and none comes late to its place in the queue.
    """
    jobs = rows_by_job(result.jobs)
    as_asked = all(job.run_time <= job.requested_time for job in jobs.values() if not isnan(job.start_time))
    if not as_asked or not set(result.node_states["state"]) <= set(ON):
        return
    if not all(job.eligible_time == job.submit_time for job in jobs.values()):
        return
    promises = result.decisions[result.decisions["decision"] == "reserve"]
    for job, promised in zip(promises["job_id"], promises["promised_time"], strict=True):
        assert not jobs[job].allocation_time > promised


def check_queue(result: Result) -> None:
    """The queue at each of its times has the jobs that were eligible by then and had neither cores nor an end."""
    jobs = result.jobs
    waits = [
        (
            row.eligible_time,
            min(t for t in (row.allocation_time, row.finish_time, np.inf) if not np.isnan(t)),
            row.requested_cores,
        )
        for row in rows_of(jobs)
        if not np.isnan(row.eligible_time) and not (row.state == "rejected" and np.isnan(row.finish_time))
    ]
    for row in rows_of(result.queue):
        there = [cores for since, until, cores in waits if since <= row.time < until]
        assert (row.pending, row.pending_cores) == (len(there), sum(there))
    assert result.queue["time"].is_monotonic_increasing


def check_metrics(result: Result, workload: Workload) -> None:
    """The columns of the jobs and the metrics of the summary, by their definitions and from the tables."""
    jobs, found = result.jobs, result.summary()
    deadlines = dict(zip(workload.jobs["job_id"], workload.jobs["deadline"], strict=True))
    ran = []
    for job in rows_of(jobs):
        if np.isnan(job.start_time):
            assert np.isnan([job.wait_time, job.run_time, job.turnaround_time, job.bounded_slowdown]).all()
            assert job.energy_j == 0.0
            continue
        assert job.wait_time == job.start_time - job.submit_time
        if np.isnan(job.finish_time):
            assert np.isnan([job.run_time, job.turnaround_time]).all()
            continue
        run, turnaround = job.finish_time - job.start_time, job.finish_time - job.submit_time
        assert (job.run_time, job.turnaround_time) == (run, turnaround)
        assert job.bounded_slowdown == max(1.0, turnaround / max(run, 10.0))
        _same(job.slowdown, turnaround / run if run > 0.0 else None)
        _same(job.stretch, job.wait_time / job.requested_time if job.requested_time > 0.0 else None)
        _same(
            job.tardiness, max(job.finish_time - deadlines[job.job_id], 0.0) if deadlines[job.job_id] < np.inf else None
        )
        ran.append(job)
    horizon = result.power["time"].iloc[-1]
    last = max((job.finish_time for job in ran), default=found["first_submission_s"])
    makespan = last - found["first_submission_s"]
    _same(found["makespan_s"], makespan)
    _same(
        found["first_submission_s"], float(np.nanmin(jobs["submit_time"])) if jobs["submit_time"].notna().any() else 0.0
    )
    completed = sum(job.state == "completed" for job in ran)
    _same(found["throughput_jobs_per_h"], completed / makespan * 3600.0 if makespan else None)
    held = result.allocations
    core_s = float(((held["last_core"] - held["first_core"] + 1) * (held["end"] - held["start"])).sum())
    end = horizon if (jobs["start_time"].notna() & jobs["finish_time"].isna()).any() else last
    window = end - found["first_submission_s"]
    _same(found["utilisation"], core_s / (result.platform.core_count * window) if window else None)
    for metric, column, statistic in (
        ("mean_wait_s", "wait_time", np.mean),
        ("median_wait_s", "wait_time", np.median),
        ("p95_wait_s", "wait_time", lambda values: np.percentile(values, 95)),
        ("max_wait_s", "wait_time", max),
        ("mean_turnaround_s", "turnaround_time", np.mean),
        ("mean_slowdown", "slowdown", np.mean),
        ("max_slowdown", "slowdown", max),
        ("mean_bounded_slowdown", "bounded_slowdown", np.mean),
        ("max_bounded_slowdown", "bounded_slowdown", max),
        ("mean_stretch", "stretch", np.mean),
        ("max_stretch", "stretch", max),
        ("mean_tardiness_s", "tardiness", np.mean),
        ("max_tardiness_s", "tardiness", max),
        ("jobs_late", "tardiness", lambda values: sum(value > 0.0 for value in values)),
    ):
        values = [value for job in ran if not np.isnan(value := getattr(job, column))]
        _same(found[metric], statistic(values) if values else None)
    delays = [
        job.wait_time - 0.5 * job.requested_time
        for job in ran
        if 0.0 < job.requested_time < np.inf and job.wait_time >= 0.5 * job.requested_time
    ]
    assert found["jobs_delayed"] == len(delays)
    _same(found["total_delay_s"], sum(delays))
    _same(found["share_delayed"], len(delays) / len(ran) if ran else None)
    watts = result.power["watts"]  # the last row closes the curve
    assert found["max_watts"] == watts[: max(len(watts) - 1, 1)].max()
    _same(found["mean_watts"], found["energy_j"] / horizon if horizon else None)
    assert found["node_switches"] == int(result.nodes[["switches_on", "switches_off"]].sum().sum())
    queue = result.queue
    spans = np.diff(np.append(queue["time"].to_numpy(), horizon))
    window = spans.sum()
    _same(found["mean_queue_length"], (queue["pending"].to_numpy() * spans).sum() / window if window > 0.0 else None)
    assert found["max_queue_length"] == max(queue["pending"], default=0)


def _same(found: Any, expected: float | None) -> None:
    """Equal to 1e-9, or both without a value."""
    if expected is None or not np.isfinite(expected):
        assert found is None or not np.isfinite(found)
    else:
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def check_books(simulation: Simulation) -> None:
    """At any time during a run: what is free in all, and the nodes in which placements look for it, are by the nodes' columns."""
    machine = simulation.machine
    usable = machine.nodes.is_on | machine.nodes.is_off
    assert machine.cores.free_total == int(machine.cores.free[usable].sum())
    nodes = range(simulation.platform.node_count)
    for found, mask in ((machine.cores.available, machine.nodes.is_on), (machine.cores.asleep, machine.nodes.is_off)):
        assert [node for node in nodes if node in found] == np.flatnonzero(mask & (machine.cores.free > 0)).tolist()


def check_all_is_free(simulation: Simulation) -> None:
    """After a run no core is held or busy, no memory used, no bandwidth asked for, and the machine's books agree."""
    machine, platform = simulation.machine, simulation.platform
    for node in range(platform.node_count):
        machine.cores.withhold([node], False)  # as a power policy would, in the end
    assert machine.cores.free.tolist() == platform.node_cores.tolist()
    assert machine.power.busy.tolist() == [0] * platform.processor_count
    assert not machine.cores.memory.used.any()
    assert machine.demand == pytest.approx(0.0, abs=1e-9)
    states = [simulation.node(i).state for i in range(platform.node_count)]
    assert [i for i in range(platform.node_count) if i in machine.cores.available] == [
        i for i, state in enumerate(states) if state is NodeState.IDLE
    ]
    assert machine.power.watts == pytest.approx(sum(simulation.node(i).watts for i in range(platform.node_count)))
