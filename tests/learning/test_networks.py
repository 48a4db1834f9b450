"""Networks: what they depend on and what not, masks, published layers, weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")
import torch
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from cluster_sim.errors import InputError, SpecError
from learning.networks.building import make_network
from learning.networks.categorical import best, divergence, draw, entropy, log_probabilities, of_chosen
from learning.networks.network import Network, dense, networks, one_thread
from learning.networks.selu_layers import SeluLayers
from tests.support.toys import collated

FEATURES, STATE = 4, 3


def row_space(actions: int) -> spaces.Dict:
    """The space of an observation of action rows."""
    return spaces.Dict(
        {
            "actions": spaces.Box(-1.0, 1.0, (actions, FEATURES), np.float32),
            "state": spaces.Box(-1.0, 1.0, (STATE,), np.float32),
            "action_mask": spaces.MultiBinary(actions),
        }
    )


def array_space(actions: int, *shape: int) -> spaces.Dict:
    """The space of an observation of one array."""
    box = spaces.Box(-1.0, 1.0, shape, np.float32)
    return spaces.Dict({"observation": box, "action_mask": spaces.MultiBinary(actions)})


def drawn(space: spaces.Dict, seed: int) -> dict[str, np.ndarray]:
    """An observation with at least one allowed action."""
    rng = np.random.default_rng(seed)
    found = {key: rng.uniform(-1.0, 1.0, box.shape).astype(np.float32) for key, box in space.spaces.items()}
    found["action_mask"] = rng.integers(0, 2, space["action_mask"].shape, dtype=np.int8)
    found["action_mask"][rng.integers(len(found["action_mask"]))] = 1
    return found


def perturbed(network: Network, seed: int = 0) -> Network:
    """The network with weights that are far from a tidy beginning."""
    rng = np.random.default_rng(seed)
    network.load_weights({name: rng.normal(0.0, 0.5, w.shape).astype("f") for name, w in network.weights().items()})
    return network


def scorer(actions: int, seed: int = 0) -> Network:
    """The default network with arbitrary weights."""
    return perturbed(make_network("scorer:hidden=8", row_space(actions), actions), seed)


def probabilities(network: Network, observation: dict[str, np.ndarray]) -> np.ndarray:
    """Probability of each action."""
    kept = network.keep(observation)
    with torch.inference_mode():
        found = log_probabilities(network.policy(network.stack([kept]))).exp()[0].tolist()
    result = np.zeros(network.action_count)
    for column, probability in enumerate(found):
        result[network.action(kept, column)] = probability
    return result


def value(network: Network, observation: dict[str, np.ndarray]) -> float:
    """Expected return."""
    with torch.inference_mode():
        return float(network(collated(network, [observation]))[1])


SPACES = {
    "scorer": (row_space(7), 7),
    "mlp": (row_space(5), 5),
    "published-pairs": (array_space(6, 6, 9), 6),
    "published-policies": (array_space(4, 11), 4),
    "lstm": (array_space(3, 8), 3),
    "lstm:over=history": (array_space(3, 20, 8), 3),
    "lstm:over=history,critic=own,activation=leaky-relu": (array_space(3, 20, 8), 3),
    "as-published": (array_space(6, 6, 9), 6),
}


def test_every_network_is_tested() -> None:
    """The table above names all that are registered."""
    from learning.networks import published_networks, scorer

    assert published_networks.lstm
    assert scorer.scorer
    assert {name.partition(":")[0] for name in SPACES} == set(networks)


@pytest.mark.parametrize("spec", SPACES)
def test_disallowed_actions_have_probability_zero(spec: str) -> None:
    """Exactly 0, and the others sum to 1."""
    space, actions = SPACES[spec]
    network = make_network(spec, space, actions, seed=1)
    for seed in range(10):
        observation = drawn(space, seed)
        kept = network.keep(observation)
        with torch.inference_mode():
            found = log_probabilities(network(network.stack([kept]))[0]).exp()[0].numpy()
        assert found.sum() == pytest.approx(1.0, abs=1e-5)
        allowed = {network.action(kept, int(column)) for column in np.flatnonzero(found > 0.0)}
        assert allowed <= set(np.flatnonzero(observation["action_mask"]).tolist())


@pytest.mark.parametrize("spec", SPACES)
def test_a_batch_is_its_situations(spec: str) -> None:
    """What a network says of several situations at once is what it says of each alone."""
    space, actions = SPACES[spec]
    network = make_network(spec, space, actions, seed=2)
    observations = [drawn(space, seed) for seed in range(5)]
    with torch.inference_mode():
        logits, values, _ = network(collated(network, observations))
        for i, observation in enumerate(observations):
            alone, expected, _ = network(collated(network, [observation]))
            assert torch.allclose(logits[i, : alone.shape[1]], alone[0], atol=1e-4)
            assert values[i].item() == pytest.approx(expected.item(), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("spec", SPACES)
def test_weights_travel_as_arrays(spec: str) -> None:
    """A network with another's weights says the same; the arrays are copies."""
    space, actions = SPACES[spec]
    first, second = (make_network(spec, space, actions, seed=seed) for seed in (1, 2))
    batch = collated(first, [drawn(space, 1)])
    weights = first.weights()
    second.load_weights(weights)
    with torch.inference_mode():
        assert torch.equal(first(batch)[0], second(batch)[0])
        for array in weights.values():
            array.fill(7.0)
        assert torch.equal(first(batch)[0], second(batch)[0])


@pytest.mark.parametrize("spec", SPACES)
def test_gradients_are_numbers(spec: str) -> None:
    """Masks bring no NaN into gradients, not even of the entropy."""
    space, actions = SPACES[spec]
    network = make_network(spec, space, actions, seed=3)
    observations = [drawn(space, seed) for seed in range(6)]
    logits, values = network.unroll(collated(network, observations), [4, 2])
    log_p = log_probabilities(logits)
    columns = torch.tensor(best(logits.detach().numpy()))
    (entropy(log_p).sum() + of_chosen(log_p, columns).sum() + values.sum()).backward()
    for weight in network.parameters():
        assert weight.grad is not None
        assert torch.isfinite(weight.grad).all()


@given(st.integers(0, 10_000))
def test_the_scorer_does_not_know_positions(seed: int) -> None:
    """Reordered rows have reordered probabilities and the same value."""
    network = scorer(7, seed % 5)
    observation = drawn(row_space(7), seed)
    order = np.random.default_rng(seed).permutation(7)
    other = observation | {key: observation[key][order] for key in ("actions", "action_mask")}
    assert probabilities(network, other) == pytest.approx(probabilities(network, observation)[order], abs=1e-5)
    assert value(network, other) == pytest.approx(value(network, observation), abs=1e-4)


@given(st.integers(0, 10_000))
def test_the_scorer_does_not_see_masked_rows(seed: int) -> None:
    """Whatever is written in rows of actions that are not allowed, nothing changes."""
    network = scorer(7, seed % 5)
    observation = drawn(row_space(7), seed)
    rows = observation["actions"].copy()
    rows[observation["action_mask"] == 0] = 1e6
    other = observation | {"actions": rows}
    assert (probabilities(network, other) == probabilities(network, observation)).all()
    assert value(network, other) == value(network, observation)


def test_the_scorer_is_of_any_size() -> None:
    """Weights for 7 rows serve 40; with the same rows allowed, they say the same of them."""
    small, large = scorer(7), make_network("scorer:hidden=8", row_space(40), 40)
    large.load_weights(small.weights())
    observation = drawn(row_space(7), 1)
    wide = {
        "actions": np.vstack((observation["actions"], np.ones((33, FEATURES), np.float32))),
        "state": observation["state"],
        "action_mask": np.append(observation["action_mask"], np.zeros(33, np.int8)),
    }
    assert probabilities(large, wide)[:7] == pytest.approx(probabilities(small, observation), abs=1e-6)
    assert value(large, wide) == pytest.approx(value(small, observation), abs=1e-6)


def test_the_scorer_depends_on_the_other_rows() -> None:
    """The log-odds of two actions are not a matter of these two alone: a third one changes the context."""
    network = scorer(3, 1)
    observation = drawn(row_space(3), 4) | {"action_mask": np.array([1, 1, 1], np.int8)}
    two = probabilities(network, observation | {"action_mask": np.array([1, 1, 0], np.int8)})
    three = probabilities(network, observation)
    assert np.log(two[0] / two[1]) != pytest.approx(np.log(three[0] / three[1]), abs=1e-3)


def test_columns_and_actions() -> None:
    """Column and action are each other's inverse; a disallowed action has no column."""
    network = scorer(5)
    kept = network.keep(drawn(row_space(5), 0) | {"action_mask": np.array([0, 1, 0, 0, 1], np.int8)})
    assert [network.action(kept, column) for column in (0, 1)] == [1, 4]
    assert [network.column(kept, action) for action in (1, 4)] == [0, 1]
    with pytest.raises(InputError, match="action: expected one that the mask allows, found 3"):
        network.column(kept, 3)


def test_published_pairs_by_hand() -> None:
    """All weights 1 and biases 0: a row's sum is multiplied by each layer's width, and SELU scales what is positive.

    Actor: widths 16, 16, 8, 8, 4, 4 and seven SELUs; a row of sum s > 0 scores s · λ⁷ · 16·16·8·8·4·4.
    """
    network = make_network("published-pairs", array_space(2, 2, 9), 2)
    ones = {n: np.full(w.shape, float(w.ndim == 2), np.float32) for n, w in network.weights().items()}
    network.load_weights(ones)
    observation = {"observation": np.zeros((2, 9), np.float32), "action_mask": np.ones(2, np.int8)}
    observation["observation"][1] = 1e-6
    with torch.inference_mode():
        logits, values, _ = network(collated(network, [observation]))
    factor = 1.0507009873554805
    assert logits[0].tolist() == pytest.approx([0.0, 9e-6 * factor**7 * 16 * 16 * 8 * 8 * 4 * 4], rel=1e-5)
    of_row = 9e-6 * factor**5 * 32 * 16 * 8 * 4
    assert values.item() == pytest.approx(of_row * factor**5 * 128 * 64 * 32 * 16 * 8, rel=1e-5)


def test_published_weights() -> None:
    """N(0, 1) and biases 0: 9-16-16-8-8-4-4-1 has 160 + 272 + 136 + 72 + 36 + 20 + 5 = 701 weights."""
    network = make_network("published-pairs", array_space(6, 6, 9), 6, seed=0)
    assert sum(weight.numel() for weight in network.actor_parameters()) == 701
    weights = np.concatenate([w.ravel() for w in network.weights().values() if w.ndim == 2])
    assert weights.mean() == pytest.approx(0.0, abs=0.05)
    assert weights.std() == pytest.approx(1.0, abs=0.05)
    assert all((w == 0.0).all() for w in network.weights().values() if w.ndim == 1)


def test_the_last_selu_can_be_left_out() -> None:
    """With it no score is below −1.7581; without it there is no such bound."""
    space = array_space(50, 50, 9)
    observation = drawn(space, 1) | {"action_mask": np.ones(50, np.int8)}
    for spec, bounded in (("published-pairs", True), ("published-pairs:final_selu=no", False)):
        network = make_network(spec, space, 50, seed=1)
        with torch.inference_mode():
            least = network.policy(collated(network, [observation])).min().item()
        assert (least > -1.7582) is bounded


@pytest.mark.parametrize(("shape", "actions", "kind"), [
    ((6, 9), 6, "PublishedPairNetwork"), ((11,), 4, "PublishedPolicies"), ((20, 8), 3, "HistoryLSTM"),
])  # fmt: skip
def test_as_published_goes_by_the_observation(shape: tuple[int, ...], actions: int, kind: str) -> None:
    """Rows of pairs, a vector of policies' statistics, or a history."""
    assert type(make_network("as-published", array_space(actions, *shape), actions)).__name__ == kind


def test_actor_and_critic_parameters_are_all() -> None:
    """Every weight belongs to exactly one of the two optimisers."""
    for spec, (space, actions) in SPACES.items():
        network = make_network(spec, space, actions)
        parts = [id(weight) for weight in (*network.actor_parameters(), *network.critic_parameters())]
        assert sorted(parts) == sorted(id(weight) for weight in network.parameters())


def test_the_value_of_two_lstms_has_layers_of_its_own() -> None:
    """The error of the value moves no weight of the policy; with one LSTM it does."""
    for spec, shares in (("lstm:over=history,critic=own", False), ("lstm:over=history", True)):
        space, actions = SPACES["lstm:over=history"]
        network = make_network(spec, space, actions, seed=0)
        network.value(collated(network, [drawn(space, 0)])).sum().backward()
        assert any(weight.grad is not None for weight in network.actor_parameters()) == shares


def test_an_episode_at_once_is_the_episode_step_by_step() -> None:
    """The LSTM led through whole episodes says what it said decision by decision."""
    space, actions = SPACES["lstm"]
    network = make_network("lstm", space, actions, seed=1)
    episodes = [[drawn(space, 10 * e + t) for t in range(length)] for e, length in enumerate((3, 5))]
    step_by_step = []
    with torch.inference_mode():
        for episode in episodes:
            memory = None
            for observation in episode:
                logits, values, memory = network(collated(network, [observation]), memory)
                step_by_step.append((logits[0], values[0]))
        logits, values = network.unroll(collated(network, [o for episode in episodes for o in episode]), [3, 5])
    assert torch.allclose(logits, torch.stack([one for one, _ in step_by_step]), atol=1e-6)
    assert torch.allclose(values, torch.stack([one for _, one in step_by_step]), atol=1e-6)


def test_the_seed_makes_the_weights() -> None:
    """Equal seeds, equal weights; torch's own generator is not touched."""
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, again, other = (make_network("scorer", row_space(4), 4, seed=seed).weights() for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert all((first[name] == again[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)


@pytest.mark.parametrize(
    ("spec", "space", "error", "message"),
    [
        ("score", row_space(4), SpecError, "one of as-published"),
        ("scorer:width=3", row_space(4), SpecError, "an option of scorer"),
        ("scorer:activation=cos", row_space(4), SpecError, "relu, leaky-relu, selu, silu or tanh, found cos"),
        ("scorer", array_space(4, 4, 9), InputError, "an observation of 'actions'"),
        ("published-pairs", array_space(4, 5, 9), InputError, "a row for each of 4 actions"),
        ("published-policies", row_space(4), InputError, "one array 'observation'"),
        ("lstm:over=all", array_space(4, 5), InputError, "episode or history"),
        ("lstm:over=history", array_space(4, 5), InputError, "steps, numbers"),
        ("lstm:over=history,critic=own", array_space(4, 5), InputError, "steps, numbers"),
        ("lstm:critic=own", array_space(4, 5), InputError, "critic=own only with over=history"),
        ("mlp", spaces.Box(0.0, 1.0, (5,), np.float32), InputError, "action_mask among them"),
        ("mlp", spaces.Dict({"observation": spaces.Box(0.0, 1.0, (5,))}), InputError, "action_mask among them"),
    ],
)
def test_what_does_not_suit_is_refused(spec: str, space: Any, error: type[Exception], message: str) -> None:
    """One line that says what was expected."""
    with pytest.raises(error, match=message):
        make_network(spec, space, 4)


def test_foreign_weights_are_refused() -> None:
    """Another name or another shape."""
    network = make_network("scorer", row_space(4), 4)
    told = r"^weight '\S+' of network 'scorer': expected shape \([\d, ]+\), found \(1, 1, 1\)$"  # whatever the machine
    with pytest.raises(InputError, match=told):
        network.load_weights({name: np.zeros((1, 1, 1)) for name in network.weights()})
    with pytest.raises(InputError, match="weights: expected those of network 'scorer'"):
        network.load_weights({"w": np.zeros(1)})


@given(st.lists(st.floats(-30.0, 30.0), min_size=2, max_size=8), st.floats(0.0, 1.0, exclude_max=True), st.integers(0))
def test_drawing_never_meets_what_is_not_allowed(scores: list[float], uniform: float, place: int) -> None:
    """Also for the numbers at the ends of [0, 1), and with wide gaps between scores."""
    logits = np.array([scores], dtype=np.float32)
    logits[0, place % len(scores)] = -np.inf
    for number in (uniform, 0.0, np.nextafter(1.0, 0.0)):
        assert draw(logits, np.array([number]))[0] != place % len(scores)


def test_drawing_follows_the_probabilities() -> None:
    """Logits log 1, −∞, log 3: a quarter and three quarters of evenly spread numbers."""
    logits = np.repeat([[0.0, -np.inf, np.log(3.0)]], 1000, axis=0)
    found = np.bincount(draw(logits, (np.arange(1000) + 0.5) / 1000))
    assert found.tolist() == [250, 0, 750]


def test_entropy_and_divergence_count_allowed_actions_only() -> None:
    """Two of four, equally probable: log 2; from (½, ½) to (¼, ¾): ½ log 2 + ½ log ⅔."""
    log_p = log_probabilities(torch.tensor([[0.0, -torch.inf, 0.0, -torch.inf]]))
    other = log_probabilities(torch.tensor([[0.0, -torch.inf, np.log(3.0), -torch.inf]]))
    assert entropy(log_p).item() == pytest.approx(np.log(2.0))
    expected = 0.5 * np.log(2.0) + 0.5 * np.log(2.0 / 3.0)
    assert divergence(log_p, other).item() == pytest.approx(expected, abs=1e-6)


def test_decide_is_greedy_or_drawn() -> None:
    """Without a generator the most probable action, with one each as often as it is probable."""
    network = scorer(5)
    observation = drawn(row_space(5), 3) | {"action_mask": np.array([0, 1, 1, 0, 1], np.int8)}
    expected = probabilities(network, observation)
    assert network.decide(observation)[0] == int(expected.argmax())
    rng = np.random.default_rng(0)
    counts = np.bincount([network.decide(observation, rng=rng)[0] for _ in range(1000)], minlength=5)
    assert counts / 1000 == pytest.approx(expected, abs=0.05)


def test_one_thread_is_given_back() -> None:
    """Torch has one thread inside and as many as before outside."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("last", [False, True])
def test_selu_layers_are_torchs_own_to_the_bit(last: bool) -> None:
    """Outputs and all gradients of the stack that is differentiated in one go are those of torch's layers one by one."""
    theirs, ours = dense([9, 16, 8, 1], "selu", last=last), SeluLayers([9, 16, 8, 1], last=last)
    ours.load_state_dict(theirs.state_dict())
    generator = torch.Generator().manual_seed(1)
    numbers = torch.randn(50, 9, generator=generator)
    one, other = numbers.clone().requires_grad_(), numbers.clone().requires_grad_()
    with one_thread():
        theirs(one).square().sum().backward()
        ours(other).square().sum().backward()
        assert torch.equal(theirs(one), ours(other))
        with torch.inference_mode():
            assert torch.equal(theirs(numbers), ours(numbers))
    assert one.grad is not None
    assert other.grad is not None
    assert torch.equal(one.grad, other.grad)
    for weight, same in zip(theirs.parameters(), ours.parameters(), strict=True):
        assert weight.grad is not None
        assert same.grad is not None
        assert torch.equal(weight.grad, same.grad)


@given(st.integers(0, 10_000))
def test_equal_rows_may_be_worked_out_once(seed: int) -> None:
    """The compact form of a batch has the same logits, values and gradients, whatever rows are equal, zero or forbidden."""
    rng = np.random.default_rng(seed)
    network = make_network("published-pairs", array_space(6, 6, 3), 6, seed).double()
    kinds = np.vstack([np.zeros(3), rng.uniform(0.0, 1.0, (3, 3))]).astype(np.float32)
    situations = []
    for _ in range(4):
        mask = rng.integers(0, 2, 6, dtype=np.int8)
        mask[0] = 1
        situations.append({"observation": kinds[rng.integers(0, 4, 6)], "action_mask": mask})
    batch = network.stack([network.keep(situation) for situation in situations])
    batch["observation"] = batch["observation"].double()  # rounding is not what is asked about
    compact = network.compact(batch)
    found = []
    for form in (batch, compact):
        network.zero_grad()
        logits, values, _ = network(form)
        (log_probabilities(logits)[:, 0].sum() + values.sum()).backward()
        found.append((logits.detach(), values.detach(), [weight.grad.clone() for weight in network.parameters()]))  # type: ignore[union-attr]
    (logits, values, gradients), (same_logits, same_values, same_gradients) = found
    assert len(compact["rows"]) <= len(kinds)
    torch.testing.assert_close(same_logits, logits)
    torch.testing.assert_close(same_values, values)
    for gradient, same in zip(gradients, same_gradients, strict=True):
        torch.testing.assert_close(same, gradient)


@given(st.integers(0, 10_000))
def test_rows_that_are_always_zeros_may_share_a_weight(seed: int) -> None:
    """With ``critic_rows`` values, logits and, after steps of Adam, all weights are those of the whole network."""
    rng = np.random.default_rng(seed)
    whole = make_network("published-pairs", array_space(9, 9, 3), 9, seed).double()
    few = make_network("published-pairs:critic_rows=4", array_space(9, 9, 3), 9, seed).double()
    first = "critic_of_all.0.weight"
    with torch.no_grad():  # the mean of what was drawn, but not rounded to float32
        few.get_parameter(first)[:, 4] = whole.get_parameter(first)[:, 4:].mean(1)
    situations = []
    for _ in range(4):
        rows, mask = np.zeros((9, 3), np.float32), np.zeros(9, np.int8)
        rows[:4], mask[:4], mask[0] = rng.uniform(0.0, 1.0, (4, 3)), rng.integers(0, 2, 4), 1
        situations.append({"observation": rows, "action_mask": mask})
    for compact in (False, True):
        found = []
        for network in (whole, few):
            optimiser = torch.optim.Adam(network.parameters(), 1e-3, eps=1e-8)
            batch = network.stack([network.keep(situation) for situation in situations])
            batch["observation"] = batch["observation"].double()  # rounding is not what is asked about
            for _ in range(3):
                optimiser.zero_grad()
                logits, values, _ = network(network.compact(batch) if compact else batch)
                (log_probabilities(logits)[:, 0].sum() + (values - 1.0).square().mean()).backward()
                optimiser.step()
            found.append((logits[:, :4].detach(), values.detach(), dict(network.named_parameters())))
        (logits, values, weights), (same_logits, same_values, same_weights) = found
        torch.testing.assert_close(same_logits, logits)
        torch.testing.assert_close(same_values, values)
        for name, weight in weights.items():
            theirs = same_weights[name]
            if theirs.shape == weight.shape:
                torch.testing.assert_close(theirs, weight)
            else:
                torch.testing.assert_close(theirs[:, :4], weight[:, :4])
                torch.testing.assert_close(theirs[:, 4], weight[:, 4:].mean(1))


def test_a_shared_weight_counts_each_of_its_rows() -> None:
    """Once a row that shares its weight is filled, the critic sees the sum of these rows."""
    space = array_space(3, 3, 1)
    network = make_network("published-pairs:critic_rows=1", space, 3, seed=2)

    def value(*rows: float) -> float:
        observation = {"observation": np.array(rows, np.float32).reshape(3, 1), "action_mask": np.ones(3, np.int8)}
        with torch.inference_mode():
            return float(network.value(collated(network, [observation])))

    assert value(1.0, 2.0, 0.0) == pytest.approx(value(1.0, 0.0, 2.0))
    assert value(1.0, 2.0, 0.0) != pytest.approx(value(1.0, 0.0, 0.0))
