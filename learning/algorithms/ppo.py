"""Proximal policy optimisation with the clipped objective (Schulman et al. 2017), with action masks.

``update`` shows from top to bottom what is done with the episodes of one iteration. docs/reference/algorithms.md
explains every hyper-parameter and every number that it returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

import numpy as np
import torch
from annotated_types import Ge, Gt
from torch import Tensor
from torch.nn.functional import mse_loss
from torch.optim.swa_utils import AveragedModel, get_swa_multi_avg_fn
from typing_extensions import Doc

from learning.algorithms.constraint import Constraint, ConstraintOptions
from learning.algorithms.gae import Doubles, advantages, discounted_sums
from learning.algorithms.hyper_parameters import Count, NotNegative, Positive, Share, check_values
from learning.algorithms.optimisers import Adam, Arrays
from learning.algorithms.rollouts import Trajectory
from learning.algorithms.samples import Samples
from learning.algorithms.self_imitation import BestEpisodes, self_imitation_losses, worth_of_episodes
from learning.networks.categorical import entropy, log_probabilities, of_chosen
from learning.networks.network import Network, Weights, one_thread

_MEAN = "average.mean."  # prefix of the names of averaged weights in the state
_LEAST_LOG_RATIO = -1e6  # as in the program of López 2023: its ratio is 0
_SWA_ANNEALING = 0.15  # share of the averaged part of the training in which the learning rate moves to its last value


@dataclass(frozen=True, slots=True, kw_only=True)
class PPOOptions:
    """Hyper-parameters; defaults are those of the default agent."""

    clip: Annotated[Positive, Doc("ε, how far the ratio of new to old probability counts")] = 0.2
    gamma: Annotated[Share, Doc("γ, discount of later rewards; 1: a joule later is a joule")] = 1.0
    lam: Annotated[Share, Doc("λ of the advantages")] = 0.95
    actor_lr: Annotated[Positive, Doc("learning rate of the actor")] = 1e-3
    critic_lr: Annotated[Positive, Doc("learning rate of the critic")] = 1e-3
    adam_eps: Annotated[Positive, Doc("ε of the optimisers")] = 1e-5
    lr_schedule: Annotated[
        Literal["constant", "linear"], Doc("constant, or linear down to 0 at the end of the training")
    ] = "linear"
    entropy: Annotated[NotNegative, Doc("weight of the policy's entropy, at the beginning")] = 0.01
    entropy_end: Annotated[
        float | None, Ge(0), Doc("its weight at the end, linear in between; None: as at the beginning")
    ] = 0.0
    value_coefficient: Annotated[NotNegative, Doc("weight of the value loss, where actor and critic share weights")] = (
        0.5
    )
    epochs: Annotated[int, Gt(0), Doc("times that the episodes of an iteration are gone through")] = 10
    minibatch: Annotated[Count, Doc("decisions for one step of the optimisers; 0: all")] = 256
    shuffle: Annotated[bool, Doc("go through them in random order")] = True
    target_kl: Annotated[
        NotNegative,
        Doc("stop an iteration's updates when the policy has moved more than 1.5 times this, nats; 0: never"),
    ] = 0.03
    max_grad_norm: Annotated[NotNegative, Doc("longest gradient, of actor and critic each; 0: any")] = 0.5
    normalise_advantages: Annotated[bool, Doc("to mean 0 and deviation 1, over the iteration's decisions")] = True
    advantage_slots: Annotated[
        Count,
        Doc("length of a buffer over which they are normalised, those beyond the decisions being 0; 0: no buffer"),
    ] = 0
    learning_masks: Annotated[
        Literal["acting", "last-decision"],
        Doc(
            "masks while learning: those of the decisions, or the last action is forbidden but in a minibatch's last decision"
        ),
    ] = "acting"
    critic_target: Annotated[
        Literal["gae", "returns"],
        Doc("what the critic learns: gae, advantage + value, or returns, discounted sums of rewards"),
    ] = "gae"
    clip_value: Annotated[NotNegative, Doc("how far the value may move from what it was; 0: any")] = 0.0
    swa: Annotated[bool, Doc("average the actor's weights late in the training, for use")] = False
    swa_start: Annotated[Share, Doc("share of the training after which averaging begins")] = 0.75
    swa_lr: Annotated[Positive, Doc("the actor's learning rate while averaging, as a multiple of actor_lr")] = 1.0
    self_imitation: Annotated[Count, Doc("episodes that are kept to be imitated; 0: none")] = 0
    self_imitation_updates: Annotated[Count, Doc("passes over these in each iteration")] = 1
    self_imitation_start: Annotated[
        Share, Doc("share of the training after which that begins; they are looked for from the beginning")
    ] = 0.0
    self_imitation_against: Annotated[
        Literal["value", "mean"],
        Doc("what they have to be better than: the critic's value, or the mean return of the iteration's episodes"),
    ] = "value"
    self_imitation_last: Annotated[
        Count, Doc("passes over the best episode alone after the last iteration, each decision counting fully")
    ] = 0

    def __post_init__(self) -> None:
        check_values(self, "ppo")


#: As published. López 2023, Table 4.10 (experiments 1, 3 and 4 differ in minibatch: 18, 32, 25; 3 and 4 in swa); what the
#: text leaves open, order of the minibatches and the critic's target, is as in its program. Casagrande et al. 2022, §5.
PUBLISHED: dict[str, dict[str, Any]] = {
    "energy-scheduler": {
        "clip": 0.1, "gamma": 0.99, "lam": 0.95, "entropy": 0.0, "epochs": 50, "minibatch": 45, "shuffle": False,
        "actor_lr": 1e-3, "critic_lr": 1e-3, "adam_eps": 1e-8, "lr_schedule": "constant",
        "target_kl": 0.0, "max_grad_norm": 0.0, "critic_target": "returns",
    },
    "deepshutdown": {
        "clip": 0.2, "gamma": 0.99, "lam": 0.95, "lr_schedule": "constant", "epochs": 4, "minibatch": 0,
    },
}  # fmt: skip


class PPO:
    """PPO, which learns from episodes, an iteration at a time.

    Args:
        network: the policy and the value that are learned; changed in place.
        options: hyper-parameters.
        iterations: of the whole training, for all that changes in its course.
        seed: of the order of the minibatches.
        constraint: a limit on the environment's cost; without one, costs are not looked at.
    """

    looks_beyond = True

    def __init__(
        self,
        network: Network,
        options: PPOOptions,
        iterations: int,
        seed: int = 0,
        constraint: ConstraintOptions | None = None,
    ):
        self.network = network
        self.options = options
        self.iterations = iterations
        self.seed = seed
        self.actor = Adam(network.actor_parameters(), options.actor_lr, options.adam_eps)
        self.critic = Adam(network.critic_parameters(), options.critic_lr, options.adam_eps)
        # All weights at once; one after the other takes twice the time.
        all_at_once = get_swa_multi_avg_fn()  # type: ignore[no-untyped-call]
        self.average = AveragedModel(network, multi_avg_fn=all_at_once, use_buffers=True) if options.swa else None
        self.best = BestEpisodes(options.self_imitation)
        self.constraint = None
        if constraint is not None:
            self.constraint = Constraint(constraint, network, options.critic_lr, options.adam_eps, seed)
        self.updates = 0

    @one_thread()
    def update(self, trajectories: Sequence[Trajectory], iteration: int) -> dict[str, float]:
        """Learn from the episodes of one iteration, counted from 0; return the numbers to be logged."""
        options, network = self.options, self.network
        rng = np.random.default_rng([self.seed, iteration, 2]) if options.shuffle else None
        samples = Samples(network, trajectories)
        size = options.minibatch or len(samples)
        slipped = options.learning_masks == "last-decision"

        # Log-probabilities and values of the policy that acted, before any change.
        old_chosen, old_values = samples.assessed()
        episodes = list(zip(trajectories, samples.of_each(old_values), samples.values_after(), strict=True))
        gae = np.concatenate([advantages(t.rewards, v, after, options.gamma, options.lam) for t, v, after in episodes])
        if options.critic_target == "gae":
            targets = gae + old_values
        else:
            targets = np.concatenate([discounted_sums(t.rewards, options.gamma, after) for t, _, after in episodes])
        of_the_limit: dict[str, float] = {}
        if self.constraint is not None:
            gae, of_the_limit = self._with_the_limit(gae, trajectories, iteration)
        mean, spread = mean_and_spread(gae, options.advantage_slots)
        normalised = (gae - mean) / spread if options.normalise_advantages else gae

        advantage, target = (torch.tensor(values, dtype=torch.float32) for values in (normalised, targets))
        before = torch.tensor(old_values, dtype=torch.float32)
        logged, stopped = Means(), False
        for epoch in range(options.epochs):
            progress = (iteration + epoch / options.epochs) / self.iterations
            entropy_weight = self._schedule(progress)
            for steps, lengths in samples.minibatches(size, rng):
                logits, values = network.unroll(samples.batch(steps, again=rng is None, slipped=slipped), lengths)
                part = torch.from_numpy(steps) if rng is not None else slice(int(steps[0]), int(steps[-1]) + 1)
                log_p = log_probabilities(logits)
                log_ratio = of_chosen(log_p, samples.columns[part]) - old_chosen[part]
                if slipped:
                    log_ratio = log_ratio.clamp(min=_LEAST_LOG_RATIO)  # of a forbidden action it is minus infinity

                policy_loss = clipped_loss(log_ratio, advantage[part], options.clip)
                value_loss = squared_error(values, target[part], before[part], options.clip_value)
                loss = policy_loss + options.value_coefficient * value_loss
                spread_out = entropy(log_p if entropy_weight else log_p.detach()).mean()
                if entropy_weight:  # else it is only logged
                    loss = loss - entropy_weight * spread_out

                moved = log_ratio.detach()
                gained = moved.exp() - 1.0
                approx_kl = float((gained - moved).mean())  # Schulman's estimator: unbiased, never negative
                logged.add(
                    policy_gradient_loss=policy_loss,
                    value_loss=value_loss,
                    entropy_loss=-spread_out,
                    loss=loss,
                    approx_kl=approx_kl,
                    clip_fraction=(gained.abs() > options.clip).float().mean(),
                )
                if 0.0 < 1.5 * options.target_kl < approx_kl:
                    stopped = True
                    break
                self._step(loss)
            if stopped:
                break
            if self.average is not None and progress >= options.swa_start:
                self.average.update_parameters(network)

        rate = self.actor.learning_rate
        if options.self_imitation:
            self.best.add(trajectories)
            if iteration >= options.self_imitation_start * self.iterations:
                self._imitate(trajectories, rng, size, spread)
            if options.self_imitation_last and iteration + 1 == self.iterations:
                self._make_certain(rng, size)
        return logged.named("train/") | {
            "train/explained_variance": explained_variance(old_values, targets),
            "train/learning_rate": rate,
            "train/n_updates": float(self.updates),
            "train/clip_range": options.clip,
            "train/stopped_early": float(stopped),
            "train/averaged": float(self._averages()),
            **of_the_limit,
        }

    def averaged(self) -> Weights | None:
        """Return the network's weights with the actor's averaged; None before averaging has begun."""
        return self.network.weights() | self._averaged() if self._averages() else None

    def state(self) -> Arrays:
        """Return everything besides the network's weights that the next iteration depends on."""
        return {
            "updates": np.array(self.updates),
            **self.actor.state("actor"),
            **self.critic.state("critic"),
            "average.count": np.array(self._averages()),
            **{_MEAN + name: mean for name, mean in self._averaged().items()},
            **self.best.state("best"),
            **({} if self.constraint is None else self.constraint.state()),
        }

    def load_state(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what ``state`` gave; the network's weights are loaded by themselves."""
        self.updates = int(arrays["updates"])
        self.actor.load_state("actor", arrays)
        self.critic.load_state("critic", arrays)
        if self.average is not None:
            self.average.n_averaged.fill_(int(arrays["average.count"]))
            means = {key.removeprefix(_MEAN): mean for key, mean in arrays.items() if key.startswith(_MEAN)}
            cast(Network, self.average.module).load_weights(self.network.weights() | means)
        self.best.load_state("best", arrays)
        if self.constraint is not None:
            self.constraint.load_state(arrays)

    def _with_the_limit(
        self, gae: Doubles, trajectories: Sequence[Trajectory], iteration: int
    ) -> tuple[Doubles, dict[str, float]]:
        """Step the multiplier; return the advantages combined with those of the costs, and the numbers to log."""
        options, constraint = self.options, self.constraint
        assert constraint is not None
        numbers = constraint.rise(trajectories)
        if options.lr_schedule == "linear":
            constraint.anneal(1.0 - iteration / self.iterations)
        of_costs, learned = constraint.learn(
            trajectories, iteration, options.gamma, options.lam, options.epochs, options.minibatch
        )
        return constraint.combined(gae, of_costs), numbers | learned

    def _schedule(self, progress: float) -> float:
        """Set the learning rates for a point of the training, from 0 to 1; return the entropy's weight there."""
        options = self.options
        factor = 1.0 - progress if options.lr_schedule == "linear" else 1.0
        actor_factor = factor
        if options.swa and progress >= options.swa_start:
            annealed = min(1.0, (progress - options.swa_start) / max(_SWA_ANNEALING * (1.0 - options.swa_start), 1e-9))
            actor_factor = factor + annealed * (options.swa_lr - factor)
        self.actor.learning_rate = options.actor_lr * actor_factor
        self.critic.learning_rate = options.critic_lr * factor
        end = options.entropy if options.entropy_end is None else options.entropy_end
        return options.entropy + progress * (end - options.entropy)

    def _step(self, loss: Tensor) -> None:
        """Take one step with both optimisers; if they share no weights, neither is affected by the other's loss."""
        self.actor.zero_grad()
        self.critic.zero_grad()
        torch.autograd.backward(loss)
        self.actor.step(self.options.max_grad_norm)
        self.critic.step(self.options.max_grad_norm)
        self.updates += 1

    def _imitate(
        self, trajectories: Sequence[Trajectory], rng: np.random.Generator | None, size: int, scale: float
    ) -> None:
        """Learn again from the best episodes so far."""
        if not self.best.episodes:
            return
        samples = Samples(self.network, self.best.episodes)
        returns = [discounted_sums(episode.rewards, self.options.gamma) for episode in self.best.episodes]
        followed = torch.tensor(np.concatenate(returns), dtype=torch.float32)
        mean = self.options.self_imitation_against == "mean"
        worth = torch.tensor(worth_of_episodes(self.best.episodes, trajectories), dtype=torch.float32) if mean else None
        self.actor.learning_rate = self.options.actor_lr  # not annealed: this matters most at the end of the training
        for _ in range(self.options.self_imitation_updates):
            for steps, lengths in samples.minibatches(size, rng):
                logits, values = self.network.unroll(samples.batch(steps), lengths)
                chosen = of_chosen(log_probabilities(logits), samples.columns[steps])
                policy_loss, value_loss = self_imitation_losses(chosen, values, followed[steps], scale)
                if worth is not None:
                    policy_loss = -(chosen * worth[steps]).mean()
                self._step(policy_loss + self.options.value_coefficient * value_loss)

    def _make_certain(self, rng: np.random.Generator | None, size: int) -> None:
        """Learn the best episode by heart.

        Several decisions in a row may look alike, such as whether to wait for another moment. If starting at any of
        them is equally good, a policy that starts with a small probability at each is good, but greedy play never
        starts. Faint differences between these decisions take many passes to be learned.
        """
        if not self.best.episodes:
            return
        samples = Samples(self.network, self.best.episodes[:1])
        self.actor.learning_rate = self.options.actor_lr
        for _ in range(self.options.self_imitation_last):
            for steps, lengths in samples.minibatches(size, rng):
                logits, _ = self.network.unroll(samples.batch(steps), lengths)
                self._step(-of_chosen(log_probabilities(logits), samples.columns[steps]).mean())

    def _averages(self) -> int:
        """Return the number of weights in the average."""
        return 0 if self.average is None else int(self.average.n_averaged)

    def _averaged(self) -> Arrays:
        """Return the average of the actor's weights; empty before averaging has begun."""
        if self.average is None or not self._averages():
            return {}
        weights = cast(Network, self.average.module).weights()
        return {name: weight for name, weight in weights.items() if not name.startswith("critic")}


def mean_and_spread(advantages: Doubles, slots: int = 0) -> tuple[float, float]:
    """Return mean and deviation of the advantages, or of a buffer of ``slots`` numbers that has them first, then zeros."""
    buffer = np.concatenate((advantages, np.zeros(max(0, slots - len(advantages)))))
    return float(buffer.mean()), float(buffer.std()) + 1e-8


def explained_variance(values: np.ndarray, targets: np.ndarray) -> float:
    """Return 1 − Var(target − value) / Var(target): 1 is perfect, 0 a constant critic; NaN for equal targets."""
    variance = float(np.var(targets))
    return 1.0 - float(np.var(targets - values)) / variance if variance > 0.0 else float("nan")


class Means:
    """Means of numbers that come minibatch by minibatch."""

    def __init__(self) -> None:
        self._found: dict[str, list[float]] = {}

    def add(self, **numbers: Tensor | float) -> None:
        """Take in the numbers of a minibatch."""
        for name, number in numbers.items():
            self._found.setdefault(name, []).append(number.item() if isinstance(number, Tensor) else number)

    def named(self, prefix: str) -> dict[str, float]:
        """Return the means, under their names with a prefix."""
        return {prefix + name: float(np.mean(values)) for name, values in self._found.items()}


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
