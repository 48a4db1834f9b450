"""The default network: every allowed action gets a score of its own, in the light of all the others.

It reads observations of *action rows* (``actions`` (A, F), ``state`` (S,), ``action_mask`` (A,)) and looks at allowed rows
only. One small network turns each row into an embedding; the mean and the greatest of the embeddings, with the state, are
the context (deep sets: Zaheer et al. 2017, here with two poolings); a second small network scores each embedding in its
context. No weight belongs to a position, so

- reordering jobs or nodes reorders the scores and changes nothing else (equivariance), nor does the value (invariance);
- any number of jobs and nodes will do: what was trained on one machine runs on another;
- a masked row cannot influence anything, whatever numbers are in it.

A linear function of the row is added to the score. Heuristics such as *shortest job first* are linear in good features,
and need not be learned through layers then.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cluster_sim.errors import InputError
from learning.networks.network import (
    MASK,
    Batch,
    Kept,
    Network,
    NetworkBuilder,
    Observation,
    activation_named,
    check_sizes,
    dense,
    forbid,
    networks,
    orthogonal,
)

ROWS, STATE = "actions", "state"
ALLOWED = "allowed"  #: In what is kept: numbers of the allowed actions, ascending, one for each kept row.


class Pooling(nn.Module):
    """Rows to embeddings, and their mean and maximum with the state to a context: the part actor and critic share in form.

    Args:
        features: F, numbers in a row.
        state: S, numbers in the state.
        hidden: H, width of embeddings and context.
        activation: name of the function between layers.
    """

    def __init__(self, features: int, state: int, hidden: int, activation: str):
        super().__init__()
        self.embed = dense([features, hidden], activation, last=True)
        self.merge = dense([2 * hidden + state, hidden], activation, last=True)

    def forward(self, rows: Tensor, state: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Embeddings (B, K, H) and context (B, H) of rows (B, K, F), state (B, S) and mask (B, K)."""
        embedded = self.embed(rows)
        # Times 0 or 1, and plus 0 or -∞: to fill in what a mask that has to be stretched hides takes ten times as long.
        present = mask.unsqueeze(2).to(embedded.dtype)
        mean = (embedded * present).sum(1) / mask.sum(1, keepdim=True)
        greatest = (embedded + present.log()).amax(1)
        return embedded, self.merge(torch.cat((mean, greatest, state), dim=1))


class Actor(nn.Module):
    """Scores (B, K) of rows in their context."""

    def __init__(self, features: int, state: int, hidden: int, activation: str):
        super().__init__()
        self.pool = Pooling(features, state, hidden, activation)
        self.of_row = nn.Linear(hidden, hidden)
        self.of_context = nn.Linear(hidden, hidden, bias=False)
        self.score = dense([hidden, 1], activation)
        self.activation = activation_named(activation)
        self.linear = nn.Linear(features, 1, bias=False)

    def forward(self, rows: Tensor, state: Tensor, mask: Tensor) -> Tensor:
        """Scores of rows (B, K, F), state (B, S), mask (B, K)."""
        embedded, context = self.pool(rows, state, mask)
        # A layer over [row, context] side by side, with the context's share worked out once, not for every row.
        joined = self.activation(self.of_row(embedded) + self.of_context(context).unsqueeze(1))
        scores: Tensor = (self.score(joined) + self.linear(rows)).squeeze(2)
        return scores


class Critic(nn.Module):
    """Expected return (B,) from the context."""

    def __init__(self, features: int, state: int, hidden: int, activation: str):
        super().__init__()
        self.pool = Pooling(features, state, hidden, activation)
        self.value = dense([hidden, hidden, 1], activation)

    def forward(self, rows: Tensor, state: Tensor, mask: Tensor) -> Tensor:
        """Values of rows (B, K, F), state (B, S), mask (B, K)."""
        _, context = self.pool(rows, state, mask)
        values: Tensor = self.value(context).squeeze(1)
        return values


class Scorer(Network):
    """Deep sets over the rows of allowed actions; actor and critic are separate networks of the same form.

    Args:
        observation_space: with keys ``actions`` (A, F), ``state`` (S,) and ``action_mask`` (A,).
        action_count: A; only for checking, the network itself does not depend on it.
        hidden: H, width of every layer.
        activation: name of the function between layers.

    Raises InputError for an observation without action rows.
    """

    def __init__(self, observation_space: Any, action_count: int, hidden: int, activation: str):
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
        """Rows of the allowed actions (K, F), their numbers (K,), and the state (S,)."""
        allowed = np.flatnonzero(observation[MASK])
        rows = np.asarray(observation[ROWS], dtype=np.float32)[allowed]
        return {ROWS: rows, ALLOWED: allowed, STATE: np.array(observation[STATE], dtype=np.float32)}

    def stack(self, kept: Sequence[Kept]) -> Batch:
        """Rows (B, K, F), padded with zeros to the most that one situation has, their mask (B, K), and states (B, S)."""
        counts = np.array([len(one[ALLOWED]) for one in kept])
        mask = np.arange(counts.max()) < counts[:, None]
        rows = np.zeros((*mask.shape, self.shapes[ROWS][1]), dtype=np.float32)
        rows[mask] = np.concatenate([one[ROWS] for one in kept])
        state = np.stack([one[STATE] for one in kept])
        return {ROWS: torch.from_numpy(rows), STATE: torch.from_numpy(state), MASK: torch.from_numpy(mask)}

    def take(self, batch: Batch, places: Tensor) -> Batch:
        """Some of the situations of a batch, without columns that are padding in all of them."""
        mask = batch[MASK][places]
        columns = int(mask.sum(1).max())
        return {ROWS: batch[ROWS][places, :columns], STATE: batch[STATE][places], MASK: mask[:, :columns]}

    def action(self, kept: Kept, column: int) -> int:
        """The action whose row is the column-th of those kept."""
        return int(kept[ALLOWED][column])

    def column(self, kept: Kept, action: int) -> int:
        """Return where the row of an action is among those kept. Raises InputError for an action that is not allowed."""
        found = np.flatnonzero(kept[ALLOWED] == action)
        if len(found) == 0:
            raise InputError("action", "one that the mask allows", action)
        return int(found[0])

    def policy(self, batch: Batch) -> Tensor:
        """Logits (B, K) of the kept rows."""
        return forbid(self.actor(batch[ROWS], batch[STATE], batch[MASK]), batch[MASK])

    def value(self, batch: Batch) -> Tensor:
        """Expected returns (B,)."""
        values: Tensor = self.critic(batch[ROWS], batch[STATE], batch[MASK])
        return values


@networks.register("scorer")
def scorer(hidden: int = 32, activation: str = "relu") -> NetworkBuilder:
    """Scores each allowed action in the context of the others (deep sets); for any number of jobs and nodes."""
    check_sizes("scorer", hidden=hidden)
    return partial(Scorer, hidden=hidden, activation=activation)
