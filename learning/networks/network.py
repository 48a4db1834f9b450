"""What every network of an agent has in common, and the registry ``networks``.

A network sees an observation and says how good each action is (logits: unnormalised log-probabilities) and what return it
expects (value). It lives in four steps::

    kept = network.keep(observation)          # what it needs of an observation; this is what trajectories store
    batch = network.stack([kept, …])          # arrays of several situations, as tensors
    logits, values, memory = network(batch)   # (B, K), (B,), what a recurrent network remembers
    action = network.action(kept, column)     # the action that a column of the logits stands for

**Columns.** A network of dense observations has one column for each action, K = A. The default network, which looks at
allowed actions only, has one for each of those, and K is the most of them in the batch. Whatever a column stands for,
its logit is minus infinity where it may not be chosen, so that its probability is exactly 0.

To add a network, write a class that extends :class:`Network` by ``policy`` and ``value`` (or, when it remembers,
``forward`` and ``unroll``), perhaps ``keep`` and ``stack``, and register a function that takes its options and returns
what builds it from an observation space and the number of actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cluster_sim.errors import InputError, SpecError
from cluster_sim.registry import Registry, Spec

Observation = Mapping[str, np.ndarray]
Kept = dict[str, np.ndarray]
Batch = dict[str, Tensor]
Memory = tuple[Tensor, Tensor]
Weights = dict[str, np.ndarray]
NetworkBuilder = Callable[[Any, int], "Network"]

MASK = "action_mask"
MOST_UNITS, MOST_LAYERS = 4096, 64
"""Widths and depths beyond these are mistakes: a layer would need gigabytes."""

networks: Registry[NetworkBuilder] = Registry("network", "cluster_sim.networks")

_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "leaky-relu": nn.LeakyReLU,
    "selu": nn.SELU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
}


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch work with one thread: quicker for nets as small as these, and the same bits on every machine.

    Sums are added in another order when there are more threads, so a result would depend on where it was computed.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Network(nn.Module):
    """Observations to logits and values. This class keeps observations dense: every action has a column.

    Args:
        observation_space: the spaces of the observation by key, ``action_mask`` among them.
        action_count: A, the number of actions.
    """

    #: Whether what it says depends on earlier observations of the episode.
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
        """What is needed of an observation, without what no decision can depend on; arrays of its own."""
        kept = {key: np.array(observation[key], dtype=np.float32) for key in self.shapes}
        return kept | {MASK: np.array(observation[MASK], dtype=bool)}

    def stack(self, kept: Sequence[Kept]) -> Batch:
        """The tensors of B situations: float32 (B, …) by key, and ``action_mask``, bool (B, K)."""
        return {key: torch.from_numpy(np.stack([one[key] for one in kept])) for key in kept[0]}

    def take(self, batch: Batch, places: Tensor) -> Batch:
        """Some of the situations of a batch."""
        return {key: tensor[places] for key, tensor in batch.items()}

    def compact(self, batch: Batch) -> Batch:
        """Return the situations in a form that is quicker to learn from, where they are learned from many times."""
        return batch

    def action(self, kept: Kept, column: int) -> int:
        """The action that a column of the logits stands for."""
        return column

    def column(self, kept: Kept, action: int) -> int:
        """The column of an action. Raises InputError for an action that is not allowed."""
        if not (0 <= action < self.action_count and kept[MASK][action]):
            raise InputError("action", "one that the mask allows", action)
        return action

    # ------------------------------------------------------------------ what it says

    def policy(self, batch: Batch) -> Tensor:
        """Logits (B, K); minus infinity where an action is not allowed."""
        raise NotImplementedError

    def value(self, batch: Batch) -> Tensor:
        """Expected returns (B,)."""
        raise NotImplementedError

    def forward(self, batch: Batch, memory: Memory | None = None) -> tuple[Tensor, Tensor, Memory | None]:
        """Logits (B, K), values (B,) and memory for the next decision (None for what does not remember)."""
        return self.policy(batch), self.value(batch), memory

    def unroll(self, batch: Batch, lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Logits (N, K) and values (N,) of whole episodes one after the other, of these lengths, N in all.

        What does not remember does not care where one episode ends: any N situations will do.
        """
        logits, values, _ = self(batch)
        return logits, values

    # ------------------------------------------------------------------ weights

    def critic_parameters(self) -> list[nn.Parameter]:
        """Weights on which only the value depends: those of the part named ``critic``."""
        return [weight for name, weight in self.named_parameters() if name.startswith("critic")]

    def actor_parameters(self) -> list[nn.Parameter]:
        """All other weights."""
        return [weight for name, weight in self.named_parameters() if not name.startswith("critic")]

    def weights(self) -> Weights:
        """A copy of the weights as numpy arrays: the form in which they are sent and stored."""
        return {name: weight.detach().numpy().copy() for name, weight in self.state_dict().items()}

    def load_weights(self, weights: Mapping[str, np.ndarray]) -> None:
        """Take over weights of a network of the same shape. Raises InputError where names or shapes differ."""
        own = self.state_dict()
        if set(own) != set(weights):
            raise InputError("weights", f"those of network '{self.spec}' ({', '.join(own)})", ", ".join(weights))
        for name, weight in own.items():
            if tuple(weight.shape) != np.shape(weights[name]):
                expected = f"shape {tuple(weight.shape)}"
                if Spec.parse(self.spec).name != "scorer":  # which takes any number of either
                    expected += " (it may be bound to how many nodes or jobs it learned with)"
                raise InputError(f"weight '{name}' of network '{self.spec}'", expected, np.shape(weights[name]))
        # A copy: the arrays may be read-only, and training must not write into what belongs to others.
        self.load_state_dict({name: torch.tensor(np.asarray(weight)) for name, weight in weights.items()})

    def decide(
        self, observation: Observation, memory: Memory | None = None, rng: np.random.Generator | None = None
    ) -> tuple[int, Memory | None]:
        """One decision: the most probable action, or one drawn with ``rng``; and the memory for the next."""
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


def dense(sizes: Sequence[int], activation: str, last: bool = False) -> nn.Sequential:
    """Dense layers of these sizes, input first, with an activation between them (and after the last one on request)."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), activation_named(activation)]
    return nn.Sequential(*(layers if last else layers[:-1]))


def check_sizes(network: str, **sizes: int) -> None:
    """Raise SpecError for a size, by the name of its option, that a network cannot have or that no memory would hold."""
    for option, size in sizes.items():
        least, most = (0, MOST_LAYERS) if option == "layers" else (1, MOST_UNITS)
        if not least <= size <= most:
            raise SpecError(f"network '{network}', option {option}", f"a whole number from {least} to {most:,}", size)


def activation_named(name: str) -> nn.Module:
    """The function between layers. Raises InputError for a name that there is not."""
    if name not in _ACTIVATIONS:
        raise InputError("network option 'activation'", f"one of {', '.join(_ACTIVATIONS)}", name)
    return _ACTIVATIONS[name]()


def flat(batch: Batch) -> Tensor:
    """All that a dense batch holds but the mask, as one vector a situation: (B, sum of the sizes)."""
    return torch.cat([tensor.flatten(1) for key, tensor in batch.items() if key != MASK], dim=1)


def forbid(logits: Tensor, mask: Tensor) -> Tensor:
    """Logits with minus infinity where the mask is False."""
    return logits.masked_fill(~mask, -torch.inf)


class Perceptron(Network):
    """Two separate stacks of dense layers over the flattened observation: one ends in logits, the other in the value.

    Weights are drawn as Andrychowicz et al. (2021) advise: orthogonal, those of the last policy layer a hundred times
    smaller, so that training begins with all actions about equally probable.
    """

    def __init__(self, observation_space: Any, action_count: int, hidden: int, layers: int, activation: str):
        super().__init__(observation_space, action_count)
        inputs = sum(int(np.prod(shape)) for shape in self.shapes.values())
        self.actor = dense([inputs, *[hidden] * layers, action_count], activation)
        self.critic = dense([inputs, *[hidden] * layers, 1], activation)
        for stack, last_gain in ((self.actor, 0.01), (self.critic, 1.0)):
            orthogonal(stack, last_gain)

    def policy(self, batch: Batch) -> Tensor:
        """Logits of all actions."""
        return forbid(self.actor(flat(batch)), batch[MASK])

    def value(self, batch: Batch) -> Tensor:
        """Expected returns."""
        values: Tensor = self.critic(flat(batch)).squeeze(1)
        return values


def orthogonal(stack: nn.Module, last_gain: float) -> None:
    """Orthogonal weights (gain √2) and zero biases; the last dense layer has a gain of its own."""
    layers = [module for module in stack.modules() if isinstance(module, nn.Linear)]
    for layer in layers:
        nn.init.orthogonal_(layer.weight, last_gain if layer is layers[-1] else 2.0**0.5)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


@networks.register("mlp")
def mlp(hidden: int = 64, layers: int = 2, activation: str = "tanh") -> NetworkBuilder:
    """Dense layers over the whole observation, for any environment; bound to its numbers of jobs and nodes."""
    check_sizes("mlp", hidden=hidden, layers=layers)
    return partial(Perceptron, hidden=hidden, layers=layers, activation=activation)
