"""What beside free cores decided whether a job of a run could start: what jobs asked for, and what was kept from them.

A run in which cores were all that counted has none of it. Explanations need it; it is saved as ``conditions.json``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from cluster_sim.errors import ClusterSimError, FormatError
from cluster_sim.machine.eligibility import Eligibility, eligibility_of
from cluster_sim.machine.reason import LACKING, Loss, Reason, ReasonKind, as_reason
from cluster_sim.machine.units.counted_resources import NOTHING_COUNTED, CountedResources
from cluster_sim.platform.hardware import is_number
from cluster_sim.run.decision_log import NOBODY, KeptBackRow, PromiseRow, ToldRow
from cluster_sim.run.jobs.attempts import Absence
from cluster_sim.spelling import UnknownKeys
from cluster_sim.workload.advance_reservations import AdvanceReservation
from cluster_sim.workload.resource_request import GPU_COLUMNS, RESOURCE_COLUMNS

if TYPE_CHECKING:
    from cluster_sim.machine.ledger import Withholding
    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.contracts import RecordedRun

T = TypeVar("T", bool, str)

REQUESTS: Mapping[str, Any] = {
    "nodes": 0,
    "ntasks_per_node": 0,
    "memory": 0.0,
    "requires": "",
    "exclusive": False,
    "reservation": "",
    "switches": 0,
    "switch_wait": math.inf,
    "min_cores": 0,
    **dict.fromkeys(GPU_COLUMNS, 0),
    "gpu_type": "",
    "gpu_share": 1.0,
    "resources": "",
    "licenses": "",
}
"""Requests of a job beside cores and time, with the values that stand for none."""


MIN_CORES = "min_cores"
"""The least cores of a job, which count if its scheduler chooses the number of cores."""


_KEYS = (
    "requests counts_memory reservations withheld power_policy guests absences by_request "
    "kept_back told capped keeps_back power_caps promises reasons log"
)
_LATER_KEYS = ("absences", "kept_back", "told", "capped", "power_caps", "promises", "reasons", "log")
"""Tables that files of the first versions lack."""


CappedRow = tuple[int, float, float, float]
CapRow = tuple[float, float]


class GuestStay(NamedTuple):
    """Cores, or memory, that a guest held on a node, from when to when, and until when it said that it would (s)."""

    owner: str
    node: int
    since: float
    until: float
    expected_end: float
    memory_mb: float


@dataclass(frozen=True)
class Conditions:
    """``requests`` are columns over the jobs, those of :data:`REQUESTS` in which any job asks for something."""

    requests: dict[str, np.ndarray] = field(default_factory=dict)
    counts_memory: bool = False  #: True if the jobs' memory counted.
    reservations: tuple[AdvanceReservation, ...] = ()
    withheld: tuple[Withholding, ...] = ()
    power_policy: str = "the power policy"  #: What it is called.
    guests: tuple[GuestStay, ...] = ()
    absences: tuple[Absence, ...] = ()
    by_request: bool = True  #: True if requested times said who may start before an advance reservation.
    #: From when on (s) others were kept back for the sake of which job: none might overtake it, or delay its start,
    #: promised for then (s). Of a run with a log of decisions it is not kept, and neither is what follows.
    kept_back: tuple[KeptBackRow, ...] = ()
    told: tuple[ToldRow, ...] = ()  #: When (s), of which job, the reason that the scheduler gave for it alone.
    capped: tuple[CappedRow, ...] = ()  #: A job; when a power cap first and last kept it from starting, s; which, W.
    #: Why the scheduler keeps back jobs that would fit, where it says no more.
    keeps_back: ReasonKind = ReasonKind.FITS
    power_caps: tuple[CapRow, ...] = ()  #: The power caps, one after the other: since when (s), and which (W).
    #: When (s) which job was promised a start for when (s), or for no time any more, where it may be one of several
    #: for whose sake a job waits.
    promises: tuple[PromiseRow, ...] = ()
    #: Of a run with a log of decisions: the reasons that were given, and the number of each row's among them.
    reasons: tuple[Reason, ...] = ()
    log: tuple[int, ...] = ()

    @classmethod
    def of(cls, simulation: RecordedRun) -> Conditions:
        """Return the conditions of a run as it stands."""
        machine = simulation.machine
        columns = simulation.jobs.columns
        eligibility = machine.cores.eligibility
        conditions = cls(
            {
                name: columns[name]
                for name, nothing in REQUESTS.items()
                if (name != MIN_CORES or simulation.traits.chooses_cores)
                and (name not in RESOURCE_COLUMNS or machine.cores.resources.asked)
                and (columns[name] != nothing).any()
            },
            simulation.view.planning.counts_memory,
            tuple(
                AdvanceReservation(w.name, w.start, w.end, np.flatnonzero(w.nodes).tolist())
                for w in eligibility.windows
            ),
            tuple(machine.ledger.withheld),
            simulation.view.planning.power_policy,
            tuple(
                GuestStay(held.owner, held.node, held.since, held.until, held.expected_end, held.memory_mb)
                for held in machine.guests.granted
            ),
            tuple(simulation.attempts.absences()),
            eligibility.by_request,
        )
        if simulation.decision_log is not None:
            reasons, log = simulation.decision_log.reasons()
            return replace(conditions, reasons=reasons, log=log)
        budget, kept = machine.budget, simulation.kept_back
        return replace(
            conditions,
            kept_back=tuple(kept.rows),
            told=tuple(kept.told),
            capped=tuple((job, *spell) for job, several in budget.kept_back.items() for spell in several),
            keeps_back=simulation.traits.keeps_back.kind,
            power_caps=tuple(budget.limits) if budget.kept_back else (),
            promises=tuple(kept.promises),
        )

    def __bool__(self) -> bool:
        """Return whether anything beside cores counted."""
        told = self.kept_back or self.told or self.capped or self.keeps_back is not ReasonKind.FITS or self.log
        return bool(self.requests or self.reservations or self.withheld or self.guests or self.absences or told)

    def told_times(self) -> list[float]:
        """Return when what was kept of the scheduler's reasons changed, s."""
        rows = [row[0] for row in (*self.kept_back, *self.told, *self.promises)]
        rows += [since for since, _ in self.power_caps]
        return [*rows, *(time for _, since, until, _ in self.capped for time in (since, until))]

    @property
    def are_plain(self) -> bool:
        """Return whether cores alone place every job: one that fits a node goes on one, others anywhere."""
        return not (self.requests or self.reservations)

    def resources(self, platform: Platform) -> CountedResources:
        """Return the counted resources of the machine, none of them held."""
        if self.requests.keys().isdisjoint(RESOURCE_COLUMNS):
            return NOTHING_COUNTED
        return CountedResources(platform, by_unit="gpu_share" in self.requests)

    @property
    def shapes(self) -> bool:
        """Return whether any job asks for nodes, or for tasks on each."""
        return "nodes" in self.requests or "ntasks_per_node" in self.requests

    def columns(self, jobs: int) -> dict[str, np.ndarray]:
        """Return all columns of requests, for ``jobs`` jobs."""
        return {name: self.requests.get(name, np.full(jobs, nothing)) for name, nothing in REQUESTS.items()}

    def eligibility(self, platform: Platform, jobs: int) -> Eligibility:
        """Return which nodes were eligible for whom."""
        return eligibility_of(platform, self.columns(jobs), self.reservations, by_request=self.by_request)

    # ------------------------------------------------------------------ as a document

    def document(self) -> dict[str, Any]:
        """Return the conditions for JSON, in which None stands for infinity."""
        # Reasons by their numbers: those of the log stand first, and a run with a log tells no others.
        numbers = {reason: number for number, reason in enumerate(self.reasons)}
        told = [[time, job, numbers.setdefault(reason, len(numbers))] for time, job, reason in self.told]
        return {
            "requests": {name: _finite(column.tolist()) for name, column in self.requests.items()},
            "counts_memory": self.counts_memory,
            "reservations": [[r.name, r.start, r.end, list(r.nodes)] for r in self.reservations],
            "withheld": [list(row) for row in self.withheld],
            "power_policy": self.power_policy,
            "guests": [_finite(stay) for stay in self.guests],
            "absences": [
                _finite(absence[:3] if absence.back != absence.back else absence) for absence in self.absences
            ],
            "by_request": self.by_request,
            "kept_back": [_finite(row) for row in self.kept_back],
            "told": told,
            "capped": [list(row) for row in self.capped],
            "keeps_back": self.keeps_back.name,
            "power_caps": [_finite(row) for row in self.power_caps],
            "promises": [_finite(row) for row in self.promises],
            "reasons": [_reason_document(reason) for reason in numbers],
            "log": list(self.log),
        }

    @classmethod
    def read(cls, document: dict[str, Any], where: object, jobs: int, platform: Platform) -> Conditions:
        """Read what :meth:`document` made, and a file may have changed. Raises FormatError."""
        keys = UnknownKeys(where)
        keys.look(document, _KEYS.split(), "the file")
        keys.tell()
        try:
            reasons = [_reason(row, f"{where}, reasons") for row in _rows(document, "reasons", where)]
            log = _rows(document, "log", where)
            if not all(type(number) is int and 0 <= number < len(reasons) for number in log):
                raise ValueError(f"a number in log that is none of the {len(reasons)} reasons")
            conditions = cls(
                {name: _column(name, values, jobs) for name, values in document["requests"].items()},
                _typed(document["counts_memory"], bool, f"{where}, counts_memory"),
                tuple(AdvanceReservation(*row) for row in _rows(document, "reservations", where)),
                tuple(_withholding(row, f"{where}, withheld") for row in _rows(document, "withheld", where)),
                _typed(document["power_policy"], str, f"{where}, power_policy"),
                tuple(_stay(row, f"{where}, guests") for row in _rows(document, "guests", where)),
                tuple(_absence(row, f"{where}, absences", jobs) for row in _rows(document, "absences", where)),
                _typed(document.get("by_request", True), bool, f"{where}, by_request"),
                tuple(_kept_back(row, f"{where}, kept_back", jobs) for row in _rows(document, "kept_back", where)),
                tuple(_told(row, f"{where}, told", jobs, reasons) for row in _rows(document, "told", where)),
                tuple(_capped(row, f"{where}, capped", jobs) for row in _rows(document, "capped", where)),
                _keeps_back(document.get("keeps_back", ReasonKind.FITS.name), f"{where}, keeps_back"),
                tuple(_power_cap(row, f"{where}, power_caps") for row in _rows(document, "power_caps", where)),
                tuple(_kept_back(row, f"{where}, promises", jobs) for row in _rows(document, "promises", where)),
                tuple(reasons) if log else (),
                tuple(log),
            )
            nodes = [node for _, several, _ in conditions.withheld for node in several]
            nodes += [stay.node for stay in conditions.guests]
            if not all(type(node) is int and 0 <= node < platform.node_count for node in nodes):
                raise ValueError(f"a node that is none of the platform's {platform.node_count}")
            if any(after[0] < before[0] for before, after in pairwise(conditions.power_caps)):
                raise ValueError("power_caps that do not follow each other in time")
            conditions.eligibility(platform, jobs)
        except FormatError:
            raise
        except (ClusterSimError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FormatError(where, "the conditions of a run", f"{type(error).__name__}: {error}") from None
        return conditions


def _rows(document: dict[str, Any], key: str, where: object) -> list[Any]:
    """Return the rows of a key, none where an earlier version has left no such key."""
    rows = document.get(key, []) if key in _LATER_KEYS else document[key]
    if not isinstance(rows, list):
        raise FormatError(f"{where}, {key}", "a list", "null" if rows is None else rows)
    return rows


def _kept_back(row: Any, where: str, jobs: int) -> KeptBackRow:
    match row:
        case [since, int(job), *promised] if len(promised) <= (job != NOBODY) and NOBODY <= job < jobs:
            if all(is_number(time) and 0.0 <= time < math.inf for time in (since, *filter(None, promised))):
                return (float(since), job, _end(promised[0])) if promised else (float(since), job)
    expected = (
        "[from when on, s; for the sake of which job, by its position, or -1; and the start that it was promised, s]"
    )
    raise FormatError(where, expected, row)


def _keeps_back(name: Any, where: str) -> ReasonKind:
    allowed = [kind.name for kind in ReasonKind if kind not in LACKING and "{" not in kind.value]
    if name not in allowed:
        raise FormatError(where, f"one of {', '.join(allowed)}", name)
    return ReasonKind[name]


def _told(row: Any, where: str, jobs: int, reasons: list[Reason]) -> ToldRow:
    """Read when what was told of a job: one of the reasons, or in files of the first versions a clause."""
    match row:
        case [since, int(job), int() | str() as what] if (
            0 <= job < jobs and is_number(since) and 0.0 <= since < math.inf
        ):
            if isinstance(what, str):
                return float(since), job, as_reason(what)
            if 0 <= what < len(reasons):
                return float(since), job, reasons[what]
    raise FormatError(
        where, "[when, s; of which job, by its position; the number of the reason for which it waits]", row
    )


def _reason_document(reason: Reason) -> dict[str, Any]:
    """Return a reason for JSON: the name of its kind, and what it knows beside."""
    document: dict[str, Any] = {"kind": reason.kind.name}
    for name in ("amount", "behind", "said"):
        if value := getattr(reason, name):
            document[name] = value
    if reason.promised is not None:
        document["promised"] = None if reason.promised == math.inf else reason.promised
    if reason.one_of:
        document["one_of"] = list(reason.one_of)
    if reason.losses:
        document["losses"] = [loss.name for loss in reason.losses]
    return document


def _reason(document: Any, where: str) -> Reason:
    known: dict[str, Any] = dict(document) if isinstance(document, dict) else {}
    kind, amount, promised = known.pop("kind", None), known.pop("amount", 0.0), known.pop("promised", -1.0)
    behind, said = known.pop("behind", ""), known.pop("said", "")
    one_of, losses = known.pop("one_of", []), known.pop("losses", [])
    texts = [kind, behind, said, *one_of, *losses]
    numbers = [amount, 0.0 if promised is None else promised]
    if known or not (all(isinstance(text, str) for text in texts) and all(map(is_number, numbers))):
        expected = "a reason: its kind, and perhaps amount, behind, promised, said, one_of and losses"
        raise FormatError(where, expected, document)
    return Reason(
        ReasonKind[kind],
        amount=float(amount),
        behind=behind,
        promised=None if promised == -1.0 else _end(promised),
        said=said,
        one_of=tuple(one_of),
        losses=tuple(Loss[loss] for loss in losses),
    )


def _capped(row: Any, where: str, jobs: int) -> CappedRow:
    match row:
        case [int(job), *numbers] if len(numbers) == 3 and 0 <= job < jobs and all(map(is_number, numbers)):
            since, until, watts = map(float, numbers)
            if 0.0 <= since <= until < math.inf and watts >= 0.0:
                return job, since, until, watts
    expected = "[a job by its position; when a power cap first and last kept it from starting, s; and the cap, W]"
    raise FormatError(where, expected, row)


def _power_cap(row: Any, where: str) -> CapRow:
    match row:
        case [since, watts] if is_number(since) and 0.0 <= since < math.inf:
            if watts is None or (is_number(watts) and watts >= 0.0):
                return float(since), _end(watts)
    raise FormatError(where, "[since when a power cap holds, s; and which, W]", row)


def _column(name: str, values: list[Any], jobs: int) -> np.ndarray:
    kind = type(REQUESTS[name])
    if REQUESTS[name] == math.inf:
        values = [_end(value) for value in values]
    if len(values) != jobs or not all(type(value) is kind for value in values):
        raise ValueError(f"{name}: other than {jobs} values of type {kind.__name__}")
    return np.array(values, object if kind is str else kind)


def _finite(row: Iterable[Any]) -> list[Any]:
    return [None if value == math.inf else value for value in row]


def _end(time: float | None) -> float:
    return math.inf if time is None else float(time)


def _typed(value: Any, kind: type[T], where: str) -> T:
    if not isinstance(value, kind):
        raise FormatError(where, "true or false" if kind is bool else "text", value)
    return value


def _withholding(row: Any, where: str) -> Withholding:
    match row:
        case [time, [*nodes], bool(held)] if is_number(time) and 0.0 <= time < math.inf:
            return float(time), nodes, held
    raise FormatError(
        where, "[when, s; its nodes, by their positions; true if they are kept from jobs from then on]", row
    )


def _stay(row: Any, where: str) -> GuestStay:
    match row:
        case [str(owner), int(node), since, until, expected_end, memory_mb]:
            ends = all(end is None or (is_number(end) and end >= 0.0) for end in (until, expected_end))
            if (
                ends
                and is_number(since)
                and is_number(memory_mb)
                and 0.0 <= since < math.inf
                and since <= _end(until)
                and 0.0 <= memory_mb < math.inf
            ):
                return GuestStay(owner, node, float(since), _end(until), _end(expected_end), float(memory_mb))
    expected = (
        "[a guest's name; its node by its position; from when and until when it was there, and until when it said "
        "that it would be, s; its memory, MB]"
    )
    raise FormatError(where, expected, row)


def _absence(row: Any, where: str, jobs: int) -> Absence:
    match row:
        case [int(job), int() | float() as since, None | int() | float() as until, *held] if len(held) <= 1:
            back = held[0] if held else since
            is_time = isinstance(back, int | float) and since <= back <= _end(until)
            if 0 <= job < jobs and 0.0 <= since < math.inf and since <= _end(until) and is_time:
                return Absence(job, float(since), _end(until), float(back) if held else math.nan)
    expected = (
        f"[a job by its position, 0 to {jobs - 1}; from when and until when it was not in the queue, s; "
        "and, if it was held on its way there, when between these it came back]"
    )
    raise FormatError(where, expected, row)
