"""Changes of a slurm.conf: what each sort of change sets, and what is no change."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster_sim import Platform
from cluster_sim.errors import InputError
from cluster_sim.formats.slurm.conf_changes import differences, with_changes, with_nodes, written
from cluster_sim.formats.slurm.conf_lines import Line, lines_of
from cluster_sim.formats.slurm.slurm_conf import platform_of
from cluster_sim.platform.slurm import SlurmMachine

pytestmark = pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")

CONF = r"""
ClusterName=lab  # a comment
SchedulerParameters=bf_interval=30,bf_continue,bf_window=60
PriorityWeightAge=100 PriorityWeightQOS=5
PriorityFlags=CALCULATE_RUNNING,FAIR_TREE
SelectTypeParameters=CR_CPU_Memory
AccountingStorageEnforce=associations,limits
Licenses=matlab:2,ansys:1
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
        (
            "SchedulerParameters=bf_licenses",
            "schedulerparameters",
            "bf_interval=30,bf_continue,bf_window=60,bf_licenses",
        ),
        ("SchedulerParameters=bf_interval=300", "schedulerparameters", "bf_interval=300,bf_continue,bf_window=60"),
        (
            "SchedulerParameters=bf_window=9,bf_interval=3",
            "schedulerparameters",
            "bf_interval=3,bf_continue,bf_window=9",
        ),
        ("SchedulerParameters:=bf_interval=300", "schedulerparameters", "bf_interval=300"),
        ("SchedulerParameters=", "schedulerparameters", None),
        ("SchedulerParameters=bf_window=,bf_licenses", "schedulerparameters", "bf_interval=30,bf_continue,bf_licenses"),
        ("bf_interval=300", "schedulerparameters", "bf_interval=300,bf_continue,bf_window=60"),
        ("BF_Continue=", "schedulerparameters", "bf_interval=30,bf_window=60"),
        ("bf_licenses", "schedulerparameters", "bf_interval=30,bf_continue,bf_window=60,bf_licenses"),
        ("PriorityFlags=ACCRUE_ALWAYS", "priorityflags", "CALCULATE_RUNNING,FAIR_TREE,ACCRUE_ALWAYS"),
        ("NO_FAIR_TREE", "priorityflags", "CALCULATE_RUNNING,NO_FAIR_TREE"),
        ("SelectTypeParameters=CR_Core", "selecttypeparameters", "CR_Core"),
        ("AccountingStorageEnforce=qos", "accountingstorageenforce", "associations,limits,qos"),
        ("AccountingStorageEnforce=none", "accountingstorageenforce", "none"),
        ("safe", "accountingstorageenforce", "associations,limits,safe"),
        ("Licenses=matlab:4", "licenses", "matlab:4,ansys:1"),
        ("Licenses:fluent=2", "licenses", "matlab:2,ansys:1,fluent:2"),
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


@pytest.mark.parametrize(
    "change",
    [
        "PartitionName=batch:MaxTime=2:00:00",
        "batch:MaxTime=2:00:00",
        "PartitionName=batch MaxTime=2:00:00 PriorityTier=3",
    ],
)
def test_a_partition_is_changed_as_slurm_conf_spells_it(lines: list[Line], tmp_path: Path, change: str) -> None:
    """A line of the file, of which keys that it does not name stay; or the partition's name before the key."""
    batch = machine(with_changes(lines, [change]), tmp_path).partition("batch")
    assert batch is not None
    assert (batch.max_time_s, batch.default, len(batch.nodes)) == (7200.0, True, 4)
    assert batch.priority_tier == (3 if "Tier" in change else 1)


def test_nodes_are_changed_by_their_names_alone(lines: list[Line], tmp_path: Path) -> None:
    """Where the configuration has these nodes."""
    changed = machine(with_changes(lines, ["node[03-04]:Weight=9"]), tmp_path)
    weights = dict(zip(changed.node_names, changed.weights, strict=True))
    assert (weights["node02"], weights["node03"], weights["node04"]) == (2, 9, 9)


def test_a_key_of_the_only_partition_needs_no_name(tmp_path: Path) -> None:
    """It can mean nothing else."""
    path = tmp_path / "one.conf"
    path.write_text("NodeName=n[1-2] CPUs=8\nPartitionName=batch Nodes=n[1-2] MaxTime=60\n")
    changed = with_changes(lines_of(str(path)), ["MaxTime=2:00:00"])
    assert "PartitionName=batch Nodes=n[1-2] MaxTime=2:00:00" in written(changed)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (["SchedulerParameters=bf_interval=300"], ["SchedulerParameters: bf_interval 300 (it was 30)"]),
        (
            ["SchedulerParameters:=bf_interval=300"],
            [
                "SchedulerParameters: bf_interval 300 (it was 30)",
                "SchedulerParameters: bf_continue removed (it was set)",
                "SchedulerParameters: bf_window removed (it was 60)",
            ],
        ),
        (["bf_licenses"], ["SchedulerParameters: bf_licenses set (it was not set)"]),
        (["priorityweightage=100"], []),
        (["PriorityWeightQOS="], ["PriorityWeightQOS removed (it was 5)"]),
        (["PriorityWeightFairshare=7"], ["PriorityWeightFairshare 7 (it was not set)"]),
        (["batch:maxtime=2:00:00"], ["PartitionName=batch: MaxTime 2:00:00 (it was 60)"]),
        (["NodeName=node[03-04]:Weight=9"], ["NodeName=node03, node04: Weight 9 (it was 2)"]),
    ],
)
def test_what_differs_is_told_option_by_option(lines: list[Line], changes: list[str], told: list[str]) -> None:
    """What a change removes is told as such; what says the same is no difference."""
    assert [str(each) for each in differences(lines, with_changes(lines, changes))] == told


def test_options_that_stay_are_told(lines: list[Line]) -> None:
    """With each option of the list that is otherwise."""
    (found,) = differences(lines, with_changes(lines, ["bf_interval=300"]))
    assert found.stays == ("bf_continue", "bf_window=60")


def test_more_and_fewer_nodes_are_told_once(lines: list[Line]) -> None:
    """Not again for each partition that the new ones join."""
    assert [str(each) for each in differences(lines, with_nodes(lines, "+10"))] == ["number of nodes 15 (it was 5)"]
    assert [str(each) for each in differences(lines, with_nodes(lines, "-3"))] == ["number of nodes 2 (it was 5)"]


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
        ("PriorityWeightAgee=5", "expected PriorityWeightAge (the nearest known name)"),
        ("SchedulerParameters:bf_intervall=5", "bf_interval"),
        ("SchedulerParameters=bf_intervall=5", "bf_interval"),
        ("PriorityWeightAge", "expected KEY=VALUE"),
        ("PriorityWeightAge:x=5", "a key with a list of options before the colon"),
        ("PartitionName=bach:MaxTime=5", "batch"),
        ("PartitionName=batch:MaxTmie=5", "MaxTime"),
        ("NodeName=node[09]:Weight=5", "found node09"),
        ("NodeName=node[:Weight=5", "names of nodes"),
        ('Licenses="a"', "without quotes"),
        ("SlurmctldPort=5", "expected "),
        ("NodeName=big:Port=5", "expected "),
        ("bf_intervall=5", "expected bf_interval (the nearest known name)"),
        ("PriorityWeightFairShar=5", "expected PriorityWeightFairshare (the nearest known name)"),
        ("AccountingStorageEnforce=limit", "expected limits (the nearest known name)"),
        ("MaxTime=5", "which one: PartitionName=batch:MaxTime=5, PartitionName=all:MaxTime=5"),
        ("State=DOWN", "which one: NodeName=node[01-04]:State=DOWN, NodeName=big:State=DOWN, PartitionName=batch"),
        ("PartitionName=batch MaxTmie=5", "MaxTime"),
        ("PartitionName=bach MaxTime=5", "batch"),
        ("bach:MaxTime=5", "expected "),
        ("PriorityFlags:ACRUE_ALWAYS", "ACCRUE_ALWAYS"),
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
