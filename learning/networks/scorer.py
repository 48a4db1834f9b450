"""Default network: every allowed action gets a score of its own, in the context of all the others.

It reads observations of *action rows* (``actions`` (A, F), ``state`` (S,), ``action_mask`` (A,)), and only allowed
rows. One small network turns each row into an embedding. The mean and the maximum of the embeddings, with the state,
are the context (deep sets: Zaheer et al. 2017, here with two poolings). A second small network scores each embedding in
its context. No weight belongs to a position, so

- reordering jobs or nodes reorders the scores and changes nothing else (equivariance), nor does the value (invariance);
- any number of jobs and nodes will do: an agent trained on one machine runs on another;
- a masked row has no influence, whatever its numbers.

A linear function of the row is added to the score. Heuristics such as *shortest job first* are linear in good features,
so they need not be learned through layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cluster_sim.errors import InputError
from cluster_sim.options import checked
from learning.networks.network import (
    ACTIVATIONS,
    MASK,
    Activation,
    ActivationName,
    Batch,
    Kept,
    Network,
    NetworkBuilder,
    Observation,
    Units,
    dense,
    forbid,
    networks,
    orthogonal,
)

ROWS, STATE = "actions", "state"
ALLOWED = "allowed"  #: Key of the kept part for the numbers of the allowed actions, ascending, one for each kept row.


class Pooling(nn.Module):
    """Pooling of rows to embeddings, and of their mean and maximum with the state to a context; for actor and critic.

    Args:
        features: F, numbers in a row.
        state: S, numbers in the state.
        hidden: H, width of embeddings and context.
        activation: name of the function between layers.
    """

    def __init__(self, features: int, state: int, hidden: int, activation: ActivationName):
        super().__init__()
        self.embed = dense([features, hidden], activation, last=True)
        self.merge = dense([2 * hidden + state, hidden], activation, last=True)

    def forward(self, rows: Tensor, state: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return embeddings (B, K, H) and context (B, H) of rows (B, K, F), state (B, S) and mask (B, K)."""
        embedded = self.embed(rows)
        # A product with 0 or 1 and a sum with 0 or -∞: filling by a broadcast mask takes ten times as long.
        present = mask.unsqueeze(2).to(embedded.dtype)
        mean = (embedded * present).sum(1) / mask.sum(1, keepdim=True)
        greatest = (embedded + present.log()).amax(1)
        return embedded, self.merge(torch.cat((mean, greatest, state), dim=1))


class Actor(nn.Module):
    """Network that scores rows in their context, (B, K)."""

    def __init__(self, features: int, state: int, hidden: int, activation: ActivationName):
        super().__init__()
        self.pool = Pooling(features, state, hidden, activation)
        self.of_row = nn.Linear(hidden, hidden)
        self.of_context = nn.Linear(hidden, hidden, bias=False)
        self.score = dense([hidden, 1], activation)
        self.activation = ACTIVATIONS[activation]()
        self.linear = nn.Linear(features, 1, bias=False)

    def forward(self, rows: Tensor, state: Tensor, mask: Tensor) -> Tensor:
        """Return scores of rows (B, K, F), state (B, S), mask (B, K)."""
        embedded, context = self.pool(rows, state, mask)
        # A layer over [row, context] side by side; the context's share is computed once, not for every row.
        joined = self.activation(self.of_row(embedded) + self.of_context(context).unsqueeze(1))
        scores: Tensor = (self.score(joined) + self.linear(rows)).squeeze(2)
        return scores


class Critic(nn.Module):
    """Network for the expected return (B,) from the context."""

    def __init__(self, features: int, state: int, hidden: int, activation: ActivationName):
        super().__init__()
        self.pool = Pooling(features, state, hidden, activation)
        self.value = dense([hidden, hidden, 1], activation)

    def forward(self, rows: Tensor, state: Tensor, mask: Tensor) -> Tensor:
        """Return values of rows (B, K, F), state (B, S), mask (B, K)."""
        _, context = self.pool(rows, state, mask)
        values: Tensor = self.value(context).squeeze(1)
        return values


class Scorer(Network):
    """Network of deep sets over the rows of allowed actions; actor and critic are separate networks of the same form.

    Args:
        observation_space: with keys ``actions`` (A, F), ``state`` (S,) and ``action_mask`` (A,).
        action_count: A; only for checking, the network itself does not depend on it.
        hidden: H, width of every layer.
        activation: name of the function between layers.

    Raises InputError for an observation without action rows.
    """

    columns_are_actions = False

    def __init__(self, observation_space: Any, action_count: int, hidden: int, activation: ActivationName):
        super().__init__(observation_space, action_count)
        if set(self.shapes) != {ROWS, STATE} or len(self.shapes[ROWS]) != 2 or self.shapes[ROWS][0] != action_count:
            expected = f"an observation of '{ROWS}' ({action_count}, F) and '{STATE}' (S,)"
            raise InputError("network 'scorer'", expected, self.shapes)
        features, state = self.shapes[ROWS][1], self.shapes[STATE][0]
        self.actor = Actor(features, state, hidden, activation)
        self.critic = Critic(features, state, hidden, activation)
        for part, last in ((self.actor, self.actor.score), (self.critic, self.critic.value)):
            orthogonal(part, 2.0**0.5)
            orthogonal(last, 0.01 if part is self.actor else 1.0)
        nn.init.zeros_(self.actor.linear.weight)  # so that training begins with nearly equal probabilities

    def keep(self, observation: Observation) -> Kept:
        """Return rows of the allowed actions (K, F), their numbers (K,), and the state (S,)."""
        allowed = np.flatnonzero(observation[MASK])
        rows = np.asarray(observation[ROWS], dtype=np.float32)[allowed]
        return {ROWS: rows, ALLOWED: allowed, STATE: np.array(observation[STATE], dtype=np.float32)}

    def stack(self, kept: Sequence[Kept]) -> Batch:
        """Return rows (B, K, F), padded with zeros to the longest situation, their mask (B, K), and states (B, S)."""
        counts = np.array([len(one[ALLOWED]) for one in kept])
        mask = np.arange(counts.max()) < counts[:, None]
        rows = np.zeros((*mask.shape, self.shapes[ROWS][1]), dtype=np.float32)
        rows[mask] = np.concatenate([one[ROWS] for one in kept])
        state = np.stack([one[STATE] for one in kept])
        return {ROWS: torch.from_numpy(rows), STATE: torch.from_numpy(state), MASK: torch.from_numpy(mask)}

    def take(self, batch: Batch, places: Tensor) -> Batch:
        """Return some of the situations of a batch, without columns that are padding in all of them."""
        mask = batch[MASK][places]
        columns = int(mask.sum(1).max())
        return {ROWS: batch[ROWS][places, :columns], STATE: batch[STATE][places], MASK: mask[:, :columns]}

    def action(self, kept: Kept, column: int) -> int:
        """Return the action whose row is the column-th of those kept."""
        return int(kept[ALLOWED][column])

    def column(self, kept: Kept, action: int) -> int:
        """Return where the row of an action is among those kept. Raises InputError for an action that is not allowed."""
        found = np.flatnonzero(kept[ALLOWED] == action)
        if len(found) == 0:
            raise InputError("action", "one that the mask allows", action)
        return int(found[0])

    def policy(self, batch: Batch) -> Tensor:
        """Return logits (B, K) of the kept rows."""
        return forbid(self.actor(batch[ROWS], batch[STATE], batch[MASK]), batch[MASK])

    def value(self, batch: Batch) -> Tensor:
        """Return expected returns (B,)."""
        values: Tensor = self.critic(batch[ROWS], batch[STATE], batch[MASK])
        return values


@networks.register("scorer")
@checked
def scorer(hidden: Units = 32, activation: Activation = "relu") -> NetworkBuilder:
    """Scores each allowed action in the context of the others (deep sets); for any number of jobs and nodes."""
    return partial(Scorer, hidden=hidden, activation=activation)
