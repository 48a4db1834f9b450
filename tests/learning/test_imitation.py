"""Warm start: the network decides as its teacher does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from cluster_sim.errors import InputError
from learning.algorithms.imitation import ImitationOptions, demonstrate, greedy, imitate
from learning.algorithms.optimisers import Adam
from learning.algorithms.rollouts import Trajectory, collect
from learning.algorithms.samples import Samples
from tests.support.toys import ROWS, Make, Plain, Recall, network_for


def cheapest(environment: Any, observation: Any) -> int:
    """The best policy of the rows: the allowed one with the least first number."""
    costs = np.where(observation["action_mask"] == 1, observation["actions"][:, 0], np.inf)
    return int(costs.argmin())


def test_it_decides_as_the_teacher_on_episodes_it_has_not_seen() -> None:
    """More than nine of ten decisions agree."""
    network = network_for(ROWS, "scorer:hidden=16")
    environment = ROWS()
    lessons = [demonstrate(environment, cheapest, network, seed) for seed in range(60)]
    epochs = imitate(network, lessons, ImitationOptions(minibatch=64))
    assert epochs[-1]["warm_start/agreement"] > 0.9
    assert epochs[-1]["warm_start/cross_entropy"] < epochs[0]["warm_start/cross_entropy"]
    assert epochs[-1]["warm_start/value_loss"] < epochs[0]["warm_start/value_loss"]
    agreed = [
        kept["actions"][column, 0] == kept["actions"][:, 0].min()
        for trajectory in collect(ROWS, network, range(1000, 1040), greedy=True)
        for kept, column in zip(trajectory.kept, trajectory.columns, strict=True)
    ]
    assert np.mean(agreed) > 0.9


class CutOff(Plain):
    """Looks always the same, is worth 1 at each step, and is cut off after three."""

    steps = 3

    def reward(self, action: int) -> float:
        return 1.0

    def step(self, action: int) -> Any:
        observation, reward, over, _, info = super().step(action)
        return observation, reward, False, over, info


def test_an_episode_that_was_cut_off_goes_on_as_the_critic_expects() -> None:
    """With γ = 1/2 every situation is worth 1 + 1/2 + 1/4 + … = 2; as ends the three would be worth 1.75, 1.5 and 1."""
    network = network_for(Make(CutOff), "mlp:hidden=8")
    lesson = demonstrate(CutOff(), lambda environment, observation: 0, network, 1)
    imitate(network, [lesson], ImitationOptions(epochs=200, minibatch=0, gamma=0.5, critic_lr=0.02))
    assert Samples(network, [lesson]).values_after() == [pytest.approx(2.0, abs=0.02)]


def test_without_a_discount_returns_that_were_cut_off_are_not_taught() -> None:
    """The actor learns from a truncated episode, the critic nothing, whatever its rewards were."""
    network = network_for(ROWS, "scorer:hidden=8")
    before = network.weights()
    whole, cut = (demonstrate(ROWS(), cheapest, network, seed) for seed in (1, 2))
    cut.last = cut.kept[-1]
    taught = []
    for lessons in ([cut], [whole], [whole, cut]):
        network.load_weights(before)
        epochs = imitate(network, lessons, ImitationOptions(epochs=3, minibatch=0))
        taught.append({name for name, weight in network.weights().items() if (weight != before[name]).any()})
        assert ("warm_start/value_loss" in epochs[-1]) == any(each is whole for each in lessons)
    alone, both, mixed = taught
    assert 0 < len(alone) < len(both) == len(mixed)
    network.load_weights(before)
    cut.rewards += 1_000.0
    again = imitate(network, [whole, cut], ImitationOptions(epochs=3, minibatch=0))
    assert again == epochs


def decisions_of(trajectory: Trajectory, count: int) -> Trajectory:
    """The first ones of an episode, as a whole one."""
    columns, actions, rewards = (getattr(trajectory, name)[:count] for name in ("columns", "actions", "rewards"))
    return replace(trajectory, kept=trajectory.kept[:count], columns=columns, actions=actions, rewards=rewards)


def test_the_critic_stands_still_where_it_is_taught_nothing() -> None:
    """One decision whose return is known, several whose returns are not, one by one: one step of the critic, in any order."""
    network = network_for(ROWS, "scorer:hidden=8")
    before = network.weights()
    known, cut = decisions_of(demonstrate(ROWS(), cheapest, network, 1), 1), demonstrate(ROWS(), cheapest, network, 2)
    cut.last = cut.kept[-1]
    taught = []
    for lessons in ([known], [known, cut]):
        network.load_weights(before)
        imitate(network, lessons, ImitationOptions(epochs=1, minibatch=1))
        taught.append({name: weight for name, weight in network.weights().items() if name.startswith("critic")})
    alone, mixed = taught
    assert any((alone[name] != before[name]).any() for name in alone)
    assert all((alone[name] == mixed[name]).all() for name in alone)


def test_a_decision_teaches_the_critic_the_same_in_any_company(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one known return of a minibatch of n decisions pulls with 1/n, as if the others were known and right already."""
    pulls: list[np.ndarray] = []

    class Noting(Adam):
        def step(self, longest: float = 0.0) -> None:
            pulls.append(self._gradient.numpy().copy())
            super().step(longest)

    monkeypatch.setattr("learning.algorithms.imitation.Adam", Noting)
    network = network_for(ROWS, "scorer:hidden=8")
    before = network.weights()
    known, cut = decisions_of(demonstrate(ROWS(), cheapest, network, 1), 1), demonstrate(ROWS(), cheapest, network, 2)
    cut.last = cut.kept[-1]
    for lessons in ([known], [known, cut]):
        network.load_weights(before)
        imitate(network, lessons, ImitationOptions(epochs=1, minibatch=0))
    _, alone, _, mixed = pulls  # the actor's first
    assert np.abs(alone).max() > 0
    np.testing.assert_allclose(mixed * (1 + len(cut)), alone, rtol=1e-4, atol=1e-7)


def test_the_agent_plays_and_the_teacher_corrects() -> None:
    """Rewards are those of what was played, the actions to be learned the teacher's at the same decisions."""

    def dearest(environment: Any, observation: Any) -> int:
        costs = np.where(observation["action_mask"] == 1, observation["actions"][:, 0], -np.inf)
        return int(costs.argmax())

    network = network_for(ROWS, "scorer:hidden=16")
    corrected = demonstrate(ROWS(), cheapest, network, 3, played_by=dearest)
    alone = demonstrate(ROWS(), dearest, network, 3)
    assert corrected.rewards.tolist() == alone.rewards.tolist()
    for kept, column in zip(corrected.kept, corrected.columns, strict=True):
        assert kept["actions"][column, 0] == kept["actions"][:, 0].min()
    assert corrected.actions.tolist() != alone.actions.tolist()


def test_the_most_probable_action_is_played() -> None:
    """As rollouts do when they are greedy; a network that remembers cannot be asked for single decisions."""
    network = network_for(ROWS, "scorer:hidden=16")
    (rollout,) = collect(ROWS, network, [5], greedy=True)
    played = demonstrate(ROWS(), greedy(network), network, 5)
    assert played.actions.tolist() == rollout.actions.tolist()
    with pytest.raises(InputError, match="rounds"):
        greedy(network_for(Make(Recall), "lstm:units=8,hidden=8"))


def test_a_remembering_network_can_be_taught() -> None:
    """An LSTM learns the sign that was shown three steps before the teacher uses it."""

    def knowing(environment: Any, observation: Any) -> int:
        return int(environment.sign)

    network = network_for(Make(Recall), "lstm:units=8,hidden=8")
    environment = Make(Recall)()
    lessons = [demonstrate(environment, knowing, network, seed) for seed in range(20)]
    imitate(network, lessons, ImitationOptions(epochs=150, minibatch=0, actor_lr=0.02))
    rewards = [t.reward for t in collect(Make(Recall), network, range(100, 120), greedy=True)]
    assert rewards == [1.0] * 20


def test_smoothing_leaves_a_chance() -> None:
    """With a fifth of the certainty spread out, every allowed action keeps a probability worth the name."""
    network = network_for(ROWS, "scorer:hidden=16")
    lessons = [demonstrate(ROWS(), cheapest, network, seed) for seed in range(20)]
    imitate(network, lessons, ImitationOptions(epochs=200, minibatch=0, actor_lr=0.01, smoothing=0.2))
    samples = Samples(network, lessons)
    chosen = np.exp(samples.assessed()[0].numpy())
    several = np.array([len(kept["allowed"]) > 1 for lesson in lessons for kept in lesson.kept])
    # The best fit puts 1 − 0.2 + 0.2/n on the teacher's action, at most 0.9 for two.
    assert np.median(chosen[several]) < 0.93
    assert (chosen[~several] == 1.0).all()


def test_it_is_the_same_twice() -> None:
    """To the last bit."""
    found = []
    for _ in range(2):
        network = network_for(ROWS, "scorer:hidden=8")
        lessons = [demonstrate(ROWS(), cheapest, network, seed) for seed in range(5)]
        imitate(network, lessons, ImitationOptions(epochs=3, minibatch=8), seed=4)
        found.append(network.weights())
    assert all((found[0][name] == found[1][name]).all() for name in found[0])


def test_a_teacher_may_not_break_the_rules() -> None:
    """An action that is not allowed is told, not learned."""
    network = network_for(ROWS, "scorer:hidden=8")
    with pytest.raises(InputError, match="action: expected one that the mask allows"):
        for seed in range(20):
            demonstrate(ROWS(), lambda environment, observation: 0, network, seed)


@pytest.mark.parametrize("options", [{"smoothing": 1.0}, {"gamma": -1.0}, {"epochs": 0}, {"minibatch": -1}])
def test_wrong_options(options: dict[str, Any]) -> None:
    """Told in a line."""
    with pytest.raises(InputError, match="imitation option"):
        ImitationOptions(**options)
