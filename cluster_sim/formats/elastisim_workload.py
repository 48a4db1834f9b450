"""ElastiSim's jobs: JSON with ``jobs``, each of a type, a size, and an application that says what it does.

    {"jobs": [{"type": "moldable", "submit_time": 0, "num_nodes_min": 2, "num_nodes_max": 8, "walltime": 3600,
               "arguments": {"flops": 1e12, "steps": 10}, "application_model": "application.json"}]}

with an application, a file or the object itself::

    {"phases": [{"iterations": "steps",
                 "tasks": [{"type": "cpu", "flops": "flops / num_nodes^0.8", "computation_pattern": "uniform"}]}]}

A node of ElastiSim is a core here. Amounts are formulas (:mod:`.formulas`) of the arguments and of ``num_nodes``; from these come
the job's work on the nodes that it asks for, and its ``speedup`` over all that it can have. Iterations between which these may
change become its ``parts``, an ``evolving_request`` the cores that a part asks for.
The manual (docs/guides/malleable.md) lists what is
read and what is not. Source: ElastiSim's manual, and the readings of its program (Özden et al., ICPP 2022).
"""

from __future__ import annotations

import math
import os
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cluster_sim.errors import FormatError, ModelWarning, warn_user
from cluster_sim.files.documents import parse_json
from cluster_sim.files.reading import is_stdin, read_text
from cluster_sim.formats.elastisim_tasks import Amount, amount_of, list_in, look_at_tasks, object_in, slowest
from cluster_sim.formats.formulas import Values, evaluate
from cluster_sim.spelling import UnknownKeys
from cluster_sim.workload.job_table import first_submission, shift
from cluster_sim.workload.parts import MOST_PARTS
from cluster_sim.workload.speedup import LINEAR, MOST_WIDTHS
from cluster_sim.workload.workload import Workload

_CHANGING = ("malleable", "evolving", "adaptive")
_TYPES = ("rigid", "moldable", *_CHANGING)
_JOB_KEYS = (
    "type", "submit_time", "num_nodes", "num_nodes_min", "num_nodes_max", "num_gpus_per_node", "num_gpus_per_node_min",
    "walltime", "arguments", "attributes", "application_model", "application",
)  # fmt: skip
_IGNORED_OF_JOB = ("id", "name", "num_gpus_per_node_max", "dependencies")
_OCCASIONS = ("on_init", "on_reconfiguration", "on_expansion")
_PHASE_KEYS = ("iterations", "tasks", "barrier", "evolving_request", "scheduling_point", "final_scheduling_point")
_BY_SIZE = ("num_nodes", "num_gpus")
_MOST_NODES = 1_000_000
_EQUAL = 1e-12


class _Phase(NamedTuple):
    """A phase of an application."""

    iterations: int
    amount: Amount  #: That one iteration does.
    document: dict[str, Any]


def is_elastisim(document: object) -> bool:
    """Return whether a parsed workload is ElastiSim's: its jobs have a ``submit_time``, and nodes or an application."""
    jobs = document.get("jobs") if isinstance(document, dict) else None
    known = {"application_model", "application", "num_nodes", "num_nodes_min"}
    return isinstance(jobs, list) and any(
        isinstance(job, dict) and "submit_time" in job and "subtime" not in job and job.keys() & known for job in jobs
    )


def from_document(document: Any, source: str, *, reference_gflops: float | None = None) -> Workload:
    """Make a workload from the parsed JSON; ``source`` names it in errors, and applications are looked for beside it.

    What has no time here, network, files and GPUs, is named in one ModelWarning. ``reference_gflops`` is the rate of a node, for
    jobs that both compute and wait. Raises FormatError naming the job.
    """

    reader = _Reader(source, reference_gflops)
    reader.keys.look(document, ("jobs",), "the file", ("description", "version"))
    try:
        rows = [reader.job(job, f"{source}: jobs[{number}]") for number, job in enumerate(document["jobs"])]
    finally:  # what is missing may be misspelt
        reader.keys.tell()
    if reader.left_out:
        named = ", ".join(f"{what} ({count} job{'s' * (count > 1)})" for what, count in reader.left_out.most_common())
        warn_user(ModelWarning(f"{source}: not simulated: {named}"))
    columns = {name: np.array([row[name] for row in rows], type(rows[0][name])) for name in rows[0]}
    for name in ("speedup", "parts"):
        columns[name] = columns[name].astype(object)
    origin_s = first_submission(columns)
    shift(columns, origin_s)
    return Workload(
        columns,
        name=Path(source.removesuffix(".gz")).stem,
        origin_s=origin_s,
        reference_gflops=reference_gflops,
        locate=lambda row: f"{source}: jobs[{row}]",
    )


class _Reader:
    """Reader of the jobs and applications of one file; it counts the jobs of which something is left out."""

    def __init__(self, source: str, reference_gflops: float | None):
        self._source = source
        self._gflops = reference_gflops
        self._applications: dict[str, dict[str, Any]] = {}
        self._now: set[str] = set()
        self.left_out: Counter[str] = Counter()
        self.keys = UnknownKeys(source)

    def job(self, job: Any, where: str) -> dict[str, Any]:
        """Return the columns of one job."""
        kind = str(object_in(job, where).get("type", "nothing")).lower()
        if kind not in _TYPES:
            raise FormatError(f"{where}.type", f"one of {', '.join(_TYPES)}", kind)
        self.keys.look(job, _JOB_KEYS, where.removeprefix(f"{self._source}: "), _IGNORED_OF_JOB)
        base, nodes = _sizes(job, kind, where)
        attributes = object_in(job.get("attributes", {}), f"{where}.attributes")
        gpus = int(_number(job, "num_gpus_per_node", where, _number(job, "num_gpus_per_node_min", where, 0.0)))
        row = {
            "submit_time": _number(job, "submit_time", where, None),
            "requested_cores": base,
            "min_cores": 0 if kind == "rigid" else int(nodes[0]),
            "max_cores": 0 if kind == "rigid" else int(nodes[-1]),
            "requested_time": _number(job, "walltime", where, 0.0) or math.inf,
            "priority": _number(attributes, "priority", f"{where}.attributes", 0.0),
            "gpus_per_task": gpus,  # a node is a core here
        }
        sized: dict[str, Any] = {
            name: evaluate(value, {}, f"{where}.arguments.{name}")
            for name, value in object_in(job.get("arguments", {}), f"{where}.arguments").items()
        }
        sized |= {"num_nodes": nodes, "num_gpus_per_node": gpus, "num_gpus": nodes * gpus}
        application = job.get("application_model", job.get("application"))
        if isinstance(application, str):
            application = self._application_in(application)
        else:
            self._look_at(object_in(application, f"{where}.application"), f"{where}.application")
        row |= self._columns_of_work(application, kind, base, sized, where)
        self._now |= {f"attribute {name}" for name in attributes if name != "priority"}
        self.left_out.update(sorted(self._now))
        self._now.clear()
        return row

    def _columns_of_work(
        self, application: dict[str, Any], kind: str, base: int, sized: dict[str, Any], where: str
    ) -> dict[str, Any]:
        """Return the work, speedup and parts that an application gives a job which asks for ``base`` nodes."""
        once, phases = self._work(application, sized, where)
        flops, seconds = (
            once[unit] + sum(phase.iterations * phase.amount[unit] for phase in phases) for unit in (0, 1)
        )
        computes, waits = bool(flops.any()), bool(seconds.any())
        rate, nodes = 1.0, sized["num_nodes"]
        if computes and waits:  # operations become seconds
            if self._gflops is None:
                raise FormatError(where, "flops or delays, or both with reference_gflops, the rate of a node", "both")
            rate = self._gflops * 1e9 or 1.0  # the workload refuses a rate of 0 later
        first, at = slowest(once, nodes, rate), int(base - nodes[0])
        times = [slowest(phase.amount, nodes, rate) for phase in phases]
        whole = first + sum(phase.iterations * time for phase, time in zip(phases, times, strict=True))
        if not (whole > 0.0).all():
            raise FormatError(where, "work to simulate: flops of cpu tasks, or delays", "none")
        changes = kind in _CHANGING
        if changes and any(
            not np.allclose(time * whole[at], whole * time[at], rtol=_EQUAL, atol=0.0) for time in (first, *times)
        ):
            self._now.add("phases of their own speedup, all have that of the job")
        parts = ""
        if changes:
            parts = self._parts(kind, float(first[at]), [float(time[at]) for time in times], phases, sized, where)
        speedup = LINEAR
        if not np.allclose(whole * nodes, whole[0] * nodes[0], rtol=_EQUAL, atol=0.0):
            if len(nodes) > MOST_WIDTHS:
                expected = f"at most {MOST_WIDTHS:,} numbers of nodes where time x nodes changes"
                raise FormatError(where, expected, len(nodes))
            pairs = zip(nodes.astype(int).tolist(), (whole[0] / whole).tolist(), strict=True)
            speedup = f"table:{','.join(f'{size}={factor!r}' for size, factor in pairs)}"
        return {
            "malleable": parts != "",
            "parts": parts,
            "operations": math.nan if waits else float(whole[at]),
            "recorded_run_time": float(whole[at]) if waits else math.nan,
            "fixed_run_time": waits and not computes,
            "speedup": speedup,
            "reconfiguration_time": self._reconfiguration(application, sized, at, where) if changes else 0.0,
        }

    def _application_in(self, name: str) -> dict[str, Any]:
        """Return the application of a file, which is looked for beside the jobs and in the folders above them."""
        if name not in self._applications:
            folder = Path.cwd() if is_stdin(self._source) else Path(os.path.abspath(self._source)).parent
            places = [place / name for place in (folder, *folder.parents)]
            path = str(next((place for place in places if place.is_file()), places[0]))
            self._applications[name] = object_in(parse_json(path, read_text(path)), path)
            self._look_at(self._applications[name], path)
        return self._applications[name]

    def _look_at(self, application: dict[str, Any], where: str) -> None:
        """Note the keys of an application that ElastiSim does not know."""
        self.keys.look(application, ("phases", *_OCCASIONS), where, ("name",))
        for occasion in _OCCASIONS:
            if isinstance(given := application.get(occasion), dict):
                self.keys.look(given, ("iterations", "tasks"), f"{where}, {occasion}", ("name",))
            look_at_tasks(given, self.keys, f"{where}, {occasion}")
        for number, phase in enumerate(list_in(application.get("phases", []), f"{where} phases")):
            if isinstance(phase, dict):
                place = f"{where}, phases[{number}]"
                self.keys.look(phase, _PHASE_KEYS, place, ("name",))
                look_at_tasks(phase, self.keys, place)

    def _work(self, application: dict[str, Any], sized: dict[str, Any], where: str) -> tuple[Amount, list[_Phase]]:
        """Return what a job does once at its start, and its phases."""
        once = self._once(application, "on_init", sized, where)
        constant = {name: value for name, value in sized.items() if name not in _BY_SIZE}
        found: list[_Phase] = []
        for number, phase in enumerate(list_in(application.get("phases", []), f"{where} phases")):
            place = f"{where} phases[{number}]"
            object_in(phase, place)
            count = float(evaluate(phase.get("iterations", 1), constant, f"{place}.iterations"))
            if not 0 <= count < 2**53:
                raise FormatError(f"{place}.iterations", "a number of iterations >= 0", count)
            if phase.get("barrier") is False:
                self._now.add("barrier false")
            if int(count):
                found.append(_Phase(int(count), amount_of(phase, sized, place, self._now), phase))
        return once, found

    def _once(self, application: dict[str, Any], key: str, sized: dict[str, Any], where: str) -> Amount:
        """Return what a job does on an occasion: the tasks of a list, or of an object that may say how many times."""
        given = application.get(key) or []
        amount = amount_of(given, sized, f"{where} {key}", self._now)
        times = 1 if isinstance(given, list) else evaluate(given.get("iterations", 1), {}, f"{where} {key}.iterations")
        return Amount(times * amount.flops, times * amount.seconds)

    def _reconfiguration(self, application: dict[str, Any], sized: dict[str, Any], at: int, where: str) -> float:
        """Return the time (s) that a change of the job's nodes takes; it does not depend on their number."""
        if application.get("on_expansion"):
            self._now.add("on_expansion")
        amount = self._once(application, "on_reconfiguration", sized, where)
        if amount.flops.any() and self._gflops is None:
            self._now.add("flops of on_reconfiguration without reference_gflops")
            amount = Amount(0.0 * amount.flops, amount.seconds)
        times = slowest(amount, sized["num_nodes"], (self._gflops or 1.0) * 1e9)
        if np.ptp(times) > _EQUAL * times.max():
            self._now.add("on_reconfiguration by the number of nodes")
        return float(times[at])

    def _parts(
        self,
        kind: str,
        once: float,
        times: list[float],
        phases: list[_Phase],
        sized: dict[str, Any],
        where: str,
    ) -> str:
        """Return the column ``parts`` of a job whose nodes may change: its work between two points where they may."""
        shares: list[float] = []
        asks: list[int] = []
        if sum(phase.iterations for phase in phases) > MOST_PARTS:
            raise FormatError(where, f"at most {MOST_PARTS:,} iterations of a job whose nodes may change")
        least, most = sized["num_nodes"][0], sized["num_nodes"][-1]
        bounds = {"num_nodes_min": least, "num_nodes_max": most}
        names = {name: value for name, value in sized.items() if name not in _BY_SIZE} | bounds
        may_change = False
        for (count, _, phase), time in zip(phases, times, strict=True):
            wanted = np.zeros(count)
            if kind != "malleable" and "evolving_request" in phase:
                step = names | {"phase_iteration": np.arange(count, dtype=float)}
                value = evaluate(phase["evolving_request"], step, f"{where} evolving_request")
                wanted = np.broadcast_to(np.clip(np.trunc(value), least, most), count)
            points = kind != "evolving" and phase.get("scheduling_point", True)
            for number, cores in enumerate(wanted.astype(int).tolist()):
                if not shares:  # nothing is asked before the first iteration
                    shares, asks = [once + time], [0]
                elif may_change or cores:
                    shares.append(time)
                    asks.append(cores)
                else:
                    shares[-1] += time
                may_change = points and (number < count - 1 or phase.get("final_scheduling_point", True))
        done = [(share, cores) for share, cores in zip(shares or [once], asks or [0], strict=True) if share > 0.0]
        if done[0][1]:
            self._now.add("evolving_request before any work")
            done[0] = done[0][0], 0
        if len(done) < 2 and kind == "evolving":
            return ""  # it is only moldable
        shares = [share for share, _ in done]
        if not any(cores for _, cores in done) and max(shares) - min(shares) <= _EQUAL * max(shares):
            return str(len(shares))
        return " ".join(f"{share!r}@{cores}" if cores else f"{share!r}" for share, cores in done)


def _sizes(job: dict[str, Any], kind: str, where: str) -> tuple[int, Values]:
    """Return the nodes that a job asks for, and all numbers of nodes that it can have."""
    given = _number(job, "num_nodes", where, None if kind == "rigid" else math.nan)
    least, most = (
        (_number(job, name, where, None) for name in ("num_nodes_min", "num_nodes_max"))
        if kind != "rigid"
        else (given, given)
    )
    base = least if math.isnan(given) else given
    if not (1 <= least <= base <= most <= _MOST_NODES and all(size == int(size) for size in (least, base, most))):
        expected = f"whole numbers, 1 <= num_nodes_min <= num_nodes <= num_nodes_max <= {_MOST_NODES:,}"
        raise FormatError(where, expected, f"{least:g}, {base:g}, {most:g}")
    return int(base), np.arange(least, most + 1.0)


def _number(of: dict[str, Any], key: str, where: str, default: float | None) -> float:
    value = of.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise FormatError(f"{where}.{key}", "a number >= 0", "nothing" if value is None else value)
    return float(value)
