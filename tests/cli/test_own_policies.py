"""Schedulers and power policies that are classes in a file of the user's."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from schedulers import make_scheduler

OWN = '''\
from __future__ import annotations

from dataclasses import dataclass

from beside import key
from cluster_sim import PowerPolicy, Scheduler, Start


@dataclass
class Remembered:
    at: float = 0.0


class Widest(Scheduler):
    """Start the widest jobs first, so many in a pass."""

    def __init__(self, at_once: int = 1000):
        self.at_once = at_once

    def schedule(self, view):
        for job in sorted(view.pending, key=key)[: self.at_once]:
            placement = view.place(job)
            if placement is not None:
                yield Start(job, placement)


class Careless(Scheduler):
    def schedule(self, view):
        for job in view.pending:
            yield Start(job, view.place(job))


class Twice(Scheduler):
    def schedule(self, view):
        for job in view.pending:
            placement = view.place(job)
            yield Start(job, placement)
            yield Start(job, placement)


class Slip(Scheduler):
    def schedule(self, view):
        return view.pendng


class Unmade(Scheduler):
    def __init__(self):
        self.depth = int("deep")


class Awake(PowerPolicy):
    def react(self, view):
        return ()


class Sleepy(PowerPolicy):
    def react(self, view):
        return [1 / 0]
'''


def line_of(text: str) -> int:
    """The number of the line of the file that has it."""
    return next(number for number, line in enumerate(OWN.splitlines(), 1) if text in line)


RUN = ("run", "--platform", "lab.json", "--workload", "jobs.json", "--out", "out")


@pytest.fixture(autouse=True)
def own(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's file, and one beside it that it imports."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    (here / "beside.py").write_text("def key(job):\n    return -job.requested_cores\n")
    path = here / "own.py"
    path.write_text(OWN)
    return path


def test_a_class_in_a_file_schedules(done, own: Path) -> None:
    """A scheduler from a file takes options as any other does; the records name it, and the file with its checksum."""
    done(*RUN, "--scheduler", "own.py:Widest,at_once=2")
    summary = json.loads(Path("out/summary.json").read_text())
    assert summary["scheduler"] == "own.py:Widest,at_once=2"
    assert summary["inputs"]["own.py"] == hashlib.sha256(own.read_bytes()).hexdigest()
    assert make_scheduler("own.py:Widest,at_once=2").at_once == 2
    assert "own.py:Widest" in done("compare", *RUN[1:], "-s", "fcfs", "-s", "own.py:Widest").stdout


def test_so_does_one_that_a_configuration_names(done, own: Path) -> None:
    """A configuration names a policy in a file beside it: a scheduler or a power policy."""
    folder = own.parent / "study"
    folder.mkdir()
    own.rename(folder / "own.py")
    Path("beside.py").rename(folder / "beside.py")
    keys = {"workload": "../jobs.json", "platform": "../lab.json", "scheduler": "own.py:Widest"}
    (folder / "study.yaml").write_text(json.dumps(keys | {"power_policy": "own.py:Awake"}))
    done("run", "study/study.yaml", "--out", "out")
    assert json.loads(Path("out/summary.json").read_text())["power_policy"] == "study/own.py:Awake"


def test_a_sweep_runs_it_in_its_processes(done, own: Path) -> None:
    """Each process finds the file, wherever the sweep was called from; tables have the spec as it was written."""
    folder = own.parent / "study"
    folder.mkdir()
    own.rename(folder / "own.py")
    Path("beside.py").rename(folder / "beside.py")
    factors = {"workload": "../jobs.json", "platform": "../lab.json", "scheduler": ["fcfs", "own.py:Widest,at_once=2"]}
    (folder / "grid.yaml").write_text(json.dumps({"factors": factors}))
    told = done("sweep", "study/grid.yaml", "--out", "out", "--workers", "2").stdout
    assert "2 of 2 runs done" in told
    assert "own.py:Widest,at_once=2" in told


@pytest.mark.parametrize(
    ("option", "spec", "told"),
    [
        ("--scheduler", "gone.py:Widest", "gone.py: expected a Python file, found no such file"),
        ("--scheduler", "own.py", "scheduler 'own.py': expected own.py:NAME, NAME being one of Widest, Careless, "),
        (
            "--scheduler",
            "own.py:Widest:at_once=2",
            "scheduler 'own.py:Widest:at_once=2': expected own.py:NAME, NAME being one of ",
        ),
        ("--scheduler", "own.py:Remembered", "scheduler 'own.py:Remembered': expected own.py:NAME, NAME being one of "),
        ("--power-policy", "own.py:Widest", "power policy 'own.py:Widest': expected own.py:NAME, NAME being one of "),
        ("--scheduler", "own.py:Widest,at=2", "scheduler 'own.py:Widest,at=2': expected an option of Widest (at_once)"),
        (
            "--scheduler",
            "own.py:Widest,at_once=x",
            "scheduler 'own.py:Widest,at_once=x', option at_once: expected a whole number",
        ),
        (
            "--scheduler",
            "beside.py:Widest",
            "scheduler 'beside.py:Widest': expected beside.py:NAME, NAME being a class",
        ),
        (
            "--scheduler",
            "own.py:Careless",
            "Start, placement: expected a placement, such as view.place finds for a job",
        ),
        (
            "--scheduler",
            "own.py:Twice",
            "own.py: expected decisions that can be carried out, found job j0 is not pending",
        ),
        (
            "--scheduler",
            "own.py:Slip",
            f"own.py line {line_of('pendng')}, in schedule: expected code that runs, found AttributeError: ",
        ),
        (
            "--scheduler",
            "own.py:Unmade",
            f"own.py line {line_of('deep')}, in __init__: expected code that runs, found ValueError: invalid literal for",
        ),
        (
            "--power-policy",
            "own.py:Sleepy",
            f"own.py line {line_of('1 / 0')}, in react: expected code that runs, found ZeroDivisionError: division by zero",
        ),
    ],
)
def test_what_is_wrong_with_it_is_told_in_one_line(refused, option: str, spec: str, told: str) -> None:
    """In its name, in its options, in what it decides, and in its code, with the line."""
    assert refused(*RUN, option, spec).startswith(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def f(:\n", "bad.py line 1: expected Python that runs, found SyntaxError: invalid syntax"),
        ("\nimport nowhere\n", "bad.py line 2: expected Python that runs, found ModuleNotFoundError: No module named"),
        ("x = [][0]\n", "bad.py line 1: expected Python that runs, found IndexError: list index out of range"),
    ],
)
def test_a_file_that_python_cannot_run_is_told_with_its_line(refused, text: str, told: str) -> None:
    """Before anything is written."""
    Path("bad.py").write_text(text)
    assert refused(*RUN, "--scheduler", "bad.py:Any").startswith(told)
    assert not Path("out").exists()


def test_a_placement_that_is_none_is_told_with_its_job(refused) -> None:
    """``Start(job, view.place(job))`` where the job does not fit: the line names the job."""
    assert refused(*RUN, "--scheduler", "own.py:Careless").endswith("(None: it does not fit), found None for job j5")


@pytest.mark.parametrize("there", [False, True])
def test_a_command_that_fails_leaves_no_empty_folder(refused, there: bool) -> None:
    """Unless it was there before."""
    if there:
        Path("results/mine").mkdir(parents=True)
    refused(*RUN[:-1], "results/mine", "--scheduler", "own.py:Careless")
    assert Path("results").exists() == Path("results/mine").exists() == there
