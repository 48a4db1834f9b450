"""Which job gets which colour."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.figures.palette import (
    JOB_STATES,
    NONE,
    OKABE_ITO,
    OTHERS,
    by_column,
    by_job,
    by_meaning,
    by_number,
    jointly,
    mixed,
    text_colour,
)


def test_jobs_cycle_through_seven_colours() -> None:
    """A job's colour is its place in the workload, so it is the same in every run."""
    classes = by_job(pd.DataFrame({"job_id": list("abcdefgh")}))
    assert classes.code.tolist() == [0, 1, 2, 3, 4, 5, 6, 0]
    assert classes.colours == OKABE_ITO
    assert not classes.title


def test_values_rank_by_their_jobs_and_missing_ones_are_grey() -> None:
    """Most jobs first, equal ones by name; jobs without a value share a grey class."""
    classes = by_column("user")(pd.DataFrame({"user": ["b", "a", "c", "c", "", None]}))
    assert classes.names == ("c", "a", "b", "no user")
    assert classes.code.tolist() == [2, 1, 0, 0, 3, 3]
    assert classes.colours[-1] == NONE


def test_beyond_twenty_one_values_share_a_class_that_counts_them() -> None:
    """Hundreds of users stay a few classes, and the legend says how many have no colour of their own."""
    users = [f"u{i:03}" for i in range(100)]
    classes = by_column("user")(pd.DataFrame({"user": users}))
    assert len(classes.names) == 22
    assert len(set(classes.colours)) == 22
    assert (classes.names[-1], classes.colours[-1]) == ("79 more", OTHERS)
    assert (classes.code == 21).sum() == 79


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
    assert first.edges == second.edges == tuple(np.linspace(0.0, 80.0, 9))
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
