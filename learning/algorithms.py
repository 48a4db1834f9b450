"""The algorithms by their names, and their hyper-parameters from a configuration."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol

from cluster_sim.errors import InputError, SpecError
from cluster_sim.spelling import one_of
from learning.actor_critic import ActorCritic, ActorCriticOptions
from learning.constraint import constraint_of
from learning.ppo import PPO, PUBLISHED, PPOOptions
from learning.reinforce import Reinforce, ReinforceOptions

if TYPE_CHECKING:
    from learning.config import Config
    from learning.networks import Network, Weights
    from learning.optimisers import Arrays
    from learning.rollouts import Trajectory


class Algorithm(Protocol):
    """Learns from episodes. To write one: a constructor (network, options, iterations, seed), and these methods."""

    options: Any  #: Its hyper-parameters; ``gamma`` is one of them.
    looks_beyond: bool  #: Whether it adds to an episode that was cut off what would have followed.

    def update(self, trajectories: Sequence[Trajectory], iteration: int) -> dict[str, float]:
        """Learn from the episodes of one iteration, counted from 0; the numbers to be logged."""

    def averaged(self) -> Weights | None:
        """The network's weights where averages take the place of what is being learned; None where nothing is averaged."""

    def state(self) -> Arrays:
        """Everything besides the network's weights that the next iteration depends on."""

    def load_state(self, arrays: Mapping[str, Any]) -> None:
        """Take over what ``state`` gave."""


ALGORITHMS: dict[str, tuple[Any, Any]] = {
    "ppo": (PPO, PPOOptions),
    "reinforce": (Reinforce, ReinforceOptions),
    "actor-critic": (ActorCritic, ActorCriticOptions),
}
"""The class of each algorithm, and that of its hyper-parameters."""


def make_algorithm(config: Config, network: Network) -> Algorithm:
    """The algorithm that ``config`` names, to train ``network``. Raises InputError, SpecError naming the option."""
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
        network, options_of(options, given, "algorithm, options"), max(config.iterations, 1), config.seed, **more
    )
    return algorithm


def options_of(kind: Any, given: Mapping[str, Any], where: str) -> Any:
    """A dataclass of hyper-parameters from the values in a file, each of its default's type. Raises InputError."""
    known = {field.name: field.default for field in fields(kind)}
    optional = {field.name for field in fields(kind) if "None" in str(field.type)}
    for name, value in given.items():
        if name not in known:
            raise InputError(where, one_of(name, known), name)
        if value is None and name in optional:
            continue
        if not suits(value, known[name]):
            raise InputError(f"{where}, {name}", kind_of(known[name]), value)
        if isinstance(known[name], float) and not abs(value) <= sys.float_info.max:
            raise InputError(f"{where}, {name}", "a finite number", value)
    return kind(**given)


def suits(value: object, default: object) -> bool:
    """Whether a value from a file may stand in the place of a default."""
    if default is None:  # a number that may be absent
        return value is None or suits(value, 0.0)
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    if isinstance(default, float):
        return isinstance(value, int | float)
    return isinstance(value, type(default))


def kind_of(default: object) -> str:
    """What kind of value a default is, in words."""
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return words.get(type(default), "a number")
