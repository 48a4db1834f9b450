"""The page of a training: what its agents reach, against what, how they came there, and how to make it again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.page import render, write_whole
from analysis.report import Figures, Section, setting
from analysis.sweep_charts import axis_of
from analysis.tables import cells_html
from analysis.training_curves import learning_curves, read_log
from analysis.wording import label_of, unit_of
from cluster_sim import __version__
from cluster_sim.amounts import amount
from cluster_sim.errors import InputError
from cluster_sim.files.documents import flat, read_document

if TYPE_CHECKING:
    from markupsafe import Markup

    from learning.training import Summary

_PROGRESS = {
    "validation/objective_mean": "What the agents reach in validation, by which the best is kept",
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
    summaries: Sequence[Summary], path: str | Path, *, assumptions: Sequence[str] = (), command: str = ""
) -> Path:
    """Write the page of a training, one or several seeds as ``learning.training.train`` returns them, and return its path.

    It holds what the best agent of each seed reaches and after how many iterations, the baselines beside it, the
    learning curves, what they say of the training's health, and the configuration. ``command`` is how to make it again.
    Raises InputError when there is no training or the file cannot be written, FormatError for logs that are none.
    """
    from learning.training import CONFIG  # brings torch, which whoever has trained has loaded

    if not summaries:
        raise InputError("training report", "at least one training", "none")
    first, figures = summaries[0], Figures()
    logs = [read_log(summary.folder) for summary in summaries]
    columns = {name for log in logs for name in log.columns[log.notna().any()]}
    baselines = {first.baseline: first.baseline_value} if first.baseline else {}

    settings: dict[str, Any] = dict(flat(read_document(Path(first.folder) / CONFIG)))
    limit = settings.get("algorithm.constraint.limit")
    beside = {"validation/objective_mean": baselines}
    if limit is not None and not any(name.startswith("algorithm.constraint.classes") for name in settings):
        beside |= {name: {"limit": float(limit)} for name in ("rollout/ep_cost_mean", "validation/cost_mean")}

    def curves(wanted: dict[str, str]) -> list[Markup]:
        drawn = []
        for name, title in wanted.items():
            if name in columns:
                figure = learning_curves({"agents": logs}, name, title=title, baselines=beside.get(name))
                if name.endswith("objective_mean"):
                    figure.update_yaxes(title_text=axis_of(first.objective))
                drawn.append(figures.html(figure))
        return drawn

    told = [[key, setting(value)] for key, value in settings.items()]
    sections = {
        "What the agents reach": Section(table=_table(summaries)),
        "Learning curves": Section(figures=curves(_PROGRESS)),
        "Is the limit kept?": Section(figures=curves(_LIMIT)),
        "Is the training healthy?": Section(figures=curves(_HEALTH)),
        "Settings": Section(table=cells_html(("setting", "value"), told, "settings")),
    }
    jobs = Path(settings.get("environment.workload", "the built-in jobs")).name
    text = render(
        "report.html",
        heading=f"Training: {settings['environment.kind']}, {jobs}",
        answer=_verdict(summaries),
        lead=_lead(summaries, settings),
        assumptions=assumptions,
        sections={name: section for name, section in sections.items() if section.figures or section.table},
        maker=f"cluster-sim {__version__}",
        again=command,
    )
    return write_whole(path, text)


def _lead(summaries: Sequence[Summary], settings: dict[str, Any]) -> str:
    many = "1 training" if len(summaries) == 1 else f"{len(summaries)} trainings, which differ by their seeds,"
    each = f"{summaries[0].iterations:,} iterations of {settings['episodes']:,} episodes"
    platform = settings.get("environment.platform", "the built-in cluster")
    return f"{many} of {each}, by {str(settings['algorithm.name']).upper()}, on {platform}."


def _verdict(summaries: Sequence[Summary]) -> str:
    """What came out in a sentence or two: against the baseline, and whether anything was learned at all."""
    first = summaries[0]
    said = []
    if first.baseline:
        better = [summary for summary in summaries if summary.value < summary.baseline_value]
        said.append(
            f"{len(better)} of {len(summaries)} best agents reach less {label_of(first.objective)} than the best baseline, "
            f"{first.baseline}, on the validation episodes."
        )
    else:
        said.append(
            "No baseline was asked for (key baselines of the configuration): these numbers have nothing beside them."
        )
    idle = [str(summary.seed) for summary in summaries if summary.best_iteration == 0]
    if idle:
        said.append(
            f"Seed {', '.join(idle)}: the best agent is the one that the training began with; it has learned nothing since."
        )
    said.append("How good an agent is on jobs that it has not seen, cluster-sim evaluate says.")
    return " ".join(said)


def _table(summaries: Sequence[Summary]) -> Markup:
    unit = unit_of(summaries[0].objective)
    head = ["seed", f"{label_of(summaries[0].objective)} of its best agent", "found after"]
    with_baseline = bool(summaries[0].baseline)
    head += [summaries[0].baseline, "less by"] if with_baseline else []
    rows = []
    for summary in summaries:
        row = [
            str(summary.seed),
            amount(summary.value, unit),
            f"{summary.best_iteration:,} of {summary.iterations:,} iterations",
        ]
        row += [amount(summary.baseline_value, unit), f"{summary.reduction:.2f} %"] if with_baseline else []
        rows.append(row)
    return cells_html(head, rows)
