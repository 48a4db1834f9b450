"""The agents of IRMaSim, which choose one of six policies: what they end with, and how soon.

Claims are about the *last* policy of every training and its last rollouts: the agent that validation kept may be an
untrained one that was lucky. Beside them stand as many untrained agents, and random play.

The *way* says how good a policy is. 0 % is the mean of the six policies, each of them kept for the whole run. 100 % is
the best of them. A mixture of policies may need less than all of them, or more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.reproduce.controls import RANDOM_PLAY, UNTRAINED, random_player, untrained_agents
from analysis.reproduce.paper import AgentRow, Measured
from analysis.reproduce.trainings import AgentTraining, fewest, train_first
from cluster_sim.errors import InputError

if TYPE_CHECKING:
    from learning.training.agent import Agent
    from learning.training.configuration import Config

TRAINING = "irmasim-selection"
AGENTS = {"reinforce": TRAINING, "actor-critic": f"{TRAINING}-actor-critic"}
"""The two agents of §IV.A, and the files that say how they are trained."""
MODEL_KEYS: dict[str, dict[str, Any]] = {
    "baseline": {"contention_model": "none", "power_model": "baseline"},
    "contention": {},
}
REWARDS, LEVELS = ("makespan", "energy", "edp"), ("normal", "small", "minimal")
"""Rewards of Table I, and levels of observation of §IV.B."""
TABLE_MOST = {"seeds": 3, "iterations": 30}
"""Limits of the table's trainings: fewer and shorter than those of the figures, for it has 18 kinds of them, not 4."""
LAST_ROLLOUTS = 5
TRIES = 6
"""Episodes that a policy is played with drawn actions, to see what it chooses."""
HALF_WAY = 50.0
"""Way (%) from which on a policy is nearer to the best of the six than to their mean."""


FIGURE_ROWS = tuple(
    AgentRow(
        f"{model} {agent}",
        f"{agent}, {model} model",
        (),
        (),
        file if model == "contention" else f"{file}-{model}",
        file,
        keys,
    )
    for agent, file in AGENTS.items()
    for model, keys in MODEL_KEYS.items()
)
"""Rows of Figs. 10 and 11: both agents under both models."""
TABLE_ROWS = tuple(
    AgentRow(
        f"table-1 {agent} {reward} {level}",
        f"{agent}, reward of Table I for {reward}, {level} observation",
        (),
        (),
        f"irmasim-table-1/{agent}-{reward}-{level}",
        file,
        {"reward": f"as-published:{reward}", "observation": f"as-published:{level}"},
    )
    for agent, file in AGENTS.items()
    for reward in REWARDS
    for level in LEVELS
)
"""Rows of agents × rewards of Table I × levels of observation, under the contention model."""
ROWS = (*FIGURE_ROWS, *TABLE_ROWS)


def converged(
    inputs: Path, row: str, most: Mapping[str, int], folder: str, written: int, training: Mapping[str, Any] | None
) -> Measured:
    """Train what is not trained yet, and see where every training has ended; the same of its controls.

    Values are named ``agent/ROW/…``, a number for each training, and ``control/ROW/…/CONTROL``:

    way : of the mean of the last rollouts, %.
    share : of the policy that is chosen most often, among all decisions, %.
    favoured : number of that policy.
    best favoured : whether, in more than half of the trainings, it is chosen more often than all others together and
        has the least objective.
    episodes : after which the mean of a rollout stays at half the way or more; all of them if it never does.
    curve : mean objective of every rollout.
    """
    from learning.training.configuration import read_config
    from learning.training.logs import CSV, read_metrics
    from learning.training.training import CHECKPOINT, CONFIG, last

    start = f"agent/{row}/"
    asked = AgentTraining.of(training)
    found = train_first(start, inputs, folder, None if asked is None else replace(asked, most=fewest(most, asked.most)))
    seeds = [path.parent for path in Path(folder).glob(f"seed-*/{CHECKPOINT}")]
    # Without folders of seeds, the folder is that of a single training.
    places = sorted(seeds, key=lambda place: int(place.name.removeprefix("seed-"))) or [Path(folder)]
    agents = [last(place) for place in places]
    case = SelectionCase(read_config(places[0] / CONFIG), agents[0])
    curves = []
    for place in places:
        curves.append([row["rollout/objective_mean"] for row in read_metrics(place) if "rollout/objective_mean" in row])
        if not curves[-1]:
            raise InputError(place / CSV, "the numbers of a training's iterations", "none")
    _note(found, start, "", case, case.play_each(agents), [mean(c[-LAST_ROLLOUTS:]) for c in curves])
    found.values |= {
        f"{start}curve": curves,
        f"{start}episodes": [case.config.episodes * until_half_way(curve, case.alone) for curve in curves],
        f"{start}per rollout": case.config.episodes,
        f"{start}least": min(case.alone),
    }
    _note_controls(found, row, case, len(places))
    found.runs += case.played
    return found


def _note_controls(found: Measured, row: str, case: SelectionCase, count: int) -> None:
    """Note what the controls of a row reach: ``count`` untrained agents, and random play.

    In the figures random play has as many episodes as a training.
    """
    start = f"control/{row}/"
    _note(found, start, f"/{UNTRAINED}", case, case.play_each(untrained_agents(case.config, range(count))))
    random = random_player(case.config)
    rollouts = case.config.iterations if row in {one.name for one in FIGURE_ROWS} else LAST_ROLLOUTS
    played = [case.play(random, case.config.episodes, first) for first in range(rollouts)]
    curve = [one.objective for one in played]
    chosen = [sum(counts) for counts in zip(*(one.chosen for one in played), strict=True)]
    _note(found, start, f"/{RANDOM_PLAY}", case, [_Played(mean(curve), chosen)])
    found.values |= {
        f"{start}curve/{RANDOM_PLAY}": curve,
        f"{start}episodes/{RANDOM_PLAY}": case.config.episodes * until_half_way(curve, case.alone),
    }


def _note(
    found: Measured,
    start: str,
    end: str,
    case: SelectionCase,
    played: Sequence[_Played],
    reached: Sequence[float] | None = None,
) -> None:
    values = [one.objective for one in played] if reached is None else reached
    found.values |= {
        f"{start}way{end}": [way(value, case.alone) for value in values],
        f"{start}share{end}": [one.share for one in played],
        f"{start}favoured{end}": [one.favoured for one in played],
        f"{start}best favoured{end}": 2 * sum(case.favours_best(one) for one in played) > len(played),
    }


@dataclass(frozen=True)
class _Played:
    """The mean objective of some episodes, and how often each policy was chosen in them."""

    objective: float
    chosen: Sequence[int]

    @property
    def favoured(self) -> int:
        """Return the policy that is chosen most often."""
        return max(range(len(self.chosen)), key=self.chosen.__getitem__)

    @property
    def share(self) -> float:
        """Return how often the favoured policy is chosen, %."""
        return 100.0 * self.chosen[self.favoured] / sum(self.chosen)


class SelectionCase:
    """Case on which the agents of a row are trained, and what each of the policies reaches there by itself."""

    def __init__(self, config: Config, agent: Agent):
        from learning.training.inputs import MakeEnvironment

        self.config = config
        self.metric = str(agent.facts["objective"])
        self.make = MakeEnvironment.of(config.environment)
        self.alone: list[float] = []  # the objective with every decision by one policy
        environment = self.make()
        for action in range(int(environment.action_space.n)):  # type: ignore[attr-defined]
            environment.reset(seed=0)
            over = False
            while not over:
                _, _, over, _, info = environment.step(action)
            self.alone.append(float(info["metrics"][self.metric]))
        least = min(self.alone)
        self.best = [number for number, value in enumerate(self.alone) if value <= 1.0001 * least]
        self.played = len(self.alone)

    def favours_best(self, played: _Played) -> bool:
        """Return whether a best policy is chosen more often than all others together."""
        return played.share > 50.0 and played.favoured in self.best

    def first_probabilities(self, agent: Agent) -> np.ndarray:
        """Return the probability of each policy in the first decision of an episode."""
        environment = self.make()
        observation, _ = environment.reset(seed=0)
        network = agent.build(environment.maker)
        logits, _, _ = network.forward(network.stack([network.keep(observation)]))
        return np.asarray(logits.detach().softmax(-1)[0].numpy())

    def play_each(self, agents: Sequence[Agent]) -> list[_Played]:
        """Play a few episodes of each agent, each with draws of its own."""
        return [self.play(agent, TRIES, number) for number, agent in enumerate(agents)]

    def play(self, agent: Agent, episodes: int, number: int) -> _Played:
        """Play episodes with drawn actions; another ``number`` draws others."""
        from learning.algorithms.rollouts import collect, episode_seeds

        network = agent.build(self.make().maker)
        found = collect(self.make, network, episode_seeds(2021, number, episodes), group=episodes)
        self.played += episodes
        chosen = np.bincount(np.concatenate([one.actions for one in found]), minlength=len(self.alone))
        return _Played(mean(float(one.metrics[self.metric]) for one in found), chosen.tolist())


def way(value: float, alone: Sequence[float]) -> float:
    """Return how far a value is on the way from the mean of the six policies to the least of them, %."""
    middle = mean(alone)
    return 100.0 * (middle - value) / (middle - min(alone))


def until_half_way(curve: Sequence[float], alone: Sequence[float]) -> int:
    """Return after how many rollouts all are at half the way or more; the number of rollouts if the last is not."""
    short = [i for i, value in enumerate(curve, 1) if way(value, alone) < HALF_WAY]
    return min(short[-1] + 1, len(curve)) if short else 1
