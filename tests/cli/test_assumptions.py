"""Commands tell what is assumed: a warning line for each kind, in validate, in the report and in summary.json."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

DIRTY = """\
; Version: 2.2
; MaxProcs: 4
1   0 -1 100 4 -1 -1 4 120 -1 1 1 1 1 1 1 -1 -1
2  10 -1  50 2 -1 -1 2  -1 -1 1 2 1 1 1 1 -1 -1
3  20 -1  10 1 -1 -1 1  -1 -1 1 2 1 1 1 1 -1 -1
4  30 -1  -1 1 -1 -1 1  20 -1 5 2 1 1 1 1 -1 -1
"""
WIDE = ("-p", "homogeneous:nodes=4,cores=4", "-w", "lublin:jobs=60,nodes=64,seed=1")


@pytest.fixture
def dirty(here: Path) -> Path:
    """A log of four jobs in the working directory: one without a run time, two without a requested time."""
    (here / "dirty.swf").write_text(DIRTY)
    return here


def warnings_of(result) -> list[str]:
    """What a command warned of, without the program's name."""
    return [line.partition("warning: ")[2] for line in result.stderr.splitlines()]


def test_a_run_warns_of_each_kind_once(done) -> None:
    """Too wide jobs, perfect estimates and free switches: a line each on stderr, the same list in summary.json."""
    result = done("run", *WIDE, "-s", "easy", "--power-policy", "timeout:300", "--out", "out", "--report")
    kinds = [line.partition(":")[0] for line in warnings_of(result)]
    assert kinds == ["requested time", "watts", "rejected", "transitions"]
    saved = json.loads(Path("out/summary.json").read_text())
    assert sorted(saved["assumptions"] + saved["left_out"]) == sorted(warnings_of(result))
    assert [line.partition(":")[0] for line in saved["left_out"]] == ["rejected"]
    page = Path("out/report.html").read_text()
    for line in warnings_of(result):
        assert line in page


def test_a_comparison_tells_each_kind_once(done) -> None:
    """Two schedulers under which nodes switch: one line; the report names whom a line is about where they differ."""
    inputs = ("-p", "homogeneous:nodes=4,cores=4", "-w", "lublin:jobs=60,nodes=16,seed=3")
    result = done(
        "compare", *inputs, "-s", "fcfs", "-s", "easy", "--power-policy", "timeout:300", "--out", "out", "--report"
    )
    kinds = [line.partition(":")[0] for line in warnings_of(result)]
    assert kinds == ["requested time", "watts", "transitions"]
    page = Path("out/report.html").read_text()
    assert "<li>requested time: " in page
    assert "<li>FCFS: transitions: " in page
    assert "<li>EASY backfilling: transitions: " in page


def test_a_dirty_log_is_told_of(done, dirty: Path) -> None:
    """validate counts the requested times that there are; run warns, and keeps the jobs that the reader dropped."""
    said = done("validate", "dirty.swf")
    assert "requested time              1 job\n" in said.stdout
    assert "requested time: 2 of 3 jobs have none; their run time stands in, a perfect estimate" in said.stdout
    done("run", "-w", "dirty.swf", "--out", "out")
    saved = json.loads(Path("out/summary.json").read_text())
    (dropped,), (assumed, watts) = saved["left_out"], saved["assumptions"]
    assert "1 of 4 jobs dropped" in dropped
    assert assumed.startswith("requested time: 2 of 3 jobs")
    assert watts.startswith("watts: ")
    assert "requested time: 2 of 3 jobs" in done("validate", "out").stdout


def test_warnings_of_one_run_are_not_the_next_ones(done, dirty: Path) -> None:
    """A replay that cannot keep its times warns; the run after it in a comparison does not have that in its list."""
    done("run", "-w", "dirty.swf", "--out", "first")
    jobs = pd.read_csv("first/jobs.csv")
    jobs.loc[1, ["start_time", "finish_time"]] = [50.0, 100.0]  # while job 1 has all cores
    jobs.to_csv("recorded.csv", index=False)
    done("compare", "-w", "dirty.swf", "-s", "replay:recorded.csv", "-s", "fcfs", "--out", "out")
    fcfs, late = (json.loads(path.read_text())["left_out"] for path in sorted(Path("out").glob("*/summary.json")))
    assert next(line for line in late if line not in fcfs).startswith("recorded.csv: job 2 starts at 100 s")
    assert len(fcfs) == len(late) - 1 == 1


def test_validate_says_what_a_configuration_will_assume(done, here: Path) -> None:
    """Of a run: jobs too wide, and nodes that switch for nothing; of a sweep: the same, a line for each kind."""
    (here / "run.yaml").write_text(
        "platform: homogeneous:nodes=4,cores=4\nworkload: lublin:jobs=60,nodes=64,seed=1\npower_policy: timeout:300\n"
    )
    said = done("validate", "run.yaml").stdout
    assert "the widest asks for 64 cores, the platform has 16" in said
    assert "transitions: 4 of 4 nodes state none; they switch in 0 s for 0 J, and draw 0 W while off" in said
    (here / "sweep.yaml").write_text(
        "factors:\n  platform: homogeneous:nodes=4,cores=4\n  workload: ['lublin:jobs=60,nodes=64', 'lublin:jobs=30,nodes=64']\n"
        "  power_policy: [always-on, timeout:300]\n"
    )
    said = done("validate", "sweep.yaml").stdout
    assert said.count("rejected: ") == said.count("transitions: ") == said.count("requested time: ") == 1


def test_json_has_all_of_them(done) -> None:
    """In validate's JSON they are a list beside the facts."""
    told = json.loads(done("validate", "--json", "lublin:jobs=60,nodes=64,seed=1").stdout)
    assert told["assumed"] == ["requested time: 60 of 60 jobs have none; their run time stands in, a perfect estimate"]
    assert "assumed" not in told["facts"]


def test_a_sweep_tells_how_many_runs_reject_jobs(done, here: Path) -> None:
    """Of two workloads one is too wide: half the runs reject jobs, and one line says so with the largest number."""
    (here / "sweep.yaml").write_text(
        "factors:\n  platform: homogeneous:nodes=4,cores=4\n"
        "  workload: ['lublin:jobs=60,nodes=64', 'lublin:jobs=30,nodes=16']\nreplications: 1\n"
    )
    result = done("sweep", "sweep.yaml", "--out", "out", "--workers", "1")
    lines = {line.partition(":")[0]: line for line in warnings_of(result)}
    assert set(lines) == {"requested time", "watts", "rejected"}
    assert "in 1 of 2 runs, at most " in lines["rejected"]
    assert lines["rejected"].endswith(" of 60 jobs")


INVENTED = "watts: the platform states none; those of a 3 GHz processor (13.9 W idle, else 35.1 W + 3.3 W a busy core) stand in"
"""Idle: 0.3959 of 35.108 W."""


@pytest.mark.parametrize("platform", [(), ("-p", "homogeneous:nodes=2,cores=4")])
def test_watts_that_nothing_states_are_told_of(done, platform: tuple[str, ...]) -> None:
    """A platform made from a log, and one from a spec without watts, draw those of a documented processor."""
    assert INVENTED in warnings_of(done("run", "-w", "log.swf", *platform, "--out", "out"))
    # Read again, the platform is a file that states them.
    assert "watts: " not in done("run", "-w", "log.swf", "-p", "out/platform.json", "--out", "again").stderr


def test_a_dropped_job_is_one_of_the_whole_file(done, dirty: Path) -> None:
    """Of a run of the first two jobs, the line on the fourth says that it is about the file; of all jobs it need not."""
    done("run", "-w", "dirty.swf", "--first", "2", "--out", "out")
    (dropped,) = json.loads(Path("out/summary.json").read_text())["left_out"]
    assert "1 of 4 jobs dropped" in dropped
    assert dropped.endswith("(in the whole file; the run takes 2 jobs of it)")
    assert "whole file" not in done("run", "-w", "dirty.swf", "--first", "3", "--out", "out").stderr
