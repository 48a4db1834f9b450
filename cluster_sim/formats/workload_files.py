"""Workload files of any format: they find their reader and writer by suffix, else by a look at the content.

| suffix | format | module |
|---|---|---|
| ``.swf`` | Standard Workload Format | ``swf`` |
| ``.json`` | IRMaSim workload | ``irmasim_workload`` |
| ``.json`` | Batsim workload, told by the ``type`` of its profiles | ``batsim_workload`` |
| ``.json`` | ElastiSim's jobs, told by their ``submit_time`` | ``elastisim_workload`` |
| ``.csv`` | native table, or IRMaSim's (told by its column ``subtime``) | ``tables``, ``irmasim_workload`` |
| any, ``.csv``, ``.parquet`` | sacct's output, told by its header | ``sacct`` |
| any, ``.csv`` | a run that Likwid measured, told by its first line | ``likwid`` |
| ``.csv`` | openb's list of pods, told by its header | ``gpu.openb`` |
| any, ``.csv``, ``.parquet``, ``.json`` | published logs of GPU clusters, told by their columns | ``gpu.gpu_logs`` |
| ``.json`` | what ``sacct --json`` prints, told by its jobs' ``time`` | ``sacct`` |

Logs of other programs that are not read are refused by name, told by their shape.

Standard input, ``-``, is told by its content. Each may be gzipped, with ``.gz`` after the suffix. A new format is one module
and one row in the two tables below.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from cluster_sim.errors import FormatError, ModelWarning, SpecError, warn_user
from cluster_sim.files import reading as files
from cluster_sim.files.documents import parse_json
from cluster_sim.formats import batsim_workload, elastisim_workload, irmasim_workload, likwid, swf, tables
from cluster_sim.formats.gpu import gpu_logs, openb
from cluster_sim.formats.slurm import sacct, sacct_table
from cluster_sim.formats.slurm.sacct_json import is_sacct_json
from cluster_sim.registry import misspelt
from cluster_sim.workload.fields import JOB_FIELDS
from cluster_sim.workload.workload import WORKLOAD_GENERATORS, Workload


def _read_json(path: str, **options: Any) -> Workload:
    """Read a JSON workload of any kind; parsed once, because it may be long."""
    document = parse_json(path, files.read_text(path))
    reader: Callable[..., Workload] = irmasim_workload.from_document
    if is_sacct_json(document, path):
        _check_options(sacct.read, options, path)
        return sacct.read(path, document, **options)
    if batsim_workload.is_batsim(document):
        reader = batsim_workload.from_document
    elif elastisim_workload.is_elastisim(document):
        reader = elastisim_workload.from_document
    _check_options(reader, options, path)
    return reader(document, path, **options)


WORKLOAD_READERS: dict[str, Callable[..., Workload]] = {
    ".swf": swf.read,
    ".json": _read_json,
    ".csv": tables.read,
    ".parquet": sacct.read,
    ".sacct": sacct.read,
}
WORKLOAD_WRITERS: dict[str, Callable[..., None]] = {
    ".swf": swf.write,
    ".json": irmasim_workload.write,
    ".csv": tables.write,
}

_LATE_S = 86_400.0
"""Latest first submission without a warning, s: times of a day may count from its midnight."""
_FEWEST_FIELDS = 5
"""Fields of a line from which a file without a known suffix is taken for SWF."""
_KEPT = {".swf": swf.KEPT, ".json": irmasim_workload.KEPT}
"""Columns and attributes of a workload that a format has fields for; .csv, the own format, has fields for all."""


def read_workload(path: str, **options: Any) -> Workload:
    """Read a workload file of any known format; ``options`` are those of its reader."""
    if not os.path.isfile(path) and not files.is_stdin(path):
        if error := misspelt(path, WORKLOAD_GENERATORS):
            raise error
        specs = "".join(f" or {name}:…" for name in WORKLOAD_GENERATORS)
        raise FormatError(path, f"a workload file ({_suffixes(WORKLOAD_WRITERS)}){specs}", files.instead_of_file(path))
    reader = _reader_of(path)
    if reader is not _read_json:
        _check_options(reader, options, path)
    workload = reader(path, **options)
    submit = workload.columns["submit_time"]
    first = float(submit[0])
    if first > max(_LATE_S, float(submit[-1]) - first):
        text = (
            f"the first job is submitted at {first:,.0f} s, and a run begins at 0 s: all nodes idle until then, which takes "
            "energy; times of this format are not shifted, so subtract what they count from"
        )
        warn_user(ModelWarning(f"{path}: {text}"))
    return workload


def is_sacct(path: str) -> bool:
    """Return whether a file is read as what sacct printed."""
    reader = _reader_of(path)
    if reader is _read_json:
        return is_sacct_json(parse_json(path, files.read_text(path)), path)
    return reader is sacct.read


def _reader_of(path: str) -> Callable[..., Workload]:
    suffix = _suffix(path)
    beginning = _beginning(path).decode(errors="replace")
    if error := foreign(path, beginning):
        raise error
    if likwid.is_likwid(beginning):
        return likwid.read
    if openb.is_pods(beginning):
        return openb.read
    if gpu_logs.is_gpu_log(path, _beginning(path)):
        return gpu_logs.read
    if suffix not in WORKLOAD_READERS:
        start = _beginning(path)
        line = start.partition(b"\n")[0]
        if start.startswith(b"{"):
            suffix = ".json"
        elif start.startswith(b";") or (line[:1].isdigit() and len(line.split()) >= _FEWEST_FIELDS):
            suffix = ".swf"
        elif start.startswith(b"PAR1") or sacct_table.delimiter_of(start.decode(errors="replace")):
            suffix = ".sacct"
        elif b"submit_time" in start or b"subtime" in line:
            suffix = ".csv"
        else:
            is_near_sacct = sacct_table.is_near(start.decode(errors="replace"))
            expected = sacct_table.HEADER if is_near_sacct else f"a workload file ({_suffixes(WORKLOAD_WRITERS)})"
            raise FormatError(path, expected, line.decode(errors="backslashreplace") or "nothing")
    if suffix == ".csv":
        if sacct_table.delimiter_of(_beginning(path).decode(errors="replace")):
            return sacct.read
        if irmasim_workload.is_csv(path):
            return irmasim_workload.read_csv
    return WORKLOAD_READERS[suffix]


def write_workload(workload: Workload, path: str, **options: Any) -> None:
    """Write ``workload`` in the format that the suffix of ``path`` names."""
    suffix = _suffix(path)
    if suffix not in WORKLOAD_WRITERS:
        raise FormatError(path, f"a file name ending in {_suffixes(WORKLOAD_WRITERS)}", suffix or "no suffix")
    _check_options(WORKLOAD_WRITERS[suffix], options, path)
    if suffix in _KEPT:
        # Jobs may run otherwise without what the format has no field for.
        kept = _KEPT[suffix]
        lost = [
            field.name for field in JOB_FIELDS if field.name not in kept and tables.has_content(workload.jobs, field)
        ]
        attributes = {"header": workload.header != (), "reference_gflops": workload.reference_gflops is not None}
        lost += [name for name, given in attributes.items() if given and name not in kept]
        if lost:
            text = f"{path}: this format has no field for {', '.join(lost)}; .csv has"
            warn_user(ModelWarning(text))
    WORKLOAD_WRITERS[suffix](workload, path, **options)


def _suffix(path: str) -> str:
    return PurePath(path.removesuffix(".gz")).suffix.lower()


def _beginning(path: str) -> bytes:
    return files.read_bytes(path).lstrip(b"\xef\xbb\xbf \t\r\n")[:4096]


def _suffixes(table: dict[str, Callable[..., Any]]) -> str:
    return ", ".join(f"{suffix}[.gz]" for suffix in table)


def _check_options(function: Callable[..., Any], options: dict[str, Any], path: str) -> None:
    known = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            raise SpecError(path, f"an option of this format ({', '.join(known) or 'it has none'})", name)


_OWN_COLUMNS = "the jobs as CSV with the columns of docs/reference/job-schema.md, or as SWF"
_SACCT = "what sacct --parsable2 or sacct --json prints, a row for each job that is over"
_SHAPES = (
    (r"\A(?:[#;].*\n)*#\s*JobID\s+SubmitTime\s+WaitTime\b", "GWF, the format of the Grid Workloads Archive", _OWN_COLUMNS),
    (r"\A(?:#.*\n)*\d+(?:[ \t]+-?[\d.]+){8}(?:[ \t]+\S+){20}[ \t]*$", "rows of 29 fields, as in GWF", _OWN_COLUMNS),
    (r"\AJobId=\d+", "what scontrol show job prints", _SACCT),
    (r"\A\s*JOBID\s+PARTITION\s+NAME\s+USER\b", "what squeue prints", _SACCT),
    (r"\A\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];", "accounting records of PBS or Torque", _OWN_COLUMNS),
    (r'\A"JOB_[A-Z]+" "', "accounting records of LSF (lsb.acct)", _OWN_COLUMNS),
    (r"\A(?:#.*\n)*[^\s{\[<\"#:]+(?::[^:\n]*){39,}$", "accounting records of Grid Engine", _OWN_COLUMNS),
)  # fmt: skip


def foreign(path: str, start: str) -> FormatError | None:
    """Return why a file is not read whose beginning has the shape of another program's log; None for any other file."""
    for pattern, what, instead in _SHAPES:
        if re.search(pattern, start.replace("\r", ""), re.MULTILINE):
            return FormatError(path, instead, what)
    return None
