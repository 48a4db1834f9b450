"""A standard stream that is closed or full loses no result: daemons have none, and disks fill up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_sim.cli import main
from cluster_sim.cli.streams import Lasting, go_nowhere

from .conftest import Command

ENDINGS = {
    "2>&-": 0,
    "2>/dev/full": 0,
    ">&-": 0,
    "<&- >&- 2>&-": 0,
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
CLOSED = ">&- 2>&-"
COMMANDS = {
    "convert": ("convert log.swf OUT.csv", ".csv", tuple(ENDINGS)),
    "run": ("run --platform lab.json --workload jobs.json --out OUT", "jobs.csv", (CLOSED,)),
    "compare": ("compare --platform lab.json --workload jobs.json -s fcfs --report --out OUT", "fcfs/jobs.csv", ()),
    "sweep": ("sweep sweep.yaml --workers 2 --out OUT", "table.csv", (CLOSED,)),
    "gantt": ("gantt done --out OUT.html", ".html", ()),
}
"""A command, what it leaves, and the endings with which it is tried in a process of its own."""


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


def with_full_streams(words: str) -> int | str | None:
    """Run a command in this process with both streams on a full device; return its exit status."""
    with (
        open("/dev/full", "w") as out,
        open("/dev/full", "w", buffering=1) as err,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as ended:
            main(words.split())
    return ended.value.code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("name", COMMANDS)
def test_results_are_written_whatever_the_streams_are(here_done: Path, done: Command, name: str) -> None:
    """All files of a command are there, and those with tables are the same as with whole streams, byte by byte."""
    words, result, endings = COMMANDS[name]
    here_words = words.replace("--workers 2", "--workers 1")
    done(*here_words.replace("OUT", "out0").split())
    assert with_full_streams(here_words.replace("OUT", "out1")) == 2
    for number, streams in enumerate(endings, 2):
        ended = shell(here_done, words.replace("OUT", f"out{number}"), streams)
        assert ended.returncode == ENDINGS.get(streams, 0), (streams, ended.stderr)
        assert b"Traceback" not in ended.stderr
        assert b"Exception ignored" not in ended.stderr
    files = []
    for number in range(2 + len(endings)):
        path = here_done / (f"out{number}{result}" if result.startswith(".") else f"out{number}/{result}")
        folder = path.parent if path.parent != here_done else path
        files.append(sorted(os.listdir(folder)) if folder.is_dir() else [path.suffix])
        assert path.exists(), number
        if path.suffix == ".csv":
            assert path.read_bytes() == Path(str(path).replace(f"out{number}", "out0")).read_bytes()
    assert all(found == files[0] for found in files), files


@pytest.mark.parametrize("tells_reader", [True, False])
def test_only_stdout_tells_of_a_reader_that_is_gone(tells_reader: bool) -> None:
    """What is written to a closed pipe is dropped; a wrapper of stdout raises, so that the command ends."""
    end, begin = os.pipe()
    os.close(end)
    with os.fdopen(begin, "w", buffering=1) as gone:
        stream = Lasting(gone, tells_reader)
        if tells_reader:
            with pytest.raises(BrokenPipeError):
                stream.write("lost\n")
            go_nowhere(gone)
        else:
            assert stream.write("lost\n") == 5
            assert isinstance(stream.error, BrokenPipeError)


def test_what_a_full_stdout_loses_is_told(here: Path) -> None:
    """One line on stderr says what is wrong, and that the results are there."""
    ended = shell(here, "run --platform lab.json --workload jobs.json --out out", ">/dev/full")
    assert ended.returncode == 2
    assert ended.stderr.decode().splitlines()[-1] == (
        "cluster-sim: standard output: No space left on device; what belongs in files is there"
    )


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
