"""Curves of trainings over iterations, with the spread of the seeds; and an agent's probabilities of its actions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.figures.figure_style import LEGEND_ABOVE, run_styles, styled, transparent
from analysis.tables.wording import plotly_text, shortened
from cluster_sim.amounts import number
from cluster_sim.errors import FormatError, InputError
from cluster_sim.files.csv import as_numbers

METRICS_FILE = "metrics.csv"
_WHOLE = 6  # iterations of which each has a tick: Plotly's own would be at halves
_ABREAST = 4  # labels of baselines beside each other
_CLOSE = 0.12  # of the height: the name of the lower of two such lines stands under it
_MARKED = 30  # values that are seen one by one
Log = pd.DataFrame | str | os.PathLike[str]
Logs = Mapping[str, Log | Sequence[Log]] | Sequence[Log] | Log


def learning_table(
    logs: Log | Sequence[Log], column: str = "rollout/ep_rew_mean", x: str = "iteration"
) -> pd.DataFrame:
    """Return a column of training logs over seeds: ``x``, ``mean``, ``low`` (least), ``high`` (largest), ``seeds``.

    A log is a ``metrics.csv`` (or the folder with one, or a table) of one training; several logs are seeds of the same
    training. Each value of ``x`` in any log has a row, over the logs that have it. Empty cells do not count.
    Raises FormatError for a file without these columns, InputError when there is no log.
    """
    several = [logs] if isinstance(logs, str | os.PathLike | pd.DataFrame) else list(logs)
    if not several:
        raise InputError("learning curves", "at least one training log", "none")
    columns = [_values(log, column, x) for log in several]
    side = pd.concat(columns, axis=1).sort_index()
    return pd.DataFrame(
        {
            x: side.index.to_numpy(),
            "mean": side.mean(axis=1).to_numpy(),
            "low": side.min(axis=1).to_numpy(),
            "high": side.max(axis=1).to_numpy(),
            "seeds": side.notna().sum(axis=1).to_numpy(),
        }
    )


# Titles of axes by column of metrics.csv; other columns keep their names.
_WORDS = {
    "rollout/ep_rew_mean": "Reward of an episode",
    "rollout/objective_mean": "Objective, mean of a rollout",
    "rollout/reduction_mean": "Below the baseline, mean of a rollout (%)",
    "rollout/reduction_max": "Below the baseline, best of a rollout (%)",
    "validation/reduction_mean": "Below the baseline, validation (%)",
    "rollout/ep_cost_mean": "Cost of an episode",
    "validation/objective_mean": "Objective, validation",
    "validation/share": "Share of the limit, validation",
    "validation/cost_mean": "Cost, validation",
    "validation/cost_over": "Cost above the limit, validation",
    "train/multiplier": "Multiplier",
    "train/entropy_loss": "Loss of entropy",
    "train/approx_kl": "KL divergence (approx.)",
    "train/explained_variance": "Variance explained",
    "time/total_episodes": "Episodes",
    "time/total_timesteps": "Decisions",
    "time/elapsed_s": "Seconds of training",
}


def learning_curves(
    logs: Logs,
    column: str = "rollout/ep_rew_mean",
    x: str = "iteration",
    *,
    baselines: Mapping[str, float] | None = None,
    title: str | None = None,
) -> go.Figure:
    """Draw a line per training, the mean of its seeds, in a band from their least to their largest value.

    ``logs`` belong to one training, or map names of several to their logs. ``baselines`` (name → value) are drawn as
    dashed lines, such as the value of a heuristic. The data are :func:`analysis.learning_table`.
    """
    named: dict[str, Log | Sequence[Log]]
    if isinstance(logs, Mapping) and not isinstance(logs, pd.DataFrame):
        named = {str(name): log for name, log in logs.items()}
    else:
        named = {column: logs}
    figure = go.Figure()
    for log, (name, colour, line) in zip(named.values(), run_styles(list(named)), strict=True):
        table = learning_table(log, column, x)
        steps = table[x].to_numpy()
        seeds = int(table["seeds"].max())
        if seeds > 1:
            ring = (np.concatenate([steps, steps[::-1]]), np.concatenate([table["high"], table["low"][::-1]]))
            band = {"mode": "none", "fill": "toself", "fillcolor": transparent(colour, 0.2), "hoverinfo": "skip"}
            figure.add_trace(go.Scatter(x=ring[0], y=ring[1], legendgroup=name, showlegend=False, **band))
        label = f"{name} ({seeds} seeds)" if seeds > 1 else name
        hover = f"{label}: %{{y:,.6~g}}<br>{plotly_text([x])[0]} %{{x:,}}<extra></extra>"
        if seeds > 1:
            hover = hover.replace("<extra>", "<br>from %{customdata[0]:,.6~g} to %{customdata[1]:,.6~g}<extra>")
        figure.add_trace(
            go.Scatter(
                x=steps,
                y=table["mean"].to_numpy(),
                name=label,
                legendgroup=name,
                mode="lines+markers" if len(table) <= _MARKED else "lines",
                line=line,
                customdata=table[["low", "high"]].to_numpy(),
                hovertemplate=hover,
            )
        )
    equal: dict[float, list[str]] = {}
    for name, value in (baselines or {}).items():
        equal.setdefault(value, []).append(name)
    beside = sorted(((", ".join(names), value) for value, names in equal.items()), key=lambda each: -each[1])
    drawn = [*equal, *(y for trace in figure.data for y in trace.y if np.isfinite(y))]
    above = np.inf
    for i, (name, value) in enumerate(beside):
        text = f"{shortened(name, 40)}: {number(value, digits=4).replace('-', '−')}"
        figure.add_hline(value, line={"color": "#444444", "width": 1, "dash": "dash"})
        figure.add_annotation(
            text=plotly_text([text])[0],
            x=1 - i % _ABREAST / _ABREAST,  # not on top of each other where values are close
            xref="paper",
            y=value,
            showarrow=False,
            xanchor="right",
            yanchor="top" if above - value < _CLOSE * np.ptp(drawn) else "bottom",
        )
        above = value
    words = _WORDS.get(column, column)
    styled(figure, title or f"Learning: {words[:1].lower()}{words[1:]}", _WORDS.get(x, x.capitalize()), words, 380)
    if x == "iteration" and max((trace.x.max() for trace in figure.data), default=0) <= _WHOLE:
        figure.update_xaxes(dtick=1)
    figure.update_yaxes(exponentformat="none")  # 0.0002, not 200µ
    # A single line needs a legend only to say of how many seeds it is.
    return figure.update_layout(showlegend=len(named) > 1 or label not in named, legend=LEGEND_ABOVE)


def decision_probabilities(
    table: pd.DataFrame, *, chosen: Sequence[object] | None = None, title: str | None = None
) -> go.Figure:
    """Draw an agent's probability of each action at each of its decisions: actions × decisions, as a heatmap.

    ``table`` has a row per decision (its index is a number or a time) and a column per action. A row sums to 1; masked
    actions are 0 or NaN, and stay white. ``chosen`` has the action that was taken in each decision, which is marked.
    Raises InputError for numbers outside of [0, 1], rows that do not sum to 1, and actions that the table lacks.
    """
    values = table.to_numpy(dtype=float)
    filled = np.nan_to_num(values)
    where = "decision probabilities"
    if (filled < 0).any() or (filled > 1 + 1e-6).any():
        wrong = filled[(filled < 0) | (filled > 1 + 1e-6)]
        raise InputError(where, "numbers from 0 to 1", float(wrong[0]))
    sums = filled.sum(axis=1)
    if (np.abs(sums - 1.0) > 1e-4).any():
        row = int(np.argmax(np.abs(sums - 1.0) > 1e-4))
        raise InputError(f"{where}, decision {table.index[row]}", "probabilities that sum to 1", float(sums[row]))
    actions = plotly_text(shortened(str(name), 40) for name in table.columns)
    decisions = plotly_text(map(str, table.index))
    shown = np.where(filled > 0, filled, np.nan).T
    heat = go.Heatmap(
        z=shown.astype(np.float32),
        x=np.arange(len(table)),
        y=np.arange(len(actions)),
        zmin=0,
        zmax=1,
        colorscale="Cividis_r",
        text=np.tile(np.array(actions, object)[:, None], (1, len(table)))
        if len(actions) * len(table) <= 20_000
        else None,
        hovertemplate="decision %{x}<br>%{text}: %{z:.2%}<extra></extra>",
        colorbar={"title": {"text": "probability", "side": "right"}, "tickformat": ".0%", "thickness": 14},
    )
    figure = go.Figure(heat)
    if chosen is not None:
        figure.add_trace(_taken(table, chosen))
    height = int(np.clip(180 + 16 * len(actions), 300, 700))
    styled(
        figure, title or "What the agent thinks of its actions", str(table.index.name or "Decision"), "Action", height
    )
    every, also = (max(1, int(np.ceil(size / most))) for size, most in ((len(actions), 40), (len(decisions), 12)))
    figure.update_xaxes(tickvals=list(range(0, len(decisions), also)), ticktext=decisions[::also], showgrid=False)
    return figure.update_yaxes(
        tickvals=list(range(0, len(actions), every)),
        ticktext=actions[::every],
        autorange="reversed",
        automargin=True,
        showgrid=False,
    )


def _taken(table: pd.DataFrame, chosen: Sequence[object]) -> go.Scatter:
    position: dict[object, int] = {name: i for i, name in enumerate(table.columns)}
    if len(chosen) != len(table):
        raise InputError("decision probabilities, chosen", f"{len(table)} actions, one per decision", len(chosen))
    for action in chosen:
        if action not in position:
            raise InputError("decision probabilities, chosen", "an action of the table", action)
    return go.Scatter(
        x=np.arange(len(table)),
        y=[position[action] for action in chosen],
        mode="markers",
        name="taken",
        marker={"symbol": "circle-open", "color": "#D55E00", "size": 8, "line": {"width": 2}},
        hoverinfo="skip",
    )


def read_log(log: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the metrics of a training, from its folder or its ``metrics.csv``. Raises FormatError for other files."""
    path = _file(log)
    try:
        return pd.read_csv(path)
    except OSError as error:
        raise FormatError(path, "the metrics of a training", error.strerror or "no such file") from None
    except (ValueError, pd.errors.ParserError) as error:
        raise FormatError(path, "a CSV table", str(error).strip()) from None


def _file(log: str | os.PathLike[str]) -> Path:
    return Path(log) / METRICS_FILE if Path(log).is_dir() else Path(log)


def _values(log: Log, column: str, x: str) -> pd.Series:
    table, where = (log, "training log") if isinstance(log, pd.DataFrame) else (read_log(log), str(_file(log)))
    for name in (x, column):
        if name not in table:
            raise FormatError(where, f"a column '{name}'", f"columns {', '.join(map(str, table.columns))}")
        numbers = as_numbers(table[name])
        wrong = (numbers.isna() & table[name].notna()) | np.isinf(numbers)
        if wrong.any():
            raise FormatError(f"{where}, column {name}", "numbers", table[name].iloc[int(wrong.to_numpy().argmax())])
        table = table.assign(**{name: numbers})
    # A resumed training may have an iteration twice; it went on from the last one.
    rows = table[[x, column]].dropna().drop_duplicates(x, keep="last")
    if rows.empty:
        raise FormatError(where, f"a row with {x} and {column}", "none")
    return rows.set_index(x)[column]
