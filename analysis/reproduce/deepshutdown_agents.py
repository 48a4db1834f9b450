"""The agent of DeepShutdown's tables: every released day is played by agents that have not seen it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from analysis.reproduce.paper import Measured
from analysis.reproduce.trainings import Training, configuration, trained_in

if TYPE_CHECKING:
    from learning.config import Config
    from learning.episodes import Episode

METRICS = {"waste": "energy_waste_by_core_j", "switches": "node_switches"}
Day = tuple[int, dict[str, dict[str, float]]]
"""Group of a day; policy → metric → value, of the agent the mean over the seeds of its training."""


def agent_days(
    inputs: Path,
    row: str,
    file: str,
    against: Mapping[str, str],
    quick: bool,
    folder: str,
    written: int,
    training: Mapping[str, Any] | None,
) -> Measured:
    """% by which agents waste and switch less than the policies ``against`` (name → spec), over all days and by group.

    ``folder`` holds ``fold-K`` for each K of the ``fold: [K, n]`` of the configuration ``file``: agents that left out days K,
    K + n, … and are tested on them. With ``training`` they are trained first; ``quick`` does with four days of one fold.
    """
    from time import process_time

    how = Training.of(training)
    config = configuration(how or Training(file, {}, False), inputs)
    began = process_time()
    if how is not None:
        _train(config, Path(folder), how.quick)
    found = Measured() if how is None else trained_in(f"agent/{row}/", process_time() - began, how)
    days = list(_tested(config, Path(folder), against, quick))
    found.runs = sum(len(policies) for _, policies in days)
    if quick:
        found.curtailed.setdefault(f"agent/{row}/", "four days only (--quick)")
    for name, chosen in _chosen(days).items():
        for policy in against:
            for metric in METRICS:
                ours, theirs = (mean(of[one][metric] for of in chosen) for one in ("agent", policy))
                if theirs > 0:
                    found.values[f"agent/{row}/{name}/{policy}/{metric}"] = 100.0 * (1.0 - ours / theirs)
    return found


def _chosen(days: Sequence[Day]) -> dict[str, list[dict[str, dict[str, float]]]]:
    groups = {f"group {group}": [of for its, of in days if its == group] for group in sorted({its for its, _ in days})}
    return {"all": [of for _, of in days]} | groups


def _folds(config: Config, quick: bool) -> Iterator[tuple[tuple[int, int], Config]]:
    """Each fold ``(K, n)`` with the configuration of its training; of a quick reproduction only the first one."""
    _, number = config.environment.fold or (0, 1)
    for fold in range(1 if quick else number):
        environment = config.environment.model_copy(update={"fold": (fold, number)})
        yield (fold, number), config.model_copy(update={"environment": environment})


def _train(config: Config, folder: Path, quick: bool) -> None:
    from learning.training import train

    for (fold, _), of_fold in _folds(config, quick):
        train(of_fold, folder / f"fold-{fold}", resume=True)


def _tested(config: Config, folder: Path, against: Mapping[str, str], quick: bool) -> Iterator[Day]:
    from analysis.deepshutdown import group_of
    from learning.agent import find_agents
    from learning.inputs import all_days, split_days

    days = all_days(config.environment)
    for (fold, number), _ in _folds(config, quick):
        place = folder / f"fold-{fold}"
        if not place.is_dir():
            continue
        agents = find_agents(place)[: 1 if quick else None]
        left_out = split_days(days, fold, number)[1]
        for day in left_out[: 4 if quick else None]:
            runs = {name: _numbers(spec, day) for name, spec in against.items()}
            learned = [_numbers(f"learned:{agent}", day) for agent in agents]
            runs["agent"] = {metric: mean(one[metric] for one in learned) for metric in METRICS}
            yield group_of(day.workload.share_of_sequential_jobs()), runs


def _numbers(spec: str, day: Episode) -> dict[str, float]:
    from learning.heuristics import metric_of, policies, run_on

    summary = run_on(day, *policies(spec, "power", {}), day.seed)
    return {name: metric_of(summary, metric) for name, metric in METRICS.items()}
