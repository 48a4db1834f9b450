"""A schedule does not depend on the unit of time: the same jobs in tenths, minutes or milliseconds start alike."""

from __future__ import annotations

import math
from random import Random

import pytest

from tests.support.contract.units import SCHEDULERS, draw

FACTORS = (10, 60, 1000)
CASES = 5


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_all_times_longer_by_a_factor_give_the_same_schedule(scheduler: str) -> None:
    """Whole milliseconds, in other units: the same jobs start in the same order, on the same cores, at the same time."""
    for number in range(CASES):
        case = draw(Random(f"unit/{scheduler}/{number}"), scheduler)
        plain = case.schedule(1)
        for factor in FACTORS:
            scaled = case.schedule(factor)
            assert [start[1:] for start in scaled] == [start[1:] for start in plain], (number, factor, case)
            times, expected = [start[0] for start in scaled], [start[0] for start in plain]
            assert times == pytest.approx(expected, rel=1e-9, abs=0.0, nan_ok=True), (number, factor, case)
            assert all(math.isfinite(time) for time in times)
