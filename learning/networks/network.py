"""Base of the networks of agents, and the registry ``networks``.

A network turns an observation into logits (unnormalised log-probabilities of actions) and a value (expected return). It
works in four steps::

    kept = network.keep(observation)          # the needed part of an observation, which trajectories store
    batch = network.stack([kept, …])          # arrays of several situations, as tensors
    logits, values, memory = network(batch)   # (B, K), (B,), what a recurrent network remembers
    action = network.action(kept, column)     # the action that a column of the logits stands for

**Columns.** A network of dense observations has one column for each action, K = A. The default network, which looks at
allowed actions only, has one for each of those, and K is their greatest number in the batch. The logit of a column that
may not be chosen is minus infinity, so that its probability is exactly 0.

To add a network, write a class that extends :class:`Network` by ``policy`` and ``value`` (or, when it remembers,
``forward`` and ``unroll``), perhaps ``keep`` and ``stack``. Register a function that takes its options and returns a
builder, which makes it from an observation space and the number of actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
import torch
from annotated_types import Ge, Le, Unit
from torch import Tensor, nn
from typing_extensions import Doc

from cluster_sim.errors import InputError
from cluster_sim.options import checked
from cluster_sim.registry import Registry, Spec

Observation = Mapping[str, np.ndarray]
Kept = dict[str, np.ndarray]
Batch = dict[str, Tensor]
Memory = tuple[Tensor, Tensor]
Weights = dict[str, np.ndarray]
NetworkBuilder = Callable[[Any, int], "Network"]

MASK = "action_mask"
MOST_UNITS, MOST_LAYERS = 4096, 64
"""Greatest width and depth; a greater one is a mistake, since a layer would need gigabytes."""

networks: Registry[NetworkBuilder] = Registry("network", "cluster_sim.networks")

ActivationName = Literal["relu", "leaky-relu", "selu", "silu", "tanh"]
Activation = Annotated[ActivationName, Doc("function between layers")]
ACTIVATIONS: Mapping[ActivationName, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "leaky-relu": nn.LeakyReLU,
    "selu": nn.SELU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
}


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch work with one thread: faster for nets as small as these, and the same bits on every machine.

    More threads add sums in another order, so a result would depend on the machine.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Network(nn.Module):
    """Network from observations to logits and values. This class keeps observations dense: every action has a column.

    Args:
        observation_space: the spaces of the observation by key, ``action_mask`` among them.
        action_count: A, the number of actions.
    """

    #: Whether the columns of the logits are the actions, in their order.
    columns_are_actions = True
    #: Whether its output depends on earlier observations of the episode.
    recurrent = False

    def __init__(self, observation_space: Any, action_count: int):
        super().__init__()
        self.spec = ""
        self.action_count = action_count
        self.shapes: dict[str, tuple[int, ...]] = {
            key: space.shape for key, space in observation_space.spaces.items() if key != MASK
        }

    # ------------------------------------------------------------------ observations

    def keep(self, observation: Observation) -> Kept:
        """Return the part of an observation that decisions can depend on, as arrays of its own."""
        kept = {key: np.array(observation[key], dtype=np.float32) for key in self.shapes}
        return kept | {MASK: np.array(observation[MASK], dtype=bool)}

    def stack(self, kept: Sequence[Kept]) -> Batch:
        """Return the tensors of B situations: float32 (B, …) by key, and ``action_mask``, bool (B, K)."""
        return {key: torch.from_numpy(np.stack([one[key] for one in kept])) for key in kept[0]}

    def take(self, batch: Batch, places: Tensor) -> Batch:
        """Return some of the situations of a batch."""
        return {key: tensor[places] for key, tensor in batch.items()}

    def compact(self, batch: Batch) -> Batch:
        """Return the situations in a form that is quicker to learn from, where they are learned from many times."""
        return batch

    def action(self, kept: Kept, column: int) -> int:
        """Return the action that a column of the logits stands for."""
        return column

    def column(self, kept: Kept, action: int) -> int:
        """Return the column of an action. Raises InputError for an action that is not allowed."""
        if not (0 <= action < self.action_count and kept[MASK][action]):
            raise InputError("action", "one that the mask allows", action)
        return action

    # ------------------------------------------------------------------ outputs

    def policy(self, batch: Batch) -> Tensor:
        """Return logits (B, K); minus infinity where an action is not allowed."""
        raise NotImplementedError

    def value(self, batch: Batch) -> Tensor:
        """Return expected returns (B,)."""
        raise NotImplementedError

    def forward(self, batch: Batch, memory: Memory | None = None) -> tuple[Tensor, Tensor, Memory | None]:
        """Return logits (B, K), values (B,) and memory for the next decision (None for networks without memory)."""
        return self.policy(batch), self.value(batch), memory

    def unroll(self, batch: Batch, lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return logits (N, K) and values (N,) of whole episodes one after the other, of these lengths, N in all.

        A network without memory ignores the ends of episodes: any N situations will do.
        """
        logits, values, _ = self(batch)
        return logits, values

    # ------------------------------------------------------------------ weights

    def critic_parameters(self) -> list[nn.Parameter]:
        """Return the weights on which only the value depends: the weights of the part named ``critic``."""
        return [weight for name, weight in self.named_parameters() if name.startswith("critic")]

    def actor_parameters(self) -> list[nn.Parameter]:
        """Return all other weights."""
        return [weight for name, weight in self.named_parameters() if not name.startswith("critic")]

    def weights(self) -> Weights:
        """Return a copy of the weights as numpy arrays, the form in which they are sent and stored."""
        return {name: weight.detach().numpy().copy() for name, weight in self.state_dict().items()}

    def load_weights(self, weights: Mapping[str, np.ndarray]) -> None:
        """Take over weights of a network of the same shape. Raises InputError where names or shapes differ."""
        own = self.state_dict()
        if set(own) != set(weights):
            raise InputError("weights", f"those of network '{self.spec}' ({', '.join(own)})", ", ".join(weights))
        for name, weight in own.items():
            if tuple(weight.shape) != np.shape(weights[name]):
                expected = f"shape {tuple(weight.shape)}"
                if Spec.parse(self.spec).name != "scorer":  # it takes any number of jobs and nodes
                    expected += " (it may be bound to how many nodes or jobs it learned with)"
                raise InputError(f"weight '{name}' of network '{self.spec}'", expected, np.shape(weights[name]))
        # A copy: the arrays may be read-only, and training must not write into them.
        self.load_state_dict({name: torch.tensor(np.asarray(weight)) for name, weight in weights.items()})

    def decide(
        self, observation: Observation, memory: Memory | None = None, rng: np.random.Generator | None = None
    ) -> tuple[int, Memory | None]:
        """Return the most probable action, or one drawn with ``rng``, and the memory for the next decision."""
        return self.decide_kept(self.keep(observation), memory, rng)

    def decide_kept(
        self, kept: Kept, memory: Memory | None = None, rng: np.random.Generator | None = None
    ) -> tuple[int, Memory | None]:
        """Decide as :meth:`decide` does, on what is kept of an observation."""
        from learning.networks.categorical import best, draw

        with torch.inference_mode(), one_thread():
            if self.recurrent:
                logits, _, memory = self(self.stack([kept]), memory)
            else:
                logits = self.policy(self.stack([kept]))
        scores = logits.numpy()
        column = best(scores) if rng is None else draw(scores, np.array([rng.random()]))
        return self.action(kept, int(column[0])), memory


def dense(sizes: Sequence[int], activation: ActivationName, last: bool = False) -> nn.Sequential:
    """Return dense layers of these sizes, input first, and an activation between them (or also after the last)."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), ACTIVATIONS[activation]()]
    return nn.Sequential(*(layers if last else layers[:-1]))


def flat(batch: Batch) -> Tensor:
    """Return a dense batch without its mask as one vector per situation: (B, sum of the sizes)."""
    return torch.cat([tensor.flatten(1) for key, tensor in batch.items() if key != MASK], dim=1)


def forbid(logits: Tensor, mask: Tensor) -> Tensor:
    """Set logits to minus infinity where the mask is False."""
    return logits.masked_fill(~mask, -torch.inf)


class Perceptron(Network):
    """Network of two separate stacks of dense layers over the flattened observation, one for logits, one for the value.

    Weights are drawn as Andrychowicz et al. (2021) advise: orthogonal, and a hundred times smaller in the last policy
    layer, so that training begins with nearly equal probabilities.
    """

    def __init__(self, observation_space: Any, action_count: int, hidden: int, layers: int, activation: ActivationName):
        super().__init__(observation_space, action_count)
        inputs = sum(int(np.prod(shape)) for shape in self.shapes.values())
        self.actor = dense([inputs, *[hidden] * layers, action_count], activation)
        self.critic = dense([inputs, *[hidden] * layers, 1], activation)
        for stack, last_gain in ((self.actor, 0.01), (self.critic, 1.0)):
            orthogonal(stack, last_gain)

    def policy(self, batch: Batch) -> Tensor:
        """Return logits of all actions."""
        return forbid(self.actor(flat(batch)), batch[MASK])

    def value(self, batch: Batch) -> Tensor:
        """Return expected returns."""
        values: Tensor = self.critic(flat(batch)).squeeze(1)
        return values


def orthogonal(stack: nn.Module, last_gain: float) -> None:
    """Initialise weights orthogonally (gain √2) and biases with 0; the last layer has a gain of its own."""
    layers = [module for module in stack.modules() if isinstance(module, nn.Linear)]
    for layer in layers:
        nn.init.orthogonal_(layer.weight, last_gain if layer is layers[-1] else 2.0**0.5)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


Units = Annotated[int, Ge(1), Le(MOST_UNITS), Unit("units"), Doc("units of a hidden layer")]


@networks.register("mlp")
@checked
def mlp(
    hidden: Units = 64,
    layers: Annotated[int, Ge(0), Le(MOST_LAYERS), Unit("layers"), Doc("hidden layers")] = 2,
    activation: Activation = "tanh",
) -> NetworkBuilder:
    """Dense layers over the whole observation, for any environment; bound to its numbers of jobs and nodes."""
    return partial(Perceptron, hidden=hidden, layers=layers, activation=activation)
