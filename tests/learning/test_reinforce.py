"""REINFORCE and the actor-critic of Herrera et al. (2021)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")
import torch

from cluster_sim.errors import InputError
from learning.algorithms.actor_critic import ActorCritic, ActorCriticOptions
from learning.algorithms.reinforce import Reinforce, ReinforceOptions, normalised
from learning.algorithms.rollouts import collect, episode_seeds
from learning.algorithms.samples import Samples
from learning.networks.categorical import log_probabilities, of_chosen
from learning.networks.network import Network
from tests.support.toys import Bandit, CheapestRow, Make, Recall, network_for

ALGORITHMS: dict[str, Any] = {
    "reinforce": lambda network, lr: Reinforce(network, ReinforceOptions(actor_lr=lr)),
    "actor-critic": lambda network, lr: ActorCritic(network, ActorCriticOptions(actor_lr=lr, critic_lr=lr)),
}


def trained(name: str, make: Make, spec: str, iterations: int) -> tuple[Network, Any, dict[str, float]]:
    """The network after a training, the algorithm, and what was logged last."""
    network = network_for(make, spec)
    algorithm = ALGORITHMS[name](network, 0.01)
    logged: dict[str, float] = {}
    for iteration in range(iterations):
        logged = algorithm.update(collect(make, network, episode_seeds(1, iteration, 32), group=32), iteration)
    return network, algorithm, logged


def test_normalised_by_hand() -> None:
    """Returns 1, 3 and 5, 5: over episodes (−1, 1) and nothing to learn; over all, by mean 3.5 and deviation √2.75."""
    returns = [np.array([1.0, 3.0]), np.array([5.0, 5.0])]
    assert normalised(returns, "episode").tolist() == [-1.0, 1.0, 0.0, 0.0]
    assert normalised(returns, "iteration") == pytest.approx(np.array([-2.5, -0.5, 1.5, 1.5]) / np.sqrt(2.75))
    assert normalised(returns, "no").tolist() == [1.0, 3.0, 5.0, 5.0]
    # First decisions: 4, 2, 9 with mean 5; second ones: 2, 0 with mean 1. The mean square of what is left is 28 / 5.
    uneven = [np.array([4.0, 2.0]), np.array([2.0, 0.0]), np.array([9.0])]
    assert normalised(uneven, "decision") == pytest.approx(np.array([-1.0, 1.0, -3.0, -1.0, 4.0]) / np.sqrt(5.6))


def test_the_gradient_is_that_of_the_log_probability() -> None:
    """One step moves against Σ −log π · G / episodes, differentiated here by itself."""
    make = Make(CheapestRow)
    network, other = (network_for(make, "scorer:hidden=8") for _ in range(2))
    trajectories = collect(make, network, range(3))
    Reinforce(network, ReinforceOptions(gamma=1.0, normalise="no")).update(trajectories, 0)
    samples = Samples(other, trajectories)
    logits, _ = other.unroll(samples.batch(np.arange(15)), [5, 5, 5])
    returns = np.concatenate([np.cumsum(t.rewards[::-1])[::-1] for t in trajectories])
    loss = -(of_chosen(log_probabilities(logits), samples.columns) * torch.tensor(returns)).sum() / 3
    before = other.weights()
    loss.backward()
    for name, weight in other.named_parameters():
        if name.startswith("actor"):
            assert weight.grad is not None
            # Adam's first step is the learning rate against the sign of the gradient.
            step = network.weights()[name] - before[name]
            clear = weight.grad.abs().numpy() > 1e-2
            assert step[clear] == pytest.approx(-1e-3 * np.sign(weight.grad.numpy()[clear]), rel=0.01)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_learns_a_bandit(name: str) -> None:
    """The best of three arms, with the published network of policy selection."""
    make = Make(Bandit)
    network, *_ = trained(name, make, "published-policies:hidden=16", 60)
    rewards = [t.reward for t in collect(make, network, range(1000, 1020), greedy=True)]
    assert np.mean(rewards) == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_learns_a_contextual_choice(name: str) -> None:
    """The cheapest of the allowed rows, clearly better than by chance (about 0)."""
    make = Make(CheapestRow)
    network, *_ = trained(name, make, "scorer:hidden=8", 40)
    assert np.mean([t.reward for t in collect(make, network, range(1000, 1050), greedy=True)]) > 1.5


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("spec", ["published-policies:hidden=8", "lstm:units=4,hidden=4"])
def test_it_can_be_repeated_and_resumed(name: str, spec: str) -> None:
    """Twice the same, and the same after a break."""
    make = Make(Recall)
    first, _, logged = trained(name, make, spec, 4)
    second, _, again = trained(name, make, spec, 4)
    assert logged == pytest.approx(again, rel=0.0, abs=0.0)
    begun, algorithm, _ = trained(name, make, spec, 3)
    weights, state = begun.weights(), algorithm.state()
    resumed = network_for(make, spec)
    resumed.load_weights(weights)
    algorithm = ALGORITHMS[name](resumed, 0.01)
    algorithm.load_state(state)
    algorithm.update(collect(make, resumed, episode_seeds(1, 3, 32), group=32), 3)
    assert algorithm.averaged() is None
    for key, weight in first.weights().items():
        assert (weight == second.weights()[key]).all()
        assert (weight == resumed.weights()[key]).all()


@pytest.mark.parametrize("options", [ReinforceOptions, ActorCriticOptions])
def test_wrong_options(options: type) -> None:
    """Told in a line."""
    with pytest.raises(InputError, match="option 'normalise': expected episode, iteration, decision or no"):
        options(normalise="yes")
    with pytest.raises(InputError, match="option 'gamma': expected a number, 0 or more and at most 1"):
        options(gamma=2.0)
    with pytest.raises(InputError, match="option 'entropy': expected a finite number, 0 or more"):
        options(entropy=-0.1)
    with pytest.raises(InputError, match="option 'value_coefficient': expected a finite number, 0 or more"):
        ActorCriticOptions(value_coefficient=-1.0)
    with pytest.raises(InputError, match="option 'actor_lr': expected a finite number above 0"):
        options(actor_lr=0.0)
