"""JobNode: the stepped simulation is the simulation, nothing is lost, waiting ends, seeds are complete."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import learning
from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import InputError, SpecError
from learning.tasks.episodes import Drawn, Episode, Whole
from learning.tasks.job_node.environment import JobNode
from learning.tasks.job_node.features import STATE_FEATURES
from learning.tasks.job_node.teachers import SchedulerTeacher
from learning.tasks.node_shutdown.environment import NodeShutdown
from learning.tasks.policy_selection.environment import PolicySelection
from tests.support.job_node_cases import at_random, cases, experiment, play, small_workloads
from tests.support.rows import workload_of

SMALL = Platform.homogeneous(nodes=3, cores=8)


def first_pair(env: JobNode, observation: Any, info: dict[str, Any]) -> int:
    """FCFS: the oldest job on the first node that it can start on; if it cannot start, nothing does."""
    head = info["action_mask"][: env.simulation.platform.node_count]  # type: ignore[union-attr]
    return int(head.argmax()) if head.any() else len(info["action_mask"]) - 1


# ---------------------------------------------------------------------------------------------------- the simulation


@settings(max_examples=15)
@given(case=cases(sleepy=False))
def test_fcfs_pairs_are_fcfs(case: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An agent that always takes the FCFS pair leaves the records of the FCFS scheduler, byte for byte."""
    options = {name: value for name, value in case.options.items() if name != "quirks"}
    workload = Workload(case.jobs)
    expected = Simulation(case.platform, workload, make_scheduler("fcfs"), **options).run()
    env = JobNode(
        episodes=Whole(case.platform, workload), observation="p2", placements="all", wait="event", patience=1e-3
    )
    observation, info = env.reset(options={"episode": Episode(case.platform, workload, **options)})
    while not env._is_over:
        observation, _, _, _, info = env.step(first_pair(env, observation, info))
    folder: Path = tmp_path_factory.mktemp("records")
    for name, result in (("expected", expected), ("stepped", env.result())):
        result.save(folder / name)
    for table in ("jobs.csv", "node_states.csv", "power.csv"):
        assert (folder / "stepped" / table).read_bytes() == (folder / "expected" / table).read_bytes()


@settings(max_examples=15)
@given(small_workloads(), st.integers(0, 9), st.sampled_from(["no", "event", "completion", "0.3"]), st.data())
def test_no_job_is_lost(workload: Workload, seed: int, wait: str, data: st.DataObject) -> None:
    """Whatever is decided, every job runs to its end, and the return is minus the energy."""
    env = JobNode(
        episodes=Whole(SMALL, workload),
        reward="energy:scaled=no,shaped=no",
        wait=wait,
        placements=data.draw(st.sampled_from(["one", "all"])),
        observation=data.draw(st.sampled_from(["default", "p3"])),
        num_jobs=data.draw(st.integers(1, 4)),
        merge_equal=data.draw(st.booleans()),
    )
    rewards, info = play(env, at_random(seed))
    summary = env.result().summary()
    assert summary["jobs_completed"] == len(workload)
    assert summary["jobs_unfinished"] == summary["jobs_rejected"] == 0
    assert sum(rewards) == pytest.approx(-summary["energy_j"], rel=1e-9)
    for name, value in info["metrics"].items():
        assert value == pytest.approx(summary[name], rel=1e-9), name


@settings(max_examples=15)
@given(case=cases(), seed=st.integers(0, 9))
def test_wishes_are_respected(case: Any, seed: int) -> None:
    """On machines that boot, for jobs that span nodes and ask for shapes, with memory: what is allowed can be done."""
    workload = Workload(case.jobs)
    env = JobNode(episodes=Whole(case.platform, workload), placements="all", memory=True, wait="event")
    observation, info = env.reset(seed=seed)
    choose = at_random(seed)
    while not env._is_over:
        observation, _, _, _, info = env.step(choose(env, observation, info))
    summary = env.result().summary()
    assert summary["jobs_completed"] + summary["jobs_rejected"] == len(workload)


def test_the_optimum_with_waiting_can_be_reached() -> None:
    """Experiment 1: the exact optimum with waiting (2736.40 J, 135 912 J·s) is a way through the environment.

    It begins with a wait on the idle machine: two jobs of four cores start together when the second has come.
    """
    starts = {"0": (0.05, 1), "1": (0.05, 1), "2": (5.05, 0), "3": (5.05, 1), "5": (5.05, 1), "4": (10.05, 1)}
    env = JobNode(episodes=experiment("1"), placements="all", wait="event", merge_equal=False)

    def follow(env: JobNode, observation: Any, info: dict[str, Any]) -> int:
        view = env.simulation.view  # type: ignore[union-attr]
        for action in np.flatnonzero(info["action_mask"][:-1]).tolist():
            job, placement = env.maker.pairs(view).action(action)  # type: ignore[attr-defined]
            start, node = starts[job.job_id]
            if start <= view.now + 1e-9 and placement.nodes == [node]:
                return int(action)
        assert info["action_mask"][-1]
        return len(info["action_mask"]) - 1

    _, info = play(env, follow)
    assert info["metrics"]["energy_j"] == pytest.approx(2736.40, abs=5e-3)
    assert info["metrics"]["edp_js"] == pytest.approx(135_912, abs=0.5)


@pytest.mark.parametrize(
    ("name", "energy", "edp"), [("1", 3564.94, 291_773), ("2", 32_090.88, 5_071_504.8), ("3", 315_245, 49_848_416)]
)
def test_published_heuristics_step_by_step(name: str, energy: float, edp: float) -> None:
    """smallest/high_mem, stepped as actions, gives what the papers' own program gave."""
    _, info = play(JobNode(episodes=experiment(name), placements="all"), _teacher("list:smallest/most_used_mem"))
    assert info["metrics"]["energy_j"] == pytest.approx(energy, rel=2e-6)
    assert info["metrics"]["edp_js"] == pytest.approx(edp, rel=2e-6)


def _teacher(spec: str) -> Any:
    teacher = SchedulerTeacher(spec)
    return lambda env, observation, info: teacher(env, observation)


# ---------------------------------------------------------------------------------------------------- Gymnasium

OPTIONS = [
    {"observation": observation, "placements": placements, "wait": wait, "flat": flat}
    for observation, placements, wait, flat in itertools.product(
        ("default", "default:features=cores+least_delay+pending", "p2", "p3:norm=none"),
        ("one", "all"),
        ("no", "event"),
        (False, True),
    )
] + [{"wait": "completion"}, {"wait": "1.5"}, {"merge_equal": False}, {"power": "timeout:5"}, {"num_jobs": 1}]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values())))
def test_check_env_is_silent(options: dict[str, Any]) -> None:
    """Gymnasium's checker finds nothing to say, whatever the options."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # An observation without norm has no upper bound: of that, and of nothing else, it may warn.
        warnings.filterwarnings("ignore", message=".*maximum value.*infinity")
        check_env(gym.make("ClusterSim/JobNode-v0", **options).unwrapped, skip_render_check=True)


def test_render_modes() -> None:
    """Text names the jobs that run; the figure is a Gantt with a row per node."""
    env = gym.make("ClusterSim/JobNode-v0", render_mode="ansi")
    _, info = env.reset(seed=1)
    env.step(int(info["action_mask"].argmax()))
    text = env.render()
    assert isinstance(text, str)
    assert "1 running" in text
    assert "cluster0.node" in text
    figure = gym.make("ClusterSim/JobNode-v0", render_mode="figure")
    figure.reset(seed=1)
    assert type(figure.render()).__name__ == "Figure"


def test_the_ids_are_registered_by_the_import() -> None:
    """``import learning`` is enough for gymnasium.make."""
    assert set(learning.ENVIRONMENTS) <= set(gym.registry)


def test_equal_seeds_give_equal_episodes() -> None:
    """Two environments with one seed show and pay the same; another seed does not."""

    def course(seed: int) -> tuple[bytes, list[float]]:
        env = JobNode(wait="event")
        seen: list[bytes] = []
        choose = at_random(3)

        def look(env: JobNode, observation: Any, info: dict[str, Any]) -> int:
            seen.extend(observation[name].tobytes() for name in sorted(observation))
            return choose(env, observation, info)

        rewards, _ = play(env, look, seed=seed)
        return b"".join(seen), rewards

    assert course(1) == course(1)
    assert course(1) != course(2)


def test_an_action_that_is_not_allowed_counts_as_the_first_that_is() -> None:
    """A library that ignores masks does not crash, and is told."""
    env = JobNode(SMALL, Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [1.0]}))
    _, info = env.reset()
    *_, terminated, truncated, info = env.step(env.action_space.n - 1)
    assert info["action_refused"]
    assert (terminated, truncated) == (True, False)


def test_steps_outside_an_episode_are_refused() -> None:
    """Before a reset and after the end there is nothing to decide."""
    env = JobNode()
    with pytest.raises(InputError, match="reset"):
        env.step(0)


def test_truncated_is_not_terminated() -> None:
    """An episode that ``until`` cuts short is truncated; one that ends before is terminated."""
    jobs = Workload({"submit_time": [0.0, 1.0], "requested_cores": [8, 8], "recorded_run_time": [10.0, 10.0]})
    for until, ending in ((5.0, (False, True)), (50.0, (True, False))):
        env = JobNode(episodes=Whole(SMALL, jobs, until=until))
        _, info = env.reset()
        while not env._is_over:
            *_, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
        assert (terminated, truncated) == ending
        assert info["metrics"]["jobs_unfinished"] == (2 if until == 5.0 else 0)


@pytest.mark.parametrize("observation", ["default", "p3"])
@pytest.mark.parametrize("pending", [0, 1, 3])
def test_what_is_cut_short_is_observed(observation: str, pending: int) -> None:
    """Three nodes at 5 s, two of them full and one half full, and so many jobs pending for which none has room."""
    cores = [8, 8, 4, *[8] * pending]
    jobs = Workload(
        {"submit_time": [0.0] * len(cores), "requested_cores": cores, "recorded_run_time": [10.0] * len(cores)}
    )
    env = JobNode(episodes=Whole(SMALL, jobs, until=5.0), observation=observation, placements="all")
    seen, info = env.reset()
    terminated = truncated = False
    while not (terminated or truncated):
        seen, reward, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
    assert truncated
    assert np.isfinite(reward)
    assert info["action_mask"].tolist() == [1, *[0] * (len(info["action_mask"]) - 1)]
    assert env.observation_space.contains(seen)
    if observation == "default":
        state = dict(zip(STATE_FEATURES, seen["state"], strict=True))
        assert state["free"] == pytest.approx(4 / 24)
        assert state["running"] == pytest.approx(3 / 6)
        assert state["pending"] == pytest.approx(pending / (pending + 16))


@pytest.mark.parametrize("kind", [PolicySelection, NodeShutdown])
@pytest.mark.parametrize("pending", [0, 2])
def test_the_others_observe_what_is_cut_short_too(kind: Any, pending: int) -> None:
    """Jobs run, and perhaps wait, when the time is up: something is seen of them, and some action is allowed."""
    cores = [8, 8, 4, *[8] * pending]
    jobs = Workload(
        {"submit_time": [0.0] * len(cores), "requested_cores": cores, "recorded_run_time": [200.0] * len(cores)}
    )
    env = kind(episodes=Whole(SMALL, jobs, until=100.0))
    _, info = env.reset()
    terminated = truncated = False
    while not (terminated or truncated):
        seen, _, terminated, truncated, info = env.step(0)
    assert truncated
    assert info["action_mask"].any()
    assert seen["state"].any()
    assert env.observation_space.contains(seen)


def test_an_episode_of_ones_own() -> None:
    """``reset`` runs the episode it is given; one on another machine is refused."""
    env = JobNode()
    platform = env.episodes.platform
    episode = Episode(platform, Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [1.0]}))
    env.reset(options={"episode": episode})
    assert env.episode is episode
    with pytest.raises(InputError, match="platform"):
        env.reset(options={"episode": Episode(SMALL, episode.workload)})


# ---------------------------------------------------------------------------------------------------- waiting


def jobs_of(*rows: tuple[float, int, float]) -> Workload:
    """Jobs from (submission, cores, run time), of which the requested time is the run time."""
    return workload_of(*((*row, row[2]) for row in rows))


@pytest.mark.parametrize(
    ("wait", "times"),
    [("event", [0.0, 2.0, 10.0]), ("completion", [0.0, 10.0]), ("3", [0.0, 2.0, 5.0, 8.0, 10.0])],
)
def test_when_a_wait_ends(wait: str, times: list[float]) -> None:
    """At the next event, at the next completion, or after a time: of a wait that an arrival at 2 s has ended, nothing is left."""
    one = Platform.homogeneous(nodes=1, cores=8)
    env = JobNode(one, jobs_of((0.0, 2, 10.0), (0.0, 3, 1.0), (2.0, 3, 1.0)), placements="all", wait=wait)
    env.reset()
    env.step(0)  # the first job starts; from now on the agent only waits
    asked = []
    while True:
        asked.append(env.simulation.env.now)  # type: ignore[union-attr]
        if asked[-1] >= 10.0:
            break
        env.step(env.action_space.n - 1)
    assert asked == times


def test_waiting_on_an_idle_machine_does_not_stall() -> None:
    """While nothing runs a wait lasts ``patience`` at most, and then something has to start, or to arrive."""
    env = JobNode(SMALL, jobs_of((0.0, 1, 5.0), (0.4, 1, 5.0), (9.0, 1, 5.0)), wait="event", patience=1.0)
    asked = []
    _, info = env.reset()
    while not env._is_over:
        may_wait = bool(info["action_mask"][-1])
        asked.append((env.simulation.env.now, may_wait))  # type: ignore[union-attr]
        *_, info = env.step(env.action_space.n - 1 if may_wait else 0)
    # The wait from 0 is over when a job comes at 0.4, and one may wait again, until 1.4; nothing has happened by then, and
    # something has to start.
    assert asked[:3] == [(0.0, True), (0.4, True), (1.4, False)]
    assert env.result().summary()["jobs_completed"] == 3


def test_without_patience_an_idle_machine_has_to_start_something() -> None:
    """``patience=0``: waiting is masked while nothing runs."""
    env = JobNode(SMALL, jobs_of((0.0, 1, 5.0)), wait="event", patience=0.0)
    _, info = env.reset()
    assert not info["action_mask"][-1]


def test_one_placement_per_event() -> None:
    """As published, one pair is placed at an event and time goes on; with ``all`` whatever fits."""
    jobs = jobs_of((0.0, 1, 5.0), (0.0, 1, 5.0), (0.0, 1, 5.0))
    starts = {}
    for placements in ("one", "all"):
        env = JobNode(SMALL, jobs, placements=placements)
        play(env, at_random(0))
        starts[placements] = env.result().jobs["start_time"].tolist()
    assert starts == {"one": [0.0, 5.0, 10.0], "all": [0.0, 0.0, 0.0]}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"placements": "two"}, "placements"),
        ({"wait": "long"}, "wait"),
        ({"wait": "-1"}, "wait"),
        ({"num_jobs": 0}, "num_jobs"),
        ({"patience": -1.0}, "patience"),
        ({"observation": "p4"}, "p4"),
        ({"observation": "default:features=colour"}, "colour"),
        ({"observation": "p2:norm=L1"}, "norm"),
        ({"reward": "energy:gamma=0"}, "gamma"),
        ({"render_mode": "human"}, "render_mode"),
        ({"platform": SMALL}, "workload"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], named: str) -> None:
    """What is wrong is said in one line, with what was expected."""
    with pytest.raises((InputError, SpecError), match=named):
        JobNode(**options)


def test_a_drawn_episode_is_the_generators() -> None:
    """Without an option the episode is drawn with ``np_random``."""
    made: list[float] = []

    def make(rng: np.random.Generator) -> Workload:
        made.append(float(rng.random()))
        return jobs_of((0.0, 1, 1.0))

    env = JobNode(episodes=Drawn(SMALL, make))
    env.reset(seed=4)
    env.reset(seed=4)
    env.reset()
    assert made[0] == made[1] != made[2]
