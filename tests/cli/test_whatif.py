"""``cluster-sim whatif``: what it prints and leaves, and how wrong input ends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.conftest import Command
from tests.support.sacct_rows import CONF, HEAD, row, weekly


@pytest.fixture(autouse=True)
def _inputs(here: Path) -> None:
    (here / "jobs.txt").write_text("\n".join([HEAD, *weekly(3), ""]))
    (here / "slurm.conf").write_text(CONF)


def test_it_prints_the_replay_and_the_change(command: Command, here: Path) -> None:
    """Both tables, and where the page is; the folder has it."""
    ended = command("whatif", "jobs.txt", "--conf", "slurm.conf", "--baseline", "easy", "--nodes", "+1", "--out", "out")
    assert ended.exit_code == 0, ended.output
    assert "50 % within 1 min" in ended.stdout
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
        file.write("SchedulerType=sched/backfill\nCompleteWait=60\n")
    ended = command("whatif", "jobs.txt", "--conf", "slurm.conf", *options, "--out", "out")
    assert ended.exit_code == 0, ended.output
    assert ended.stderr.count("only the scheduler slurm") == lines
    assert ended.stderr.count("CompleteWait") == 1


def test_what_a_run_warns_of_is_told_once(command: Command, here: Path) -> None:
    """With the run's name and the reason, not once more as what any run warns of; what the baseline passes over, too."""
    (here / "slurm.conf").write_text(CONF.replace("PartitionName=q", "PartitionName=q MaxTime=1"))
    ended = command("whatif", "jobs.txt", "--conf", "slurm.conf", "--change", "PriorityWeightAge=5", "--out", "out")
    assert ended.exit_code == 0, ended.output
    assert (
        ended.stderr.count("3 of 6 jobs do not start in the unchanged run: the scheduler starts none of them (3)") == 1
    )
    assert ended.stderr.count("3 of 6 jobs do not start in the changed run") == 1
    assert "nothing is left to happen" not in ended.stderr
    ended = command("whatif", "jobs.txt", "--conf", "slurm.conf", "--baseline", "easy", "--out", "out")
    assert [ended.stderr.count(told) for told in ("only the scheduler slurm", "under Slurm's rules")] == [1, 0]
    assert "under easy and not under Slurm&#39;s rules" in (here / "out/whatif.html").read_text()


ACCOUNTS = """\
Account|User|ParentName|Share|MaxJobs
root|||1|
phys||root|1|
Bio||phys|1|
bio|zoe||1|
bio|Ann||1|1
phys|bob||7|
Name|Priority
normal|0
"""


@pytest.mark.parametrize("scheduler", ["slurm", "easy"])
def test_a_log_without_names_has_the_same_schedule(command: Command, here: Path, scheduler: str) -> None:
    """Accounts get the names of the log, so that limits hold; no name of a user or an account is left in what is written."""
    jobs = [
        row(1, 0, 0, 600, 1, "Ann"),
        row(2, 0, 0, 600, 1, "ann"),
        row(3, 1, 600, 600, 2, "bob"),
        row(4, 2, 9, 60, 1),
    ]
    text = "\n".join([HEAD, *jobs, ""]).replace("|Ann|phys", "|Ann|bio").replace("|ann|phys", "|ann|bio")
    (here / "jobs.txt").write_text(text)
    limits = "AccountingStorageEnforce=limits\nSlurmUser=zoe\n"
    (here / "slurm.conf").write_text(
        f"{limits}{CONF.replace('CPUs=4', 'CPUs=4 Reason=by-ann')}".replace("Default=YES", "Default=YES AllowAccounts=phys,bio")
    )  # fmt: skip
    (here / "acc.txt").write_text(ACCOUNTS)
    starts = []
    for out, more in (("named", []), ("hidden", ["--anonymise"])):
        if scheduler == "slurm":
            ended = command("whatif", "jobs.txt", "--conf", "slurm.conf", "--accounts", "acc.txt", *more, "--out", out)
            folder = here / out / "unchanged"
        else:
            words = ["--platform", "slurm.conf", "--workload", "jobs.txt", "--accounts", "acc.txt", "-s", "easy"]
            ended = command("run", *words, *more, "--out", out)
            folder = here / out
        assert ended.exit_code == 0, ended.output
        assert "no association" not in ended.stderr
        starts.append(pd.read_csv(folder / "jobs.csv")["start_time"].tolist())
    assert starts[0] == starts[1]
    assert starts[0][1] >= starts[0][0] + 600.0  # ann's jobs one after the other
    for path in (here / "hidden").rglob("*"):
        if path.is_file():
            names = "bob|zoe|phys" if path.suffix == ".html" else "ann|bob|zoe|phys|bio"  # scripts have some
            assert not re.search(rf"\b({names})\b", path.read_text(), re.I), path


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
        (["--change", "PriorityWeightAgee=5"], "PriorityWeightAge (the nearest known name)"),
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
