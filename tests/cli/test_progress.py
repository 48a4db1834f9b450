"""How far long commands are: lines on stderr where that is no terminal, by an injected clock, and from every such command."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import analysis.reproduce
from cluster_sim import Platform, Simulation, Workload
from cluster_sim.run import progress
from cluster_sim.run.progress import Progress
from tests.cli.test_train import TRAINING
from tests.support.made_up import make
from tests.support.sacct_rows import CONF, HEAD, weekly


@dataclass
class Clock:
    """Wall-clock time that a test sets."""

    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Work:
    """Steps of a progress whose lines a test reads, s after its start."""

    total: int
    before: int = 0
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.progress = Progress("train", self.total, "iterations", self.before, clock=self.clock)

    def at(self, seconds: float, done: int, **notes: str) -> None:
        """Have so many steps done then, and look."""
        self.clock.now = 1_000.0 + seconds
        self.progress.reach(done, **notes)
        self.progress.look()


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    """The lines on stderr since the last call; stdout has none."""

    def lines() -> list[str]:
        out, err = capsys.readouterr()
        assert out == ""
        return err.splitlines()

    return lines


def test_a_line_at_every_tenth(told: Callable[[], list[str]]) -> None:
    """A line says what is done of what, the time that is gone, and an estimate of the rest."""
    work = Work(20)
    for done in range(1, 21):
        work.at(done * 10.0, done)
    lines = told()
    assert [line.partition(" %")[0] for line in lines] == [f"train: {10 * tenth}" for tenth in range(1, 11)]
    assert lines[2] == "train: 30 % (6 of 20 iterations), 60 s gone, about 140 s left"
    assert lines[-1] == "train: 100 % (20 of 20 iterations), 200 s gone"


def test_a_short_command_is_quiet(told: Callable[[], list[str]]) -> None:
    """No line comes in the first five seconds, and never two within five."""
    work = Work(1_000)
    for tick in range(1, 50):
        work.at(tick / 10, 20 * tick)
    assert told() == []
    work.at(5.0, 995)
    work.at(5.1, 1_000)
    assert len(told()) == 1


def test_a_long_step_is_no_standstill(told: Callable[[], list[str]]) -> None:
    """A line after half a minute in which nothing was finished; the rest cannot be estimated before the first step."""
    work = Work(20)
    for tick in range(130):
        work.at(tick / 2, 0)
    work.at(75.0, 1, reward="-3.2")
    work.at(89.0, 1, reward="-3.2")
    work.at(90.0, 1, reward="-3.2")
    assert told() == [
        "train: 0 % (0 of 20 iterations), 30 s gone",
        "train: 0 % (0 of 20 iterations), 60 s gone",
        "train: 5 % (1 of 20 iterations), 90 s gone, about 28 min 30 s left, reward -3.2",
    ]


def test_what_an_earlier_call_did_took_no_time_of_this_one(told: Callable[[], list[str]]) -> None:
    """A command that goes on estimates the rest from what it has done itself; thousands are set apart."""
    work = Work(2_000, before=1_000)
    work.at(29.0, 1_000)
    assert told() == []
    work.at(40.0, 1_200)
    assert told() == ["train: 60 % (1,200 of 2,000 iterations), 40 s gone, about 160 s left"]


def test_nothing_to_do(told: Callable[[], list[str]]) -> None:
    """A total of 0 is no error."""
    work = Work(0)
    work.at(31.0, 0)
    assert told() == ["train: 0 % (0 of 0 iterations), 31 s gone"]


class Full(io.StringIO):
    """A stream on a disk without space."""

    def write(self, text: str) -> int:
        """Fail as such a stream does."""
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("stream", ["full", "closed", "none"])
def test_a_broken_stderr_loses_no_result(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that shows its progress in Python ends as one that does not."""
    at_every_look(monkeypatch)
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", {"full": Full(), "closed": closed, "none": None}[stream])
    jobs = Workload({"submit_time": [0, 1], "requested_cores": [2, 2], "recorded_run_time": [5, 5]})
    result = Simulation(Platform.homogeneous(nodes=1, cores=2), jobs, "fcfs").run(progress=True)
    assert result.jobs["finish_time"].tolist() == [5.0, 10.0]


def at_every_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every look at a progress write a line, also the one at the end."""
    monkeypatch.setattr(progress, "LEAST_GAP_S", 0.0)
    monkeypatch.setattr(progress, "LONGEST_GAP_S", 0.0)


SWEEP = """\
factors:
  platform: homogeneous:nodes=2,cores=4
  workload: lublin:jobs=20,nodes=8
  scheduler: [fcfs, easy]
replications: 2
"""
LAB = "--platform lab.json --workload jobs.json"
COMMANDS = {
    f"run {LAB} --scheduler easy --out o": ["run of easy: 100 % (8 of 8 jobs)"],
    f"compare {LAB} -s fcfs -s sjf --out o": ["run of fcfs: 100 % (8 of 8 jobs)", "run of sjf: 100 % (8 of 8 jobs)"],
    "sweep sweep.yaml --workers 1 --out o": ["sweep: 100 % (4 of 4 runs)"],
    "whatif jobs.txt --conf slurm.conf --nodes +1 --out o": [
        "unchanged run: 100 % (12 of 12 jobs)",
        "changed run: 100 % (12 of 12 jobs)",
    ],
    "reproduce made-up --workers 1 --inputs . --out o": ["reproduce: 100 % (4 of 4 parts)"],
    "train training.yaml --workers 1 --out o": ["train: 100 % (3 of 3 iterations)"],
    "train training.yaml --seeds 2 --workers 1 --out o": ["train: 100 % (6 of 6 iterations)"],
    "train training.yaml --seeds 2 --workers 2 --out o": ["train: 100 % (6 of 6 iterations)"],
    "evaluate agent --workload jobs.json --runs 2 --heuristic fcfs --workers 1 --out o": [
        "evaluate: 100 % (3 of 3 tests)"
    ],
}
"""Commands, and the last line of each thing that they do; runs within a sweep or a training have none of their own."""
LINE = re.compile(r"^([a-z ]+): \d+ % \([\d,]+ of [\d,]+ [a-z]+\), [\dhmins ]+ gone")


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words.split()[:3]))
def test_every_long_command_says_how_far_it_is(words: str, here: Path, done, monkeypatch: pytest.MonkeyPatch) -> None:
    """On stderr, with the name of what goes on; what is printed is what it is without."""
    if words.startswith(("train", "evaluate")):
        pytest.importorskip("torch")
        pytest.importorskip("gymnasium")
    (here / "sweep.yaml").write_text(SWEEP)
    (here / "training.yaml").write_text(TRAINING)
    (here / "slurm.conf").write_text(CONF)
    (here / "jobs.txt").write_text("\n".join([HEAD, *weekly(6), ""]))
    (here / "number.txt").write_text("7")
    monkeypatch.setattr(analysis.reproduce, "paper_of", lambda name: make(here / "log"))
    if words.startswith("evaluate"):
        done(*"train training.yaml --iterations 0 --workers 1 --out agent".split())
    at_every_look(monkeypatch)
    result = done(*words.split())
    found = [line for line in result.stderr.splitlines() if LINE.match(line)]
    names = list(dict.fromkeys(line.partition(":")[0] for line in found))
    last = [[line for line in found if line.startswith(f"{name}:")][-1].partition(",")[0] for name in names]
    assert last == COMMANDS[words]
    assert not any(LINE.match(line) for line in result.stdout.splitlines())
    if "--seeds" in words:  # each in a folder of its own, and a line about each
        assert [line.split(":")[0] for line in result.stdout.splitlines()[:2]] == ["seed 0", "seed 1"]
        assert {"seed-0", "seed-1"} <= {path.name for path in (here / "o").iterdir()}
