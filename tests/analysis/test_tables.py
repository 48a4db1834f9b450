"""The comparison table, as a frame, as text, as HTML."""

from __future__ import annotations

import numpy as np
import pytest

from analysis import comparison_table, format_table, headlines
from analysis.tables.run_metrics import percent, table_html
from analysis.tables.wording import label_of, shortened_apart, unit_of
from cluster_sim.amounts import number, numbers

from .conftest import FakeResult


@pytest.fixture
def runs(small: FakeResult) -> dict[str, FakeResult]:
    """Two runs with hand-made summaries."""
    second = FakeResult(small.platform, small.jobs, small.allocations, small.node_states, small.power)
    small.metrics = {"makespan_s": 200.0, "energy_j": 1700.0, "jobs_killed": 0, "seed": 1, "version": "0.1"}
    second.metrics = {"makespan_s": 150.0, "energy_j": None, "jobs_killed": 2, "seed": 2}
    return {"fcfs": small, "easy": second}


def test_differences_are_in_percent_of_the_first_run(runs: dict[str, FakeResult]) -> None:
    """25 % less makespan; no percentage of nothing or of zero; seeds are no metric."""
    table = comparison_table(runs)
    assert list(table.columns) == ["unit", "fcfs", "easy", "easy vs first, %"]
    assert list(table.index) == ["makespan_s", "energy_j", "jobs_killed"]
    assert table["unit"].tolist() == ["s", "J", ""]
    assert table["easy vs first, %"].tolist() == pytest.approx([-25.0, np.nan, np.nan], nan_ok=True)


def test_headlines_are_rows_of_the_table(runs: dict[str, FakeResult]) -> None:
    """The short table has the rows that the run knows, in the order of importance."""
    assert list(headlines(comparison_table(runs)).index) == ["jobs_killed", "makespan_s", "energy_j"]


def test_one_run_has_no_differences(runs: dict[str, FakeResult]) -> None:
    """A single run is named by its scheduler."""
    assert list(comparison_table(runs["fcfs"]).columns) == ["unit", "fcfs"]


def test_text_for_the_terminal(runs: dict[str, FakeResult]) -> None:
    """Aligned columns with units; unknown values are a dash."""
    lines = format_table(comparison_table(runs)).splitlines()
    assert [line.split() for line in lines] == [
        ["metric", "fcfs", "easy", "easy", "vs", "first,", "%"],
        ["─" * 11, "─" * 10, "─" * 10, "─" * 16],
        ["makespan", "3", "min", "20", "s", "2", "min", "30", "s", "−25", "%"],
        ["energy", "1.7", "kJ", "–", "–"],
        ["jobs", "killed", "0", "2", "–"],
    ]
    assert (
        len(
            {
                line.index(figure) + len(figure)
                for line, figure in zip(lines[2:4], ("3 min 20 s", "1.7 kJ"), strict=True)
            }
        )
        == 1
    )


def test_names_are_escaped_in_html(runs: dict[str, FakeResult]) -> None:
    """A run may be called anything."""
    page = table_html(comparison_table({"<script>": runs["fcfs"], "b": runs["easy"]}))
    assert "<script>" not in page
    assert '<th scope="col">&lt;script&gt;</th>' in page


def test_numbers_keep_six_digits_and_every_digit_before_the_point() -> None:
    """Numbers as people write them."""
    assert numbers([0, 3575.13, 49848416.2, 0.1234567, -2.5]) == ["0", "3,575.13", "49,848,416", "0.123457", "-2.5"]
    assert numbers([1e-9, float("inf"), float("nan"), 120]) == ["1e-09", "∞", "–", "120"]
    assert (number(100), number(33418906222952400)) == ("100", "3.34189e+16")


def test_units_come_from_the_keys() -> None:
    """The key promises the unit; the label leaves it out."""
    assert [unit_of(key) for key in ("edp_js", "energy_j", "mean_wait_s", "jobs_completed")] == ["J s", "J", "s", ""]
    assert [label_of(key) for key in ("edp_js", "mean_wait_s", "jobs_completed")] == [
        "EDP",
        "mean wait",
        "jobs completed",
    ]


def test_no_difference_has_a_sign() -> None:
    """What two decimals do not show is neither more nor less; three digits of a change are enough."""
    told = [percent(value) for value in (-0.001, 0.001, 0.0, -25.0, 1234.5, float("nan"))]
    assert told == ["0 %", "0 %", "0 %", "−25 %", "+1,234 %", "–"]


def test_a_unit_is_told_once(small: FakeResult) -> None:
    """Each amount has its unit with it, the one that fits; there is no column of units."""
    small.metrics = {"throughput_jobs_per_h": 2.92, "mean_watts": 18_250.0}
    rows = [line.split() for line in format_table(comparison_table(small)).splitlines()[2:]]
    assert [row[-2:] for row in rows] == [["2.92", "1/h"], ["18.2", "kW"]]
    assert [" ".join(row).count("1/h") for row in rows] == [1, 0]
    assert "W" not in rows[1]


def test_names_that_begin_alike_keep_their_ends() -> None:
    """Two long names of runs are told apart in a legend; a short one stays."""
    names = [
        "List scheduling, first come first, nodes: fastest",
        "List scheduling, first come first, nodes: least power",
        "FCFS",
    ]
    assert shortened_apart(names, 22) == ["…first, nodes: fastest", "…t, nodes: least power", "FCFS"]
    middle = [f"{'a' * 30}{place}{'b' * 30}" for place in (1, 2, 1)]
    assert shortened_apart(middle, 20) == [f"aaaaaaaaaa…bbbbbbbbb ({place})" for place in (1, 2, 1)]
    ends = [f"{place}{'a' * 30}{place}" for place in "12"] + [f"1{'a' * 30}2"]
    assert len(set(shortened_apart(ends, 20))) == 3
