"""Samples: the decisions of several episodes as one batch to learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from learning.algorithms.gae import Doubles
from learning.algorithms.rollouts import Trajectory
from learning.networks.categorical import log_probabilities, of_chosen
from learning.networks.network import MASK, Batch, Network

Steps = npt.NDArray[np.int64]

_LARGEST_WHOLE = (
    2**25
)  # greatest number of values of a batch that is kept as tensors; a larger one is built by minibatch
_CHUNK = 4096  # number of decisions that are evaluated at once


class Samples:
    """Batch of N decisions, those of the first episode first.

    Attributes:
        columns: (N,) the chosen columns.
        lengths: decisions of each episode.
    """

    def __init__(self, network: Network, trajectories: Sequence[Trajectory]):
        self._network = network
        self.trajectories = trajectories
        self.lengths = [len(trajectory) for trajectory in trajectories]
        self.columns = torch.from_numpy(np.concatenate([trajectory.columns for trajectory in trajectories]))
        self._first = np.cumsum([0, *self.lengths])
        self._kept = [kept for trajectory in trajectories for kept in trajectory.kept]
        small = sum(array.size for kept in self._kept for array in kept.values()) < _LARGEST_WHOLE
        self._whole = network.stack(self._kept) if small else None
        self._again: dict[tuple[int, int], Batch] = {}

    def __len__(self) -> int:
        return int(self._first[-1])

    def batch(self, steps: Steps, again: bool = False, slipped: bool = False) -> Batch:
        """Return the observations of some of the decisions.

        ``again``: they are consecutive and are used again in every epoch; they are kept in the form that is the fastest
        to learn from, unless they are too many. ``slipped``: the masks are :func:`slipped_masks`.
        """
        key = (int(steps[0]), int(steps[-1]))
        if self._whole is not None and again and key in self._again:
            return self._again[key]
        if self._whole is None:
            batch = self._network.stack([self._kept[i] for i in steps])
        else:
            batch = self._network.take(self._whole, torch.from_numpy(steps))
        if slipped:
            batch = batch | {MASK: slipped_masks(batch[MASK])}
        if self._whole is None:
            return batch
        return self._again.setdefault(key, self._network.compact(batch)) if again else batch

    def minibatches(self, size: int, rng: np.random.Generator | None) -> Iterator[tuple[Steps, list[int]]]:
        """Yield all decisions in parts of about ``size``: their numbers, and the lengths of their episodes or steps.

        The order is drawn with ``rng``; without it, it is their own. For a network with memory each part consists of
        whole episodes, so that the network can go through them again; for any other, of single decisions.
        """
        if not self._network.recurrent:
            order = np.arange(len(self)) if rng is None else rng.permutation(len(self))
            for begin in range(0, len(self), size):
                steps = order[begin : begin + size]
                yield steps, [len(steps)]
            return
        episodes = np.arange(len(self.lengths)) if rng is None else rng.permutation(len(self.lengths))
        part: list[int] = []
        for episode in episodes.tolist():
            part.append(episode)
            if sum(self.lengths[i] for i in part) >= size or episode == episodes[-1]:
                steps = np.concatenate([np.arange(self._first[i], self._first[i + 1]) for i in part])
                yield steps, [self.lengths[i] for i in part]
                part = []

    def assessed(self) -> tuple[Tensor, Doubles]:
        """Return log-probabilities (N,) of the chosen actions and values (N,), as the network sees them now."""
        chosen, values = [], []
        with torch.inference_mode():
            for steps, lengths in self.minibatches(_CHUNK, None):
                logits, expected = self._network.unroll(self.batch(steps), lengths)
                chosen.append(of_chosen(log_probabilities(logits), self.columns[steps]))
                values.append(expected)
        # A copy made outside: tensors of inference mode cannot be used in later differentiation.
        return torch.cat(chosen).clone(), torch.cat(values).numpy().astype(np.float64)

    def values_after(self) -> list[float]:
        """Return the value after the last decision of each episode: 0 if it terminated."""
        after = []
        with torch.inference_mode():
            for trajectory in self.trajectories:
                if trajectory.last is None:
                    after.append(0.0)
                    continue
                # A network with memory must go through the whole episode to have its memory at the end.
                seen = [*trajectory.kept, trajectory.last] if self._network.recurrent else [trajectory.last]
                after.append(float(self._network.unroll(self._network.stack(seen), [len(seen)])[1][-1]))
        return after

    def of_each(self, values: Doubles) -> list[Doubles]:
        """Split an array over all decisions, (N,), into one array for each episode."""
        return np.split(values, self._first[1:-1])


def slipped_masks(masks: Tensor) -> Tensor:
    """Return masks (B, A) with which the program of López (2023) learns where waiting, the last action, is possible.

    It means to allow waiting by setting the last entry of one mask. While learning there are B masks, and the last entry is
    the last of them: it allows every action there, and waiting nowhere else.
    """
    found = masks.clone()
    found[:, -1] = False
    found[-1] = True
    return found
