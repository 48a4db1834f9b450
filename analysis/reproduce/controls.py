"""Controls: what agents reach that have learned nothing. They tell a verdict on an agent from luck.

=============  ========================================================================================================
control        who decides
=============  ========================================================================================================
untrained      five agents as a training begins with them, each with an initial network of its own
random play    an agent to which every action is as good as another, in as many episodes as the training has
teacher        the scheduler that the agent learns from before anything else, where it has one
=============  ========================================================================================================

Random play shows what is found by trying as often as the training does: the best of so many tries needs no learning.
Five more untrained agents are *unseen*: no verdict asks them. How many of the rows that are told reproduced one of them
would have had as well is how often the gate errs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from analysis.reproduce.plays import Played, Reached, reached_by, reductions_of
from analysis.reproduce.trainings import AgentTraining, configuration

if TYPE_CHECKING:
    from learning.tasks.episodes import Episode
    from learning.training.agent import Agent
    from learning.training.configuration import Config

UNTRAINED, RANDOM_PLAY, TEACHER, UNSEEN = "untrained", "random play", "teacher", "unseen"
CONTROLS = (UNTRAINED, RANDOM_PLAY, TEACHER)
SEEDS = {UNTRAINED: range(5), UNSEEN: range(1000, 1005)}
"""Seeds of the initial networks."""


def control_values(
    start: str,
    config: Config,
    case: Episode,
    references: Mapping[str, Reached],
    runs: int,
    play: Callable[[str, int], list[Played]],
) -> tuple[dict[str, list[float]], int]:
    """Return what the controls of a training's agents reach in a case, and in how many runs.

    Values are named ``START/AGAINST/METRIC/min|avg|max/CONTROL``: a number for each initial network, one for random
    play, one for the teacher or none where there is no teacher. ``references``: what each of the schedulers reaches that
    are compared with; ``play(folder, runs)`` plays the agents in a folder.
    """
    found: dict[str, list[float]] = {}
    runs_played = 0
    for control in (UNTRAINED, UNSEEN, RANDOM_PLAY):
        with TemporaryDirectory() as place:
            leave(control, config, Path(place))
            played = play(place, tries(config) if control == RANDOM_PLAY else runs)
        found |= {f"{name}/{control}": values for name, values in reductions_of(start, played, references).items()}
        runs_played += sum(len(one.sampled) + 1 for one in played)
    played = []
    if config.warm_start is not None:
        reached = reached_by(config.warm_start.teacher, case)
        played = [Played([reached], reached)]  # the teacher draws nothing: every run reaches the same
    found |= {f"{name}/{TEACHER}": values for name, values in reductions_of(start, played, references).items()}
    return found, runs_played


def tries(config: Config) -> int:
    """Return the number of a training's episodes. Random play has as many."""
    return config.iterations * config.episodes


def training_in(folder: str | Path, inputs: Path) -> Config:
    """Return the configuration that a training has left beside its agents, with its inputs in the folder ``inputs``."""
    files = sorted(Path(folder).glob("**/config.yaml"))
    return configuration(AgentTraining(str(files[0]), {}, False), inputs)


def leave(control: str, config: Config, folder: Path, seeds: Sequence[int] | None = None) -> None:
    """Leave the agents of a control in a folder, as ``train`` leaves those of several seeds; by default of :data:`SEEDS`."""
    seeds = SEEDS.get(control, range(1)) if seeds is None else seeds
    agents = [random_player(config)] if control == RANDOM_PLAY else untrained_agents(config, seeds)
    for seed, agent in zip(seeds, agents, strict=True):
        agent.save(folder / f"seed-{seed}" / "best")


def untrained_agents(config: Config, seeds: Iterable[int]) -> list[Agent]:
    """Return the agents with which trainings of these seeds begin."""
    from learning.training.training import untrained

    return [untrained(config.model_copy(update={"seed": seed, "seeds": 1})) for seed in seeds]


def random_player(config: Config) -> Agent:
    """Return an agent with equal logits for all actions: it chooses among the possible actions uniformly."""
    (agent,) = untrained_agents(config, range(1))
    agent.weights = {name: 0.0 * weight for name, weight in agent.weights.items()}
    return agent
