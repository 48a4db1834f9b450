"""JobChoice: whoever chooses by an order is the scheduler of that order that commits, job by job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import InputError, SpecError
from cluster_sim.platform.hardware import PowerTransitions
from learning.tasks.built_in_cases import job_choice_case
from learning.tasks.choice_rows import ChoiceRow
from learning.tasks.episodes import Whole
from learning.tasks.job_choice.environment import JobChoice
from learning.tasks.job_choice.observations import LOOKS, RLSchedulerRow
from learning.tasks.job_choice.teachers import FirstByOrder
from learning.training.configuration import Config, EnvironmentKeys, ValidationKeys, WarmStartKeys
from learning.training.training_seeds import train
from tests.support.rows import workload_of


def case(seed: int = 0) -> Whole:
    """The built-in jobs, the same every time."""
    source = job_choice_case()
    return Whole(source.platform, source.all()[seed].workload)


def play(env: JobChoice, choose: Callable[[JobChoice, Any], int]) -> tuple[float, float, dict[str, Any]]:
    """An episode's return, summed cost and metrics."""
    observation, _ = env.reset(seed=0)
    rewards, costs, over = 0.0, 0.0, False
    while not over:
        observation, reward, over, _, info = env.step(choose(env, observation))
        rewards, costs = rewards + reward, costs + info["cost"]
    return rewards, costs, info["metrics"]


@pytest.mark.parametrize("order", ["fcfs", "sjf", "f1", "wfp"])
@pytest.mark.parametrize("extra", [True, False])
def test_an_order_is_its_scheduler(order: str, extra: bool) -> None:
    """The same records as easy:order=…,backfill=fcfs,commit=yes; the return and the costs are minus and plus its metrics."""
    for seed in range(3):
        env = JobChoice(case(seed), extra=extra, cost="wait")
        rewards, costs, metrics = play(env, FirstByOrder(order))
        spec = f"easy:order={order},backfill=fcfs,commit=yes,extra={'yes' if extra else 'no'}"
        run = Simulation(env.episodes.platform, case(seed).workload, make_scheduler(spec)).run()
        assert env.result().jobs.equals(run.jobs)
        assert -rewards == pytest.approx(metrics["mean_bounded_slowdown"], rel=1e-9)
        assert costs == pytest.approx(run.summary()["mean_wait_s"], rel=1e-9)


def test_against_an_order_the_order_has_minus_one() -> None:
    """Who chooses by the order that it is paid against has a return of −1, on any jobs; another one has its share of that."""
    for seed in range(2):
        env = JobChoice(case(seed), reward="bounded-slowdown:against=saf", cost="bounded-slowdown")
        assert play(env, FirstByOrder("saf"))[0] == pytest.approx(-1.0, rel=1e-9)
        saf = env.result().summary()["mean_bounded_slowdown"]
        rewards, slowdown, _ = play(env, FirstByOrder("fcfs"))
        assert rewards == pytest.approx(-slowdown / saf, rel=1e-9)


@pytest.mark.parametrize("enforced", [False, True])
def test_the_return_is_the_slowdown_of_any_log(enforced: bool) -> None:
    """Also of jobs that are given by their operations, and of jobs that their limits kill."""
    platform = Platform.homogeneous(nodes=2, cores=8)
    table = case().workload.jobs
    table["operations"] = table.pop("recorded_run_time") * platform.fastest_ops_per_s
    table["requested_time"] *= np.where(np.arange(len(table)) % 3, 2.0, 0.5)
    source = Whole(platform, Workload(table), enforce_walltime=enforced)
    rewards, _, metrics = play(JobChoice(source, cost="wait"), FirstByOrder("sjf"))
    assert metrics["mean_bounded_slowdown"] > 2.0
    assert -rewards == pytest.approx(metrics["mean_bounded_slowdown"], rel=1e-9)


@pytest.mark.parametrize("enforced", [False, True])
def test_the_return_is_the_slowdown_of_jobs_with_checkpoints_and_few_tasks_a_node(enforced: bool) -> None:
    """A checkpoint takes longer than the work between two: jobs run for more than twice as long, or until their limit."""
    platform = Platform.homogeneous(nodes=8, cores=8)
    table = case().workload.jobs
    checkpoints = {
        "checkpoint_interval": "100",
        "checkpoint_growth": 1.1,
        "checkpoint_time": 120.0,
        "restart_time": 9.0,
    }
    table = table.assign(**checkpoints, ntasks_per_node=2 + np.arange(len(table)) % 3, requested_time=600.0)
    source = Whole(platform, Workload(table), enforce_walltime=enforced)
    env = JobChoice(source, cost="wait", reward="bounded-slowdown:waiting=yes")
    rewards, costs, metrics = play(env, FirstByOrder("sjf"))
    assert metrics["jobs_completed"] + metrics["jobs_killed"] == len(table)
    assert (metrics["jobs_killed"] > 0) == enforced
    assert (env.result().jobs["run_time"] > table["recorded_run_time"] + 100.0).any()
    assert -rewards == pytest.approx(metrics["mean_bounded_slowdown"], rel=1e-9)
    assert costs == pytest.approx(metrics["mean_wait_s"], rel=1e-9)


def test_jobs_whose_checkpoints_would_never_end_count_until_their_walltime() -> None:
    """Intervals that halve: the run kills the jobs at 150 s, long before these are too short to be any."""
    columns = {"checkpoint_interval": ["100"] * 6, "checkpoint_time": [10.0] * 6, "checkpoint_growth": [0.5] * 6}
    jobs = {
        "submit_time": [0.0] * 6,
        "requested_cores": [4] * 6,
        "recorded_run_time": [5000.0] * 6,
        "requested_time": [150.0] * 6,
    }
    source = Whole(Platform.homogeneous(nodes=1, cores=8), Workload(jobs | columns), enforce_walltime=True)
    rewards, _, metrics = play(JobChoice(source, reward="bounded-slowdown", cost="wait"), FirstByOrder("fcfs"))
    assert metrics["jobs_killed"] == 6
    assert -rewards == pytest.approx(metrics["mean_bounded_slowdown"], rel=1e-9)


def test_jobs_that_count_as_they_wait_count_the_same_in_all() -> None:
    """The return is that of jobs that count when they start; not so what follows a single choice."""
    for name, order in (("bounded-slowdown:against=saf", "fcfs"), ("wait", "sjf")):
        later = play(JobChoice(case(), reward=name, cost="wait"), FirstByOrder(order))[0]
        env = JobChoice(case(), reward=f"{name}{',' if ':' in name else ':'}waiting=yes", cost="wait:waiting=yes")
        rewards, costs, metrics = play(env, FirstByOrder(order))
        assert rewards == pytest.approx(later, rel=1e-9)
        assert costs == pytest.approx(metrics["mean_wait_s"], rel=1e-9)


def test_what_waiting_jobs_have_waited_follows_at_once() -> None:
    """Of four jobs of 10 s one starts at 0 s, another is to be next, and starts at 10 s: two others have waited as long then."""
    jobs = {"submit_time": [0.0] * 4, "requested_cores": [2] * 4, "recorded_run_time": [10.0] * 4}
    source = Whole(Platform.homogeneous(nodes=1, cores=2), Workload(jobs | {"requested_time": [10.0] * 4}))
    first = {}
    for spec in ("wait", "wait:waiting=yes"):
        env = JobChoice(source, reward=spec)
        env.reset(seed=0)
        first[spec] = [env.step(1)[1] for _ in range(2)]
    assert first == {"wait": [0.0, -10.0 / 4], "wait:waiting=yes": [0.0, -30.0 / 4]}


def test_jobs_whose_nodes_boot_count_when_they_begin() -> None:
    """Nodes that switch off when idle and boot for a minute: the return and the costs are the metrics of the run all the same.

    One of the jobs is over in the instant in which its node is on.
    """
    boots = PowerTransitions(switch_on_s=60.0, switch_off_s=5.0)
    platform = Platform.homogeneous(nodes=2, cores=2, transitions=boots)
    jobs = {"submit_time": [100.0, 130.0, 130.0, 130.0], "requested_cores": [2] * 4}
    times = [10.0, 0.0, 20.0, 20.0]
    source = Whole(platform, Workload(jobs | {"recorded_run_time": times, "requested_time": [60.0] * 4}))
    for waiting in ("no", "yes"):
        kinds = {"reward": f"wait:waiting={waiting}", "cost": f"bounded-slowdown:waiting={waiting}"}
        env = JobChoice(source, **kinds, power="timeout:1")
        rewards, costs, metrics = play(env, FirstByOrder("fcfs"))
        assert env.result().jobs["start_time"].tolist()[:2] == [160.0, 190.0]
        assert -rewards == pytest.approx(metrics["mean_wait_s"], rel=1e-9)
        assert costs == pytest.approx(metrics["mean_bounded_slowdown"], rel=1e-9)
        env.reset(seed=0)
        assert env.step(0)[1] == (-30.0 / 4 if waiting == "yes" else 0.0)  # at 130 s the first has waited for 30 s


def test_against_an_order_that_can_run_nothing() -> None:
    """No job fits: the order's slowdown is taken as 1, and nothing is decided."""
    jobs = {"submit_time": [0.0], "requested_cores": [99], "recorded_run_time": [10.0], "requested_time": [10.0]}
    source = Whole(Platform.homogeneous(nodes=1, cores=2), Workload(jobs))
    rewards, _, metrics = play(JobChoice(source, reward="bounded-slowdown:against=saf", cost="wait"), lambda *_: 0)
    assert (rewards, metrics["jobs_rejected"]) == (0.0, 1)


def test_what_is_observed_is_the_callers() -> None:
    """A mask that the caller overwrites is still the one by which actions are judged; what is no whole number is refused."""
    env = JobChoice(case())
    observation, _ = env.reset(seed=0)
    allowed = env.action_masks().copy()
    observation["action_mask"][:] = 0
    assert (env.action_masks() == allowed).all()
    for wrong in (1.7, None, "x", float("nan")):
        with pytest.raises(InputError, match="action: expected a whole number"):
            env.step(wrong)
    assert "action_refused" not in env.step(np.int64(0))[4]


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), num_jobs=st.integers(2, 40), look=st.sampled_from(sorted(LOOKS)))
def test_random_choices_lose_no_job(seed: int, num_jobs: int, look: str) -> None:
    """Whoever is chosen, every job ends, and what is seen stays within its bounds."""
    rng = np.random.default_rng(seed)
    env = JobChoice(case(), look, num_jobs=num_jobs, cost="wait")

    def choose(env: JobChoice, observation: Any) -> int:
        assert env.observation_space.contains(observation)
        return int(rng.choice(np.flatnonzero(env.action_masks())))

    assert play(env, choose)[2]["jobs_completed"] == 48


def test_ranks_and_delays_by_hand() -> None:
    """Three jobs wait for one that holds 12 of 16 cores until 100 s: who would fit now, and from when on the others."""
    table = (
        case()
        .workload.jobs.iloc[:4]
        .assign(
            submit_time=[0.0, 10.0, 10.0, 10.0],
            requested_cores=[12, 16, 4, 8],
            requested_time=[100.0, 50.0, 70.0, 20.0],
            recorded_run_time=[100.0, 50.0, 70.0, 20.0],
        )
    )
    env = JobChoice(Whole(Platform.homogeneous(nodes=1, cores=16), Workload(table)))
    rows = env.reset(seed=0)[0]["actions"][:3]
    day = np.log1p(90.0) / np.log1p(1e6)
    assert rows[:, ChoiceRow.fits].tolist() == [0.0, 1.0, 0.0]
    assert rows[:, ChoiceRow.delay] == pytest.approx([day, 0.0, day])
    assert rows[:, ChoiceRow.left] == pytest.approx([0.0, 0.0, 0.5])
    assert rows[:, ChoiceRow.shortest_rank] == pytest.approx([1 / 3, 2 / 3, 0.0])
    assert rows[:, ChoiceRow.narrowest_rank] == pytest.approx([2 / 3, 0.0, 1 / 3])
    plain = JobChoice(env.episodes, "without-ranks").reset(seed=0)[0]["actions"]
    assert plain.shape[1] == ChoiceRow.oldest_rank
    assert np.array_equal(plain[:3], rows[:, : ChoiceRow.oldest_rank])
    published = JobChoice(env.episodes, "rlscheduler").reset(seed=0)[0]["actions"][:3]
    assert published[:, RLSchedulerRow.time] == pytest.approx([50 / 43200, 70 / 43200, 20 / 43200])
    assert published[:, RLSchedulerRow.wait].tolist() == [0.0, 0.0, 0.0]
    assert published[:, [RLSchedulerRow.cores, RLSchedulerRow.fits]].tolist() == [[1.0, 0.0], [0.25, 1.0], [0.5, 0.0]]


def test_who_fits_a_node_waits_for_one() -> None:
    """Five cores of each of two nodes of eight are held, until 100 and 300 s: six others have to be on one node, eleven not."""
    jobs = {
        "submit_time": [0.0, 0.0, 10.0, 10.0, 10.0],
        "requested_cores": [5, 5, 6, 11, 3],
        "requested_time": [100.0, 300.0, 50.0, 50.0, 50.0],
        "recorded_run_time": [100.0, 300.0, 50.0, 50.0, 50.0],
    }
    env = JobChoice(Whole(Platform.homogeneous(nodes=2, cores=8), Workload(jobs)))
    rows, over = env.reset(seed=0)[0]["actions"], False
    while env.simulation is None or env.simulation.env.now < 10.0:
        observation, _, over, _, _ = env.step(0)
        rows = observation["actions"]
    assert not over
    seconds = np.log1p(90.0) / np.log1p(1e6)
    assert rows[:3, ChoiceRow.fits].tolist() == [0.0, 0.0, 1.0]
    assert rows[:3, ChoiceRow.delay] == pytest.approx([seconds, seconds, 0.0])
    assert rows[:3, ChoiceRow.left] == pytest.approx([5 / 16, 0.0, 3 / 16])


def test_a_teacher_of_an_episode_without_a_choice() -> None:
    """Two jobs that never wait: the first step finds that all is over."""
    jobs = workload_of((0.0, 1, 10.0, 10.0), (1.0, 1, 10.0, 10.0))
    env = JobChoice(Whole(Platform.homogeneous(nodes=1, cores=2), jobs), cost="wait")
    assert play(env, FirstByOrder("saf"))[2]["jobs_completed"] == 2


def test_it_is_an_environment_and_refuses_what_is_none() -> None:
    """Gymnasium's own checks; wrong options in one line."""
    check_env(JobChoice(), skip_render_check=True)
    with pytest.raises(InputError, match="num_jobs"):
        JobChoice(num_jobs=1)
    for wrong in ({"observation": "p2"}, {"reward": "energy"}, {"reward": "wait:scale=0"}):
        with pytest.raises(SpecError):
            JobChoice(**wrong)


@pytest.mark.parametrize("look", sorted(LOOKS))
def test_a_run_that_is_cut_short_with_an_empty_queue(look: str) -> None:
    """What is observed at the end has no job in it, and still the shape of the space."""
    jobs = workload_of((0.0, 1, 5.0, 5.0), (0.0, 2, 5.0, 5.0), (0.0, 2, 500.0, 500.0))
    source = Whole(Platform.homogeneous(nodes=1, cores=2), jobs, until=100.0)
    env = JobChoice(source, observation=look, cost="wait")
    observation, _ = env.reset(seed=0)
    truncated = False
    while not truncated:
        observation, _, _, truncated, _ = env.step(0)
    assert env.observation_space.contains(observation)


def test_a_trained_agent_is_a_scheduler(tmp_path: Path) -> None:
    """It learns from an order and from rewards, and runs the jobs it was validated on to the same slowdown."""
    config = Config(
        environment=EnvironmentKeys(kind="job-choice"),
        network="scorer:hidden=8",
        iterations=1,
        episodes=4,
        workers=1,
        validation=ValidationKeys(episodes=2),
        baselines=["easy:order=sjf,backfill=fcfs,commit=yes,extra=no"],
        warm_start=WarmStartKeys(teacher="sjf", episodes=2, options={"epochs": 2}),
    )
    [summary] = train(config, tmp_path / "agent")
    assert summary.objective == "mean_bounded_slowdown"
    source = job_choice_case()
    found = [
        Simulation(source.platform, episode.workload, make_scheduler(f"learned:{tmp_path / 'agent'}")).run().summary()
        for episode in source.all()[::5]
    ]
    assert summary.value == pytest.approx(np.mean([one["mean_bounded_slowdown"] for one in found]), rel=1e-9)


def test_jobs_without_a_requested_time_are_observed() -> None:
    """They may run for ever: every number is still one, from 0 to 1."""
    jobs = {"submit_time": [0.0] * 3, "requested_cores": [2] * 3, "recorded_run_time": [5.0] * 3}
    env = JobChoice(Whole(Platform.homogeneous(nodes=1, cores=2), Workload(jobs)), num_jobs=4)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
