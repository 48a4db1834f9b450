"""Which job gets which colour."""

from __future__ import annotations

import pandas as pd

from analysis.palette import NONE, OKABE_ITO, OTHERS, by_column, by_job, mixed, text_colour


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
