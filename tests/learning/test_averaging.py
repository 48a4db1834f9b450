"""The mean of the actor's weights that PPO keeps late in a training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from cluster_sim.errors import InputError
from learning.algorithms.ppo import PPO, PPOOptions
from learning.algorithms.rollouts import collect
from learning.networks.building import make_network
from learning.networks.network import Weights
from learning.training import checkpoints
from tests.support.toys import CheapestRow, Make

ITERATIONS = 8


def ppo_of(hidden: int = 8) -> PPO:
    """One epoch an iteration, averaged from the third of eight iterations on."""
    environment = CheapestRow()
    network = make_network(f"scorer:hidden={hidden}", environment.observation_space, environment.rows, seed=1)
    options = PPOOptions(swa=True, swa_start=0.25, epochs=1, minibatch=8, actor_lr=0.01, target_kl=0.0)
    return PPO(network, options, ITERATIONS, seed=3)


def update(ppo: PPO, iterations: range) -> list[Weights]:
    """The network's weights after each of these iterations."""
    found = []
    for iteration in iterations:
        ppo.update(collect(Make(CheapestRow), ppo.network, range(4 * iteration, 4 * iteration + 4)), iteration)
        found.append(ppo.network.weights())
    return found


def averaged(ppo: PPO) -> Weights:
    """The weights with the actor's averaged, which there have to be."""
    weights = ppo.averaged()
    assert weights is not None
    return weights


def test_it_is_the_mean() -> None:
    """Of the actor's weights after each epoch since averaging began; the critic's are the latest."""
    ppo = ppo_of()
    assert ppo.averaged() is None
    passed = update(ppo, range(ITERATIONS))[2:]
    for name, weight in averaged(ppo).items():
        if name.startswith("critic"):
            assert (weight == passed[-1][name]).all()
        else:
            mean = np.mean([weights[name].astype(np.float64) for weights in passed], axis=0)
            assert weight == pytest.approx(mean, rel=1e-6, abs=1e-6)
            assert (weight != passed[-1][name]).any()


@pytest.mark.parametrize("broken_off", [1, 3, 6])
def test_it_is_stored_exactly(tmp_path: Path, broken_off: int) -> None:
    """After its state went through a file, before averaging has begun or since, it goes on to the same bits."""
    whole, begun, resumed = ppo_of(), ppo_of(), ppo_of()
    update(whole, range(ITERATIONS))
    update(begun, range(broken_off))
    checkpoints.save(tmp_path, "state", {"weights": begun.network.weights(), "algorithm": begun.state()})
    tree = checkpoints.load(tmp_path, "state")
    resumed.network.load_weights(tree["weights"])
    resumed.load_state(tree["algorithm"])
    update(resumed, range(broken_off, ITERATIONS))
    expected, found = averaged(whole), averaged(resumed)
    assert all((expected[name] == found[name]).all() for name in expected)
    states = whole.state(), resumed.state()
    assert states[0].keys() == states[1].keys()
    assert all((states[0][key] == states[1][key]).all() for key in states[0])


def test_what_it_gave_is_a_copy() -> None:
    """Its state and its weights do not change when training goes on."""
    ppo = ppo_of()
    update(ppo, range(4))
    state, weights = ppo.state(), averaged(ppo)
    before = [{name: array.copy() for name, array in arrays.items()} for arrays in (state, weights)]
    update(ppo, range(4, 6))
    for arrays, copies in zip((state, weights), before, strict=True):
        assert all((arrays[name] == copies[name]).all() for name in copies)


def test_other_weights_are_refused() -> None:
    """The state of another network's training is told in a line, an average alone too."""
    ppo, other = ppo_of(), ppo_of(hidden=4)
    update(ppo, range(4))
    update(other, range(4))
    with pytest.raises(InputError, match="state of optimiser 'actor'"):
        other.load_state(ppo.state())
    means = {name: mean for name, mean in ppo.state().items() if name.startswith("average.")}
    with pytest.raises(InputError, match=r"weight 'actor.*': expected shape"):
        other.load_state(other.state() | means)
