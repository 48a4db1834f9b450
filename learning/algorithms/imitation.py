"""Warm start: learn to decide as a teacher does, before learning from rewards.

It is supervised learning of (observation, action) pairs by cross-entropy (*behavioural cloning*). The agent then begins
as good as the teacher, and reinforcement learning only has to find improvements. The critic learns the returns of the
teacher's episodes, so that the first advantages are not noise which would undo the warm start. To the return of an
episode that was cut off (truncated) the critic's value of its last situation is added, in every epoch anew. Without a
discount this would have no bound, so such episodes teach only the actor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge, Gt, Lt
from typing_extensions import Doc

from cluster_sim.errors import InputError
from learning.algorithms.gae import discounted_sums
from learning.algorithms.hyper_parameters import Count, Positive, Share, check_values
from learning.algorithms.optimisers import Adam
from learning.algorithms.ppo import Means
from learning.algorithms.rollouts import Trajectory
from learning.algorithms.samples import Samples
from learning.networks.categorical import best, log_probabilities, of_chosen
from learning.networks.network import Kept, Network, Observation, one_thread

#: The action that a teacher takes, from the environment and what is observed of it.
Teacher = Callable[[Any, Observation], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImitationOptions:
    """Hyper-parameters."""

    epochs: Annotated[int, Gt(0), Doc("times that all decisions are gone through")] = 100
    minibatch: Annotated[Count, Doc("decisions for one step; 0: all")] = 64
    actor_lr: Annotated[Positive, Doc("learning rate of the actor")] = 5e-3
    critic_lr: Annotated[Positive, Doc("learning rate of the critic")] = 5e-3
    gamma: Annotated[
        Share, Doc("γ, of the returns that the critic learns; that of the reinforcement learning to come")
    ] = 1.0
    smoothing: Annotated[
        float,
        Ge(0),
        Lt(1),
        Doc("share of the teacher's certainty that is spread evenly over all allowed actions"),
    ] = 0.05

    def __post_init__(self) -> None:
        check_values(self, "imitation")


def demonstrate(
    environment: Any,
    teacher: Teacher,
    network: Network,
    seed: int,
    options: dict[str, Any] | None = None,
    played_by: Teacher | None = None,
) -> Trajectory:
    """Play one episode, as the network would have seen it, with the teacher's decision at each step.

    Args:
        environment: to be reset with the seed and the options.
        teacher: says the action.
        network: says what is kept of the observations.
        seed: of the episode.
        options: of ``reset``.
        played_by: decides what happens; the teacher, unless given.

    Raises InputError when the teacher takes an action that is not allowed.
    """
    observation, _ = environment.reset(seed=seed, options=options)
    kept: list[Kept] = []
    columns, actions, rewards, costs = [], [], [], []
    while True:
        action = int(teacher(environment, observation))
        kept.append(network.keep(observation))
        columns.append(network.column(kept[-1], action))
        actions.append(action)
        played = action if played_by is None else int(played_by(environment, observation))
        observation, reward, terminated, truncated, info = environment.step(played)
        rewards.append(float(reward))
        if "cost" in info:
            costs.append(float(info["cost"]))
        if terminated or truncated:
            last = network.keep(observation) if not terminated else None
            metrics = dict(info.get("metrics", {}))
            decided = np.array(columns), np.array(actions), np.array(rewards)
            return Trajectory(kept, *decided, last, seed, metrics, np.array(costs, dtype=np.float64))


def greedy(network: Network) -> Teacher:
    """Make a teacher of a network without memory: its most probable action. Raises InputError for other networks."""
    if network.recurrent:
        raise InputError("warm_start, rounds", "0, or a network that remembers nothing", network.spec)

    def decide(environment: Any, observation: Observation) -> int:
        kept = network.keep(observation)
        with torch.inference_mode():
            logits = network.policy(network.stack([kept]))
        return network.action(kept, int(best(logits.numpy())[0]))

    return decide


def imitate(
    network: Network, trajectories: Sequence[Trajectory], options: ImitationOptions, seed: int = 0
) -> list[dict[str, float]]:
    """Teach the network the decisions of these episodes, and their returns.

    Args:
        network: changed in place.
        trajectories: the teacher's episodes, from ``demonstrate``.
        options: hyper-parameters.
        seed: of the order of the minibatches.

    Returns:
        For each epoch ``warm_start/cross_entropy`` (nats), ``warm_start/agreement`` (share of decisions in which the
        teacher's action was the most probable) and, where the critic was taught, ``warm_start/value_loss``.
    """
    with one_thread():
        rng = np.random.default_rng([seed, 3])
        samples = Samples(network, trajectories)
        actor = Adam(network.actor_parameters(), options.actor_lr)
        critic = Adam(network.critic_parameters(), options.critic_lr)
        cut = any(trajectory.last is not None for trajectory in trajectories)
        known = torch.tensor([options.gamma < 1.0 or t.last is None for t in trajectories for _ in t.kept])
        size = options.minibatch or len(samples)
        epochs = []
        for epoch in range(options.epochs):
            if cut or epoch == 0:
                ends = zip(trajectories, samples.values_after(), strict=True)
                returns = [discounted_sums(t.rewards, options.gamma, after) for t, after in ends]
                target = torch.tensor(np.concatenate(returns), dtype=torch.float32)
            logged = Means()
            for steps, lengths in samples.minibatches(size, rng):
                logits, values = network.unroll(samples.batch(steps), lengths)
                log_p = log_probabilities(logits)
                allowed = log_p > -torch.inf
                even = log_p.masked_fill(~allowed, 0.0).sum(1) / allowed.sum(1)
                chosen = of_chosen(log_p, samples.columns[steps])
                cross_entropy = -((1.0 - options.smoothing) * chosen + options.smoothing * even).mean()
                errors = (values - target[steps])[known[steps]]
                # Every decision counts the same in any batch; one without a known return adds nothing.
                loss = cross_entropy + 0.5 * (errors.square().sum() / len(steps))

                actor.zero_grad()
                critic.zero_grad()
                torch.autograd.backward(loss)
                actor.step()
                if len(errors):  # else momentum alone would move it
                    critic.step()
                    logged.add(value_loss=errors.square().mean())
                logged.add(
                    cross_entropy=cross_entropy.item(),
                    agreement=(logits.argmax(1) == samples.columns[steps]).float().mean(),
                )
            epochs.append(logged.named("warm_start/"))
    return epochs
