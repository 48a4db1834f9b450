"""What must hold of every run, from its tables alone, and its energy worked out a second time from them."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cluster_sim import Platform, Result, Workload
from cluster_sim.platform import PowerTransitions, ProcessorType

ON = ("IDLE", "COMPUTING")


def expand_cores(allocations: pd.DataFrame) -> dict[tuple[str, str, int], list[tuple[float, float, str]]]:
    """For each core, who held it from when to when, in order."""
    held: dict[tuple[str, str, int], list[tuple[float, float, str]]] = defaultdict(list)
    for row in allocations.itertuples():
        for core in range(row.first_core, row.last_core + 1):
            held[row.node, row.processor, core].append((row.start, row.end, row.job_id))
    return {core: sorted(spans) for core, spans in held.items()}


def check_cores(result: Result) -> None:
    """Cores exist, and no core runs two jobs at a time; each job that began has the cores it asked for, all its time."""
    platform, allocations = result.platform, result.allocations
    sizes = {
        (name, f"processor{i}"): kind.cores
        for name, node_type in zip(platform.node_names(), platform.type_of_node, strict=True)
        for i, kind in enumerate(platform.node_types[node_type].processors)
    }
    for (node, processor, core), spans in expand_cores(allocations).items():
        assert 0 <= core < sizes[node, processor]
        for (_, end, _), (start, _, _) in pairwise(spans):
            assert end <= start
    jobs = result.jobs.set_index("job_id")
    width = (allocations["last_core"] - allocations["first_core"] + 1).groupby(allocations["job_id"]).sum()
    began = jobs[jobs["start_time"].notna()]
    assert width.to_dict() == began["requested_cores"].to_dict()
    horizon = result.power["time"].iloc[-1]
    for row in allocations.itertuples():
        job = jobs.loc[row.job_id]
        end = horizon if np.isnan(job["finish_time"]) else job["finish_time"]
        assert (row.start, row.end) == (job["start_time"], end)


def check_times(result: Result, workload: Workload) -> None:
    """Nothing starts before it was submitted or ends before it began; every job is in one state, as its times say."""
    jobs = result.jobs
    assert jobs["job_id"].tolist() == workload.jobs["job_id"].tolist()
    submit, allocated, start, finish = (
        jobs[c].to_numpy() for c in ("submit_time", "allocation_time", "start_time", "finish_time")
    )
    began = ~np.isnan(start)
    assert (allocated[began] >= submit[began]).all()
    assert (start[began] >= allocated[began]).all()
    both = began & ~np.isnan(finish)
    assert (finish[both] >= start[both]).all()
    state = jobs["state"].to_numpy()
    assert set(state) <= {"completed", "killed", "rejected", "unfinished"}
    assert both[state == "completed"].all()
    assert not np.isnan(finish[state == "killed"]).any()
    assert not began[state == "rejected"].any()
    assert np.isnan(finish[state == "unfinished"]).all()
    assert (jobs["reason"].ne("") == jobs["state"].isin(["killed", "rejected"])).all()
    summary = result.summary()
    counts = {s: summary[f"jobs_{s}"] for s in ("completed", "killed", "rejected", "unfinished")}
    assert {s: n for s, n in counts.items() if n} == jobs["state"].value_counts().to_dict()


def check_rejections(result: Result, workload: Workload, by_memory: bool) -> None:
    """Rejected is exactly who could not run on the empty machine."""
    platform = result.platform
    sizes = platform.node_cores.tolist()
    memory_gb = [platform.node_types[i].memory_gb for i in platform.type_of_node]
    rejected = result.jobs["state"].eq("rejected").to_numpy()
    for row, refused in zip(workload.jobs.itertuples(), rejected, strict=True):
        room = list(sizes)
        if by_memory and row.memory:
            limits = [
                size if gb is None else int(gb * 1024 / row.memory) for size, gb in zip(sizes, memory_gb, strict=True)
            ]
            room = [min(pair) for pair in zip(sizes, limits, strict=True)]
        assert refused != could_run(row.requested_cores, row.nodes, row.ntasks_per_node, room, platform.widest_node)


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
    platform, memory = result.platform, workload.jobs.set_index("job_id")["memory"]
    used = result.allocations.assign(
        mb=(result.allocations["last_core"] - result.allocations["first_core"] + 1)
        * result.allocations["job_id"].map(memory)
    )
    for name, number in zip(platform.node_names(), platform.type_of_node, strict=True):
        capacity = platform.node_types[number].memory_gb
        rows = used[used["node"] == name]
        for time in rows["start"]:
            there = rows[(rows["start"] <= time) & (rows["end"] > time)]
            assert capacity is None or there["mb"].sum() <= capacity * 1024 * (1 + 1e-9)


def check_run_times(result: Result, workload: Workload) -> None:
    """A completed job took its uncontended time on its slowest core, or longer where tasks slow each other."""
    platform = result.platform
    rate = dict(zip(platform.node_names(), platform.type_of_node, strict=True))
    table = workload.jobs.set_index("job_id")
    contended = platform.contention_model != "none" and any(kind.contention for kind in platform.processor_types)
    jobs = result.jobs.set_index("job_id")
    slowest: dict[str, float] = {}
    for row in result.allocations.itertuples():
        kind = platform.node_types[rate[row.node]].processors[int(row.processor.removeprefix("processor"))]
        slowest[row.job_id] = min(slowest.get(row.job_id, np.inf), kind.ops_per_s)
    for job, ops_per_s in slowest.items():
        work = table.loc[job, "operations"]
        if np.isnan(work):
            work = table.loc[job, "recorded_run_time"] * platform.fastest_ops_per_s
        took, alone = jobs.loc[job, "run_time"], work / ops_per_s
        if jobs.loc[job, "state"] == "completed":
            assert took >= alone * (1 - 1e-9) - 1e-9
            if not contended:
                assert took == pytest.approx(alone, rel=1e-9, abs=1e-9)
        else:
            assert jobs.loc[job, "state"] == "killed"


def check_walltime(result: Result, enforced: bool) -> None:
    """With enforcement nobody outlives the request, who is killed has reached it exactly; without, nobody is killed."""
    jobs = result.jobs
    killed = jobs[jobs["state"] == "killed"]
    if not enforced:
        assert killed.empty
        return
    assert (jobs["finish_time"].dropna() <= (jobs["start_time"] + jobs["requested_time"]).dropna()).all()
    assert (killed["finish_time"] == killed["start_time"] + killed["requested_time"]).all()
    assert set(killed["reason"]) <= {"walltime"}


def check_shapes(result: Result, workload: Workload) -> None:
    """The width rule, and ``nodes`` and ``ntasks_per_node`` where they are given."""
    platform, jobs = result.platform, result.jobs.set_index("job_id")
    cores = result.allocations["last_core"] - result.allocations["first_core"] + 1
    tasks: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for job, node, count in zip(result.allocations["job_id"], result.allocations["node"], cores, strict=True):
        tasks[job][node] += int(count)
    capacity = dict(zip(platform.node_names(), platform.node_cores.tolist(), strict=True))
    limited = (workload.jobs["memory"] > 0).any()
    for row in workload.jobs.itertuples():
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
        if row.requested_cores <= platform.widest_node:
            assert len(counts) == 1
        elif not limited:
            # It took nodes whole, as far as they were free, but for the last.
            at = jobs.loc[row.job_id, "allocation_time"]
            held: dict[str, int] = defaultdict(int)
            for other, nodes in tasks.items():
                since, until = jobs.loc[other, "allocation_time"], jobs.loc[other, "finish_time"]
                if since <= at and (until > at or since == at):
                    for node, count in nodes.items():
                        held[node] += count
            assert sum(held[node] < capacity[node] for node in tasks[row.job_id]) <= 1


def check_node_states(result: Result) -> None:
    """Each node has a state at every time from 0 to the end, computes exactly while it runs a job, and never twice."""
    horizon = result.power["time"].iloc[-1]
    rows: dict[str, list[Any]] = defaultdict(list)
    for row in result.node_states.itertuples():
        rows[row.node].append(row)
    if horizon > 0.0:
        assert list(rows) == result.platform.node_names()
    used: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in result.allocations.itertuples():
        if row.end > row.start:
            used[row.node].append((row.start, row.end))
    for node, states in rows.items():
        assert (states[0].start, states[-1].end) == (0.0, horizon)
        for before, after in pairwise(states):
            assert before.end == after.start
            assert before.state != after.state
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


def check_energy_identities(result: Result) -> None:
    """∫ power = total = jobs + unused + idle + transitions + off, to 1e-9; EDP is energy times makespan."""
    summary = result.summary()
    total = summary["energy_j"]
    close = pytest.approx(total, rel=1e-9, abs=1e-9)
    assert integral(result.power) == close
    parts = ("jobs", "unused", "idle", "switching_on", "switching_off", "off")
    assert sum(summary[f"energy_{part}_j"] for part in parts) == close
    assert summary["energy_jobs_j"] == pytest.approx(result.jobs["energy_j"].sum(), rel=1e-9, abs=1e-9)
    waste = sum(summary[f"energy_{part}_j"] for part in ("idle", "switching_on", "switching_off"))
    assert summary["energy_waste_j"] == pytest.approx(waste, rel=1e-12)
    assert summary["edp_js"] == pytest.approx(total * summary["makespan_s"], rel=1e-12)
    assert (result.power["watts"] >= -1e-9).all()
    assert (np.diff(result.power["time"]) >= 0).all()


def check_second_opinion(result: Result, unused_draw_nothing: bool = False) -> None:
    """Energy of the platform and of each job, as worked out a second time (under linear and baseline power)."""
    if result.platform.power_model not in ("linear", "baseline"):
        return
    total, by_job = second_opinion(result, unused_draw_nothing)
    assert result.summary()["energy_j"] == pytest.approx(total, rel=1e-9, abs=1e-9)
    found = dict(zip(result.jobs["job_id"], result.jobs["energy_j"], strict=True))
    assert found == pytest.approx(by_job, rel=1e-9, abs=1e-9)


def second_opinion(result: Result, unused_draw_nothing: bool = False) -> tuple[float, dict[str, float]]:
    """Energy of the platform and of each job, worked out from the tables of allocations and node states, slowly.

    Linear and baseline power as the papers give them, in so many words; nothing of the toolkit's own power code.
    """
    platform = result.platform
    states: dict[str, list[Any]] = defaultdict(list)
    for row in result.node_states.itertuples():
        states[row.node].append(row)
    tenants: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in result.allocations.itertuples():
        tenants[row.node, row.processor].append(row)
    total, by_job = 0.0, dict.fromkeys(result.jobs["job_id"], 0.0)
    for node, number in zip(platform.node_names(), platform.type_of_node.tolist(), strict=True):
        node_type = platform.node_types[number]
        idlers = []
        for i, kind in enumerate(node_type.processors):
            mine = tenants[node, f"processor{i}"]
            drawing_from = min((row.start for row in mine), default=np.inf) if unused_draw_nothing else 0.0
            static, dynamic, idle = _linear(kind, platform)
            idlers.append((drawing_from, idle))
            times = {time for row in (*states[node], *mine) for time in (row.start, row.end)}
            for begin, stop in pairwise(sorted(times)):
                if not any(row.start <= begin < row.end and row.state in ON for row in states[node]):
                    continue
                there = [row for row in mine if row.start <= begin < row.end]
                busy = sum(row.last_core - row.first_core + 1 for row in there)
                if not busy:
                    total += idle * (stop - begin) if begin >= drawing_from else 0.0
                    continue
                total += (static + dynamic * busy) * (stop - begin)
                for row in there:
                    count = row.last_core - row.first_core + 1
                    by_job[row.job_id] += (dynamic * count + static * count / busy) * (stop - begin)
        total += _while_not_on(states[node], node_type.transitions, idlers)
    return total, by_job


def _linear(kind: ProcessorType, platform: Platform) -> tuple[float, float, float]:
    """(static, dynamic per core, idle) watts of a processor."""
    static, dynamic, fraction = (kind.power.get(key, 0.0) for key in ("static_w", "dynamic_w", "min_power"))
    return (0.0, dynamic, 0.0) if platform.power_model == "baseline" else (static, dynamic, static * fraction)


def _while_not_on(states: list[Any], costs: PowerTransitions, idlers: list[tuple[float, float]]) -> float:
    """Energy in the other states; ``idlers`` are the processors' (time from which they draw, idle watts)."""
    total = 0.0
    for row in states:
        idle = sum(watts for since, watts in idlers if since <= row.start)
        watts = {
            "OFF": costs.off_w,
            "SWITCHING_ON": idle if costs.switch_on_w is None else costs.switch_on_w,
            "SWITCHING_OFF": idle if costs.switch_off_w is None else costs.switch_off_w,
        }
        total += watts.get(row.state, 0.0) * (row.end - row.start)
    return total
