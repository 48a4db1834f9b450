"""The page of a sweep: what was run, what is concluded, a sorted table and dot plot of each metric, and the settings.

Whatever the sweep varies, nothing is averaged over without a word, and alternatives that are the same in every run share a row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from markupsafe import Markup

from analysis.pages.page import figure_html, render, write_whole
from analysis.sweep.alternatives import (
    Alternatives,
    alternatives,
    better,
    comparable,
    compare_sweep,
    count_of,
    name_of,
    title_of,
)
from analysis.sweep.charts import (
    JOB_ORDER,
    MOST_LINES,
    NODE_ORDER,
    SINGLE_DOTS,
    dot_plot,
    factor_heatmap,
    factor_plot,
    with_orders,
)
from analysis.sweep.grid import OF_THE_LOG
from analysis.sweep.policies import Policies, policies_figure, policies_sentences, policy_rows, power_policies
from analysis.sweep.runs_table import LARGEST_IS_BEST, factors_of
from analysis.tables.display_names import OF_FACTORS, display_name
from analysis.tables.run_metrics import cells_html, percent
from analysis.tables.tiles import Tile, direction, sense
from analysis.tables.wording import label_of, listing, plotly_text
from cluster_sim.amounts import NOTHING, number
from cluster_sim.records.cautions import Cautions
from cluster_sim.records.comparison import Comparison, Standing, standing_sentences
from cluster_sim.records.intervals import CONFIDENCE, ComparisonVerdict
from cluster_sim.run.settings import SETTINGS

_SHOWN = 12
"""Rows of a table that are seen at once; the others are folded."""
_MOST_EQUALS = 8
_MOST_TILES = 5
_MOST_IN_PICTURE = 14
_MOST_IN_ANSWER = 2
_MOST_MAPS = 4
_LINES_PX, _TEXT_PX = 230.0, 16.0  # height of lines over a factor, about, and of a name beside them
_FEWEST_ON_AN_AXIS = 4
_WORDS = {"workload": "Workload", "platform": "Platform", "scheduler": "Scheduler", "power_policy": "Power policy"}


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the table: an alternative, its spec, its equals, and its cells: text, how much worse than the best, mark."""

    name: str
    spec: str
    equals: str
    cells: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class _Panel:
    """The rows of a panel, the best first."""

    name: str
    rows: Sequence[_Row]
    folded: Sequence[_Row]


@dataclass(frozen=True, slots=True)
class _Section:
    """The figures of a metric with their captions."""

    name: str
    better: str
    figures: list[tuple[Markup, str]]


def write_sweep_page(
    runs: pd.DataFrame,
    metrics: Sequence[str],
    path: str | Path,
    title: str = "",
    *,
    facts: Mapping[str, str] | None = None,
    command: str = "",
    assumptions: Sequence[str] = (),
    confidence: float = CONFIDENCE,
    failed: int = 0,
) -> Path:
    """Write the page of a sweep's runs and return its path; metrics without any value are left out.

    What :func:`analysis.sweep.alternatives.compare_sweep` concludes comes first, then a table, then the figures of each
    metric. These are a dot plot with a panel for each value of the other factors, lines over a factor of many numbers,
    and a heat map of list scheduling's two orders. ``facts`` are further rows of the settings, such as the seed;
    ``assumptions`` stand on top. Means are over replications that all alternatives have
    (:func:`analysis.sweep.runs_table.shared`). The page tells how many runs that leaves out, and how many ``failed``.
    """
    policies = power_policies(runs, confidence, for_people=True)
    comparison = compare_sweep(runs, metrics, confidence, failed, for_people=True)
    shared = comparable(runs, metrics)
    runs = shared if len(shared) else runs
    known = [metric for metric in metrics if runs[metric].notna().any()]
    sweep = alternatives(runs, known, for_people=True)
    count = 0
    sections = []
    numeric = [name for name in factors_of(runs) if pd.api.types.is_numeric_dtype(runs[name])]
    long = [name for name in numeric if runs[name].nunique() >= _FEWEST_ON_AN_AXIS]
    for metric in known:
        figures = [(dot_plot(sweep, metric, confidence), _caption(sweep, metric, confidence))]
        for name in long:
            figures += _lines(runs, sweep, metric, name, confidence)
        figures += _maps(runs, sweep, metric)
        texts = [
            (figure_html(figure, f"figure{number_of}"), caption)
            for number_of, (figure, caption) in enumerate(figures, start=count)
        ]
        count += len(figures)
        sections.append(_Section(title_of(metric), better(metric), texts))
    units = {metric: sweep.scale(metric) for metric in known}
    picture = None
    if policies is not None:
        picture = _policies_picture(policies)
    elif known and len(sweep.order(known[0])) > _MOST_IN_PICTURE:
        drawn = dot_plot(sweep, known[0], confidence, _MOST_IN_PICTURE)
        told = f"The best {_MOST_IN_PICTURE} of {len(sweep.groups)}. {_caption(sweep, known[0], confidence)}"
        picture = figure_html(drawn, "picture"), told
    elif known:
        picture = sections[0].figures.pop(0)
    text = render(
        "sweep.html",
        heading=title or _heading(runs, sweep),
        lead=_lead(runs, sweep),
        specs=_specs(runs),
        answer=_answer(comparison, policies),
        tiles=_tiles(sweep, known, confidence),
        picture=picture,
        left_out=comparison.cautions,
        sentences=[each for each in comparison.sentences if each not in comparison.cautions],
        cautions=Cautions.of_lines(assumptions).by_kind(),
        policies=None if policies is None else _policies(policies),
        factor=name_of(sweep.factor),
        heads=[(label_of(metric), units[metric][1], better(metric)) for metric in known],
        panels=_table(sweep, known, units, confidence),
        sections=[section for section in sections if section.figures],
        settings=_settings(runs, sweep) | dict(facts or {}),
        again=command,
        equal=[members for members in sweep.groups.values() if len(members) > _MOST_EQUALS + 1],
    )
    return write_whole(path, text)


def _policies(found: Policies) -> dict[str, object]:
    """Return the part on power policies: a table with its note."""
    head, rows, values = policy_rows(found)
    others = "schedulers and all other factors" if found.cases > 1 else "replications"
    return {
        "table": cells_html(head, rows, "sortable", values),
        "note": f"Over all {others}, run by run against {found.base}; the one that saves most first.",
    }


def _answer(comparison: Comparison, policies: Policies | None) -> str:
    """Return the conclusion that stands first: what the best power policy does, or who has the least of the first metric."""
    if policies is not None:
        return "".join(policies_sentences(policies)[1:2])
    if len(comparison.standings) > 1 and comparison.standings[0].metric == comparison.standings[1].metric:
        return "".join(standing_sentences(comparison.standings)[:1])  # several cases
    return "".join(f"{title_of(each.metric)}: {each.sentence(_MOST_IN_ANSWER)}." for each in comparison.standings[:1])


def _policies_picture(found: Policies) -> tuple[Markup, str]:
    told = "Means over all other factors. In blue, joined: no other dot has less of the one without more of the other. "
    return figure_html(
        policies_figure(found), "policies"
    ), f"{told}Dots without room for a name tell it under the pointer."


def _tiles(sweep: Alternatives, metrics: Sequence[str], confidence: float) -> list[Tile]:
    """Return the figures at the head: of each metric the alternative that is best on average, against the first one."""
    found = []
    for metric in metrics[:_MOST_TILES]:
        order = sweep.order(metric)
        if len(order) < 2:
            continue
        base = next(iter(sweep.groups))
        best, other = order[0], base if base != order[0] else order[1]
        effects = [each for each in sweep.effects(metric, best, other, confidence) if math.isfinite(each.relative)]
        if len(effects) == 1:
            tile = Tile.of_effect(effects[0])
            tie = f", {ComparisonVerdict.TIE}" if effects[0].verdict is ComparisonVerdict.TIE else ""
            found.append(replace(tile, note=f"under {effects[0].name}: {tile.note}{tie}"))
        elif effects:
            shown = [direction(each) for each in effects]
            # In ratios, so that no case outweighs the others: half as much and twice as much are no change.
            ratios = [each.value / each.base for each in effects]
            mean = (
                100 * (math.exp(np.mean(np.log(ratios))) - 1) if min(ratios) > 0 else 100 * (float(np.mean(ratios)) - 1)
            )
            kind = max(("unsure", "better", "worse"), key=shown.count)
            kind = kind if kind == sense(metric, mean) else "unsure"
            change = percent(mean)
            cases = f"mean of {len(effects)} cases, shown in {len(effects) - shown.count('unsure')}"
            found.append(
                Tile(label_of(metric), change, f"{effects[0].name} against {effects[0].against}; {cases}", kind)
            )
    return found


def _heading(runs: pd.DataFrame, sweep: Alternatives) -> str:
    """Return the factors with their numbers of values: ``Sweep: 3 schedulers × 2 power policies``."""
    parts = []
    for factor in dict.fromkeys([sweep.factor, *factors_of(runs)]):
        count, words = count_of(runs, factor), name_of(factor)
        if count != 1:
            words = f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"
        parts.append(f"{count} {words}")
    return "Sweep: " + " × ".join(parts)


def _lead(runs: pd.DataFrame, sweep: Alternatives) -> str:
    fixed = {name: str(runs[name].iloc[0]) for name in factors_of(runs, varying=False) if runs[name].nunique() == 1}
    words = {name: display_name(text, False, OF_FACTORS.get(name, {})) for name, text in fixed.items()}
    of = f" of {words['workload']}" if "workload" in fixed else ""
    platform = fixed.get("platform", "None")
    on = "" if platform == "None" else f" on {words['platform']}{' machine' if platform == OF_THE_LOG else ''}"
    each = sweep.replications
    fewest = runs.groupby(factors_of(runs), dropna=False)["replication"].nunique().min() if factors_of(runs) else each
    most = "at most " if fewest < each else ""
    seeds = (
        f", {most}{each} of each combination, paired: replication r has the same seeds everywhere" if each > 1 else ""
    )
    text = f"{len(runs):,} runs{of}{on}{seeds}."
    equal = sum(len(members) > 1 for members in sweep.groups.values())
    if equal:
        text += f" Alternatives that have the same figures in every run share a row: {len(sweep.groups)} are left."
    if sweep.averaged:
        text += f" Means are over all values of {listing([name_of(name) for name in sweep.averaged])}."
    return text


def _specs(runs: pd.DataFrame) -> list[str]:
    """Return the specs of the workload and platform that the lead names in words."""
    found = []
    for name in ("workload", "platform"):
        texts = list(runs[name].drop_duplicates().map(str)) if name in runs else []
        if len(texts) == 1 and texts[0] != display_name(texts[0], False, OF_FACTORS[name]):
            found += texts
    return found


def _table(
    sweep: Alternatives, metrics: Sequence[str], units: Mapping[str, tuple[float, str]], confidence: float
) -> list[_Panel]:
    means = {metric: sweep.means(metric) for metric in metrics}
    panels = []
    for panel in sweep.panels if metrics else ():
        columns = {metric: frame[panel] for metric, frame in means.items()}
        best = {m: float(c.max() if m in LARGEST_IS_BEST else c.min()) for m, c in columns.items()}
        standings = {metric: sweep.standing(metric, panel, confidence) for metric in metrics}
        ordered = columns[metrics[0]].sort_values(ascending=metrics[0] not in LARGEST_IS_BEST, kind="stable").index
        rows = []
        for name in map(str, ordered):
            cells = [
                _cell(float(columns[metric][name]), best[metric], units[metric], _mark(standings[metric], name))
                for metric in metrics
            ]
            # Only the first of many equals are named here; the end of the page names all.
            called, *others = sweep.members(name)
            more = f" and {len(others) - _MOST_EQUALS:,} more" if len(others) > _MOST_EQUALS else ""
            equals = f"= {' = '.join(others[:_MOST_EQUALS])}{more} here" if others else ""
            rows.append(_Row(called, name if called != name else "", equals, cells))
        panels.append(_Panel(panel, rows[:_SHOWN], rows[_SHOWN:]))
    return panels


def _mark(standing: Standing | None, name: str) -> str:
    """Return ``best`` if a name is told apart from all others, ``tied`` if it is not told apart from the best."""
    if standing is None or standing.verdict is ComparisonVerdict.VALUES:
        return ""
    if name in standing.winners:
        return "best"
    return "tied" if standing.verdict is ComparisonVerdict.TIE and name in (*standing.best, *standing.tied) else ""


def _cell(value: float, best: float, unit: tuple[float, str], mark: str) -> tuple[str, str, str]:
    """Return a mean, how far it is from the best one, and its mark.

    The mean has as many decimals as three digits of the best one take.
    """
    if not np.isfinite(value):
        return NOTHING, "", ""
    size = abs(best / unit[0])
    text = f"{value / unit[0]:,.{max(0, 2 - int(np.floor(np.log10(size)))) if size else 2}f}"
    worse = ""
    if value != best and best:
        change = 100 * (value - best) / abs(best)
        worse = f"{'−' if change < 0 else '+'}{number(abs(change), 2)} %"
    return text, f"{worse} ≈".strip() if mark == "tied" else worse, mark


def _caption(sweep: Alternatives, metric: str, confidence: float) -> str:
    order = sweep.order(metric)
    standings = [sweep.standing(metric, panel, confidence) for panel in sweep.panels]
    marks = {mark for standing in standings for name in order if (mark := _mark(standing, name))}
    told = f"{'Largest' if metric in LARGEST_IS_BEST else 'Least'} mean on top, {better(metric)}."
    if "best" in marks:
        told += " In blue: told apart from all others, by paired intervals."
    if "tied" in marks:
        told += " Open circles: not told apart from the best."
    if len(order) < 2:
        told = f"{better(metric).capitalize()}."
    if sweep.replications == 1:
        return f"{told} A single run each: nothing says how much is luck."
    if sweep.replications <= SINGLE_DOTS:
        return f"{told} Each dot is one of the {sweep.replications} replications, the line is their mean."
    return f"{told} Means of {sweep.replications} replications with {confidence:.0%} bootstrap intervals."


def _lines(
    runs: pd.DataFrame, sweep: Alternatives, metric: str, x: str, confidence: float
) -> list[tuple[go.Figure, str]]:
    """Draw lines over a factor of numbers, if there are few enough of them."""
    if len(sweep.groups) > MOST_LINES and x != sweep.factor or any(f.startswith("train.") for f in factors_of(runs)):
        return []
    kept = runs[runs[sweep.factor].astype(str).isin(sweep.groups)] if x != sweep.factor else runs
    kept.attrs["factors"] = factors_of(runs, varying=False)
    figure = factor_plot(kept, metric, x, None if x == sweep.factor else sweep.factor, confidence)
    divisor, unit = sweep.scale(metric)
    for trace in figure.data:
        trace.y = np.asarray(trace.y, dtype=float) / divisor
        trace.error_y.array, trace.error_y.arrayminus = (
            np.asarray(part, dtype=float) / divisor for part in (trace.error_y.array, trace.error_y.arrayminus)
        )
    if x != sweep.factor:
        names = [sweep.label(name).partition(" = ")[0] for name in sweep.groups]  # the first of several equal ones
        called = dict(zip(plotly_text(sweep.groups), plotly_text(names), strict=True))
        ends = [trace.y[-1] for trace in figure.data]
        px = _LINES_PX / max(float(np.ptp([y for trace in figure.data for y in trace.y])), 1e-12)
        for trace, shift in zip(figure.data, _apart(np.array(ends) * px), strict=True):
            figure.add_annotation(
                x=trace.x[-1], y=trace.y[-1], text=called.get(trace.name, trace.name), xanchor="left", xshift=9,
                yshift=shift, showarrow=False, font={"color": trace.marker.color},
            )  # fmt: skip
    with_unit = f"{label_of(metric)} [{unit}]" if unit else label_of(metric)
    figure.update_layout(showlegend=False, margin={"r": 160}, title_text="", yaxis_title_text=with_unit)
    others = [name for name in factors_of(runs) if name not in (x, sweep.factor)]
    told = f"The same over {name_of(x)}: means"
    if others:
        told += f" over all values of {listing([name_of(name) for name in others])}"
    if sweep.replications > SINGLE_DOTS:
        return [(figure, f"{told}, with Student's {confidence:.0%} intervals, within what the metric can be.")]
    figure.update_traces(error_y_visible=False)
    return [(figure, f"{told}; too few replications for intervals.")]


def _apart(places: np.ndarray) -> list[float]:
    """Return by how much (px) to move texts up from their places (px), so that each has a line of its own."""
    moved, free = places.copy(), -np.inf
    for text in np.argsort(places, kind="stable").tolist():
        moved[text] = max(places[text], free)
        free = moved[text] + _TEXT_PX
    shifts: list[float] = (moved - places).tolist()
    return shifts


def _maps(runs: pd.DataFrame, sweep: Alternatives, metric: str) -> list[tuple[go.Figure, str]]:
    """Draw list scheduling by its two orders, if both vary: a map for each value of the other factors."""
    if sweep.factor != "scheduler" or not runs["scheduler"].astype(str).str.match(r"list:[^/]+/").any():
        return []
    listed = with_orders(runs)
    sizes = [int(listed[name].nunique()) for name in (JOB_ORDER, NODE_ORDER)]
    pairs = listed.groupby([JOB_ORDER, NODE_ORDER])["scheduler"].nunique()
    others = [name for name in factors_of(runs) if name != "scheduler"]
    panels = list(listed.groupby(others, sort=False)) if others else [((), listed)]
    if min(sizes) < 2 or pairs.max() > 1 or len(panels) > _MOST_MAPS:
        return []
    found = []
    for values, part in panels:
        part.attrs["factors"] = ["scheduler"]
        where = ", ".join(f"{name_of(name)} {value}" for name, value in zip(others, values, strict=True))
        told = f"List scheduling by its two orders{f', {where}' if where else ''}: means, the lighter the better."
        found.append((factor_heatmap(part, metric, JOB_ORDER, NODE_ORDER), told))
    return found


def _settings(runs: pd.DataFrame, sweep: Alternatives) -> dict[str, str]:
    """Return what was run: factors with their values, and fixed settings that are not the default."""
    found = {}
    for name in factors_of(runs, varying=False):
        values = [None if pd.isna(value) else value for value in dict.fromkeys(runs[name])]
        is_fixed = len(values) == 1
        default = 1.0 if name == "load" else SETTINGS[name].default if name in SETTINGS else None
        if is_fixed and values[0] in (None, default) and name not in _WORDS:
            continue
        word = _WORDS.get(name, name_of(name).capitalize())
        texts = [number(v, 15) if isinstance(v, float) else "none" if v is None else str(v) for v in values]
        found[word if is_fixed else f"{word}, {len(values)} values"] = ", ".join(texts)
    return found | {"Replications": str(sweep.replications)}
