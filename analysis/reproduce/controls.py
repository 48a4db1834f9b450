"""What those who have learned nothing reach in an agent's place, by which a verdict on the agent is told from luck.

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

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from analysis.reproduce.trainings import Training, configuration

if TYPE_CHECKING:
    from learning.agent import Agent
    from learning.config import Config
    from learning.episodes import Episode
    from learning.evaluation import Evaluation

UNTRAINED, RANDOM_PLAY, TEACHER, UNSEEN = "untrained", "random play", "teacher", "unseen"
CONTROLS = (UNTRAINED, RANDOM_PLAY, TEACHER)
SEEDS = {UNTRAINED: range(5), UNSEEN: range(1000, 1005)}
"""Of the initial networks."""
METRICS = {"energy_j": "energy", "edp_js": "EDP"}


def control_values(
    start: str, folder: str | Path, inputs: Path, case: Episode, against: Sequence[str], runs: int
) -> tuple[dict[str, list[float]], int]:
    """What the controls of the agents in a folder reach in a case, and in how many runs.

    Values are named ``START/AGAINST/METRIC/min|avg|max/CONTROL``: a number for each initial network, one for random
    play, one for the teacher or none where there is no teacher.
    """
    from learning.evaluation import evaluate

    config = training_in(folder, inputs)
    found: dict[str, list[float]] = {}
    played = 0
    for control in (UNTRAINED, UNSEEN, RANDOM_PLAY):
        with TemporaryDirectory() as place:
            leave(control, config, Path(place))
            count = config.iterations * config.episodes if control == RANDOM_PLAY else runs
            tested = evaluate(place, [case], tuple(METRICS), tuple(against), count, workers=1)
        found |= {f"{name}/{control}": values for name, values in reductions_of(start, tested).items()}
        played += len(tested.runs)
    teacher = None if config.warm_start is None else config.warm_start.teacher
    return found | _of_teacher(start, teacher, case, against), played


def training_in(folder: str | Path, inputs: Path) -> Config:
    """The configuration that a training has left beside its agents, with its inputs in that folder."""
    files = sorted(Path(folder).glob("**/config.yaml"))
    return configuration(Training(str(files[0]), {}, False), inputs)


def leave(control: str, config: Config, folder: Path) -> None:
    """Leave the agents of a control in a folder, as ``train`` leaves those of several seeds."""
    seeds = SEEDS.get(control, range(1))
    agents = [random_player(config)] if control == RANDOM_PLAY else untrained_agents(config, seeds)
    for seed, agent in zip(seeds, agents, strict=True):
        agent.save(folder / f"seed-{seed}" / "best")


def untrained_agents(config: Config, seeds: Iterable[int]) -> list[Agent]:
    """The agents with which trainings of these seeds begin."""
    from learning.training import untrained

    return [untrained(config.model_copy(update={"seed": seed, "seeds": 1})) for seed in seeds]


def random_player(config: Config) -> Agent:
    """An agent with equal logits for all actions: the softmax over those that can be taken is uniform."""
    (agent,) = untrained_agents(config, range(1))
    agent.weights = {name: 0.0 * weight for name, weight in agent.weights.items()}
    return agent


def reductions_of(start: str, tested: Evaluation) -> dict[str, list[float]]:
    """For every scheduler and metric the reductions in % that each training has reached in its runs.

    The papers' *min* is of consumption, so the greatest reduction of its runs; *max* the least one; *greedy* that of the
    run without chance. Values are named ``START/AGAINST/METRIC/min|avg|max|greedy``, a number for each training.
    """
    from learning.evaluation import GREEDY

    found: dict[str, list[float]] = {}
    sampled = tested.runs["mode"] != GREEDY
    for line in tested.heuristics.to_dict("records"):
        for metric, called in METRICS.items():
            less = 100.0 * (1.0 - tested.runs[metric] / float(line[metric]))
            seeds = tested.runs["training_seed"]
            drawn, greedy = less[sampled].groupby(seeds[sampled]), less[~sampled].groupby(seeds[~sampled])
            summaries = {"min": drawn.max(), "avg": drawn.mean(), "max": drawn.min(), "greedy": greedy.mean()}
            name = f"{start}/{line['heuristic']}/{called}"
            found |= {f"{name}/{summary}": values.tolist() for summary, values in summaries.items()}
    return found


def _of_teacher(start: str, teacher: str | None, case: Episode, against: Sequence[str]) -> dict[str, list[float]]:
    """The reductions of a teacher, which draws nothing: the same under all three summaries. Empty lists without one."""
    reached = None if teacher is None else _metrics(teacher, case)
    found: dict[str, list[float]] = {}
    for scheduler in against:
        theirs = _metrics(scheduler, case)
        for metric, called in METRICS.items():
            values = [] if reached is None else [100.0 * (1.0 - reached[metric] / theirs[metric])]
            found |= {f"{start}/{scheduler}/{called}/{summary}/{TEACHER}": values for summary in ("min", "avg", "max")}
    return found


def _metrics(scheduler: str, case: Episode) -> Mapping[str, Any]:
    from learning.heuristics import metric_of, policies, run_on

    summary = run_on(case, *policies(scheduler, "scheduler", {}), case.seed)
    return {metric: metric_of(summary, metric) for metric in METRICS}
