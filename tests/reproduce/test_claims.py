"""Verdicts: what counts as reproduced, and that the logic can fail."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.reproduce.claims import (
    HOLDS,
    PRINTED,
    RANGE,
    Claim,
    Tolerance,
    Verdict,
    at_least,
    judge,
    last_place,
    points,
    relative,
)
from cluster_sim.errors import InputError


def verdict(published: str, measured: float | bool, tolerance: Tolerance) -> Verdict:
    """Of a claim about one value."""
    return judge(Claim("k", "what", published, "J", "Table 1", "v", tolerance), {"v": measured}).verdict


@pytest.mark.parametrize(
    ("published", "measured", "tolerance", "agrees"),
    [
        ("187.86", 187.8623, PRINTED, True),  # rounded
        ("189.57", 189.5796, PRINTED, True),  # cut off
        ("187.86", 187.871, PRINTED, False),
        ("1.61e9", 1.608e9, PRINTED, True),
        ("1.61e9", 1.63e9, PRINTED, False),
        ("320", 321.0, PRINTED, True),
        ("320", 314.2, PRINTED, False),
        ("320", 314.2, relative(0.05), True),
        ("320", 250.0, relative(0.05), False),
        ("7", 6.386, points(1.0), True),
        ("7", 4.388, points(1.0), False),
        ("-12.5", -13.0, points(1.0), True),
        ("0.61..0.65", 0.63, RANGE, True),
        ("0.61..0.65", 0.66, RANGE, False),
        ("20.2", 25.0, at_least(2.0), True),
        ("20.2", 18.3, at_least(2.0), True),
        ("20.2", 18.1, at_least(2.0), False),
        ("yes", True, HOLDS, True),
        ("yes", False, HOLDS, False),
        ("7", math.nan, points(1e9), False),
    ],
)
def test_verdicts(published: str, measured: float | bool, tolerance: Tolerance, agrees: bool) -> None:
    """Each tolerance accepts what is near enough, and nothing else."""
    assert verdict(published, measured, tolerance) == (Verdict.REPRODUCED if agrees else Verdict.NOT_REPRODUCED)


@pytest.mark.parametrize(
    ("text", "worth"),
    [("187.86", 0.01), ("1.61e9", 1e7), ("320", 1.0), ("1.5057e9", 1e5), ("-0.35", 0.01), ("1.0", 0.1)],
)
def test_the_last_digit(text: str, worth: float) -> None:
    """What one unit of the last digit printed is worth."""
    assert last_place(text) == pytest.approx(worth)


@given(st.floats(-1e6, 1e6), st.integers(0, 4))
def test_a_number_printed_to_any_digit_is_reproduced_by_itself(value: float, digits: int) -> None:
    """However many digits are printed; and not by what differs by two units of the last."""
    printed = f"{value:.{digits}f}"
    assert verdict(printed, value, PRINTED) == Verdict.REPRODUCED
    assert verdict(printed, float(printed) + 2.01 * 10.0**-digits, PRINTED) == Verdict.NOT_REPRODUCED


def test_what_cannot_be_checked_is_no_failure() -> None:
    """It is not reproducible and says why, with what was measured in its place, if anything."""
    claim = Claim("k", "what", "12", "W", "Fig. 1", "v", impossible=True, reason="not public")
    assert judge(claim, {"v": 99.0}).verdict == Verdict.NOT_REPRODUCIBLE
    assert judge(claim, {"v": 99.0}).difference == 87.0
    assert judge(claim, {}).verdict == Verdict.NOT_REPRODUCIBLE
    assert judge(claim, {}).why == "not public"


def test_an_absent_value_says_why() -> None:
    """By the longest beginning of its name."""
    claim = Claim("k", "what", "12", "W", "Fig. 1", "agent/edp/min")
    judged = judge(claim, {}, {"agent/": "no agents", "agent/edp/": "no agent for EDP"})
    assert (judged.verdict, judged.why, judged.measured) == (Verdict.NOT_RUN, "no agent for EDP", None)
    assert judge(claim, {}).why == "nothing measured 'agent/edp/min'"


def test_a_published_value_that_is_no_number_is_told() -> None:
    """In one line."""
    with pytest.raises(InputError, match="published value: expected a number, found 12 W"):
        verdict("12 W", 12.0, PRINTED)
