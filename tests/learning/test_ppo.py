"""PPO: its losses by hand, what it learns, and that it does so in the same way twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")
import torch
from hypothesis import given
from hypothesis import strategies as st

from cluster_sim.errors import InputError
from learning.algorithms.optimisers import Adam
from learning.algorithms.ppo import (
    PPO,
    PUBLISHED,
    PPOOptions,
    clipped_loss,
    explained_variance,
    mean_and_spread,
    squared_error,
)
from learning.algorithms.rollouts import Trajectory, collect, episode_seeds
from learning.algorithms.samples import Samples, slipped_masks
from learning.algorithms.self_imitation import BestEpisodes, self_imitation_losses, worth_of_episodes
from learning.networks.network import Network
from tests.support.toys import ROWS, Bandit, CheapestRow, CutOff, Make, Recall, network_for


def trained(
    make: Make, spec: str, iterations: int, episodes: int, **options: Any
) -> tuple[Network, PPO, dict[str, float]]:
    """The network after a training, the algorithm, and what was logged last."""
    network = network_for(make, spec)
    ppo = PPO(network, PPOOptions(**options), iterations, seed=3)
    logged: dict[str, float] = {}
    for iteration in range(iterations):
        logged = ppo.update(collect(make, network, episode_seeds(3, iteration, episodes)), iteration)
    return network, ppo, logged


def mean_reward(make: Make, network: Network, episodes: int = 50) -> float:
    """Mean sum of rewards of the greedy policy, on episodes it was not trained on."""
    return float(np.mean([t.reward for t in collect(make, network, range(10**6, 10**6 + episodes), greedy=True)]))


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected"),
    [
        (1.0, 2.0, -2.0),
        (1.5, 2.0, -2.4),  # held at 1.2
        (0.5, 2.0, -1.0),  # not held: it got worse
        (1.5, -2.0, 3.0),  # not held
        (0.5, -2.0, 1.6),  # held at 0.8
    ],
)
def test_the_clipped_loss_by_hand(ratio: float, advantage: float, expected: float) -> None:
    """Schulman et al. (2017), Fig. 1, with ε = 0.2."""
    loss = clipped_loss(torch.tensor([ratio]).log(), torch.tensor([advantage]), 0.2)
    assert loss.item() == pytest.approx(expected)


def test_what_is_clipped_has_no_gradient() -> None:
    """Beyond the clip nothing pulls any further; before it the gradient is −r A."""
    log_ratio = torch.tensor([1.5, 1.1, 0.5, 0.9]).log().requires_grad_()
    clipped_loss(log_ratio, torch.tensor([1.0, 1.0, -1.0, -1.0]), 0.2).backward()
    assert log_ratio.grad is not None
    assert log_ratio.grad.tolist() == pytest.approx([0.0, -1.1 / 4, 0.0, 0.9 / 4])


def test_the_clipped_objective_is_what_torch_makes_of_its_formula() -> None:
    """Value and gradient to the bit, below, within and beyond the bounds, and where the advantage is 0."""
    generator = torch.Generator().manual_seed(1)
    log_ratio, advantage = (torch.randn(200, generator=generator) for _ in range(2))
    advantage[:3] = 0.0
    one, other = (log_ratio.clone().requires_grad_() for _ in range(2))
    ratio = one.exp()
    formula = -torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    loss = clipped_loss(other, advantage, 0.2)
    assert loss.item() == formula.item()
    formula.backward()
    loss.backward()
    assert one.grad is not None
    assert other.grad is not None
    assert torch.equal(one.grad, other.grad)


def test_the_value_loss_by_hand() -> None:
    """Value 3, target 1, before 2.9: 4; held within 0.05 of what it was: the same, 4 > 3.8025; within 0 means any."""
    values, targets, before = torch.tensor([3.0]), torch.tensor([1.0]), torch.tensor([3.5])
    assert squared_error(values, targets, before, 0.0).item() == 4.0
    assert squared_error(values, targets, before, 0.2).item() == pytest.approx(2.3**2)


def test_explained_variance_by_hand() -> None:
    """A perfect critic 1, a constant one 0, one that is wrong by as much as there is −3."""
    targets = np.array([1.0, -1.0])
    assert explained_variance(targets, targets) == 1.0
    assert explained_variance(np.array([5.0, 5.0]), targets) == 0.0
    assert explained_variance(-targets, targets) == -3.0
    assert np.isnan(explained_variance(targets, np.ones(2)))


@pytest.mark.parametrize("longest", [0.0, 0.1])
def test_adam_is_torchs_adam(longest: float) -> None:
    """Steps are those of torch.optim.Adam, gradients cut to a length or not."""
    ours, theirs = (torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)) for _ in range(2))
    ours.load_state_dict(theirs.state_dict())
    first = Adam(list(ours.parameters()), 0.01, eps=1e-8)
    second = torch.optim.Adam(theirs.parameters(), 0.01)
    for step in range(20):
        rows = torch.from_numpy(np.random.default_rng(step).normal(size=(5, 3)).astype(np.float32))
        for network, optimiser in ((ours, first), (theirs, second)):
            optimiser.zero_grad()
            network(rows).square().mean().backward()
        if longest:
            torch.nn.utils.clip_grad_norm_(theirs.parameters(), longest)
        first.step(longest)
        second.step()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_learns_a_bandit() -> None:
    """The best of three arms has nearly all of the probability."""
    network, *_ = trained(Make(Bandit), "mlp", 25, 32, minibatch=32, actor_lr=0.01, entropy=0.0, target_kl=0.0)
    assert mean_reward(Make(Bandit), network, 20) == pytest.approx(0.8, abs=0.1)


def test_learns_to_choose_among_what_is_allowed() -> None:
    """The cheapest of the allowed rows, whichever they are: nearly as well as the best policy does."""
    network, *_ = trained(ROWS, "scorer:hidden=16", 20, 16, minibatch=80, actor_lr=0.01, target_kl=0.0)
    best = [sum(-k["actions"][:, 0].min() for k in t.kept) for t in collect(ROWS, network, range(10**6, 10**6 + 50))]
    assert mean_reward(ROWS, network) > 0.9 * float(np.mean(best)) > 1.0


def test_what_was_learned_serves_more_rows() -> None:
    """Trained on 6 rows, the same weights choose well among 20."""
    network, *_ = trained(ROWS, "scorer:hidden=16", 20, 16, minibatch=80, actor_lr=0.01, target_kl=0.0)
    more = Make(CheapestRow, (("rows", 20),))
    larger = network_for(more, "scorer:hidden=16")
    larger.load_weights(network.weights())
    best = [sum(-k["actions"][:, 0].min() for k in t.kept) for t in collect(more, larger, range(10**6, 10**6 + 50))]
    assert mean_reward(more, larger) > 0.9 * float(np.mean(best))


def test_an_lstm_learns_to_remember() -> None:
    """The sign that was shown three steps ago decides; without a memory half of the rewards are lost."""
    options: dict[str, Any] = {"minibatch": 0, "actor_lr": 0.01, "critic_lr": 0.01, "entropy": 0.0, "target_kl": 0.0}
    network, *_ = trained(Make(Recall), "lstm:units=8,hidden=8", 20, 32, lr_schedule="constant", **options)
    assert mean_reward(Make(Recall), network) == 1.0
    forgetful, *_ = trained(Make(Recall), "mlp:hidden=8", 5, 32, **options)
    assert mean_reward(Make(Recall), forgetful) < 0.8


def test_an_episode_that_is_cut_off_goes_on_in_the_critic() -> None:
    """With rewards of 1 for ever the targets of what was cut off are 1 + value, of what ended 1."""
    make = Make(CutOff)
    network = network_for(make, "mlp")
    trajectories = collect(make, network, [0, 5, 10])  # of length 1, cut off
    ends = collect(make, network, [1, 6])  # of length 2, terminated
    samples = Samples(network, [*trajectories, *ends])
    assert [value == 0.0 for value in samples.values_after()] == [False] * 3 + [True] * 2


@pytest.mark.parametrize(("make", "spec"), [(ROWS, "scorer:hidden=8"), (Make(Recall), "lstm:units=4,hidden=4")])
def test_two_runs_are_identical(make: Make, spec: str) -> None:
    """With one seed, to the last bit: weights and what is logged."""
    options: dict[str, Any] = {"minibatch": 16, "swa": True, "self_imitation": 3}
    (first, _, logged), (second, _, again) = (trained(make, spec, 4, 8, **options) for _ in range(2))
    assert logged == pytest.approx(again, rel=0.0, abs=0.0, nan_ok=True)
    assert all((first.weights()[name] == second.weights()[name]).all() for name in first.weights())


@pytest.mark.parametrize(("make", "spec"), [(ROWS, "scorer:hidden=8"), (Make(Recall), "lstm:units=4,hidden=4")])
def test_a_training_can_be_put_down_and_taken_up(make: Make, spec: str) -> None:
    """Weights and state as arrays, into a new network and a new PPO: it goes on to the same bits."""
    options = PPOOptions(minibatch=16, swa=True, swa_start=0.5, self_imitation=3)

    def go_on(network: Network, ppo: PPO, iterations: range) -> None:
        for iteration in iterations:
            ppo.update(collect(make, network, episode_seeds(5, iteration, 6)), iteration)

    whole = network_for(make, spec)
    without_break = PPO(whole, options, 6, seed=5)
    go_on(whole, without_break, range(6))

    begun = network_for(make, spec)
    put_down = PPO(begun, options, 6, seed=5)
    go_on(begun, put_down, range(4))
    weights, state = begun.weights(), put_down.state()

    resumed = network_for(make, spec)
    resumed.load_weights({name: np.zeros_like(weight) for name, weight in weights.items()})
    taken_up = PPO(resumed, options, 6, seed=5)
    resumed.load_weights(weights)
    taken_up.load_state(state)
    go_on(resumed, taken_up, range(4, 6))

    averages = without_break.averaged(), taken_up.averaged()
    assert averages[0] is not None
    assert averages[1] is not None
    for name, weight in whole.weights().items():
        assert (weight == resumed.weights()[name]).all()
        assert (averages[0][name] == averages[1][name]).all()


def test_nothing_else_is_in_the_state() -> None:
    """Only arrays of numbers: no pickle is needed to store them."""
    _, ppo, _ = trained(ROWS, "scorer:hidden=8", 2, 4, swa=True, swa_start=0.0, self_imitation=2)
    assert all(isinstance(array, np.ndarray) and array.dtype.kind in "fib" for array in ppo.state().values())


def test_schedules_go_on_within_an_iteration() -> None:
    """The last of four epochs of the second of two iterations begins after seven eighths of the training."""
    *_, logged = trained(ROWS, "scorer:hidden=8", 2, 2, epochs=4, actor_lr=0.8, target_kl=0.0)
    assert logged["train/learning_rate"] == pytest.approx(0.1)


def test_it_stops_when_the_policy_has_moved() -> None:
    """With a tiny target there are fewer updates than epochs × minibatches."""
    _, ppo, logged = trained(ROWS, "scorer:hidden=8", 1, 8, minibatch=8, actor_lr=0.05, target_kl=1e-4)
    assert logged["train/stopped_early"] == 1.0
    assert ppo.updates < 10 * 5


def test_actor_and_critic_have_rates_of_their_own() -> None:
    """With a vanishing rate for one, only the other's weights move."""
    for still, moving in (("critic", "actor"), ("actor", "critic")):
        network = network_for(ROWS, "scorer:hidden=8")
        before = network.weights()
        options = PPOOptions(lr_schedule="constant", **{f"{still}_lr": 1e-30})  # type: ignore[arg-type]
        PPO(network, options, 1).update(collect(ROWS, network, range(4)), 0)
        moved = {
            name.partition(".")[0]
            for name, w in network.weights().items()
            if not np.allclose(w, before[name], atol=1e-20)
        }
        assert moved == {moving}


def test_the_weight_average_covers_the_last_quarter() -> None:
    """8 iterations of 10 epochs: the last 20 epochs are averaged; the critic is not."""
    network, ppo, logged = trained(ROWS, "scorer:hidden=8", 8, 4, swa=True, target_kl=0.0)
    averaged = ppo.averaged()
    assert logged["train/averaged"] == 20
    assert averaged is not None
    different = {name.partition(".")[0] for name, w in network.weights().items() if (w != averaged[name]).any()}
    assert different == {"actor"}
    assert trained(ROWS, "scorer:hidden=8", 2, 4)[1].averaged() is None


def test_schedules() -> None:
    """Linear rates fall to nothing, the entropy's weight to its end; while averaging the rate is what swa_lr says."""
    ppo = PPO(network_for(ROWS, "scorer:hidden=8"), PPOOptions(entropy=0.2, entropy_end=0.1, actor_lr=0.5), 10)
    assert ppo._schedule(0.5) == pytest.approx(0.15)
    assert ppo.actor.learning_rate == pytest.approx(0.25)
    ppo = PPO(ppo.network, PPOOptions(actor_lr=1.0, lr_schedule="constant", swa=True, swa_lr=0.2), 10)
    rates = []
    for progress in (0.7, 0.75, 0.75 + 0.25 * 0.075, 0.75 + 0.25 * 0.15, 0.99):
        ppo._schedule(progress)
        rates.append(ppo.actor.learning_rate)
    assert rates == pytest.approx([1.0, 1.0, 0.6, 0.2, 0.2])


def test_minibatches_go_through_everything_once() -> None:
    """Single decisions in any order; whole episodes for what remembers."""
    network = network_for(ROWS, "scorer:hidden=8")
    samples = Samples(network, collect(ROWS, network, range(5)))
    parts = [steps for steps, _ in samples.minibatches(8, np.random.default_rng(1))]
    assert [len(part) for part in parts] == [8, 8, 8, 1]
    assert sorted(np.concatenate(parts).tolist()) == list(range(25))
    remembering = network_for(Make(CutOff), "lstm:units=4,hidden=4")
    samples = Samples(remembering, collect(Make(CutOff), remembering, range(5)))
    found = list(samples.minibatches(5, np.random.default_rng(1)))
    assert sorted(length for _, lengths in found for length in lengths) == [1, 2, 3, 4, 5]
    assert sorted(np.concatenate([steps for steps, _ in found]).tolist()) == list(range(15))
    for steps, lengths in found:
        assert [len(part) for part in np.split(steps, np.cumsum(lengths)[:-1])] == lengths


@given(st.floats(-5.0, 5.0), st.floats(-5.0, 5.0), st.floats(-5.0, -0.01))
def test_self_imitation_only_raises(value: float, followed: float, log_p: float) -> None:
    """A decision that turned out better becomes more probable; a worse one has no loss and no gradient."""
    chosen = torch.tensor([log_p], requires_grad=True)
    values = torch.tensor([value], requires_grad=True)
    policy_loss, value_loss = self_imitation_losses(chosen, values, torch.tensor([followed]), 1.0)
    (policy_loss + value_loss).backward()
    assert chosen.grad is not None
    assert values.grad is not None
    gain = max(0.0, float(torch.tensor(followed) - torch.tensor(value)))
    assert chosen.grad.item() == pytest.approx(-gain, rel=1e-5)  # a step against it raises the log-probability
    assert values.grad.item() == pytest.approx(-gain, rel=1e-5)


def test_the_best_episodes_are_kept() -> None:
    """By their sums, each sequence of actions once, none that was cut off."""

    def episode(actions: list[int], reward: float, cut: bool = False) -> Trajectory:
        numbers = np.array(actions)
        kept = [{"x": np.zeros(1)} for _ in actions]
        return Trajectory(
            kept, numbers, numbers, np.array([0.0] * (len(actions) - 1) + [reward]), kept[0] if cut else None
        )

    best = BestEpisodes(2)
    best.add([episode([1], 1.0), episode([2], 5.0, cut=True), episode([3], 2.0)])
    best.add([episode([3], 2.0), episode([4], 3.0)])
    assert [e.actions.tolist() for e in best.episodes] == [[4], [3]]


def test_episodes_are_worth_what_they_are_above_the_mean() -> None:
    """Latest returns 0, 2, 4: mean 2, deviation 1.63. 3 is 0.61 deviations above, 5 more than one, 1 is below."""
    kept = [_episode([3.0]), _episode([2.0, 3.0]), _episode([1.0])]
    worth = worth_of_episodes(kept, [_episode([0.0]), _episode([2.0]), _episode([1.0, 3.0])])
    assert worth == pytest.approx([1.0 / np.sqrt(8.0 / 3.0), 1.0, 1.0, 0.0])


def test_against_the_mean_a_rare_good_episode_is_imitated_whatever_the_critic_expects() -> None:
    """The probability of its actions rises although the critic already expects its return."""
    network = network_for(ROWS, "scorer:hidden=8")
    trajectories = collect(ROWS, network, range(30))
    options = PPOOptions(self_imitation=1, self_imitation_updates=50, self_imitation_against="mean", epochs=1)
    ppo = PPO(network, options, 10)
    best = Samples(network, [max(trajectories, key=lambda t: t.reward)])
    chosen = best.assessed()[0].sum().item()
    ppo.update(trajectories, 0)
    assert best.assessed()[0].sum().item() > chosen + 0.1


def test_the_best_episode_is_learned_by_heart_in_the_end() -> None:
    """After the last iteration greedy play takes its every action; after one before that it does not."""
    options = PPOOptions(self_imitation=1, self_imitation_start=1.0, self_imitation_last=300, actor_lr=0.01, epochs=1)
    taken = {}
    for iterations in (1, 2):
        network = network_for(ROWS, "scorer:hidden=8")
        trajectories = collect(ROWS, network, range(30))
        PPO(network, options, iterations).update(trajectories, 0)
        best = max(trajectories, key=lambda t: t.reward)
        logits, _, _ = network(network.stack(best.kept))
        taken[iterations] = logits.argmax(1).tolist() == best.columns.tolist()
    assert taken == {1: True, 2: False}


def _episode(rewards: list[float]) -> Trajectory:
    """An episode of which only the rewards count."""
    steps = len(rewards)
    return Trajectory([{} for _ in rewards], np.zeros(steps, np.int64), np.zeros(steps, np.int64), np.array(rewards))


def test_self_imitation_finds_again() -> None:
    """Actions of one rare good episode, imitated, become much more probable."""
    network = network_for(ROWS, "scorer:hidden=8")
    trajectories = collect(ROWS, network, range(30))
    ppo = PPO(network, PPOOptions(self_imitation=1, self_imitation_updates=20, actor_lr=0.01), 10)
    before = Samples(network, [max(trajectories, key=lambda t: t.reward)])
    chosen = before.assessed()[0].sum().item()
    ppo.update(trajectories, 0)
    assert before.assessed()[0].sum().item() > chosen + 1.0


def test_published_options_are_options() -> None:
    """Published options can be had, and say what the papers' tables say."""
    options = PPOOptions(**PUBLISHED["energy-scheduler"])
    assert (options.clip, options.gamma, options.lam, options.epochs) == (0.1, 0.99, 0.95, 50)
    options = PPOOptions(**PUBLISHED["deepshutdown"])
    assert (options.clip, options.gamma, options.lam, options.epochs) == (0.2, 0.99, 0.95, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 1.5}, "ppo option 'gamma': expected a number, 0 or more and at most 1, found 1.5"),
        ({"clip": 0.0}, "ppo option 'clip': expected a finite number above 0, found 0.0"),
        ({"entropy": -1.0}, "ppo option 'entropy': expected a finite number, 0 or more"),
        ({"lr_schedule": "cosine"}, "constant or linear, found cosine"),
        ({"critic_target": "td"}, "gae or returns"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    """Told in a line."""
    with pytest.raises(InputError, match=message):
        PPOOptions(**options)


def test_a_padded_buffer_by_hand() -> None:
    """3 and 1 in four slots: mean 1, variance (9 + 1) / 4 - 1; a buffer that is too short is none."""
    numbers = np.array([3.0, 1.0])
    assert mean_and_spread(numbers, 4) == pytest.approx((1.0, 1.5**0.5))
    assert mean_and_spread(numbers) == mean_and_spread(numbers, 1) == pytest.approx((2.0, 1.0))


def test_the_masks_of_the_last_decision_by_hand() -> None:
    """The last action is forbidden, as long as it is not about the last decision, in which all is allowed."""
    masks = torch.tensor([[True, False, True], [True, True, False], [False, True, True]])
    assert slipped_masks(masks).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert masks[0, 2]  # those of the decisions stay


def test_a_forbidden_action_teaches_nothing() -> None:
    """With ``last-decision``, taking the last action again and again moves no weight of the actor but by one decision in four."""
    options: dict[str, Any] = {"minibatch": 4, "epochs": 1, "shuffle": False, "entropy": 0.0, "entropy_end": None}
    moved = []
    for masks in ("acting", "last-decision"):
        network = network_for(Make(Bandit), "mlp")
        ppo = PPO(network, PPOOptions(**options, learning_masks=masks, normalise_advantages=False), 1)
        episodes = [t for t in collect(Make(Bandit), network, range(60)) if t.columns[0] == network.action_count - 1][
            :4
        ]
        assert len(episodes) == 4
        before = network.weights()
        logged = ppo.update(episodes, 0)
        assert np.isfinite([logged["train/policy_gradient_loss"], logged["train/approx_kl"]]).all()
        moved.append((before, network.weights(), logged["train/clip_fraction"]))
    assert moved[0][2] == 0.0
    assert moved[1][2] == 0.75  # the ratio of three decisions is 0
