"""Which job gets which colour."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.figures.palette import (
    ALL_STATES,
    COMPARED,
    JOB_STATES,
    LONG_STEPS_S,
    NONE,
    OKABE_ITO,
    OTHERS,
    SCALE,
    SHORT_STEPS_S,
    by_column,
    by_job,
    by_meaning,
    by_number,
    jointly,
    mixed,
    text_colour,
)
from tests.support.colour_vision import VISION, least_distance


def test_jobs_cycle_through_seven_colours() -> None:
    """A job's colour is its place in the workload, so it is the same in every run."""
    classes = by_job(pd.DataFrame({"job_id": list("abcdefgh")}))
    assert classes.code.tolist() == [0, 1, 2, 3, 4, 5, 6, 0]
    assert classes.colours == OKABE_ITO
    assert not classes.title


def test_values_rank_by_core_seconds_and_missing_ones_are_pale() -> None:
    """One large job counts more than two small ones; equal values go by name; jobs without a value share a class."""
    jobs = pd.DataFrame({"user": ["b", "a", "c", "c", "", None, "d"], "requested_cores": 1, "run_time": 5.0})
    assert by_column("user")(jobs).names == ("c", "a", "b", "d", "no user")
    jobs.loc[6, "requested_cores"] = 3
    classes = by_column("user")(jobs)
    assert classes.names == ("d", "c", "a", "b", "no user")
    assert classes.code.tolist() == [3, 2, 1, 1, 4, 4, 0]
    assert classes.colours[-1] == NONE
    assert by_column("user")(jobs[["user"]]).names == ("c", "a", "b", "d", "no user")


def test_beyond_seven_values_share_a_class_that_counts_them() -> None:
    """Hundreds of users stay a few classes, and the legend says how many have no colour of their own."""
    users = [f"u{i:03}" for i in range(100)]
    classes = by_column("user")(pd.DataFrame({"user": users}))
    assert len(classes.names) == len(set(classes.colours)) == 8
    assert (classes.names[-1], classes.colours[-1]) == ("93 more", OTHERS)
    assert (classes.code == 7).sum() == 93


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize(
    "palette",
    [
        (*OKABE_ITO, OTHERS, NONE),
        (*SCALE, OTHERS, JOB_STATES["killed"], JOB_STATES["unfinished"]),
        tuple(JOB_STATES.values()),
        tuple(COMPARED.values()),
        tuple(ALL_STATES.values()),
    ],
    ids=["values", "steps and states", "states of jobs", "compared", "states of nodes"],
)
def test_colours_are_told_apart_by_all_readers(palette: tuple[str, ...], vision: str) -> None:
    """Any two colours of a chart lie 10 apart in CIELAB, for colour-blind readers, too."""
    distance, one, other = least_distance(palette, vision)
    assert distance >= 10.0, (one, other)


def test_pages_turn_round_the_same_scale() -> None:
    """On dark ground the browser reverses these steps; it has them in its own file."""
    script = (Path(analysis.__file__).parent / "templates" / "gantt_view.js").read_text(encoding="utf-8")
    for colour in (*SCALE, NONE):
        assert f'"{colour.lower()}"' in script


def test_the_distance_finds_colours_that_look_alike() -> None:
    """Two greys that no reader tells apart, and a grey and a pink that some do not."""
    assert least_distance(["#909090", "#949494"], "normal")[0] < 2.0
    assert least_distance(["#9AA5B1", "#CC79A7"], "normal")[0] > 30.0
    assert least_distance(["#9AA5B1", "#CC79A7"], "deuteranopia")[0] < 5.0


def test_steps_of_waits_are_the_same_for_every_run() -> None:
    """No wait is pale, a day's wait has its colour whatever others waited; examples of seconds have steps of seconds."""
    jobs = pd.DataFrame({"wait_time": [0.0, 59.0, 60.0, 90_000.0, 1e9, np.nan]})
    classes = by_number("wait_time")(jobs)
    assert (classes.edges, classes.code.tolist()) == (LONG_STEPS_S, [0, 0, 1, 6, 7, 8])
    assert classes.colours == (*SCALE, OTHERS)
    assert (classes.names[0], classes.names[7]) == ("0 s to 1 min", "3 d or more")
    assert by_number("wait_time")(jobs[3:4]).code.tolist() == [6]
    assert by_number("wait_time")(jobs[:3]).edges == SHORT_STEPS_S


@pytest.mark.parametrize(
    ("values", "edges"),
    [
        ([3.0, 4.0, 5.0, 7.0], [3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0]),
        ([-3.0, 4.0, 7.0], [-4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0]),
        ([0.0, 0.0, 0.0, 5.0, 1e6], [0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]),
        ([1.0, 2.0, 2.0, 3000.0], [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0]),
        ([1e-3, 2.0, 2.0, 1e9], [0.0, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]),
        ([4.0, 4.0], [4.0, 4.0]),
    ],
)
def test_steps_of_numbers_are_round(values: list[float], edges: list[float]) -> None:
    """At most eight steps hold all values: even ones, or in the logarithm where values spread far."""
    classes = by_number("energy_j")(pd.DataFrame({"energy_j": values}))
    assert np.allclose(classes.edges, edges)
    assert len(set(classes.colours)) == len(classes.names)
    assert all(edges[code] <= value for value, code in zip(values, classes.code, strict=True))


@pytest.mark.parametrize(
    ("column", "values", "names"),
    [
        ("submit_time", [0.0, 100_000.0], ["0 s to 06:00", "06:00 to 12:00", "12:00 to 18:00", "18:00 to 1 d",
                                            "1 d to 1 d 06:00"]),
        ("start_time", [5_000.0, 5_020.0], [f"01:23:{n} to 01:23:{n + 5}" for n in range(20, 40, 5)]),
        ("finish_time", [0.0, 3e7], ["0 s to 50 d", *(f"{n} d to {n + 50} d" for n in range(50, 350, 50))]),
        ("requested_cores", [1.0, 2.0, 7.0], ["1", "2", "3", "4", "5", "6", "7"]),
        ("requested_cores", [1.0, 2.0], ["1", "2"]),
        ("requested_cores", [1.0, 33.0, 64.0], [f"{n} to {n + 10}" for n in range(0, 70, 10)]),
        ("slowdown", [1.0, 1.5, 2.3], [f"{n:g} to {n + 0.2:.2g}" for n in (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2)]),
    ],
)  # fmt: skip
def test_steps_are_round_in_the_way_of_what_they_count(column: str, values: list[float], names: list[str]) -> None:
    """Times begin at round times of a clock, whole numbers at whole ones, and each of few whole numbers is a step."""
    classes = by_number(column)(pd.DataFrame({column: values}))
    assert list(classes.names) == names
    assert all(classes.edges[code] <= value for value, code in zip(values, classes.code, strict=True))


def test_lengths_of_time_have_the_steps_of_waits() -> None:
    """Lengths of time in columns that jobs bring along have these steps, too."""
    assert by_number("think_time")(pd.DataFrame({"think_time": [0.0, 4_000.0]})).edges == LONG_STEPS_S


def test_all_values_missing() -> None:
    """A log without profiles: one class."""
    classes = by_column("profile")(pd.DataFrame({"profile": ["", ""]}))
    assert classes.names == ("no profile",)
    assert classes.code.tolist() == [0, 0]


def test_labels_contrast_with_their_background() -> None:
    """White on blue, black on yellow."""
    assert (text_colour("#0072B2"), text_colour("#F0E442")) == ("#FFFFFF", "#000000")
    assert mixed("#000000", "#FFFFFF", 0.5) == "#808080"


def test_colours_mean_something_by_default() -> None:
    """A hundred jobs by job; more by wait, the killed ones apart; by user where none waited; by job where nothing differs."""
    jobs = pd.DataFrame(
        {"wait_time": np.arange(101.0), "state": "completed", "user": ["a", "b", "c"] * 33 + ["a", "b"]}
    )
    assert by_meaning(jobs[:100]).title == ""
    waits = by_meaning(jobs)
    assert (waits.title, waits.edges) == ("Wait time", by_number("wait_time")(jobs).edges)
    jobs.loc[[3, 7], "state"] = "killed"
    killed = by_meaning(jobs)
    assert (killed.names[-1], killed.colours[-1]) == ("killed", JOB_STATES["killed"])
    assert np.flatnonzero(killed.code == len(killed.names) - 1).tolist() == [3, 7]
    assert by_meaning(jobs.assign(wait_time=0.0)).title == "User"
    assert by_meaning(jobs.assign(wait_time=0.0, user="a")).title == ""


def test_runs_share_a_scale() -> None:
    """Equal waits have equal colours in two runs; without a meaning a job has its place's colour in both."""
    tables = [pd.DataFrame({"job_id": ["a", "b"], "wait_time": waits}) for waits in ([0.0, 8.0], [8.0, 80.0])]
    first, second = jointly(by_number("wait_time"), tables)
    assert first.edges == second.edges == SHORT_STEPS_S
    assert first.code[1] == second.code[0]
    assert [classes.code.tolist() for classes in jointly(by_job, tables)] == [[0, 1], [0, 1]]


def test_a_job_has_one_colour_in_runs_of_other_jobs() -> None:
    """A job that only the second run has, or another order of them, moves no other job's colour."""
    tables = [pd.DataFrame({"job_id": list(ids)}) for ids in ("abc", "xabc", "cb")]
    first, second, third = (
        dict(zip(table["job_id"], classes.code.tolist(), strict=True))
        for table, classes in zip(tables, jointly(by_job, tables), strict=True)
    )
    assert first == {"a": 0, "b": 1, "c": 2}
    assert second == first | {"x": 3}
    assert third == {"c": 2, "b": 1}
