"""Jobs in parts, and when they make checkpoints: what the columns ``parts`` and ``checkpoint_interval`` say.

Between two parts the number of a job's cores may change. Parts are equal, ``10`` of them, or shares of the work, ``1 2 1``;
a share that is not the first may say on how many cores the job asks to do it, ``1 2@8 1@4``: an evolving job.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from cluster_sim.errors import InputError

MOST_PARTS = 100_000
MOST_CHECKPOINTS = 100_000
"""Checkpoints that a job may make in its work: each is an event, and more would keep a run busy for hours."""
LEAST_INTERVAL_S = 0.001
"""Seconds between checkpoints, as between two decisions of a power policy."""
YOUNG, DALY = "young", "daly"


class Part(NamedTuple):
    """A part of a job's work."""

    share: float  #: Of the whole work.
    cores: int  #: That the job asks for when it gets there; 0: it asks for nothing.


@lru_cache(maxsize=1024)
def parse_parts(text: str) -> tuple[Part, ...]:
    """Return the parts; their shares add up to 1.

    Raises InputError for a text that is neither a number nor a list of shares, and for cores that the first part asks for.
    """
    words = text.split()
    if not words:
        return (Part(1.0, 0),)
    if len(words) == 1 and "@" not in text:
        count = int(words[0]) if words[0].isascii() and words[0].isdigit() and len(words[0]) < 9 else 0
        if not 1 <= count <= MOST_PARTS:
            raise _refused(text)
        return (Part(1.0 / count, 0),) * count
    try:
        pairs = [
            (float(share), int(cores) if at else 0) for share, at, cores in (word.partition("@") for word in words)
        ]
    except ValueError:
        raise _refused(text) from None
    total = sum(share for share, _ in pairs)
    good = len(pairs) <= MOST_PARTS and all(share > 0.0 and cores >= 0 for share, cores in pairs)
    if not good or not total < math.inf:
        raise _refused(text)
    if pairs[0][1]:
        raise InputError("parts", "a first part without @, as a job starts on its requested_cores", text)
    return tuple(Part(share / total, cores) for share, cores in pairs)


def _refused(text: str) -> InputError:
    return InputError("parts", f"a number from 1 to {MOST_PARTS:,}, or shares above 0 such as '1 2@8 1@4'", text)


@lru_cache(maxsize=1024)
def parse_interval(text: str) -> float | str | None:
    """Return seconds of work between checkpoints, or :data:`YOUNG` or :data:`DALY`.

    None: no checkpoints. Raises InputError.
    """
    if text in ("", YOUNG, DALY):
        return text or None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not LEAST_INTERVAL_S <= seconds < math.inf:
        expected = f"a time of at least {LEAST_INTERVAL_S:g} s, {YOUNG}, {DALY}, or nothing"
        raise InputError("checkpoint_interval", expected, text)
    return seconds


def checkpoints_in(work_s: float, interval_s: float, growth: float) -> float:
    """Return how many checkpoints a job makes in ``work_s`` of work, each interval ``growth`` (>= 1) times the last."""
    intervals = work_s / interval_s
    return intervals if growth <= 1.0 else math.log1p(intervals * (growth - 1.0)) / math.log(growth)


def optimum_interval(rule: str, checkpoint_s: float, mtbf_s: float) -> float:
    """Return the interval between checkpoints that loses least, s; failures are exponential with a mean of ``mtbf_s``.

    Young (1974), or Daly (2006, Eq. 37), which agree where a checkpoint takes next to no time.
    """
    young = math.sqrt(2.0 * checkpoint_s * mtbf_s)
    if rule == YOUNG:
        return young
    if checkpoint_s >= 2.0 * mtbf_s:
        return mtbf_s
    x = checkpoint_s / (2.0 * mtbf_s)
    return young * (1.0 + math.sqrt(x) / 3.0 + x / 9.0) - checkpoint_s
