"""Adam (Kingma and Ba 2015) over all weights of a part of a network at once.

The weights become views of one long vector, and so do their gradients. A step is then one operation of torch on that
vector instead of one for each layer, which dominates the time of small networks. To resume a training exactly, only two
vectors and a count are stored.

This is the function that ``torch.optim.Adam`` calls, without the class around it. Given that vector, the class does the same to
the bit, but takes 35 µs more for each step, a sixth of one of a small network, and imports torch's compiler, which costs a second
and 70 MB. Given the layers one by one, it takes 150 µs more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import nn
from torch.optim.adam import adam

from cluster_sim.errors import InputError

Arrays = dict[str, np.ndarray]


class Adam:
    """Optimiser with steps against the gradient of about the learning rate for every weight.

    With g the gradient at step t: m ← β₁m + (1 − β₁)g and v ← β₂v + (1 − β₂)g², and each weight moves by
    −lr · m̂ / (√v̂ + ε), where m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ).

    Args:
        weights: to be changed by ``step``; they and their gradients are made views of vectors that belong to this object.
            Several optimisers may take turns with them: whose ``zero_grad`` is called takes them over as they are.
        learning_rate: lr.
        eps: ε. 1e-8 in the paper; 1e-5 is usual in reinforcement learning (Huang et al. 2022), where gradients vanish as
            the policy becomes certain, and their noise should not be blown up.
    """

    BETA_1, BETA_2 = 0.9, 0.999

    def __init__(self, weights: Sequence[nn.Parameter], learning_rate: float, eps: float = 1e-5):
        self.learning_rate = learning_rate
        self.eps = eps
        self._steps = torch.zeros(())
        size = sum(weight.numel() for weight in weights)
        self._parts = list(weights)
        self._weights, self._gradient = torch.zeros(size), torch.zeros(size)
        self._mean, self._square = torch.zeros(size), torch.zeros(size)
        self._take_over()

    def _take_over(self) -> None:
        begin = 0
        for weight in self._parts:
            part = slice(begin, begin := begin + weight.numel())
            self._weights[part] = weight.detach().flatten()
            weight.data = self._weights[part].view_as(weight)
            weight.grad = self._gradient[part].view_as(weight)

    def zero_grad(self) -> None:
        """Forget the gradient; what is differentiated next is added to zeros."""
        if self._parts and self._parts[0].data_ptr() != self._weights.data_ptr():
            self._take_over()  # another optimiser has used them in between, as after a warm start
        self._gradient.zero_()

    def step(self, longest: float = 0.0) -> None:
        """Take one step against the gradient, which is first shortened to ``longest`` unless that is 0."""
        gradient = self._gradient
        if longest:
            gradient.mul_((longest / (gradient.norm() + 1e-6)).clamp(max=1.0))
        adam(
            [self._weights],
            [gradient],
            [self._mean],
            [self._square],
            [],
            [self._steps],
            fused=True,
            amsgrad=False,
            beta1=self.BETA_1,
            beta2=self.BETA_2,
            lr=self.learning_rate,
            weight_decay=0.0,
            eps=self.eps,
            maximize=False,
        )

    def state(self, name: str) -> Arrays:
        """Return everything but the weights, to be stored."""
        return {
            f"{name}.steps": np.array(int(self._steps)),
            f"{name}.mean": self._mean.numpy().copy(),
            f"{name}.square": self._square.numpy().copy(),
        }

    def load_state(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what ``state`` gave. Raises InputError when it is of another number of weights."""
        mean, square = arrays[f"{name}.mean"], arrays[f"{name}.square"]
        if mean.shape != tuple(self._mean.shape) or square.shape != mean.shape:
            raise InputError(f"state of optimiser '{name}'", f"{len(self._mean)} weights", len(mean))
        self._steps.fill_(int(arrays[f"{name}.steps"]))
        self._mean.copy_(torch.tensor(mean))
        self._square.copy_(torch.tensor(square))
