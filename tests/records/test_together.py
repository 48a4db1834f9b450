"""The files of a result belong together: whatever kills or disturbs a program that saves one, none is loaded as half another."""

from __future__ import annotations

import contextlib
import errno
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from click.testing import Result as Done

from cluster_sim import FormatError, InputError, Platform, Result, Simulation, Workload
from cluster_sim.cli import main
from cluster_sim.files.atomic import atomic_files
from cluster_sim.files.folders import LOCK, held
from schedulers import make_scheduler

# Two runs that differ in every file: jobs, nodes, clock and decisions.
MAKE = """
import sys
from cluster_sim import Platform, Result, Simulation, Workload
from schedulers import make_scheduler

def run(hosts, scheduler, explain):
    jobs = {"submit_time": range(40), "requested_cores": [1 + i % 4 for i in range(40)],
            "recorded_run_time": [5 + 7 * i % 11 for i in range(40)], "requested_time": [20] * 40}
    platform = Platform.homogeneous(hosts, 4)
    return Simulation(platform, Workload(jobs), make_scheduler(scheduler), explain=explain).run()

runs = run(2, "fcfs", True), run(3, "sjf", False)
folder = sys.argv[1]
"""
# Saves the second run over the first again and again, and is killed at the first, second … thing it does to a file.
KILLED_EVERYWHERE = (
    MAKE
    + """
import os, signal
left = 0

def kill(event, arguments):
    global left
    if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.truncate"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill)
for point in range(1, 1000):
    runs[0].save(folder)
    child = os.fork()
    if child == 0:
        left = point
        runs[1].save(folder)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    try:
        found = Result.load(folder)
        jobs, states, power, decisions = found.jobs, found.node_states, found.power, found.decisions
        of = [len(jobs) and run.jobs.equals(jobs) and run.node_states.equals(states) and run.power.equals(power)
              and len(run.decisions) == len(decisions) and run.platform == found.platform
              and run.summary()["makespan_s"] == found.summary()["makespan_s"] for run in runs]
        print("first" if of[0] else "second" if of[1] else "mixture")
    except Exception as error:
        print(str(error).replace(folder, ""))
    if status == 0:
        break
"""
)
SAVING = (
    MAKE
    + """
for result in runs:
    result.save(folder)
print("saving", flush=True)
while True:
    for result in runs:
        result.save(folder)
"""
)
HOLDING = """
import sys, time
from cluster_sim.files.folders import held
with held(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""
NO_RESULT = "summary.json: expected the results of a run, found no such file"


@contextlib.contextmanager
def process(script: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A program of its own that has said its first line; killed at the end, at the latest."""
    child = subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        yield child
    finally:
        child.kill()
        child.communicate()


def runs() -> tuple[Result, Result]:
    """Two results of the same jobs that differ."""
    jobs = Workload({"submit_time": [0, 0, 1], "requested_cores": [2, 4, 1], "recorded_run_time": [10, 5, 3]})
    first, second = (
        Simulation(Platform.homogeneous(nodes, 4), jobs, make_scheduler(name), explain=nodes == 1).run()
        for nodes, name in ((1, "fcfs"), (2, "sjf"))
    )
    return first, second


def test_killed_at_any_touch_of_a_file(tmp_path: Path) -> None:
    """Killed before each single open, rename and removal: the older result, none, or the newer one."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED_EVERYWHERE, str(tmp_path / "out")],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    found = [line.strip().removeprefix("/") for line in done.stdout.splitlines()]
    assert set(found) == {"first", NO_RESULT, "second"}
    assert found == sorted(found, key=["first", NO_RESULT, "second"].index)
    assert found[-1] == "second"
    assert found.count("first") > 8
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "conditions.json", "jobs.csv", "node_states.csv", "nodes.csv", "platform.json", "power.csv", "summary.json",
    ]  # fmt: skip


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """A program that saves two results in turn is killed, again and again, and what it left is loaded."""
    draw = random.Random(1)
    tried = loaded = 0
    while loaded < 2 and tried < 20:  # what is killed while it saves for the first time leaves nothing to load
        tried += 1
        with process(SAVING, tmp_path) as child:
            time.sleep(draw.uniform(0, 0.1))
            child.send_signal(signal.SIGKILL)
            child.wait()
        try:
            result = Result.load(tmp_path)
        except FormatError as error:
            assert NO_RESULT in str(error)
            continue
        loaded += 1
        assert result.jobs["finish_time"].max() == result.summary()["makespan_s"]
        assert len(result.nodes) == result.platform.node_count
        assert bool(len(result.decisions)) == (result.platform.node_count == 2)  # only that run kept a log
    assert loaded


def test_a_result_that_cannot_be_written_leaves_the_older_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full at the third table: a line that names the file, and everything as before."""
    first, second = runs()
    first.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write, calls = pd.DataFrame.to_csv, []

    def full(table: pd.DataFrame, path: object, **options: object) -> None:
        calls.append(path)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(table, path, **options)

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    with pytest.raises(
        FormatError, match=r"node_states\.csv: expected a file that can be written, found No space left"
    ):
        second.save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_loaded_result_does_not_take_up_tables_of_another(tmp_path: Path) -> None:
    """Tables are read when they are asked for; by then another run may lie there, or is just being written."""
    first, second = runs()
    first.save(tmp_path)
    loaded, untouched = Result.load(tmp_path), Result.load(tmp_path)
    jobs = loaded.jobs
    second.save(tmp_path)
    assert loaded.jobs is jobs
    for table in ("power", "decisions", "p_states"):
        with pytest.raises(
            FormatError, match="expected the results that were there when they were loaded, found others"
        ):
            getattr(loaded, table)
    first.save(tmp_path)
    assert untouched.jobs.equals(first.jobs)
    (tmp_path / "summary.json").unlink()
    with pytest.raises(FormatError, match="expected the results that were there"):
        _ = untouched.node_states


def test_files_that_belong_together(tmp_path: Path) -> None:
    """None is replaced before all are written, and the seal is there last; an exception changes nothing."""
    for name in "ab":
        (tmp_path / name).write_text("old")
    with atomic_files(tmp_path / "a") as aside:
        aside(tmp_path / "a").write_text("new")
        aside(tmp_path / "b").write_text("new")
        assert aside(tmp_path / "b") == aside(tmp_path / "b")
        assert [(tmp_path / name).read_text() for name in "ab"] == ["old", "old"]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "new", "b": "new"}
    with pytest.raises(ZeroDivisionError), atomic_files(tmp_path / "a") as aside:
        aside(tmp_path / "b").write_text("newer")
        raise ZeroDivisionError
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "new", "b": "new"}


# ---------------------------------------------------------------------- two at a time

TRAINING = """
environment: {kind: job-node, platform: "homogeneous:nodes=1,cores=2", workload: "lublin:jobs=4,nodes=2"}
algorithm: {name: ppo}
iterations: 1
episodes: 1
"""
SWEEP = {
    "factors": {"platform": "homogeneous:nodes=4,cores=1", "workload": "lublin:jobs=5,nodes=4", "scheduler": ["fcfs"]}
}
RUN = ("--platform", "homogeneous:nodes=4,cores=1", "--workload", "lublin:jobs=5,nodes=4", "--scheduler", "fcfs")
COMMANDS = (
    ("run", *RUN), ("compare", *RUN), ("sweep", "sweep.json"), ("train", "train.yaml"), ("convert", "result"),
)  # fmt: skip


def command(here: Path, *words: str) -> Done:
    """A command in a folder."""
    with contextlib.chdir(here):
        return CliRunner().invoke(main, words)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_folder_in_use_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    """In one line, exit status 2, and nothing is written; once its holder is killed, the folder is free."""
    (tmp_path / "sweep.json").write_text(json.dumps(SWEEP))
    (tmp_path / "train.yaml").write_text(TRAINING)
    runs()[0].save(tmp_path / "result")
    out = tmp_path / "out"
    out.mkdir()
    target = (str(out),) if words[0] == "convert" else ("--out", str(out))
    with process(HOLDING, out):
        refused = command(tmp_path, *words, *target)
        assert refused.exit_code == 2, refused.stderr
        assert f"{out}: expected a folder that no other {'sweep' if words[0] == 'sweep' else 'program'} writes to" in (
            refused.stderr
        )
        assert refused.stderr.count("\n") == 1
        assert [path.name for path in out.iterdir()] == [LOCK]
    if words[0] in ("run", "convert", "sweep"):
        assert (out / LOCK).exists()  # of the holder, who was killed
        done = command(tmp_path, *words, *target)
        assert done.exit_code == 0, done.stderr
        assert not (out / LOCK).exists()


def test_two_runs_at_once_end_with_one_result(tmp_path: Path) -> None:
    """Started together, one may be refused; what lies there is the result of one that was not."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "cluster_sim", "run", *RUN[:-1], scheduler, "--seed", "3", "--out", str(tmp_path / "out")],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for scheduler in ("fcfs", "sjf")
    ]  # fmt: skip
    ends = [(child.communicate(timeout=120)[1], child.returncode) for child in started]
    assert {status for _, status in ends} <= {0, 2}
    assert all("no other program writes to" in text for text, status in ends if status)
    done = [name for name, (_, status) in zip(("fcfs", "sjf"), ends, strict=True) if status == 0]
    assert Result.load(tmp_path / "out").meta["scheduler"] in done


def test_saving_waits_for_no_one(tmp_path: Path) -> None:
    """Result.save is refused as well while the folder is in use, and what was there stays."""
    first, second = runs()
    first.save(tmp_path)
    with process(HOLDING, tmp_path), pytest.raises(InputError, match="a folder that no other program writes to"):
        second.save(tmp_path)
    assert Result.load(tmp_path).jobs.equals(first.jobs)


def test_who_holds_a_folder_for_others_may_save_there(tmp_path: Path) -> None:
    """As a command does: its parts hold the folder once more, and let it go with the command only."""
    first, _ = runs()
    with held(tmp_path, nested=True):
        first.save(tmp_path)
        assert (tmp_path / LOCK).exists()
    assert not (tmp_path / LOCK).exists()
    with held(tmp_path), pytest.raises(InputError, match="no other program"):
        first.save(tmp_path)


def test_an_interrupted_comparison_has_no_table_of_an_older_one(tmp_path: Path) -> None:
    """Runs are replaced one by one, so that the older table would stand beside newer runs."""
    words = ("compare", *RUN, "--scheduler", "sjf", "--report", "--out", "out")
    assert command(tmp_path, *words).exit_code == 0
    assert {"comparison.csv", "report.html"} <= {path.name for path in (tmp_path / "out").iterdir()}
    (tmp_path / "out/sjf/jobs.csv").unlink()
    (tmp_path / "out/sjf/jobs.csv").mkdir()  # at which the second run cannot be saved
    refused = command(tmp_path, *words)
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"fcfs", "sjf"}
    with pytest.raises(FormatError, match=NO_RESULT):
        Result.load(tmp_path / "out/sjf")
