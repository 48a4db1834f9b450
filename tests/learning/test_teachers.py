"""Teachers: what a scheduler would do, as actions."""

from __future__ import annotations

import pytest

from cluster_sim import Simulation, make_scheduler
from cluster_sim.errors import SpecError
from learning.tasks.job_node.environment import JobNode
from learning.tasks.job_node.teachers import SchedulerTeacher
from tests.support.job_node_cases import experiment


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize(
    ("spec", "placements"),
    [
        ("contention-aware:metric=delay,placements=one", "one"),
        ("contention-aware:metric=edp,placements=all", "all"),
        ("list:smallest/most_used_mem", "all"),
        ("list:low_mem/high_gflops,blocking=no", "all"),
        ("fcfs", "all"),
    ],
)
def test_following_a_teacher_is_its_schedule(spec: str, placements: str, merge: bool) -> None:
    """On Experiment 2, whether what is the same is offered once or not; with waiting allowed it says when to wait."""
    source = experiment("2")
    expected = Simulation(source.platform, source.workload, make_scheduler(spec)).run()
    env = JobNode(episodes=source, placements=placements, wait="event", merge_equal=merge, num_jobs=18)
    teacher = SchedulerTeacher(spec)
    for _ in range(2):  # and once more in the next episode
        observation, _ = env.reset()
        while not env._is_over:
            observation, *_ = env.step(teacher(env, observation))
        columns = ["job_id", "start_time", "finish_time"]
        assert env.result().jobs[columns].equals(expected.jobs[columns])


def test_a_teacher_without_an_offered_choice_takes_the_first_pair() -> None:
    """The longest job lies beyond the two oldest that are eligible."""
    env = JobNode(episodes=experiment("2"), num_jobs=1)
    env.reset()
    action = SchedulerTeacher("list:longest/high_cores")(env)
    assert env.action_masks()[action]


@pytest.mark.parametrize("spec", ["easy", "nobody", "pcbe"])
def test_only_some_schedulers_teach(spec: str) -> None:
    """Others are refused in one line."""
    with pytest.raises(SpecError):
        SchedulerTeacher(spec)
