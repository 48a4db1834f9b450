"""``cluster-sim whatif``: what it prints and leaves, and how wrong input ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analysis.test_whatif import CONF, HEAD, weekly
from tests.cli.conftest import Command


@pytest.fixture(autouse=True)
def _inputs(here: Path) -> None:
    (here / "jobs.txt").write_text("\n".join([HEAD, *weekly(3), ""]))
    (here / "slurm.conf").write_text(CONF)


def test_it_prints_the_replay_and_the_change(command: Command, here: Path) -> None:
    """Both tables, and where the page is; the folder has it."""
    ended = command("whatif", "jobs.txt", "--conf", "slurm.conf", "--baseline", "easy", "--nodes", "+1", "--out", "out")
    assert ended.exit_code == 0, ended.output
    assert "50% within 1 min" in ended.stdout
    assert "What if nodes +1?" in ended.stdout
    assert "The page is out/whatif.html" in ended.stdout
    assert (here / "out/whatif.html").exists()
    assert "cluster-sim whatif jobs.txt" in (here / "out/whatif.html").read_text()
    explained = command("explain", "out/unchanged", "1")
    assert "waited in the queue for 1,140 s" in explained.stdout


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (["--change", "PriorityWeightJobSize=5"], 0),
        (["--baseline", "easy"], 1),
        (["--scheduler", "easy"], 1),
    ],
)
def test_what_only_slurm_follows_is_told_of_other_schedulers(
    command: Command, here: Path, options: list[str], lines: int
) -> None:
    """And what nobody does is told once, whichever of the three copies of the configuration is read."""
    with (here / "slurm.conf").open("a") as file:
        file.write("SchedulerType=sched/backfill\nEnforcePartLimits=ALL\n")
    ended = command("whatif", "jobs.txt", "--conf", "slurm.conf", *options, "--out", "out")
    assert ended.exit_code == 0, ended.output
    assert ended.stderr.count("only the scheduler slurm") == lines
    assert ended.stderr.count("EnforcePartLimits") == 1


def test_json(command: Command) -> None:
    """The same as one document."""
    ended = command(
        "whatif", "jobs.txt", "--conf", "slurm.conf", "-s", "fcfs", "--baseline", "easy", "--out", "out", "--json"
    )
    document = json.loads(ended.stdout)
    assert document["agreement"]["mean wait"]["unchanged"] == 570.0
    assert document["effects"][0]["change_s"] == 0.0
    assert any("no difference" in remark for remark in document["remarks"])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--change", "PriorityWeightAgee=5"], "priorityweightage"),
        (["--change", "PartitionName=p:MaxTime=soon"], "expected a duration"),
        (["--nodes", "four"], "nodes four: expected such as +10"),
        (["--scheduler", "eassy"], "easy"),
        (["--power-policy", "timeoutt:5"], "timeout"),
    ],
)
def test_wrong_input(command: Command, options: list[str], told: str) -> None:
    """It ends in one line that names what is wrong, with exit status 2."""
    ended = command("whatif", "jobs.txt", "--conf", "slurm.conf", *options, "--out", "out")
    assert ended.exit_code == 2
    assert told in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
