"""Advantage actor-critic (Konda and Tsitsiklis 2000; Mnih et al. 2016): REINFORCE with a learned baseline.

It is the second agent of Herrera et al. (2021): the critic's value is subtracted from each return, so that the policy
learns from outcomes better or worse than expected. As in their program, returns are normalised and the critic learns
them by Huber's loss; both losses are summed and take one step an iteration. Its values are of normalised returns, not
in the unit of rewards, so they cannot estimate the rest of an episode that was cut off: as in REINFORCE, a cut counts
as its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from torch.nn.functional import smooth_l1_loss
from typing_extensions import Doc

from learning.algorithms.gae import discounted_sums
from learning.algorithms.hyper_parameters import Normalise, NotNegative, Positive, Share, check_values
from learning.algorithms.optimisers import Adam, Arrays
from learning.algorithms.ppo import explained_variance
from learning.algorithms.reinforce import normalised
from learning.algorithms.rollouts import Trajectory
from learning.algorithms.samples import Samples
from learning.networks.categorical import entropy, log_probabilities, of_chosen
from learning.networks.network import Network, Weights, one_thread


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorCriticOptions:
    """Hyper-parameters."""

    gamma: Annotated[Share, Doc("γ, discount of later rewards")] = 0.99
    actor_lr: Annotated[Positive, Doc("learning rate of the actor")] = 1e-3
    critic_lr: Annotated[Positive, Doc("learning rate of the critic")] = 1e-3
    entropy: Annotated[NotNegative, Doc("weight of the policy's entropy")] = 0.0
    value_coefficient: Annotated[
        NotNegative, Doc("weight of the critic's loss where it shares weights with the actor")
    ] = 1.0
    normalise: Annotated[
        Normalise,
        Doc("returns to mean 0 and deviation 1 over these; decision: less the mean of the iteration's episodes at it"),
    ] = "iteration"
    scale: Annotated[
        Positive,
        Doc("what normalised returns are multiplied with"),
    ] = 1.0

    def __post_init__(self) -> None:
        check_values(self, "actor-critic")


class ActorCritic:
    """Actor-critic that takes one step along the gradient of both losses an iteration.

    Args:
        network: its policy and its value are learned, in place.
        options: hyper-parameters.
        iterations, seed: not needed; all algorithms are made alike.
    """

    looks_beyond = False

    def __init__(self, network: Network, options: ActorCriticOptions, iterations: int = 1, seed: int = 0):
        self.network = network
        self.options = options
        self.actor = Adam(network.actor_parameters(), options.actor_lr)
        self.critic = Adam(network.critic_parameters(), options.critic_lr)
        self.updates = 0

    def update(self, trajectories: Sequence[Trajectory], iteration: int) -> dict[str, float]:
        """Learn from the episodes of one iteration; the numbers to be logged."""
        with one_thread():
            options = self.options
            samples = Samples(self.network, trajectories)
            returns = [discounted_sums(trajectory.rewards, options.gamma) for trajectory in trajectories]
            target = torch.tensor(normalised(returns, options.normalise) * options.scale, dtype=torch.float32)
            steps = np.arange(len(samples))

            logits, values = self.network.unroll(samples.batch(steps), samples.lengths)
            log_p = log_probabilities(logits)
            advantage = target - values.detach()
            policy_loss = -(of_chosen(log_p, samples.columns) * advantage).sum() / len(trajectories)
            value_loss = smooth_l1_loss(values, target, reduction="sum") / len(trajectories)
            spread = entropy(log_p).mean()

            self.actor.zero_grad()
            self.critic.zero_grad()
            torch.autograd.backward(policy_loss + options.value_coefficient * value_loss - options.entropy * spread)
            self.actor.step()
            self.critic.step()
            self.updates += 1
        return {
            "train/policy_gradient_loss": policy_loss.item(),
            "train/value_loss": value_loss.item(),
            "train/entropy_loss": -spread.item(),
            "train/explained_variance": explained_variance(values.detach().numpy(), target.numpy()),
            "train/learning_rate": options.actor_lr,
            "train/n_updates": float(self.updates),
        }

    def averaged(self) -> Weights | None:
        return None

    def state(self) -> Arrays:
        updates = {"updates": np.array(self.updates)}
        return updates | self.actor.state("actor") | self.critic.state("critic")

    def load_state(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what ``state`` gave."""
        self.updates = int(arrays["updates"])
        self.actor.load_state("actor", arrays)
        self.critic.load_state("critic", arrays)
