"""Constraint on a policy: a limit on its cost, by a Lagrange multiplier that is learned with the policy.

The aim is the greatest mean return J_R of all policies whose mean cost J_C is at most a limit d. The Lagrangian is
J_R(π) − λ (J_C(π) − d). The policy is improved for a given multiplier λ; λ rises while the measured cost is above the
limit, and falls, to 0 at the least, while it is below (dual ascent). So the price of the cost is learned: it is 0 if
the limit does not bind.

A limit on the mean over all episodes does not limit each kind of them: one kind of days may use up what another leaves.
If that kind is more frequent later, the mean is above the limit. So episodes may be put into classes, each with a limit
and a multiplier λ_k of its own. The Lagrangian is then J_R(π) − Σ p_k λ_k (J_C,k(π) − d_k), with p_k the share of class
k. A policy that keeps all the limits keeps them in any mixture of the classes. Policy and critics see no class.

The method is PPO-Lagrangian as in Ray, Achiam and Amodei, "Benchmarking safe exploration in deep reinforcement
learning" (2019), §5: the multiplier is updated first, from the episodes just collected, then the policy with the
advantage (A_R − λ A_C) / (1 + λ), where A_C comes from a critic of the cost; with classes, λ is the episode's in the
numerator and the mean of all in the denominator. Their method keeps λ positive by a softplus and moves it with Adam;
here it moves by the violation itself and is cut off at 0. A multiplier that only adds up violations still rises when
the cost is already falling, and both oscillate about the limit. The remedy of Stooke, Achiam and Abbeel, "Responsive
safety in reinforcement learning by PID Lagrangian methods" (ICML 2020, Algorithm 2), is a term proportional to the
present violation. Their term for its change is left out.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from cluster_sim.errors import InputError
from learning.algorithms.gae import Doubles, advantages
from learning.algorithms.hyper_parameters import NotNegative, Positive, check_values
from learning.algorithms.optimisers import Adam, Arrays
from learning.algorithms.samples import Samples

if TYPE_CHECKING:
    from learning.algorithms.rollouts import Trajectory
    from learning.networks.network import Network

_CRITIC = "cost.critic."  # prefix of the names of its weights in the state


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintOptions:
    """Options of a constraint: its limit, and the moves of the multiplier.

    Attributes:
        limit: d, of the mean cost of an episode; in the unit of the environment's cost.
        learning_rate: η: once an iteration I ← max(0, I + η (J_C − d)). λ is rewards for a unit of cost.
        proportional: K: λ = max(0, I + K (J_C − d)); with 0 λ is I, plain dual ascent.
        initial: I before the first iteration.
        at_most: greatest cost of an episode that counts in a step of the multiplier, so that one episode in a thousand
            with a hundred times the limit does not set the price for all.
        classes: limits of episodes by the beginning of their workload's name; ``limit`` is for the others then.
    """

    limit: NotNegative
    learning_rate: Positive
    proportional: NotNegative = 0.0
    initial: NotNegative = 0.0
    at_most: float = math.inf
    classes: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_values(self, "constraint")
        for one, most in self.classes.items():
            if not one:
                raise InputError(
                    "constraint, classes", "the beginning of a name; the limit of all others is limit", "''"
                )
            if not 0.0 <= most < math.inf:
                raise InputError(f"constraint, classes, {one}", "a number, 0 or more", most)
        if not self.at_most > max(self.limits.values()):
            raise InputError("constraint, at_most", "a number above the limits", self.at_most)

    @property
    def limits(self) -> dict[str, float]:
        """Return the limit of each class; the class of all other episodes has no name."""
        return {**self.classes, "": self.limit}

    def class_of(self, name: str) -> str:
        """Return the class of a workload of that name: the longest that the name begins with."""
        return max((one for one in self.limits if name.startswith(one)), key=len)

    def violations(self, trajectories: Sequence[Trajectory], at_most: float = math.inf) -> dict[str, float]:
        """Return by class how far the mean cost is above the limit; an episode counts at most ``at_most``."""
        costs: dict[str, list[float]] = {}
        for trajectory in trajectories:
            costs.setdefault(self.class_of(trajectory.name), []).append(min(trajectory.cost, at_most))
        return {one: float(np.mean(found)) - self.limits[one] for one, found in costs.items()}


def check_classes(classes: Iterable[str], names: Iterable[str]) -> None:
    """Raise InputError for a class with which the name of no workload to learn from begins: its limit would be nobody's."""
    known = sorted(set(names))
    for one in classes:
        if not any(name.startswith(one) for name in known):
            raise InputError(f"constraint, classes, {one}", "the beginning of a workload's name", ", ".join(known[:3]))


class Constraint:
    """Constraint: the multiplier of each class, and the critic of the cost.

    Args:
        options: the limit, and how the multiplier moves.
        network: a network of the critic's form; it is copied.
        critic_lr, adam_eps: of the critic's optimiser.
        seed: of the order of the minibatches.
    """

    def __init__(self, options: ConstraintOptions, network: Network, critic_lr: float, adam_eps: float, seed: int):
        self.options = options
        self.multipliers = dict.fromkeys(options.limits, options.initial)
        self._summed = dict(self.multipliers)
        self._seed = seed
        self._critic = copy.deepcopy(network)
        self._learning_rate = critic_lr
        self._optimiser = Adam(list(self._critic.parameters()), critic_lr, adam_eps)

    def rise(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        """Set the multipliers by the mean costs of these episodes. Raises InputError where they have none."""
        if any(len(trajectory.costs) != len(trajectory) for trajectory in trajectories):
            raise InputError("constraint", "an environment with the option cost")
        options, summed = self.options, self._summed
        for one, violation in options.violations(trajectories, options.at_most).items():
            summed[one] = max(0.0, summed[one] + options.learning_rate * violation)
            self.multipliers[one] = max(0.0, summed[one] + options.proportional * violation)
        self._of_each = np.concatenate(
            [np.full(len(t), self.multipliers[options.class_of(t.name)]) for t in trajectories]
        )
        self._mean = float(np.mean([self.multipliers[options.class_of(t.name)] for t in trajectories]))
        return {"train/multiplier": self._mean}

    def learn(
        self, trajectories: Sequence[Trajectory], iteration: int, gamma: float, lam: float, epochs: int, minibatch: int
    ) -> tuple[Doubles, dict[str, float]]:
        """Teach the cost's critic these episodes; return the advantages (N,) before that, and numbers to log."""
        samples = Samples(self._critic, trajectories)
        values = samples.assessed()[1]
        episodes = zip(trajectories, samples.of_each(values), samples.values_after(), strict=True)
        found = np.concatenate([advantages(t.costs, v, after, gamma, lam) for t, v, after in episodes])
        targets = torch.tensor(found + values, dtype=torch.float32)
        rng, losses = np.random.default_rng([self._seed, iteration, 3]), []
        for _ in range(epochs):
            for steps, lengths in samples.minibatches(minibatch or len(samples), rng):
                batch, critic = samples.batch(steps), self._critic
                expected = critic.unroll(batch, lengths)[1] if critic.recurrent else critic.value(batch)
                loss = (expected - targets[steps]).square().mean()
                self._optimiser.zero_grad()
                torch.autograd.backward(loss)
                self._optimiser.step()
                losses.append(loss.item())
        return found, {"train/cost_value_loss": float(np.mean(losses))}

    def combined(self, reward: Doubles, cost: Doubles) -> Doubles:
        """Return (A_R − λ A_C) / (1 + λ) of the decisions of the episodes that last set the multipliers."""
        weighed: Doubles = (reward - self._of_each * cost) / (1.0 + self._mean)
        return weighed

    def anneal(self, factor: float) -> None:
        """Set the critic's learning rate to a share of what it began with."""
        self._optimiser.learning_rate = factor * self._learning_rate

    def state(self) -> Arrays:
        """Return everything that the next iteration depends on."""
        weights = {_CRITIC + name: weight for name, weight in self._critic.weights().items()}
        multipliers = np.array([list(self.multipliers.values()), list(self._summed.values())])
        return {"multiplier": multipliers, **self._optimiser.state("cost"), **weights}

    def load_state(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what ``state`` gave."""
        for found, values in zip((self.multipliers, self._summed), arrays["multiplier"].reshape(2, -1), strict=True):
            found.update(zip(found, values.tolist(), strict=True))
        self._critic.load_weights({k.removeprefix(_CRITIC): a for k, a in arrays.items() if k.startswith(_CRITIC)})
        self._optimiser.load_state("cost", arrays)
