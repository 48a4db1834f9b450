"""Tables of features: numbers and slices by name, the manual's tables, and that no code knows a column by its number."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from learning.tasks.feature_table import FeatureTable, block, bounded, feature, part, span
from learning.tasks.job_node.environment import JobNode
from learning.tasks.job_node.features import PairRow, PairState
from learning.tasks.job_node.observations import PublishedRow
from learning.tasks.node_shutdown.environment import NodeShutdown
from learning.tasks.node_shutdown.foresight import ActionRow
from learning.tasks.node_shutdown.observations import PublishedJob, PublishedLook, State
from learning.tasks.policy_selection.environment import PolicySelection
from learning.tasks.policy_selection.observations import SelectionState

ROOT = Path(__file__).parents[2]


class Weather(FeatureTable):
    """What a sensor says."""

    warmth = feature("temperature", "over 40 °C")
    wind = feature("speed of the wind")


class Day(FeatureTable):
    """Two looks and what lies between."""

    morning = part(Weather)
    clouds = feature("share of the sky", name="the clouds")
    rain = block(["rain by day", "rain by night"], "mm")
    end = feature("1 at the end")


def test_columns_are_numbered_as_they_are_declared() -> None:
    """Plain numbers for columns, slices for parts and blocks, and a table in the manual."""
    assert (Weather.warmth, Weather.wind, Weather.size) == (0, 1, 2)
    assert (Day.morning, Day.clouds, Day.rain, Day.end) == (slice(0, 2), 2, slice(3, 5), 5)
    assert Day.names == ("warmth", "wind", "the clouds", "rain by day", "rain by night", "end")
    row = np.zeros(Day.size)
    row[Day.rain] = 4.0
    row[span(Day.clouds, Day.rain.start)] += 1.0
    assert row.tolist() == [0.0, 0.0, 1.0, 5.0, 4.0, 0.0]
    assert "| 0 | warmth | temperature | over 40 °C |" in (Day.__doc__ or "")


def test_a_name_stands_once() -> None:
    """Two columns of one name are refused when the table is declared."""
    with pytest.raises(ValueError, match="Twice has two features of one name"):

        class Twice(FeatureTable):
            morning = part(Weather)
            wind = feature("again")


def test_half_is_at_half() -> None:
    """The scale of what has no bound, of numbers and of arrays."""
    assert (bounded(0.0, 3.0), bounded(3.0, 3.0), bounded(9.0, 3.0)) == (0.0, 0.5, 0.75)
    assert bounded(np.array([0.0, 9.0]), 3.0).tolist() == [0.0, 0.75]


def test_tables_are_as_wide_as_what_is_observed() -> None:
    """Of every environment as it is built in."""
    seen = JobNode().reset(seed=0)[0]
    assert (seen["actions"].shape[1], len(seen["state"])) == (PairRow.size, PairState.size) == (33, 12)
    assert JobNode(observation="p3").reset(seed=0)[0]["observation"].shape[1] == PublishedRow.size == 10
    seen = NodeShutdown().reset(seed=0)[0]
    assert (seen["actions"].shape[1], len(seen["state"])) == (ActionRow.size, State.size) == (23, 33)
    looks = NodeShutdown(observation="as-published", idle="stay").reset(seed=0)[0]["observation"]
    assert looks.shape[1] == PublishedLook.size + 10 * PublishedJob.size == 48
    assert len(PolicySelection().reset(seed=0)[0]["state"]) == SelectionState.size == 26


def test_columns_stay_where_trained_agents_know_them() -> None:
    """Agents that were trained know columns by their numbers, so the order of the tables is part of the contract."""
    assert PairRow.names == (
        *("cores", "time", "age", "oldest_rank", "smallest_rank", "shortest_rank", "work"),
        *("node_share", "left", "bandwidth", "rate", "watts", "load", "jobs", "idle", "on"),
        *("contended", "slowed", "others", "finish", "energy", "delay_regret", "energy_regret", "edp_regret"),
        *("least_delay", "least_energy", "least_edp", "extends", "machine_regret"),
        *("gain_delay", "gain_energy", "wait", "next_end"),
    )
    assert PairState.names == (
        *("pending", "eligible", "pending_cores", "running", "free", "idle_nodes"),
        *("power", "bandwidth_in_use", "contended_nodes", "soonest", "latest", "oldest"),
    )
    assert PublishedRow.names == (
        *("wait_time", "requested_time", "submit_time", "requested_cores", "availability"),
        *("static_power", "dynamic_power", "clock_rate", "energy_estimate", "can_schedule"),
    )


def test_no_column_is_known_by_its_number() -> None:
    """Where observations are made, nothing picks a column of a matrix, or anything beyond the first two, by a number."""
    found = []
    for path in sorted((ROOT / "learning").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "learning.tasks.feature_table" not in text:
            continue
        found += [
            f"{path.name}:{node.lineno}: {ast.unparse(node)}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Subscript) and _has_a_magic_number(node.slice)
        ]
    assert found == []


def _has_a_magic_number(index: ast.expr) -> bool:
    """Whether an index has a number beyond -1, 0 and 1, or any as the last of several."""
    literals = [abs(n.value) for n in ast.walk(index) if isinstance(n, ast.Constant) and isinstance(n.value, int)]
    last = index.elts[-1] if isinstance(index, ast.Tuple) else None
    of_columns = [n for n in ast.walk(last) if isinstance(n, ast.Constant)] if last is not None else []
    return max(literals, default=0) > 1 or any(isinstance(n.value, int) for n in of_columns)


@pytest.mark.parametrize("code", ["columns[21:24]", "row[-4:]", "rows[:, 14]", "both[half:, 0]", "state[9]"])
def test_magic_numbers_would_be_found(code: str) -> None:
    """The check above sees what it is for."""
    parsed = ast.parse(code, mode="eval").body
    assert isinstance(parsed, ast.Subscript)
    assert _has_a_magic_number(parsed.slice)
