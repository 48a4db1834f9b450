"""Is every stated reason for a wait true? A run watched as it goes, against what its result says of it afterwards.

At the end of each instant the machine itself is asked, for each job that waits, whether it would fit; what the result says
of that time must agree: "not enough" only where it does not fit, the free cores counted as they were, and "enough" only
where it does, for the sake of a promise to a job that waits then, at the time that was promised, or behind a job that does.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random
from typing import Any

from cluster_sim import Result, Simulation
from cluster_sim.errors import InputError, ModelWarning, SimulationError
from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.records.reasons.waiting import WaitStretch
from cluster_sim.run.decisions import Reserve
from tests.support.contract.full import BY_HAND, NotACase, disturb, full_case, may_stall
from tests.support.contract.resources import with_resources
from tests.support.contract.runs import Case

SPEAKS = ("fcfs", "sjf", "ljf", "list", "easy", "saf-easy", "conservative", "pcbe")
"""Schedulers that always give a reason when they keep back a job that fits."""
TELL_A_LOG_ONLY = ("depth=", "room=", "pcbe", "trial")
"""Parts of schedulers' specs that have several reasons, or promises, of which only a log hears which it was."""


@dataclass
class Moment:
    """What was true from one time on, until anything else happened: of each job that waits whether it fits."""

    fits: dict[str, bool]
    free: int
    most_free: int
    came: dict[str, tuple[float, int]]
    capped: set[str]


@dataclass
class Watched:
    """A run, and what was seen of it."""

    moments: dict[float, Moment] = field(default_factory=dict)
    promises: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def watch(self, simulation: Simulation) -> None:
        """Look at the machine before the clock moves, and at what is promised."""
        env, step, apply = simulation.env, simulation.env.step, simulation.apply

        def stepped() -> None:
            if env.peek() > env.now:
                self._look(simulation)
            step()

        def applied(decision: Any) -> None:
            if isinstance(decision, Reserve):
                self.promises.setdefault(decision.job.job_id, []).append((env.now, decision.time))
            apply(decision)

        env.step = stepped  # type: ignore[method-assign]
        simulation.apply = applied

    def _look(self, simulation: Simulation) -> None:
        machine, memory = simulation.machine, simulation.view.planning.counts_memory
        free = [
            cores
            for cores, on, off in zip(
                machine.cores.free.tolist(), machine.nodes.is_on.tolist(), machine.nodes.is_off.tolist(), strict=True
            )
            if on or off
        ]
        pending = simulation.view.pending
        self.moments[simulation.env.now] = Moment(
            {job.job_id: machine.cores.place(job, None, memory) is not None for job in pending},
            sum(free),
            max(free, default=0),
            {job.job_id: (job.submit_time, job.index) for job in pending},
            {job.job_id for job in machine.budget.refused.values()},
        )


def watched(case: Case, guests: int = 0, explain: bool = True) -> tuple[Result, Watched]:
    """Make the run of a case, with some guests beside it. Raises NotACase if there is none."""
    simulation = replace(case, options={**case.options, "explain": explain}).simulation(case.scheduler)
    seen = Watched()
    seen.watch(simulation)
    if case.orders:
        simulation.env.process(disturb(simulation, case.orders))
    for number in range(guests):
        simulation.env.process(_guest(simulation, Random(number), f"guest{number}"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            return simulation.run(), seen
    except InputError as error:
        if str(error).startswith("power cap:"):
            raise NotACase(str(error)) from None
        raise
    except SimulationError as error:
        if may_stall(case) and "jobs wait and none runs" in str(error):
            raise NotACase(str(error)) from None
        raise


def _guest(simulation: Simulation, random: Random, owner: str) -> Generator[Any, Any, None]:
    """Comes some time, asks a node for cores or memory, and stays longer or shorter than it said, if it said."""
    yield simulation.env.timeout(random.choice([0.0, 1.0, 2.5]))
    number = random.randrange(simulation.platform.node_count)
    cores = random.randint(0, int(simulation.platform.node_cores[number]))
    says = random.choice([None, 1.0, 4.0])
    with simulation.node(number).request(cores, 0.0 if cores else 0.5, owner, expected_s=says) as held:
        yield held | simulation.env.timeout(20.0)
        yield simulation.env.timeout(random.choice([1.0, 3.0, 9.0]))


# ---------------------------------------------------------------------- what must hold


def check(case: Case, result: Result, seen: Watched, explained: int = 1) -> Counter[str]:
    """Check that each stretch of each wait says what was so, and count the stretches by kind. Raises AssertionError.

    Every job's wait is looked at, and one job in ``explained`` is put into words.
    """
    counts: Counter[str] = Counter()
    horizon = float(result.power["time"].iloc[-1])
    waits, times = _waits(result, horizon), list(seen.moments)
    for number, (job, since, until) in enumerate(waits):
        found = result.waits.stretches(job, since, until)
        assert [found[0].start, found[-1].end] == [since, until], f"job {job}: not its whole wait"
        assert all(one.end == other.start for one, other in pairwise(found)), f"job {job}: a gap"
        for stretch in found:
            if stretch.reason.kind is ReasonKind.NOT_RECORDED:
                assert stretch.start >= horizon
                continue
            counts[_kind(stretch.reason)] += 1
            counts["stretches"] += 1
            for time in times[bisect_left(times, stretch.start) : bisect_left(times, stretch.end)]:
                moment = seen.moments[time]
                if job in moment.fits:
                    counts["looks"] += 1
                    _check_moment(case, job, stretch, time, moment, seen)
        row = result.waits.history.row_of[job]
        for start, reason, _ in result.waits.each(row, since, until):
            if start in seen.moments and job in seen.moments[start].fits:
                _check_numbers(reason, seen.moments[start])
        if number % explained == 0:
            result.explain(job)
    return counts


def _waits(result: Result, horizon: float) -> list[tuple[str, float, float]]:
    """Return for each job when it waited."""
    found = []
    for row, job in enumerate(result.jobs["job_id"].tolist()):
        for since, until in result.waits._spans(row):
            until = min(until, max(horizon, since)) if math.isinf(until) else until
            if until > since:
                found.append((job, since, until))
    return found


def _kind(reason: Reason) -> str:
    if reason.lacks:
        return "short"
    if reason.kind in (ReasonKind.NOT_LOGGED, ReasonKind.NO_REASON):
        return "no reason"
    if reason.kind in (ReasonKind.DELAYS_PROMISED, ReasonKind.DELAYS_ONE_OF):
        return "delays"
    return "behind" if reason.behind else "the scheduler's own"


def _check_moment(case: Case, job: str, stretch: WaitStretch, time: float, moment: Moment, seen: Watched) -> None:
    what, reason = f"job {job} at {time:g} s: {stretch.because!r}", stretch.reason
    assert reason.lacks != moment.fits[job], f"{what}, but it {'fits' if moment.fits[job] else 'does not fit'}"
    if reason.lacks:
        _check_earlier(job, stretch, moment, what)
    if reason.behind:
        assert reason.behind in moment.fits, f"{what}, but job {reason.behind} does not wait then"
        assert reason.behind != job, what
    for other in reason.one_of:
        assert other in moment.fits, f"{what}, but job {other} does not wait then"
        assert other != job, what
        assert any(at <= time for at, _ in seen.promises[other]), f"{what}, but job {other} was promised nothing"
    if reason.kind is ReasonKind.DELAYS_PROMISED:
        given = [promised for at, promised in seen.promises[reason.behind] if at <= time]
        assert given[-1] == reason.promised, f"{what}, but {given[-1]:g} s was promised"
    if reason.kind is ReasonKind.CAPPED:
        assert "power-cap" in (case.power or ""), what
    if case.scheduler.partition(":")[0] in SPEAKS:
        assert reason.kind is not ReasonKind.NO_REASON, f"{what}, {case.scheduler}"
        if not any(option in case.scheduler for option in TELL_A_LOG_ONLY):
            assert reason.kind is not ReasonKind.NOT_LOGGED, f"{what}, {case.scheduler}"
        assert reason.kind is not ReasonKind.DELAYS, f"{what}, {case.scheduler}"  # a job that is not named


def _check_earlier(job: str, stretch: WaitStretch, moment: Moment, what: str) -> None:
    """The jobs submitted before it that wait, too."""
    mine, (least, most) = moment.came[job], stretch.earlier
    earlier = sum(came < mine for came in moment.came.values())
    assert least <= earlier <= most, f"{what}, {earlier} jobs submitted before it wait, not {least} to {most}"


def _check_numbers(reason: Reason, moment: Moment) -> None:
    """The free cores that a reason counts, where it counts those of all nodes."""
    if reason.which:
        return
    if reason.kind is ReasonKind.CORES:
        assert reason.found == moment.free < reason.asks, str(reason)
    elif reason.kind is ReasonKind.ONE_NODE:
        assert reason.found == moment.most_free, str(reason)


def checked(
    seed: int, guests: bool = True, schedulers: tuple[str, ...] = (), explain: bool = True, gpus: bool = False
) -> Counter[str]:
    """Draw a case by its seed, run and check it, with a log of decisions or without. Raises NotACase if there is no run.

    With ``gpus`` its nodes have counted resources, and its jobs ask for them.
    """
    case = full_case(seed, schedulers)
    if gpus:
        case = with_resources(Random(seed), case)
    if case.scheduler == BY_HAND:
        raise NotACase("no scheduler")
    count = Random(seed).choice([0, 0, 1, 3]) if guests else 0
    result, seen = watched(case, count, explain)
    counts = check(case, result, seen) + Counter({"runs": 1})
    if not explain and any(result.conditions.promises if result.conditions else ()):
        _check_with_log(result, seen, watched(replace(case), count)[0])
    return counts


def _check_with_log(result: Result, seen: Watched, logged: Result) -> None:
    """Where several jobs have promises, a log of the same run knows which one a job would delay: it is one of those named."""
    horizon = float(result.power["time"].iloc[-1])
    for job, since, until in _waits(result, horizon):
        row = result.waits.history.row_of[job]
        known = {start: reason for start, reason, _ in logged.waits.each(row, since, until)}
        for start, reason, _ in result.waits.each(row, since, until):
            named = {*reason.one_of, reason.behind} - {""}
            if not (named or reason.kind is ReasonKind.NO_EARLIER) or start not in known or start not in seen.moments:
                continue
            why = known[start]
            what = f"job {job} at {start:g} s: {reason}, but with a log: {why}"
            assert (why.behind in named) if why.behind else (not named and why.kind is reason.kind), what
