"""Other people's training programs run on our environments: sb3-contrib, TorchRL, and loops written by hand."""

from __future__ import annotations

import copy
import pickle
import runpy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import learning
from cluster_sim import Workload
from cluster_sim.errors import InputError
from learning.tasks.built_in_cases import built_in_day
from learning.tasks.episodes import Days, Whole
from learning.tasks.job_node.environment import JobNode
from learning.tasks.job_node.rewards import rewards
from learning.tasks.node_shutdown.environment import NodeShutdown
from learning.tasks.policy_selection.environment import PolicySelection

IDS = tuple(learning.ENVIRONMENTS)
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "cleanrl_style.py"

# Rewards that add up to minus a metric, unscaled. With such a tau no job is ever late, so that only waste is paid for.
PAID: dict[str, tuple[dict[str, Any], str]] = {
    "ClusterSim/JobNode-v0": ({"reward": "energy:scaled=no,shaped=no", "wait": "event"}, "energy_j"),
    "ClusterSim/PolicySelection-v0": ({"reward": "metric:energy,scale=1"}, "energy_j"),
    "ClusterSim/JobChoice-v0": ({}, "mean_bounded_slowdown"),
    "ClusterSim/JobsAndNodes-v0": ({"reward": "energy-and-wait:price=0,against="}, "energy_j"),
    "ClusterSim/NodeShutdown-v0": ({"reward": "as-published", "tau": 1e9}, "energy_waste_by_core_wmin"),
}


class Log(gym.Wrapper[Any, Any, Any, Any]):
    """Keeps what other programs do: how each episode ended, and whether they could and did take what is not allowed."""

    def __init__(self, env: gym.Env[Any, Any]):
        super().__init__(env)
        self.episodes: list[tuple[float, dict[str, Any]]] = []  # return, metrics
        self.masked = self.refused = 0
        self._return = 0.0

    def reset(self, **options: Any) -> Any:
        """Begin to add up."""
        self._return = 0.0
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        """Look at the action."""
        allowed = self.env.unwrapped.action_masks()  # type: ignore[attr-defined]
        self.masked += not allowed.all()
        self.refused += not allowed[int(action)]
        *_, reward, terminated, truncated, info = step = self.env.step(action)
        self._return += float(reward)
        if terminated or truncated:
            self.episodes.append((self._return, info["metrics"]))
        return step


def logged(name: str, **options: Any) -> Log:
    """An environment that pays one of its metrics, and a log of what happens in it."""
    return Log(gym.make(name, **PAID[name][0], **options))


def judge(log: Log, name: str, episodes: int) -> None:
    """What must be true of a log, whoever trained: masks kept, which means something; metrics paid, in so many episodes."""
    assert log.masked > 0
    assert log.refused == 0
    assert len(log.episodes) >= episodes
    metric = PAID[name][1]
    for total, metrics in log.episodes:
        assert metrics[metric] > 0.0
        assert total == pytest.approx(-metrics[metric], rel=1e-6)


# ---------------------------------------------------------------------- sb3-contrib


@pytest.mark.parametrize(
    ("name", "flat", "episodes"),
    [
        ("ClusterSim/JobNode-v0", False, 2),
        ("ClusterSim/JobNode-v0", True, 2),
        ("ClusterSim/PolicySelection-v0", False, 2),
        ("ClusterSim/NodeShutdown-v0", True, 1),
    ],
)
def test_maskable_ppo_learns(name: str, flat: bool, episodes: int) -> None:
    """256 steps of MaskablePPO, on Dict and Box: nothing masked is taken, and returns are minus the metric."""
    sb3_contrib = pytest.importorskip("sb3_contrib")
    log = logged(name, flat=flat)
    policy = "MlpPolicy" if flat else "MultiInputPolicy"
    sizes = {"n_steps": 64, "batch_size": 64, "n_epochs": 1, "policy_kwargs": {"net_arch": [8]}}
    model = sb3_contrib.MaskablePPO(policy, log, seed=1, device="cpu", **sizes)
    before = [weights.clone() for weights in model.policy.parameters()]
    model.learn(256)
    assert model.num_timesteps == 256
    assert any((new != old).any() for new, old in zip(model.policy.parameters(), before, strict=True))
    judge(log, name, episodes)
    # Monitor's own account of the episodes, which MaskablePPO put around the environment.
    assert [episode["r"] for episode in model.ep_info_buffer] == pytest.approx([r for r, _ in log.episodes], rel=1e-6)


@pytest.mark.parametrize("name", IDS)
def test_sb3_finds_the_masks_behind_wrappers(name: str) -> None:
    """Through Monitor and others, in a vector of environments, without sb3-contrib's ActionMasker."""
    utils = pytest.importorskip("sb3_contrib.common.maskable.utils")
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    env = Monitor(gym.wrappers.TransformReward(gym.make(name), lambda reward: reward))
    venv = DummyVecEnv([lambda: env, lambda: gym.make(name)])
    assert utils.is_masking_supported(env)
    assert utils.is_masking_supported(venv)
    assert not utils.is_masking_supported(gym.make("CartPole-v1"))
    _, info = env.reset(seed=1)
    assert utils.get_action_masks(env).tolist() == info["action_mask"].astype(bool).tolist()
    venv.seed(1)
    observation: Any = venv.reset()
    masks = utils.get_action_masks(venv)
    assert masks.shape == (2, env.action_space.n)  # type: ignore[attr-defined]
    assert masks.dtype == bool
    assert (masks == observation["action_mask"]).all()


# ---------------------------------------------------------------------- TorchRL


@pytest.fixture(scope="module")
def torchrl_envs() -> Any:
    """torchrl.envs, or a skipped test."""
    return pytest.importorskip("torchrl.envs")


@pytest.mark.parametrize("name", IDS)
def test_torchrl_takes_the_environments(torchrl_envs: Any, name: str) -> None:
    """TorchRL's check of specs passes. Random actions of TorchRL keep to the mask, also when episodes end."""
    log = logged(name)
    wrapped = torchrl_envs.GymWrapper(log, categorical_action_encoding=True, device="cpu")
    env = torchrl_envs.TransformedEnv(wrapped, torchrl_envs.ActionMask())
    torchrl_envs.check_env_specs(env, seed=1)
    env.set_seed(1)
    rollout = env.rollout(60, break_when_any_done=False)
    taken = rollout["action_mask"].gather(-1, rollout["action"].unsqueeze(-1))
    assert taken.shape == (60, 1)
    assert taken.all()
    judge(log, name, 0 if name.endswith(("NodeShutdown-v0", "JobsAndNodes-v0")) else 1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:The env passed to Collector:FutureWarning")
def test_a_torchrl_collector_feeds_a_training_loop(torchrl_envs: Any) -> None:
    """A few steps of REINFORCE on what its collector brings: masks kept, returns minus the energy, weights moved."""
    import torch

    tensordict_nn: Any = pytest.importorskip("tensordict.nn")
    collectors: Any = pytest.importorskip("torchrl.collectors")
    modules: Any = pytest.importorskip("torchrl.modules")
    torch.manual_seed(1)
    name = "ClusterSim/JobNode-v0"
    log = logged(name)
    wrapped = torchrl_envs.GymWrapper(log, categorical_action_encoding=True, device="cpu")
    bools = torchrl_envs.DTypeCastTransform(torch.int8, torch.bool, ["action_mask"])
    env = torchrl_envs.TransformedEnv(wrapped, torchrl_envs.Compose(bools, torchrl_envs.RewardSum()))
    score = torch.nn.Linear(wrapped.observation_spec["actions"].shape[-1], 1)
    scorer = torch.nn.Sequential(score, torch.nn.Flatten(-2))
    actor = modules.ProbabilisticActor(
        tensordict_nn.TensorDictModule(scorer, ["actions"], ["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=modules.MaskedCategorical,
        spec=env.action_spec,
        return_log_prob=True,
    )
    before = score.weight.detach().clone()
    optimiser = torch.optim.SGD(score.parameters(), lr=1e-3)
    collector = collectors.Collector(env, actor, frames_per_batch=64, total_frames=192)
    steps, sums = 0, []
    for batch in collector:
        ended = batch["next", "done"]
        sums += batch["next", "episode_reward"][ended].tolist()
        loss = -(actor.log_prob(batch) * batch["next", "reward"].squeeze(-1) / 1e4).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        steps += batch.numel()
    collector.shutdown()
    assert steps == 192
    assert (score.weight != before).any()
    judge(log, name, 3)
    assert sums == pytest.approx([-metrics["energy_j"] for _, metrics in log.episodes], rel=1e-4)  # float32 adds up


# ---------------------------------------------------------------------- vectors of Gymnasium's own


@pytest.mark.parametrize("name", IDS)
def test_make_vec_passes_seeds_on(name: str) -> None:
    """Environments of a vector show what each shows alone with its seed; one number seeds the i-th with number + i."""
    envs = gym.make_vec(f"learning:{name}", num_envs=2, vectorization_mode="sync")
    observations, infos = envs.reset(seed=[3, 4])  # type: ignore[arg-type]
    for i, seed in enumerate((3, 4)):
        alone, info = gym.make(name).reset(seed=seed)
        assert {key: row[i].tolist() for key, row in observations.items()} == {k: v.tolist() for k, v in alone.items()}
        assert infos["action_mask"][i].tolist() == info["action_mask"].tolist()
    again, _ = envs.reset(seed=3)
    assert all((again[key] == observations[key]).all() for key in again)


Transition = tuple[bytes, int, float, bool, bool, float | None]


def transitions(name: str, mode: AutoresetMode, count: int) -> list[list[Transition]]:
    """What each of two environments goes through: observation, action, reward, ends, and the metric at an end."""
    options, metric = PAID[name]
    vector = {"autoreset_mode": mode}
    envs = gym.make_vec(name, num_envs=2, vectorization_mode="sync", vector_kwargs=vector, flat=True, **options)
    observations, infos = envs.reset(seed=[1, 2])  # type: ignore[arg-type]
    rngs = [np.random.default_rng(i) for i in range(2)]
    found: list[list[Transition]] = [[], []]
    ended = np.zeros(2, dtype=bool)
    for _ in range(count):
        decides = ~ended if mode is AutoresetMode.NEXT_STEP else np.ones(2, dtype=bool)
        masks = infos["action_mask"]
        actions = [int(rngs[i].choice(masks[i].nonzero()[0])) if decides[i] else 0 for i in range(2)]
        seen = [row.tobytes() for row in observations]
        observations, rewards, terminated, truncated, infos = envs.step(np.array(actions))
        ended = terminated | truncated
        at_end = infos.get("final_info", infos).get("metrics", {})
        for i in np.flatnonzero(decides):
            value = float(at_end[metric][i]) if ended[i] else None
            ends = bool(terminated[i]), bool(truncated[i])
            found[i].append((seen[i], actions[i], float(rewards[i]), *ends, value))
        if mode is AutoresetMode.NEXT_STEP:
            assert (rewards[~decides] == 0.0).all()
    return found


@pytest.mark.parametrize("name", IDS[:2])
def test_both_ways_of_resetting_give_the_same_transitions(name: str) -> None:
    """NEXT_STEP without the steps that only reset is SAME_STEP; with the metric paid in every episode."""
    later = transitions(name, AutoresetMode.NEXT_STEP, 120)
    at_once = transitions(name, AutoresetMode.SAME_STEP, 120)
    for some, more in zip(later, at_once, strict=True):
        assert len(more) == 120
        ends = [i for i, transition in enumerate(some) if transition[-1] is not None]
        assert len(ends) >= 2
        assert len(some) in (120 - len(ends), 121 - len(ends))  # the last end may be that of the last step
        assert some == more[: len(some)]
        begin = 0
        for end in ends:
            total = sum(transition[2] for transition in some[begin : end + 1])
            assert total == pytest.approx(-some[end][-1], rel=1e-6)  # type: ignore[operator]
            begin = end + 1


def test_the_cleanrl_style_example_learns_nothing_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two updates of the example's loop, its environments under watch."""
    pytest.importorskip("torch")
    logs: list[Log] = []

    def make_vec(name: str, num_envs: int, **_: Any) -> SyncVectorEnv:
        logs.extend(logged(name) for _ in range(num_envs))
        return SyncVectorEnv([partial(lambda log: log, log) for log in logs])

    monkeypatch.setattr(gym, "make_vec", make_vec)
    episodes = runpy.run_path(str(EXAMPLE))["train"](updates=1)
    assert len(logs) > 1
    for log in logs:
        judge(log, "ClusterSim/JobNode-v0", 2)
    ours = sorted((metrics["edp_js"], total) for log in logs for total, metrics in log.episodes)
    told = sorted((episode["edp_js"], episode["return"]) for episode in episodes)
    assert np.array(told) == pytest.approx(np.array(ours))


# ---------------------------------------------------------------------- what used to break them

PLATFORM = built_in_day().platform
NOTHING = Workload({"submit_time": [], "requested_cores": [], "recorded_run_time": []})


def pickled(env: Any) -> Any:
    """As it comes out of a pickle, in which vector environments send what they are made of to their processes."""
    return pickle.loads(pickle.dumps(env))


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickled])
def test_a_run_cannot_be_copied(name: str, how: Callable[[Any], Any]) -> None:
    """Not even so that two environments share it; where none has begun, a copy goes the way of the original."""
    env = gym.make(name).unwrapped
    other = how(env)
    assert env.reset(seed=3)[1]["action_mask"].tolist() == other.reset(seed=3)[1]["action_mask"].tolist()
    with pytest.raises(InputError, match="copy of an environment: expected one that has not been reset"):
        how(env)


@pytest.mark.parametrize("reward", list(rewards))
def test_an_environment_with_any_reward_can_be_pickled(reward: str) -> None:
    """Before a reset. What rewards remember of workloads, by weak references, is worked out anew."""
    env = JobNode(reward=reward, cost="energy")
    other = pickled(env)
    for each in (env, other):
        each.reset(seed=3)
    action = int(env.action_masks().argmax())
    assert env.step(action)[1] == other.step(action)[1]


@pytest.mark.parametrize("make", [JobNode, PolicySelection], ids=["JobNode", "PolicySelection"])
def test_an_episode_without_decisions_has_one_step(make: Any) -> None:
    """A reset cannot say that an episode is over; the first step does, whatever its action, and then a vector goes on."""
    env = make(episodes=Whole(PLATFORM, NOTHING))
    _, info = env.reset(seed=1)
    assert env.action_masks().any()
    assert "metrics" not in info
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info["metrics"]["jobs_completed"] == 0
    with pytest.raises(Exception, match="reset"):
        env.step(0)
    envs = SyncVectorEnv([lambda: make(episodes=Whole(PLATFORM, NOTHING))] * 2)
    envs.reset(seed=1)
    ends = [envs.step(np.zeros(2, np.int64))[2].tolist() for _ in range(4)]
    assert ends == [[True, True], [False, False]] * 2


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value)
def test_metrics_without_a_value_do_not_break_a_vector(mode: AutoresetMode) -> None:
    """One environment counts late jobs, in another no job has a date to be late for: no None where ints are kept."""

    def day(**columns: list[float]) -> NodeShutdown:
        jobs = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [60.0], **columns})
        return NodeShutdown(Days(PLATFORM, [jobs], until=600.0))

    envs = SyncVectorEnv([lambda: day(deadline=[1.0]), lambda: day()], autoreset_mode=mode)
    envs.reset(seed=1)
    for _ in range(20):
        _, _, terminated, truncated, info = envs.step(np.zeros(2, np.int64))
        if (terminated | truncated).any():
            break
    metrics = info.get("final_info", info)["metrics"]
    assert metrics["_jobs_late"].tolist() == [True, False]
    assert metrics["jobs_late"].tolist() == [1, 0]
