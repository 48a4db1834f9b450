"""Schedulers and power policies by the command line's strings, and what is said when a string is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import InputError, Scheduler, SpecError, make_power_policy, make_scheduler
from schedulers import EasyBackfilling, Fcfs, ListScheduler, easy, power_policies, schedulers


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("", "expected name[:positional][,key=value…]"),
        (":first", "expected name"),
        ("fifo", "scheduler: expected one of adaptive-pcbe, "),
        ("list:newest/first", "job order: expected one of edf, "),
        ("list:first/newest", "node order: expected one of best-fit, clustering, current_gflops, "),
        ("list:first/first/first", "node order: expected one of "),
        ("list:first/first,blocking=maybe", "blocking: expected yes or no, found maybe"),
        ("list:first/first,dynamic=yes", "expected an option of list (orders, blocking, memory, aging), found dynamic"),
        ("list:first/first,blocking=no,blocking=yes", "expected option 'blocking' once, found it twice"),
        ("fcfs:first,no,extra", "expected other arguments"),
        ("fcfs:first,nodes=first", "expected other arguments"),
        ("sjf:nodes=nowhere", "node order: expected one of "),
    ],
)
def test_a_wrong_spec_is_told_in_one_line(spec: str, words: str) -> None:
    """Where, what was expected, what was found."""
    with pytest.raises(SpecError) as error:
        make_scheduler(spec)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_wrong_power_policy_is_told_in_one_line() -> None:
    """The names that there are; options that it does not have."""
    for spec, words in (("sleepy", "power policy: expected one of always-on"), ("always-on:5", "other arguments")):
        with pytest.raises(SpecError, match=words) as error:
            make_power_policy(spec)
        assert "\n" not in str(error.value)


def test_truth_values_of_numpy_are_called_as_others() -> None:
    """In the spec by which records name a scheduler."""
    assert easy(memory=np.False_, extra=np.True_).spec == "easy"
    assert EasyBackfilling(memory=np.True_).spec == "easy:memory=yes"


def test_options_reach_the_scheduler() -> None:
    """Positional, by key, with dashes or underscores and spaces; numbers and truths in their own types."""
    scheduler = make_scheduler(" list:smallest/high_cores, blocking=no ,memory=TRUE")
    assert isinstance(scheduler, ListScheduler)
    assert (scheduler.blocking, scheduler.memory) == (False, True)
    fcfs = make_scheduler("fcfs:nodes=low_power,memory=on")
    assert isinstance(fcfs, Fcfs)
    assert fcfs.memory


@pytest.mark.parametrize("name", [*schedulers, *power_policies])
def test_everything_registered_has_a_line_of_help(name: str) -> None:
    """``cluster-sim list`` shows it."""
    registry = schedulers if name in schedulers else power_policies
    assert len(registry.help(name).split()) > 3


def test_a_third_party_can_register_a_name() -> None:
    """A class of one's own, under a name of one's own, with options that are converted, those without a default, too."""

    class Mine(Scheduler):
        def __init__(self, limit: float, depth: int = 3, share: float = 0.5):
            self.limit, self.depth, self.share = limit, depth, share

    schedulers.register("mine")(Mine)
    try:
        made = make_scheduler("mine:1e3,7,share=0.25")
        assert isinstance(made, Mine)
        assert (made.limit, made.depth, made.share) == (1000.0, 7, 0.25)
        for spec, words in (("mine:1,depth=deep", "a whole number, found deep"), ("mine:high", "a number, found high")):
            with pytest.raises(SpecError, match=f"expected {words}"):
                make_scheduler(spec)
    finally:
        del schedulers._factories["mine"]


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(
    text=st.one_of(
        st.text(max_size=30),
        st.lists(
            st.sampled_from(
                [*schedulers, ":", "/", ",", "=", "first", "random", "no", "blocking", "é", "\n", "1e9", "-"]
            ),
            max_size=9,
        ).map("".join),
    )
)
def test_any_text_is_a_scheduler_or_an_input_error(text: str) -> None:
    """No other kind of error, and never more than a line."""
    try:
        assert isinstance(make_scheduler(text), Scheduler)
    except InputError as error:
        assert "\n" not in str(error)
