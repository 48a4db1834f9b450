"""Verdicts: what counts as reproduced, and that the logic can fail."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.reproduce.claims import (
    AMONG,
    AT_LEAST,
    HOLDS,
    MORE,
    PRINTED,
    RANGE,
    VERDICTS,
    Claim,
    ClaimVerdict,
    Kind,
    Tolerance,
    judge,
    last_place,
    of_runs,
    points,
    rank_correlation,
    relative,
)
from cluster_sim.errors import InputError


def verdict(published: str, measured: float | bool, tolerance: Tolerance) -> ClaimVerdict:
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
        ("20.2", 25.0, AT_LEAST, True),
        ("20.2", 20.1, AT_LEAST, False),
        ("20.2", 20.4, MORE, True),
        ("20.2", 20.25, MORE, False),
        ("-19.52", -6.6, of_runs("-61.58", "3.37"), True),  # 64.95 / 5.015 = 12.95
        ("-19.52", -6.5, of_runs("-61.58", "3.37"), False),
        ("-19.52", -32.5, of_runs("-61.58", "3.37"), False),
        ("26.01", 26.02, of_runs("26.00", "26.02"), True),  # never less than the last digit
        ("26.01", 26.03, of_runs("26.00", "26.02"), False),
        ("yes", True, HOLDS, True),
        ("yes", False, HOLDS, False),
        ("7", math.nan, points(1e9), False),
    ],
)
def test_verdicts(published: str, measured: float | bool, tolerance: Tolerance, agrees: bool) -> None:
    """Each tolerance accepts what is near enough, and nothing else."""
    assert verdict(published, measured, tolerance) == (
        ClaimVerdict.REPRODUCED if agrees else ClaimVerdict.NOT_REPRODUCED
    )


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
    assert verdict(printed, value, PRINTED) == ClaimVerdict.REPRODUCED
    assert verdict(printed, float(printed) + 2.01 * 10.0**-digits, PRINTED) == ClaimVerdict.NOT_REPRODUCED


AGENT = Claim(
    "k", "what", "10", "%", "Table 1", "a", points(1.0), controls={"untrained": "u", "random play": "r"}, unseen="n"
)


@pytest.mark.parametrize(
    ("agent", "untrained", "random", "expected"),
    [
        ([9.0, 10.5, 30.0], [0.0, 8.9], [2.0], ClaimVerdict.REPRODUCED),  # the median training counts
        ([9.0, 10.5, 30.0], [0.0, 9.1], [2.0], ClaimVerdict.NOT_DISCRIMINATING),  # one untrained agent of two
        ([9.0, 10.5, 30.0], [0.0, 8.9], [11.0], ClaimVerdict.NOT_DISCRIMINATING),
        ([9.0, 12.5, 30.0], [0.0, 10.0], [10.0], ClaimVerdict.NOT_REPRODUCED),  # whatever the controls do
        ([9.0, 10.5, 30.0], [0.0], [], ClaimVerdict.REPRODUCED),  # a control that there is not, such as a teacher
    ],
)
def test_a_control_that_passes_takes_the_verdict_away(
    agent: list[float], untrained: list[float], random: list[float], expected: ClaimVerdict
) -> None:
    """What has learned nothing and agrees with the paper too makes the agreement say nothing."""
    judged = judge(AGENT, {"a": agent, "u": untrained, "r": random, "n": [10.0, 20.0]})
    assert judged.verdict is expected
    assert judged.several == tuple(agent)
    assert judged.unseen is not None
    assert judged.unseen.agreeing == 1


@pytest.mark.parametrize(
    ("published", "control", "expected", "beyond"),
    [
        ("3.4", [5.0, 6.0], ClaimVerdict.REPRODUCED, 1),
        ("3.4", [3.0, 6.0], ClaimVerdict.NOT_DISCRIMINATING, 1),  # between the control's values, though none is near
        ("4.1", [5.0, 6.0], ClaimVerdict.NOT_REPRODUCED, 0),
        ("2.9", [5.0, 6.0], ClaimVerdict.NOT_REPRODUCED, 0),
    ],
)
def test_a_number_among_several(published: str, control: list[float], expected: ClaimVerdict, beyond: int) -> None:
    """A printed number of many runs is compared with all hundreds of runs together, and so is its control."""
    claim = Claim("k", "what", published, "%", "Table 1", "x", AMONG, controls={"random play": "y"})
    judged = judge(claim, {"x": [3.0, 3.3, 4.0], "y": control})
    assert (judged.verdict, judged.why) == (expected, f"{beyond} of 3 lie as far out")


def test_an_agent_without_its_controls_has_no_verdict() -> None:
    """It is not run, and says which control is missing."""
    judged = judge(AGENT, {"a": [10.0], "u": [0.0], "n": [0.0]})
    assert (judged.verdict, judged.why) == (ClaimVerdict.NOT_RUN, "nothing measured 'r'")


@pytest.mark.parametrize("measured", [10.0, 20.0])
def test_what_was_cut_short_has_no_verdict(measured: float) -> None:
    """Neither where it agrees nor where it does not."""
    claim = Claim("k", "what", "10", "%", "Table 1", "agent/x", points(1.0))
    judged = judge(claim, {"agent/x": measured}, curtailed={"agent/": "two iterations"})
    assert (judged.verdict, judged.why) == (ClaimVerdict.NOT_RUN, "two iterations")


@pytest.mark.parametrize("kind", Kind)
def test_only_claims_of_the_paper_are_reproduced(kind: Kind) -> None:
    """Each kind has verdicts of its own."""
    claim = Claim("k", "what", "10", "%", "Table 1", "v", points(1.0), kind=kind)
    assert (judge(claim, {"v": 10.0}).verdict, judge(claim, {"v": 20.0}).verdict) == VERDICTS[kind]
    assert (judge(claim, {"v": 10.0}).verdict is ClaimVerdict.REPRODUCED) == (kind is Kind.PAPER)


def test_what_cannot_be_checked_is_no_failure() -> None:
    """It is not reproducible and says why, with what was measured in its place, if anything."""
    claim = Claim("k", "what", "12", "W", "Fig. 1", "v", impossible=True, reason="not public")
    assert judge(claim, {"v": 99.0}).verdict == ClaimVerdict.NOT_REPRODUCIBLE
    assert judge(claim, {"v": 99.0}).difference == 87.0
    assert judge(claim, {}).verdict == ClaimVerdict.NOT_REPRODUCIBLE
    assert judge(claim, {}).why == "not public"


def test_an_absent_value_says_why() -> None:
    """By the longest beginning of its name."""
    claim = Claim("k", "what", "12", "W", "Fig. 1", "agent/edp/min")
    judged = judge(claim, {}, {"agent/": "no agents", "agent/edp/": "no agent for EDP"})
    assert (judged.verdict, judged.why, judged.measured) == (ClaimVerdict.NOT_RUN, "no agent for EDP", None)
    assert judge(claim, {}).why == "nothing measured 'agent/edp/min'"


def test_a_published_value_that_is_no_number_is_told() -> None:
    """In one line."""
    with pytest.raises(InputError, match="published value: expected a number, found 12 W"):
        verdict("12 W", 12.0, PRINTED)


def test_rank_correlation_is_spearmans() -> None:
    """With ties, which have the mean of their ranks, as scipy has it; ranks alone count, not values."""
    first, second = [3.0, 1.0, 2.0, 2.0, 9.0], [2.0, 2.0, 2.0, 7.0, 8.0]
    assert rank_correlation(first, second) == pytest.approx(stats.spearmanr(first, second)[0])
    assert rank_correlation([1, 2, 3], [10, 100, 1000]) == pytest.approx(1.0)
