"""The runner: it computes the parts of a paper on all cores, keeps each that is finished, and judges the claims.

A finished part is a JSON file in ``DIR/parts``. It is used again for the same part with the same arguments, inputs and
code of cluster-sim. So a reproduction that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from analysis.reproduce.claims import Judged, judge
from analysis.reproduce.inputs import code, fingerprint, missing
from analysis.reproduce.paper import ComputedPart, Measured, Paper, PaperFigure, ReproductionSetting
from cluster_sim import __version__
from cluster_sim.errors import InputError
from cluster_sim.executors import Workers, end_processes, make_processes
from cluster_sim.files.atomic import write_bytes
from cluster_sim.run.progress import Progress

Tell = Callable[[str], None]


@dataclass
class Reproduction:
    """A paper's claims with their verdicts, its figures, and what it cost.

    ``cost``: ``computing_s``, of CPU, summed over all parts, also those taken from an earlier call; ``elapsed_s`` of this call;
    ``runs`` simulations; ``parts`` and how many of them were ``kept_parts``.
    """

    paper: Paper
    judged: list[Judged]
    figures: list[PaperFigure]
    values: dict[str, Any]
    absent: dict[str, str]
    cost: dict[str, float] = field(default_factory=dict)


def reproduce(
    paper: Paper,
    setting: ReproductionSetting,
    out: Path,
    workers: Workers = None,
    executor: Executor | None = None,
    tell: Tell = lambda line: None,
    progress: bool = False,
) -> Reproduction:
    """Compute what is not yet in ``out``, judge, and return it all. Raises InputError when no part has its inputs.

    One worker computes in this process; an ``executor`` takes the place of ``workers``. ``tell`` gets a line about what
    is left out or kept; ``progress`` shows on stderr how far it is.
    """
    began = time.monotonic()
    everything = paper.parts(setting)
    parts = [part for part in everything if setting.parts in part.name]
    if not parts:
        names = ", ".join(part.name for part in everything)
        raise InputError(f"{paper.name}, --parts", f"text in the name of one of {names}", setting.parts)
    absent = dict(paper.left_out(setting))
    ready = []
    for part in parts:
        if lacks := missing(setting.inputs, part.needs):
            absent |= dict.fromkeys(part.measures or (part.name,), f"input missing: {', '.join(lacks)}")
        else:
            ready.append(part)
    gone = ", ".join(missing(setting.inputs, (need for part in parts for need in part.needs)))
    if gone:
        tell(f"left out, for want of inputs in {setting.inputs}: {gone}")
    if not ready:
        raise InputError(f"{paper.name}, --inputs {setting.inputs}", "the paper's inputs", f"no {gone}")
    finished = _computed(ready, setting.inputs, out / "parts", workers, executor, tell, progress)
    values: dict[str, Any] = {}
    figures: list[PaperFigure] = []
    curtailed: dict[str, str] = {}
    cost = {"computing_s": 0.0, "runs": 0, "parts": len(ready), "kept_parts": 0}
    for part in ready:
        record, kept = finished[part.name]
        values |= record["values"]
        curtailed |= record["curtailed"]
        figures += [PaperFigure(**figure) for figure in record["figures"]]
        cost["computing_s"] += record["cpu_s"]
        cost["runs"] += record["runs"]
        cost["kept_parts"] += kept
    judged = [judge(claim, values, absent, curtailed) for claim in paper.claims()]
    if setting.parts:  # figures of the whole paper need more than these
        judged = [one for one in judged if one.measured is not None]
    else:
        figures = [*paper.figures(values), *figures]
    cost["elapsed_s"] = time.monotonic() - began
    return Reproduction(paper, judged, figures, values, absent, cost)


def _computed(
    parts: Sequence[ComputedPart],
    inputs: Path,
    folder: Path,
    workers: int | None,
    executor: Executor | None,
    tell: Tell,
    progress: bool,
) -> dict[str, tuple[dict[str, Any], bool]]:
    """Return the record of each part, and whether it was there already."""
    folder.mkdir(parents=True, exist_ok=True)
    records: dict[str, tuple[dict[str, Any], bool]] = {}
    keys = {part.name: _key(part, inputs) for part in parts}
    for part in parts:
        with suppress(OSError, ValueError):  # a part that is not there yet, or a broken file
            record = json.loads((folder / f"{file_name(part.name)}.json").read_text(encoding="utf-8"))
            if isinstance(record, dict) and record.get("key") == keys[part.name]:
                records[part.name] = record, True
    tell(f"{len(records)} of {len(parts)} parts are kept from an earlier call")
    todo = [part for part in parts if part.name not in records]
    with Progress("reproduce", len(parts), "parts", len(records), progress) as shown:
        for part, record in _in_processes(todo, inputs, workers, executor):
            record["key"] = keys[part.name]
            text = json.dumps(record, allow_nan=True)
            write_bytes(folder / f"{file_name(part.name)}.json", text.encode())
            records[part.name] = json.loads(text), False
            shown.reach(len(records), last=part.name)
    return records


def _in_processes(
    parts: Sequence[ComputedPart], inputs: Path, workers: int | None, executor: Executor | None
) -> Iterator[tuple[ComputedPart, dict[str, Any]]]:
    """Yield every part with its record, in the order in which they finish."""
    count = min(workers or os.cpu_count() or 1, len(parts))
    if executor is None and count <= 1:
        for part in parts:
            yield part, compute(part, inputs)
        return
    pool = executor or make_processes(count)
    try:
        waiting: dict[Future[dict[str, Any]], ComputedPart] = {
            pool.submit(compute, part, inputs): part for part in parts
        }
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()
    except BaseException:
        if executor is None:
            end_processes(pool)  # what is finished has been kept
        raise
    if executor is None:
        pool.shutdown()


def compute(part: ComputedPart, inputs: Path) -> dict[str, Any]:
    """Return the record of a part: what it measured, and what that cost."""
    began = time.process_time()
    found: Measured = part.compute(inputs, **part.arguments)
    return {
        "part": part.name,
        "values": found.values,
        "figures": [asdict(figure) for figure in found.figures],
        "runs": found.runs,
        "curtailed": found.curtailed,
        "cpu_s": time.process_time() - began,
    }


def _key(part: ComputedPart, inputs: Path) -> str:
    """Return a digest of all that can change what a part finds, but for the code of libraries."""
    module = sys.modules[part.compute.__module__]
    source = Path(module.__file__).read_bytes() if module.__file__ else b""
    told = [
        part.name,
        part.compute.__qualname__,
        dict(part.arguments),
        __version__,
        code(),
        fingerprint(inputs, part.needs),
    ]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode() + source).hexdigest()


def file_name(part: str) -> str:
    """Return a part's name as the name of a file."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in part)
