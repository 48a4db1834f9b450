"""slurm.conf: written here, and those that a real Slurm ran with."""

from __future__ import annotations

import csv
import json
import math
import re
import warnings
from pathlib import Path

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.cli import main
from cluster_sim.errors import FormatError, ModelWarning, SchedulerWarning
from cluster_sim.formats.slurm.conf_values import host_list
from cluster_sim.formats.slurm.slurm_conf import read_for

RECORDED = sorted(Path(__file__).resolve().parents[3].joinpath("shared/cases/slurm").glob("*/slurm.conf"))

pytestmark = pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")


def conf(tmp_path: Path, *lines: str) -> str:
    """A file with these lines."""
    path = tmp_path / "slurm.conf"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def warned(path: str) -> str:
    """What reading a file warns of: a line of what nobody simulates, and one of what only slurm does; or nothing."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        Platform.read(path)
    assert [each.category for each in noted] in (
        [],
        [ModelWarning],
        [SchedulerWarning],
        [ModelWarning, SchedulerWarning],
    )
    return "\n".join(str(each.message) for each in noted)


def names(platform: Platform) -> tuple[str, ...]:
    """Slurm's names of the nodes."""
    assert platform.slurm is not None
    return platform.slurm.node_names


def test_nodes_and_their_hardware(tmp_path: Path) -> None:
    """Sockets are processors, CPUs cores; memory is in GB; features are tags; GPUs are counted; equal lines share a type."""
    platform = Platform.read(conf(
        tmp_path,
        "ClusterName=lab",
        "NodeName=n[01-03] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=65536 Feature=fast,big Weight=9",
        "NodeName=m8 CPUs=6",
        "NodeName=n04 SocketsPerBoard=1 Boards=2 CoresPerSocket=8 RealMemory=65536 Features=big,fast Gres=gpu:a:4",
    ))  # fmt: skip
    assert names(platform) == ("n01", "n02", "n03", "m8", "n04")
    assert platform.node_cores.tolist() == [16, 16, 16, 6, 16]
    assert [(len(kind.processors), kind.memory_gb, sorted(kind.tags)) for kind in platform.node_types] == [
        (2, 64.0, ["big", "fast"]), (1, None, []), (2, 64.0, ["big", "fast"]),
    ]  # fmt: skip
    assert platform.units_of("gpu").tolist() == [0, 0, 0, 0, 4]
    assert platform.node_types[2].resources["gpu"].type == "a"
    assert platform.slurm is not None
    assert platform.id == "lab"
    assert platform.node_name(0) == "lab.node0"
    assert platform.slurm.weights == (9, 9, 9, 1, 1)
    assert platform.slurm.gres == ("", "", "", "", "gpu:a:4")


@pytest.mark.parametrize(
    ("keys", "cpus"),
    [("CPUs=4", 4), ("Procs=4", 4), ("Sockets=2 CoresPerSocket=4", 8), ("Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 16),
     ("CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 8), ("CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 16),
     ("", 1), ("CPUs=4 ThreadsPerCore=1", 4), ("CPUs=64 CoresPerSocket=16 ThreadsPerCore=2", 64),
     ("Boards=2 Sockets=4 CoresPerSocket=8", 32), ("Boards=2 SocketsPerBoard=4 CoresPerSocket=8", 64), ("Boards=2", 2),
     ("CPUs=2 Sockets=2 CoresPerSocket=4", 2), ("CPUs=32 Boards=2 ThreadsPerCore=2", 32), ("Boards=2 CoresPerSocket=4", 8)],
)  # fmt: skip
def test_cpus(tmp_path: Path, keys: str, cpus: int) -> None:
    """A core is a CPU as Slurm counts it: a thread, or a core or a socket where CPUs says so."""
    path = conf(tmp_path, f"NodeName=a {keys}")
    assert Platform.read(path).core_count == cpus
    assert warned(path) == ""


@pytest.mark.parametrize(
    ("keys", "cpus", "note"),
    [
        ("CPUs=7 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 16,
         "CPUs=7 of nodes with 2 sockets, 8 cores and 16 threads: Slurm takes all threads"),
        ("CPUs=4 CoresPerSocket=8", 8, "CPUs=4 of nodes with 1 socket, 8 cores and 8 threads: Slurm takes all threads"),
        ("Sockets=4 SocketsPerBoard=1 Boards=2 CoresPerSocket=8", 16,
         "Sockets beside SocketsPerBoard: Slurm takes SocketsPerBoard"),
        ("CPUs=0", 1, "CPUs=0: Slurm takes 1"),
    ],
)  # fmt: skip
def test_cpus_that_slurm_corrects_are_told(tmp_path: Path, keys: str, cpus: int, note: str) -> None:
    """A line names the nodes, what they say, and what Slurm makes of it."""
    path = conf(tmp_path, f"NodeName=a {keys}")
    assert Platform.read(path).core_count == cpus
    assert warned(path) == f"{path}: a, {note}"


def test_all_combinations_of_keys_of_hardware(tmp_path: Path, shared: Path) -> None:
    """1,620 nodes, each with some of the six keys, the CPUs by the rules of Slurm 22.05."""
    with (shared / "cases/public-reports/1-node-cpus/expected_cpus.csv").open() as file:
        rows = list(csv.DictReader(file))
    expected = [int(row.pop("cpus_of_the_node")) for row in rows]
    keys = [" ".join(f"{key}={value}" for key, value in row.items() if value) for row in rows]
    platform = Platform.read(conf(tmp_path, *(f"NodeName=n{number} {line}" for number, line in enumerate(keys))))
    assert len(rows) == 1620
    assert platform.node_cores.tolist() == expected


def test_keys_of_default_lines_count_for_hardware(tmp_path: Path) -> None:
    """CPUs of a line fill the cores of its DEFAULT line, Features hide Feature, and CPUs of DEFAULT go before Procs."""
    platform = Platform.read(conf(
        tmp_path,
        "NodeName=DEFAULT CoresPerSocket=8 ThreadsPerCore=2 Feature=slow", "NodeName=a CPUs=32", "NodeName=b Features=fast",
        "NodeName=DEFAULT CPUs=64", "NodeName=c Procs=16",
    ))  # fmt: skip
    assert platform.node_cores.tolist() == [32, 16, 64]
    assert [sorted(kind.tags) for kind in platform.node_types] == [["slow"], ["fast"], ["slow"]]
    assert platform.slurm is not None
    assert platform.slurm.threads == (2, 2, 2)


def test_keys_that_stand_more_than_once(tmp_path: Path) -> None:
    """The last counts, on a line and in the file, and this is told; of partitions the last default one is."""
    path = conf(
        tmp_path, "KillWait=10", "NodeName=n1 CPUs=4 cpus=2", "PartitionName=a Nodes=n1 Default=YES MaxTime=1 PriorityTier=2",
        "KillWait=60", "PartitionName=b Nodes=n1 Default=yes Priority=7 PriorityTier=3", "DownNodes=n9 State=UNKNOWN",
        "NodeName=n9", "DownNodes=n9 State=DOWN",
    )  # fmt: skip
    platform = Platform.read(path)
    assert platform.node_cores.tolist() == [2]
    assert platform.slurm is not None
    assert platform.slurm.parameters["killwait"] == "60"
    default = platform.slurm.partition()
    assert default is not None
    assert (default.name, default.priority_tier, default.priority_job_factor) == (
        "b",
        7,
        7,
    )  # Priority goes before both
    assert warned(path).partition("\n")[0] == (
        f"{path}: 1 of 2 nodes left out: n9 (DOWN); written more than once, of which the last counts, as in Slurm: "
        "cpus, KillWait; a, b, Default=YES: Slurm takes the last"
    )


def test_nodes_of_no_partition_are_left_out(tmp_path: Path) -> None:
    """They are named, and jobs of other schedulers do not run there; where there are no partitions all nodes stay."""
    path = conf(tmp_path, "NodeName=head", "NodeName=c[1-2] CPUs=4", "PartitionName=batch Nodes=c[1-2] Default=YES")
    platform = Platform.read(path)
    assert names(platform) == ("c1", "c2")
    assert warned(path) == f"{path}: 1 node of no partition left out, since no job may run there: head"
    jobs = Workload({"submit_time": [0.0, 0.0], "requested_cores": [8, 1], "recorded_run_time": [600.0, 600.0]})
    assert Simulation(platform, jobs, make_scheduler("easy")).run().jobs["start_time"].tolist() == [0.0, 600.0]
    summary = Simulation(platform, jobs, make_scheduler(f"slurm:conf={path}")).run().summary()
    assert summary["utilisation"] == pytest.approx(5400 / (8 * 1200.16), abs=1e-4)
    assert names(Platform.read(conf(tmp_path, "NodeName=head", "NodeName=c[1-2] CPUs=4"))) == ("head", "c1", "c2")


def test_gres_that_are_no_gpus_are_not_told_as_such(tmp_path: Path) -> None:
    """Only GPUs are given to jobs, and those of one type on a node."""
    path = conf(
        tmp_path,
        "NodeName=n1 Gres=tmpfs:100G,craynetwork:4",
        "NodeName=n2 Gres=gpu:a:2,gpu:b:1",
        "PartitionName=p Nodes=ALL",
    )
    assert warned(path) == (
        f"{path}: Gres craynetwork, tmpfs: not simulated; "
        "GPUs of 1 node, which have several types on a node: not simulated"
    )


def test_keys_of_other_versions_are_known(tmp_path: Path) -> None:
    """What once meant something, or will, and has none for a schedule, is not told; a misspelt key is."""
    keys = ["FastSchedule=1", "CacheGroups=0", "DefaultStorageType=none", "SchedulerAuth=x", "JobCheckpointDir=/c", "Layouts=x",
            "SallocDefaultCommand=x", "TLSType=none", "FrontendName=f1 FrontendAddr=x", "SlurmctldHost=a",
            "SlurmctldHost=b"]  # fmt: skip
    nodes = ["NodeName=n1 CPUs=4 CpuBind=core TRESWeights=cpu=1", "PartitionName=p Nodes=ALL CpuBind=core"]
    assert warned(conf(tmp_path, *keys, *nodes)) == ""
    path = conf(
        tmp_path, "SlurmctldTimout=1", "Nonsense=2", "NodeName=n1 CoresPerSockt=4", "PartitionName=p Nodes=n1 MaxTme=5"
    )
    told = "CoresPerSockt (perhaps CoresPerSocket), MaxTme (perhaps MaxTime), "
    told += "SlurmctldTimout (perhaps SlurmctldTimeout), Nonsense"
    assert warned(path) == f"{path}: not known: {told}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("n[1-3]", ["n1", "n2", "n3"]), ("n[08-10,20]", ["n08", "n09", "n10", "n20"]), ("a,b[1,3],c", ["a", "b1", "b3", "c"]),
     ("r[1-2]n[1-2]x", ["r1n1x", "r1n2x", "r2n1x", "r2n2x"])],
)  # fmt: skip
def test_lists_of_nodes(text: str, expected: list[str]) -> None:
    """Ranges with leading zeros, several in a name, and names between them."""
    assert host_list(text) == expected


def test_defaults_hold_for_the_lines_below(tmp_path: Path) -> None:
    """Lines NodeName=DEFAULT and PartitionName=DEFAULT add up; a line's own keys win."""
    platform = Platform.read(conf(
        tmp_path,
        "NodeName=early",
        "NodeName=DEFAULT CPUs=8 Weight=5",
        "NodeName=default RealMemory=2048",
        "NodeName=a", "nodename=b CPUS=2",
        "PartitionName=DEFAULT MaxTime=60 PriorityTier=3",
        "PartitionName=p Nodes=ALL Default=YES", "PartitionName=q Nodes=a MaxTime=UNLIMITED",
    ))  # fmt: skip
    assert platform.node_cores.tolist() == [1, 8, 2]
    assert [kind.memory_gb for kind in platform.node_types] == [None, 2.0, 2.0]
    assert platform.slurm is not None
    assert [(p.name, p.max_time_s, p.priority_tier, p.nodes) for p in platform.slurm.partitions] == [
        ("p", 3600, 3, (0, 1, 2)), ("q", math.inf, 3, (1,)),
    ]  # fmt: skip


def test_partitions_are_kept(tmp_path: Path) -> None:
    """Nodes by name, by ALL and by sets, limits, tiers, overlap, preemption; other keys as written."""
    platform = Platform.read(conf(
        tmp_path,
        "NodeName=n[1-4] CPUs=4 Feature=slow", "NodeName=n[5-6] CPUs=4 Feature=fast",
        "NodeSet=quick Feature=fast Nodes=n6", "NodeSet=some Nodes=n[1-2]",
        "PartitionName=p Nodes=quick,some Default=YES MaxTime=1-00:00:00 DefaultTime=30 MinNodes=2 MaxNodes=3 PriorityTier=7 "
        "PriorityJobFactor=9 OverSubscribe=FORCE:2 PreemptMode=requeue GraceTime=30 State=DOWN AllowQos=high,low",
        'PartitionName=rest Nodes="n3 n4" MaxTime=10 DefaultTime=20',
    ))  # fmt: skip
    assert platform.slurm is not None
    p = platform.slurm.partitions[0]
    assert (p.nodes, p.default, p.max_time_s, p.default_time_s) == ((0, 1, 4, 5), True, 86400, 1800)
    assert (p.min_nodes, p.max_nodes, p.priority_tier, p.priority_job_factor) == (2, 3, 7, 9)
    assert (p.over_subscribe, p.preempt_mode, p.grace_time_s, p.state) == ("FORCE:2", "REQUEUE", 30, "DOWN")
    assert p.options == {"allowqos": "high,low"}
    assert (platform.slurm.partitions[1].nodes, platform.slurm.partitions[1].default_time_s) == ((2, 3), None)
    assert platform.slurm.partition() is p
    assert platform.slurm.partition("q") is None


def test_lines_comments_quotes_and_includes(tmp_path: Path) -> None:
    """A backslash goes on in the next line, # begins a comment, quotes hold spaces, other files stand where they are named."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more/nodes.conf").write_text("NodeName=b CPUs=3\ninclude c.conf\n")
    (tmp_path / "more/c.conf").write_text("NodeName=c CPUs=5\n")
    platform = Platform.read(conf(
        tmp_path,
        "# a comment", "SchedulerParameters=bf_interval=2,\\", "bf_window=60  # and another", "NODENAME = a \\",
        '  CPUs = 2 Reason="to be # mended"'.replace("#", "\\#"), "INCLUDE more/nodes.conf", "",
    ))  # fmt: skip
    assert platform.node_cores.tolist() == [2, 3, 5]
    assert platform.slurm is not None
    assert platform.slurm.parameters == {"schedulerparameters": "bf_interval=2,bf_window=60"}


def test_nodes_that_are_down_are_left_out(tmp_path: Path) -> None:
    """They are named; a partition has the others."""
    path = conf(tmp_path, "NodeName=n[1-5] CPUs=2", "NodeName=n6 State=DRAIN", "DownNodes=n[2-3] State=DOWN",
                "PartitionName=p Nodes=n[2-4]", "PartitionName=q Nodes=ALL")  # fmt: skip
    platform = Platform.read(path)
    assert names(platform) == ("n1", "n4", "n5")
    assert platform.slurm is not None
    assert platform.slurm.partitions[0].nodes == (1,)
    assert "3 of 6 nodes left out: n2 (DOWN), n3 (DOWN), n6 (DRAIN)" in warned(path)


def test_what_is_not_simulated_is_told_in_a_line(tmp_path: Path) -> None:
    """Keys with what it means that they are not; those that nobody knows; nothing about logs and addresses."""
    path = conf(
        tmp_path,
        "SlurmctldPort=6817", "AuthType=auth/munge", "TopologyPlugin=topology/tree", "SchedulerType=sched/backfill",
        "Prolog=/etc/prolog", "NonsenseKey=5", "PriorityWeightAge=7", "PriorityType=priority/multifactor",
        "NodeName=n[1-2] CPUs=4 CoreSpecCount=1 Gres=gpu:2 Colour=red",
        "PartitionName=p Nodes=n1", "PartitionName=q Nodes=n2",
    )  # fmt: skip
    assert warned(path) == (
        f"{path}: CoreSpecCount: CPUs set aside for the system run jobs; "
        "Prolog: takes no time; not known: Colour, NonsenseKey\n"
        f"{path}: nodes, limits, tiers and states of partitions: only the scheduler slurm:conf=FILE follows them; "
        "PriorityWeightAge, PriorityType: only the scheduler slurm:conf=FILE and the order multifactor follow them; "
        "TopologyPlugin, SchedulerType: only the scheduler slurm:conf=FILE follows them"
    )
    assert warned(conf(tmp_path, "NodeName=n1 CPUs=4", "PartitionName=p Nodes=ALL MaxTime=INFINITE State=UP")) == ""


def test_rules_of_partitions_that_are_not_simulated_are_told(tmp_path: Path) -> None:
    """Who may use them, their own limits and unknown keys, with DEFAULT's; not those that say what holds anyway."""
    nodes = "NodeName=n[1-2] CPUs=4"
    path = conf(
        tmp_path, nodes, "PartitionName=DEFAULT DenyQos=low LLN=YES",
        "PartitionName=p Nodes=ALL AllowAccounts=phys MaxCPUsPerNode=2 QOS=part Bar=3 Hidden=YES",
    )  # fmt: skip
    assert warned(path) == (
        f"{path}: DenyQos, AllowAccounts: every job may use every partition; LLN: nodes are not chosen by their load; "
        "MaxCPUsPerNode: a job may have all CPUs of a node; QOS: partitions have no quality of service; not known: Bar"
    )
    neutral = "AllowAccounts=ALL AllowQos=ALL LLN=NO MaxCPUsPerNode=UNLIMITED MaxMemPerNode=0 ReqResv=NO"
    assert warned(conf(tmp_path, nodes, f"PartitionName=p Nodes=ALL {neutral}")) == ""


def test_keys_and_options_that_no_scheduler_follows(tmp_path: Path) -> None:
    """They are not said to be followed by slurm: what holds instead is told, and options that Slurm does not have."""
    path = conf(
        tmp_path, "SchedulerParameters=defer,bogus_opt=3,partition_job_depth=1", "EnforcePartLimits=ALL", "MaxMemPerNode=9",
        "PriorityType=priority/multifactor", "PriorityFlags=ACCRUE_ALWAYS,MAX_TRES",
        "PriorityUsageResetPeriod=MONTHLY", "PriorityNonsense=1", "CompleteWait=0",
        "NodeName=n1 CPUs=4", "PartitionName=p Nodes=ALL",
    )  # fmt: skip
    assert warned(path) == (
        f"{path}: MaxMemPerNode: jobs get as much memory as they ask for; "
        "PriorityUsageResetPeriod: usage decays, and is not set back; "
        "SchedulerParameters defer, partition_job_depth: not simulated; PriorityFlags MAX_TRES: not simulated; "
        "not known: PriorityNonsense, SchedulerParameters bogus_opt\n"
        f"{path}: PriorityType, PriorityFlags: only the scheduler slurm:conf=FILE and the order multifactor follow them; "
        "EnforcePartLimits: only the scheduler slurm:conf=FILE follows them"
    )


@pytest.mark.parametrize(
    ("schedulers", "is_told"),
    [(["slurm"], False), (["slurm:conf=a,epoch=5"], False), (["easy"], True), ([], True), (["slurm:conf=a", "easy"], True)],
)  # fmt: skip
def test_what_slurm_follows_is_not_told_where_slurm_runs(tmp_path: Path, schedulers: list[str], is_told: bool) -> None:
    """It is told of runs under any other scheduler, and by the scheduler itself to nobody."""
    path = conf(
        tmp_path, "NodeName=n1 CPUs=4", "SelectType=select/linear", "PriorityType=priority/basic",
        "PartitionName=p Nodes=n1 Default=YES",
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        with read_for(schedulers):
            Platform.read(path)
        make_scheduler(f"slurm:conf={path}")
    assert len(noted) == int(is_told)


def test_jobs_run_on_it(tmp_path: Path) -> None:
    """Features are what jobs require; the platform is one like any other, and written as one, but for its partitions."""
    path = conf(tmp_path, "NodeName=a CPUs=4", "NodeName=b CPUs=4 Feature=fast", "PartitionName=p Nodes=ALL")
    platform = Platform.read(path)
    job = {"submit_time": [0.0], "requested_cores": [2], "recorded_run_time": [10.0], "requires": ["fast"]}
    result = Simulation(platform, Workload(job), make_scheduler("easy")).run()
    assert result.allocations["node"].tolist() == ["cluster0.node1"]
    with pytest.warns(UserWarning, match="no place for the partitions, weights and names of nodes"):
        platform.write(tmp_path / "p.yaml")
    assert Platform.read(tmp_path / "p.yaml") == platform


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["NodeName=n[1- CPUs=4"], "line 1, NodeName: expected names of nodes such as node[01-16,20],login1, found n[1-"),
        (["NodeName=n[3-1]"], "line 1, NodeName: expected rising ranges of numbers such as node[01-16,20], found n[3-1]"),
        (["", "NodeName=n1 CPUs=four"], "line 2, CPUs: expected a whole number, found four"),
        (["NodeName=n1", "NodeName=n[1-2]"], "line 2, NodeName: expected every node once, found n1 twice"),
        (["NodeName=n1 State=ASLEEP"], "line 1, State: expected a state (DOWN, DRAIN,"),
        (["NodeName=n1", "PartitionName=p Nodes=n1 State=DOWM"], "line 2, State: expected one of UP, DOWN, DRAIN, INACTIVE"),
        (["NodeName=n1", "PartitionName=p Nodes=n1 Default=MAYBE"], "line 2, Default: expected one of YES, UP, TRUE, 1, NO,"),
        (["NodeName=n1", "PartitionName=p Nodes=n1 OverSubscribe=FORCE:x"], "line 2, OverSubscribe: expected one of NO, YES,"),
        (["NodeName=n1", "PartitionName=p Nodes=n1 PreemptMode=XX"], "line 2, PreemptMode: expected one of OFF, REQUEUE,"),
        (["NodeName=n1", "SelectType=select/liner"], "line 2, SelectType: expected one of select/linear, select/cons_tres,"),
        (["NodeName=n1", "PriorityFavorSmall=banana"], "line 2, PriorityFavorSmall: expected one of YES, UP,"),
        (["NodeName=n1", "PartitionName=p Nodes=n2"], "line 2, Nodes: expected a node that NodeName describes, found n2"),
        (["NodeName=n1", "PartitionName=p Nodes=n1 MaxTime=long"], "line 2, MaxTime: expected a duration such as 1-02:03:04"),
        (["NodeName=n1 CPUs=4 oops"], "line 1 column 20: expected Key=Value, found oops"),
        (["NodeName=n1 CPUs=4 nodename=n2"], "line 1 column 20: expected nodename once on a line, found it twice"),
        (["NodeName=n1", "PartitionName=p Nodes=n1", "PartitionName=p"], "PartitionName=p: expected every partition once, found"),
        (["ClusterName=a"], "expected at least one node (NodeName=…) that is up and in a partition, found 0 nodes"),
        (["NodeName=n1", "PartitionName=p"], "that is up and in a partition, found 1 node"),
        (["NodeName=n1 Gres=gpu:4x", "PartitionName=p Nodes=n1"], "line 1, Gres: expected a whole number, found gpu:4x"),
        (["NodeName=n1", "Include gone.conf"], "gone.conf: expected a readable file, found No such file or directory"),
        (["NodeName=n1", "Include slurm.conf"], "Include: expected at most 100 files with plain names"),
        (["NodeName=n[0-9999999]"], "line 1, NodeName: expected at most 1,000,000 nodes"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_a_line(tmp_path: Path, lines: list[str], message: str) -> None:
    """File, line, key or column, what was expected and what was found."""
    with pytest.raises(FormatError) as caught:
        Platform.read(conf(tmp_path, *lines))
    assert str(tmp_path) in str(caught.value)
    assert message in str(caught.value)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """validate knows it by its content, and run takes it; wrong input ends with 2."""
    Path(conf(tmp_path, "ClusterName=lab", "NodeName=n[1-3] CPUs=4")).rename(tmp_path / "copy.txt")
    for words, status in (
        (["validate", str(tmp_path / "copy.txt")], 0),
        (["validate", conf(tmp_path, "NodeName=n1 CPUs=x")], 2),
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert (ended.value.code or 0) == status
    told = capsys.readouterr()
    assert "platform, valid" in told.out
    assert "lab (3 nodes)" in told.out
    assert "slurm.conf line 1, CPUs: expected a whole number, found x" in told.err


NEAR = {
    "scontrol show config": "Configuration data as of 2026-03-01T10:00:00\nAccountingStorageType   = accounting_storage/none\n"
    "ClusterName             = lab\nSLURM_CONF              = /etc/slurm/slurm.conf\n",
    "scontrol show node": "NodeName=n1 Arch=x86_64 CoresPerSocket=16 \n   CPUAlloc=0 CPUEfctv=32 CPUTot=32 CPULoad=0.01\n"
    "   Partitions=p \n\n",
    "scontrol -o show node": "NodeName=n1 CoresPerSocket=16 CPUAlloc=0 CPUTot=32 CPULoad=N/A State=IDLE ThreadsPerCore=1\n",
    "scontrol show partition": "PartitionName=p\n   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL\n   State=UP TotalCPUs=64 "
    "TotalNodes=2 SelectTypeParameters=NONE\n",
    "scontrol show job": "JobId=7 JobName=a\n   UserId=ann(1000) GroupId=ann(1000)\n",
    "sinfo": "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\np*           up   infinite      2   idle n[1-2]\n",
    "squeue": "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n",
    "topology.conf": "# the tree\nSwitchName=s0 Nodes=n[1-2]\n",
    "gres.conf": "AutoDetect=nvml\n",
    "gres.conf of nodes": "NodeName=n[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-3]\n",
    "cgroup.conf": "CgroupAutomount=yes\nConstrainCores=no\n",
    "slurmdbd.conf": "AuthType=auth/munge\nDbdHost=db1\nSlurmUser=slurm\nStorageType=accounting_storage/mysql\n",
}
"""What is near a slurm.conf and is none, by the file or the command that it is from."""


@pytest.mark.parametrize("name", ["near.conf", "near.txt"])
@pytest.mark.parametrize("kind", NEAR)
def test_what_is_near_a_slurm_conf_is_refused(tmp_path: Path, kind: str, name: str) -> None:
    """By its content, whatever its name: the line says what it is, and what to give."""
    path = tmp_path / name
    path.write_text(NEAR[kind])
    with pytest.raises(FormatError) as caught:
        Platform.read(path)
    found = f"what {kind.replace(' -o', '')} prints" if "." not in kind else kind.replace(" of nodes", "")
    assert str(caught.value).startswith(
        f"{path}: expected the slurm.conf itself (scontrol show config names it as SLURM_CONF)"
    )
    assert str(caught.value).rpartition(", found ")[2].removeprefix("a ") == found
    with pytest.raises(SystemExit) as ended:
        main(["validate", str(path)])
    assert ended.value.code == 2


def test_what_commands_print_as_json_is_refused(tmp_path: Path) -> None:
    """As for their tables, the line says what to give."""
    path = tmp_path / "nodes.json"
    path.write_text('{"meta": {"Slurm": {}}, "nodes": []}')
    found = "expected the slurm.conf itself, found what a command of Slurm's prints with --json"
    with pytest.raises(FormatError, match=re.escape(found)):
        Platform.read(path)


@pytest.mark.skipif(not RECORDED, reason="the recorded runs of ../shared are not there")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.parent.name)
def test_recorded_runs(path: Path) -> None:
    """Nodes, CPUs, memory, features, weights and partitions are those of the file, and jobs ran on nodes of these names."""
    platform, text = Platform.read(path), path.read_text()
    assert platform.slurm is not None
    expected = []
    for line in re.findall(r"^NodeName=.*", text, re.M):
        keys = dict(pair.split("=", 1) for pair in line.split())
        first, last = map(int, re.findall("[0-9]+", keys["NodeName"]))
        cpus = int(keys["CPUs"]) if "CPUs" in keys else int(keys["Sockets"]) * int(keys["CoresPerSocket"])
        memory = int(keys["RealMemory"]) / 1024 if "RealMemory" in keys else None
        features = set(keys["Feature"].split(",")) if "Feature" in keys else set()
        weight, gres = int(keys.get("Weight", 1)), keys.get("Gres", "")
        expected += [(f"n{number}", cpus, memory, features, weight, gres) for number in range(first, last + 1)]
    types = [platform.node_types[kind] for kind in platform.type_of_node]
    slurm = platform.slurm
    found = zip(slurm.node_names, platform.node_cores.tolist(), [t.memory_gb for t in types], [set(t.tags) for t in types],
                slurm.weights, slurm.gres, strict=True)  # fmt: skip
    assert list(found) == expected
    lines = re.findall(r"^PartitionName=(\S+) (.*)", text, re.M)
    assert [partition.name for partition in slurm.partitions] == [name for name, _ in lines]
    for partition, (_, keys_text) in zip(slurm.partitions, lines, strict=True):
        assert partition.priority_tier == int((re.findall(r"PriorityTier=(\d+)", keys_text) or [1])[0])
        assert partition.priority_job_factor == int((re.findall(r"PriorityJobFactor=(\d+)", keys_text) or [1])[0])
        limit = re.findall(r"MaxTime=(\S+)", keys_text)[0]
        assert partition.max_time_s == (math.inf if limit == "INFINITE" else int(limit) * 60)
    jobs = json.loads(path.with_name("expected.json").read_text())["jobs"]
    assert {node for job in jobs for node in job.get("nodes") or []} <= set(slurm.node_names)


GRES = "NodeName=n[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-3] Cores=0-7\nNodeName=n3 Name=gpu Type=h100 Count=2\n"


def test_a_gres_conf_says_types(tmp_path: Path) -> None:
    """Of GPUs that the slurm.conf counts; of n4 there is no line, and n5 has another number: they stay as they were."""
    (tmp_path / "gres.conf").write_text(f"AutoDetect=off\n{GRES}NodeName=n5 Name=gpu Type=a100\nName=tmpdisk Count=1\n")
    path = tmp_path / "slurm.conf"
    lines = ["NodeName=n[1-2] CPUs=8 Gres=gpu:4", "NodeName=n[3-5] CPUs=8 Gres=gpu:2,bw:1", "PartitionName=p Nodes=ALL"]
    path.write_text("\n".join(lines) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        platform = Platform.read(str(path))
    kinds = [platform.node_types[index].resources["gpu"] for index in platform.type_of_node]
    assert [(kind.count, kind.type) for kind in kinds] == [(4, "a100"), (4, "a100"), (2, "h100"), (2, ""), (2, "")]
    assert platform.slurm is not None
    assert platform.slurm.gres[1:4] == ("gpu:a100:4", "gpu:h100:2,bw:1", "gpu:2,bw:1")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("NodeName=n1 Name=gpu Tipe=a", "line 1, Tipe: expected"),
        ("Name=gpu Type=a Count=3 File=/dev/g[0-1]", "line 1, Count: expected as many as File names, 2, found 3"),
        ("Name=gpu Count=some", "line 1, Count: expected a whole number, found some"),
    ],
)
def test_a_bad_gres_conf_is_one_line(tmp_path: Path, text: str, error: str) -> None:
    """Its own file, line and key are named."""
    (tmp_path / "gres.conf").write_text(f"{text}\n")
    path = tmp_path / "slurm.conf"
    path.write_text("NodeName=n1 CPUs=8 Gres=gpu:4\nPartitionName=p Nodes=ALL\n")
    with pytest.raises(FormatError, match=r"gres\.conf") as told:
        Platform.read(str(path))
    assert error in str(told.value)
