"""The availability profile: what will be free, from now on, as a step function of time."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from cluster_sim.engine import SAME_INSTANT

if TYPE_CHECKING:
    import numpy.typing as npt


Amount = Union[int, "npt.NDArray[Any]"]
"""Cores, or cores of each node, shape (nodes,), or these and MB of each node, shape (2·nodes,)."""


class AvailabilityProfile:
    """Steps of what is free: ``free[i]`` in ``[times[i], times[i + 1])``, the last one for ever.

    An amount is a number of cores, shape (), or one number for each node, shape (nodes,); the profile's own shape, and
    whether it counts in whole numbers, is given by what is free at first. The end of a length is
    computed as the simulation does it, ``start + length``. So what ends and what begins at one instant are at one step.

    Taking may leave less than nothing free (a job that outlives its request while another was promised its cores):
    then the owner of the profile has to plan anew.
    """

    def __init__(self, now: float, free: Amount):
        first = np.asarray(free)
        # A list of times is searched and added to faster than an array; what is free is compared all at once.
        self._times = [now]
        self._free = np.zeros((16, *first.shape), np.float64 if first.dtype.kind == "f" else np.int64)
        self._free[0] = first

    @property
    def times(self) -> npt.NDArray[np.float64]:
        """Return when each step begins, s, ascending; shape (steps,)."""
        return np.array(self._times)

    @property
    def free(self) -> npt.NDArray[Any]:
        """Return what is free in each step; shape (steps,) or (steps, nodes)."""
        return self._free[: len(self._times)]

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self._times)

    # ------------------------------------------------------------------ changing it

    def advance(self, now: float) -> None:
        """Forget what lies before ``now``."""
        passed = bisect_right(self._times, now * SAME_INSTANT) - 1
        if passed > 0:
            steps = len(self._times)
            self._free[: steps - passed] = self._free[passed:steps]
            del self._times[:passed]
        self._times[0] = max(now, self._times[0])

    def take(self, start: float, end: float, amount: Amount) -> None:
        """Use an amount from ``start`` (not before the profile begins) to ``end``, which may be inf."""
        first, stop = self._step_at(start), self._step_at(end)
        self._free[first:stop] -= amount

    def give(self, start: float, end: float, amount: Amount) -> None:
        """Give an amount back."""
        first, stop = self._step_at(start), self._step_at(end)
        self._free[first:stop] += amount

    def cut(self, time: float) -> None:
        """Have a step begin at ``time``: something else than what is free changes then."""
        self._step_at(time)

    def release(self, time: float, amount: Amount) -> None:
        """Add an amount that becomes free at ``time`` and stays so."""
        self.give(time, math.inf, amount)

    def join_equal_steps(self) -> None:
        """Make one step of neighbours with the same free: what was taken and given back leaves such."""
        changes = np.diff(self.free, axis=0) != 0
        kept = np.flatnonzero(np.append(True, changes if changes.ndim == 1 else changes.any(axis=1)))
        self._free[: len(kept)] = self._free[kept]
        self._times = [self._times[step] for step in kept.tolist()]

    def _step_at(self, time: float) -> int:
        """Return the step that begins at ``time``; cut a step in two if there is none."""
        times = self._times
        steps = len(times)
        if time == math.inf:
            return steps
        step = bisect_left(times, time / SAME_INSTANT)
        if step == steps or times[step] > time * SAME_INSTANT:
            if step == 0:
                return 0  # before the profile begins
            if steps == len(self._free):
                self._free = np.concatenate([self._free, np.zeros_like(self._free)])
            self._free[step + 1 : steps + 1] = self._free[step:steps]
            self._free[step] = self._free[step - 1]
            times.insert(step, time)
        return step

    # ------------------------------------------------------------------ asking it

    def least(self, start: float, end: float) -> npt.NDArray[Any]:
        """Return what is free all the time from ``start`` to ``end``; shape () or (nodes,)."""
        first = max(bisect_right(self._times, start * SAME_INSTANT) - 1, 0)
        stop = max(bisect_left(self._times, end / SAME_INSTANT), first + 1)
        return self.free[first:stop].min(axis=0)  # type: ignore[no-any-return]

    def least_until(self, ends: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return what is free all the time from now to each of the ends, shape (ends,), for a profile of one number."""
        so_far = np.minimum.accumulate(self.free)
        return so_far[np.maximum(self.times.searchsorted(ends / SAME_INSTANT) - 1, 0)]

    def most_before(self, times: npt.NDArray[np.float64], amounts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the most of an amount of each step at any moment before each of the times; shape (times,)."""
        so_far = np.maximum.accumulate(amounts)
        return so_far[np.maximum(self.times.searchsorted(times) - 1, 0)]

    def earliest(self, amount: int, length: float, before: float = math.inf) -> float:
        """Return the first time from which an amount is free for ``length`` s, or inf, for a profile of one number.

        With ``before``, the first such time before that one, if the amount is free until then: from then on the
        caller holds it already, and asks whether it can begin earlier.
        """
        times = self._times
        stop = len(times) if before == math.inf else bisect_left(times, before / SAME_INSTANT)
        enough = (self._free[:stop] >= amount).tobytes()  # a byte for each step, 1 where there is enough
        first = enough.find(1)
        while first >= 0:
            end = enough.find(0, first)
            if end < 0 or times[first] + length <= times[end] * SAME_INSTANT:
                return times[first]
            first = enough.find(1, end)
        return math.inf

    def __repr__(self) -> str:
        steps = ", ".join(f"{time:g}: {free}" for time, free in zip(self.times, self.free.tolist(), strict=True))
        return f"AvailabilityProfile({steps})"
