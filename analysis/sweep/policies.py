"""What each power policy of a sweep saves, across all schedulers, and what that costs in waiting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.figures.figure_style import styled
from analysis.figures.palette import OKABE_ITO, OTHERS
from analysis.sweep.runs_table import POLICY, factors_of
from analysis.tables.display_names import names_of_factor
from analysis.tables.wording import label_of, plotly_text, shortened, unit_of
from cluster_sim.amounts import NOTHING, amount, duration, number, scale_of
from cluster_sim.records.comparison import Effect, Standing
from cluster_sim.records.intervals import CONFIDENCE, ComparisonVerdict

ENERGY, WAIT = "energy_j", "mean_wait_s"
_BASE = "always-on"
_MOST_TOLD = 3
_MOST_LABELS = 12
_MOST_LETTERS = 60
_LETTER_PX, _LINE_PX, _DOT_PX = 7.0, 15.0, 8.0  # of names; half a dot with its distance from names
_NEARER_PX = 4.0  # how much nearer a line may come than a name
_PLOT_PX = (800.0, 308.0)  # within the axes, on a page that is not wide
_PAD = 0.1  # share of the values' range that is left free at each end of an axis
_MARGIN_PX = 160  # at the right, for names


@dataclass(frozen=True, slots=True)
class Policies:
    """The power policies of a sweep against one of them.

    ``table`` has a row for each of the others, the one that saves most first. Columns: ``policy``; ``saved`` (% of the
    energy under the base, of all runs together); ``least`` and ``most`` (the same case by case, means over
    replications); ``wait_s`` (mean wait, s); ``later_s`` (by how much that is longer than under the base); ``least_s``
    and ``most_s`` (case by case).

    ``energy`` is how the policies stand by their energy. ``effects`` are what becomes of the energy and the mean wait
    under each of the others, over all cases, paired by replication.

    ``points`` has a row for each scheduler and policy, over all other factors: ``name``, ``scheduler``, ``policy``,
    ``energy`` (J), ``wait`` (s) and ``best``. A point is best if no other needs less energy without more waiting, or
    has less waiting without more energy.
    """

    base: str
    cases: int
    table: pd.DataFrame
    points: pd.DataFrame
    energy: Standing | None
    effects: dict[str, tuple[Effect, Effect]]


def power_policies(runs: pd.DataFrame, confidence: float = CONFIDENCE, for_people: bool = False) -> Policies | None:
    """Compare the policies, paired by all other factors and the replication; None if there is nothing to compare.

    ``for_people`` gives policies and schedulers their display names.
    """
    varying = factors_of(runs)
    if POLICY not in varying or not {ENERGY, WAIT} <= set(runs) or runs[[ENERGY, WAIT]].isna().any(axis=None):
        return None
    others = [name for name in varying if name != POLICY]
    frame = runs.assign(**{name: runs[name].astype(str) for name in [*others, POLICY]})
    called = names_of_factor(POLICY, dict.fromkeys(frame[POLICY])) if for_people else {}
    if for_people:
        frame[POLICY] = frame[POLICY].map(called)
        if "scheduler" in others:
            frame["scheduler"] = frame["scheduler"].map(names_of_factor("scheduler", dict.fromkeys(frame["scheduler"])))
    values = frame.pivot_table(index=[*others, "replication"], columns=POLICY, values=[ENERGY, WAIT], sort=False)
    values = values.dropna()  # only cases that ran under all policies
    if values.empty:
        return None
    names = list(dict.fromkeys(frame[POLICY]))
    base = called.get(_BASE, _BASE) if called.get(_BASE, _BASE) in names else names[0]
    cases = values.groupby(level=others, sort=False).mean() if others else values.mean().to_frame().T
    if not (cases[ENERGY][base] > 0.0).all():
        return None
    rows = [_row(name, base, cases) for name in names if name != base]
    table = pd.DataFrame(rows).sort_values("saved", ascending=False, kind="stable").reset_index(drop=True)
    paired = frame.set_index([*others, "replication"]).index.isin(values.index)
    by_replication = values.groupby(level="replication", sort=False)
    means, counts = by_replication.mean(), by_replication.size()
    means = means[counts == counts.max()]  # means over fewer cases would not be comparable
    arrays = {metric: {name: means[metric][name].to_numpy(dtype=float) for name in names} for metric in (ENERGY, WAIT)}

    def effect(metric: str, name: str) -> Effect:
        pair = (arrays[metric][name], arrays[metric][base])
        return Effect.paired(
            metric, label_of(metric), unit_of(metric), (name, base), pair, block="replication", confidence=confidence
        )

    standing = Standing.of(ENERGY, label_of(ENERGY), "J", arrays[ENERGY], block="replication", confidence=confidence)
    effects = {name: (effect(ENERGY, name), effect(WAIT, name)) for name in table["policy"]}
    frame = frame[paired]
    keys = ["scheduler", POLICY] if "scheduler" in frame and frame["scheduler"].nunique() > 1 else [POLICY]
    points = frame.groupby(keys, sort=False)[[ENERGY, WAIT]].mean().reset_index()
    points = points.rename(columns={ENERGY: "energy", WAIT: "wait", POLICY: "policy"})
    points["name"] = points["policy"]
    if "scheduler" in keys:  # schedulers that are the same dot under a policy share it
        same = points.groupby(["policy", "energy", "wait"], sort=False)["scheduler"]
        points["name"] = same.transform(lambda names: " = ".join(names)) + " + " + points["policy"]
        points = points.drop_duplicates("name", ignore_index=True)
    energy, wait = points["energy"].to_numpy(), points["wait"].to_numpy()
    less = (energy[:, None] <= energy) & (wait[:, None] <= wait) & ((energy[:, None] < energy) | (wait[:, None] < wait))
    points["best"] = ~np.any(less, axis=0)
    return Policies(base, len(cases), table, points, standing, effects)


def _row(name: str, base: str, cases: pd.DataFrame) -> dict[str, object]:
    energy, wait = cases[ENERGY], cases[WAIT]
    saved = 100 * (1 - energy[name] / energy[base])
    later = wait[name] - wait[base]
    return {
        "policy": name,
        "saved": 100 * (1 - energy[name].sum() / energy[base].sum()),
        "least": saved.min(),
        "most": saved.max(),
        "wait_s": wait[name].mean(),
        "later_s": later.mean(),
        "least_s": later.min(),
        "most_s": later.max(),
    }


def policies_sentences(found: Policies) -> list[str]:
    """Say which policies need least energy, and what each saves against the base and costs in waiting."""
    told = []
    if found.energy is not None:
        over = " over all other factors" if found.cases > 1 else ""
        told.append(f"Energy of power policies{over}: {found.energy.sentence()}.")
    for row in found.table.head(_MOST_TOLD).to_dict("records"):
        name, (energy, wait) = row["policy"], found.effects[row["policy"]]
        per_case = f" (by case {_span(-row['most'], -row['least'])} %)" if found.cases > 1 else ""
        parts = [
            f"{each.label} {text}{f', {ComparisonVerdict.TIE}' if each.verdict is ComparisonVerdict.TIE else ''}"
            for each, text in ((energy, energy.in_percent() + per_case), (wait, wait.change()))
        ]
        told.append(f"{name} against {found.base}: {'; '.join(parts)}.")
    return told


def policy_rows(found: Policies) -> tuple[list[str], list[list[str]], list[list[float | None]]]:
    """Return header, rows and the values to sort by, for a table of the policies."""
    head = ["power policy", f"energy saved against {found.base}", "by case", "mean wait", "longer by", "by case"]
    rows, values = [], []
    for row in found.table.to_dict("records"):
        spans = [f"{_span(row['least'], row['most'])} %", f"{_signed(row['least_s'])} to {_signed(row['most_s'])}"]
        one = found.cases == 1
        rows.append(
            [
                str(row["policy"]),
                f"{number(row['saved'], 3)} %",
                NOTHING if one else spans[0],
                amount(row["wait_s"], "s"),
                _signed(row["later_s"]),
                NOTHING if one else spans[1],
            ]
        )
        values.append([None, *(row[name] for name in ("saved", "least", "wait_s", "later_s", "least_s"))])
    return head, rows, values


def _span(low: float, high: float) -> str:
    ends = [number(each, 2).replace("-", "−") for each in (low, high)]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _signed(seconds: float) -> str:
    return f"{'−' if seconds < 0 else '+' if seconds > 0 else ''}{duration(abs(seconds))}"


@dataclass(frozen=True, slots=True)
class _Label:
    """A name beside a dot. Its middle is ``right`` and ``up`` px from the dot, with a line to it if ``led``."""

    row: int
    text: str
    right: float
    up: float
    led: bool

    def box(self, places: np.ndarray) -> np.ndarray:
        """Return left, bottom, right and top, px.

        The name begins over its dot, so that a wider page only makes more room.
        """
        half = _LETTER_PX * len(self.text) / 2
        x, y = places[self.row]
        ends = x + self.right - half, x + self.right + half
        return np.array([min(ends[0], x), y + self.up - _LINE_PX / 2, max(ends[1], x), y + self.up + _LINE_PX / 2])

    def parts(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the boxes that the label takes: that of its name, and those along its line outside the dot."""
        way = np.linspace(0.0, 1.0, 60 if self.led else 0)[:, None] * (self.right, self.up)
        way = way[np.hypot(*way.T) >= _DOT_PX] + places[self.row]
        return self.box(places)[None], np.column_stack([way + _NEARER_PX, way - _NEARER_PX])

    def note(self, x: float, y: float) -> dict[str, object]:
        """Return the label as an annotation of the dot at these coordinates."""
        text = plotly_text([self.text])[0]
        line = {"showarrow": True, "arrowhead": 0, "arrowwidth": 1, "arrowcolor": OKABE_ITO[0], "standoff": 6}
        if self.led:
            return {"x": x, "y": y, "text": text, "ax": self.right, "ay": -self.up, **line}
        return {"x": x, "y": y, "text": text, "xshift": self.right, "yshift": self.up, "showarrow": False}


def _tries(row: int, text: str, may_lead: bool) -> Iterator[_Label]:
    """Yield places for a name: beside the dot, at its corners, over and under it; then further away."""
    side = _LETTER_PX * len(text) / 2 + _DOT_PX
    for right, up in ((side, 0), (side, 14), (side, -14), (0, 16), (0, -16), (-side, 0), (-side, 14), (-side, -14)):
        yield _Label(row, text, right, up, led=False)
    # Straight up or down, so that a wider page moves all others away from the line.
    for up in sorted(range(-156, 157, 24), key=abs) if may_lead else ():
        if abs(up) > 30:
            yield _Label(row, text, 0.0, up, led=True)


def _is_free(parts: tuple[np.ndarray, np.ndarray], taken: np.ndarray) -> bool:
    """Return whether the name is within the figure, and neither it nor its line touches what is there."""
    name = parts[0]
    low, high = np.array([0, 2]), np.array([_PLOT_PX[0] + _MARGIN_PX - 10, _PLOT_PX[1] + 16])
    is_inside = bool(np.all(name[0, :2] >= low) and np.all(name[0, 2:] <= high))
    boxes = np.vstack(parts)[:, None]
    return is_inside and not np.any(np.all((boxes[..., :2] < taken[:, 2:]) & (taken[:, :2] < boxes[..., 2:]), axis=2))


def _labels(points: pd.DataFrame) -> list[_Label]:
    """Place the names that have room, best ones first: none lies on another, or on a dot.

    Only the names of best ones may stand away from their dots, joined by a line.
    """
    places = points[["wait", "energy"]].to_numpy(dtype=float)
    span = np.ptp(places, axis=0)
    places = (places - places.min(axis=0) + _PAD * span) / np.where(span > 0, (1 + 2 * _PAD) * span, 1.0) * _PLOT_PX
    best = points["best"].to_numpy(dtype=bool)
    texts = [shortened(name, _MOST_LETTERS) for name in points["name"]]
    dots = np.column_stack([places - _DOT_PX, places + _DOT_PX])
    made: list[_Label] = []
    for rows in (np.flatnonzero(best), np.flatnonzero(~best)):
        named = 0
        for row in rows.tolist():
            if named == _MOST_LABELS:
                break
            taken = np.vstack([np.delete(dots, row, axis=0), *(part for label in made for part in label.parts(places))])
            tries = _tries(row, texts[row], best[row])
            if label := next((each for each in tries if _is_free(each.parts(places), taken)), None):
                made.append(label)
                named += 1
    return made


def policies_figure(found: Policies) -> go.Figure:
    """Draw energy over waiting, a dot for each scheduler and policy; those that no other beats in both are joined.

    These are named first. Others are named if there is room beside their dot; hovers name all.
    """
    points = found.points
    by_wait, by_energy = (
        scale_of(unit, float(np.abs(points[name]).max())) for unit, name in (("s", "wait"), ("J", "energy"))
    )
    hover = "<b>%{customdata[2]}</b><br>mean wait %{customdata[0]}<br>energy %{customdata[1]}<extra></extra>"
    figure = go.Figure()
    for best, part in points.groupby("best"):
        part = part.sort_values(["wait", "energy"], kind="stable")
        told = [[amount(each, unit) for each in part[name]] for name, unit in (("wait", "s"), ("energy", "J"))]
        data = np.column_stack([*told, plotly_text(part["name"])])
        figure.add_trace(
            go.Scatter(
                x=(part["wait"] / by_wait[0]).to_numpy(),
                y=(part["energy"] / by_energy[0]).to_numpy(),
                customdata=data,
                hovertemplate=hover,
                mode="lines+markers" if best else "markers",
                line={"shape": "hv", "width": 1, "dash": "dot", "color": OKABE_ITO[0]},
                marker={"size": 10 if best else 8, "color": OKABE_ITO[0] if best else OTHERS},
                showlegend=False,
            )
        )
    styled(figure, "", f"Mean wait [{by_wait[1]}]", f"Energy [{by_energy[1]}]")
    wait, energy = (points["wait"] / by_wait[0]).to_numpy(), (points["energy"] / by_energy[0]).to_numpy()
    for label in _labels(points):
        of_front = bool(points["best"].iloc[label.row])
        figure.add_annotation(label.note(wait[label.row], energy[label.row]), name="" if of_front else "where-wide")
    for update, values in ((figure.update_xaxes, wait), (figure.update_yaxes, energy)):
        if pad := _PAD * float(np.ptp(values)):
            update(range=[values.min() - pad, values.max() + pad])
    return figure.update_layout(height=420, margin={"r": _MARGIN_PX})
