"""``--failures`` and what else says how nodes fail: on the command line, in configurations, in sweeps."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from analysis.sweep import Grid
from analysis.sweep import cell as sweep_cell
from tests.cli.conftest import command as command
from tests.cli.conftest import done as done
from tests.cli.conftest import here as here
from tests.cli.conftest import refused as refused

RUN = ("run", "-p", "homogeneous:nodes=8,cores=1", "-w", "log.swf", "--out", "out")
SHOP = "time,node,event\n"


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("exponential:mtbf=0", "failure model 'exponential:mtbf=0', option mtbf: expected seconds above 0, found 0"),
        (
            "exponential:mtbf=inf",
            "failure model 'exponential:mtbf=inf', option mtbf: expected finite seconds above 0, found inf",
        ),
        (
            "weibull:repair=-1",
            "failure model 'weibull:repair=-1', option repair: expected seconds, 0 or more, found -1",
        ),
        (
            "weibull:shape=nan",
            "failure model 'weibull:shape=nan', option shape: expected a finite number, 0.05 or more, found nan",
        ),
        (
            "exponential:group=0",
            "failure model 'exponential:group=0', option group: expected a whole number of nodes, 1 or more, found 0",
        ),
        (
            "exponential:limit=2.5",
            "failure model exponential, option limit: expected a whole number above 0, found 2.5",
        ),
        (
            "exponential:group=x",
            "failure model 'exponential:group=x', option group: expected a whole number of nodes, 1 or more, found x",
        ),
        (
            "weibul",
            "failure model: expected one of exponential, none, trace, weibull (the nearest is weibull), found weibul",
        ),
        (
            "trace",
            "failure model 'trace': expected other arguments (missing a required argument: 'file')",
        ),
        ("trace:none.csv", "none.csv: expected a readable file, found No such file or directory"),
        ("trace:log.swf", "log.swf line 1: expected columns time, node, event, found ; Version: 2.2"),
    ],
)
def test_bad_specs_end_in_one_line(refused, spec: str, line: str) -> None:
    """Which option, what it may be, and what it is; exit status 2."""
    assert refused(*RUN, "--failures", spec) == line
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("soon,0,fail", "time: expected a time in s, 0 or later, found soon"),
        ("-1,0,fail", "time: expected a time in s, 0 or later, found -1"),
        ("nan,0,fail", "time: expected a time in s, 0 or later, found nan"),
        ("5,8,fail", "node: expected a node of the platform, by name or position, found 8"),
        ("5,cluster1.node0,fail", "node: expected a node of the platform, by name or position, found cluster1.node0"),
        ("5,0,fails", "event: expected one of fail, repair, found fails"),
        ("5,0", "event: expected one of fail, repair"),
    ],
)
def test_bad_rows_end_in_one_line(refused, row: str, told: str) -> None:
    """The file, its line, the column, and what stands there."""
    Path("bad.csv").write_text(f"{SHOP}1,0,fail\n{row}\n")
    assert refused(*RUN, "--failures", "trace:bad.csv") == f"bad.csv line 3, {told}"


def test_a_run_records_its_failures(done) -> None:
    """The spec as typed, the checksum of its file, the metrics, and the attempts."""
    Path("shop.csv").write_text(f"{SHOP}50,0,fail\n60,cluster0.node0,repair\n")
    done(*RUN, "--failures", "trace:shop.csv", "--suspended-time-counts")
    said = json.loads(Path("out/summary.json").read_text())
    assert (said["failures"], said["suspended_time_counts"]) == ("trace:shop.csv", True)
    assert said["inputs"]["shop.csv"] == hashlib.sha256(Path("shop.csv").read_bytes()).hexdigest()
    assert (said["jobs_requeued"], said["lost_core_s"]) == (1, 200.0)
    assert "failed" in Path("out/attempts.csv").read_text()
    done(*RUN)
    assert json.loads(Path("out/summary.json").read_text())["failures"] == "none"


def test_a_file_is_beside_the_configuration(done, refused) -> None:
    """A configuration names files from its own folder. An error in a spec names the configuration."""
    study = Path("study")
    study.mkdir()
    (study / "shop.csv").write_text(f"{SHOP}50,0,fail\n")
    (study / "run.yaml").write_text(
        "workload: ../log.swf\nplatform: homogeneous:nodes=8,cores=1\nfailures: trace:shop.csv,limit=1\n"
    )
    done("run", study / "run.yaml", "--out", "out")
    assert json.loads(Path("out/summary.json").read_text())["jobs_killed"] == 1
    (study / "run.yaml").write_text("workload: ../log.swf\nfailures: exponential:mtbf=-3\n")
    told = refused("run", study / "run.yaml", "--out", "out")
    assert (
        told == "study/run.yaml: failure model 'exponential:mtbf=-3', option mtbf: expected seconds above 0, found -3"
    )


def test_failures_are_a_factor_of_sweeps(here: Path) -> None:
    """Each value a level; a file has its absolute place."""
    Path("shop.csv").write_text(f"{SHOP}50,0,fail\n60,0,repair\n")
    failures = ["none", "exponential:mtbf=1e5,limit=3", "trace:shop.csv,limit=2"]
    grid = Grid.of({"factors": {"workload": "log.swf", "failures": failures}})
    made = [sweep_cell.simulation_of(cell) for cell in grid]
    assert [type(simulation.failures).__name__ for simulation in made] == [
        "NoFailures",
        "ExponentialFailures",
        "RecordedFailures",
    ]
    assert made[2].failures.spec == f"trace:{here / 'shop.csv'},limit=2"
    assert [simulation.run().summary()["jobs_requeued"] for simulation in made] == [0, 0, 1]


def test_list_names_the_models(done) -> None:
    """``cluster-sim list failure-models``."""
    names = [line.split()[0] for line in done("list", "failure-models").stdout.splitlines()]
    assert names == ["exponential", "none", "trace", "weibull"]
