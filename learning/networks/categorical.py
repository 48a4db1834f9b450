"""Categorical distribution over masked logits: the functions for choosing one of several actions at random.

Logits of disallowed actions are minus infinity, so their probability is exactly 0. The entropy and the divergence count
allowed actions only: 0 · log 0 is taken as 0, its limit, and has no gradient. (Huang and Ontañón 2022 show that the
gradient of a masked policy is that of a policy of its own, not an approximation.)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Floats = npt.NDArray[np.floating]


def log_probabilities(logits: Tensor) -> Tensor:
    """Return log-probabilities (B, K) of logits (B, K); minus infinity stays."""
    return torch.log_softmax(logits, dim=-1)


def of_chosen(log_probabilities: Tensor, columns: Tensor) -> Tensor:
    """Return the entries (B,) of the chosen columns (B,)."""
    return log_probabilities.gather(-1, columns.unsqueeze(-1)).squeeze(-1)


def entropy(log_probabilities: Tensor) -> Tensor:
    """Return entropy (B,), nats; at most the logarithm of the number of allowed actions."""
    # Made finite before multiplying: 0 · -inf is NaN, and so would its gradient be.
    return -(log_probabilities.exp() * log_probabilities.clamp(min=-1e30)).sum(-1)


def divergence(first: Tensor, second: Tensor) -> Tensor:
    """Return the Kullback-Leibler divergence (B,), nats, of the second log-probabilities from the first."""
    difference = (first - second).masked_fill(first == -torch.inf, 0.0)
    return (first.exp() * difference).sum(-1)


def best(logits: Floats) -> npt.NDArray[np.int64]:
    """Return the most probable column of each row; the first of equals."""
    return np.asarray(logits.argmax(axis=1))


def draw(logits: Floats, uniforms: Floats) -> npt.NDArray[np.int64]:
    """Draw a column of each row, with its probability.

    Args:
        logits: (B, K), minus infinity where not allowed, at least one entry of each row finite.
        uniforms: (B,) numbers in [0, 1), one for each row.

    The inverse of the distribution function: the first column at which it exceeds the number. In double precision, and by
    a strict comparison, so that a column of probability 0 is never met.
    """
    scores = logits.astype(np.float64)
    cumulative = np.exp(scores - scores.max(axis=1, keepdims=True)).cumsum(axis=1)
    # Rounding may take the product up to the total; it must stay below for a column to exceed it.
    total = cumulative[:, -1]
    thresholds = np.minimum(uniforms * total, np.nextafter(total, 0.0))
    return np.asarray((cumulative > thresholds[:, None]).argmax(axis=1))
