"""Trainings with several seeds at once: one process each, as many at a time as there are cores."""

from __future__ import annotations

import warnings
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path

from cluster_sim.errors import InputError, ModelWarning
from cluster_sim.run.progress import Progress
from learning.algorithms.workers import processes
from learning.training import checkpoints
from learning.training.configuration import Config
from learning.training.training import (
    CHECKPOINT,
    STATE,
    TrainingSummary,
    has_begun,
    last_iteration,
    train_one,
    warn_ahead,
)


def train_several(config: Config, out: Path, resume: bool, progress: bool) -> list[TrainingSummary]:
    """Train with the seeds ``config.seed`` … in folders ``seed-…`` of ``out``; the summaries in the order of the seeds.

    Every training is the same as it would be alone. Raises InputError as :func:`tasks_of` does.
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
        futures: list[Future[TrainingSummary]] = [pool.submit(_train, task) for task in tasks]
        while any(not future.done() for future in futures):
            wait([future for future in futures if not future.done()], return_when=FIRST_COMPLETED)
            for future in futures:
                if future.done():
                    future.result()  # an error of one training is likely one of all
            shown.notes = _brief([future.result() for future in futures if future.done()])
        return [future.result() for future in futures]


def tasks_of(config: Config, out: Path, resume: bool) -> list[_Task]:
    """Return a training per seed. Raises InputError if one can neither begin nor go on, or ``out`` is one itself."""
    if checkpoints.exists(out / CHECKPOINT, STATE):
        raise InputError(out, "a folder for trainings with several seeds", "a single training in it")
    tasks = [_Task(config.model_copy(update={"seed": seed, "seeds": 1, "workers": 1}), out / f"seed-{seed}", resume)
             for seed in range(config.seed, config.seed + config.seeds)]  # fmt: skip
    for task in tasks:
        has_begun(task.config, task.folder, resume)
    return tasks


@dataclass(frozen=True)
class _Task:
    """Task: a training with one seed."""

    config: Config
    folder: Path
    resume: bool


def _train(task: _Task) -> TrainingSummary:
    return train_one(task.config, task.folder, task.resume)


def _brief(summaries: list[TrainingSummary]) -> dict[str, str]:
    """Return the numbers that are shown during trainings: of the best agents of the seeds that are done."""
    if not summaries:
        return {}
    mean = sum(summary.reduction for summary in summaries) / len(summaries)
    return {"seeds": str(len(summaries)), "reduction": f"{mean:z.2f} %"}


def train(config: Config, out: str | Path, resume: bool = False, progress: bool = False) -> list[TrainingSummary]:
    """Train as ``config`` says into a folder; several seeds train at the same time, in folders ``seed-…`` in it.

    With ``resume``, a training goes on from its last checkpoint, or begins if there is none. Raises InputError when the
    folder has a training and ``resume`` was not given, or has one of another configuration. Warns (ModelWarning) if a
    shaped reward has another discount than the algorithm, if an algorithm treats a cut of an episode as its end, if
    there was nothing to learn, and if no agent was better than the untrained one.
    """
    if config.seeds == 1:
        summaries = [train_one(config, out, resume, progress)]
    else:
        summaries = train_several(config, Path(out), resume, progress)
    for remark in dict.fromkeys(summary.remark for summary in summaries if summary.remark):
        warnings.warn(f"nothing to learn: {remark}", ModelWarning, stacklevel=2)
    untrained = [str(summary.seed) for summary in summaries if summary.untrained and not summary.remark]
    if untrained:
        text = "the best agent is the untrained one, as its weights were drawn; no update has made a better one"
        warnings.warn(f"seed {', '.join(untrained)}: {text}", ModelWarning, stacklevel=2)
    return summaries


def check_folder(config: Config, out: str | Path, resume: bool) -> None:
    """Raise InputError for a folder in which what :func:`train` is to do can neither begin nor, with ``resume``, go on."""
    if config.seeds == 1:
        has_begun(config, Path(out), resume)
    else:
        tasks_of(config, Path(out), resume)
