"""What the rows of sacct's output say of each job: states, run times, CPUs, nodes, memory, GPUs, licences, features."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import NamedTuple

import numpy as np

from cluster_sim.errors import FormatError
from cluster_sim.formats.slurm import conf_values as values
from cluster_sim.formats.slurm import sacct_columns
from cluster_sim.formats.slurm.sacct_columns import NOT_OVER
from cluster_sim.formats.slurm.sacct_jobs import Cells, FoldedJobs

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
    gpu_types: list[str]
    licenses: list[str]
    requires: list[str]
    odd_constraints: int
    other_tres: Counter[str]


def facts_of(cells: Cells, jobs: FoldedJobs, cores: str, limit_is_run: bool) -> Facts:
    """Return what is known of all jobs.

    ``cores`` says whether "allocated" or "requested" CPUs count. With ``limit_is_run`` unfinished jobs run their limit.

    Raises FormatError naming line and column.
    """
    rows = jobs.rows
    state = cells.states(rows)
    req_tres, alloc_tres = (cells.understood(name, rows, values.tres) for name in ("reqtres", "alloctres"))
    if not cells.has("ncpus", "alloccpus", "reqcpus", "reqtres", "alloctres"):
        found = ", ".join(cells.table.names.values())
        raise FormatError(cells.path, "a column with CPUs: AllocCPUS, NCPUS, ReqCPUS, AllocTRES or ReqTRES", found)

    def counts(tres: str, part: str, *columns: str) -> np.ndarray:
        sources = [(name, sacct_columns.count) for name in columns]
        told = cells.numbers(rows, *sources, (tres, lambda text: sacct_columns.count(values.tres(text).get(part, ""))))
        return np.where(np.isnan(told), 0.0, told)

    used = counts("alloctres", "cpu", "alloccpus", "ncpus")
    asked = counts("reqtres", "cpu", "reqcpus")
    held_nodes = counts("alloctres", "node", "nnodes", "allocnodes")
    asked_nodes = counts("reqtres", "node", "reqnodes")
    wanted = np.where((used > 0) & (cores == "allocated") | (asked <= 0), used, asked)
    nodes = np.where((cores == "allocated") & (held_nodes > 0), np.maximum(held_nodes, asked_nodes), asked_nodes)
    is_asked = [any(pair) for pair in zip(cells.texts("reqnodes", rows), cells.texts("reqtres", rows), strict=True)]
    # One node is what Slurm writes of jobs that do not care.
    nodes = np.where((asked_nodes > 1) | ~np.array(is_asked, dtype=bool), nodes, 0)
    nodes = np.where(nodes > 1, np.minimum(nodes, wanted), 0)
    # A bare number means minutes in both columns.
    limit = cells.numbers(rows, ("timelimit", values.duration), ("timelimitraw", values.duration))
    # The run time is without suspensions.
    by_clock = jobs.times["end"] - jobs.times["start"]
    paused = np.nan_to_num(cells.numbers(jobs.rows, ("suspended", values.duration)))
    by_clock = np.where(by_clock >= 0, np.maximum(by_clock - paused, 0), math.nan)
    elapsed = cells.numbers(jobs.rows, ("elapsedraw", sacct_columns.count), ("elapsed", values.duration))
    run = np.where(np.isfinite(elapsed), elapsed, by_clock)
    over = np.array([one not in NOT_OVER for one in state])
    run = np.where(over, run, np.where(np.isfinite(limit) & limit_is_run, limit, math.nan))
    requires = cells.understood("constraints", rows, _requires)
    # Types go with the column that the number is from: what a job got says no type that it did not ask for.
    of_tres = [each if values.gpus_of_tres(each) else got for each, got in zip(req_tres, alloc_tres, strict=True)]
    gpus, gpu_types = np.array([*map(values.gpus_of_tres, of_tres)]), [*map(values.gpu_types_of_tres, of_tres)]
    for name in ("allocgres", "reqgres"):
        by_type = cells.understood(name, rows, values.gpus_by_type)
        listed = np.array([sum(each.values()) for each in by_type]) * np.maximum(held_nodes, 1)
        gpu_types = [
            "|".join(filter(None, own)) if not n else said
            for own, said, n in zip(by_type, gpu_types, gpus, strict=True)
        ]
        gpus = np.where(gpus > 0, gpus, listed)
    other_tres = [name for each in req_tres for name in each if name not in (*TRES_READ, "billing")]
    stated = cells.texts("licenses", rows)
    licences = [_licences(said) or _licences(got) for said, got in zip(req_tres, alloc_tres, strict=True)]
    return Facts(
        state, run, limit, asked, used, wanted, nodes,
        _memory(cells, rows, np.maximum(wanted, 1), np.maximum(np.maximum(held_nodes, asked_nodes), 1)),
        gpus.astype(float),
        gpu_types,
        [own if own.lower() not in ("", "none", "(null)") else found for own, found in zip(stated, licences, strict=True)],
        [tags or "" for tags in requires],
        sum(tags is None for tags in requires),
        Counter(name for name in other_tres if not name.startswith(("gres/gpu", "license/"))),
    )  # fmt: skip


def _licences(said: dict[str, str]) -> str:
    return ",".join(f"{name.removeprefix('license/')}:{n}" for name, n in said.items() if name.startswith("license/"))


def _requires(text: str) -> str | None:
    """Return the features that every node must have, as tags; None for alternatives, counts and the like."""
    tags = re.split(r"[&,]", text)
    return " ".join(tags) if all(re.fullmatch(r"[\w.-]*", tag) for tag in tags) else None


def _memory(cells: Cells, rows: list[int], cores: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return MB of each CPU: ReqMem counts for a job (4G), its nodes (4Gn) or its CPUs (4Gc)."""
    said = cells.understood("reqmem", rows, sacct_columns.memory)
    of_tres = cells.understood("reqtres", rows, lambda text: sacct_columns.memory(values.tres(text).get("mem", "")))
    chosen = [one if one[0] else other for one, other in zip(said, of_tres, strict=True)]
    amount = np.array([megabytes for megabytes, _ in chosen], dtype=float)
    whose = np.array([per for _, per in chosen], dtype=object)
    return np.where(whose == "c", amount, np.where(whose == "n", amount * nodes, amount) / cores)
