"""What a cell or an argument can make a run do is bounded, and what is no argument of its kind is refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.cli import main
from cluster_sim.errors import FormatError, InputError
from cluster_sim.workload.advance_reservations import MOST, AdvanceReservation, windows_on
from cluster_sim.workload.parts import checkpoints_in
from schedulers import make_scheduler

HEADER = "submit_time,requested_cores,recorded_run_time,checkpoint_interval,checkpoint_time,checkpoint_growth\n"


def jobs(**columns: Any) -> Workload:
    """Two jobs."""
    return Workload({"submit_time": [0.0, 1], "requested_cores": [1, 2], "recorded_run_time": [5.0, 5], **columns})


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("100,1e-9,1,1", "a time of at least 0.001 s"),
        ("100,1e-300,1,1", "a time of at least 0.001 s"),
        ("1000,0.001,1,1", "a time so that at most 100,000 checkpoints are made in 1000 s of work"),
        ("1000,100,1e300,1", "a finite number >= 0, at most 1e18"),
    ],
)
def test_checkpoints_without_end_are_refused(tmp_path: Path, cells: str, expected: str) -> None:
    """By the reader, by validate and by run alike; such a run did not end."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"{HEADER}0,1,{cells}\n")
    with pytest.raises(FormatError, match=f"line 2, job 0, checkpoint_.*: expected {expected}"):
        Workload.read(path)
    for command in (["validate", str(path)], ["run", "--workload", str(path), "--platform", "homogeneous:nodes=1,cores=1",
                                              "--out", str(tmp_path / "o")]):  # fmt: skip
        told = CliRunner().invoke(main, command)
        assert (told.exit_code, told.output.count("\n")) == (2, 1)


def test_checkpoints_of_jobs_in_operations_are_bounded_in_the_run() -> None:
    """How long they work only the machine says."""
    workload = Workload(
        {"submit_time": [0.0], "requested_cores": [1], "operations": [1e18], "checkpoint_interval": ["0.01"]}
    )
    simulation = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("fcfs"))
    with pytest.raises(
        InputError, match="job 0, checkpoint_interval: expected a time so that at most 100,000 are made"
    ):
        simulation.run()


def test_the_number_of_checkpoints() -> None:
    """100 s of work by intervals of 10 s; of 10, 20, 40 … s: 10 + 20 + 40 < 100 < 150."""
    assert checkpoints_in(100.0, 10.0, 1.0) == 10.0
    assert 3.0 < checkpoints_in(100.0, 10.0, 2.0) < 4.0
    assert checkpoints_in(70.0, 10.0, 2.0) == pytest.approx(3.0)
    assert checkpoints_in(1e18, 1e-300, 2.0) == np.inf


def test_intervals_that_become_shorter_ever_so_slowly_end_a_run() -> None:
    """By one part in ten million: they would last for 10^8 checkpoints before they came to nothing."""
    workload = Workload(
        {"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [1e9], "checkpoint_interval": ["1"],
         "checkpoint_growth": [0.9999999]}
    )  # fmt: skip
    simulation = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("fcfs"))
    with pytest.raises(InputError, match="job 0, checkpoint_growth: expected 1 or more"):
        simulation.run()


def test_reservations_are_bounded() -> None:
    """A thousand at once on nodes of their own; ten thousand and one are refused."""
    platform = Platform.homogeneous(1_000, 1)
    windows = windows_on(platform, [AdvanceReservation(f"r{node}", 0, 1e6, node) for node in range(1_000)])
    assert len(windows) == 1_000
    many = [AdvanceReservation(f"r{number}", number, number + 0.5, 0) for number in range(MOST + 1)]
    with pytest.raises(InputError, match="advance reservations: expected at most 10,000, found 10,001"):
        Simulation(platform, jobs(), make_scheduler("fcfs"), reservations=many)


@pytest.mark.parametrize(
    "arguments",
    [{"reservations": 5}, {"reservations": [1]}, {"reservations": "r.yaml"}, {"accounts": 5}, {"models": 5}],
)
def test_arguments_of_another_kind_are_refused(arguments: dict[str, Any]) -> None:
    """In one line, as all other arguments of a simulation are."""
    with pytest.raises(InputError, match=rf"{next(iter(arguments))}.*: expected .*, found"):
        Simulation(Platform.homogeneous(1, 2), jobs(), make_scheduler("fcfs"), **arguments)


@pytest.mark.parametrize("ids", [[b"x", b"y"], [(1,), (2,)], [[1], [2]], [True, False], [{}, {}]])
def test_ids_that_are_neither_text_nor_numbers_are_refused(ids: list[Any]) -> None:
    """Their text in Python, b'x' or [1], is no id that anybody gave."""
    with pytest.raises(FormatError, match=r"row 0, job_id: expected text or a number"):
        jobs(job_id=ids)


def test_a_load_that_puts_submissions_beyond_all_times_is_refused() -> None:
    """It ended in a warning of numpy and submissions at infinity."""
    with pytest.raises(
        InputError, match="scale_load: expected a factor that leaves submissions within 1e\\+18 s, found 1e-320"
    ):
        jobs().scale_load(1e-320)
