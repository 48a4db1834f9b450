"""Workloads as files whose columns workers map into memory: read and checked once, by the process that begins the sweep.

An Arrow file without compression. Numbers are used where they lie, so that all workers of a machine share one copy in the
system's page cache; text is made anew in each. Columns that hold one value throughout are stored as that value.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from cluster_sim.errors import FormatError
from cluster_sim.files.atomic import atomic_path
from cluster_sim.workload.job_table import as_columns, constant
from cluster_sim.workload.workload import Workload

_KEY = b"cluster_sim"


def write(workload: Workload, path: str | Path) -> None:
    """Write a workload for :func:`mapped`, in one move."""
    import pyarrow as pa

    constants: dict[str, Any] = {}
    arrays: dict[str, pa.Array] = {}
    for name, values in as_columns(workload.jobs).items():
        if len(values) and not any(values.strides):
            constants[name] = [values[0].item() if isinstance(values[0], np.generic) else values[0], values.dtype.str]
        else:
            # Arrow packs truth values into bits, which numpy cannot read where they lie.
            arrays[name] = pa.array(values.astype(np.uint8) if values.dtype == bool else values)
    facts = {
        "name": workload.name, "origin_s": workload.origin_s, "header": list(workload.header), "rebase": workload.rebase,
        "reference_gflops": workload.reference_gflops, "think_times": workload.think_times, "jobs": len(workload),
        "constants": constants, "truths": [name for name in arrays if workload.jobs[name].dtype == bool],
        "order": list(map(str, workload.jobs.columns)),
    }  # fmt: skip
    table = pa.table(arrays).replace_schema_metadata({_KEY: json.dumps(facts).encode()})
    with atomic_path(path) as aside, pa.OSFile(str(aside), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def mapped(path: str | Path) -> Workload:
    """Return the workload that :func:`write` wrote. Raises FormatError."""
    import pyarrow as pa

    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        facts = json.loads(table.schema.metadata[_KEY])
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowInvalid) as error:
        raise FormatError(path, "columns of a workload", str(error).partition("\n")[0]) from None
    columns: dict[str, np.ndarray] = {}
    for name in table.column_names:
        chunk = table[name].combine_chunks()
        if hasattr(chunk, "chunks"):  # a chunked array of one chunk, in newer versions of Arrow
            chunk = chunk.chunk(0)
        values = chunk.to_numpy(zero_copy_only=False)  # numbers are not copied
        columns[name] = values.view(bool) if name in facts["truths"] else values
    for name, (value, kind) in facts["constants"].items():
        if isinstance(value, str):
            columns[name] = constant(value, facts["jobs"])
        else:
            columns[name] = np.broadcast_to(np.array(value, dtype=kind), facts["jobs"])
    return Workload.of_checked({name: columns[name] for name in facts["order"]}, facts)
