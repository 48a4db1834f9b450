"""Figs. 3 and 6 to 9 of DeepShutdown on the released days, all of them beside the 48 busy ones, and Table 3 as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.figures.figure_style import AXIS, styled
from analysis.figures.palette import OKABE_ITO, OTHERS
from analysis.reproduce.claims import Values
from analysis.reproduce.deepshutdown.agents import AGENT, BESIDE, BUSY, ORDINARY, ROW
from analysis.reproduce.deepshutdown.runs import GAPS, POLICIES
from analysis.reproduce.deepshutdown.stand_ins import CLUSTERS
from analysis.reproduce.drawing import as_figure, bars
from analysis.reproduce.paper import PaperFigure
from analysis.tables.wording import plotly_text

TAURUS, BUSY_TAURUS = "Taurus", "Taurus, 48 busy days"
PANELS = {TAURUS: "1,405 released days", BUSY_TAURUS: "the 48 busy ones"}
OUR_AGENT = "agents, unseen days"
FIG_3 = "Fig. 3 by part"
FIG_9 = "Fig. 9"
AGENTS_AND_RULES = "Agents and rules"
SHARES = ("to 25 %", "to 50 %", "to 75 %", "below 100 %", "100 %")
"""Shares of sequential jobs in the groups of days, short enough for a small panel."""
COLOURS = dict(zip(("T(0)", "T(1)", "OR*", "random", "T(5)", OUR_AGENT), OKABE_ITO, strict=False))
MARKS = {AGENT: "circle"} | dict(zip(BESIDE, ("x", "cross", "diamond", "star"), strict=True))


def all_figures(values: Values) -> Sequence[PaperFigure]:
    """Draw all figures for which there are values."""
    names = [name for name in POLICIES if f"{TAURUS}/{name}/waste avg" in values]
    shares = {key.partition("/")[2]: value for key, value in values.items() if key.startswith("Fig. 3/")}
    found = []
    if shares:
        # Sequential jobs in the parts of the released days, of those to train and of those to test on.
        x = list(dict.fromkeys(name.partition(", ")[2] for name in shares))
        series = {f"days to {use} on": [shares.get(f"{use}, {part}") for part in x] for use in ("train", "test")}
        caption = "Sequential jobs by part of the released days, in place of years: the days are not dated."
        found.append(bars(FIG_3, caption, x, series, "% of jobs"))
    if all(f"{label}/{name}/daily waste" in values for label in PANELS for name in ("OR*", "T(0)", "T(1)", "T(5)")):
        found += [_fig_6(values), *_figs_7_and_8(values)]
    if names:
        score = {"score": [values[f"{TAURUS}/{name}/score avg"] for name in names]}
        found.append(
            bars(FIG_9, "Score (Eq. 3) of the policies, mean over days.", names, score, "W·min and core-minutes")
        )
        for column, what in (("waste", "by node"), ("core waste", "by core")):
            series = {cluster: [values.get(f"{cluster}/{name}/{column} avg") for name in names] for cluster in CLUSTERS}
            caption = "Mean daily waste. Taurus: 1,405 released days; the others are synthetic stand-ins."
            found.append(bars(f"Table 3, {what}", caption, names, series, "W·min"))
    if f"agent/{ROW.name}/{BUSY}/waste" in values:
        found.append(_agents_and_rules(values))
    return found


def _curves(values: Values, label: str) -> dict[str, Sequence[float]]:
    """Return the waste of each day under each policy, and of the agents where they have played these days."""
    found = {name: values[f"{label}/{name}/daily waste"] for name in ("OR*", "T(0)", "T(1)", "T(5)")}
    own = values.get(f"agent/{ROW.name}/daily waste", ())
    if label == BUSY_TAURUS and len(own) == len(found["T(0)"]):
        found[OUR_AGENT] = own
    return found


def _fig_6(values: Values) -> PaperFigure:
    """Draw cumulated waste by group of days, as a share of what T(5) wastes in all.

    A line shows where the days to test on begin.
    """
    titles = [f"group {i}: {share}" for i, share in enumerate(SHARES, start=1)]
    figure = make_subplots(
        2, 5, subplot_titles=plotly_text(titles), shared_yaxes=True, horizontal_spacing=0.02, vertical_spacing=0.14
    )
    styled(figure, "Fig. 6: cumulative waste by node, T(5)'s whole = 1", "", "", 520)
    for row, label in enumerate(PANELS, start=1):
        groups = values[f"{label}/groups"]
        tested = values[f"{label}/tested"]
        for column in range(1, 6):
            days = [day for day, group in enumerate(groups) if group == column]
            curves = {name: [daily[day] for day in days] for name, daily in _curves(values, label).items()}
            whole = sum(curves["T(5)"]) or 1.0
            for name, daily in curves.items():
                first = row == 2 and column == 1
                figure.add_scatter(
                    x=list(range(len(days) + 1)),
                    y=[0.0, *(total / whole for total in accumulate(daily))],
                    mode="lines",
                    name=name,
                    legendgroup=name,
                    showlegend=first,
                    line={"color": COLOURS[name], "width": 2},
                    row=row,
                    col=column,
                )
            training = sum(not tested[day] for day in days)
            if training < len(days):
                figure.add_vline(training, line={"dash": "dash", "color": "#55606B", "width": 1}, row=row, col=column)
    _framed(figure)
    figure.update_yaxes(range=[0, 1.05], dtick=0.5)
    for row, label in enumerate(PANELS, start=1):
        figure.update_yaxes(title=plotly_text([PANELS[label]])[0], row=row, col=1)
    figure.update_xaxes(title="days", row=2, nticks=4)
    figure.update_xaxes(nticks=4)
    caption = (
        "Cumulative waste in each group of days. Right of the dashed line: days that the authors tested on. The agents are "
        "ours, on days that they have not seen."
    )
    return as_figure("Fig. 6", caption, figure)


def _figs_7_and_8(values: Values) -> list[PaperFigure]:
    """Draw slowdowns by the time since the submission before, and run times of the jobs that were slowed down most."""
    slowdowns: dict[str, dict[str, list[Sequence[float]]]] = {}
    run_times: dict[str, dict[str, list[Sequence[float]]]] = {}
    for label in PANELS:
        starts = {name: f"{label}/{name}" for name in ("OR*", "T(0)")}
        if OUR_AGENT in _curves(values, label):
            starts[OUR_AGENT] = f"agent/{ROW.name}"
        slowdowns[label], run_times[label] = {}, {}
        for name, start in starts.items():
            slowdowns[label][name] = [values[f"{start}/slowdown {gap} box"] for gap in GAPS]
            run_times[label][name] = [values[f"{start}/run time{part} box"] for part in (" of the slowest", "")]
    caption_7 = "Slowdown by the time since the submission before: quartiles, whiskers at 5 and 95 %."
    caption_8 = "Run times of the eighth of jobs slowed down most, and of all: quartiles, whiskers at 5 and 95 %."
    x = ["most slowed-down eighth", "all jobs"]
    return [
        _boxes("Fig. 7", "Fig. 7: slowdown of jobs", caption_7, list(GAPS), slowdowns, "slowdown"),
        _boxes("Fig. 8", "Fig. 8: run time of jobs", caption_8, x, run_times, "run time, min"),
    ]


def _boxes(
    name: str,
    title: str,
    caption: str,
    x: Sequence[str],
    boxes: Mapping[str, Mapping[str, Sequence[Sequence[float]]]],
    unit: str,
) -> PaperFigure:
    """Draw boxes by quantiles of decimal logarithms, one panel for all days and one for the busy ones."""
    figure = make_subplots(
        1, 2, subplot_titles=plotly_text(PANELS.values()), shared_yaxes=True, horizontal_spacing=0.04
    )
    styled(figure, title, "", unit, 420, boxmode="group")
    for column, label in enumerate(PANELS, start=1):
        for policy, quantiles in boxes[label].items():
            ends = dict(
                zip(("lowerfence", "q1", "median", "q3", "upperfence"), zip(*quantiles, strict=True), strict=True)
            )
            figure.add_box(
                x=list(x),
                name=policy,
                legendgroup=policy,
                offsetgroup=policy,
                showlegend=column == len(PANELS),
                marker={"color": COLOURS[policy]},
                line={"width": 1.5},
                row=1,
                col=column,
                **{end: list(numbers) for end, numbers in ends.items()},
            )
    figure = _framed(figure)
    figure.update_yaxes(tickvals=[0, 1, 2, 3], ticktext=["1", "10", "100", "1,000"])
    return as_figure(name, caption, figure)


def _framed(figure: go.Figure) -> go.Figure:
    """Give all panels the axes that :func:`styled` gives the first, and one legend above them."""
    figure.update_xaxes(AXIS)
    figure.update_yaxes(AXIS)
    figure.update_annotations(font={"size": 12})
    legend = {"orientation": "h", "x": 1.0, "xanchor": "right", "y": 1.0, "yref": "container", "yanchor": "top"}
    return figure.update_layout(legend=legend, margin={"t": 76}, title={"y": 0.98, "yanchor": "top"})


def _agents_and_rules(values: Values) -> PaperFigure:
    """Draw mean waste against mean stretch, on busy and on ordinary days.

    There is a mark for each training, control and policy.
    """
    sets = {BUSY: "48 busy days, each unseen", ORDINARY: "68 ordinary days, unseen"}
    figure = make_subplots(1, 2, subplot_titles=list(sets.values()), horizontal_spacing=0.08)
    styled(figure, AGENTS_AND_RULES, "mean stretch of a day", "waste a day by core, W·min", 460)
    for column, days in enumerate(sets, start=1):
        for number, (who, symbol) in enumerate(MARKS.items()):
            start, end = (AGENT, "") if who == AGENT else ("control", f"/{who}")
            figure.add_scatter(
                x=values[f"{start}/{ROW.name}/{days}/stretch{end}"],
                y=values[f"{start}/{ROW.name}/{days}/waste{end}"],
                mode="markers",
                name=f"{who}s" if who == AGENT else who,
                legendgroup=who,
                showlegend=column == 1,
                marker={"symbol": symbol, "size": 10, "color": OKABE_ITO[number]},
                row=1,
                col=column,
            )
        known = [name for name in ("OR*", "T(0)", "T(1)", "T(5)") if f"policy/{ROW.name}/{days}/waste/{name}" in values]
        figure.add_scatter(
            x=[values[f"policy/{ROW.name}/{days}/stretch/{name}"] for name in known],
            y=[values[f"policy/{ROW.name}/{days}/waste/{name}"] for name in known],
            mode="markers+text",
            text=known,
            textposition="middle right",
            showlegend=False,
            marker={"symbol": "square", "size": 8, "color": OTHERS, "line": {"color": "#22303C", "width": 1}},
            row=1,
            col=column,
        )
    _framed(figure)
    figure.update_yaxes(rangemode="tozero")
    figure.update_xaxes(rangemode="tozero", title="mean stretch of a day")
    caption = "Waste against stretch: agents on days that they have not seen, and all who have learned nothing."
    return as_figure(AGENTS_AND_RULES, caption, figure)
