"""What agents reach in a case, each played once: papers that share agents and cases share the plays, too.

Plays are kept beside the trainings, ``DIR/agents/plays``, for as long as the agent, the case and the code of cluster-sim are
the same. What an agent was rewarded with is no part of it: with equal weights it plays alike.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from analysis.reproduce.inputs import code
from cluster_sim.files.atomic import write_bytes

if TYPE_CHECKING:
    from learning.tasks.episodes import Episode
    from learning.training.agent import Agent

METRICS = {"energy_j": "energy", "edp_js": "EDP"}
RANDOM_SEEDS = 20
"""Runs of a scheduler that draws at random; their mean counts."""
Reached = Mapping[str, float]
"""A number for each of METRICS."""


@dataclass(frozen=True)
class Played:
    """One agent's runs: with drawn actions, from seed 0 on, and the one in which it takes the likeliest action."""

    sampled: Sequence[Reached]
    greedy: Reached


def plays(folder: str | Path, case: Episode, episodes: str, runs: int, kept: str) -> list[Played]:
    """Return the runs of every agent in a folder, in the order of the training seeds.

    ``episodes`` says what made the case. Plays are looked for in the folder ``kept`` and left there; "" for nowhere.
    """
    from learning.training.agent import Agent, find_agents

    found = {}
    for place in find_agents(folder):
        agent = Agent.load(place)
        found[int(agent.facts["seed"])] = _played(agent, place, case, episodes, runs, kept)
    return [found[seed] for seed in sorted(found)]


def reached_by(scheduler: str, case: Episode) -> Reached:
    """Return what a scheduler reaches; if it draws at random, the mean over seeds."""
    found = [reached_in_one_run(scheduler, case, seed) for seed in range(RANDOM_SEEDS if "random" in scheduler else 1)]
    return {metric: mean(one[metric] for one in found) for metric in METRICS}


def reached_in_one_run(scheduler: str, case: Episode, seed: int) -> Reached:
    """Return what a scheduler reaches in the run with that seed."""
    from learning.training.heuristics import metric_of, policies, run_on

    summary = run_on(case, *policies(scheduler, "scheduler", {}), seed)
    return {metric: float(metric_of(summary, metric)) for metric in METRICS}


def reductions_of(start: str, played: Sequence[Played], references: Mapping[str, Reached]) -> dict[str, list[float]]:
    """Return the reductions in % that each agent has reached in its runs, for every scheduler and metric.

    The papers' *min* is of consumption, so the greatest reduction of its runs; *max* the least one; *greedy* that of the
    run without chance. Values are named ``START/AGAINST/METRIC/min|avg|max|greedy``, a number for each agent.
    """
    found: dict[str, list[float]] = {}
    for against, reference in references.items():
        for metric, called in METRICS.items():

            def less(reached: Reached, metric: str = metric, reference: Reached = reference) -> float:
                return 100.0 * (1.0 - reached[metric] / reference[metric])

            name = f"{start}/{against}/{called}"
            drawn = [[less(run) for run in one.sampled] for one in played]
            found[f"{name}/min"] = [max(each) for each in drawn]
            found[f"{name}/avg"] = [mean(each) for each in drawn]
            found[f"{name}/max"] = [min(each) for each in drawn]
            found[f"{name}/greedy"] = [less(one.greedy) for one in played]
    return found


def _played(agent: Agent, place: Path, case: Episode, episodes: str, runs: int, kept: str) -> Played:
    """Return the runs of an agent from the folder ``kept``, or play them and leave them there."""
    from learning.training.evaluation import GREEDY, evaluate

    # An agent's reward is no part of the key: it does not change how the agent plays.
    environment = {key: value for key, value in agent.environment.items() if key != "reward"}
    facts = [code(), episodes, case.name, runs, agent.network, environment]
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode())
    for name, weight in sorted(agent.weights.items()):
        digest.update(name.encode() + weight.tobytes())
    path = Path(kept) / f"{digest.hexdigest()}.json"
    if kept and path.is_file():
        return Played(**json.loads(path.read_text(encoding="utf-8")))
    tested = evaluate(place, [case], tuple(METRICS), (), runs, workers=1).runs
    reached = [{metric: float(row[metric]) for metric in METRICS} for row in tested.to_dict("records")]
    modes = tested["mode"].tolist()
    sampled = [one for one, mode in zip(reached, modes, strict=True) if mode != GREEDY]
    played = Played(sampled, reached[modes.index(GREEDY)])
    if kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, json.dumps(asdict(played)).encode())
    return played
