"""What ``likwid-perfctr -O`` prints of one run with the group MEM (or MEM_DP, …): a workload of one job.

The tables of one group have a column for each hardware thread that was measured::

    STRUCT,Info,3,,
    CPU name:,Intel(R) Xeon(R) Gold 6148,,
    TABLE,Group 1 Raw,MEM,2,
    Event,Counter,HWThread 0,HWThread 1
    INSTR_RETIRED_ANY,FIXC0,1.2e+10,1.3e+10
    CPU_CLK_UNHALTED_CORE,FIXC1,2.0e+10,2.1e+10
    TABLE,Group 1 Metric,MEM,2,
    Metric,HWThread 0,HWThread 1,
    Runtime (RDTSC) [s],10.5,10.5,
    Memory data volume [GBytes],120.5,0,

The memory of a socket is counted once, by one of its threads: all of a row add up. The job has a task for each thread that
executed instructions. Source: likwid-perfctr of Likwid 5, and its performance groups.
"""

from __future__ import annotations

import csv
import io
import math
from typing import NamedTuple

from cluster_sim.errors import FormatError
from cluster_sim.files.reading import read_text
from cluster_sim.formats.irmasim_workload import from_document
from cluster_sim.workload.workload import Workload

START = "STRUCT,Info,"
INSTRUCTIONS = ("INSTR_RETIRED_ANY", "RETIRED_INSTRUCTIONS", "INST_RETIRED")
CYCLES = ("CPU_CLK_UNHALTED_CORE", "CPU_CLOCKS_UNHALTED", "ACTUAL_CPU_CLOCK", "CPU_CYCLES")
"""Names of the two events: Intel's, then those of AMD and ARM."""
VOLUME = "Memory data volume"
"""How the metric begins in GB. A machine with several kinds of channels has one for each."""
RUNTIME = "Runtime (RDTSC) [s]"


class _Row(NamedTuple):
    """An event or a metric: its line, and a cell for each thread."""

    line: int
    cells: list[str]


def is_likwid(start: str) -> bool:
    """Return whether a file with that beginning is Likwid's."""
    return start.startswith(START)


def profile(path: str) -> dict[str, float]:
    """Return what a task of the run did, for :func:`~cluster_sim.workload.generators.from_profiles`.

    ``req_ops`` (instructions) and ``mem_vol`` (MB) are means of the threads that worked, ``ipc`` is that of all together,
    ``req_time`` the run time (s). Raises FormatError as :func:`read`.
    """
    return _measured(path)[1]


def read(path: str) -> Workload:
    """Read the run as a job that is submitted at 0 s, requests its run time, and is called as the file.

    Raises FormatError for a file that was cut off or has marker regions, and for one without a group that counts
    instructions, cycles, run time and memory volume.
    """
    stem = path.replace("\\", "/").rpartition("/")[2].removesuffix(".gz")
    name = stem.rpartition(".")[0] or stem
    tasks, done = _measured(path)
    job = {"id": name, "application": name, "subtime": 0, "res": tasks, "runtime": done["req_time"]}
    return from_document({"jobs": [job | done]}, path)


def _measured(path: str) -> tuple[int, dict[str, float]]:
    """Return how many threads worked, and the profile of one."""
    rows = _memory_group(path)
    instructions, cycles = (_values(rows, names, path) for names in (INSTRUCTIONS, CYCLES))
    tasks = sum(count > 0.0 for count in instructions)
    if not tasks or not sum(cycles) > 0.0:
        raise FormatError(path, "a thread that executed instructions", "none")
    volumes = [sum(_values(rows, (name,), path)) for name in rows if name.startswith(VOLUME)]
    return tasks, {
        "req_ops": sum(instructions) / tasks,
        "ipc": sum(instructions) / sum(cycles),
        "mem_vol": 1e3 * sum(volumes) / tasks,
        "req_time": max(_values(rows, (RUNTIME,), path)),
    }


def _memory_group(path: str) -> dict[str, _Row]:
    """Return the events and metrics of the first group with a memory volume, by name."""
    groups: dict[str, dict[str, _Row]] = {}
    lines = list(csv.reader(io.StringIO(read_text(path))))
    for start, (kind, title, _, count, *_) in enumerate((*cells, "", "", "", "") for cells in lines):
        if kind != "TABLE":
            continue
        if title.startswith("Region "):
            raise FormatError(f"{path} line {start + 1}", "a run that was measured without marker regions", title)
        table = lines[start + 1 : start + 2 + int(count) if count.isdigit() else None]
        threads = [
            column for column, cell in enumerate(table[0] if table else ()) if cell.startswith(("HWThread", "Core"))
        ]
        if title.endswith("STAT"):
            continue
        if not threads or len(table) != int(count) + 1 or any(len(cells) <= threads[-1] for cells in table):
            raise FormatError(
                f"{path} line {start + 1}", f"a table of {count} rows, with a column for each thread", "less"
            )
        rows = groups.setdefault(title.rpartition(" ")[0], {})
        for line, cells in enumerate(table[1:], start + 3):
            rows[cells[0]] = _Row(line, [cells[column] for column in threads])
    for rows in groups.values():
        if any(name.startswith(VOLUME) for name in rows):
            return rows
    raise FormatError(
        path, f"the metric '{VOLUME} [GBytes]', as of likwid-perfctr -g MEM", ", ".join(groups) or "no group"
    )


def _values(rows: dict[str, _Row], names: tuple[str, ...], path: str) -> list[float]:
    """Return the numbers of the first of these rows that there is. A thread that did not count has 0."""
    row = next((rows[name] for name in names if name in rows), None)
    if row is None:
        raise FormatError(path, f"a row {' or '.join(names)}", "none")
    return [_number(cell, f"{path} line {row.line}") for cell in row.cells]


def _number(cell: str, where: str) -> float:
    try:
        number = 0.0 if cell == "-" else float(cell)
    except ValueError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise FormatError(where, "numbers, 0 or more, or -", cell)
    return number
