"""Why a job waits, as data: of what kind the reason is, with a few numbers and names. This module alone words it.

Whoever decides makes a :class:`Reason`: the machine, where a job does not fit (:func:`lacking`), or a scheduler, where it
keeps a job back that would fit. A scheduler of a user may give a clause of its own instead (:func:`as_reason`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cluster_sim.amounts import at_time, in_seconds
from cluster_sim.errors import counted
from cluster_sim.machine.free import Pool
from cluster_sim.machine.placement import shape
from cluster_sim.platform.node_state import NodeState

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.guest_requests import Departure
    from cluster_sim.workload.jobs import Job

MOST_GUESTS = 3
"""Guests that are named before the rest is counted."""
MOST_PROMISED = 5
"""Jobs with a promise that are named before the rest is counted."""
WITHHELD = "withheld"
OUT_OF_USE = {
    WITHHELD: ("is withheld by ", "are withheld by "),
    NodeState.SWITCHING_OFF: ("is switching off", "are switching off"),
    NodeState.SWITCHING_ON: ("is booting", "are booting"),
    NodeState.FAILED: ("has failed", "have failed"),
}
"""Words about one node, and about several, that no job can be given; in the order in which they are said."""


class Loss(Enum):
    """What puts off a promised start, in words: most are what the machine has lost since the promise was made."""

    FAILED = "a node has failed"
    WITHHELD = "a node is withheld"
    SWITCHED_OFF = "a node is switched off"
    SWITCHED_ON = "a node boots for no job"
    LATE_NODE = "a node takes longer to switch than expected"
    LATE_JOB = "a job lasts longer than expected"
    CHANGED = "a running job goes on with other cores"
    GUEST = "a guest has got cores"
    LATE_GUEST = "a guest stays longer than expected"
    CAPPED = "the power cap kept a job from starting"
    GOES_FIRST = "a job goes before it in the queue"
    LATE_BOOT = "its nodes take longer to boot than expected"


class ReasonKind(Enum):
    """Kinds of reasons; each value is a clause about the job, with places for what its :class:`Reason` knows."""

    FITS = ""
    # What it lacks.
    CORES = "asks for {least}{cores}{which}, {found} free"
    ONE_NODE = "asks for {least}{cores}{which}, no node has more than {found} free"
    NODES = "asks for {least}{nodes} with {each}{which}, {found} like that"
    UNITS = "asks for {which}, {found} free"
    UNITS_ELSEWHERE = "asks for {which}, {found} free on nodes without room for all of it"
    RESERVED = "fits only on nodes that an advance reservation keeps from it now"
    SWITCHES = "fits only under more leaf switches than it asks for"
    SKIPPED = "does not fit on the cores that are free, and is skipped until it does"
    ITS_CORES = "is suspended and needs its {cores} back, {found} free"
    ITS_CORES_RESERVED = "is suspended and needs its {cores} back, which an advance reservation keeps from it now"
    # Why it is kept back though there is enough for it.
    CAPPED = "would have the machine draw more than the power cap of {amount} W"
    BEHIND = "job {behind} is before it in the queue{said}, and no job may overtake that"
    DELAYS = "would delay a job that was promised a start"
    DELAYS_PROMISED = "would delay job {behind}, which was promised a start {promised}"
    DELAYS_ONE_OF = "would delay job {one_of}, which were promised a start"
    PROMISED_LATER = "was promised a later start"
    NO_EARLIER = "would begin no earlier on them than on those that it was promised"
    NOT_MOVED = (
        "was promised a later start, and promises move, once and in the order of the queue, when a job ends early"
    )
    NO_ROOM = "would leave fewer cores free than are kept for short jobs"
    KEPT_FREE = "would take cores that are kept free for other jobs, or nodes that need more energy"
    TOO_EXPENSIVE = "fits only where it is estimated to need more than its max_energy of {amount} J, and is skipped"
    OTHERS_LEAVE = "waits for less urgent jobs that have been told to leave their cores"
    RESUMES_FIRST = "comes after a suspended job, which can go on only on the cores that it had"
    OTHERS_SHRINK = "waits for cores that others give up"
    ANY_NODE = "waits for a node"
    SOONER_ON_MORE = "should end sooner on more cores than are free"
    SLURM = "has Slurm's reason {said}"
    SAID = "{said}"
    # Why a job starts, why its promise was put off, or how it lost its cores: no reasons of a wait.
    BACKFILLED = "backfilled: it delays no job that was promised a start{more}"
    ON_TRIAL = "on trial: it leaves when the first job of the queue can start with its cores{more}"
    PUT_OFF = "{losses}"
    TAKEN_BACK = "{lost}"  # in the same words; the values of kinds have to differ
    REQUEUED = "requeued{because}"
    SUSPENDED = "suspended{because}"
    CANCELLED = "cancelled{because}"
    TIMED_OUT = "timed out{because}"
    NODE_FAIL = "NODE_FAIL"
    # Why nothing better can be said, or what kept it from the queue.
    NOT_LOGGED = "the scheduler kept it back (only a run with --explain knows why)"
    NO_REASON = "the scheduler kept it back, and gave no reason"
    KILLED = "it had been killed, and was not in the queue"
    CAME_BACK = "it had come back, and was not yet in the queue: {said}"
    NOT_RECORDED = "the records end before that"


LACKING = (
    ReasonKind.CORES,
    ReasonKind.ONE_NODE,
    ReasonKind.NODES,
    ReasonKind.UNITS,
    ReasonKind.UNITS_ELSEWHERE,
    ReasonKind.RESERVED,
    ReasonKind.SWITCHES,
    ReasonKind.SKIPPED,
    ReasonKind.ITS_CORES,
    ReasonKind.ITS_CORES_RESERVED,
)
"""Kinds of reasons of a job for which the machine has not enough."""
PREEMPTED = (ReasonKind.REQUEUED, ReasonKind.SUSPENDED, ReasonKind.CANCELLED, ReasonKind.TIMED_OUT)
"""Kinds that tell how a scheduler took a job's cores; why, is what the reason has ``said``."""
_WHOLE_CLAUSES = (ReasonKind.BEHIND, ReasonKind.NOT_LOGGED, ReasonKind.NO_REASON)


@dataclass(frozen=True, slots=True)
class GuestHolds:
    """Cores that a guest holds, until when it said that it would, s; ``late``: it is still there."""

    owner: str
    cores: int
    end: float
    late: bool


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a job waits. Which fields say something depends on the ``kind``. A reason of the kind FITS is none, and false."""

    kind: ReasonKind
    asks: int = 0  #: How many cores, or nodes, the job asks for
    each: int = 0  #: with so many free cores,
    least: bool = False  #: at least,
    which: str = ""  #: and which of them count, as `` on nodes tagged gpu``.
    found: int = 0  #: How many of them there are.
    nodes: int = 0  #: Of so many nodes
    out_of_use: tuple[tuple[str, int], ...] = ()  #: some can be given to no job, by the cause: see ``OUT_OF_USE``.
    policy: str = ""  #: The power policy that withholds nodes.
    guests: tuple[GuestHolds, ...] = ()  #: Who holds cores that the job might have, and which is not named
    more_guests: int = 0  #: though it does.
    amount: float = 0.0  #: W of a power cap, or J.
    behind: str = ""  #: Id of the job behind which, or for the sake of which, it waits,
    promised: float | None = None  #: and which was promised a start then, s; inf: when jobs end that named no time.
    said: str = ""  #: Words of whoever decides, or the order of the queue.
    one_of: tuple[str, ...] = ()  #: Ids of the jobs of which it would delay one.
    losses: tuple[Loss, ...] = ()  #: What has put off a promise.

    def __bool__(self) -> bool:
        return self.kind is not ReasonKind.FITS

    def __str__(self) -> str:
        return clause([self])

    @property
    def lacks(self) -> bool:
        """Return whether the machine has not enough for the job."""
        return self.kind in LACKING

    @property
    def form(self) -> tuple[object, ...]:
        """Return what reasons have in common that differ only in how much of what a job lacks there is."""
        if not self.lacks:
            return (self,)
        asked = self.asks, self.each, self.which
        return self.kind, asked, tuple(cause for cause, _ in self.out_of_use), self.guests, self.more_guests


FITS = Reason(ReasonKind.FITS)


def as_reason(because: Reason | str) -> Reason:
    """Return a reason as it is, and a clause of a user's scheduler as one that says that; FITS if there are no words."""
    if isinstance(because, Reason):
        return because
    return Reason(ReasonKind.SAID, said=because) if because else FITS


# ---------------------------------------------------------------------- in words


def clause(reasons: Sequence[Reason], at: Callable[[float], str] = at_time) -> str:
    """Word reasons of one form as one clause about the job, with ranges: ``asks for 8 cores, 2 to 5 free``.

    ``at`` writes the time of a promise, s.
    """
    one = reasons[0]
    known = one.promised is not None and one.promised < math.inf
    text = one.kind.value.format(
        least="at least " if one.least else "",
        cores=counted(one.asks, "core"),
        nodes=counted(one.asks, "node"),
        each=counted(one.each, "free core"),
        which=one.which,
        found=_span([reason.found for reason in reasons]),
        amount=f"{one.amount:g}",
        behind=one.behind,
        promised=f"at {at(one.promised or 0.0)}" if known else "when jobs have ended that requested no time",
        said=one.said,
        because=f": {one.said}" if one.said else "",
        more=f"; {one.said}" if one.said else "",
        one_of=_one_of(one.one_of),
        losses=(losses := " and ".join(loss.value for loss in one.losses)),
        lost=losses,
    )
    if one.behind and "{behind}" not in one.kind.value:
        text = f"{text} (job {one.behind})"
    remarks = []
    for i, (cause, _) in enumerate(one.out_of_use):
        counts = [reason.out_of_use[i][1] for reason in reasons]
        words = OUT_OF_USE[cause][max(counts) > 1] + (one.policy if cause == WITHHELD else "")
        of_all = "" if i else f" of {counted(one.nodes, 'node')}"
        remarks.append(f"{_span(counts)}{of_all} {words}")
    remarks += [
        f"{guest.owner}, a guest, holds {counted(guest.cores, 'core')} {until_when(guest.end, guest.late)}"
        for guest in one.guests
    ]
    if one.more_guests:
        many = counted(one.more_guests, "more guest")
        remarks.append(f"{many} {'holds' if one.more_guests == 1 else 'hold'} cores")
    return f"{text} ({', '.join(remarks)})" if remarks else text


def _one_of(jobs: Sequence[str]) -> str:
    """Write ``3, 4 or 5``; of many the first few, and how many more."""
    names, more = list(jobs[:MOST_PROMISED]), len(jobs) - MOST_PROMISED
    names += [f"one of {more:,} more"] if more > 0 else []
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _span(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def until_when(end: float, late: bool, at: Callable[[float], str] = in_seconds) -> str:
    """Say until when a guest should hold its cores, to which it may not keep; ``at`` writes the time."""
    if not math.isfinite(end):
        return "for an unknown time"
    return f"longer than until {at(end)}, as it had said" if late else f"until {at(end)}"


def sentence(reasons: Sequence[Reason], at: Callable[[float], str] = at_time) -> str:
    """Word reasons of one form as a sentence without its full stop, which also tells whether enough was free."""
    text, kind = clause(reasons, at), reasons[0].kind
    if reasons[0].lacks:
        return f"it {text}"
    if kind in (ReasonKind.KILLED, ReasonKind.CAME_BACK, ReasonKind.NOT_RECORDED):
        return text
    return f"enough cores are free, but {'' if kind in _WHOLE_CLAUSES else 'it '}{text}"


# ---------------------------------------------------------------------- what a job lacks


class States(Protocol):
    """The states of nodes, by position, and which a power policy withholds."""

    withheld: npt.NDArray[np.bool_]

    @property
    def state(self) -> Sequence[NodeState]:
        """Return the state of each node."""
        ...


def lacking(pool: Pool, states: States, guests: Sequence[Departure], job: Job, memory: bool, policy: str) -> Reason:
    """Return what a job lacks that does not fit on a pool of cores, on nodes in such states, where guests hold some.

    With ``memory`` only cores with room for its memory count. Nodes with free cores for the job that it cannot be given now
    are counted by their states; ``policy`` is the name of the power policy. Guests that hold cores it might have are named.
    """
    eligibility = pool.eligibility
    mask, widest, particular = eligibility.nodes(job), eligibility.widest(job), eligibility.described(job)
    free = pool.free if mask is None else np.where(mask, pool.free, 0)
    which = f" on nodes{particular}" if particular else ""
    if eligibility.restricts and job.exclusive:
        free = np.where(pool.free == pool.platform.node_cores, free, 0)
        which += ", on nodes where nothing else runs" if which else " on nodes where nothing else runs"
    if memory and job.memory > 0.0:
        free = np.minimum(free, pool.memory.room(job.memory))
        which += f" with {job.memory:g} MB for each"
    usable = pool.is_on | pool.is_off
    beyond_reach = np.flatnonzero((free > 0) & ~usable).tolist()
    free = np.where(usable, free, 0)
    cores, total, most = job.requested_cores, int(free.sum()), int(free.max(initial=0))
    kind, asks, each, found = ReasonKind.FITS, cores, 0, 0
    if pool.shapes and (wanted := shape(job)):
        # The widest of the wishes that cannot all be met.
        for wide in dict.fromkeys(wanted):
            nodes, fitting = sum(other >= wide for other in wanted), int((free >= wide).sum())
            if fitting < nodes:
                kind, asks, each, found = ReasonKind.NODES, nodes, wide, fitting
                break
    elif total < cores:
        kind, found = ReasonKind.CORES, total
    elif cores <= widest and most < cores:
        kind, found = ReasonKind.ONE_NODE, most
    if kind is ReasonKind.FITS and (lack := pool.resources.lacking(job, usable)):
        kind, found, which = ReasonKind.UNITS, lack.found, lack.asked
        if lack.elsewhere:
            kind = ReasonKind.UNITS_ELSEWHERE
    if kind is ReasonKind.FITS:
        open_now = eligibility.open_at(job, pool.now)
        few = eligibility.leaf_limit(job, pool.now) and (
            open_now is None or (mask is not None and np.array_equal(open_now, mask))
        )
        return Reason(ReasonKind.SWITCHES if few else ReasonKind.RESERVED)
    named, more_guests = _guests(guests, mask, pool.now)
    out_of_use = _out_of_use(states, beyond_reach)
    return Reason(
        kind, asks, each, False, which, found, pool.platform.node_count, out_of_use, policy, named, more_guests
    )


def _out_of_use(states: States, nodes: list[int]) -> tuple[tuple[str, int], ...]:
    """Count these nodes, which no job can be given, by the cause."""
    state = states.state if nodes else ()
    causes = Counter(WITHHELD if states.withheld[node] else state[node] for node in nodes)
    return tuple((cause, causes[cause]) for cause in OUT_OF_USE if causes[cause])


def _guests(
    guests: Sequence[Departure], mask: npt.NDArray[np.bool_] | None, now: float
) -> tuple[tuple[GuestHolds, ...], int]:
    """Return who holds cores of the nodes that a job may use, and how many more guests do."""
    cores: dict[str, int] = {}
    ends: dict[str, float] = {}
    for guest in guests:
        if mask is None or mask[guest.node]:
            cores[guest.owner] = cores.get(guest.owner, 0) + guest.cores
            ends[guest.owner] = max(ends.get(guest.owner, 0.0), guest.expected_end)
    found = [GuestHolds(owner, count, ends[owner], ends[owner] <= now) for owner, count in cores.items()]
    return tuple(found[:MOST_GUESTS]), max(len(found) - MOST_GUESTS, 0)
