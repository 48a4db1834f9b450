"""Trainings with several seeds at once: one process each, as many at a time as there are cores."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path

from cluster_sim.errors import InputError
from cluster_sim.run.progress import Progress
from learning.algorithms.workers import processes
from learning.training import checkpoints
from learning.training.configuration import Config
from learning.training.training import CHECKPOINT, STATE, Summary, has_begun, last_iteration, train_one, warn_ahead


def train_several(config: Config, out: Path, resume: bool, progress: bool) -> list[Summary]:
    """Train with the seeds ``config.seed`` … in folders ``seed-…`` of ``out``; the summaries in the order of the seeds.

    Every training is the one that it would be alone. Raises InputError as :func:`tasks_of` does.
    """
    tasks = tasks_of(config, out, resume)
    total = config.iterations * len(tasks)

    def done() -> int:
        return sum(last_iteration(task.folder) for task in tasks)

    shown = Progress("train", total, "iterations", done() if progress and resume else 0, progress, count=done)
    with shown, processes(config.workers, len(tasks)) as pool:
        if pool is None:
            summaries = []
            for task in tasks:
                summaries.append(_train(task))
                shown.notes = _brief(summaries)
            return summaries
        warn_ahead(config)
        futures: list[Future[Summary]] = [pool.submit(_train, task) for task in tasks]
        while any(not future.done() for future in futures):
            wait([future for future in futures if not future.done()], return_when=FIRST_COMPLETED)
            for future in futures:
                if future.done():
                    future.result()  # whatever is wrong with one of them is likely wrong with all
            shown.notes = _brief([future.result() for future in futures if future.done()])
        return [future.result() for future in futures]


def tasks_of(config: Config, out: Path, resume: bool) -> list[_Task]:
    """A training for each seed. Raises InputError where one can neither begin nor go on, or ``out`` has one itself."""
    if checkpoints.exists(out / CHECKPOINT, STATE):
        raise InputError(out, "a folder for trainings with several seeds", "a single training in it")
    tasks = [_Task(config.model_copy(update={"seed": seed, "seeds": 1, "workers": 1}), out / f"seed-{seed}", resume)
             for seed in range(config.seed, config.seed + config.seeds)]  # fmt: skip
    for task in tasks:
        has_begun(task.config, task.folder, resume)
    return tasks


@dataclass(frozen=True)
class _Task:
    """A training with one seed."""

    config: Config
    folder: Path
    resume: bool


def _train(task: _Task) -> Summary:
    return train_one(task.config, task.folder, task.resume)


def _brief(summaries: list[Summary]) -> dict[str, str]:
    """What is shown of trainings on their way: the best agents of the seeds that are done."""
    if not summaries:
        return {}
    mean = sum(summary.reduction for summary in summaries) / len(summaries)
    return {"seeds": str(len(summaries)), "reduction": f"{mean:z.2f} %"}
