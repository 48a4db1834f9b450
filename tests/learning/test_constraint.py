"""A limit beside the reward: the multiplier by hand, and what PPO learns with it where the best policy is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from cluster_sim.errors import InputError
from learning.constraint import ConstraintOptions
from learning.networks import Network, make_network
from learning.ppo import PPO, PPOOptions
from learning.rollouts import collect, episode_seeds
from learning.validation import Validated

from .toys import Make, Tempting

TEMPTING = Make(Tempting)
OPTIONS: dict[str, Any] = {
    "minibatch": 0,
    "epochs": 3,
    "actor_lr": 0.01,
    "entropy": 0.0,
    "target_kl": 0.0,
    "lr_schedule": "constant",
}


def begun(constraint: ConstraintOptions | None, iterations: int) -> tuple[Network, PPO]:
    """A network and a PPO for the two arms, before any update."""
    environment = TEMPTING()
    network = make_network("mlp:hidden=8", environment.observation_space, 2, seed=1)
    return network, PPO(network, PPOOptions(**OPTIONS), iterations, 2, constraint)


def learned(network: Network, ppo: PPO, iterations: range) -> list[tuple[float, float]]:
    """The mean cost and the multiplier of each iteration."""
    found = []
    for iteration in iterations:
        episodes = collect(TEMPTING, network, episode_seeds(2, iteration, 64), group=64)
        numbers = ppo.update(episodes, iteration)
        found.append((float(np.mean([e.cost for e in episodes])), numbers.get("train/multiplier", 0.0)))
    return found


def test_the_multiplier_by_hand() -> None:
    """With d = 0.5 and η = 2, costs of 1, 0.25 and 0 sum to 1, 0.5 and 0, not below; K = 1 adds the violation to each."""
    for proportional, expected in ((0.0, [1.0, 0.5, 0.0]), (1.0, [1.5, 0.25, 0.0])):
        _, ppo = begun(ConstraintOptions(limit=0.5, learning_rate=2.0, proportional=proportional), 3)
        assert ppo.constraint is not None
        found = []
        for cost in (1.0, 0.25, 0.0):
            one = collect(TEMPTING, ppo.network, [1])[0]
            ppo.constraint.rise([replace(one, costs=np.array([cost]))])
            found.append(ppo.constraint.multiplier)
        assert found == expected


def test_a_limit_that_binds_is_kept_and_one_that_does_not_costs_nothing() -> None:
    """The best policy takes the costly arm with probability d, at λ = 1. Without a constraint it is always taken."""
    limited = learned(*begun(ConstraintOptions(limit=0.3, learning_rate=0.1, proportional=2.0), 80), range(80))
    costs, multipliers = (np.mean(column[40:]) for column in zip(*limited, strict=True))
    assert costs == pytest.approx(0.3, abs=0.05)
    assert multipliers == pytest.approx(1.0, abs=0.05)
    free = learned(*begun(None, 30), range(30))
    assert free[-1][0] > 0.9
    loose = learned(*begun(ConstraintOptions(limit=1.0, learning_rate=0.3), 30), range(30))
    assert loose[-1] == (pytest.approx(1.0, abs=0.1), 0.0)


def test_a_training_with_a_limit_can_be_put_down_and_taken_up() -> None:
    """Multiplier, critic of the cost and its optimiser are in the state: it goes on to the same bits."""
    constraint = ConstraintOptions(limit=0.3, learning_rate=0.3)
    whole, without_break = begun(constraint, 4)
    learned(whole, without_break, range(4))
    first, put_down = begun(constraint, 4)
    learned(first, put_down, range(2))
    second, taken_up = begun(constraint, 4)
    second.load_weights(first.weights())
    taken_up.load_state(put_down.state())
    learned(second, taken_up, range(2, 4))
    assert all((weight == second.weights()[name]).all() for name, weight in whole.weights().items())


def test_an_environment_without_costs_is_told() -> None:
    """A constraint on it is refused in one line, not taken for kept."""
    _, ppo = begun(ConstraintOptions(limit=0.3, learning_rate=0.3), 1)
    episodes = [replace(episode, costs=np.zeros(0)) for episode in collect(TEMPTING, ppo.network, [1, 2])]
    with pytest.raises(InputError, match="an environment with the option cost"):
        ppo.update(episodes, 0)


def test_who_keeps_the_limit_is_better_than_who_does_not() -> None:
    """By value among those who keep it, by how far they are from it among those who do not (Deb 2000)."""

    def score(value: float, cost: float) -> float:
        return Validated((value,), (), "", 0.0, None, cost, 0.5).score

    assert score(3.0, 0.1) < score(4.0, 0.5) < score(1.0, 0.51) < score(0.5, 0.9)
