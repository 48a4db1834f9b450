"""Names that people guess: each works, or ends in an error that says what stands in its place."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import cluster_sim
import learning
import schedulers
from analysis import comparison_table
from cluster_sim import Platform, Result, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.errors import InputError
from cluster_sim.workload.jobs import requests

ROWS = [{"submit_time": t, "requested_cores": 1, "recorded_run_time": 5.0, "requested_time": 9.0} for t in range(4)]
PLATFORM, WORKLOAD = Platform.homogeneous(nodes=2, cores=2), Workload(ROWS)


@pytest.fixture(scope="module")
def result() -> Result:
    """A run that is over."""
    return Simulation(PLATFORM, WORKLOAD, "easy:order=sjf", power="timeout:300").run(warn=False)


def test_what_people_guess_works(result: Result) -> None:
    """As in pandas: sums that round, slices, columns, rows, lists of runs; specs where objects are taken."""
    assert result.summary().round(2).dtype == float
    assert len(WORKLOAD) == 4
    assert [len(WORKLOAD[:2]), len(WORKLOAD[-1:]), len(WORKLOAD[3:1]), len(WORKLOAD[::1])] == [2, 1, 0, 4]
    assert WORKLOAD[1:3].jobs["job_id"].tolist() == ["1", "2"]
    assert WORKLOAD["submit_time"].tolist() == [0, 1, 2, 3]
    assert WORKLOAD[["job_id", "submit_time"]].shape == (4, 2)
    assert [job.job_id for job in WORKLOAD] == WORKLOAD.head(9)["job_id"].tolist()
    names = comparison_table([result, result]).columns.tolist()
    assert names == ["unit", "easy:order=sjf", "easy:order=sjf (2)", "easy:order=sjf (2) vs first, %"]


def test_policies_show_their_specs() -> None:
    """With their options; an object of a class shows the class."""
    assert repr(make_scheduler("easy:order=sjf")) == "<EasyBackfilling easy:order=sjf>"
    assert repr(make_power_policy("timeout:300")) == "<IdleTimeout timeout:300>"
    assert repr(schedulers.Fcfs()) == "<Fcfs fcfs>"
    assert repr(schedulers.schedulers).startswith("<Registry of schedulers: ")


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda r: schedulers.FCFS, "schedulers has no FCFS: expected Fcfs"),
        (lambda r: schedulers.EASY, "expected easy"),
        (lambda r: schedulers.Conservative, "expected ConservativeBackfilling"),
        (lambda r: learning.Jobnode, "expected JobNode"),
        (lambda r: cluster_sim.Simulator, "expected Simulation"),
        (lambda r: r.gantt(), r"expected analysis\.gantt\(result\)\.show\(\)"),
        (lambda r: r.plot(), r"expected analysis\.gantt\(result\)"),
        (lambda r: r.to_csv("x"), r"expected save\(folder\)"),
        (lambda r: r.alocations, "expected allocations"),
        (lambda r: r.summary()["makespan"], "expected makespan_s"),
        (lambda r: WORKLOAD.to_csv("x"), r"expected write\(path\)"),
        (lambda r: WORKLOAD.firts(3), "expected first"),
        (lambda r: WORKLOAD["submit"], "expected submit_time"),
        (lambda r: PLATFORM.nodes, r"expected node_count, node_names\(\)"),
        (lambda r: PLATFORM.describe(), r"expected print\(platform\)"),
        (
            lambda r: cluster_sim.Simulation(PLATFORM, WORKLOAD, "easy").time,
            r"Simulation has no time: expected env\.now",
        ),
        (lambda r: requests(WORKLOAD.jobs)[0].runtime, "Job has no runtime: expected requested_time"),
        (lambda r: requests(WORKLOAD.jobs)[0].cores, "expected requested_cores"),
    ],
)
def test_what_does_not_work_names_what_does(result: Result, ask: Callable[[Result], Any], told: str) -> None:
    """As an AttributeError or a KeyError, so that hasattr and get are of use."""
    with pytest.raises((AttributeError, KeyError), match=told):
        ask(result)


def test_a_slice_leaves_no_gaps() -> None:
    """Every second job is no part of a log."""
    with pytest.raises(InputError, match="workload, slice: expected a step of 1"):
        WORKLOAD[::2]


def test_nothing_is_there_that_is_not(result: Result) -> None:
    """Copies and pandas look for names that begin with an underscore before a thing is whole."""
    things: list[Any] = [result, WORKLOAD, PLATFORM, schedulers, learning]
    assert not any(hasattr(thing, name) for thing in things for name in ("__array__", "_repr_svg_", "nonsense"))
    assert isinstance(pd.Series([WORKLOAD, PLATFORM]), pd.Series)


@pytest.mark.parametrize(
    ("library", "code", "extra"),
    [
        ("torch", "from learning.training import train", "learning"),
        ("torch", "from cluster_sim import make_scheduler; make_scheduler('learned:lopez-energy')", "learning"),
        ("gymnasium", "from learning import JobNode", "learning"),
        ("gymnasium", "import learning; learning.SchedulingEnv", "learning"),
        ("anywidget", "from analysis import gantt_widget; gantt_widget(None)", "notebook"),
    ],
)
def test_a_missing_library_ends_in_the_line_of_the_command_line(
    tmp_path: Path, library: str, code: str, extra: str
) -> None:
    """In Python, too: which one, of which extra, and how to install it. It stays an ImportError."""
    wrapped = f"import sys\nsys.modules[{library!r}] = None\ntry:\n    {code.replace('; ', chr(10) + '    ')}\n"
    wrapped += "except ImportError as error:\n    print(type(error).__name__, error)\n"
    told = subprocess.run([sys.executable, "-c", wrapped], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.stdout.startswith("MissingLibraryError "), told.stdout + told.stderr
    assert f"expected {library} to be installed (cluster-sim[{extra}]): pip install" in told.stdout
