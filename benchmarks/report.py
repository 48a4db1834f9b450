"""Rows of the report, and the report: a Markdown table for people, JSON for programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.figures import FigureRow
from benchmarks.measure import Cost, Ratio
from benchmarks.passes import PassRow
from cluster_sim.extras import made_with


@dataclass(frozen=True, slots=True)
class CostRow:
    """The cost of a job in one case, as a multiple of its cost in another."""

    benchmark: str
    case: str
    cost: Cost
    compared_with: str = ""
    other: Cost | None = None
    target: float | None = None  #: Largest ratio aimed at.

    @property
    def ratio(self) -> Ratio | None:
        """Cost over the other's cost."""
        return None if self.other is None else self.cost.over(self.other)

    def cells(self) -> list[str]:
        """The row's cells as text."""
        cells = [self.benchmark, self.case, f"{self.cost.median:.1f} µs a job"]
        ratio = self.ratio
        if self.other is None or ratio is None:
            return [*cells, "", "", ""]
        cells += [f"{self.compared_with}, {self.other.median:.1f} µs"]
        cells += [f"**{ratio.value:.2f}** ({ratio.least:.2f} – {ratio.most:.2f})"]
        return [*cells, "" if self.target is None else f"≤ {self.target:g}"]

    def as_json(self) -> dict[str, Any]:
        """Everything, the single runs included."""
        return {**asdict(self), "us_per_job": self.cost.median, "ratio": asdict(self.ratio) if self.ratio else None}


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """Peak memory of the process that ran one case, 1e9 bytes."""

    benchmark: str
    case: str
    peak_gb: float
    target: float | None = None

    def cells(self) -> list[str]:
        """The row's cells as text."""
        target = "" if self.target is None else f"≤ {self.target:g} GB"
        return [self.benchmark, self.case, f"**{self.peak_gb:.2f} GB**", "", "", target]

    def as_json(self) -> dict[str, Any]:
        """Everything."""
        return asdict(self)


Row = CostRow | MemoryRow | PassRow | FigureRow

HEADER = ("benchmark", "case", "measured", "compared with", "ratio (least – most)", "target")


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [HEADER, ("---",) * len(HEADER), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def circumstances() -> dict[str, Any]:
    """Under what the figures were measured."""
    return {
        **made_with(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
    }


def described(facts: dict[str, Any]) -> str:
    """The circumstances as a sentence."""
    return ", ".join(f"{name} {value}" for name, value in facts.items()) + "."
