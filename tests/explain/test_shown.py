"""The reasons on the command line and in the hover of the chart."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from analysis import gantt
from analysis.gantt_chart.hover import job_hover, last_reasons, place_texts, reasons
from cluster_sim import Platform, Result, Simulation, Workload, make_scheduler
from cluster_sim.cli import main

JOBS = "job_id,submit_time,requested_cores,recorded_run_time,requested_time\na,0,2,10,10\nb,1,4,5,5\nc,2,2,5,5\n"


def command(*words: str, status: int = 0) -> str:
    """What a command prints."""
    done = CliRunner().invoke(main, words)
    assert done.exit_code == status, done.output
    return done.output


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workload: a holds two of four cores, b needs all, and c would fit beside a."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.csv").write_text(JOBS)
    return tmp_path


WAITS = "it asks for 4 cores, 2 free"
INPUT = ("--platform", "homogeneous:nodes=1,cores=4", "--workload", "jobs.csv")


def test_run_and_explain(here: Path) -> None:
    """The reason, from the folder that run left."""
    command("run", *INPUT, "--explain", "--out", "out")
    assert f"  from 1 s to 10 s: {WAITS}; job a holds 2 cores (expected until 10 s);" in command("explain", "out", "b")
    assert "such as c, found zebra" in command("explain", "out", "zebra", status=2)


def test_explain_without_a_log(here: Path) -> None:
    """A run without a log tells the same reason, and leaves no file of decisions."""
    command("run", *INPUT, "--out", "out")
    assert not Path("out/decisions.csv").exists()
    assert f"  from 1 s to 10 s: {WAITS}; job a holds 2 cores (expected until 10 s);" in command("explain", "out", "b")


def test_compare_and_configuration(here: Path) -> None:
    """Compare keeps a log of each run; a configuration may ask for one."""
    command("compare", *INPUT, "-s", "fcfs", "-s", "easy", "--explain", "--out", "out")
    assert {len(pd.read_csv(f"out/{name}/decisions.csv")) > 3 for name in ("fcfs", "easy")} == {True}
    (here / "study.yaml").write_text(f"platform: {INPUT[1]}\nworkload: jobs.csv\nexplain: true\n")
    command("run", "study.yaml", "--out", "mine")
    assert Path("mine/decisions.csv").exists()


def result_of(scheduler: str, explain: bool) -> Result:
    """The run of the command above."""
    Path("jobs.csv").write_text(JOBS)
    workload = Workload.read("jobs.csv")
    return Simulation(Platform.homogeneous(1, 4), workload, make_scheduler(scheduler), explain=explain).run()


def test_hover(here: Path) -> None:
    """A line "why" with what was said last of each job: of its start, or of its wait."""
    result = result_of("easy", True)
    places = place_texts(result.core_holds.used_by_job, result.platform, len(result.jobs))
    hover = job_hover(
        result.jobs, places, reasons(result, result.jobs["job_id"], last_reasons(result, result.jobs["job_id"]))
    )
    assert "why %{customdata" in hover.template
    assert hover.data[:, -1].tolist() == [
        "–",
        "waited: it asks for 4 cores, 2 free",
        result.decisions.set_index(["job_id", "decision"]).loc[("c", "start"), "because"],
    ]
    assert hover.data[2, -1].startswith("backfilled")
    assert any("why" in (trace.hovertemplate or "") for trace in gantt(result).data)
    without = result_of("easy", False)
    waited = last_reasons(without, without.jobs["job_id"])
    assert reasons(without, without.jobs["job_id"], waited) == ["–", "waited: it asks for 4 cores, 2 free", "–"]
    assert any("why" in (trace.hovertemplate or "") for trace in gantt(without).data)


def test_hover_of_foreign_words(here: Path) -> None:
    """What a scheduler says is text, not markup."""
    result = result_of("fcfs", True)
    result.decisions = result.decisions.assign(because="<b>a & b</b>", decision="start")
    said = reasons(result, result.jobs["job_id"], last_reasons(result, result.jobs["job_id"]))
    assert job_hover(result.jobs, [""] * len(result.jobs), said).data[0, -1] == "&lt;b&gt;a &amp; b&lt;/b&gt;"
