"""The study of power policies: what it measures of a day, and which policies nothing beats."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.reproduce.deepshutdown.stand_ins import stand_in_platform
from cluster_sim import Platform, Workload
from studies.shutdown_study import FAMILIES, markdown, measured, pareto, study, undominated


def days(*submitted: float) -> list[Workload]:
    """Two jobs of a minute each on one node, the second so long after the first; each asks for ten minutes."""
    columns = {"requested_cores": [1, 1], "recorded_run_time": [60.0, 60.0], "requested_time": [600.0, 600.0]}
    return [Workload({"submit_time": [0.0, second], **columns}) for second in submitted]


def platform() -> Platform:
    """One node of one core, off at first, with the paper's watts: 125 for a minute to boot, 101 for three to switch off."""
    return stand_in_platform(1, 1)


def test_a_day_by_hand() -> None:
    """Each job boots the node and leaves it to be switched off: 2 · (125 + 303) W·min, four switches, stretch 60 / 600."""
    found = measured(platform(), days(36_000.0), "timeout:0")
    assert found["waste"] == pytest.approx(2 * 428.0)
    assert found["switches"] == 4.0
    assert found["stretch"] == pytest.approx(0.1)
    assert (found["late %"], found["unfinished %"]) == (0.0, 0.0)


def test_waiting_saves_a_boot() -> None:
    """Two jobs a minute apart under θ = 1: the second comes while the first waits, both run after one boot; more wait."""
    together, apart = (measured(platform(), days(300.0), spec) for spec in ("summed-stretch:1", "timeout:0"))
    assert together["switches"] == 2.0 < apart["switches"] == 4.0
    assert together["stretch"] > apart["stretch"]


def test_undominated_policies() -> None:
    """b is beaten by a in all three; c trades; the clairvoyant one is no candidate and beats nobody."""
    rows = pd.DataFrame(
        {
            "policy": ["timeout:0", "timeout:60", "summed-stretch:1", "off-reservation:1"],
            "waste": [3.0, 4.0, 1.0, 0.5],
            "switches": [3.0, 3.0, 1.0, 0.5],
            "stretch": [0.1, 0.1, 0.9, 0.05],
        }
    )
    assert undominated(rows).tolist() == [True, False, True, False]


def test_table_and_picture() -> None:
    """A row for each policy and set of days, T(0) at 100 %; a line for each family in each of four panels."""
    table = study({"busy": days(300.0), "ordinary": days(36_000.0)}, platform())
    specs = [spec for family in FAMILIES for spec in family.specs]
    assert table["policy"].tolist() == specs * 2
    base = table[table["policy"] == "timeout:0"]
    assert base["waste, % of T(0)"].tolist() == base["switches, % of T(0)"].tolist() == [100.0, 100.0]
    text = markdown(table, {"busy": 1, "ordinary": 1})
    assert text.count("| `") == len(table)
    assert "| `timeout:0` | 856 | 100 % | 4.0 | 100 % | 0.100 |" in text
    figure = pareto(table, {"busy": 1, "ordinary": 1})
    assert len(figure.data) == 4 * len(FAMILIES)
