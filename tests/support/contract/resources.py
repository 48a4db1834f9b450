"""GPUs, other counted units and licences for random cases, and what must hold of their holds, from the tables alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from cluster_sim import Platform, Result
from cluster_sim.platform import Resource
from tests.support.contract.checks import ON, could_run, rows_by_job, rows_of
from tests.support.contract.runs import Case


def with_resources(random: Random, case: Case) -> Case:
    """The case on nodes some of which have GPUs and FPGAs, on a platform with licences; some of its jobs ask for these."""

    def resources() -> dict[str, Resource]:
        gpus = Resource(
            random.choice([0, 1, 2, 4]),
            random.choice(["", "a", "b"]),
            idle_w=random.choice([0.0, 2.5]),
            max_w=random.choice([2.5, 20.25]),
            cap_w=random.choice([None, None, 10.0]),
        )
        return {"gpu": gpus} | random.choice([{}, {"fpga": Resource(2)}])

    kinds = {kind: replace(kind, resources=resources()) for kind in case.platform.node_types}
    clusters = tuple(
        replace(
            cluster,
            groups=tuple(replace(group, type=kinds.get(group.type, group.type)) for group in cluster.groups),
        )
        for cluster in case.platform.clusters
    )
    platform = replace(case.platform, clusters=clusters, pools=random.choice([{}, {"x": 3}, {"x": 2, "y": 5}]))
    count = len(case.jobs["job_id"])
    malleable = case.jobs.get("malleable", [False] * count)
    shares = random.choice([[1.0], [1.0], [1.0, 0.5, 0.25, 1 / 3]])
    ways = ["", "", "gpus", "gpus_per_node", "gpus_per_task"]
    asked = ["gpus_per_task" if malleable[row] else random.choice(ways) for row in range(count)]
    columns: dict[str, list[Any]] = {
        way: [random.randint(1, 4) if way != "gpus_per_task" else 1 for _ in range(count)] for way in ways[2:]
    }
    columns = {way: [n if asked[row] == way else 0 for row, n in enumerate(columns[way])] for way in columns}
    return replace(
        case,
        platform=platform,
        jobs=case.jobs
        | columns
        | {
            "gpu_share": [1.0 if malleable[row] else random.choice(shares) for row in range(count)],
            "gpu_type": [random.choice(["", "", "a", "a|b"]) for _ in range(count)],
            "resources": ["" if malleable[row] else random.choice(["", "", "fpga:1", "fpga"]) for row in range(count)],
            "licenses": [
                "" if malleable[row] or not platform.pools else random.choice(["", "", "x", "x:2"])
                for row in range(count)
            ],
        },
    )


def check(case: Case, result: Result, full_rejections: bool = True) -> None:
    """Nothing is held twice, each attempt has what its job asked for, and the GPUs' energy is what they drew."""
    jobs = {str(job_id): row for row, job_id in enumerate(case.jobs["job_id"])}
    held = rows_of(result.resource_holds)
    check_never_more_than_there_is(case.platform, held)
    check_each_has_what_it_asked_for(case, result, held, jobs)
    check_gpu_energy(case.platform, result, held)
    check_gpu_steps(case, result, held)
    if full_rejections:
        check_rejections(case, result)


def check_never_more_than_there_is(platform: Platform, held: Sequence[Any]) -> None:
    """At no time are the shares of a unit more than all of it, and every unit is one that is there."""
    kinds = {name: platform.node_types[i] for name, i in zip(platform.node_names(), platform.type_of_node, strict=True)}
    units: dict[tuple[str, str, int], list[Any]] = defaultdict(list)
    for row in held:
        most = kinds[row.node].resources[row.resource].count if row.node else platform.pools[row.resource]
        assert 0 <= row.first <= row.last < most
        for number in range(row.first, row.last + 1):
            units[row.node, row.resource, number].append(row)
    for rows in units.values():
        for time in {row.start for row in rows}:
            together = sum(row.share for row in rows if row.start <= time < row.end)
            assert together <= 1.0 + 1e-5


def check_each_has_what_it_asked_for(case: Case, result: Result, held: Sequence[Any], jobs: dict[str, int]) -> None:
    """While an attempt has its cores, it has on their nodes what its job asks for: no less, no more, of the types named."""
    platform, columns = case.platform, case.jobs
    kinds = {name: platform.node_types[i] for name, i in zip(platform.node_names(), platform.type_of_node, strict=True)}
    cores: dict[tuple[str, int], list[Any]] = defaultdict(list)
    for row in rows_of(result.holds):
        if row.kind == "job":
            cores[row.owner, row.attempt].append(row)
    found: dict[tuple[str, int], list[Any]] = defaultdict(list)
    for row in held:
        found[row.owner, row.attempt].append(row)
    assert set(found) <= set(cores)
    for key, pieces in cores.items():
        row = jobs[key[0]]
        for start, end in {(piece.start, piece.end) for piece in pieces if piece.end > piece.start}:
            tasks: dict[str, int] = defaultdict(int)
            for piece in pieces:
                if (piece.start, piece.end) == (start, end):
                    tasks[piece.node] += piece.last_core - piece.first_core + 1
            idle = columns.get("exclusive", [False] * len(jobs))[row]
            mine = [one for one in found[key] if (one.start, one.end) == (start, end)]
            units: dict[tuple[str, str], int] = defaultdict(int)
            for one in mine:
                units[one.node, one.resource] += one.last - one.first + 1
                if one.resource == "gpu":
                    assert one.share == pytest.approx(columns["gpu_share"][row], abs=1e-6)
                    types = columns["gpu_type"][row]
                    assert not types or kinds[one.node].resources["gpu"].type in types.split("|")
                else:
                    assert one.share == 1.0
            gpus = {node: number for (node, resource), number in units.items() if resource == "gpu"}
            if columns["gpus"][row]:
                assert sum(gpus.values()) == columns["gpus"][row]
                assert set(gpus) <= set(tasks)
            elif columns["gpus_per_node"][row]:
                assert gpus == dict.fromkeys(tasks, columns["gpus_per_node"][row])
            elif columns["gpus_per_task"][row]:
                if not idle:
                    assert gpus == tasks
            else:
                assert not gpus
            fpgas = {node: number for (node, resource), number in units.items() if resource == "fpga"}
            assert fpgas == (dict.fromkeys(tasks, 1) if columns["resources"][row] else {})
            licence = columns["licenses"][row]
            wanted = {("", "x"): 2 if licence.endswith("2") else 1} if licence else {}
            assert {at: number for at, number in units.items() if not at[0]} == wanted


def check_gpu_energy(platform: Platform, result: Result, held: Sequence[Any]) -> None:
    """GPUs draw their idle watts while their node is on, and up to their most while tasks have them, by shares."""
    kinds = {name: platform.node_types[i] for name, i in zip(platform.node_names(), platform.type_of_node, strict=True)}
    joules = 0.0
    for row in rows_of(result.node_states):
        if row.state in ON and "gpu" in kinds[row.node].resources:
            gpu = kinds[row.node].resources["gpu"]
            joules += gpu.count * gpu.idle_w * (row.end - row.start)
    began = {(row.owner, row.attempt, row.start): row.used_from for row in rows_of(result.holds) if row.kind == "job"}
    for row in held:
        if row.resource == "gpu":
            gpu = kinds[row.node].resources["gpu"]
            most = min(gpu.max_w or gpu.idle_w, gpu.cap_w or 1e9)
            used_from = began[row.owner, row.attempt, row.start]
            if used_from < row.end:
                joules += (row.last - row.first + 1) * row.share * (most - gpu.idle_w) * (row.end - used_from)
    assert result.summary()["energy_gpus_j"] == pytest.approx(joules, rel=1e-5, abs=1e-5)
    assert result.summary()["energy_gpus_j"] <= result.summary()["energy_j"] * (1.0 + 1e-9) + 1e-9


def check_gpu_steps(case: Case, result: Result, held: Sequence[Any]) -> None:
    """Free, stranded and fragmented GPUs at every time, worked out node by node from the definitions."""
    platform, steps = case.platform, rows_of(result.gpus)
    names = platform.node_names()
    cores = rows_of(result.holds)
    asked = [
        (
            -(-case.jobs["requested_cores"][row] // max(case.jobs["nodes"][row], 1)),
            case.jobs["gpu_share"][row],
            case.jobs["gpus_per_node"][row]
            + case.jobs["gpus_per_task"][row] * -(-case.jobs["requested_cores"][row] // max(case.jobs["nodes"][row], 1))
            + -(-case.jobs["gpus"][row] // max(case.jobs["nodes"][row], 1)),
            case.jobs["gpu_type"][row],
        )
        for row in range(len(case.jobs["job_id"]))
    ]
    requests = Counter((cores_, share if gpus else 0.0, gpus, types) for cores_, share, gpus, types in asked)
    typical, covered = [], 0
    for request, count in sorted(requests.items(), key=lambda entry: (entry[1], entry[0]), reverse=True):
        if covered < 0.95 * len(asked):
            typical.append((request, count))
            covered += count
    end = float(result.power["time"].iloc[-1])
    for step in steps[:: max(len(steps) // 8, 1)]:
        free = stranded = fragmented = 0.0
        for name, index in zip(names, platform.type_of_node.tolist(), strict=True):
            kind = platform.node_types[index]
            gpu = kind.resources["gpu"]
            left = [1.0] * gpu.count
            for row in held:
                if (row.node, row.resource) == (name, "gpu") and row.start <= step.time < row.end:
                    for number in range(row.first, row.last + 1):
                        left[number] -= row.share
            taken = sum(
                row.last_core - row.first_core + 1
                for row in cores
                if row.node == name and row.start <= step.time < min(row.end, end)
            )
            free += sum(left)
            stranded += sum(left) if taken == kind.cores else 0.0
            for (wanted, share, gpus, types), count in typical:
                fits = gpus and (not types or gpu.type in types.split("|"))
                fits = fits and kind.cores - taken >= wanted
                fits = fits and sum(each >= share - 1e-6 for each in left) >= gpus
                lost = sum(each for each in left if each < share - 1e-6) if fits else sum(left)
                fragmented += count / covered * lost
        assert step.free == pytest.approx(free, abs=1e-4)
        assert step.stranded == pytest.approx(stranded, abs=1e-4)
        if any(gpus for _, _, gpus, _ in asked):
            assert step.fragmented == pytest.approx(fragmented, abs=1e-2)


def check_rejections(case: Case, result: Result) -> None:
    """Rejected is exactly who could not run on the empty machine."""
    jobs = rows_by_job(result.jobs)
    for row, job_id in enumerate(case.jobs["job_id"]):
        state = jobs[str(job_id)].state
        if state != "unfinished":
            assert (state == "rejected") == (not _could_run(case, row)), (job_id, jobs[str(job_id)].reason)


def _could_run(case: Case, row: int) -> bool:
    """Whether a job fits on the empty machine, worked out node by node."""
    job = {name: values[row] for name, values in case.jobs.items()}
    cores, nodes = job["requested_cores"], job["nodes"]
    licence = 2 if job["licenses"].endswith("2") else 1
    if case.platform.pools and job["licenses"] and case.platform.pools.get("x", 0) < licence:
        return False
    room = []
    for index in case.platform.type_of_node:
        kind = case.platform.node_types[index]
        gpu = kind.resources.get("gpu")
        there = gpu.count if gpu and (not job["gpu_type"] or gpu.type in job["gpu_type"].split("|")) else 0
        fits = [
            tasks
            for tasks in range(1, kind.cores + 1)
            if (not job["resources"] or "fpga" in kind.resources)
            and there >= job["gpus_per_node"]
            and there >= tasks * job["gpus_per_task"]
            and there * cores >= job["gpus"] * tasks * (not nodes)
            and (not nodes or there * nodes >= job["gpus"])
        ]
        room.append(max(fits, default=0))
    total = sum(
        kind.resources["gpu"].count
        for kind in (case.platform.node_types[i] for i in case.platform.type_of_node)
        if "gpu" in kind.resources and (not job["gpu_type"] or kind.resources["gpu"].type in job["gpu_type"].split("|"))
    )
    return total >= job["gpus"] and could_run(cores, nodes, job["ntasks_per_node"], room, widest=max(room))
