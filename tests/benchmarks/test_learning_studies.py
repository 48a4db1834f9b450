"""Studies of agents: which days and windows are whose, and what stands in their tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch")

from benchmarks.backfilling_study import COMMITTED, ORDERS, played, windows
from benchmarks.constraint_study import BUSY, Day, lay_out, markdown, measured, split
from cluster_sim import Workload

from .test_shutdown_study import days, platform


def day(number: int, jobs: int) -> Day:
    """A day of so many jobs."""
    columns = {"requested_cores": [1] * jobs, "recorded_run_time": [60.0] * jobs, "requested_time": [600.0] * jobs}
    return Day(Path(f"part/day_{number}.json"), Workload({"submit_time": np.arange(jobs) * 60.0, **columns}))


def test_every_fifth_day_of_each_kind_is_to_choose_by(tmp_path: Path) -> None:
    """Of ten busy and five ordinary days two and one; as files each part has its own, and says which kind they are."""
    all_days = [day(number, BUSY if number < 10 else 3) for number in range(15)]
    to_learn, to_choose = split(all_days)
    assert [one.kind for one in to_choose] == ["busy", "busy", "ordinary"]
    assert {one.path for one in to_learn}.isdisjoint(one.path for one in to_choose)
    source = tmp_path / "part"
    source.mkdir()
    (source / "day_3.json").write_text("{}")
    lay_out({"train": [Day(source / "day_3.json", all_days[0].jobs)]}, tmp_path / "days")
    assert [file.name for file in (tmp_path / "days" / "train").iterdir()] == ["busy_part_day_3.json"]


def test_the_table_of_a_limit() -> None:
    """Two ordinary days under a rule and T(0): who wastes less, by how much of the rule's, and days that T(0) does not keep."""
    apart, together = days(36_000.0)[0], days(300.0)[0]
    tested = [Day(Path("part/day_0.json"), apart), Day(Path("part/day_1.json"), together)]
    rows = [row for policy in ("summed-stretch:1", "timeout:0") for row in measured(platform(), tested, policy)]
    text = markdown(pd.DataFrame(rows))
    assert "2 ordinary days, all" in text
    assert "2 ordinary days, those on which `timeout:0` keeps the limit" in text
    [line] = [line for line in text.split("2 ordinary days, those")[0].splitlines() if line.startswith("| `timeout:0`")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1] == "856"  # 2 · 428 W·min on either day; under the rule 428 on the second
    assert cells[2].startswith("-33.3 ±")
    assert cells[4].startswith("0.100")


def test_windows_are_apart_and_rules_are_played_on_each() -> None:
    """Two windows of 256 jobs, each from time 0; every rule that is asked for has a summary of both."""
    jobs = 600
    times = np.random.default_rng(1).lognormal(3.0, 1.0, jobs)
    log = Workload(
        {
            "submit_time": np.arange(jobs) * 10.0,
            "requested_cores": np.full(jobs, 32),
            "requested_time": times,
            "recorded_run_time": times,
        }
    )
    parts = windows(log, 10, jobs)
    assert [len(part) for part in parts] == [256, 256]
    assert [float(part.jobs["submit_time"].iloc[0]) for part in parts] == [0.0, 0.0]
    runs = played(parts, {order: COMMITTED.format(order) for order in ORDERS[3:5]})
    assert [summary["jobs_completed"] for summary in runs["sjf"]] == [256, 256]
    assert set(runs) == {"sjf", "f1"}
