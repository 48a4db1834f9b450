"""Changes of a slurm.conf: what each sort of change sets, and what is no change."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster_sim import Platform
from cluster_sim.errors import InputError
from cluster_sim.formats.slurm_changes import with_changes, with_nodes, written
from cluster_sim.formats.slurm_conf import platform_of
from cluster_sim.formats.slurm_lines import Line, lines_of
from cluster_sim.platform.slurm import SlurmMachine

pytestmark = pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")

CONF = r"""
ClusterName=lab  # a comment
SchedulerParameters=bf_interval=30,bf_continue,bf_window=60
PriorityWeightAge=100 PriorityWeightQOS=5
NodeName=DEFAULT CPUs=8 RealMemory=1000
NodeName=node[01-04] Weight=2
NodeName=big Feature="huge,old \#1"
NodeSet=some Nodes=node[01-02]
PartitionName=batch Nodes=node[01-04] Default=YES MaxTime=60
PartitionName=all Nodes=ALL
PartitionName=set Nodes=some
PartitionName=big Nodes=big
"""


@pytest.fixture
def lines(tmp_path: Path) -> list[Line]:
    """The lines of a small configuration."""
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    return lines_of(str(path))


def machine(lines: list[Line], tmp_path: Path) -> SlurmMachine:
    """What is read of the lines, written to a file: the lines themselves say the same."""
    (tmp_path / "changed.conf").write_text(written(lines))
    read = Platform.read(str(tmp_path / "changed.conf"))
    assert read.slurm == platform_of(lines, "lines").slurm
    assert read.slurm is not None
    return read.slurm


def test_a_file_without_changes_says_the_same(lines: list[Line], tmp_path: Path) -> None:
    """Comments and continuations go, pairs stay, quotes and number signs in values, too."""
    (tmp_path / "again.conf").write_text(written(lines))
    assert [line.pairs for line in lines_of(str(tmp_path / "again.conf"))] == [line.pairs for line in lines]


@pytest.mark.parametrize(
    ("change", "key", "value"),
    [
        ("PriorityWeightAge=5000", "priorityweightage", "5000"),
        ("priorityweightfairshare=7", "priorityweightfairshare", "7"),
        ("PriorityWeightQOS=", "priorityweightqos", None),
        ("SchedulerParameters=bf_licenses", "schedulerparameters", "bf_licenses"),
        ("SchedulerParameters:bf_continue=", "schedulerparameters", "bf_interval=30,bf_window=60"),
        ("SchedulerParameters:bf_interval=5", "schedulerparameters", "bf_interval=5,bf_continue,bf_window=60"),
        (
            "SchedulerParameters:bf_licenses",
            "schedulerparameters",
            "bf_interval=30,bf_continue,bf_window=60,bf_licenses",
        ),
    ],
)
def test_keys_of_the_machine(lines: list[Line], tmp_path: Path, change: str, key: str, value: str | None) -> None:
    """A key is set where it stands, added, or taken away; so is an option among others; the other keys stay."""
    was, now = machine(lines, tmp_path).parameters, machine(with_changes(lines, [change]), tmp_path).parameters
    assert now.get(key) == value
    assert {name: text for name, text in now.items() if name != key} == {n: t for n, t in was.items() if n != key}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("CompleteWait=60", "CompleteWait: nodes that are cleaned up keep no other jobs waiting"),
        ("MaxMemPerNode=1", "MaxMemPerNode: jobs get as much memory"),
        ("PriorityWeightTRES=cpu=5", "PriorityWeightTRES: no part of priorities"),
        ("PartitionName=batch:DenyAccounts=bio", "DenyAccounts: every job may use every partition"),
        ("PartitionName=batch:MaxCPUsPerNode=1", "MaxCPUsPerNode: a job may have all CPUs of a node"),
        ("PartitionName=batch:QOS=normal", "QOS: partitions have no quality of service"),
        ("NodeName=big:CoreSpecCount=1", "CoreSpecCount: CPUs set aside for the system run jobs"),
        ("SchedulerParameters:defer", "an option that is simulated, found defer"),
        ("SchedulerParameters:partition_job_depth=1", "an option that is simulated, found partition_job_depth"),
        ("SchedulerParameters=bf_interval=30,bf_busy_nodes", "an option that is simulated, found bf_busy_nodes"),
        ("SelectTypeParameters=CR_Core,CR_LLN", "an option that is simulated, found CR_LLN"),
        ("PriorityFlags:MAX_TRES", "an option that is simulated, found MAX_TRES"),
        ("PreemptParameters:send_user_signal", "an option that is simulated, found send_user_signal"),
    ],
)
def test_what_is_not_simulated_is_no_change(lines: list[Line], change: str, told: str) -> None:
    """Slurm has the key, or the option, and a run would not show it: that is told, with what holds instead."""
    with pytest.raises(InputError) as error:
        with_changes(lines, [change])
    assert str(error.value).startswith(f"change {change}: expected a")
    assert "that is simulated, found" in str(error.value)
    assert told in str(error.value)


def test_keys_of_partitions_and_nodes(lines: list[Line], tmp_path: Path) -> None:
    """A partition's limit; the weight of some nodes of a line, which is cut in two; several changes, one after the other."""
    changes = [
        "PartitionName=batch:MaxTime=2:00:00",
        "NodeName=node[03-04],big:Weight=9",
        "PartitionName=batch:Default=",
    ]
    changed = machine(with_changes(lines, changes), tmp_path)
    batch = changed.partition("batch")
    assert batch is not None
    assert (batch.max_time_s, batch.default) == (7200.0, False)
    assert dict(zip(changed.node_names, changed.weights, strict=True)) == {
        "node01": 2, "node02": 2, "node03": 9, "node04": 9, "big": 9,
    }  # fmt: skip


def members(slurm: SlurmMachine) -> dict[str, int]:
    """How many nodes each partition has."""
    return {partition.name: len(partition.nodes) for partition in slurm.partitions}


def test_more_and_fewer_nodes(lines: list[Line], tmp_path: Path) -> None:
    """New nodes are like those of the largest line, or a named one, and are where these are; fewer nodes are DOWN."""
    assert members(machine(lines, tmp_path)) == {"batch": 4, "all": 5, "set": 2, "big": 1}
    more = machine(with_nodes(lines, "+10"), tmp_path)
    assert members(more) == {"batch": 14, "all": 15, "set": 12, "big": 1}
    assert more.weights.count(2) == 14
    assert members(machine(with_nodes(lines, "+1:big"), tmp_path)) == {"batch": 4, "all": 6, "set": 2, "big": 2}
    fewer = machine(with_nodes(lines, "-3"), tmp_path)
    assert fewer.node_names == ("node01", "big")
    assert members(fewer) == {"batch": 1, "all": 2, "set": 1, "big": 1}
    twice = machine(with_nodes(with_nodes(lines, "+2"), "+2:big"), tmp_path)
    assert twice.node_names[-1] == "added2-2"
    assert len(set(twice.node_names)) == 9


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("PriorityWeightAgee=5", "expected priorityweightage"),
        ("SchedulerParameters:bf_intervall=5", "bf_interval"),
        ("SchedulerParameters=bf_intervall=5", "bf_interval"),
        ("PriorityWeightAge", "expected KEY=VALUE"),
        ("PriorityWeightAge:x=5", "before the option"),
        ("TopologyPlugin=topology/tree", "all nodes are equally near"),
        ("PartitionName=bach:MaxTime=5", "batch"),
        ("PartitionName=batch:MaxTmie=5", "maxtime"),
        ("NodeName=node[09]:Weight=5", "found node09"),
        ("NodeName=node[:Weight=5", "names of nodes"),
        ('Licenses="a"', "without quotes"),
        ("SlurmctldPort=5", "expected "),
        ("NodeName=big:Port=5", "expected "),
        ("PriorityFlags:ACRUE_ALWAYS", "accrue_always"),
    ],
)
def test_what_is_no_change(lines: list[Line], change: str, told: str) -> None:
    """It is told in one line that names the change, and what is meant or expected."""
    with pytest.raises(InputError) as error:
        with_changes(lines, [change])
    assert f"change {change}" in str(error.value)
    assert told in str(error.value)


@pytest.mark.parametrize("text", ["10", "+0", "-4", "+2:node9", "plus 3", "-1:big"])
def test_what_are_no_nodes(lines: list[Line], text: str) -> None:
    """Nodes that cannot come or go are told with the option."""
    with pytest.raises(InputError, match="nodes "):
        with_nodes(lines, text)


def test_a_wrong_value_names_the_change(lines: list[Line]) -> None:
    """What the reader of the configuration does not understand is told with the change that brought it."""
    with pytest.raises(InputError, match="change PartitionName=batch:MaxTime=soon, MaxTime: expected a duration"):
        platform_of(with_changes(lines, ["PartitionName=batch:MaxTime=soon"]), "slurm.conf")
