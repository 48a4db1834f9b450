"""The page of a training: what its agents reach, against what, how they came there, and how to make it again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.figures.training_curves import learning_curves, read_log
from analysis.pages.page import render, write_whole
from analysis.reports.report import Figures, Section
from analysis.tables.display_names import WORKLOADS, display_name
from analysis.tables.run_metrics import cells_html
from analysis.tables.tiles import Tile, direction
from analysis.tables.wording import change, label_of, setting, unit_of
from cluster_sim import __version__
from cluster_sim.amounts import amount, scale_of
from cluster_sim.errors import InputError, counted
from cluster_sim.files.documents import flat, read_document
from cluster_sim.records.cautions import Cautions
from cluster_sim.records.intervals import ComparisonVerdict

if TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup

    from learning.training.training import TrainingSummary

_IN_VALIDATION = {
    "validation/share": "The greatest share of a limit in validation",
    "validation/reduction_mean": "By how many % less in validation than the best baseline of each episode, mean",
    "validation/objective_mean": "What the agents reach in validation, mean over its episodes",
}
"""Columns that choose the best agent: the first that was logged does."""
_KEPT = "; by this the best is kept"
_KEPT_OF_SOME = "; by this the best is kept of those within the limit"
_PROGRESS = {
    "rollout/objective_mean": "What they reach while they learn, with drawn actions",
    "rollout/ep_rew_mean": "Their reward",
}
_LIMIT = {
    "rollout/ep_cost_mean": "Their cost while they learn",
    "validation/cost_mean": "Their cost in validation",
    "validation/cost_over": "By how much it is above its limit there, of several classes the worst: below 0 it is kept",
    "train/multiplier": "The multiplier: rewards that a unit of cost is worth",
}
_HEALTH = {
    "train/entropy_loss": "Loss of entropy: towards 0 the agent draws less and less",
    "train/approx_kl": "How far an update moves the policy (approximate KL divergence)",
    "train/explained_variance": "What the value network explains of the returns: 1 is all, 0 nothing",
}


def write_training_report(
    summaries: Sequence[TrainingSummary], path: str | Path, *, assumptions: Sequence[str] = (), command: str = ""
) -> Path:
    """Write the page of a training, of one or several seeds, and return its path.

    ``summaries`` are what :func:`learning.training.train` returns, ``command`` is how to make it again. The page holds
    what the best agent of each seed reaches, and after how many iterations, with the baselines beside it. The learning
    curves, what they say of the training's health, and the configuration follow. Raises InputError when there is no
    training or the file cannot be written, FormatError for files that are no logs.
    """
    from learning.training.training import CONFIG  # loads torch, which a training has loaded anyway

    if not summaries:
        raise InputError("training report", "at least one training", "none")
    first, figures = summaries[0], Figures()
    logs = [read_log(summary.folder) for summary in summaries]
    missing = _without_numbers(logs)
    logs = [log.replace([np.inf, -np.inf], np.nan) for log in logs]
    columns = {name for log in logs for name in log.columns[log.notna().any()]}

    settings: dict[str, Any] = dict(flat(read_document(Path(first.folder) / CONFIG)))
    settings["seeds"] = len(summaries)  # each folder has the configuration of its own training
    limit = settings.get("algorithm.constraint.limit")
    beside = {
        "validation/objective_mean": {name: value for name, (value, _) in first.baselines.items()},
        "validation/reduction_mean": {name: reduction for name, (_, reduction) in first.baselines.items()},
    }
    if limit is not None and not any(name.startswith("algorithm.constraint.classes") for name in settings):
        beside |= {name: {"limit": float(limit)} for name in ("rollout/ep_cost_mean", "validation/cost_mean")}

    def curves(wanted: dict[str, str]) -> list[Markup]:
        drawn = []
        for name, title in wanted.items():
            if name in columns:
                own, values, axis = logs, beside.get(name, {}), None
                if name.endswith("objective_mean"):
                    divisor, unit = scale_of(unit_of(first.objective), abs(first.value))
                    own = [log.assign(**{name: log[name] / divisor}) for log in logs if name in log]
                    values = {baseline: value / divisor for baseline, value in values.items()}
                    axis = f"{label_of(first.objective)} [{unit}]" if unit else label_of(first.objective)
                values = {display_name(baseline): value for baseline, value in values.items()}
                figure = learning_curves({"agents": own}, name, title=title, baselines=values)
                drawn.append(figures.html(figure.update_yaxes(title_text=axis) if axis else figure))
        return drawn

    def noted(wanted: dict[str, str]) -> str:
        return " ".join(
            f"{title}: no finite number {missing[name]}." for name, title in wanted.items() if name in missing
        )

    told = [[key, setting(value)] for key, value in settings.items()]
    of_validation = _of_validation(columns)
    decides = dict(list(of_validation.items())[:1])
    others = {name: title for name, title in of_validation.items() if name not in decides}
    sections = {
        "What the agents reach": Section(figures=curves(decides), table=_table(summaries)),
        "Learning curves": Section(figures=curves(others | _PROGRESS)),
        "Is the limit kept?": Section(noted(_LIMIT), curves(_LIMIT)),
        "Is the training healthy?": Section(noted(_HEALTH), curves(_HEALTH)),
        "Settings": Section(table=cells_html(("setting", "value"), told, "settings")),
    }
    jobs = Path(settings.get("environment.workload", "the built-in jobs")).name
    if further := settings.get("environment.also"):
        jobs += f" and {counted(len(further), 'further log')}"
    called = display_name(jobs, titles=WORKLOADS)
    text = render(
        "report.html",
        heading=f"Training: {settings['environment.kind']}, {display_name(jobs, with_options=False, titles=WORKLOADS)}",
        specs={called: jobs} if called != jobs else {},
        tiles=_tiles(summaries),
        sentences=_verdict(
            summaries, chosen_by_reduction=columns.isdisjoint(("validation/share", "validation/cost_over"))
        ),
        lead=_lead(summaries, settings),
        cautions=Cautions.of_lines(assumptions).by_kind(),
        sections={
            name: section for name, section in sections.items() if section.text or section.figures or section.table
        },
        maker=f"cluster-sim {__version__}",
        again=command,
    )
    return write_whole(path, text)


def _tiles(summaries: Sequence[TrainingSummary]) -> list[Tile]:
    """Return the figures of the best agents: what they reach, against what, and after how many iterations."""
    first = summaries[0]
    best = min(summaries, key=lambda one: one.value)
    value = amount(best.value, unit_of(first.objective))
    kind = "" if not first.baseline else "unsure" if best.effect is None else direction(best.effect)
    note = "of the best agent in validation" + (f", {change(best.reduction)}" if first.baseline else "")
    tiles = [Tile(label_of(first.objective), value, note, kind)]
    if first.baseline:
        base = amount(first.baseline_value, unit_of(first.objective))
        tiles.append(Tile("the best baseline", base, display_name(first.baseline)))
    tiles.append(Tile("found after", f"{best.best_iteration:,} of {best.iterations:,}", "iterations"))
    return (
        [*tiles, Tile("trainings", str(len(summaries)), "which differ by their seeds")] if len(summaries) > 1 else tiles
    )


def _of_validation(columns: Collection[str]) -> dict[str, str]:
    """Return the curves of validation with their titles, the one that decides first."""
    found = {name: title for name, title in _IN_VALIDATION.items() if name in columns}
    for decides in list(found)[:1]:
        limited = "validation/cost_over" in columns and decides != "validation/share"
        found[decides] += _KEPT_OF_SOME if limited else _KEPT
    return found


def _lead(summaries: Sequence[TrainingSummary], settings: dict[str, Any]) -> str:
    many = "1 training" if len(summaries) == 1 else f"{len(summaries)} trainings, which differ by their seeds,"
    least, most = (of(one.iterations for one in summaries) for of in (min, max))
    iterations = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    each = f"{iterations} iterations of {settings['episodes']:,} episodes"
    platform = settings.get("environment.platform", "the built-in cluster")
    further = any("platform" in log for log in settings.get("environment.also", ()))
    others = " and the machines of further logs" if further else ""
    return f"{many} of {each}, by {str(settings['algorithm.name']).upper()}, on {platform}{others}."


def _verdict(summaries: Sequence[TrainingSummary], chosen_by_reduction: bool) -> list[str]:
    """Say in some sentences what came out, against the baseline, and whether anything was learned at all."""
    first = summaries[0]
    said = [f"Nothing to learn: {remark}." for remark in dict.fromkeys(one.remark for one in summaries) if remark]
    if first.baseline:
        whom = f"{label_of(first.objective)} than {display_name(first.baseline)} on the mean of the validation episodes"
        if len(summaries) == 1:
            certainty = f" ({first.certainty})" if first.certainty else ""
            said.append(f"The best agent reaches {change(first.reduction)} {whom}{certainty}.")
        else:
            reductions = [one.reduction for one in summaries]
            better = sum(reduction > 0.0 for reduction in reductions)
            less = ComparisonVerdict.LESS
            surely = sum(one.effect is not None and one.effect.verdict is less for one in summaries)
            said.append(f"{better} of {len(summaries)} best agents reach less {whom}: {_ranging(reductions)}.")
            said.append(f"Paired by episodes, the interval shows less for {surely} of them.")
        by_episode = _ranging([one.reduction_by_episode for one in summaries])
        kept = "; by this the best is kept" if chosen_by_reduction else ""
        said.append(f"Episode by episode, against the best baseline of each, that is {by_episode} on average{kept}.")
    else:
        said.append(
            "No baseline was asked for (key baselines of the configuration): these numbers have nothing beside them."
        )
    broken = [f"{one.seed} (by {one.over:.3g})" for one in summaries if one.over > 0.0]
    if broken:
        said.append(
            f"Seed {', '.join(broken)}: no agent kept the limit on the mean cost; the best is the one that is nearest to it."
        )
    said += [f"Seed {one.seed}: the best agent breaks the limits: {one.broken}." for one in summaries if one.broken]
    said += [f"Seed {one.seed}: {one.unlike}." for one in summaries if one.unlike]
    for untrained, what in ((True, ", untrained, as its weights were drawn"), (False, "")):
        idle = [str(one.seed) for one in summaries if one.best_iteration == 0 and one.untrained is untrained]
        if idle:
            began = f"the best agent is the one that the training began with{what}; it has learned nothing since"
            said.append(f"Seed {', '.join(idle)}: {began}.")
    chosen = "The best agent is chosen by these episodes, which flatters it: " if first.baseline else ""
    said.append(
        f"{chosen}{'h' if chosen else 'H'}ow good it is on jobs that it has not seen, cluster-sim evaluate says."
    )
    return said


def _ranging(reductions: Sequence[float]) -> str:
    """Return the greatest and the least reduction, or one if they are the same."""
    ends = dict.fromkeys(change(one) for one in (max(reductions), min(reductions)))
    return " to ".join(ends)


def _table(summaries: Sequence[TrainingSummary]) -> Markup:
    """Return a row for the best agent of each seed, and one for each baseline, the best one first."""
    from learning.training.validation import ratio  # brings torch, too

    first = summaries[0]
    unit = unit_of(first.objective)
    head = ["best agent, or baseline", label_of(first.objective), "found after"]
    head += [f"than {display_name(first.baseline)}", "than the best of each episode"] if first.baseline else []
    rows = []
    for one in summaries:
        found = f"{one.best_iteration:,} of {one.iterations:,} iterations"
        row = [f"seed {one.seed}", amount(one.value, unit), found]
        rows.append([*row, change(one.reduction), change(one.reduction_by_episode)] if first.baseline else row)
    for name, (value, reduction) in sorted(first.baselines.items(), key=lambda each: -each[1][1]):
        by = 100.0 * (1.0 - ratio(value, first.baseline_value))
        rows.append(
            [
                display_name(name),
                amount(value, unit),
                "",
                change(by) if name != first.baseline else "",
                change(reduction),
            ]
        )
    return cells_html(head, rows)


def _without_numbers(logs: Sequence[pd.DataFrame]) -> dict[str, str]:
    """Return the columns without a finite number in some updates, with how many: "in 2 of 12 updates"."""
    found = {}
    for name in (*_LIMIT, *_HEALTH):
        updated = [log[log["train/n_updates"].notna()] for log in logs if {name, "train/n_updates"} <= {*log.columns}]
        lacking = sum(int((~np.isfinite(log[name].astype(float))).sum()) for log in updated)
        of = sum(map(len, updated))
        if lacking and name.startswith("train/") and (name in _HEALTH or lacking < of):
            found[name] = f"in {lacking:,} of {of:,} updates"
    return found
