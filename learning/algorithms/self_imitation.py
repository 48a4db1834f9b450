"""Self-imitation (Oh et al. 2018): learn again from own episodes that turned out better than expected.

In a small problem without chance a good schedule that was found once can be found again, but PPO forgets it when the
next episodes do not repeat it. The best episodes are kept, and their decisions with a return R above the value V of the
situation are made more probable, by

    policy loss = −log π(a|s) · max(0, R − V)        value loss = ½ max(0, R − V)²

Nothing is learned from a decision that turned out worse than expected: its loss and its gradient are 0.

If the critic learns quickly that a rare episode is good, R − V vanishes before the policy has learned to repeat it.
With ``mean``, whole episodes are weighed instead by their return above that of the latest ones, and keep their weight
until the policy is as good (as in memory-augmented policy optimisation, Liang et al. 2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from learning.algorithms.rollouts import Trajectory
from learning.networks.network import Kept

Arrays = dict[str, np.ndarray]


def self_imitation_losses(chosen: Tensor, values: Tensor, returns: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Return policy and value loss of a batch.

    Args:
        chosen: (B,) log-probabilities of the actions taken.
        values: (B,) expected returns.
        returns: (B,) returns that followed.
        scale: what R − V is divided by in the policy loss: the spread of PPO's advantages, so that both losses are of one
            size.
    """
    gain = (returns - values).clamp(min=0.0)
    return -(chosen * gain.detach() / scale).mean(), 0.5 * gain.square().mean()


def worth_of_episodes(kept: Sequence[Trajectory], latest: Sequence[Trajectory]) -> np.ndarray:
    """Return the weight, 0 to 1, of every decision of the kept episodes: their deviations above the latest ones' mean.

    An episode counts fully if it is a standard deviation or more above the mean of the latest episodes' returns.
    """
    returns = np.array([episode.reward for episode in latest])
    gains = np.array([episode.reward for episode in kept]) - returns.mean()
    weights = np.clip(gains / (returns.std() + 1e-8), 0.0, 1.0)
    return np.repeat(weights, [len(episode) for episode in kept])


class BestEpisodes:
    """Best episodes so far by their sum of rewards, each sequence of actions once.

    They are for problems whose episodes all begin alike: among different ones, the best are the easiest.
    """

    def __init__(self, most: int):
        self.most = most
        self.episodes: list[Trajectory] = []

    def add(self, trajectories: Sequence[Trajectory]) -> None:
        """Add new episodes; episodes that were cut off are left out, since their return is not known."""
        known = {episode.actions.tobytes() for episode in self.episodes}
        for trajectory in trajectories:
            if trajectory.last is None and trajectory.actions.tobytes() not in known:
                known.add(trajectory.actions.tobytes())
                self.episodes.append(trajectory)
        # Sorting is stable: of equals, the earlier stays.
        self.episodes = sorted(self.episodes, key=lambda episode: -episode.reward)[: self.most]

    def state(self, name: str) -> Arrays:
        """Return the kept episodes as arrays."""
        arrays: Arrays = {f"{name}.count": np.array(len(self.episodes))}
        for i, episode in enumerate(self.episodes):
            for key in episode.kept[0]:
                parts = [kept[key] for kept in episode.kept]
                arrays[f"{name}.{i}.kept.{key}"] = np.concatenate(parts)
                arrays[f"{name}.{i}.rows.{key}"] = np.array([len(part) for part in parts])
            for key in ("columns", "actions", "rewards"):
                arrays[f"{name}.{i}.{key}"] = getattr(episode, key)
        return arrays

    def load_state(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what ``state`` gave."""
        self.episodes = []
        for i in range(int(arrays[f"{name}.count"])):
            prefix = f"{name}.{i}.kept."
            parts: dict[str, list[np.ndarray]] = {}
            for key, joined in arrays.items():
                if key.startswith(prefix):
                    ends = np.cumsum(arrays[key.replace(".kept.", ".rows.")])[:-1]
                    parts[key.removeprefix(prefix)] = np.split(joined, ends)
            kept: list[Kept] = [dict(zip(parts, step, strict=True)) for step in zip(*parts.values(), strict=True)]
            columns, actions, rewards = (arrays[f"{name}.{i}.{key}"] for key in ("columns", "actions", "rewards"))
            self.episodes.append(Trajectory(kept, columns, actions, rewards))
