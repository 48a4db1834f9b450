"""Jobs of one's own and jobs taken out, in the page of ``explore``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dash import no_update

from analysis.explore import callbacks
from analysis.explore.changes import MOST_CHANGES, Change, changed, new_id
from analysis.explore.offers import Offers
from analysis.explore.runs import Choices, ExploreSession
from cluster_sim import InputError, Workload
from tests.support.rows import workload_of

from .conftest import Story
from .test_app import text_of

Given = dict[str, Any]


@pytest.fixture(scope="module")
def desk(story: Story, tmp_path_factory: pytest.TempPathFactory) -> ExploreSession:
    """The story's three jobs under easy."""
    log = tmp_path_factory.mktemp("log") / "log.csv"
    story.workload().write(log)
    return ExploreSession(Offers.of([str(log)], ["homogeneous:nodes=1,cores=8"], ["easy"]))


@pytest.fixture
def given(desk: ExploreSession) -> Given:
    """What the page holds at first."""
    return Choices.first(desk.offers).plain()


def started(desk: ExploreSession, given: Given) -> dict[str, float]:
    """When each job starts."""
    jobs = desk.run(given).result.jobs
    return dict(zip(jobs["job_id"], jobs["start_time"], strict=True))


def test_a_job_of_ones_own_by_hand(desk: ExploreSession, given: Given) -> None:
    """2 cores from 30 s on: small has them until 50 s; own1 asks to end at 80 s, and delays no promise (120 s)."""
    kept, said = callbacks.submitted(desk, given, 0, (30, 2, 20, 30, "me"))
    assert said == ""
    assert started(desk, kept) == {"solver": 0.0, "wide": 100.0, "small": 20.0, "own1": 50.0}
    shown = text_of(callbacks.changes(desk, kept))
    assert "own1submitted by me at 30 s: 2 cores, runs for 20 s, asks for 30 s" in shown
    assert "completed; waited 20 s, started at 50 s" in shown
    step = callbacks.opened(desk, kept)[1]
    times = desk.run(kept).frames.steps.time
    assert times[step - 1] < 30.0 <= times[step]  # where the change takes effect


def test_without_a_time_a_job_comes_now(desk: ExploreSession, given: Given) -> None:
    """Now is the clock of the step that is shown; the second job gets the next id; no request is none."""
    times = desk.run(given).frames.steps.time.tolist()
    once, _ = callbacks.submitted(desk, given, times.index(20.0), (None, 1, 5, None, None))
    twice, _ = callbacks.submitted(desk, once, 0, (None, 1, 5, "", ""))
    assert [(c["job_id"], c["submit_time"], c["requested_time"]) for c in twice["changes"]] == [
        ("own1", 20.0, None),
        ("own2", 0.0, None),
    ]


def test_a_job_taken_out_by_hand(desk: ExploreSession, given: Given) -> None:
    """Without solver, wide starts as it comes, at 10 s, and small after it, at 60 s; undoing brings solver back."""
    kept, said = callbacks.cancelled(desk, given, " solver ")
    assert said == ""
    assert started(desk, kept) == {"wide": 10.0, "small": 60.0}
    assert "solvertaken out of the workload" in text_of(callbacks.changes(desk, kept))
    back, _ = callbacks.undone(desk, kept, 0)
    assert started(desk, back) == started(desk, given)
    assert callbacks.changes(desk, back) == []


def test_cancelling_ones_own_job_undoes_it(desk: ExploreSession, given: Given) -> None:
    """Nothing is left of it; a change before it stays."""
    first, _ = callbacks.cancelled(desk, given, "wide")
    second, _ = callbacks.submitted(desk, first, 0, (0, 1, 5, None, ""))
    third, _ = callbacks.cancelled(desk, second, "own1")
    assert [change["job_id"] for change in third["changes"]] == ["wide"]
    assert set(started(desk, third)) == {"solver", "small"}


def test_a_job_too_wide_is_refused_with_a_reason(desk: ExploreSession, given: Given) -> None:
    """The scheduler's refusal is a step, and the outcome in the table."""
    kept, said = callbacks.submitted(desk, given, 0, (0, 99, 5, None, ""))
    assert said == ""
    assert "rejected" in text_of(callbacks.changes(desk, kept))
    assert "reject" in desk.run(kept).frames.steps.decisions


def test_changes_stay_as_long_as_the_jobs_do(desk: ExploreSession, given: Given) -> None:
    """Another scheduler keeps them, another window undoes them and says so; a new run starts at its first step."""
    kept, _ = callbacks.cancelled(desk, given, "wide")
    slower, said = callbacks.start(desk, given | {"seed": 3}, kept)
    assert (len(slower["changes"]), said) == (1, "")
    assert callbacks.opened(desk, slower)[1] == 0
    fewer, said = callbacks.start(desk, given | {"jobs": 2}, kept)
    assert len(fewer["changes"]) == 0
    assert said == "The jobs are others: changes to those before are undone."


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ((0, None, 5, None, ""), "own job, cores: expected a whole number from 1, found none"),
        ((0, 0, 5, None, ""), "own job, cores: expected a whole number from 1, found 0"),
        ((0, 1.5, 5, None, ""), "own job, cores: expected a whole number from 1, found 1.5"),
        ((0, True, 5, None, ""), "own job, cores: expected a whole number from 1"),
        ((0, 1, None, None, ""), "own job, run time: expected a number of seconds from 0, found none"),
        ((0, 1, -1, None, ""), "own job, run time: expected a number of seconds from 0, found -1"),
        ((0, 1, float("nan"), None, ""), "own job, run time: expected a number of seconds from 0, found nan"),
        ((0, 1, 5, 0, ""), "own job, time asked for: expected a number of seconds above 0, found 0"),
        (("x", 1, 5, None, ""), "own job, submitted at: expected a number of seconds from 0, found x"),
        ((float("inf"), 1, 5, None, ""), "own job, submitted at: expected a number of seconds from 0, found inf"),
        ((0, 1, 5, None, "u" * 101), "own job, user: expected a text of 0 to 100 characters"),
        ((0, 1, 5, None, 7), "own job, user: expected a text of 0 to 100 characters, found 7"),
    ],
)
def test_wrong_jobs_are_one_line(desk: ExploreSession, given: Given, fields: tuple[Any, ...], said: str) -> None:
    """What was shown stays, and the page says what was expected."""
    kept, message = callbacks.submitted(desk, given, 0, fields)
    assert kept is no_update
    assert message.startswith(said)
    assert "\n" not in message


def test_wrong_cancellations_are_one_line(desk: ExploreSession, given: Given) -> None:
    """A job that is not there, none, and a change that is not there."""
    assert callbacks.cancelled(desk, given, "moon") == (
        no_update,
        "cancel, job: expected the id of a job of this workload, found moon",
    )
    assert callbacks.cancelled(desk, given, None)[1].startswith("cancel, job: expected a text of 1 to 100 characters")
    assert callbacks.undone(desk, given, 0) == (no_update, "undo: expected a change that is there, found 0")
    once, _ = callbacks.cancelled(desk, given, "wide")
    assert "found wide" in callbacks.cancelled(desk, once, "wide")[1]


@pytest.mark.parametrize(
    "changes",
    [
        "x",
        7,
        [7],
        [{"cancel": "no"}],
        [{"cancel": True}],
        [{"cancel": False, "job_id": "a"}],
        [{}] * (MOST_CHANGES + 1),
    ],
)
def test_what_a_page_sends_may_be_anything(desk: ExploreSession, given: Given, changes: Any) -> None:
    """It ends in one line."""
    with pytest.raises(InputError) as caught:
        desk.run(given | {"changes": changes})
    assert "\n" not in str(caught.value)


def test_a_used_id_is_refused_and_a_new_one_found() -> None:
    """Two jobs of one id are none; the next free id is taken."""
    workload = workload_of((0, 1, 1), (1, 1, 1), job_id=["own1", "b"])
    assert new_id(workload.jobs["job_id"]) == "own2"
    with pytest.raises(InputError, match="an id not yet used"):
        changed(workload, [Change("own1", cores=1, run_time=1.0)])


def test_the_rest_of_the_workload_stays() -> None:
    """Columns, clock and dependencies are kept; who waited for a job that is taken out waits no longer."""
    workload = Workload(
        {"job_id": ["a", "b"], "submit_time": [0, 9], "requested_cores": [1, 2], "operations": [3e9, 4e9], "user": ["x", "y"]},
        name="w", origin_s=7.0, reference_gflops=3.0,
    ).with_dependencies({"b": ["a"]})  # fmt: skip
    other = changed(workload, [Change("a", True), Change("own1", cores=3, submit_time=4.0, run_time=2.0)])
    assert other.jobs["job_id"].tolist() == ["own1", "b"]
    assert other.jobs["after"].tolist() == ["", ""]
    assert other.jobs["operations"].tolist()[1] == 4e9
    assert (other.name, other.origin_s, other.reference_gflops) == ("w", 7.0, 3.0)
    assert other.jobs["submit_time"].tolist() == [4.0, 9.0]
    assert len(changed(workload, [Change("a", True), Change("b", True)])) == 0


def test_a_saved_run_cannot_be_changed(story: Story, tmp_path: Path) -> None:
    """It has no workload to change; the page does not offer it."""
    from analysis.explore.layout import page

    saved = ExploreSession(Offers.of(), story("fcfs"))
    assert callbacks.changes(saved, None) == []
    assert "submit_job" not in str(page(saved))
    assert "submit_job" in str(page(ExploreSession(Offers.of())))
