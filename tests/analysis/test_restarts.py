"""Jobs that were started again: by hand, a node that fails under a job."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analysis import write_report
from analysis.reports.restarts import cautions_of, cells, restarted
from cluster_sim import Platform, Simulation, make_scheduler
from cluster_sim.records import Result
from tests.support.rows import workload_of


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """One node of 2 cores fails from 50 s to 60 s: long, 100 s on both, runs from 10 s, is lost, and runs from 60 s to 160 s."""
    workload = workload_of((10.0, 2, 100.0, 200.0), (400.0, 1, 5.0, 5.0), job_id=["long", "late"])
    trace = tmp_path_factory.mktemp("failures") / "trace.csv"
    trace.write_text("time,node,event\n50,0,fail\n60,0,repair\n")
    platform = Platform.homogeneous(nodes=1, cores=2)
    return Simulation(platform, workload, make_scheduler("fcfs"), failures=f"trace:{trace}").run()


def test_the_first_start_stays_and_attempts_are_counted(failed: Result) -> None:
    """The job had two attempts, the first at 10 s. It lost 2 cores × 40 s. It waited 10 s, for the repair alone."""
    table = restarted(failed)
    (row,) = table.to_dict("records")
    assert (row["job_id"], row["submit_time"], row["first_start"], row["attempts"]) == ("long", 10.0, 10.0, 2)
    assert (row["lost_core_s"], row["finish_time"], row["wait_time"]) == (80.0, 160.0, 10.0)
    assert cells(table) == [["long", "10 s", "10 s", "2", "cluster0.node0 failed", "1 min 20 s", "160 s", "10 s"]]


def test_it_is_told_among_what_happened(failed: Result, tmp_path: Path) -> None:
    """Not among what was assumed or left out; the page has a table of these jobs."""
    line = "started again: 1 of 2 jobs (long); 1 min 20 s of core time were lost"
    assert cautions_of(failed).happened == (line,)
    text = write_report(failed, tmp_path / "report.html").read_text(encoding="utf-8")
    happened = re.search(r'<aside class="caution">Happened in the run:(.*?)</aside>', text, re.DOTALL)
    assert happened is not None
    assert line in happened[1]
    assert "Jobs started again" in text
    assert "first start" in text


def test_a_run_without_failures_has_no_such_part(tmp_path: Path) -> None:
    """No sentence, and no table."""
    workload = workload_of((10.0, 2, 100.0, 200.0), job_id=["long"])
    result = Simulation(Platform.homogeneous(nodes=1, cores=2), workload, make_scheduler("fcfs")).run()
    assert restarted(result).empty
    assert cautions_of(result) == result.cautions
    assert "started again" not in write_report(result, tmp_path / "report.html").read_text(encoding="utf-8")
