"""Damage that a reader can see: a field lost, a key misspelt, bounds or order violated, two values that contradict each other.

Each damaged file must be refused, or warned of, by name: the message has the line, the key or the column of the damage. A value
that is doubled within its bounds nobody can see: it must be read exactly as it is written, and is counted apart.

A *format* here is a sample of :mod:`benchmarks.format_samples` and what may be damaged in it. What the tables below leave out, a
key that need not stand or a number of any size, is no detectable damage.
"""

from __future__ import annotations

import copy
import csv
import gzip
import io
import json
import random
import re
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml

from benchmarks.format_samples import Sample, described, samples
from cluster_sim import InputError, Platform, Result, Workload

KINDS = ("lost", "misspelt", "bounds", "order", "contradiction", "doubled")


class Damage(NamedTuple):
    """A damaged file: what was done, its content, what names it, and for a doubled value what must be read."""

    kind: str
    content: bytes
    names: tuple[str, ...]
    value: float | None = None


Damager = Callable[[bytes, str, random.Random], Damage | None]
"""From a file's content and a kind of damage to the damaged file; None: it has nothing to damage so."""


def misspelt(word: str, rng: random.Random) -> str:
    """A word with a letter lost, doubled, or two changed over; never the word itself."""
    while True:
        place = rng.randrange(len(word))
        letter, rest = word[place], word[place + 1 :]
        choices = [word[:place] + rest, word[:place] + 2 * letter + rest, word[:place] + rest[:1] + letter + rest[1:]]
        other = rng.choice(choices)
        if other not in (word, ""):
            return other


# ---------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Table:
    """A CSV file: its columns, by what may be damaged in them."""

    bad: Mapping[str, Sequence[str]] = field(default_factory=dict)  #: Values out of bounds.
    order: Sequence[tuple[str, str]] = ()  #: The second is a time not before the first.
    sums: Sequence[str] = ()  #: Follow from others: another value contradicts them.
    doubled: Sequence[str] = ()
    known: Sequence[str] = ()  #: Columns that can be misspelt; none: all.
    mark: Callable[[int, str], tuple[str, ...]] = lambda line, column: (f"line {line}", column)

    def __call__(self, content: bytes, kind: str, rng: random.Random) -> Damage | None:
        """Damage the table."""
        text = content.decode()
        above = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
        header, *rows = list(csv.reader(io.StringIO(text[len(above) :])))
        at, row = rng.choice(list(enumerate(rows)))
        line = above.count("\n") + at + 2

        def where(column: str) -> int:
            return header.index(column)

        def filled(columns: Sequence[str]) -> list[str]:
            return [column for column in columns if _is_number(row[where(column)])]

        names: tuple[str, ...]
        value = None
        if kind == "lost":
            del row[rng.randrange(len(row))]
            names = (f"line {line}", f"row {at}")
        elif kind == "misspelt":
            place = where(rng.choice(self.known or header))
            right = header[place]
            header[place] = misspelt(right, rng)
            names = (header[place], f"'{right}'", f"column {right}", f" {right}")
        elif kind == "bounds" and (columns := [c for c in self.bad if row[where(c)] != ""]):
            column = rng.choice(columns)
            row[where(column)] = rng.choice(self.bad[column])
            names = self.mark(line, column)
        elif kind == "order" and (pairs := [pair for pair in self.order if len(filled(pair)) == 2]):
            first, second = rng.choice(pairs)
            row[where(second)] = repr(float(row[where(first)]) - 1.0 - rng.randrange(9))
            names = (*self.mark(line, second), first)
        elif kind == "contradiction" and (columns := filled(self.sums)):
            column = rng.choice(columns)
            row[where(column)] = repr(2.0 * float(row[where(column)]) + 1.0 + rng.randrange(9))
            names = (column, f"line {line}", f"row {at}")
            if not at:  # with which the others are compared
                names += ("as in the first row", "those of the first node")
        elif kind == "doubled" and (columns := filled(self.doubled)):
            column = rng.choice(columns)
            value = 2.0 * float(row[where(column)])
            row[where(column)] = repr(value)
            names = (column,)
        else:
            return None
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([header, *rows])
        return Damage(kind, (above + out.getvalue()).encode(), names, value)


@dataclass(frozen=True)
class Parquet:
    """A table as Parquet, damaged as its CSV would be; instead of a cell it can lose a column."""

    table: Table
    required: Sequence[str] = ()

    def __call__(self, content: bytes, kind: str, rng: random.Random) -> Damage | None:
        """Damage the table."""
        frame, value = pd.read_parquet(io.BytesIO(content)), None
        if kind == "lost" and self.required:
            lost = rng.choice(self.required)
            damaged, names = frame.drop(columns=lost), (lost,)
        elif kind == "lost" or (damage := self.table(frame.to_csv(index=False).encode(), kind, rng)) is None:
            return None
        else:
            damaged = pd.read_csv(io.BytesIO(damage.content), dtype=str, keep_default_na=False)
            for name in damaged.columns.intersection(frame.columns):
                with suppress(ValueError):  # what is no number stays text
                    if frame[name].dtype != object:
                        cells = damaged[name].replace({"": "nan"}) if frame[name].dtype.kind == "f" else damaged[name]
                        damaged[name] = cells.astype(frame[name].dtype)
            names, value = damage.names, damage.value
        out = io.BytesIO()
        damaged.to_parquet(out)
        return Damage(kind, out.getvalue(), names, value)


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text)) and float(text) >= 0.0
    except ValueError:
        return False


# ---------------------------------------------------------------------- documents


@dataclass(frozen=True)
class Document:
    """A JSON or YAML file: its keys, by what may be damaged in them."""

    required: Sequence[str] = ()
    bad: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    order: Sequence[tuple[str, str]] = ()
    sums: Sequence[str] = ()
    doubled: Sequence[str] = ()
    marks: Sequence[str] = ()  #: What else names a bad value.
    free: Sequence[str] = ()  #: Keys under which names of the user's own are the keys.

    def __call__(self, content: bytes, kind: str, rng: random.Random) -> Damage | None:
        """Damage the document."""
        document = yaml.safe_load(content)
        found = list(self._places(document, False, ""))
        places = [(holder, key) for _, holder, key in found]
        entry_of = {id(holder): re.findall(r"\w+\[\d+\]", place) for place, holder, _ in found}
        names: tuple[str, ...]
        value = None
        if kind == "misspelt":
            holder, key = rng.choice([place for place in places if len(place[1]) > 2])
            wrong = misspelt(key, rng)
            if wrong in holder:
                return None
            changed = {wrong if name == key else name: entry for name, entry in holder.items()}
            holder.clear()
            holder.update(changed)
            names = (wrong, key)
        elif kind == "lost" and (chosen := [place for place in places if place[1] in self.required]):
            holder, key = rng.choice(chosen)
            del holder[key]
            names = (key,)
        elif kind == "bounds" and (chosen := [place for place in places if place[1] in self.bad]):
            holder, key = rng.choice(chosen)
            holder[key] = rng.choice(self.bad[key])
            names = (key, key.removesuffix("s"), *self.marks)
        elif kind == "order" and (
            pairs := [(holder, pair) for holder, _ in places for pair in self.order if set(pair) <= holder.keys()]
        ):
            holder, (first, second) = rng.choice(pairs)
            holder[second] = float(holder[first]) - 1.0 - rng.randrange(9)
            names = (first, second)
        elif kind in ("contradiction", "doubled") and (
            chosen := [
                (holder, key)
                for holder, key in places
                if key in (self.sums if kind == "contradiction" else self.doubled)
                and isinstance(holder[key], int | float)
                and holder[key] > 0
            ]
        ):
            holder, key = rng.choice(chosen)
            holder[key] = 2 * holder[key] if kind == "doubled" else 2 * holder[key] + 1 + rng.randrange(9)
            value = holder[key] if kind == "doubled" else None
            names = (key,)
        else:
            return None
        if kind != "misspelt":  # what an entry of a list says is told by its place
            names += tuple(entry_of[id(holder)])
        return Damage(kind, json.dumps(document).encode(), names, value)

    def _places(self, document: Any, is_free: bool, place: str) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Every mapping with its place, and each key in it whose name is not a user's own."""
        if isinstance(document, dict):
            for key, inner in document.items():
                if not is_free:
                    yield place, document, key
                yield from self._places(inner, key in self.free and not is_free, f"{place}.{key}")
        elif isinstance(document, list):
            for number, inner in enumerate(document):
                yield from self._places(inner, False, f"{place}[{number}]")


# ---------------------------------------------------------------------- SWF and XML


def swf(content: bytes, kind: str, rng: random.Random) -> Damage | None:
    """Damage a line of a log, packed or not."""
    if content.startswith(b"\x1f\x8b"):
        inside = swf(gzip.decompress(content), kind, rng)
        return None if inside is None else inside._replace(content=gzip.compress(inside.content, mtime=0))
    lines = content.decode().splitlines()
    at = rng.choice([number for number, line in enumerate(lines) if not line.startswith(";")])
    fields = lines[at].split()
    value = None
    if kind == "lost":
        if rng.random() < 0.5:
            del fields[rng.randrange(len(fields))]
        else:
            fields.insert(rng.randrange(len(fields)), rng.choice(["-1", "7", "3.5"]))
    elif kind == "bounds":
        place, bad = rng.choice(
            [*((place, "-7") for place in range(1, 18)), *((place, "2.5") for place in (7,)), (10, "9"), (3, "1e30")]
        )
        fields[place] = bad
    elif kind == "contradiction":
        fields[0] = next(line.split()[0] for line in lines if not line.startswith(";") and line.split()[0] != fields[0])
    elif kind == "doubled":
        place = rng.choice([3, 8])
        value = 2.0 * float(fields[place])
        fields[place] = str(int(value))
    else:
        return None
    lines[at] = " ".join(fields)
    return Damage(kind, ("\n".join(lines) + "\n").encode(), (f"line {at + 1}",), value)


_XML_WORDS = (
    "pstate", "core", "speed", "radical", "prefix", "watt_per_state", "sleep_pstates", "cores_per_node", "prop", "cluster",
)  # fmt: skip
_XML_BAD = (
    ('core="2"', 'core="-2"', "core"), ('pstate="0"', 'pstate="7"', "pstate"), ('speed="1Gf"', 'speed="-1Gf"', "speed"),
    ('radical="0-3,5"', 'radical="3-0,5"', "radical"), ("30.0:30.0:100.0", "30.0:30.0:-100.0", "watt_per_state"),
    ('"1:2:3"', '"1:2:9"', "sleep_pstates"),
)  # fmt: skip
_XML_ORDER = (
    ('radical="0-3,5"', 'radical="3-0,5"', "radical"), ("30:30:100", "130:130:100", "watt_per_state"),
    ("30.0:30.0:100.0", "300.0:300.0:100.0", "watt_per_state"),
)  # fmt: skip


def simgrid(content: bytes, kind: str, rng: random.Random) -> Damage | None:
    """Damage an attribute, a property or an element."""
    text = content.decode()
    if kind == "misspelt":
        word = rng.choice(_XML_WORDS)
        found = rng.choice(list(re.finditer(rf"\b{word}\b", text)))
        wrong = misspelt(word, rng)
        if word in ("prop", "cluster"):  # an element, at its end too
            changed = re.sub(rf"(</?){word}\b", rf"\g<1>{wrong}", text)
        else:
            changed = text[: found.start()] + wrong + text[found.end() :]
        return Damage(kind, changed.encode(), (wrong, word))
    if kind == "lost":
        name = rng.choice(["speed", "radical", "id", "value"])
        found = rng.choice(list(re.finditer(rf' {name}="[^"]*"', text)))
        return Damage(kind, (text[: found.start()] + text[found.end() :]).encode(), (f"'{name}'", name))
    if kind in ("bounds", "order"):
        right, wrong, name = rng.choice(_XML_BAD if kind == "bounds" else _XML_ORDER)
        return Damage(kind, text.replace(right, wrong, 1).encode(), (name,))
    if kind == "contradiction":  # two hosts of one name
        return Damage(kind, text.replace('<host id="b"', '<host id="a"').encode(), ("'a'",))
    return Damage(kind, text.replace('speed="1Gf"', 'speed="2Gf"').encode(), ("speed",), 2.0)


# ---------------------------------------------------------------------- Slurm's texts


@dataclass(frozen=True)
class Words:
    """A text in which words are misspelt, or replaced: by kind, what stands there, what instead, and what names it."""

    keys: Sequence[str]
    changes: Mapping[str, Sequence[tuple[str, str, str]]]
    doubled: Sequence[tuple[str, str, float]] = ()

    def __call__(self, content: bytes, kind: str, rng: random.Random) -> Damage | None:
        """Damage a word."""
        text = content.decode()
        value: float | None = None
        if kind == "misspelt":
            right = rng.choice(self.keys)
            wrong = misspelt(right, rng)
            names: tuple[str, ...] = (wrong, right)
        elif kind == "doubled" and self.doubled:
            right, wrong, value = rng.choice(self.doubled)
            names = (right,)
        elif kind in self.changes:
            right, wrong, name = rng.choice(self.changes[kind])
            names = (name,)
        else:
            return None
        if text.replace(right, wrong, 1) == text:
            raise ValueError(f"the sample has no {right!r}")
        return Damage(kind, text.replace(right, wrong, 1).encode(), names, value)


_SLURM_NODES = Words(
    ("Sockets", "CoresPerSocket", "ThreadsPerCore", "RealMemory", "Feature", "Weight"),
    {"bounds": [("CoresPerSocket=4", "CoresPerSocket=-4", "CoresPerSocket"), ("RealMemory=64000", "RealMemory=x", "RealMemory"),
                ("Weight=10", "Weight=-1", "Weight"), ("CPUs=8", "CPUs=0.5", "CPUs")],
     "order": [("n[01-05]", "n[05-01]", "n[05-01]")],
     "contradiction": [("NodeName=old", "NodeName=m8", "m8")]},
)  # fmt: skip
# A partition's State is read by its beginning, as Slurm does: UPP is UP.
_SLURM_CONF = Words(
    ("SchedulerParameters", "PriorityTier", "MaxNodes", "GraceTime", "MaxTime"),
    {"bounds": [("MaxTime=1-00:00:00", "MaxTime=x", "MaxTime"), ("MaxNodes=2", "MaxNodes=-2", "MaxNodes"),
                ("PriorityTier=5", "PriorityTier=-5", "PriorityTier"), ("State=UP", "State=OPEN", "State")],
     "contradiction": [("Nodes=quick,", "Nodes=quik,", "quik")]},
)  # fmt: skip
_SACCTMGR = Words(
    ("ParentName", "GrpJobs", "GrpTRES", "MaxWall"),
    {"bounds": [("|60|9|", "|-60|9|", "Share"), ("|60|9|", "|60|x|", "GrpJobs"), ("02:00:00", "2 hours", "MaxWall"),
                ("high|100", "high|x", "Priority"), ("2.5", "-2.5", "UsageFactor")],
     "contradiction": [("wet||bio", "wet||boi", "boi"), ("|02:00:00|high", "|02:00:00|hihg", "hihg")]},
    [("|60|9|", "|120|9|", 120.0), ("2.5", "5.0", 5.0)],
)  # fmt: skip
_SACCT = Words(
    ("JobID", "Submit"),
    {"bounds": [("2026-03-01T11:05:06", "2026-13-01T11:05:06", "Submit"), ("TIMEOUT", "TIMOUT", "TIMOUT"),
                ("|00:10:00|01:00:00|", "|00:10:00|one hour|", "one hour")],
     "order": [("2026-03-01T11:10:00|2026-03-01T11:20:00", "2026-03-01T11:10:00|2026-03-01T11:05:00", "End")]},
)  # fmt: skip


def _accounts(path: str) -> Iterator[float]:
    from cluster_sim.formats.slurm.sacctmgr import read_accounts

    accounts = read_accounts(path)
    for entry in (*accounts.associations, *accounts.qos):
        yield from _leaves(asdict(entry))


# ---------------------------------------------------------------------- formats


@dataclass(frozen=True)
class Format:
    """A sample, which of its files are damaged how, how it is read, and which numbers then have been read."""

    sample: str
    damagers: Mapping[str, Damager]
    read: Callable[[str], Iterator[float] | None]


def _numbers_of(frame: pd.DataFrame) -> Iterator[float]:
    for name in frame:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            yield from column.astype(float).tolist()


def _workload(path: str) -> Iterator[float]:
    described(path)
    yield from _numbers_of(Workload.read(path).jobs)


def _leaves(document: Any) -> Iterator[float]:
    if isinstance(document, dict | list):
        for inner in document.values() if isinstance(document, dict) else document:
            yield from _leaves(inner)
    elif isinstance(document, int | float):
        yield float(document)


def _platform(path: str) -> Iterator[float]:
    from cluster_sim.formats.native_platform import document_of

    described(path)
    yield from _leaves(document_of(Platform.read(path)))


def _result(path: str) -> Iterator[float]:
    described(path)
    result = Result.load(path)
    for name in ("jobs", "nodes", "node_states", "power", "decisions", "p_states"):
        yield from _numbers_of(getattr(result, name))
    yield from _leaves({name: value for name, value in result.summary().items() if value is not None})
    yield from _leaves(dict(result.meta))


def _failures(path: str) -> Iterator[float]:
    from cluster_sim.run.failures import RecordedFailures

    model = RecordedFailures(path)
    for when, _, _ in model.events(Platform.homogeneous(nodes=4, cores=2), np.random.default_rng(0)):
        yield when


def _replay(path: str) -> Iterator[float]:
    from schedulers import Replay

    yield from (entry.start_time for entry in Replay(path)._record.values())


def _reservations(path: str) -> Iterator[float]:
    from cluster_sim.formats.reservations import read_reservations

    described(path)
    for entry in read_reservations(path):
        yield from (entry.start, entry.end)


def _configuration(path: str) -> Iterator[float]:
    described(path)
    yield from _leaves(yaml.safe_load(Path(path).read_bytes()))


def _agent(path: str) -> Iterator[float]:
    from learning.training.agent import Agent

    described(path)
    agent = Agent.load(path)
    yield from _leaves([agent.facts, agent.environment])


def _metrics(path: str) -> Iterator[float]:
    from learning.training.logs import read_metrics

    yield from _leaves(read_metrics(Path(path).parent))


def _sweep(path: str) -> Iterator[float]:
    from analysis.sweep.runs_table import read_sweep

    yield from _numbers_of(read_sweep(path))


_NEGATIVE = (-5, -0.5)
_TIMES = ("-5", "x", "nan", "1e400")
_BATSIM_TABLE = Table(
    {"submission_time": _TIMES, "requested_number_of_resources": ("1.5", "-1", "1e30"), "finish_time": ("1e300", "x"),
     "success": ("7", "0.5"), "allocated_resources": ("3-1", "a", "1.5")},
    (("submission_time", "starting_time"), ("starting_time", "finish_time")),
    ("execution_time", "waiting_time", "turnaround_time", "stretch"),
    ("requested_time",),
    mark=lambda line, column: (column,),
)  # fmt: skip
_REPLAYED_TABLE = replace(_BATSIM_TABLE, doubled=(), bad={"finish_time": ("1e300", "x"), "success": ("7",)})
_EVALYS_TABLE = Table(
    {"submission_time": _TIMES, "requested_number_of_processors": ("1.5", "-1"), "finish_time": ("1e300", "x"),
     "success": ("7",)},
    (("submission_time", "starting_time"), ("starting_time", "finish_time")),
    ("execution_time", "waiting_time", "turnaround_time", "stretch"),
    ("requested_time",),
    mark=lambda line, column: (column, "requested_number_of_resources"),
)  # fmt: skip
_STATES_TABLE = Table(
    dict.fromkeys(("nb_sleeping", "nb_idle", "nb_computing"), ("-1", "1.5", "x")) | {"time": ("-1", "x")},
    (), ("nb_idle", "nb_computing"), (), mark=lambda line, column: (column, f"row {line - 2}"),
)  # fmt: skip
_ENERGY_TABLE = Table(
    {"time": ("-1", "x"), "energy": ("-1", "1e308", "x"), "epower": ("-3", "x"), "event_type": ("z",)},
    mark=lambda line, column: (column,),
)
_JOBS_TABLE = Table(
    {"submit_time": ("-1", "x", "inf"), "state": ("½", "done"), "slowdown": ("-inf", "0.5"), "requested_cores": ("1.5", "-2"),
     "energy_j": ("-4", "inf"), "wait_time": ("-9",), "job_id": ("",)},
    (("submit_time", "start_time"), ("start_time", "finish_time"), ("submit_time", "allocation_time")),
    ("wait_time", "turnaround_time"),
    ("energy_j",),
    mark=lambda line, column: (f"line {line}",),
)  # fmt: skip
_KEYS_OF_TABLES = {
    "jobs.csv": ("job_id", "submit_time", "state"),
    "node_states.csv": ("node", "start", "state"),
    "nodes.csv": ("node",),
    "power.csv": ("time", "watts"),
    "decisions.csv": ("time", "job_id", "decision"),
}
"""Columns that a table cannot do without."""
_RESULT: dict[str, Damager] = {
    "jobs.csv": _JOBS_TABLE,
    "node_states.csv": Table({"state": ("ON", ""), "start": ("-1", "x"), "node": ("c.node99",)}, (("start", "end"),)),
    "nodes.csv": Table({"idle_s": ("-1", "x"), "switches_on": ("1.5", "-1"), "energy_j": ("-1",)}, (),
                       ("idle_s", "computing_s", "energy_j", "on_off_cycles", "energy_waste_j"), ("busy_core_s",)),
    "power.csv": Table({"watts": ("-1", "inf", "x"), "time": ("-1", "x")}, (), (), ("watts",)),
    "decisions.csv": Table({"decision": ("strt", ""), "time": ("-1", "x"), "job_id": ("99",)}),
    "summary.json": Document(
        required=("jobs_completed", "makespan_s", "energy_j", "mean_wait_s", "utilisation"),
        bad={"lost_core_s": ["a", -5], "makespan_s": ["0x10", False], "availability": [1.5], "jobs_killed": [0.5, "x"],
             "seed": ["x"], "energy_j": [-5]},
        sums=("jobs_completed", "makespan_s", "edp_js", "energy_wmin", "energy_j", "energy_idle_j"),
        doubled=("mean_wait_s", "max_wait_s", "mean_turnaround_s", "mean_slowdown", "p95_wait_s"),
        free=("made_with", "inputs"),
    ),
    "platform.json": Document(
        required=("cores", "clock_ghz", "type", "nodes", "processors"),
        bad={"cores": [-1, 1.5], "clock_ghz": [-1, "x"], "count": [-1, 0.5]},
        free=("processor_types", "node_types"),
    ),
}  # fmt: skip
_RESULT_PARQUET: dict[str, Damager] = {
    name.replace(".csv", ".parquet"): Parquet(damager, _KEYS_OF_TABLES[name])
    for name, damager in _RESULT.items()
    if isinstance(damager, Table)
}
ELASTISIM = {
    "jobs": [
        {"type": "malleable", "submit_time": 0, "num_nodes": 2, "num_nodes_min": 1, "num_nodes_max": 4, "walltime": 60,
         "arguments": {"steps": 4},
         "application": {"on_reconfiguration": [{"type": "idle", "delay": 1, "pattern": "uniform"}],
                         "phases": [{"iterations": "steps", "tasks": [{"type": "idle", "delay": 5, "pattern": "uniform"}]}]}},
        {"type": "rigid", "submit_time": 3, "num_nodes": 2, "walltime": 90,
         "application": {"phases": [{"tasks": [{"type": "cpu", "flops": 5e9, "computation_pattern": "uniform"}]}]}},
    ]
}  # fmt: skip
FAILURES = b"time,node,event\n10,cluster0.node0,fail\n20.5,cluster0.node0,repair\n30,1,fail\n44,1,repair\n"
_PLATFORM = Document(
    required=("cores", "clock_ghz", "type", "clusters", "nodes", "processors"),
    bad={"cores": [-1, 1.5, "x"], "clock_ghz": [-1, "x"], "count": [-1, 0.5], "memory_gb": [-1], "switch_on_s": [-1],
         "min_power": [-1, 1.5], "off_w": [-3], "per": ["rack"]},
    doubled=("memory_gb", "switch_on_s", "c"),
    free=("processor_types", "node_types"),
)  # fmt: skip
_IRMASIM_JOBS = Document(
    required=("subtime", "req_ops"),
    bad={"subtime": [*_NEGATIVE, "x"], "req_ops": [*_NEGATIVE, "x"], "ipc": [0, -1], "res": [0, 1.5], "req_time": _NEGATIVE,
         "mem": _NEGATIVE, "mem_vol": _NEGATIVE, "ntasks": [1.5, 0]},
    doubled=("req_time", "mem", "req_ops"),
    free=("profiles",),
)  # fmt: skip


def formats() -> dict[str, Format]:
    """All formats, by name."""
    return {
        "swf": Format("swf", {"log.swf": swf}, _workload),
        "swf.gz": Format("swf.gz", {"log.swf.gz": swf}, _workload),
        "workload csv": Format(
            "workload csv",
            {"jobs.csv": Table(
                {"submit_time": _TIMES, "requested_cores": ("0", "1.5", "-2"), "operations": ("-1", "x"),
                 "requested_time": ("-5", "x")}, doubled=("operations", "requested_time"),
            )},
            _workload,
        ),
        "irmasim workload": Format("irmasim workload", {"jobs.json": _IRMASIM_JOBS}, _workload),
        "irmasim workload csv": Format(
            "irmasim workload csv",
            {"jobs.csv": Table(
                {"subtime": ("-5", "x"), "ntasks": ("0", "1.5"), "req_ops": ("-1", "x"), "ipc": ("0",), "mem": ("-1",)},
                doubled=("req_time", "req_ops", "mem"), mark=lambda line, column: (f"jobs[{line - 2}]",),
            )},
            _workload,
        ),
        "batsim workload": Format(
            "batsim workload",
            {"batsim.json": Document(
                required=("subtime", "res", "profile", "id", "type", "delay", "seq"),
                bad={"subtime": [-1, "x"], "res": [0, 1.5], "walltime": [-7, "x"], "delay": [-1, "x"], "repeat": [0, 1.5],
                     "nb_res": [0, "x"], "priority": ["x"]},
                doubled=("walltime",), free=("profiles",),
            )},
            _workload,
        ),
        "elastisim": Format(
            "elastisim",
            {"elastisim.json": Document(
                required=("type", "submit_time", "num_nodes_max", "delay", "pattern", "application"),
                bad={"submit_time": [-1, "x"], "num_nodes_max": [0, 1.5], "walltime": [-1, "x"], "delay": [-1, "x y"],
                     "type": ["rgid"], "iterations": [-3, "stps"], "pattern": ["evn"]},
                order=(("num_nodes", "num_nodes_max"), ), doubled=("walltime",), free=("arguments",),
            )},
            _workload,
        ),
        "sacct": Format("sacct", {"jobs.txt": _SACCT}, _workload),
        "slurm.conf": Format("slurm.conf", {"slurm.conf": _SLURM_CONF, "nodes.conf": _SLURM_NODES}, _platform),
        "sacctmgr": Format("sacctmgr", {"accounts.txt": _SACCTMGR}, _accounts),
        "platform yaml": Format("platform yaml", {"lab.yaml": _PLATFORM}, _platform),
        "platform json": Format("platform json", {"lab.json": _PLATFORM}, _platform),
        "irmasim platform": Format(
            "irmasim platform",
            {"platform.json": Document(
                required=("clusters", "nodes", "type", "processors", "cores", "clock_rate"),
                bad={"cores": [0, 1.5], "clock_rate": [-1, "x"], "static_power": [-1, "x"], "number": [-1, 0.5],
                     "capacity": [-1], "min_power": [1.5, -1]},
                doubled=("capacity", "clock_rate"), free=("platform", "node", "processor"),
            )},
            _platform,
        ),
        "simgrid": Format("simgrid", {"machine.xml": simgrid}, _platform),
        "reservations": Format(
            "reservations",
            {"r.yaml": Document(
                required=("name", "start", "end", "nodes"), bad={"start": ["x"], "end": ["x"], "name": [5]},
                order=(("start", "end"),), doubled=("end",),
            )},
            _reservations,
        ),
        "failures csv": Format(
            "failures csv",
            {"failures.csv": Table(
                {"time": ("-1", "x", "inf"), "node": ("99", "no"), "event": ("fial", "")}, doubled=("time",),
            )},
            _failures,
        ),
        "run configuration": Format(
            "run configuration",
            {"run.yaml": Document(
                required=("workload",), bad={"first": [-1, 1.5], "until": [-1, "x"], "quirks": [["textual"]]},
                doubled=("until",),
            )},
            _configuration,
        ),
        "irmasim options": Format(
            "irmasim options",
            {"options.json": Document(required=("platform_file", "workload_file"), bad={"seed": [-1, 1.5, "x"]},
                                      doubled=())},
            _configuration,
        ),
        "training configuration": Format(
            "training configuration",
            {"training.yaml": Document(
                required=("teacher",), bad={"iterations": [-1, 1.5], "epochs": [0, -1], "actor_lr": [-1, "x"],
                                                "every": [0], "num_jobs": [-1]},
                doubled=("iterations",), free=("limits", "options"),
            )},
            _configuration,
        ),
        "sweep configuration": Format(
            "sweep configuration",
            {"sweep.yaml": Document(
                required=("factors", "workload", "source"), bad={"replications": [0, -1, 1.5], "load": [[-1.0]]},
                order=(), doubled=("replications",),
            )},
            _configuration,
        ),
        "result": Format("result", _RESULT, _result),
        "result parquet": Format("result parquet", _RESULT_PARQUET, _result),
        "batsim results": Format(
            "batsim results",
            {"out_jobs.csv": _BATSIM_TABLE, "out_machine_states.csv": _STATES_TABLE, "out_consumed_energy.csv": _ENERGY_TABLE},
            _result,
        ),
        "evalys table": Format("evalys table", {"evalys.csv": _EVALYS_TABLE}, _result),
        "replay": Format(
            "replay",
            {"jobs.csv": Table({"start_time": ("-1", "x", "nan", "1e300")},
                               mark=lambda line, column: (column,))},
            _replay,
        ),
        "replay of batsim": Format("replay of batsim", {"out_jobs.csv": _REPLAYED_TABLE}, _replay),
        "agent": Format(
            "agent",
            {"agent.json": Document(
                required=("format", "tensors", "sha256", "tree"),
                bad={"format": [5], "tensors": [5, "../x"], "sha256": [5, "x"], "tree": [5]}, marks=("saved with",),
            )},
            _agent,
        ),
        "metrics of a training": Format(
            "metrics of a training",
            {"metrics.csv": Table({"iteration": ("-1", "1.5", "x"), "rollout/ep_rew_mean": ("x",)}, known=("iteration",),
                                  doubled=("validation/best",))},
            _metrics,
        ),
        "sweep": Format(
            "sweep",
            {"manifest.json": Document(
                required=("format", "factors", "config", "begun", "version", "replications"),
                bad={"format": [9], "replications": ["x", 1.5], "factors": [5], "cells": [-1, "x"]},
                free=("inputs", "made_with", "outputs", "train"),
            )},
            _sweep,
        ),
    }  # fmt: skip


def _sample(name: str) -> Sample:
    extra = {
        "elastisim": Sample({"elastisim.json": json.dumps(ELASTISIM).encode()}, "elastisim.json", described),
        "failures csv": Sample({"failures.csv": FAILURES}, "failures.csv", described),
    }
    return extra[name] if name in extra else samples()[name]


# ---------------------------------------------------------------------- cases


class Verdict(NamedTuple):
    """What became of a damaged file: ``outcome`` is refused, warned or exact where it is as it should be, else wrong."""

    kind: str
    outcome: str
    told: str


def _told(read: Callable[[str], Iterator[float] | None], path: str) -> tuple[str, str, list[float]]:
    """The error, the warnings, and the numbers that were read."""
    numbers: list[float] = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            numbers = list(read(path) or ())
            error = ""
        except InputError as refusal:
            error = str(refusal)
    return error, "\n".join(str(warning.message) for warning in found), numbers


def tried(name: str, number: int, seed: int, folder: Path) -> Verdict:
    """Damage a file of a format in a way that its number says, and read it."""
    of, sample = formats()[name], _sample(formats()[name].sample)
    rng = random.Random(f"detectable {seed} {name} {number}")
    damage = None
    while damage is None:
        hurt = rng.choice(list(of.damagers))
        damage = of.damagers[hurt](sample.files[hurt], rng.choice(KINDS), rng)
    shutil.rmtree(folder, ignore_errors=True)
    for place, content in copy.copy(sample.files).items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(damage.content if place == hurt else content)
    path = str(folder / sample.given) if sample.given else str(folder)
    error, warned, numbers = _told(of.read, path)
    if damage.kind == "doubled":
        exact = not error and any(abs(number - damage.value) <= 1e-12 * abs(damage.value) for number in numbers)
        return Verdict("doubled", "exact" if exact else "wrong", f"{hurt} {damage.names[0]} {damage.value}: {error}")
    named = [text for text in (error, warned) if text and any(mark in text for mark in damage.names)]
    outcome = "wrong" if not named else "refused" if error else "warned"
    lines = difference(sample.files[hurt], damage.content)
    return Verdict(damage.kind, outcome, f"{hurt} {damage.names}: {lines} -> {error or warned or 'not a word'}"[:600])


def report(names: Sequence[str], cases: int, seed: int) -> int:
    """Damage so many files of these formats, and print by format what became of them; 1 where one was not told by name."""
    columns = ("refused", "warned", "wrong", "exact", "not exact")
    total: Counter[str] = Counter()
    print(f"{'format':<24}" + "".join(f"{column:>10}" for column in columns), flush=True)
    with tempfile.TemporaryDirectory() as aside:
        for name in names:
            count: Counter[str] = Counter()
            for number in range(-(-cases // len(names))):
                verdict = tried(name, number, seed, Path(aside, "case"))
                outcome = "not exact" if verdict[:2] == ("doubled", "wrong") else verdict.outcome
                count[outcome] += 1
                if verdict.outcome == "wrong":
                    print(f"  {number}: {verdict.kind}: {verdict.told}", flush=True)
            print(f"{name:<24}" + "".join(f"{count[column]:>10,}" for column in columns), flush=True)
            total += count
    print(f"{'all':<24}" + "".join(f"{total[column]:>10,}" for column in columns))
    print(f"{sum(total.values()):,} files of {len(names)} formats, seed {seed}")
    return 1 if total["wrong"] or total["not exact"] else 0


def difference(before: bytes, after: bytes) -> str:
    """The first line in which two files differ, for people."""
    lines = zip(before.splitlines(), after.splitlines(), strict=False)
    return next((repr(other[:160]) for one, other in lines if one != other), "at its end")
