"""Arguments of environments that are of a wrong kind end in one line that names them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import learning
from cluster_sim.options import options_of

pytest.importorskip("gymnasium")
pytest.importorskip("torch")

import gymnasium

from cluster_sim import Platform, Workload
from cluster_sim.errors import InputError, SpecError
from learning import ENVIRONMENTS
from learning.algorithms.actor_critic import ActorCriticOptions
from learning.algorithms.constraint import ConstraintOptions
from learning.algorithms.imitation import ImitationOptions
from learning.algorithms.ppo import PPOOptions
from learning.algorithms.reinforce import ReinforceOptions
from learning.tasks.environment import SchedulingEnv
from learning.tasks.job_choice.environment import JobChoice
from learning.tasks.job_node.environment import JobNode
from learning.tasks.node_shutdown.environment import NodeShutdown
from learning.tasks.policy_selection.environment import PolicySelection


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        (JobChoice, "extra"),
        (JobNode, "memory"),
        (JobNode, "merge_equal"),
        (NodeShutdown, "skip"),
        (PolicySelection, "blocking"),
        (PolicySelection, "memory"),
        (PolicySelection, "flat"),
    ],
)
@pytest.mark.parametrize("value", ["no", 0, 2.5])
def test_a_text_is_no_truth(kind: type, option: str, value: Any) -> None:
    """``extra="no"`` would count as true."""
    with pytest.raises(InputError, match=rf"{option}: expected True or False, found {value}"):
        kind(**{option: value})


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: JobNode(wait=True), "JobNode, wait: expected a finite number or a text, found True"),
        (lambda: NodeShutdown(patience="1"), "NodeShutdown, patience: expected a number above 0, found"),
        (lambda: NodeShutdown(step_s=True), "NodeShutdown, step_s: expected seconds above 0, found True"),
        (lambda: NodeShutdown(step_s=np.inf), "NodeShutdown, step_s: expected finite seconds above 0"),
        (lambda: JobChoice(reward="wait:scale=inf"), "option scale: expected a finite number above 0, found inf"),
        (lambda: JobNode().reset(options={"episod": None}), "reset, options: expected only 'episode', found episod"),
        (lambda: NodeShutdown().reset(options=["episode"]), "reset, options: expected a mapping such as .*, found"),
        (lambda: JobNode().reset(options={"episode": "x"}), "reset, option episode: expected an episode, .* found x"),
    ],
)
def test_what_is_no_number_and_no_episode(make: Callable[[], Any], told: str) -> None:
    """Values that would count as others, or end in an error of Python's."""
    with pytest.raises((InputError, SpecError), match=told):
        make()


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        (PPOOptions, {"epochs": 2.5}, "ppo option 'epochs': expected a whole number above 0, found 2.5"),
        (PPOOptions, {"epochs": True}, "ppo option 'epochs': expected a whole number above 0, found True"),
        (PPOOptions, {"actor_lr": "x"}, "ppo option 'actor_lr': expected a finite number above 0, found x"),
        (PPOOptions, {"actor_lr": "1e-3"}, "ppo option 'actor_lr': expected a finite number above 0, found \"1e-3\""),
        (PPOOptions, {"actor_lr": np.inf}, "ppo option 'actor_lr': expected a finite number above 0, found inf"),
        (
            PPOOptions,
            {"entropy_end": "0"},
            "ppo option 'entropy_end': expected a finite number, 0 or more, found \"0\"",
        ),
        (PPOOptions, {"swa": 1}, "ppo option 'swa': expected True or False, found 1"),
        (PPOOptions, {"lr_schedule": 5}, "ppo option 'lr_schedule': expected constant or linear, found 5"),
        (ReinforceOptions, {"scale": None}, "reinforce option 'scale': expected a finite number above 0"),
        (
            ReinforceOptions,
            {"normalise": ["no"]},
            "reinforce option 'normalise': expected episode, iteration, decision or no",
        ),
        (
            ActorCriticOptions,
            {"gamma": "1"},
            "actor-critic option 'gamma': expected a number, 0 or more and at most 1, found \"1\"",
        ),
        (
            ImitationOptions,
            {"minibatch": 0.5},
            "imitation option 'minibatch': expected a whole number, 0 or more, found 0.5",
        ),
        (
            ConstraintOptions,
            {"limit": "1", "learning_rate": 1},
            "constraint option 'limit': expected a finite number, 0 or more, found \"1\"",
        ),
    ],
)
def test_hyper_parameters_are_checked_as_those_in_a_file(kind: type, given: dict[str, Any], told: str) -> None:
    """2.5 passes over the episodes are none, and a text ended in an error of Python's."""
    with pytest.raises(InputError) as error:
        kind(**given)
    assert str(error.value).startswith(told)


def test_hyper_parameters_may_be_numbers_of_numpy() -> None:
    """As a search over some gives them; and what has no value may have none."""
    options = PPOOptions(
        epochs=np.int64(3), actor_lr=np.float32(0.5), gamma=1, shuffle=np.bool_(False), entropy_end=None
    )
    assert (options.epochs, options.actor_lr, options.gamma, options.entropy_end) == (3, 0.5, 1, None)
    assert ConstraintOptions(limit=1, learning_rate=1).at_most == np.inf


@pytest.mark.parametrize("kind", [JobChoice, JobNode])
@pytest.mark.parametrize("value", [2.5, "8", None, True, 0, 10**9])
def test_jobs_are_counted_in_whole_numbers(kind: type, value: Any) -> None:
    """The number of visible jobs is one."""
    with pytest.raises(InputError, match=r"num_jobs: expected (a whole number of jobs|an integer from)"):
        kind(num_jobs=value)
    assert kind(num_jobs=np.int64(8)).reset(seed=0)[1]["action_mask"].any()


WRONG: dict[str, tuple[Any, ...]] = {
    "platform": (5, [1], b"x"),
    "workload": (5, [1], b"x"),
    "episodes": (5, "x", [1]),
    "observation": (5, None, [1], {"a": 1}, "nonsense"),
    "reward": (5, None, [1], "nonsense"),
    "cost": (5, [1], "nonsense"),
    "power": (5, [1], "nonsense"),
    "scheduler": (5, None, [1], "nonsense"),
    "placements": (5, None, [1], "nonsense"),
    "wait": (True, None, [1], "nonsense"),
    "head": (5, None, [1], "nonsense"),
    "asked": (5, None, [1], "nonsense"),
    "idle": (5, None, [1], "nonsense"),
    "nodes": (5, None, [1], "nonsense"),
    "policies": (5, None, [1], b"x", "nonsense"),
    "patience": (True, None, [1], "1", b"x", float("nan")),
    "step_s": (True, None, [1], "1", float("nan")),
    "tau": (True, None, [1], "1", float("nan")),
    "num_jobs": (True, None, [1], "16", 2.5, 0),
    "merge_equal": (1, "no"),
    "memory": (1, None, "no"),
    "blocking": (1, None, "no"),
    "extra": (1, None, "no"),
    "skip": (1, None, "no"),
    "flat": (1, None, "no"),
    "render_mode": ("nonsense",),
}
"""Of every option of an environment: values that it does not take."""
every_environment = pytest.mark.parametrize("kind", ENVIRONMENTS)


def class_of(kind: str) -> type[SchedulingEnv]:
    """The class behind one of Gymnasium's ids."""
    return type(gymnasium.make(kind).unwrapped)  # type: ignore[return-value]


def line_of(make: Callable[[], object]) -> str:
    """What an InputError says, in one line."""
    with pytest.raises(InputError) as error:
        make()
    told = str(error.value)
    assert "\n" not in told
    return told


@every_environment
def test_an_unknown_option_names_the_environment_and_the_nearest(kind: str) -> None:
    """By ``gymnasium.make``, for several at once, and by the class itself, of which a user's may be derived."""
    env = class_of(kind)
    known = list(inspect.signature(env).parameters)
    for make in (
        lambda **options: gymnasium.make(kind, **options),
        lambda **options: gymnasium.make_vec(kind, num_envs=2, **options),
        lambda **options: gymnasium.make_vec(kind, num_envs=2, vectorization_mode="async", **options),
        env,
    ):
        told = line_of(lambda make=make: make(foo=1))
        assert told.startswith(f"{env.__name__}, unexpected keyword argument 'foo': expected one of {', '.join(known)}")
        for option in known:
            misspelt = option[:-2] + option[-1] + option[-2] + "s"
            told = line_of(lambda make=make, misspelt=misspelt: make(**{misspelt: 1}))
            name = f"{env.__name__}, unexpected keyword argument '{misspelt}'"
            assert told.startswith(f"{name}: expected {option} (the nearest known name)")


def test_a_class_of_a_users_is_named() -> None:
    """With its own name, as the options are passed on."""

    class Mine(JobNode):
        def __init__(self, colour: str = "red", **options: Any):
            super().__init__(**options)

    assert Mine(colour="blue", flat=True).flat
    assert line_of(lambda: Mine(flatt=True)) == (
        "Mine, unexpected keyword argument 'flatt': expected flat (the nearest known name)"
    )


@every_environment
def test_a_value_of_another_type_names_environment_and_option(kind: str) -> None:
    """For every option that there is, so that a new one gets its row."""
    env = class_of(kind)
    for option in inspect.signature(env).parameters:
        for value in WRONG[option]:
            beside = {"workload": "lublin:jobs=2,nodes=1", "platform": "homogeneous:nodes=1,cores=1"}
            rest = {name: spec for name, spec in beside.items() if option in beside and name != option}
            told = line_of(lambda given={option: value, **rest}: gymnasium.make(kind, **given))
            assert env.__name__ in told, told
            assert option in told or option in ("scheduler", "power", "cost"), told


@every_environment
@pytest.mark.parametrize("mode", ["one", "sync", "async"])
@pytest.mark.filterwarnings("ignore:.*ERROR:UserWarning")
def test_a_misspelt_option_of_a_reset_is_told(kind: str, mode: str) -> None:
    """Also by environments in processes of Gymnasium's, which make errors anew from themselves."""
    env = gymnasium.make(kind) if mode == "one" else gymnasium.make_vec(kind, num_envs=2, vectorization_mode=mode)
    try:
        told = line_of(lambda: env.reset(options={"episod": None}))
        assert told == f"{class_of(kind).__name__}.reset, options: expected only 'episode', found episod"
    finally:
        env.close(**({"terminate": True} if mode == "async" else {}))


def test_files_may_be_paths(tmp_path: Path) -> None:
    """A platform and a workload by ``pathlib``."""
    Platform.homogeneous(nodes=1, cores=2).write(tmp_path / "p.yaml")
    Workload.read("lublin:jobs=3,nodes=2").write(tmp_path / "w.csv")
    env = JobNode(tmp_path / "p.yaml", tmp_path / "w.csv")
    assert env.episodes.platform.node_count == 1


@pytest.mark.parametrize("name", learning.ENVIRONMENTS)
def test_every_option_of_an_environment_says_what_it_means(name: str) -> None:
    """``cluster-sim list NAME`` shows it, with what it may be."""
    module, _, attribute = learning.ENVIRONMENTS[name].partition(":")
    options = options_of(getattr(import_module(module), attribute))
    assert not [option.name for option in options.values() if not option.meaning]
    assert {"observation", "reward", "flat", "render_mode", "cost"} <= options.keys()
