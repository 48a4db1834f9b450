"""Losses of PPO: the clipped objective of the policy and the squared error of the critic."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss


def clipped_loss(log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Return −E[min(r A, clip(r, 1 − ε, 1 + ε) A)], r new over old probability (Schulman et al. 2017, eq. 7).

    Args:
        log_ratio: (B,) log r of each decision.
        advantage: (B,) A.
        clip: ε.
    """
    loss: Tensor = _Clipped.apply(log_ratio, advantage, clip)  # type: ignore[no-untyped-call]
    return loss


class _Clipped(torch.autograd.Function):
    """Clipped objective as one operation: torch would record eight, and take several times as long to go back."""

    @staticmethod
    def forward(ctx: Any, log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
        ratio = log_ratio.exp()
        free = ratio * advantage
        held = ratio.clamp(1.0 - clip, 1.0 + clip) * advantage
        ctx.save_for_backward(ratio, advantage, free > held)
        return -torch.minimum(free, held).mean()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        ratio, advantage, is_held = ctx.saved_tensors  # clipped values have no gradient
        return (-gradient / len(ratio) * advantage * ratio).masked_fill_(is_held, 0.0), None, None


def squared_error(values: Tensor, targets: Tensor, before: Tensor, clip: float) -> Tensor:
    """Return the critic's mean squared error; with ``clip``, at least that of values clipped near the old."""
    if not clip:
        return mse_loss(values, targets)
    held = before + (values - before).clamp(-clip, clip)
    return torch.maximum((values - targets).square(), (held - targets).square()).mean()
