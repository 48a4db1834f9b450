"""Dense layers with SELU between them, differentiated in one go.

torch notes down each operation, to go back through them one by one; for layers of a few numbers that takes several times as long
as the operations do. Here a whole stack is one operation: the same sums and products in the same order, half the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805  # of SELU (Klambauer et al. 2017), as torch.selu has them


class SeluLayers(nn.Sequential):
    """Dense layers of these sizes, input first, SELU between them, and after the last one on request."""

    def __init__(self, sizes: Sequence[int], last: bool = False):
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Linear(inputs, outputs), nn.SELU()]
        super().__init__(*(layers if last else layers[:-1]))
        self._last = last
        self._weights = list(self.parameters())  # asking for them anew takes as long as a layer

    def forward(self, numbers: Tensor) -> Tensor:
        """(B, inputs) to (B, outputs)."""
        if not torch.is_grad_enabled():
            for layer in self:
                numbers = layer(numbers)
            return numbers
        through: Tensor = _Through.apply(self._last, numbers, *self._weights)  # type: ignore[no-untyped-call]
        return through


class _Through(torch.autograd.Function):
    """All layers; their weights and biases come alternately."""

    @staticmethod
    def forward(ctx: Any, last: bool, numbers: Tensor, *parameters: Tensor) -> Tensor:
        weights, biases = parameters[::2], parameters[1::2]
        into, sums = [], []
        for place, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            into.append(numbers)
            numbers = torch.addmm(bias, numbers, weight.t())
            if last or place < len(weights) - 1:
                sums.append(numbers)
                numbers = torch.selu(numbers)
        ctx.count, ctx.activated = len(weights), len(sums)
        ctx.save_for_backward(*weights, *into, *sums)
        return numbers

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        count = ctx.count
        weights, into, sums = (ctx.saved_tensors[start : start + count] for start in (0, count, 2 * count))
        found: list[Tensor | None] = []
        for place in reversed(range(count)):
            if place < ctx.activated:
                gradient = torch.ops.aten.elu_backward(gradient, _ALPHA, _SCALE, 1.0, False, sums[place])
            found += [gradient.sum(0), gradient.t().mm(into[place])]
            if place or ctx.needs_input_grad[1]:
                gradient = gradient.mm(weights[place])
        return (None, gradient if ctx.needs_input_grad[1] else None, *reversed(found))
