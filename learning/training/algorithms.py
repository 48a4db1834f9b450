"""Algorithms by their names, and their hyper-parameters from a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from cluster_sim.errors import InputError, SpecError
from learning.algorithms.actor_critic import ActorCritic, ActorCriticOptions
from learning.algorithms.constraint import ConstraintOptions
from learning.algorithms.hyper_parameters import make_hyper_parameters
from learning.algorithms.ppo import PPO, PUBLISHED, PPOOptions
from learning.algorithms.reinforce import Reinforce, ReinforceOptions

if TYPE_CHECKING:
    from learning.algorithms.optimisers import Arrays
    from learning.algorithms.rollouts import Trajectory
    from learning.networks.network import Network, Weights
    from learning.training.configuration import AlgorithmKeys, Config


class Algorithm(Protocol):
    """Protocol of algorithms. To write one: a constructor (network, options, iterations, seed), and these methods."""

    options: Any  #: Its hyper-parameters; ``gamma`` is one of them.
    looks_beyond: bool  #: Whether it adds the expected rest to an episode that was cut off.

    def update(self, trajectories: Sequence[Trajectory], iteration: int) -> dict[str, float]:
        """Learn from the episodes of one iteration, counted from 0; the numbers to be logged."""

    def averaged(self) -> Weights | None:
        """Return the network's weights, averaged ones in place of those being learned; None without averages."""

    def state(self) -> Arrays:
        """Return everything besides the network's weights that the next iteration depends on."""

    def load_state(self, arrays: Mapping[str, Any]) -> None:
        """Take over what ``state`` gave."""


ALGORITHMS: dict[str, tuple[Any, Any]] = {
    "ppo": (PPO, PPOOptions),
    "reinforce": (Reinforce, ReinforceOptions),
    "actor-critic": (ActorCritic, ActorCriticOptions),
}
"""Classes of each algorithm and of its hyper-parameters, by name."""


def make_algorithm(config: Config, network: Network) -> Algorithm:
    """Make the algorithm of ``config``, to train ``network``. Raises InputError, SpecError naming the option."""
    keys = config.algorithm
    if keys.name not in ALGORITHMS:
        raise SpecError("algorithm, name", f"one of {', '.join(ALGORITHMS)}", keys.name)
    kind, options = ALGORITHMS[keys.name]
    given = dict(keys.options)
    if keys.published is not None:
        if keys.name != "ppo" or keys.published not in PUBLISHED:
            raise SpecError("algorithm, published", f"one of {', '.join(PUBLISHED)}, of ppo", keys.published)
        given = PUBLISHED[keys.published] | given
    more = {}
    if keys.constraint is not None:
        if keys.name != "ppo":
            raise InputError("algorithm, constraint", "the algorithm ppo, which alone keeps one", keys.name)
        if config.environment.options.get("cost") is None:
            raise InputError("algorithm, constraint", "an environment with the option cost, of which it is the limit")
        more = {"constraint": constraint_of(keys)}
    algorithm: Algorithm = kind(
        network,
        make_hyper_parameters(options, given, "algorithm, options"),
        max(config.iterations, 1),
        config.seed,
        **more,
    )
    if getattr(algorithm.options, "learning_masks", "acting") == "last-decision":
        _check_that_the_last_waits(config, network)
    return algorithm


def _check_that_the_last_waits(config: Config, network: Network) -> None:
    """Raise InputError unless the last column of the network's logits is the action that waits."""
    where = "algorithm, options, learning_masks"
    environment = config.environment
    if environment.kind != "job-node" or environment.options.get("wait", "no") == "no":
        expected = "acting, unless the last action waits (environment of kind job-node with the option wait)"
        raise InputError(where, expected, "last-decision")
    if not network.columns_are_actions:
        expected = "acting, unless the network has a column for each action, such as as-published"
        raise InputError(where, expected, f"last-decision with {config.network}")


def constraint_of(keys: AlgorithmKeys) -> ConstraintOptions | None:
    """Return the constraint of a configuration's algorithm, if it has one."""
    return None if keys.constraint is None else ConstraintOptions(**keys.constraint.model_dump(exclude_none=True))
