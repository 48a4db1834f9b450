"""Who held which cores, in numbers: the same of a run and of its files, whatever order the jobs were started in."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cluster_sim import FormatError, Platform, Result, Simulation, Workload, make_scheduler
from cluster_sim.machine.core_ranges import Holds, by_unit

TABLES = ("allocations", "holds", "attempts")


@pytest.fixture
def out_of_order() -> Result:
    """Two nodes of two processors of two cores; four jobs at 0, of which the shortest goes first; the fifth needs them all."""
    table = {
        "job_id": ["d", "c", "b", "a", "wide"],
        "submit_time": [0.0, 0.0, 0.0, 0.0, 1.0],
        "requested_cores": [1, 3, 1, 2, 8],
        "recorded_run_time": [9.0, 3.0, 2.0, 1.0, 4.0],
        "requested_time": [9.0, 3.0, 2.0, 1.0, 4.0],
    }
    platform = Platform.homogeneous(nodes=2, cores=4, processors=2)
    return Simulation(platform, Workload(table), make_scheduler("sjf"), explain=True).run()


@pytest.fixture
def run_again() -> Result:
    """One node of six cores, on which a job is put back at 2 s, and two guests of one name and one of another hold cores."""
    table = {"submit_time": [0.0, 1.0], "requested_cores": [2, 2], "recorded_run_time": [6.0, 7.0]}
    sim = Simulation(Platform.homogeneous(1, 6), Workload(table), make_scheduler("fcfs"))

    def guest(begin: float, name: str) -> Generator[Any, Any, None]:
        yield sim.env.timeout(begin)
        processor = sim.node(0).processors[0]
        with processor.request(cores=1, owner=name) as held:
            yield held
            yield processor.load(1, seconds=1.0, owner=name)

    def stopper() -> Generator[Any, Any, None]:
        yield sim.env.timeout(2.0)
        sim.requeue("0", "as a test")

    for begin, name in ((3.0, "backup"), (3.5, "scrub"), (6.0, "backup")):
        sim.env.process(guest(begin, name))
    sim.env.process(stopper())
    return sim.run()


@pytest.mark.parametrize("name", ["out_of_order", "run_again"])
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_rows_come_back_in_their_order(
    request: pytest.FixtureRequest, tmp_path: Path, name: str, file_format: Any
) -> None:
    """Tables of cores are the same, row by row, of a run and of its files, and of what these are saved as again."""
    result: Result = request.getfixturevalue(name)
    result.save(tmp_path / "one", file_format)
    loaded = Result.load(tmp_path / "one")
    for table in TABLES:
        pd.testing.assert_frame_equal(getattr(loaded, table), getattr(result, table), check_exact=True)
    loaded.save(tmp_path / "two", file_format)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes(), file.name
    assert list(loaded.decision_spans) == list(result.decision_spans)


def test_jobs_stand_in_the_order_of_the_jobs_table(out_of_order: Result) -> None:
    """The shortest was given its cores first; the table begins with the first of the jobs."""
    cores = out_of_order.core_holds
    given = cores.job_ids[cores.job[cores.used.tenant]].tolist()
    assert given[:2] == ["a", "b"]
    assert list(dict.fromkeys(out_of_order.allocations["job_id"])) == ["d", "c", "b", "a", "wide"]


def test_the_numbers_are_those_of_the_tables(out_of_order: Result) -> None:
    """A job on all eight cores is one row, 0 to 7, in numbers, and one of each processor in the table."""
    used = out_of_order.core_holds.used_by_job
    wide = used.where(used.tenant == 4)
    assert (wide.first.tolist(), wide.last.tolist()) == ([0], [7])
    rows = out_of_order.allocations[out_of_order.allocations["job_id"] == "wide"]
    assert rows[["node", "processor"]].agg(".".join, axis=1).tolist() == [
        f"cluster0.node{node}.processor{processor}" for node in (0, 1) for processor in (0, 1)
    ]


def test_holds_say_more_of_what_is_run_again_and_of_guests(run_again: Result, out_of_order: Result) -> None:
    """Both attempts of the first job are there, and guests, in order of time."""
    assert run_again.core_holds.tells_more
    assert not out_of_order.core_holds.tells_more
    holds = run_again.holds
    assert holds["owner"].tolist() == ["0", "1", "0", "backup", "scrub", "backup"]
    assert holds["attempt"].tolist() == [1, 1, 2, 0, 0, 0]
    assert holds["start"].tolist() == [0.0, 1.0, 2.0, 3.0, 3.5, 6.0]


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Replace text in a file."""

    def apply(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return apply


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (replaced("holds.csv", "\n0,job", "\nx,job"), "holds.csv, line 2, owner: expected a job of jobs.csv, found x"),
        (
            replaced("holds.csv", "processor0", "processor7"),
            "line 2: expected cores that the platform has, found cluster0",
        ),
        (replaced("holds.csv", "processor0", "socket"), "holds.csv, line 2: expected cores that the platform has"),
        (replaced("holds.csv", "processor0,0,1", "processor0,0,6"), "found cluster0.node0.processor0:0-6"),
        (replaced("holds.csv", "processor0,0,1", "processor0,1,0"), "found cluster0.node0.processor0:1-0"),
    ],
)
def test_a_table_of_holds_that_is_wrong(
    run_again: Result, tmp_path: Path, spoil: Callable[[Path], None], words: str
) -> None:
    """Owners and cores that are not there are named with their line."""
    run_again.save(tmp_path)
    spoil(tmp_path)
    with pytest.raises(FormatError) as error:
        _ = Result.load(tmp_path).allocations
    assert words in str(error.value)


@pytest.mark.parametrize(
    "text", ["cluster0.node0", "cluster0.node9:1", "cluster0.node0..cluster9.node1:1", "cluster0.node0:x"]
)
def test_a_log_of_decisions_that_names_other_nodes(out_of_order: Result, tmp_path: Path, text: str) -> None:
    """Where a decision puts its job is read once, and other text is refused with its line."""
    out_of_order.save(tmp_path)
    replaced("decisions.csv", "cluster0.node0:2", text)(tmp_path)
    with pytest.raises(FormatError, match=r"decisions.csv, line \d+, nodes: expected"):
        _ = Result.load(tmp_path).decision_spans


def test_cutting_at_the_bounds_of_units() -> None:
    """Cores 1 to 6 on units of 2, 3 and 4: one of the first, three of the second, two of the third."""
    one = np.array([1])
    cut, unit = by_unit(Holds(one, one, one * 6, one * 0.5, one * 2.0), np.array([0, 2, 5, 9]))
    assert unit.tolist() == [0, 1, 2]
    assert list(zip(cut.first.tolist(), cut.last.tolist(), strict=True)) == [(1, 1), (2, 4), (5, 6)]
    assert cut.start.tolist() == [0.5] * 3
