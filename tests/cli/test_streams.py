"""A standard stream that is closed or full loses no result: daemons have none, and disks fill up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Command

ENDINGS = {
    "2>&-": 0,
    "2>/dev/full": 0,
    ">&-": 0,
    ">&- 2>&-": 0,
    "<&- >&- 2>&-": 0,
    ">/dev/full": 2,
    ">/dev/full 2>/dev/full": 2,
    ">/dev/full 2>&-": 2,
}
"""How a shell redirects a command's streams, and its exit status: what a full stdout was to have is lost."""

SWEEP = """\
factors:
  platform: homogeneous:nodes=2,cores=4
  workload: lublin:jobs=20,nodes=8
  scheduler: [fcfs, easy]
replications: 2
"""
CLOSED, FULL = ">&- 2>&-", ">/dev/full 2>/dev/full"
COMMANDS = {
    "convert": ("convert log.swf OUT.csv", ".csv", tuple(ENDINGS)),
    "run": ("run --platform lab.json --workload jobs.json --out OUT", "jobs.csv", (CLOSED, FULL)),
    "compare": (
        "compare --platform lab.json --workload jobs.json -s fcfs --report --out OUT",
        "fcfs/jobs.csv",
        (FULL,),
    ),
    "sweep": ("sweep sweep.yaml --workers 2 --out OUT", "table.csv", (CLOSED,)),
    "gantt": ("gantt done --out OUT.html", ".html", (FULL,)),
}
"""A command, what it leaves, and the endings that it is tried with."""


@pytest.fixture
def here_done(here: Path, done: Command) -> Path:
    """The working directory, with a sweep and a result of a run in it."""
    (here / "sweep.yaml").write_text(SWEEP)
    done("run", "--platform", "lab.json", "--workload", "jobs.json", "--out", "done")
    return here


def shell(folder: Path, words: str, streams: str) -> subprocess.CompletedProcess[bytes]:
    """The command as a shell runs it, with its streams redirected."""
    command = f"{sys.executable} -m cluster_sim {words} {streams}"
    return subprocess.run(["sh", "-c", command], cwd=folder, check=False, capture_output=True, timeout=120)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("name", COMMANDS)
def test_results_are_written_whatever_the_streams_are(here_done: Path, done: Command, name: str) -> None:
    """All files of a command are there, and those with tables are the same as with whole streams, byte by byte."""
    words, result, endings = COMMANDS[name]
    files = {}
    done(*words.replace("OUT", "out0").split())
    for number, streams in enumerate(("", *endings)):
        if streams:
            ended = shell(here_done, words.replace("OUT", f"out{number}"), streams)
            assert ended.returncode == ENDINGS[streams], (streams, ended.stderr)
            assert b"Traceback" not in ended.stderr
            assert b"Exception ignored" not in ended.stderr
        path = here_done / (f"out{number}{result}" if result.startswith(".") else f"out{number}/{result}")
        folder = path.parent if path.parent != here_done else path
        files[streams] = sorted(os.listdir(folder)) if folder.is_dir() else [path.suffix]
        assert path.exists(), streams
        if path.suffix == ".csv":
            assert path.read_bytes() == Path(str(path).replace(f"out{number}", "out0")).read_bytes()
    assert all(found == files[""] for found in files.values()), files


def test_what_a_full_stdout_loses_is_told(here: Path) -> None:
    """One line on stderr says what is wrong, and that the results are there."""
    told = shell(here, "run --platform lab.json --workload jobs.json --out out", ">/dev/full").stderr.decode()
    assert told.splitlines()[-1] == (
        "cluster-sim: standard output: No space left on device; what belongs in files is there"
    )
    told = shell(here, "list schedulers", ">/dev/full").stderr.decode()
    assert told == "cluster-sim: standard output: No space left on device; what belongs in files is there\n"


def test_python_without_a_standard_error_shows_no_bar() -> None:
    """A run, a sweep and a training of a program that has none draw their bars nowhere."""
    program = (
        "import sys; sys.stderr = None\n"
        "from cluster_sim import Platform, Simulation, Workload, make_scheduler\n"
        "from cluster_sim.run.progress import Progress\n"
        "jobs = Workload.read('lublin:jobs=5,nodes=4')\n"
        "Simulation(Platform.homogeneous(nodes=1, cores=4), jobs, make_scheduler('fcfs')).run(progress=True)\n"
        "with Progress('train', 3, 'iterations') as shown: shown.reach(1)\n"
        "print('done')\n"
    )
    assert (
        subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, capture_output=True).stdout
        == b"done\n"
    )
