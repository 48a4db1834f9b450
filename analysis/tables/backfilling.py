"""Tables of backfilling's results, which show the mean bounded slowdown together with its price.

The mean of (wait + run time) / run time is small as soon as short jobs do not wait. On a finite window a scheduler may
let long jobs wait until nothing else is left: the mean falls at the cost of the users with long jobs. The mean wait,
the longest waits and the makespan show this cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.tables.run_metrics import HALF_WIDTH, VERSUS, Summary, replication_table
from cluster_sim.records.intervals import CONFIDENCE

SLOWDOWN = "mean_bounded_slowdown"
BESIDE = ("mean_wait_s", "p95_wait_s", "max_wait_s", "makespan_s")
"""Metrics that show the price of a small mean bounded slowdown."""
METRICS = (SLOWDOWN, *BESIDE)


def backfilling_table(runs: Mapping[str, Sequence[Summary]], confidence: float = CONFIDENCE) -> pd.DataFrame:
    """Return the slowdown and :data:`BESIDE` of schedulers over the same windows, with paired intervals to the first.

    ``runs`` has for each scheduler the summaries of its windows, in the same order for all. The table has these five
    rows of :func:`~analysis.tables.run_metrics.replication_table`, whose InputError is raised here, too.
    """
    return replication_table(runs, confidence).loc[list(METRICS)]


def bought_with(table: pd.DataFrame, name: str, most: float = 10.0) -> list[str]:
    """Return the metrics by which a scheduler pays for a smaller slowdown than the first's; none if it is not smaller.

    They are the metrics of :data:`BESIDE` that are worse by more than ``most`` percent with their paired interval;
    with too few windows for an interval, by their means.
    """
    apart, around = table[name + VERSUS], table[name + VERSUS + HALF_WIDTH].fillna(0.0)
    if not apart[SLOWDOWN] + around[SLOWDOWN] < 0.0:
        return []
    return [metric for metric in BESIDE if apart[metric] - around[metric] > most]


def backfilling_markdown(table: pd.DataFrame, names: Sequence[str]) -> str:
    """Return the table as Markdown: a row per scheduler, with paired differences from the first in brackets, in %."""
    lines = [
        "| scheduler | mean bounded slowdown | mean wait, s | 95 % wait less, s | longest wait, s | makespan, s | bought with |",
        "|---|---|---|---|---|---|---|",
    ]
    values: dict[str, dict[str, float]] = table.drop(columns="unit").astype(float).to_dict()  # type: ignore[assignment]
    for place, name in enumerate(names):
        cells = []
        for metric in METRICS:
            said = f"{values[name][metric]:,.{1 if metric == SLOWDOWN else 0}f}"
            if place:
                apart, around = values[name + VERSUS][metric], values[name + VERSUS + HALF_WIDTH][metric]
                said += f" ({apart:+z.1f}{f' ± {around:.1f}' if math.isfinite(around) else ''} %)"
            cells.append(said)
        paid = ", ".join(bought_with(table, name)) if place else ""
        lines.append(f"| `{name}` | {' | '.join(cells)} | {paid} |")
    return "\n".join(lines)
