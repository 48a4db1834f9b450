"""The node and pod lists of Alibaba's openb trace (Weng et al., USENIX ATC 2023): CSV files with CPUs in thousandths.

Nodes: ``sn,cpu_milli,memory_mib,gpu,model`` (or ``name`` and ``gpus``). Pods:
``name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,…,creation_time,deletion_time,scheduled_time``; ``gpu_milli`` is what
the pod takes of each of its GPUs, ``gpu_spec`` the models that it accepts, joined by ``|``. Times are in seconds.

A core of the simulation is ``milli`` thousandths of a CPU, 1000 unless said otherwise: nodes are rounded down to whole
cores, pods up. With ``milli=2`` nothing is rounded in that trace.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from cluster_sim.errors import FormatError, InputError, ModelWarning, warn_user
from cluster_sim.files.reading import read_text
from cluster_sim.platform.hardware import Cluster, NodeGroup, NodeType, ProcessorType, Resource, check_count
from cluster_sim.platform.platform import Platform
from cluster_sim.platform.processor_table import power_at
from cluster_sim.workload.fields import LONGEST_S
from cluster_sim.workload.resource_request import GPU
from cluster_sim.workload.workload import Workload

CLOCK_GHZ = 3.0
"""Clock of the cores, which the lists do not state."""
NODE_COLUMNS = ("cpu_milli", "memory_mib", "model")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time", "deletion_time")


def is_nodes(start: str) -> bool:
    """Return whether a file with that beginning is a list of nodes."""
    return set(NODE_COLUMNS) <= set(start.partition("\n")[0].strip().split(","))


def is_pods(start: str) -> bool:
    """Return whether a file with that beginning is a list of pods."""
    return {"cpu_milli", "num_gpu", "gpu_milli"} <= set(start.partition("\n")[0].strip().split(","))


def read_nodes(path: str, milli: int = 1000) -> Platform:
    """Read a list of nodes, in its order; equal neighbours are one group. Raises FormatError by line and column."""
    check_count("openb, milli", milli, 1_000_000)
    kinds: dict[tuple[int, int, int, str], NodeType] = {}
    groups: list[NodeGroup] = []
    for where, row in _rows(path, NODE_COLUMNS):
        gpu_column = "gpus" if "gpus" in row else "gpu"
        cpus, memory, gpus = (_whole(row, name, where) for name in ("cpu_milli", "memory_mib", gpu_column))
        key = cpus // milli, memory, gpus, row["model"]
        if key not in kinds:
            try:
                processor = ProcessorType(f"{key[0]} cores", key[0], CLOCK_GHZ, power=power_at(CLOCK_GHZ))
                resources = {GPU: Resource(gpus, row["model"])} if gpus else {}
                name = f"{row['model'] or 'CPU'} {len(kinds) + 1}"
                kinds[key] = NodeType(name, (processor,), memory / 1024.0, resources=resources)
            except InputError as error:
                raise FormatError(f"{where}, {error.where}", error.expected, error.found) from None
        if groups and groups[-1].type is kinds[key]:
            groups[-1] = NodeGroup(kinds[key], groups[-1].count + 1)
        else:
            groups.append(NodeGroup(kinds[key], 1))
    if not groups:
        raise FormatError(path, "at least one node", "none")
    return Platform((Cluster("openb", tuple(groups)),), id="openb", watts_assumed=True)


def read(path: str, *, milli: int = 1000) -> Workload:
    """Read a list of pods as jobs of one node each, submitted at their creation, that run until their deletion.

    A pod that was never scheduled runs as long as it waited. One without times is there from the start, for ever, which a
    warning counts. A share above a whole GPU counts as one. Raises FormatError by line and column.
    """
    check_count("openb, milli", milli, 1_000_000)
    columns: dict[str, list[Any]] = {
        name: []
        for name in "job_id submit_time recorded_run_time requested_cores nodes memory gpus gpu_share gpu_type".split()
    }
    timeless = 0
    for where, row in _rows(path, POD_COLUMNS):
        cpus, memory, gpus, share = (
            _whole(row, name, where) for name in ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
        )
        created = _number(row, "creation_time", where) if row["creation_time"] else 0.0
        deleted = _number(row, "deletion_time", where) if row["deletion_time"] else LONGEST_S
        timeless += not row["creation_time"]
        began = _number(row, "scheduled_time", where) if row.get("scheduled_time") else created
        if not created <= began <= deleted:
            raise FormatError(f"{where}, deletion_time", f"a time from {began:g} on, after creation_time", deleted)
        cores = max(-(-cpus // milli), 1)
        values = (row["name"], created, deleted - began, cores, 1, memory / cores, gpus)
        share_of_each = min(share, 1000) / 1000.0 if gpus else 1.0
        for name, value in zip(columns, (*values, share_of_each, row["gpu_spec"]), strict=True):
            columns[name].append(value)
    name = path.replace("\\", "/").rpartition("/")[2].removesuffix(".gz").removesuffix(".csv")
    if timeless:
        text = f"{timeless:,} of {len(columns['job_id']):,} pods have no times: they are submitted at 0 s and stay for ever"
        warn_user(ModelWarning(f"{path}: {text}"))
    arrays = {name: np.array(values) for name, values in columns.items()}
    return Workload(arrays, name, locate=lambda row: f"{path} line {row + 2}")


def _rows(path: str, needed: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each row of the table with its place."""
    reader = csv.DictReader(io.StringIO(read_text(path)))
    try:
        header = reader.fieldnames or []
        for name in needed:
            if name not in header:
                raise FormatError(path, f"a column {name}", f"only {', '.join(header)}")
        for row in reader:
            where = f"{path} line {reader.line_num}"
            if None in row or None in row.values():
                raise FormatError(
                    where, f"{len(header)} cells", f"{sum(v is not None for k, v in row.items() if k)} or more"
                )
            yield where, row
    except csv.Error as error:
        raise FormatError(path, "a CSV table", str(error)) from None


def _whole(row: dict[str, str], name: str, where: str) -> int:
    """Return a cell as a whole number that is not negative, 0 if it is empty."""
    text = row.get(name, "")
    if text and not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise FormatError(f"{where}, {name}", "a whole number >= 0", text)
    return int(text or 0)


def _number(row: dict[str, str], name: str, where: str) -> float:
    """Return a cell as a number of seconds that is not negative."""
    try:
        value = float(row[name])
    except ValueError:
        value = -1.0
    if not 0.0 <= value < 1e18:
        raise FormatError(f"{where}, {name}", "seconds >= 0", row[name] or "nothing")
    return value
