"""Files that options of the scheduler ``slurm`` name, good and bad: a result, or one line and exit status 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cluster_sim.cli import main
from schedulers.slurm.request_maker import RequestMaker

CONF = """\
ClusterName=lab
NodeName=n[1-2] CPUs=2
PartitionName=short Nodes=ALL Default=YES MaxTime=10
"""
JOBS = """\
JobID|User|Account|Partition|Submit|Start|End|Elapsed|Timelimit|State|ReqCPUS|AllocCPUS
7|ann|phys|short|2026-03-01T10:00:00|2026-03-01T10:00:05|2026-03-01T10:05:05|00:05:00|00:10:00|COMPLETED|1|1
"""
ACCOUNTS = """\
Account|User|ParentName|Share|MaxJobs
phys||root|1|
phys|ann||1|3
"""
GOOD = {
    "conf": CONF,
    "accounts": ACCOUNTS,
    "asks": '{"7": {"nice": 10}}',
    "commands": "60 scancel 7\n",
    "--accounts": ACCOUNTS,
}


def ends(tmp_path: Path, option: str, content: bytes | None, is_folder: bool = False) -> tuple[int, list[str]]:
    """Exit status and lines on stderr of a run with a file of that content for the option; None: there is no file."""
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "jobs.txt").write_text(JOBS)
    given = tmp_path / "given"
    if is_folder:
        given.mkdir()
    elif content is not None:
        given.write_bytes(content)
    conf = given if option == "conf" else tmp_path / "slurm.conf"
    scheduler = f"slurm:conf={conf}" + f",{option}={given}" * (option in ("accounts", "asks", "commands"))
    words = [
        "run",
        "--platform",
        tmp_path / "slurm.conf",
        "--workload",
        tmp_path / "jobs.txt",
        "--out",
        tmp_path / "out",
    ]
    if option == "--accounts":
        words += ["--scheduler", "easy", "--accounts", given]
    else:
        words += ["--scheduler", scheduler]
    result = CliRunner().invoke(main, [str(word) for word in words])
    return result.exit_code, result.stderr.splitlines()


@pytest.mark.parametrize("option", GOOD)
def test_a_good_file_is_read(tmp_path: Path, option: str) -> None:
    """The run ends with a result."""
    assert ends(tmp_path, option, GOOD[option].encode())[0] == 0


@pytest.mark.parametrize("option", GOOD)
@pytest.mark.parametrize("content", [None, b"", b"\x00" * 99, b"\x95\x9fg\xef", b"{}]", JOBS[85:].encode()])
def test_a_bad_file_ends_in_a_line(tmp_path: Path, option: str, content: bytes | None) -> None:
    """Missing, empty, binary, of another format: it is named, and nothing else is said."""
    status, lines = ends(tmp_path, option, content)
    assert status == 2
    assert lines[-1].count(str(tmp_path / "given")) == 1
    assert not any("Traceback" in line for line in lines)


@pytest.mark.parametrize("option", GOOD)
def test_a_folder_is_no_file(tmp_path: Path, option: str) -> None:
    """It is named."""
    status, lines = ends(tmp_path, option, None, is_folder=True)
    assert status == 2
    assert lines[-1].endswith("expected a readable file, found a folder")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('{"nice": "x"}', "nice: expected a whole number"),
        ('{"tasks": -5}', "tasks: expected a whole number"),
        ('{"min_nodes": null}', "min_nodes: expected a whole number"),
        ('{"cpus_per_task": 0}', "cpus_per_task: expected a whole number >= 1"),
        ('{"required_nodes": [99]}', "required_nodes: expected positions of nodes below 2, found 99"),
        ('{"required_nodes": ["n9"]}', "required_nodes: expected one of n1, n2, found n9"),
        ('{"excluded_nodes": "n["}', "excluded_nodes: expected names of nodes such as"),
        ('{"required_nodes": [true]}', "required_nodes: expected names of nodes, or a list of their positions"),
        ('{"dependency": 5}', "dependency: expected a text"),
        ('{"partitions": "short"}', "partitions: expected a list of at least one name"),
        ('{"partitions": []}', "partitions: expected a list of at least one name"),
        ('{"licences": {"a": "x"}}', "licences: expected an object with a whole number for each name"),
        ('{"memory_per_node": 1e400}', "memory_per_node: expected a number"),
        ('{"begin_time": "now"}', "begin_time: expected a number"),
        ('{"held": 1}', "held: expected true or false"),
        ('{"niece": 1}', "job 7: expected one of account, "),
        ('{"nice": 1', "expected JSON"),
        ("[" * 100_000, "expected JSON, found lists or objects within each other"),
    ],
)
def test_values_that_cannot_be_are_named(tmp_path: Path, said: str, expected: str) -> None:
    """With the job and the field."""
    status, lines = ends(tmp_path, "asks", f'{{"7": {said}}}'.encode())
    assert status == 2
    assert expected in lines[-1]


@pytest.mark.parametrize("said", ["n[1-2]", ["n1", 1], [0, 1]])
def test_nodes_are_named_as_in_the_configuration(said: Any) -> None:
    """With ranges too, or by their positions."""
    requests = RequestMaker({"7": {"required_nodes": said}}, "", ["n1", "n2"])
    assert requests.plain(0, "7", 0.0).required_nodes == (0, 1)
