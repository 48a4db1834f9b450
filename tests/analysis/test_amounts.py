"""Amounts as people write them: durations, times, energies; the files keep plain numbers."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from cluster_sim.amounts import amount, duration, durations, energy, moment, moments, number, prefixed


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.0512, "0.0512 s"),
        (8.254, "8.25 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (100, "1 min 40 s"),
        (3_599.4, "59 min 59 s"),
        (3_599.6, "1 h"),
        (5_400, "1 h 30 min"),
        (86_369, "23 h 59 min"),
        (86_371, "1 d"),
        (4 * 86_400 + 8 * 3_600 + 16 * 60 + 19, "4 d 08:16"),
        (1_234 * 86_400 + 60, "1,234 d 00:01"),
        (math.inf, "∞"),
        (math.nan, "–"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    """Rounded to what matters of them; what rounds up to the next unit is written in it."""
    assert duration(seconds) == text
    assert durations([seconds, seconds]) == [text, text]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (83.5, "83.5 s"),
        (599.9994, "599.999 s"),
        (600, "00:10:00"),
        (86_399.4, "23:59:59"),
        (86_399.6, "1 d 00:00:00"),
        (375_379, "4 d 08:16:19"),
        (math.nan, "–"),
    ],
)
def test_moments(seconds: float, text: str) -> None:
    """Times of a run, to the second, in the first ten minutes to the millisecond."""
    assert moment(seconds) == text
    assert moments(np.array([seconds])) == [text]


@pytest.mark.parametrize(
    ("joules", "text"),
    [
        (836.0, "836 J"),
        (999.4, "999 J"),
        (999.6, "1 kJ"),
        (12_452, "12.5 kJ"),
        (3.5e6, "3.5 MJ"),
        (3.6e6, "1 kWh"),
        (104_872_517_314, "29.1 MWh"),
        (math.nan, "–"),
    ],
)
def test_energies(joules: float, text: str) -> None:
    """In joules, and from a kilowatt-hour on in watt-hours alone, each with the prefix that fits."""
    assert energy(joules) == text


def test_prefixes_reach_from_none_to_exa() -> None:
    """Three digits before each prefix, whatever the size and the sign."""
    assert [prefixed(10.0**power, "W") for power in range(0, 19, 3)] == [
        *("1 W", "1 kW", "1 MW", "1 GW", "1 TW", "1 PW", "1 EW"),
    ]
    assert prefixed(-18_250, "W") == "-18.2 kW"


def test_amounts_by_their_unit() -> None:
    """Seconds are durations, joules energies; numbers without a unit stay numbers."""
    units = {"s": 5_400.0, "J": 7.2e6, "W": 2_500.0, "1/h": 12.25, "": 1_692.0}
    assert [amount(value, unit) for unit, value in units.items()] == [
        *("1 h 30 min", "2 kWh", "2.5 kW", "12.2 1/h", "1,692"),
    ]
    assert amount(math.nan, "1/h") == "–"


def test_times_that_no_calendar_has() -> None:
    """From 10^18 s on nothing is counted in days: it would overflow."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert durations([1e17, 1e18, 1e300])[1:] == ["1e+18 s", "1e+300 s"]
        assert moments([1e300]) == ["1e+300 s"]


def test_nothing_has_no_minus() -> None:
    """Rounding, and products with 0, leave a float below 0 that is 0."""
    assert [number(-0.0), amount(-0.0, "J"), prefixed(-0.0, "W"), moment(-0.0)] == ["0", "0 J", "0 W", "0 s"]
    assert number(-0.25) == "-0.25"
