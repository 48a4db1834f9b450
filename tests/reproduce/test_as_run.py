"""What the authors ran: their pictures, the most promising training, and what is compared with them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.reproduce.claims import ClaimVerdict, judge
from analysis.reproduce.energy_scheduler import experiment_1, experiment_3, experiment_4, lopez
from analysis.reproduce.energy_scheduler.as_run import distance
from analysis.reproduce.energy_scheduler.pictures import ENERGIES
from analysis.reproduce.energy_scheduler.selection import best_of


@pytest.mark.parametrize(
    ("case", "test", "against", "printed", "tolerance"),
    [
        ("3", "test 3, the report", experiment_3.BEST, experiment_3.TABLES["energy", experiment_3.BEST][:3], 0.11),
        ("4-mem", "the report", experiment_4.FLOPS, experiment_4.TABLE["mem"][experiment_4.FLOPS], 0.04),
        ("4-comp", "test 4, the report", experiment_4.FLOPS, experiment_4.TABLE["comp"][experiment_4.FLOPS], 0.04),
    ],
)
def test_the_pictures_of_the_reports_have_the_printed_numbers(
    case: str, test: str, against: str, printed: tuple[str, ...], tolerance: float
) -> None:
    """Least, mean and greatest of what was read off are those of the thesis' tables, in % of the heuristic that they name."""
    reference = float(lopez.run(case, f"list:{against}").summary()["energy_j"]) / 1e3
    runs = ENERGIES[case][test]
    found = [100.0 * (1.0 - energy / reference) for energy in (min(runs), sum(runs) / len(runs), max(runs))]
    assert found == pytest.approx(list(map(float, printed)), abs=tolerance)


def test_every_test_has_a_hundred_runs() -> None:
    """Three tests of experiment 3, one and four of experiment 4."""
    assert {case: len(tests) for case, tests in ENERGIES.items()} == {"3": 3, "4-mem": 1, "4-comp": 4}
    assert {len(runs) for tests in ENERGIES.values() for runs in tests.values()} == {100}


@given(*[st.lists(st.integers(0, 20), min_size=1, max_size=30)] * 2)
def test_the_distance_of_two_samples_is_scipys(first: list[int], second: list[int]) -> None:
    """The statistic of the test of Kolmogorov and Smirnov."""
    assert distance(first, second) == pytest.approx(stats.ks_2samp(first, second, method="asymp").statistic)


def test_the_most_promising_is_chosen_by_the_mean_by_hand() -> None:
    """Means 1, 3, 2; the worst runs of the chosen: of two, of all three, and of one, which is no choice."""
    means, worst = [1.0, 3.0, 2.0], [-5.0, -9.0, 0.0]
    assert best_of(2, means, worst) == [-9.0, 0.0, -9.0]
    assert best_of(3, means, worst) == [-9.0]
    assert sorted(best_of(1, means, worst)) == sorted(worst)


@pytest.mark.parametrize(
    ("shift", "uniform", "expected"),
    [
        (0.0, 30.0, ClaimVerdict.HOLDS),
        (0.0, 0.0, ClaimVerdict.NOT_DISCRIMINATING),
        (30.0, 0.0, ClaimVerdict.DOES_NOT_HOLD),
    ],
)
def test_a_picture_is_held_against_fresh_actors(shift: float, uniform: float, expected: ClaimVerdict) -> None:
    """Runs like those of the picture hold, unless random play has the same; others do not."""
    key = "as run/4-mem/pictures/the report/distance"
    (claim,) = [claim for claim in experiment_4.claims() if claim.key == key]
    runs = [1e3 * energy for energy in ENERGIES["4-mem"]["the report"]]
    values = {
        "as run/4-mem/runs": [[run + 1e3 * shift for run in runs]] * 20,
        "as run/4-mem/random play/runs": [[run + 1e3 * uniform for run in runs]] * 20,
    }
    assert judge(claim, values).verdict is expected


def test_a_trained_actor_is_held_against_every_picture() -> None:
    """An actor whose runs are those of one test is enough."""
    (claim,) = [claim for claim in experiment_3.claims() if claim.key == "as run/3/pictures/trained"]
    alike = [1e3 * energy for energy in ENERGIES["3"]["test 2"]]
    row = "agent/energy-as-published/3/runs"
    assert judge(claim, {row: [[3e5] * 100, alike]}).verdict is ClaimVerdict.DOES_NOT_HOLD
    assert judge(claim, {row: [[3e5] * 100]}).verdict is ClaimVerdict.HOLDS


@pytest.mark.parametrize(
    ("worst", "share"), [([-60.0] * 20, 100.0), ([-70.0] * 20, 0.0), ([-70.0] * 18 + [-60.0] * 2, 28.42)]
)
def test_how_often_the_mildest_of_three_is_as_mild(worst: list[float], share: float) -> None:
    """Of 20 hundreds two are as mild: 1 - C(18, 3) / C(20, 3) of the choices of three have one of them."""
    (claim,) = [claim for claim in experiment_3.claims() if claim.key == "as run/3/pictures/mildest"]
    assert judge(claim, {f"as run/3/list:{experiment_3.BEST}/energy/max": worst}).measured == pytest.approx(
        share, abs=0.01
    )


def test_a_slip_is_tried_alone_and_with_the_other() -> None:
    """Both agents of Table 4.6 that wait, three times; all else is as written."""
    rows = [row for row in experiment_1.ROWS if row.reading]
    assert [row.name for row in rows] == [
        f"wait-{what}-{slip}" for slip in ("mask", "padding", "both") for what in ("energy", "edp")
    ]
    written = {row.like: row for row in experiment_1.ROWS if row.like and not row.reading}
    for row in rows:
        assert row.environment == written[row.like].environment
        assert row.options


def test_random_of_the_thesis_is_first_first() -> None:
    """Table 4.15 comes out of Table 4.14 and one run of first–first; with a heuristic that draws it does not."""
    best, of_random = experiment_3.BEST, {experiment_3.RANDOM: f"list:{experiment_3.RANDOM}"}
    values = lopez.reached(Path(), "3", {best: f"list:{best}"} | of_random).values
    claims = [claim for claim in experiment_3.claims() if "random–random" in claim.what]
    assert len(claims) == 14
    assert {judge(claim, values).verdict for claim in claims} == {ClaimVerdict.REPRODUCED, ClaimVerdict.CONSISTENT}
    drawn = lopez.reached(Path(), "3", {best: f"list:{best}", experiment_3.RANDOM: "list:random/random"}).values
    assert not {ClaimVerdict.REPRODUCED, ClaimVerdict.CONSISTENT} & {judge(claim, drawn).verdict for claim in claims}
