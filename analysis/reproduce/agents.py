"""Rows of trained agents, for every paper in one place: declared by the papers, filled from folders that ``train`` left.

``cluster-sim reproduce NAME --agents FOLDER`` looks for ``FOLDER/NAME/ROW``, then for ``FOLDER/TRAINING``, the name of the
row's file in ``examples/training``. What is in neither is trained first, by :mod:`analysis.reproduce.trainings`, unless
``--no-training`` says otherwise; then the row is listed as not run.

Beside every agent stand its controls, by :mod:`analysis.reproduce.controls`: what reaches as much without having learned
anything makes the row say nothing. A row of the agent as published is a claim of the paper. Our default agent is another
agent: it beats the published one or does not, and reproduces nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.reproduce.claims import MORE, Claim, Kind, of_runs
from analysis.reproduce.controls import CONTROLS, UNSEEN, control_values, training_in, tries
from analysis.reproduce.paper import AgentRow, ComputedPart, Measured, ReproductionSetting
from analysis.reproduce.plays import Played, plays, reached_by, reductions_of
from analysis.reproduce.trainings import AgentTraining, train_first, training_of
from cluster_sim.errors import InputError

if TYPE_CHECKING:
    from learning.tasks.episodes import Episode

SUMMARIES = ("min", "avg", "max")
"""Names of the reductions in the tables: by the *least* consumption (so the greatest reduction), mean, least one."""
NEEDS = "needs a trained agent: --agents FOLDER with {paper}/{row} or {training}, left by cluster-sim train"


def as_published(
    row: AgentRow,
    training: str,
    file: str = "",
    environment: Mapping[str, Any] | None = None,
    most: Mapping[str, int] | None = None,
) -> AgentRow:
    """Return the row for the agent as the paper has it, in place of our default one; its training as in the row's fields."""
    return replace(
        row,
        name=f"{row.name}-as-published",
        what=f"{row.what}, as published",
        training=training,
        file=file,
        environment=environment or {},
        like=row.name,
        most=most or {},
    )


def agent_parts(
    paper: str, rows: Sequence[AgentRow], setting: ReproductionSetting, episodes: str
) -> list[ComputedPart]:
    """Return a part for each row whose agent is there or can be trained.

    ``episodes`` is the ``module:function`` that makes a case.
    """
    runs = 10 if setting.quick else 100
    found = []
    for row in rows:
        arguments = {
            "row": row.name,
            "cases": list(row.cases),
            "against": list(row.against),
            "rule": row.rule,
            "runs": runs,
            "episodes": episodes,
            "kept": "" if setting.trainings is None else str(setting.trainings / "plays"),
        }
        found += row_part(paper, row, setting, agent_rows, arguments)
    return found


def row_part(
    paper: str,
    row: AgentRow,
    setting: ReproductionSetting,
    compute: Callable[..., Measured],
    arguments: Mapping[str, Any],
    needs: tuple[str, ...] = (),
) -> list[ComputedPart]:
    """Return the part of one row, computed with ``arguments``.

    Further arguments say where its agent is, or how it is trained. The list is empty if the row has no agent.
    """
    measures = (f"agent/{row.name}/",)
    folder = trained(paper, row, setting)
    if folder is not None:
        written = max(file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file())
        given = {"folder": str(folder), "written": written, "training": None}
        return [ComputedPart(f"agent {row.name}", compute, {**arguments, **given}, needs, measures)]
    training = training_of(row.file or row.training, row.environment, setting, row.most, row.options, row.network)
    if training is None or setting.trainings is None:
        return []
    place = setting.trainings / ("quick" if setting.quick else "") / row.training
    given = {"folder": str(place), "written": 0, "training": training.as_json()}
    return [ComputedPart(f"agent {row.name}", compute, {**arguments, **given}, (*needs, *training.needs), measures)]


def trained(paper: str, row: AgentRow, setting: ReproductionSetting) -> Path | None:
    """Return the folder of a row's agents, if there is one: of one training, of several seeds, or of folds."""
    if setting.agents is None:
        return None
    for folder in (setting.agents / paper / row.name, setting.agents / row.training):
        seeds = (folder, folder / "best", *folder.glob("seed-*/best"), *folder.glob("fold-*/seed-*/best"))
        if any((place / "agent.json").is_file() for place in seeds):
            _check_learned(folder)
            return folder
    return None


def _check_learned(folder: Path) -> None:
    """Raise InputError for trainings of no iteration: no control can be compared with them."""
    from learning.training.configuration import read_config
    from learning.training.training import CONFIG

    for path in sorted(folder.rglob(CONFIG)):
        if not read_config(path).iterations:
            raise InputError(f"{path}, iterations", "at least 1: agents that have learned", 0)


def left_out(paper: str, rows: Sequence[AgentRow], setting: ReproductionSetting) -> dict[str, str]:
    """Say why the values of rows without an agent are absent."""
    return {
        f"agent/{row.name}/": NEEDS.format(paper=paper, row=row.name, training=row.training)
        for row in rows
        if trained(paper, row, setting) is None
    }


def agent_rows(
    inputs: Path,
    row: str,
    cases: Sequence[str],
    against: Sequence[str],
    rule: str,
    runs: int,
    episodes: str,
    kept: str,
    folder: str,
    written: int,
    training: Mapping[str, Any] | None,
) -> Measured:
    """Test the agents in ``folder`` on each case, and their controls: % less than each scheduler, in energy and EDP.

    Values are named ``agent/ROW/CASE/AGAINST/METRIC/min|avg|max|greedy``: a list with a number for every training.
    ``agent/ROW/CASE/runs`` are the energies of each agent's runs, J.
    ``control/…`` is the same of each control, ``rule/…`` of the scheduler ``rule``. ``control/ROW/episodes`` is how
    many episodes a training and random play have, ``control/ROW/metric`` what the agents are trained to reduce.

    Plays are kept in the folder ``kept``. ``written`` is when the agents were written: after more training a part is
    computed again. With ``training`` the agents are trained first, as far as they are not yet.
    """
    module, _, function = episodes.partition(":")
    make: Callable[[Path, str], Episode] = getattr(import_module(module), function)
    found = train_first(f"agent/{row}/", inputs, folder, AgentTraining.of(training))
    config = training_in(folder, inputs)
    reward = config.environment.reward or ""
    found.values |= {
        f"control/{row}/episodes": tries(config),
        f"control/{row}/metric": "EDP" if reward.startswith("edp") else "energy",
    }
    for case in cases:
        episode = make(inputs, case)

        def play(place: str, count: int, episode: Episode = episode) -> list[Played]:
            return plays(place, episode, episodes, count, kept)

        references = {scheduler: reached_by(scheduler, episode) for scheduler in against}
        played = play(folder, runs)
        found.values |= reductions_of(f"agent/{row}/{case}", played, references)
        found.values[f"agent/{row}/{case}/runs"] = [[round(run["energy_j"]) for run in one.sampled] for one in played]
        found.runs += sum(len(one.sampled) + 1 for one in played) + len(references)
        values, control_runs = control_values(f"control/{row}/{case}", config, episode, references, runs, play)
        found.values |= values
        found.runs += control_runs
        if rule:
            reached = reached_by(rule, episode)
            found.values |= reductions_of(f"rule/{row}/{case}", [Played([reached], reached)], references)
    return found


def reductions(
    row: AgentRow, case: str, against: str, metric: str, published: Sequence[str], source: str
) -> list[Claim]:
    """Return the claims for the three published reductions (min, avg, max) of a row against one scheduler.

    The agent as published is to reach each within the spread of the paper's own runs, better or worse; ours is to do
    better than what is printed.
    """
    tolerance = MORE if row.kind is Kind.OUR_AGENT else of_runs(published[-1], published[0])
    found = []
    for summary, number in zip(SUMMARIES, published, strict=True):
        name = f"{row.name}/{case}/{against}/{metric}/{summary}"
        what = f"{row.what}, {metric}: {summary} reduction against {against.removeprefix('list:')}"
        found.append(
            Claim(
                name,
                what + (f", {case}" if len(row.cases) > 1 else ""),
                number,
                "%",
                source,
                f"agent/{name}",
                tolerance,
                kind=row.kind,
                controls={control: f"control/{name}/{control}" for control in CONTROLS},
                unseen=f"control/{name}/{UNSEEN}",
                group=row.group,
            )
        )
    return found


def both_reductions(row: AgentRow, case: str, against: str, published: Sequence[str], source: str) -> list[Claim]:
    """Return the claims of a row of six: min, avg, max of the energy, then of the EDP."""
    energy, edp = published[: len(SUMMARIES)], published[len(SUMMARIES) :]
    return [
        *reductions(row, case, against, "energy", energy, source),
        *reductions(row, case, against, "EDP", edp, source),
    ]
