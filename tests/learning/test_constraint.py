"""A limit beside the reward: the multiplier by hand, and what PPO learns with it where the best policy is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from cluster_sim.errors import InputError
from learning.algorithms.constraint import ConstraintOptions, check_classes
from learning.algorithms.imitation import demonstrate
from learning.algorithms.ppo import PPO, PPOOptions
from learning.algorithms.rollouts import Trajectory, collect, episode_seeds
from learning.networks.building import make_network
from learning.networks.network import Network
from learning.training.validation import Validated
from tests.support.toys import Make, Tempting

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
            found.append(ppo.constraint.multipliers[""])
        assert found == expected


def test_each_class_has_a_limit_and_a_multiplier_of_its_own() -> None:
    """By hand: with d = 0.5 and η = 2, a busy cost of 1 raises the busy multiplier alone, 0.2 the others' by 2 · 0.1 above 0.1.

    A cost of 9 counts as 2. The advantage of a decision has its episode's multiplier, over 1 + the mean of the episodes'.
    """
    options = ConstraintOptions(limit=0.1, learning_rate=2.0, at_most=2.0, classes={"busy": 0.5})
    _, ppo = begun(options, 3)
    constraint = ppo.constraint
    assert constraint is not None
    one = collect(TEMPTING, ppo.network, [1])[0]

    def played(name: str, cost: float) -> Trajectory:
        return replace(one, costs=np.array([cost]), name=name)

    numbers = constraint.rise([played("busy_7", 1.0), played("other", 0.2)])
    assert constraint.multipliers == {"busy": 1.0, "": pytest.approx(0.2)}
    assert numbers["train/multiplier"] == pytest.approx(0.6)
    combined = constraint.combined(np.array([3.0, 3.0]), np.array([1.0, 1.0]))
    assert combined == pytest.approx([2.0 / 1.6, 2.8 / 1.6])
    constraint.rise([played("busy_7", 9.0)])
    assert constraint.multipliers == {"busy": 4.0, "": pytest.approx(0.2)}
    found = options.violations([played("busy_7", 9.0), played("busy_8", 0.0), played("", 0.0)])
    assert found == {"busy": 4.0, "": -0.1}


def test_the_longest_beginning_is_the_class_and_one_of_nobody_is_refused() -> None:
    """busy-short days are no busy ones, whatever the order; a misspelt class would leave its days to the common limit."""
    options = ConstraintOptions(limit=0.1, learning_rate=2.0, classes={"busy": 0.5, "busy-short": 0.2})
    assert [options.class_of(name) for name in ("busy-short_1", "busy_2", "quiet")] == ["busy-short", "busy", ""]
    check_classes(options.classes, ["busy-short_1", "quiet"])
    with pytest.raises(InputError, match=r"bussy.*found busy-short_1, quiet"):
        check_classes(["bussy"], ["quiet", "busy-short_1"])
    for classes, words in (({"": 0.2}, "limit of all others"), ({"busy": -1.0}, "classes, busy.*-1")):
        with pytest.raises(InputError, match=words):
            ConstraintOptions(limit=0.1, learning_rate=2.0, classes=classes)


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


def test_the_critic_of_the_cost_can_begin_with_what_a_teacher_had_to_pay() -> None:
    """A teacher that takes the costly arm pays 1; once the critic expects that, its choice is neither better nor worse."""
    network, ppo = begun(ConstraintOptions(limit=0.3, learning_rate=0.3), 1)
    episodes = [demonstrate(TEMPTING(), lambda *_: 1, network, seed) for seed in range(4)]
    assert [episode.cost for episode in episodes] == [1.0] * 4
    assert ppo.constraint is not None
    before, _ = ppo.constraint.learn(episodes, 0, 1.0, 1.0, 400, 0)
    after, _ = ppo.constraint.learn(episodes, 1, 1.0, 1.0, 1, 0)
    assert (np.abs(before) > 0.5).all()
    assert after == pytest.approx(np.zeros(4), abs=0.05)


def test_an_environment_without_costs_is_told() -> None:
    """A constraint on it is refused in one line, not taken for kept."""
    _, ppo = begun(ConstraintOptions(limit=0.3, learning_rate=0.3), 1)
    episodes = [replace(episode, costs=np.zeros(0)) for episode in collect(TEMPTING, ppo.network, [1, 2])]
    with pytest.raises(InputError, match="an environment with the option cost"):
        ppo.update(episodes, 0)


def test_who_keeps_the_limit_is_better_than_who_does_not() -> None:
    """By value among those who keep it, by how far they are from it among those who do not (Deb 2000)."""

    def score(value: float, cost: float) -> float:
        return Validated((value,), (), "", 0.0, None, cost, cost - 0.5).score

    assert score(3.0, 0.1) < score(4.0, 0.5) < score(1.0, 0.51) < score(0.5, 0.9)
    assert score(1.6e13, 0.4) < score(1.5e13, 0.51)  # as edp_js of a log is, without a baseline
