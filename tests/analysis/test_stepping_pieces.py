"""Jobs that are suspended, resized and run again, in the frames of the stepping page."""

from __future__ import annotations

from analysis.figures.palette import ColourClasses, colour_strategy
from analysis.stepping.frames import Frames
from cluster_sim import Result
from tests.support.scripted import requeued, resized, suspended


def cores_at(result: Result) -> list[tuple[float, str, list[int]]]:
    """Of each frame its time, its decision, and the cores that are held on each node."""
    frames = Frames(result)
    kinds = [*frames.steps.decisions.tolist(), "end"]
    return [(float(frames.time[i]), kinds[i], frames.held(i).tolist()) for i in range(len(frames))]


def test_a_suspended_job_has_no_cores() -> None:
    """It has them until the decision, and again after the next; in between it is in the row of suspended jobs."""
    result = suspended()
    assert cores_at(result) == [
        (0.0, "start", [0, 0]),
        (4.0, "preempt", [1, 1]),
        (4.0, "start", [0, 0]),
        (7.0, "resume", [0, 0]),
        (13.0, "end", [0, 0]),
    ]
    frames = Frames(result)
    found = frames.data(0, len(frames), _classes(result))["suspended"]
    assert (found["job_id"], found["since"], found["enters"], found["leaves"], found["cores"]) == (
        ["a"],
        [4.0],
        [2],
        [3],
        [2],
    )
    assert [frames.steps[i].words() for i in (1, 3)] == [
        "Job a is suspended.",
        "Job a continues on 1 core of each of cluster0.node0 to cluster0.node1.",
    ]
    assert frames.steps[1].reason() == "An urgent job came; for job b."


def test_a_resized_job_has_its_new_cores() -> None:
    """Four until the decision, two after it."""
    assert [row[1:] for row in cores_at(resized())] == [
        ("start", [0, 0, 0, 0]),
        ("resize", [1, 1, 1, 1]),
        ("start", [1, 1, 0, 0]),
        ("end", [0, 0, 0, 0]),
    ]


def test_a_requeued_job_waits_after_the_decision() -> None:
    """It holds its cores at the decision that takes them, and is in the queue from the next on."""
    frames = Frames(requeued())
    kinds = frames.steps.decisions.tolist()
    assert kinds[:3] == ["start", "preempt", "start"]
    assert [frames.queue(i)["job_id"].tolist() for i in (1, 2)] == [["b"], ["a", "b"]]
    assert [frames.held(i).tolist() for i in (1, 2)] == [[1, 1], [0, 0]]


def _classes(result: Result) -> ColourClasses:
    return colour_strategy("job")(result.jobs)
