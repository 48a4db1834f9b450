"""REINFORCE (Williams 1992): make actions more probable the better what followed them was.

It is the first of the two agents of Herrera et al. (2021). As in their program, returns of an episode are normalised to
mean 0 and deviation 1, which makes the episode's mean a baseline. Unlike there, they are multiplied by 1000 only if
``scale`` says so, since Adam's steps do not depend on it.

An episode that was cut off counts as ended, since there is no critic to estimate the rest. If rewards are costs, a
policy that is far from the end at ``until`` looks good then; a training warns of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from typing_extensions import Doc

from learning.algorithms.gae import Doubles, discounted_sums
from learning.algorithms.hyper_parameters import Normalise, NotNegative, Positive, Share, check_values
from learning.algorithms.optimisers import Adam, Arrays
from learning.algorithms.rollouts import Trajectory
from learning.algorithms.samples import Samples
from learning.networks.categorical import entropy, log_probabilities, of_chosen
from learning.networks.network import Network, Weights, one_thread


@dataclass(frozen=True, slots=True, kw_only=True)
class ReinforceOptions:
    """Hyper-parameters."""

    gamma: Annotated[Share, Doc("γ, discount of later rewards")] = 0.99
    actor_lr: Annotated[Positive, Doc("learning rate")] = 1e-3
    entropy: Annotated[NotNegative, Doc("weight of the policy's entropy")] = 0.0
    normalise: Annotated[
        Normalise,
        Doc("returns to mean 0 and deviation 1 over these; decision: less the mean of the iteration's episodes at it"),
    ] = "iteration"
    scale: Annotated[Positive, Doc("what normalised returns are multiplied with")] = 1.0

    def __post_init__(self) -> None:
        check_values(self, "reinforce")


class Reinforce:
    """REINFORCE that takes one step along the policy gradient an iteration.

    Args:
        network: its policy is learned, in place; its value is not used.
        options: hyper-parameters.
        iterations, seed: not needed; all algorithms are made alike.
    """

    looks_beyond = False

    def __init__(self, network: Network, options: ReinforceOptions, iterations: int = 1, seed: int = 0):
        self.network = network
        self.options = options
        self.actor = Adam(network.actor_parameters(), options.actor_lr)
        self.updates = 0

    def update(self, trajectories: Sequence[Trajectory], iteration: int) -> dict[str, float]:
        """Learn from the episodes of one iteration; the numbers to be logged."""
        with one_thread():
            options = self.options
            samples = Samples(self.network, trajectories)
            returns = [discounted_sums(trajectory.rewards, options.gamma) for trajectory in trajectories]
            weight = torch.tensor(normalised(returns, options.normalise) * options.scale, dtype=torch.float32)
            steps = np.arange(len(samples))

            logits, _ = self.network.unroll(samples.batch(steps), samples.lengths)
            log_p = log_probabilities(logits)
            # The sum over an episode, the mean over episodes: an estimate of the gradient of the expected return.
            policy_loss = -(of_chosen(log_p, samples.columns) * weight).sum() / len(trajectories)
            spread = entropy(log_p).mean()

            self.actor.zero_grad()
            torch.autograd.backward(policy_loss - options.entropy * spread)
            self.actor.step()
            self.updates += 1
        return {
            "train/policy_gradient_loss": policy_loss.item(),
            "train/entropy_loss": -spread.item(),
            "train/learning_rate": options.actor_lr,
            "train/n_updates": float(self.updates),
        }

    def averaged(self) -> Weights | None:
        return None

    def state(self) -> Arrays:
        return {"updates": np.array(self.updates), **self.actor.state("actor")}

    def load_state(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.updates = int(arrays["updates"])
        self.actor.load_state("actor", arrays)


def normalised(returns: Sequence[Doubles], over: str) -> Doubles:
    """Return returns of all episodes, (N,), as the option ``normalise`` says."""
    if over == "episode":
        return np.concatenate([_standard(one) for one in returns])
    if over == "decision":
        # Early decisions have longer returns, whatever was decided: noise that hides the effect of a decision.
        longest = max(map(len, returns))
        means = [np.mean([float(one[i]) for one in returns if i < len(one)]) for i in range(longest)]
        return _standard(np.concatenate([one - means[: len(one)] for one in returns]))
    joined = np.concatenate(list(returns))
    return _standard(joined) if over == "iteration" else joined


def _standard(values: Doubles) -> Doubles:
    deviation = values.std()
    # Equal returns say nothing about which action was better.
    return (values - values.mean()) / deviation if deviation > 1e-8 * (1.0 + np.abs(values).max()) else values * 0.0
