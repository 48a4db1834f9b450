"""Run-time estimates as users give them: few, round, and far too long (Tsafrir, Etsion and Feitelson 2005).

The model makes a *distribution* of estimates for a number of jobs and a longest estimate M, then deals it to the jobs:

1. *How many values.* K different estimates; K grows with the number of jobs along a broken line.
2. *The head*: 20 popular values, of 89 % of the jobs. M itself, the 15 values that all four logs of the study have in
   common (5 minutes to 18 hours), and round values below M. The popularity of rank r = 2 … 20 is
   ``14.0491·exp(-0.177531·r) + 0.462513`` percent; rank 1, the rest of the 89 %, is M's. Which value has which rank is
   drawn from the ranks that values in that place had in the four logs.
3. *The tail*: K - 20 values ``M·(a - 1)·x / (a - x)``, x = 1/(K-20) … 1, ``a = 1 + 12.1039·K^-0.6026``, on whole
   minutes; shares proportional to ``rank^-2.267``, in random order, 11 % together.
4. *Dealing.* Jobs by falling run time each draw one of the estimates left that are not below their run time. Where
   few jobs leave too few long estimates (the authors ask for some 500 jobs), up to 5 % of the jobs get M instead.

Constants, tables and the dealing are those of the authors' paper "Modeling user runtime estimates" (JSSPP 2005) and of
their program. The values that a user of that program may prescribe are left out.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from cluster_sim.errors import InputError

HEAD_VALUES = 20
HEAD_PERCENT = 89.0
SHORTEST_MAXIMUM_S = 3600.0
MOST_LENGTHENED = 0.05

_HEAD_SIZE = (14.0491, -0.177531, 0.462513)
_TAIL_EXPONENT = -2.267
_TAIL_TIMES = (12.1039, -0.6026)
_VALUES_BY_JOBS = ((0, 0), (20, 10), (200, 20), (1_000, 35), (10_000, 90), (70_000, 340), (250_000, 565))

_MINUTE, _HOUR = 60, 3600
_COMMON = tuple(m * _MINUTE for m in (5, 10, 15, 20, 30)) + tuple(h * _HOUR for h in (1, 2, 3, 4, 5, 6, 8, 10, 12, 18))
_ROUND = tuple(h * _HOUR for h in (200, 100, 50, 10, 5, 2, 1)) + tuple(m * _MINUTE for m in (20, 10, 5))
_OFFSETS_S = (0, 30, -30, 20, -20, 10, -10)

# Popularity rank in four logs (SDSC-SP2, CTC-SP2, KTH-SP2, SDSC-Blue) of the longest of the 20 popular values (first
# row), and of the others from the shortest on.
_RANKS = (
    (3, 1, 1, 1), (1, 3, 4, 6), (4, 4, 10, 5), (17, 2, 14, 3), (13, 12, 20, 7), (7, 9, 2, 2), (8, 8, 3, 18),
    (18, 18, 7, 19), (2, 6, 12, 4), (6, 7, 6, 11), (16, 11, 19, 20), (10, 20, 5, 9), (5, 16, 18, 10), (15, 5, 16, 14),
    (14, 14, 9, 13), (19, 13, 17, 16), (11, 10, 15, 15), (12, 15, 13, 17), (9, 17, 8, 8), (20, 19, 11, 12),
)  # fmt: skip


def tsafrir_estimates(
    run_times: npt.ArrayLike, rng: np.random.Generator, longest_s: float | None = None
) -> npt.NDArray[np.float64]:
    """Return estimates (s) for jobs of these run times (s), none below its run time; shape as ``run_times``.

    ``longest_s`` is the longest that users may ask for, at least an hour; by default the longest run time, rounded up
    to whole hours. Raises InputError when a run time is longer, or when so many jobs are long that the model has not
    nearly enough estimates for them (a larger ``longest_s`` helps).
    """
    times = np.asarray(run_times, dtype=np.float64)
    if not len(times):
        return times.copy()
    if longest_s is None:
        longest_s = max(SHORTEST_MAXIMUM_S, math.ceil(times.max() / _HOUR) * _HOUR)
    if not SHORTEST_MAXIMUM_S <= longest_s < math.inf:
        raise InputError("estimates, longest_s", f"at least {SHORTEST_MAXIMUM_S:g} s", longest_s)
    if times.max() > longest_s:
        raise InputError("estimates, longest_s", f"at least the longest run time, {times.max():g} s", longest_s)
    values, counts = estimate_distribution(len(times), longest_s, rng)
    # Deal the estimates (falling, one per job) at random: none may be below its job's run time.
    estimates = np.repeat(values, counts)
    longest_first = np.argsort(-times, kind="stable")
    falling = times[longest_first]
    too_short = falling > estimates
    if too_short.sum() > MOST_LENGTHENED * len(times) + 5:
        job = int(too_short.argmax())
        raise InputError(
            "estimates, longest_s",
            f"a larger one: {int((times >= falling[job]).sum())} jobs run {falling[job]:g} s or longer",
            f"{int((estimates >= falling[job]).sum())} estimates that long",
        )
    estimates = np.concatenate((np.full(too_short.sum(), estimates[0]), estimates[~too_short]))
    # Of the estimates that are long enough for job i, i are dealt; one of the others is drawn, and job i's own place
    # in the order takes the drawn one's, which only later and shorter jobs can meet.
    enough = np.searchsorted(-estimates, -falling, side="right")
    left = estimates.tolist()
    dealt = np.empty(len(times))
    for i, (limit, draw) in enumerate(zip(enough.tolist(), rng.random(len(times)).tolist(), strict=True)):
        k = i + int(draw * (limit - i))
        dealt[longest_first[i]] = left[k]
        left[k] = left[i]
    return dealt


def estimate_distribution(
    jobs: int, longest_s: float, rng: np.random.Generator
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return estimates (s, falling) and how many of ``jobs`` jobs have each (the counts sum up to ``jobs``)."""
    head = popular_values(int(longest_s))
    # Percent of the jobs by popularity rank; rank 1 has what the others leave of the 89 %.
    a, b, c = _HEAD_SIZE
    others = a * np.exp(b * np.arange(2, len(head) + 1)) + c
    head_percent = np.concatenate(([HEAD_PERCENT - others.sum()], others))
    share_of = dict(zip(head, head_percent[_head_ranks(rng)[: len(head)].argsort().argsort()], strict=True))
    known_jobs, known_values = zip(*_VALUES_BY_JOBS, strict=True)
    tail = _tail_values(round(float(np.interp(jobs, known_jobs, known_values))), longest_s, set(head))
    if len(tail):
        sizes = np.arange(HEAD_VALUES + 1, HEAD_VALUES + 1 + len(tail), dtype=np.float64) ** _TAIL_EXPONENT
        sizes *= (100.0 - HEAD_PERCENT) / sizes.sum()
        share_of.update(zip(tail, rng.permutation(sizes), strict=True))
    values = np.array(sorted(share_of, reverse=True), dtype=np.float64)
    percent = np.array([share_of[value] for value in sorted(share_of, reverse=True)])
    # The largest remainders are rounded up, so that the counts sum up to `jobs`.
    exact = percent / percent.sum() * jobs
    counts = np.floor(exact).astype(np.int64)
    missing = jobs - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return values, counts


def popular_values(longest_s: int) -> list[int]:
    """Return the popular estimates (s), at most 20: the longest first, then the others, rising."""
    others = [value for value in _COMMON if value < longest_s]
    for unit in _ROUND:
        for value in range(longest_s // unit * unit, 0, -unit):
            if len(others) == HEAD_VALUES - 1:
                return [longest_s, *sorted(others)]
            if value not in others and value != longest_s:
                others.append(value)
    return [longest_s, *sorted(others)]


def _head_ranks(rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw a popularity rank (from 1) for each place among the popular values, as the study's logs have them.

    The longest value is the most popular. A rank that no log has at a later place is due and goes first; otherwise the
    better of two draws from the ranks that the logs have up to this place.
    """
    last_place = {rank: place for place, ranks in enumerate(_RANKS) for rank in ranks}
    chosen = [1]
    pool: list[int] = list(_RANKS[0])
    for place in range(1, HEAD_VALUES):
        pool = [rank for rank in [*pool, *_RANKS[place]] if rank not in chosen]
        due = [rank for rank in range(1, HEAD_VALUES + 1) if last_place[rank] <= place and rank not in chosen]
        chosen.append(due[0] if due else min(pool[i] for i in rng.integers(len(pool), size=2)))
    return np.array(chosen, dtype=np.int64)


def _tail_values(number: int, longest_s: float, head: set[int]) -> list[int]:
    """Return the unpopular estimates (s) of ``number`` in all, on whole minutes, or beside one that is taken."""
    count = number - len(head)
    if count < 1:
        return []
    p, q = _TAIL_TIMES
    a = 1.0 + p * float(number) ** q
    x = np.arange(1, count + 1) / count
    minutes = np.rint((a - 1.0) * x / (a - x) * longest_s / _MINUTE).astype(int) * _MINUTE
    values: list[int] = []
    used = set(head)
    for value in minutes.tolist():
        free = [value + offset for offset in _OFFSETS_S if value + offset not in used]
        fits = [candidate for candidate in free if 0 < candidate < longest_s]
        if fits:
            values.append(fits[0])
            used.add(fits[0])
    return values
