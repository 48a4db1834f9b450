"""The manual's table of ten trainings is what ``evaluate`` found, whose runs are kept beside this test."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cluster_sim.records.intervals import half_width
from learning.training.evaluation import Evaluation

FIGURES = Path(__file__).with_name("figures")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "results" / "ten-trainings.md"
ROW = re.compile(
    r"^\| `(?P<heuristic>[^`]+)`[^|]* \| (?P<value>[0-9,]+) s "
    r"\| (?P<change>[+−][0-9.]+) ± (?P<around>[0-9]+) % \| (?P<verdict>[a-z ]+) \|$",
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    """Greedy runs of ten trainings and of six heuristics on 100 workloads, as the page's commands left them."""
    runs, heuristics = (pd.read_csv(FIGURES / f"readme-agents-{name}.csv") for name in ("runs", "heuristics"))
    return Evaluation(runs, heuristics, ("mean_wait_s",))


def test_every_row_is_the_commands(evaluation: Evaluation) -> None:
    """Mean waits, changes, their intervals and verdicts."""
    table = evaluation.table().set_index("against")
    rows = [match.groupdict() for match in ROW.finditer(PAGE.read_text())]
    assert len(rows) == 5
    for row in rows:
        found = table.loc[row["heuristic"]]
        assert int(row["value"].replace(",", "")) == round(found["value"])
        assert float(row["change"].replace("−", "-")) == pytest.approx(found["change"], abs=0.5)
        assert int(row["around"]) == round(found["change_around"])
        assert row["verdict"] == found["verdict"]


def test_the_spread_over_trainings(evaluation: Evaluation) -> None:
    """Mean, interval and range over ten trainings, and in how many workloads the agents wait less."""
    text = " ".join(PAGE.read_text().split())
    runs = evaluation.runs
    means = runs.groupby("training_seed")["mean_wait_s"].mean().to_numpy()
    assert len(means) == 10
    around = float(half_width(means[:, None])[0])
    assert (
        f"{means.mean():,.0f} ± {around:.0f} s (95 %, over trainings; {means.min():,.0f} to {means.max():,.0f} s)"
        in text
    )
    agents = runs.groupby("case")["mean_wait_s"].mean()
    for heuristic, words in (("easy", "in {} of the 100 workloads"), ("easy:order=sjf", "in {}. Training")):
        found = evaluation.heuristics
        of_heuristic = found[found["heuristic"] == heuristic].set_index("case")["mean_wait_s"]
        assert words.format(int(np.sum(agents < of_heuristic))) in text
