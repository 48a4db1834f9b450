"""Networks of the papers, as published: for comparison, not because they are the best.

``as-published`` takes the network that belongs to the observation's shape; each also has a name of its own.

| name | observation | source |
|---|---|---|
| ``published-pairs`` | (A, F), one row an action | López 2023, §3.3; López, Stafford and Bosque 2025, §3.4 |
| ``published-policies`` | (D,), one vector | Herrera et al. 2021, Fig. 5; layers and functions from its program |
| ``lstm`` | any; ``over=history`` for (20, D), the last 20 observations | Casagrande et al. 2022, §5 |
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import torch
from annotated_types import Ge, Le, Unit
from torch import Tensor, nn
from typing_extensions import Doc

from cluster_sim.errors import InputError
from cluster_sim.options import checked
from learning.networks.network import (
    MASK,
    MOST_UNITS,
    Activation,
    ActivationName,
    Batch,
    Kept,
    Memory,
    Network,
    NetworkBuilder,
    Units,
    dense,
    flat,
    forbid,
    networks,
    orthogonal,
)
from learning.networks.selu_layers import SeluLayers

OBSERVATION = "observation"
FILLED = "filled"
ROWS, ALLOWED, PRESENT = "rows", "allowed", "present"


def _observation_shape(network: Network, dimensions: int, name: str) -> tuple[int, ...]:
    shape = network.shapes.get(OBSERVATION, ())
    if set(network.shapes) != {OBSERVATION} or len(shape) != dimensions:
        expected = f"an observation of one array '{OBSERVATION}' with {dimensions} dimension{'s' * (dimensions > 1)}"
        raise InputError(f"network '{name}'", expected, network.shapes)
    return shape


def _shape(observation_space: Any) -> tuple[int, ...]:
    """Return the shape of the one array that published observations are; () without it."""
    return tuple(observation_space[OBSERVATION].shape) if OBSERVATION in observation_space.spaces else ()


class PublishedPairNetwork(Network):
    """Actor and critic of the *Energy scheduler*: SELU networks whose weights are drawn from N(0, 1), biases 0.

    The actor gives each row a score, F-16-16-8-8-4-4-1. The critic reduces each row to a number, F-32-16-8-4-1, and then
    all of them to one, A-128-64-32-16-8-1, so it is bound to one number of actions.

    Args:
        observation_space: ``observation`` (A, F) and ``action_mask`` (A,).
        action_count: A.
        final_selu: a SELU after the last layer of the actor, too, as in the papers' program (their text has it only
            between layers). It keeps logits above −1.76, so that the agent cannot rule an action out.
        critic_rows: rows that the critic tells apart; the later ones share one weight for each unit, the mean of those that
            they would have. 0: all rows.

    A long queue that is seldom full has many rows that are always zeros. Their weights in the critic have equal gradients, so
    Adam moves them alike, and their sum is all that counts. With ``critic_rows`` one weight stands for them: the same
    training but for rounding, many times faster. It is another network once one of these rows is filled.

    In most observations most rows are zero (pairs that do not fit). They all give the same number, so the critic
    computes it once for all of them, and the actor skips actions that are not allowed: the same results, several times
    faster. In a batch that is used many times equal rows (of nodes in the same state) are computed once, too:
    ``compact``.
    """

    def __init__(self, observation_space: Any, action_count: int, final_selu: bool, critic_rows: int = 0):
        super().__init__(observation_space, action_count)
        rows, features = _observation_shape(self, 2, "published-pairs")
        if rows != action_count:
            raise InputError("network 'published-pairs'", f"a row for each of {action_count} actions", f"{rows} rows")
        self.actor = SeluLayers([features, 16, 16, 8, 8, 4, 4, 1], last=final_selu)
        self.critic_of_row = SeluLayers([features, 32, 16, 8, 4, 1], last=True)
        self.critic_of_all = SeluLayers([rows, 128, 64, 32, 16, 8, 1])
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight)
                nn.init.zeros_(layer.bias)
        self._critic_rows = critic_rows if critic_rows < rows else 0
        if self._critic_rows:
            self.critic_of_all = self.critic_of_all.with_mean_of_inputs(self._critic_rows)

    def stack(self, kept: Sequence[Kept]) -> Batch:
        """Return observations (B, A, F), masks (B, A), and ``filled`` (B, A), False for rows of zeros.

        Of rows that share their weight in the critic there are none if all of them are zeros.
        """
        own = self._critic_rows
        if own and not any(one[MASK][own:].any() or one[OBSERVATION][own:].any() for one in kept):
            kept = [{name: array[:own] for name, array in one.items()} for one in kept]
        batch = super().stack(kept)
        return batch | {FILLED: batch[OBSERVATION].any(2)}

    def compact(self, batch: Batch) -> Batch:
        """Return the different rows (R, F) of the observations, zeros first, and each observation's row number.

        ``allowed`` are their places for all rows that the masks allow, ``present`` for all rows that are not zeros.
        """
        mask, filled = batch[MASK], batch[FILLED]
        rows, found = torch.unique(batch[OBSERVATION][filled], dim=0, return_inverse=True)
        places = torch.zeros_like(filled, dtype=torch.int64)
        places[filled] = found + 1
        rows = torch.cat((rows.new_zeros(1, rows.shape[1]), rows))
        return {MASK: mask, FILLED: filled, ROWS: rows, ALLOWED: places[mask], PRESENT: places[filled]}

    def forward(self, batch: Batch, memory: Memory | None = None) -> tuple[Tensor, Tensor, Memory | None]:
        """Return logits (B, A) and values (B,); of a compact batch both in one go."""
        if ROWS not in batch:
            return super().forward(batch, memory)
        logits, values = _OfDifferentRows.apply(self, self.actor.first_weight, batch)  # type: ignore[no-untyped-call]
        return logits, values, memory

    def policy(self, batch: Batch) -> Tensor:
        """Return logits (B, A)."""
        mask = batch[MASK]
        scores = self.actor(batch[OBSERVATION][mask]).squeeze(1)
        logits: Tensor = scores.new_full(mask.shape, -torch.inf).masked_scatter(mask, scores)
        return logits

    def value(self, batch: Batch) -> Tensor:
        """Return expected returns (B,)."""
        filled = batch[FILLED]
        zeros = batch[OBSERVATION].new_zeros(1, batch[OBSERVATION].shape[2])
        of_rows = self.critic_of_row(torch.cat((zeros, batch[OBSERVATION][filled]))).squeeze(1)
        of_all = of_rows[0].expand(filled.shape).masked_scatter(filled, of_rows[1:])
        values: Tensor = self.critic_of_all(self._shared(of_all, of_rows[0])).squeeze(1)
        return values

    def _shared(self, of_all: Tensor, of_zeros: Tensor) -> Tensor:
        """Return the critic's numbers of rows (B, …) with one number, their sum, for all rows that share a weight.

        Rows that are not in the batch are zeros and have the number ``of_zeros``.
        """
        kept = self._critic_rows
        if not kept:
            return of_all
        missing = self.action_count - of_all.shape[1]
        return torch.cat((of_all[:, :kept], of_all[:, kept:].sum(1, keepdim=True) + missing * of_zeros), 1)


class _OfDifferentRows(torch.autograd.Function):
    """Logits and values of a compact batch, computed once per row and copied to all places of the row.

    Like its stacks of layers, it is one operation to torch, and adds to the weights' gradients itself.
    """

    @staticmethod
    def forward(ctx: Any, network: PublishedPairNetwork, weight: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        rows, mask, filled = batch[ROWS], batch[MASK], batch[FILLED]
        scores, of_actor = network.actor.through(rows)
        logits = rows.new_full(mask.shape, -torch.inf)
        logits.masked_scatter_(mask, scores.squeeze(1).index_select(0, batch[ALLOWED]))
        numbers, of_row = network.critic_of_row.through(rows)
        of_rows = numbers.squeeze(1)
        of_all = of_rows[0].repeat(filled.shape)
        of_all.masked_scatter_(filled, of_rows.index_select(0, batch[PRESENT]))
        values, of_situation = network.critic_of_all.through(network._shared(of_all, of_rows[0]))
        ctx.network, ctx.batch, ctx.traces = network, batch, (of_actor, of_row, of_situation)
        return logits, values.squeeze(1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, of_logits: Tensor, of_values: Tensor) -> tuple[None, None, None]:
        network, batch, (of_actor, of_row, of_situation) = ctx.network, ctx.batch, ctx.traces
        filled, zeros = batch[FILLED], of_values.new_zeros(len(batch[ROWS]))
        scores = zeros.index_add(0, batch[ALLOWED], of_logits.masked_select(batch[MASK]))
        network.actor.back(of_actor, scores.unsqueeze(1), False)
        of_all = network.critic_of_all.back(of_situation, of_values.unsqueeze(1), True)
        missing = 0.0
        if network._critic_rows:
            shared = of_all[:, -1:]
            missing = (network.action_count - filled.shape[1]) * shared.sum()
            of_all = torch.cat((of_all[:, :-1], shared.expand(-1, filled.shape[1] - network._critic_rows)), 1)
        of_rows = zeros.index_add_(0, batch[PRESENT], of_all.masked_select(filled))
        of_rows[0] += of_all.masked_fill(filled, 0.0).sum() + missing
        network.critic_of_row.back(of_row, of_rows.unsqueeze(1), False)
        return None, None, None


class PublishedPolicies(Network):
    """Actor and critic of IRMaSim's policy selection: dense layers with leaky ReLU, the first one shared.

    Then three hidden layers and the output for each of the two. The weights are drawn as torch does by default. REINFORCE
    uses the actor alone.

    Args:
        observation_space: ``observation`` (D,) and ``action_mask`` (A,).
        action_count: A.
        hidden: width of every hidden layer. It is not published; the program reads it from its options.
    """

    def __init__(self, observation_space: Any, action_count: int, hidden: int):
        super().__init__(observation_space, action_count)
        (inputs,) = _observation_shape(self, 1, "published-policies")
        self.shared = dense([inputs, hidden], "leaky-relu", last=True)
        self.actor = dense([hidden, hidden, hidden, hidden, action_count], "leaky-relu")
        self.critic = dense([hidden, hidden, hidden, hidden, 1], "leaky-relu")

    def policy(self, batch: Batch) -> Tensor:
        """Return logits (B, A)."""
        return forbid(self.actor(self.shared(batch[OBSERVATION])), batch[MASK])

    def value(self, batch: Batch) -> Tensor:
        """Return expected returns (B,)."""
        values: Tensor = self.critic(self.shared(batch[OBSERVATION])).squeeze(1)
        return values


class _Recurrent(Network):
    """Base of networks with DeepShutdown's two layers, an LSTM and a dense one, below the logits and the value."""

    def __init__(
        self,
        observation_space: Any,
        action_count: int,
        inputs: int,
        units: int,
        hidden: int,
        activation: ActivationName = "relu",
    ):
        super().__init__(observation_space, action_count)
        self.lstm = nn.LSTM(inputs, units, batch_first=True)
        self.dense = dense([units, hidden], activation, last=True)
        self.actor = nn.Linear(hidden, action_count)
        self.critic = nn.Linear(hidden, 1)
        orthogonal(self.dense, 2.0**0.5)
        orthogonal(self.actor, 0.01)
        orthogonal(self.critic, 1.0)

    def _heads(self, remembered: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        found = self.dense(remembered)
        return forbid(self.actor(found), mask), self.critic(found).squeeze(1)


class EpisodeLSTM(_Recurrent):
    """Network whose LSTM goes over the decisions of an episode, and remembers all of it."""

    recurrent = True

    def __init__(
        self, observation_space: Any, action_count: int, units: int, hidden: int, activation: ActivationName = "relu"
    ):
        inputs = sum(int(np.prod(space.shape)) for key, space in observation_space.spaces.items() if key != MASK)
        super().__init__(observation_space, action_count, inputs, units, hidden, activation)

    def forward(self, batch: Batch, memory: Memory | None = None) -> tuple[Tensor, Tensor, Memory | None]:
        """Take one decision of each of B episodes; the memory, shape (1, B, units) twice, is zero at their start."""
        remembered, memory = self.lstm(flat(batch).unsqueeze(1), memory)
        logits, values = self._heads(remembered.squeeze(1), batch[MASK])
        return logits, values, memory

    def unroll(self, batch: Batch, lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return logits and values of all decisions of whole episodes at once."""
        episodes = nn.utils.rnn.pad_sequence(list(torch.split(flat(batch), list(lengths))), batch_first=True)
        remembered, _ = self.lstm(episodes)
        steps = torch.arange(remembered.shape[1]) < torch.tensor(lengths).unsqueeze(1)
        return self._heads(remembered[steps], batch[MASK])


class HistoryLSTM(_Recurrent):
    """Network whose LSTM goes over the last observations in each observation, and remembers nothing beyond them."""

    def __init__(
        self, observation_space: Any, action_count: int, units: int, hidden: int, activation: ActivationName = "relu"
    ):
        shape = _history_of(observation_space)
        super().__init__(observation_space, action_count, shape[1], units, hidden, activation)

    def policy(self, batch: Batch) -> Tensor:
        """Return logits (B, A)."""
        return self(batch)[0]  # type: ignore[no-any-return]

    def value(self, batch: Batch) -> Tensor:
        """Return expected returns (B,)."""
        return self(batch)[1]  # type: ignore[no-any-return]

    def forward(self, batch: Batch, memory: Memory | None = None) -> tuple[Tensor, Tensor, Memory | None]:
        """Return logits and values from the LSTM's last output."""
        remembered, _ = self.lstm(batch[OBSERVATION])
        return *self._heads(remembered[:, -1], batch[MASK]), None


class TwoHistoryLSTMs(Network):
    """Network of two LSTMs over the last observations in each observation, each with a dense layer and an output.

    One gives the logits and the other the value, as in the authors' program (``main.py``, ``p_network`` and ``vf_network``).
    """

    def __init__(self, observation_space: Any, action_count: int, units: int, hidden: int, activation: ActivationName):
        super().__init__(observation_space, action_count)
        _, inputs = _history_of(observation_space)
        self.lstm = nn.LSTM(inputs, units, batch_first=True)
        self.actor = dense([units, hidden, action_count], activation)
        self.critic_lstm = nn.LSTM(inputs, units, batch_first=True)
        self.critic = dense([units, hidden, 1], activation)
        orthogonal(self.actor, 0.01)
        orthogonal(self.critic, 1.0)

    def policy(self, batch: Batch) -> Tensor:
        """Return logits (B, A)."""
        remembered, _ = self.lstm(batch[OBSERVATION])
        return forbid(self.actor(remembered[:, -1]), batch[MASK])

    def value(self, batch: Batch) -> Tensor:
        """Return expected returns (B,)."""
        remembered, _ = self.critic_lstm(batch[OBSERVATION])
        values: Tensor = self.critic(remembered[:, -1]).squeeze(1)
        return values


def _history_of(observation_space: Any) -> tuple[int, ...]:
    """Return the shape (steps, numbers) of an observation that is a history."""
    shape = _shape(observation_space)
    if len(shape) != 2:
        raise InputError("network 'lstm:over=history'", f"'{OBSERVATION}' (steps, numbers)", shape)
    return shape


@networks.register("published-pairs")
@checked
def published_pairs(
    final_selu: Annotated[bool, Doc("scores pass through a last SELU, as published")] = True,
    critic_rows: Annotated[
        int,
        Ge(0),
        Unit("rows"),
        Doc("rows that the critic tells apart; later ones, if always zeros, are computed as one: faster; 0: all"),
    ] = 0,
) -> NetworkBuilder:
    """SELU networks of the Energy scheduler and InEPS (López 2023; López, Stafford and Bosque 2025)."""
    return partial(PublishedPairNetwork, final_selu=final_selu, critic_rows=critic_rows)


@networks.register("published-policies")
@checked
def published_policies(hidden: Units = 64) -> NetworkBuilder:
    """Dense layers of IRMaSim's policy selection (Herrera et al. 2021)."""
    return partial(PublishedPolicies, hidden=hidden)


@networks.register("lstm")
@checked
def lstm(
    units: Annotated[int, Ge(1), Le(MOST_UNITS), Unit("units"), Doc("units of the LSTM")] = 128,
    hidden: Units = 64,
    over: Annotated[Literal["episode", "history"], Doc("what the LSTM goes over")] = "episode",
    critic: Annotated[Literal["shared", "own"], Doc("layers of the value; own only over=history")] = "shared",
    activation: Activation = "relu",
) -> NetworkBuilder:
    """LSTM and a dense layer of DeepShutdown (Casagrande et al. 2022), over the episode or over=history."""
    if critic == "own" and over == "episode":
        raise InputError("network 'lstm'", "critic=own only with over=history", "over=episode")
    kinds = {"episode": EpisodeLSTM, "history": HistoryLSTM if critic == "shared" else TwoHistoryLSTMs}
    return partial(kinds[over], units=units, hidden=hidden, activation=activation)


@networks.register("as-published")
def as_published() -> NetworkBuilder:
    """The published network for the observation: of pairs, of policies, or of a history."""

    def build(observation_space: Any, action_count: int) -> Network:
        shape = _shape(observation_space)
        if len(shape) == 1:
            return published_policies()(observation_space, action_count)
        if len(shape) == 2 and shape[0] != action_count:
            return lstm(over="history")(observation_space, action_count)
        return published_pairs()(observation_space, action_count)

    return build
