"""docs/reference/cli.md: what it says can be typed, and nothing is left out."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest

from cluster_sim import Workload
from cluster_sim.cli import main
from cluster_sim.cli.own_config import _Config
from cluster_sim.workload.fields import SUMMARY_METRICS, names

CHOOSING = (Path(__file__).resolve().parents[2] / "docs" / "which-command.md").read_text(encoding="utf-8")
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
EXAMPLES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines() if line]


@pytest.fixture
def files(here: Path) -> Path:
    """The files that the examples name."""
    (here / "log.swf.gz").write_bytes(gzip.compress((here / "log.swf").read_bytes()))
    (here / "lab.yaml").write_text((here / "lab.json").read_text())
    (here / "reservations.yaml").write_text("reservations:\n- {name: maintenance, start: 50, end: 60, nodes: [0]}\n")
    (here / "accounts.txt").write_text("Account|User|ParentName|Share\nphysics||root|1\nphysics|ann||1\n")
    (here / "study.yaml").write_text(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])
    clusters = [{"nodes": [{"type": "n", "number": 2}]}]
    (here / "platform.json").write_text(
        json.dumps(
            {
                "platform": {"p": {"clusters": clusters, "model_name": "modelV1"}},
                "node": {"n": {"processors": [{"type": "c", "number": 1}]}},
                "processor": {"c": {"cores": 8, "clock_rate": 1.0}},
            }
        )
    )
    options = {"platform_file": "platform.json", "platform_name": "p", "workload_file": "jobs.json"}
    (here / "options.json").write_text(json.dumps(options))
    return here


@pytest.mark.parametrize(
    "line", [line for line in EXAMPLES if not re.search(" (demo|gantt|explain|convert results)", line)]
)
def test_examples_can_be_typed(files, done, line) -> None:
    """Every example runs as it stands."""
    program, *words = shlex.split(line)
    assert program == "cluster-sim"
    assert done(*words).stdout


def test_examples_of_gantt_can_be_typed(files, done) -> None:
    """Those that start from results run, too, after the first example that leaves some."""
    done(*shlex.split(EXAMPLES[2])[1:])
    for line in EXAMPLES:
        if re.search(" (gantt|explain|convert results) ", line):
            done(*shlex.split(line)[1:])
    assert Path("chart.html").exists()


def test_nothing_is_left_out() -> None:
    """Each command has a section, in which its help is put when the site is built; all keys of a configuration are shown."""
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
    assert [name for name in main.commands if name not in sections] == []
    assert [name for name in main.commands if f"```{{command}} {name}\n" not in sections[name]] == ["compare"]
    assert [name for name in main.commands if f"(reference/cli.md#{name})" not in CHOOSING] == []
    beside_run = {option.name for option in main.commands["compare"].params} - {
        each.name for each in main.commands["run"].params
    }
    assert beside_run == {"schedulers", "replications"}
    example = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
    assert [key for key in _Config.model_fields if f"{key}: " not in example] == []


def test_metrics_are_called_so() -> None:
    """The metrics that the page names exist."""
    named = set(re.findall(r"`([a-z_]+_(?:s|j|js|w))`", PAGE))
    assert named
    assert named <= set(names(SUMMARY_METRICS))


def test_csv_keeps_everything(files, done) -> None:
    """As the page says of ``convert``."""
    done("convert", "log.swf.gz", "log.csv")
    assert Workload.read("log.csv").jobs.equals(Workload.read("log.swf.gz").jobs)
