"""Checkpoints against Young and Daly, the tables of docs/guides/failures.md.

``python -m studies.checkpoints [--runs N] [--seed N]``.

Jobs on nodes that fail at a constant rate, and are repaired at once, as Daly (FGCS 22, 2006) has it: failures come during
checkpoints and restarts, too. The first table compares mean times with the expected ones, the second the interval that does
best with the optimum. With the 400 runs of its default it takes more than ten minutes of CPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, sqrt

import click
import numpy as np
import numpy.typing as npt
import pandas as pd

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.workload.parts import DALY, YOUNG, optimum_interval
from schedulers import make_scheduler

Times = npt.NDArray[np.float64]

FACTORS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6, 1.8, 2.0)
"""Intervals that are tried, in parts of Daly's optimum."""


@dataclass(frozen=True)
class Case:
    """A job and the failures that it meets, in one unit of time throughout. No checkpoints: an interval of inf."""

    name: str
    mtbf: float
    restart: float
    checkpoint: float
    work: float
    interval: float

    def expected(self) -> float:
        """How long the job takes in the mean: Daly's model, by our rules where these differ.

        To get through a segment of length L takes M (e^(L/M) - 1) in the mean, with e^(L/M) - 1 failures; each costs a
        restart, which takes M (e^(R/M) - 1) itself. Our jobs make no checkpoint at the very end, and what has saved nothing
        yet begins anew without a restart.
        """
        mean, segment = self.mtbf, self.interval + self.checkpoint
        segments = 1 if self.interval == inf else round(self.work / self.interval)
        if segments == 1:
            return mean * (exp(self.work / mean) - 1.0)
        again = mean * exp(self.restart / mean)
        last = self.interval / mean
        return (
            mean * (exp(segment / mean) - 1.0)
            + again * (segments - 2) * (exp(segment / mean) - 1.0)
            + again * (exp(last) - 1.0)
        )


CASES = (
    Case("M of a day, at Young's interval", 1440, 10, 5, 30_000, 120),
    Case("M of a day, too often", 1440, 10, 5, 30_000, 60),
    Case("M of a day, too seldom", 1440, 10, 5, 30_000, 500),
    Case("M of six hours, at Young's interval", 360, 10, 5, 30_000, 60),
    Case("M of six hours, too often", 360, 10, 5, 30_000, 20),
    Case("M of six hours, too seldom", 360, 10, 5, 30_000, 200),
    Case("M of a quarter of an hour", 15, 10, 5, 300, 10),
    Case("restarts cost nothing", 100, 0, 2, 1000, 20),
    Case("checkpoints cost nothing", 100, 5, 0, 1000, 25),
    Case("no checkpoints", 100, 5, 0, 200, inf),
    Case("long restarts", 200, 100, 4, 2000, 40),
    Case("next to no failures", 100_000, 10, 5, 6000, 1000),
)
"""The sets that the formula is known for, in minutes the first seven."""

OPTIMA = (
    Case("24 h", 1440, 10, 5, 10_000, inf),
    Case("6 h", 360, 10, 5, 10_000, inf),
    Case("15 min", 15, 10, 5, 300, inf),
)
"""Of Daly's Figs. 3 to 5."""


def times(case: Case, runs: int, seed: int, interval: float | str | None = None) -> Times:
    """How long jobs take, each on a node of its own, shape (runs,). ``interval`` in place of the case's, or a rule."""
    if interval is None:
        interval = case.interval
    columns: dict[str, object] = {
        "submit_time": np.zeros(runs),
        "requested_cores": np.ones(runs, np.int64),
        "recorded_run_time": np.full(runs, case.work),
        "restart_time": np.full(runs, case.restart),
        "checkpoint_time": np.full(runs, case.checkpoint),
        "checkpoint_interval": ["" if interval == inf else str(interval)] * runs,
    }
    platform = Platform.homogeneous(nodes=runs, cores=1)
    failures = f"exponential:mtbf={case.mtbf},repair=0"
    run = Simulation(platform, Workload(columns), make_scheduler("fcfs"), seed=seed, failures=failures).run()
    return run.jobs["turnaround_time"].to_numpy(np.float64)


def compared(runs: int, seed: int, cases: tuple[Case, ...] = CASES) -> pd.DataFrame:
    """A row for each case: expected and measured mean time, and how many standard errors lie between."""
    rows = []
    for case in cases:
        found = times(case, runs, seed)
        error = found.std(ddof=1) / sqrt(runs)
        expected = case.expected()
        rows.append((case.name, case.interval, expected, found.mean(), error, (found.mean() - expected) / error))
    return pd.DataFrame(rows, columns=["case", "interval", "expected", "measured", "standard error", "deviation"])


def best_interval(case: Case, runs: int, seed: int) -> float:
    """The interval at which a curve through the measured means is lowest: of second order in the interval's logarithm."""
    optimum = optimum_interval(DALY, case.checkpoint, case.mtbf)
    intervals = np.array(FACTORS) * optimum
    means = [times(case, runs, seed, interval).mean() for interval in intervals.tolist()]
    second, first, _ = np.polyfit(np.log(FACTORS), np.log(means), 2)
    return float(optimum * np.exp(-first / (2.0 * second)))


def optima(runs: int, seed: int, cases: tuple[Case, ...] = OPTIMA) -> pd.DataFrame:
    """A row for each case: Young's and Daly's intervals, the one that does best, and what the time is at Daly's."""
    rows = []
    for case in cases:
        young, daly = (optimum_interval(rule, case.checkpoint, case.mtbf) for rule in (YOUNG, DALY))
        best = best_interval(case, runs, seed)
        mean = [times(case, runs, seed, rule).mean() / case.work for rule in (YOUNG, DALY)]
        rows.append((case.name, young, daly, best, 100.0 * (best / daly - 1.0), *mean))
    names = ["M", "young", "daly", "best measured", "from daly, %", "time / work, young", "time / work, daly"]
    return pd.DataFrame(rows, columns=names)


@click.command()
@click.option("--runs", default=400, help="Jobs of each kind.", type=click.IntRange(min=2))
@click.option("--seed", default=0)
def main(runs: int, seed: int) -> None:
    """Print both tables."""
    for table in (compared(runs, seed), optima(runs, seed)):
        click.echo(_markdown(table) + "\n")


def _markdown(table: pd.DataFrame) -> str:
    def cell(value: object) -> str:
        return f"{value:,.6g}" if isinstance(value, float) else str(value)

    lines = ["| " + " | ".join(table.columns) + " |", "|---" * len(table.columns) + "|"]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in table.itertuples(index=False)]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
