"""What the rows of sacct's output say of each job: states, run times, CPUs, nodes, memory, GPUs, licences, features."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import NamedTuple

import numpy as np

from cluster_sim.errors import FormatError
from cluster_sim.formats import slurm_values as values
from cluster_sim.formats.sacct_jobs import Cells, FoldedJobs

NOT_OVER = frozenset(
    "PENDING RUNNING SUSPENDED COMPLETING CONFIGURING REQUEUED REQUEUE_HOLD REQUEUE_FED RESIZING RESV_DEL_HOLD "
    "SIGNALING SPECIAL_EXIT STAGE_OUT STOPPED".split()
)
TRES_READ = ("cpu", "mem", "node")


class Facts(NamedTuple):
    """What the rows say of each job, before any is left out. Times in s, memory in MB of each CPU."""

    state: list[str]
    run: np.ndarray
    limit: np.ndarray  #: NaN: not told.
    asked: np.ndarray  #: CPUs; 0: not told.
    used: np.ndarray  #: CPUs; 0: none.
    cores: np.ndarray
    nodes: np.ndarray
    memory: np.ndarray
    gpus: np.ndarray
    licenses: list[str]
    requires: list[str]
    odd_constraints: int
    other_tres: Counter[str]


def facts_of(cells: Cells, jobs: FoldedJobs, cores: str, limit_is_run: bool) -> Facts:
    """What is known of all jobs; ``cores`` "allocated" or "requested" count, and unfinished jobs run their limit, or not.

    Raises FormatError naming line and column.
    """
    rows = jobs.rows
    state = [text.partition(" ")[0].rstrip("+").upper() for text in cells.texts("state", rows)]
    req_tres, alloc_tres = (cells.understood(name, rows, values.tres) for name in ("reqtres", "alloctres"))
    if not cells.first_of("ncpus", "alloccpus", "reqcpus", "reqtres", "alloctres"):
        found = ", ".join(cells.table.names.values())
        raise FormatError(cells.path, "a column with CPUs: AllocCPUS, NCPUS, ReqCPUS, AllocTRES or ReqTRES", found)

    def counts(columns: tuple[str, ...], tres: list[dict[str, str]], part: str) -> np.ndarray:
        name = cells.first_of(*columns)
        if name:
            return np.array(cells.understood(name, rows, values.count), dtype=float)
        return np.array([_of_tres(cells, row, said, part) for row, said in zip(rows, tres, strict=True)], dtype=float)

    used = counts(("alloccpus", "ncpus"), alloc_tres, "cpu")
    asked = counts(("reqcpus",), req_tres, "cpu")
    held_nodes = counts(("nnodes", "allocnodes"), alloc_tres, "node")
    asked_nodes = counts(("reqnodes",), req_tres, "node")
    wanted = np.where((used > 0) & (cores == "allocated") | (asked <= 0), used, asked)
    nodes = np.where((cores == "allocated") & (held_nodes > 0), np.maximum(held_nodes, asked_nodes), asked_nodes)
    if cells.first_of("reqnodes", "reqtres"):  # one node is what Slurm writes of jobs that do not care
        nodes = np.where(asked_nodes > 1, nodes, 0)
    nodes = np.where(nodes > 1, np.minimum(nodes, wanted), 0)
    limit = cells.numbers(rows, values.duration, "timelimit", "timelimitraw")  # a bare number is minutes in both
    run = _run_times(cells, jobs)
    over = np.array([one not in NOT_OVER for one in state])
    run = np.where(over, run, np.where(np.isfinite(limit) & limit_is_run, limit, math.nan))
    requires = cells.understood("constraints", rows, _requires)
    gpus = [_gpus(cells, *each) for each in zip(rows, req_tres, alloc_tres, strict=True)]
    per_node = cells.first_of("allocgres", "reqgres")
    if per_node:
        listed = np.array(cells.understood(per_node, rows, values.gpus_of_gres)) * np.maximum(held_nodes, 1)
        gpus = np.where(np.array(gpus) > 0, gpus, listed).tolist()
    stated = cells.texts("licenses", rows)
    licences = [_licences(said) or _licences(got) for said, got in zip(req_tres, alloc_tres, strict=True)]
    return Facts(
        state, run, limit, asked, used, wanted, nodes,
        _memory(cells, rows, req_tres, np.maximum(wanted, 1), np.maximum(np.maximum(held_nodes, asked_nodes), 1)),
        np.array(gpus, dtype=float),
        [own if own.lower() not in ("", "none", "(null)") else found for own, found in zip(stated, licences, strict=True)],
        [tags or "" for tags in requires],
        sum(tags is None for tags in requires),
        Counter(name for each in req_tres for name in each if not _is_read(name)),
    )  # fmt: skip


def _is_read(name: str) -> bool:
    return name in TRES_READ or name == "billing" or name.startswith(("gres/gpu", "license/"))


def _of_tres(cells: Cells, row: int, said: dict[str, str], part: str) -> int:
    try:
        return values.count(said.get(part, ""))
    except ValueError as error:
        raise FormatError(f"{cells.place(row)}, TRES {part}", str(error), said[part]) from None


def _gpus(cells: Cells, row: int, asked: dict[str, str], got: dict[str, str]) -> int:
    try:
        return values.gpus_of_tres(asked) or values.gpus_of_tres(got)
    except ValueError as error:
        raise FormatError(f"{cells.place(row)}, TRES gres/gpu", str(error), asked or got) from None


def _licences(said: dict[str, str]) -> str:
    return ",".join(f"{name.removeprefix('license/')}:{n}" for name, n in said.items() if name.startswith("license/"))


def _requires(text: str) -> str | None:
    """Features that every node must have, as tags; None for alternatives, counts and the like."""
    tags = re.split(r"[&,]", text)
    return " ".join(tags) if all(re.fullmatch(r"[\w.-]*", tag) for tag in tags) else None


def _run_times(cells: Cells, jobs: FoldedJobs) -> np.ndarray:
    """Time in which the job ran, suspensions left out."""
    by_clock = jobs.times["end"] - jobs.times["start"]
    paused = np.nan_to_num(cells.numbers(jobs.rows, values.duration, "suspended"))
    by_clock = np.where(by_clock >= 0, np.maximum(by_clock - paused, 0), math.nan)
    if cells.first_of("elapsedraw"):
        seconds = cells.numbers(jobs.rows, lambda text: values.count(text) if text else math.nan, "elapsedraw")
        return np.where(np.isnan(seconds), by_clock, seconds)
    elapsed = cells.numbers(jobs.rows, values.duration, "elapsed")
    return np.where(np.isfinite(elapsed), elapsed, by_clock)


def _memory(
    cells: Cells, rows: list[int], tres: list[dict[str, str]], cores: np.ndarray, nodes: np.ndarray
) -> np.ndarray:
    """MB of each CPU: ReqMem counts a job (4G), its nodes (4Gn) or its CPUs (4Gc)."""
    if cells.first_of("reqmem"):
        said = cells.understood("reqmem", rows, values.memory)
    else:
        said = []
        for row, parts in zip(rows, tres, strict=True):
            try:
                said.append(values.memory(parts.get("mem", "")))
            except ValueError as error:
                raise FormatError(f"{cells.place(row)}, TRES mem", str(error), parts["mem"]) from None
    amount = np.array([megabytes for megabytes, _ in said], dtype=float)
    whose = np.array([per for _, per in said], dtype=object)
    return np.where(whose == "c", amount, np.where(whose == "n", amount * nodes, amount) / cores)
