"""A run as decisions: who waits and what is held before each."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.stepping.frames import Frames
from analysis.stepping.steps import places_in_words
from cluster_sim import Platform, Simulation, Workload, make_power_policy, make_scheduler

from .conftest import Story


def test_fcfs_by_hand(story: Story) -> None:
    """wide waits for all cores, and small behind it though two were free all the time."""
    frames = Frames(story("fcfs"))
    told = [(s.time, s.decision, s.job_id) for s in (frames.steps[i] for i in range(5))]
    assert len(frames) == 6  # the end is the last
    assert told == [
        (0.0, "start", "solver"),
        (10.0, "block", "wide"),
        (100.0, "start", "wide"),
        (100.0, "block", "small"),
        (150.0, "start", "small"),
    ]
    waiting = [
        list(zip(*(frames.queue(i)[name] for name in ("job_id", "waited", "cores")), strict=True)) for i in range(5)
    ]
    assert waiting == [
        [("solver", 0.0, 6)],
        [("wide", 0.0, 8)],
        [("wide", 90.0, 8), ("small", 80.0, 2)],
        [("small", 80.0, 2)],
        [("small", 130.0, 2)],
    ]
    assert [int(frames.held(i)[0]) for i in range(5)] == [0, 6, 0, 8, 0]
    assert [str(frames.states(i)[0]) for i in range(5)] == ["IDLE", "COMPUTING", "IDLE", "COMPUTING", "IDLE"]


def test_words_and_reasons(story: Story) -> None:
    """The sentences say where, until when and why."""
    frames = Frames(story("easy"))
    steps = frames.steps
    said = {(s.job_id, s.decision): (s.words(), s.reason()) for s in (steps[i] for i in range(len(steps)))}
    assert said["solver", "start"] == (
        "Job solver starts on 6 cores of cluster0.node0.",
        "It was its turn, and there is room.",
    )
    assert said["wide", "hold"] == ("Job wide stays in the queue.", "It asks for 8 cores, 2 free.")
    assert said["wide", "reserve"][0] == "Job wide is promised a start at 120 s."
    assert said["small", "start"][1].startswith("Backfilled: ")
    waiting = [i for i in range(len(steps)) if steps[i].decision == "start" and steps[i].job_id == "wide"]
    assert frames.queue(*waiting)["because"].tolist() == ["it asks for 8 cores, 2 free; promised 120 s"]
    assert steps.of_job("nobody") == []


def test_without_a_log_the_records_say_who_started(story: Story) -> None:
    """A run that was not to explain has the same starts, queues and cores, and no reasons."""
    frames, bare = Frames(story("easy")), Frames(story("easy", explain=False))
    starts = [i for i in range(len(frames.steps)) if frames.steps[i].decision == "start"]
    assert (frames.logged, bare.logged, len(bare.steps)) == (True, False, 3)
    for number, start in enumerate(starts):
        step = frames.steps[start]
        assert (bare.steps[number].time, bare.steps[number].job_id) == (step.time, step.job_id)
        assert bare.queue(number).drop(columns="because").equals(frames.queue(start).drop(columns="because"))
        assert bare.held(number).tolist() == frames.held(start).tolist()


def test_a_job_that_never_fits_is_refused() -> None:
    """Its refusal is a step with the reason, with a log and without."""
    workload = Workload({"submit_time": [0.0], "requested_cores": [99], "recorded_run_time": [1.0]})
    for explain in (True, False):
        result = Simulation(Platform.homogeneous(1, 8), workload, make_scheduler("fcfs"), explain=explain).run()
        step = Frames(result).steps[0]
        assert (step.decision, step.words()) == ("reject", "Job 0 is refused.")
        assert "99" in step.reason()


@pytest.mark.parametrize(
    "scheduler", ["fcfs", "easy", "conservative", "contention-aware", "list:smallest/first,blocking=no"]
)
def test_nothing_is_held_twice(scheduler: str) -> None:
    """Before every start the job is in the queue, and what it takes was free; who started is not in the queue again."""
    platform = Platform.homogeneous(nodes=3, cores=8)
    workload = Workload.read("lublin:jobs=60,nodes=24,seed=2")
    policy = make_power_policy("timeout:60")
    result = Simulation(platform, workload, make_scheduler(scheduler), policy, explain=True).run()
    frames, gone = Frames(result), set[str]()
    cores = dict(zip(result.jobs["job_id"], result.jobs["requested_cores"], strict=True))
    for number in range(len(frames.steps)):
        step, queue, held = frames.steps[number], set(frames.queue(number)["job_id"]), frames.held(number)
        assert not queue & gone
        assert np.all(held <= platform.node_cores)
        if step.decision == "start":
            gone.add(step.job_id)
            assert step.job_id in queue
            assert platform.core_count - held.sum() >= cores[step.job_id]
    assert gone == set(cores)
    assert any("OFF" in frames.states(number) for number in range(len(frames)))


def test_places_are_counted_when_many() -> None:
    """Four places are named, the rest is a number."""
    platform = Platform.homogeneous(nodes=40, cores=8)
    words = places_in_words([*((2 * i, 2 * i + 1, 3) for i in range(6)), (20, 31, 8)], platform)
    assert words.startswith("3 cores of cluster0.node0, 3 cores of cluster0.node2")
    assert words.endswith("and 3 more places")
    assert places_in_words([(1, 5, 1)], platform) == "1 core of each of cluster0.node1 to cluster0.node4"
