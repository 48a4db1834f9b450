"""What a scheduler can decide. A pass of a scheduler yields these, one after the other; each takes effect at once.

``Start``, ``Reject`` and ``WakeAt`` act on the run. ``Reserve`` and ``Hold`` change nothing: they tell the decision log
why a job waits and what it was promised, and are worth yielding only on a run that keeps one::

    if view.explains:
        yield Hold(job, view.shortage(job))  # asks for 8 cores, no node has more than 5 free
        yield Reserve(job, time=3600.0)

A scheduler may say the same in every pass; the log keeps what changed. It need not speak for every job that waits: what
a job lacks, the records know. What only the scheduler knows is why it keeps a job back that would fit: ``behind`` which
job, if that is the reason, or, said once of the head of the queue with ``blocks``, that no job behind it may start.

*Wording.* ``because`` is a clause about the job, in plain words, without its id, a capital, or a full stop: it is read
after "it waited:" or "it was started:". Of a job that waits, what it asks for and what there is of it: ``asks for 8
cores, no node has more than 5 free``; if the reason is another job, name none in the text (``would delay a job that was
promised a start``) but give it as ``behind`` where it is a single one. Of a job that starts out of turn, how it came to
overtake: ``backfilled: it delays no job that was promised a start``. A job that starts because it is first and fits
needs no words. Leave out of a clause what changes from pass to pass without meaning anything: a new text is a new row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

from cluster_sim.errors import InputError
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.reason import Reason
from cluster_sim.workload.jobs import Job


@dataclass(slots=True)
class Start:
    """Start a pending job on these cores now (when its nodes have booted, if some are off).

    ``because`` says what is not obvious about it, for the decision log: why it overtakes, or why just there.
    ``p_state`` has its processors run in that p-state while it runs; it must have all cores of each, or be exclusive.
    """

    job: Job
    placement: Placement
    because: Reason | str = ""
    p_state: int | None = None


@dataclass(slots=True)
class Reserve:
    """Promise that a pending job starts at ``time`` (s) or before, boots included; nothing changes on the machine.

    ``placement`` says on which cores, if that is part of the promise. A later promise replaces it; ``because`` says why,
    if it puts the start off, or, with a ``time`` of inf, takes the promise back.
    """

    job: Job
    time: float
    placement: Placement | None = None
    because: Reason | str = ""


@dataclass(slots=True)
class Hold:
    """Leave a job in the queue in this pass: why, and ``behind`` which job, if that is the reason. Nothing changes.

    It ``blocks`` if no job behind it in the queue may start before it: then it is why they wait, too.
    """

    job: Job
    because: Reason | str
    behind: Job | None = None
    blocks: bool = False


@dataclass(slots=True)
class Preempt:
    """Take a running job's cores away, now or when ``grace_s`` have passed, if it has not ended by then.

    ``requeue``: it waits again in its old place, and begins again with its last checkpoint, or from nothing. ``suspend``: it
    keeps what it has done, and its memory on its nodes, until a :class:`Resume`. ``cancel``: it is over. ``timeout``: it is
    over because it has outlived its limit, of which the scheduler is the judge where the run enforces no walltimes. A suspended
    job has no cores to lose: it waits again, or is over, at once.
    ``because`` says why, in its record and in the decision log, ``behind`` for which job, if it is for one.
    """

    job: Job
    mode: str = "requeue"
    grace_s: float = 0.0
    because: Reason | str = ""
    behind: Job | None = None


@dataclass(slots=True)
class Resume:
    """A suspended job goes on, on these cores now: on those it had, or on others, after its ``restart_time``."""

    job: Job
    placement: Placement
    because: str = ""


@dataclass(slots=True)
class Resize:
    """A malleable job is to have these cores in place of its own: now, or, if it is in parts, after the one that runs.

    Cores that come are held for it from now on; cores that go are free when the change is made.
    """

    job: Job
    placement: Placement
    because: str = ""


@dataclass(slots=True)
class Reject:
    """Refuse a pending job for good; ``reason`` stands in its record."""

    job: Job
    reason: str


@dataclass(slots=True)
class WakeAt:
    """Hold a scheduling pass at ``time`` (s), even if nothing happens then."""

    time: float


Change = Preempt | Resume | Resize
"""Decisions of a scheduler about a job that has begun."""
Decision = Start | Reserve | Hold | Reject | WakeAt | Change

MODES = ("requeue", "suspend", "cancel", "timeout")

# What a value has to be: the usual type, any type, whether None will do, and how to say it.
_Wish = tuple[type, type | tuple[type, ...], bool, str]
_JOB: _Wish = (Job, Job, False, "a job, such as view.pending has")
_FOUND = "a placement, such as view.place finds for a job that fits (None: it does not fit)"
_PLACEMENT: _Wish = (Placement, Placement, False, _FOUND)
_WORDS: _Wish = (str, str, False, "a clause in words")
_REASON: _Wish = (Reason, (Reason, str), False, "a reason, or a clause in words")
_TIME: _Wish = (float, Real, False, "a time in s")
_WISHES: Mapping[type, Mapping[str, _Wish]] = {
    Start: {"job": _JOB, "placement": _PLACEMENT, "because": _REASON},
    Reserve: {
        "job": _JOB,
        "time": _TIME,
        "placement": (Placement, Placement, True, "a placement, or None"),
        "because": _REASON,
    },
    Hold: {
        "job": _JOB,
        "because": _REASON,
        "behind": (Job, Job, True, "a job, or None"),
        "blocks": (bool, bool, False, "True or False"),
    },
    Preempt: {
        "job": _JOB,
        "mode": (str, str, False, f"one of {', '.join(MODES)}"),
        "grace_s": _TIME,
        "because": _REASON,
        "behind": (Job, Job, True, "a job, or None"),
    },
    Resume: {"job": _JOB, "placement": _PLACEMENT, "because": _WORDS},
    Resize: {"job": _JOB, "placement": _PLACEMENT, "because": _WORDS},
    Reject: {"job": _JOB, "reason": _WORDS},
    WakeAt: {"time": _TIME},
}


def check_decision(decision: Decision) -> None:
    """Raise InputError, naming decision and value, if one of its values is of a kind that means nothing there."""
    kind = type(decision) if type(decision) in _WISHES else next(k for k in _WISHES if isinstance(decision, k))
    for name, (usual, wanted, optional, expected) in _WISHES[kind].items():
        value = getattr(decision, name)
        if value is None and optional:
            continue
        fits = type(value) is usual or isinstance(value, wanted)
        fits = fits and (name != "mode" or value in MODES)
        if name == "grace_s" and fits and not value >= 0.0:
            fits, expected = False, "a time in s, 0 or more"
        if not fits or (wanted is Real and value != value):  # NaN is no time
            job = getattr(decision, "job", None)
            whose = f" for job {job.job_id}" if isinstance(job, Job) else ""
            raise InputError(f"{kind.__name__}, {name}", expected, f"{value}{whose}")


@dataclass(slots=True)
class SwitchOn:
    """A power policy boots a node that is off: one, where the other decisions on nodes also take a list."""

    node: int


@dataclass(slots=True)
class SwitchOff:
    """A power policy shuts an idle node down, or several at once, which is cheaper than one by one."""

    node: int | list[int]


@dataclass(slots=True)
class Withhold:
    """A power policy takes a node out of the scheduler's reach, whatever its state; what runs on it ends first.

    Several at once are cheaper than one by one. The power policy alone brings a node back: one that withholds it should
    also say, by ``WakeAt``, when it will think again.
    """

    node: int | list[int]


@dataclass(slots=True)
class Offer:
    """A power policy gives a withheld node, or several, back to the scheduler: used again, and booted if OFF."""

    node: int | list[int]


@dataclass(slots=True)
class SetPState:
    """A power policy has a processor, by its position in the platform, run in another p-state of its type."""

    processor: int
    p_state: int


@dataclass(slots=True)
class LimitPower:
    """A power policy limits what the whole machine may draw, W: jobs whose start would exceed it cannot start.

    With ``slow``, processors are put in p-states that draw less where that makes room for a start.
    """

    watts: float
    slow: bool = False


NodeDecision = SwitchOn | SwitchOff | Withhold | Offer | SetPState | LimitPower
PowerDecision = NodeDecision | Reject | WakeAt
