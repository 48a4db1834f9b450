"""Arguments of environments that are of a wrong kind end in one line that names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("torch")

from cluster_sim.errors import InputError, SpecError
from learning.algorithms.actor_critic import ActorCriticOptions
from learning.algorithms.constraint import ConstraintOptions
from learning.algorithms.imitation import ImitationOptions
from learning.algorithms.ppo import PPOOptions
from learning.algorithms.reinforce import ReinforceOptions
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
        (lambda: JobNode(wait=True), "JobNode, wait: expected no, event, completion, or 0.001 s or more, found True"),
        (lambda: NodeShutdown(patience="1"), "node-shutdown, option patience: expected a number above 0, found 1"),
        (lambda: NodeShutdown(step_s=True), "node-shutdown, option step_s: expected a number above 0, found True"),
        (lambda: NodeShutdown(step_s=np.inf), "node-shutdown, option step_s: expected a finite number above 0"),
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
        (PPOOptions, {"epochs": 2.5}, "ppo option 'epochs': expected a whole number, found 2.5"),
        (PPOOptions, {"epochs": True}, "ppo option 'epochs': expected a whole number, found True"),
        (PPOOptions, {"actor_lr": "x"}, "ppo option 'actor_lr': expected a number, found x"),
        (PPOOptions, {"actor_lr": "1e-3"}, "ppo option 'actor_lr': expected a number, found \"1e-3\""),
        (PPOOptions, {"actor_lr": np.inf}, "ppo option 'actor_lr': expected a finite number, found inf"),
        (PPOOptions, {"entropy_end": "0"}, "ppo option 'entropy_end': expected a number, found \"0\""),
        (PPOOptions, {"swa": 1}, "ppo option 'swa': expected true or false, found 1"),
        (PPOOptions, {"lr_schedule": 5}, "ppo option 'lr_schedule': expected text, found 5"),
        (ReinforceOptions, {"scale": None}, "reinforce option 'scale': expected a number"),
        (ReinforceOptions, {"normalise": ["no"]}, "reinforce option 'normalise': expected text"),
        (ActorCriticOptions, {"gamma": "1"}, "actor-critic option 'gamma': expected a number, found \"1\""),
        (ImitationOptions, {"minibatch": 0.5}, "imitation option 'minibatch': expected a whole number, found 0.5"),
        (
            ConstraintOptions,
            {"limit": "1", "learning_rate": 1},
            "constraint option 'limit': expected a number, found \"1\"",
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
    with pytest.raises(InputError, match="num_jobs: expected an integer from"):
        kind(num_jobs=value)
    assert kind(num_jobs=np.int64(8)).reset(seed=0)[1]["action_mask"].any()
