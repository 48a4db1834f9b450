"""Tables and picture of docs/guides/power-policies.md.

``python -m studies.shutdown_study [INPUTS] [--every N] [--out FOLDER]``.

INPUTS holds the days of Taurus that Casagrande et al. (2022) released, in ``cases/deepshutdown``. Each power policy plays the
48 busy days, and every twentieth (``--every``) of the 1,357 others, the ordinary ones, beside saf-easy: four minutes of CPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.figures.figure_style import styled
from analysis.figures.palette import OKABE_ITO
from analysis.figures.pictures import write_pictures
from analysis.reproduce.deepshutdown.days import figures
from analysis.reproduce.deepshutdown.runs import BUSY_DAYS, ORDINARY_DAYS, THETA, released_days, run_day, taurus
from cluster_sim import Platform, Workload
from cluster_sim.records.result import Result

INPUTS = Path(__file__).resolve().parents[2] / "shared"
PICTURE = "power-policies-pareto"
BASE = "timeout:0"
CLAIRVOYANT = "off-reservation"
SETS = ("busy", "ordinary")
PANELS = {
    "waste, % of T(0)": {"type": "log", "tickvals": [50, 100, 200, 500, 1000, 2000, 4000]},
    "switches, % of T(0)": {"rangemode": "tozero", "zeroline": False},
}
"""What is drawn against the stretch, with its axis."""
STRETCHES = [0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5]


@dataclass(frozen=True)
class Family:
    """A kind of power policy with the values of its number; how it is drawn."""

    name: str
    specs: tuple[str, ...]
    colour: str
    symbol: str
    labels: str


def _family(number: int, name: str, spec: str, values: Iterable[object], symbol: str, labels: str) -> Family:
    return Family(name, tuple(f"{spec}:{value}" for value in values), OKABE_ITO[number], symbol, labels)


FAMILIES = (
    _family(0, "T(x): timeout:x", "timeout", (0, 60, 180, 300, 600, 1200, 1800), "circle", "middle left"),
    _family(1, "keep-ready:N", "keep-ready", (1, 2, 4), "square", "middle left"),
    _family(3, "inertial, period", "inertial", ("period=300", "period=600", "period=1800"), "diamond", "top center"),
    _family(5, "summed-stretch:θ", "summed-stretch", (0.05, 0.1, 0.2, 0.3, 0.5, 1, 2), "triangle-up", "top center"),
    _family(2, "OR*: off-reservation:τ, clairvoyant", CLAIRVOYANT, (0.1, 0.25, 0.5, 1), "star", "bottom center"),
)


def measured(platform: Platform, days: Iterable[Workload], spec: str) -> dict[str, float]:
    """Means over the days of waste (W·min by node, as Table 3 has it) and switches, and over all jobs what they waited."""
    rows = [of_day(run_day(platform, day, spec, seed)) for seed, day in enumerate(days)]
    table = pd.DataFrame(rows)
    jobs = table["jobs"].sum()
    return {
        "waste": float(table["waste"].mean()),
        "switches": float(table["switches"].mean()),
        "stretch": float(table["stretches"].sum() / table["started"].sum()),
        "late %": float(100.0 * table["late"].sum() / jobs),
        "unfinished %": float(100.0 * table["unfinished"].sum() / jobs),
    }


def of_day(result: Result) -> dict[str, float]:
    """Waste (W·min by node) and switches; stretches, summed and in the mean, of how many jobs; jobs late, not over, in all."""
    counted, jobs = figures(result), result.jobs
    stretches = jobs["stretch"][jobs["start_time"].notna() & (jobs["requested_time"] > 0)]
    return {
        "waste": counted["node_waste"],
        "switches": counted["nb_switches"],
        "stretches": stretches.sum(),
        "stretch": stretches.sum() / len(stretches) if len(stretches) else 0.0,
        "started": len(stretches),
        "late": (stretches > THETA).sum(),
        "unfinished": jobs["finish_time"].isna().sum(),
        "jobs": len(jobs),
    }


def study(sets: Mapping[str, list[Workload]], platform: Platform) -> pd.DataFrame:
    """A row for each set of days and policy: ``days``, ``family``, ``policy`` and what :func:`measured` says."""
    rows = [
        {"days": name, "family": family.name, "policy": spec} | measured(platform, days, spec)
        for name, days in sets.items()
        for family in FAMILIES
        for spec in family.specs
    ]
    table = pd.DataFrame(rows)
    for column in ("waste", "switches"):
        base = table[table["policy"] == BASE].set_index("days")[column]
        table[f"{column}, % of T(0)"] = 100.0 * table[column] / table["days"].map(base)
    return table


def undominated(rows: pd.DataFrame) -> pd.Series:
    """Return the policies without knowledge of the future that no other one beats in waste, switches and stretch at once."""
    columns = ["waste", "switches", "stretch"]
    online = ~rows["policy"].str.startswith(CLAIRVOYANT)
    numbers = rows[columns].to_numpy()
    candidates = numbers[online.to_numpy()]
    beaten = [bool(((candidates <= one).all(axis=1) & (candidates < one).any(axis=1)).any()) for one in numbers]
    return online & ~np.array(beaten)


def markdown(table: pd.DataFrame, counts: Mapping[str, int]) -> str:
    """The table of the manual for each set of days, and which policies another one beats in everything."""
    lines = []
    for name, rows in table.groupby("days", sort=False):
        beaten = rows["policy"][~undominated(rows) & ~rows["policy"].str.startswith(CLAIRVOYANT)]
        lines += [
            "",
            f"{counts[str(name)]} {name} days; beaten in waste, switches and stretch at once: "
            + (", ".join(f"`{policy}`" for policy in beaten) or "none"),
            "",
            "| policy | waste, W·min a day | of T(0)'s | switches a day | of T(0)'s | mean stretch | late jobs |",
            "|---|---|---|---|---|---|---|",
        ]
        for _, row in rows.iterrows():
            lines.append(
                f"| `{row['policy']}` | {row['waste']:,.0f} | {row['waste, % of T(0)']:.0f} % | {row['switches']:.1f} "
                f"| {row['switches, % of T(0)']:.0f} % | {row['stretch']:.3f} | {row['late %']:.1f} % |"
            )
    return "\n".join(lines)


def pareto(table: pd.DataFrame, counts: Mapping[str, int]) -> go.Figure:
    """Waste and switches against the mean stretch, a line for each family; busy days left, ordinary ones right."""
    titles = [f"{counts[name]} {name} days" for name in SETS]
    figure = make_subplots(
        2, 2, subplot_titles=[*titles, "", ""], shared_xaxes=True, horizontal_spacing=0.06, vertical_spacing=0.05
    )
    styled(figure, "What waiting buys: power policies on Taurus", "", "", 760)
    keys = ("gridcolor", "linecolor", "showline", "ticks", "exponentformat", "separatethousands")
    style = {key: figure.layout.xaxis.to_plotly_json()[key] for key in keys}
    for row, column in enumerate(PANELS, start=1):
        for place, name in enumerate(SETS, start=1):
            for family in FAMILIES:
                rows = table[(table["days"] == name) & (table["family"] == family.name)]
                figure.add_scatter(
                    x=rows["stretch"],
                    y=rows[column],
                    mode="lines+markers+text",
                    name=family.name,
                    legendgroup=family.name,
                    showlegend=row == place == 1,
                    text=_labels(rows["policy"]),
                    textposition=family.labels,
                    textfont={"size": 11, "color": family.colour},
                    marker={"color": family.colour, "symbol": family.symbol, "size": 9},
                    line={"color": family.colour, "width": 1.5},
                    cliponaxis=False,
                    row=row,
                    col=place,
                )
            figure.update_yaxes(style | PANELS[column], row=row, col=place)
            stretch = table["stretch"][table["days"] == name]
            room = [math.log10(0.8 * stretch.min()), math.log10(1.15 * stretch.max())]  # for the labels at the ends
            figure.update_xaxes(style | {"type": "log", "range": room, "tickvals": STRETCHES}, row=row, col=place)
        figure.update_yaxes(title=column, row=row, col=1)
    figure.update_xaxes(title="mean stretch: wait over requested time", row=2)
    figure.update_annotations(font={"size": 13})
    legend = {"orientation": "h", "x": 0.0, "xanchor": "left", "y": 0.955, "yref": "container", "yanchor": "top"}
    return figure.update_layout(legend=legend, margin={"t": 106}, title={"y": 0.985, "yanchor": "top"})


def _labels(policies: Iterable[str]) -> list[str]:
    """The number of each policy, at the first and the last of a family only: the points between follow the line."""
    numbers = [policy.rpartition(":")[2].rpartition("=")[2] for policy in policies]
    return [number if place in (0, len(numbers) - 1) else "" for place, number in enumerate(numbers)]


@click.command()
@click.argument("inputs", type=click.Path(path_type=Path, exists=True, file_okay=False), default=INPUTS)
@click.option("--every", type=click.IntRange(1), default=20, show_default=True, help="Of the ordinary days, each N-th.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Leave picture and CSV here.")
def main(inputs: Path, every: int, out: Path | None) -> None:
    """Print the tables of docs/guides/power-policies.md from the days of Casagrande et al. (2022)."""
    platform = taurus(inputs)
    others = (*ORDINARY_DAYS["train"], *ORDINARY_DAYS["test"])
    sets = {
        "busy": released_days(inputs, BUSY_DAYS, platform),
        "ordinary": released_days(inputs, others, platform, every=every),
    }
    table = study(sets, platform)
    counts = {name: len(days) for name, days in sets.items()}
    click.echo(markdown(table, counts))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        table.to_csv(out / f"{PICTURE}.csv", index=False)
        write_pictures({PICTURE: pareto(table, counts)}, out)


if __name__ == "__main__":
    main()
