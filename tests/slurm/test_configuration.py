"""How the scheduler takes a slurm.conf: defaults of absent keys, keys that are switched off, sharing, states of partitions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Result, Simulation, Workload, make_scheduler
from cluster_sim.errors import InputError

CORES = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nPriorityType=priority/basic\n"
WHOLE = f"{CORES}PartitionName=DEFAULT OverSubscribe=EXCLUSIVE\n"
MACHINE = "NodeName=n1 CPUs=4\nPartitionName=p Nodes=n1 Default=YES\n"

pytestmark = pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")


def run(tmp_path: Path, conf: str, **columns: Sequence[Any]) -> Result:
    """A run of jobs of a minute, all submitted at 0 s unless said otherwise."""
    path = tmp_path / "slurm.conf"
    path.write_text(conf)
    count = len(columns["requested_cores"])
    jobs = {
        "submit_time": [0.0] * count,
        "recorded_run_time": [60.0] * count,
        "requested_time": [60.0] * count,
        **columns,
    }
    return Simulation(Platform.read(path), Workload(jobs), make_scheduler(f"slurm:conf={path}")).run()


def told(tmp_path: Path, conf: str) -> list[str]:
    """What making the scheduler warns of."""
    path = tmp_path / "slurm.conf"
    path.write_text(conf)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        make_scheduler(f"slurm:conf={path}")
    return [str(each.message).removeprefix(f"{path}: ") for each in noted]


def test_without_a_select_type_jobs_have_whole_nodes(tmp_path: Path) -> None:
    """select/linear: the second job of one CPU waits for the node."""
    first, second = run(tmp_path, MACHINE, requested_cores=[1, 1]).jobs["start_time"]
    assert first < 1.0
    assert 60.0 < second < 61.0
    both = run(tmp_path, CORES + MACHINE, requested_cores=[1, 1]).jobs["start_time"]
    assert max(both) < 1.0


def test_without_a_priority_type_jobs_start_in_order(tmp_path: Path) -> None:
    """priority/basic: the weight of job sizes counts for nothing, and the third job is no sooner for its size."""
    keys = CORES.replace("PriorityType=priority/basic\n", "PriorityWeightJobSize=1000\n")
    jobs: dict[str, Any] = {"submit_time": [0.0, 1.0, 1.0], "requested_cores": [4, 1, 4]}
    assert run(tmp_path, keys + MACHINE, **jobs).jobs["start_time"].round(-1).tolist() == [0.0, 60.0, 120.0]
    weighted = f"PriorityType=priority/multifactor\n{keys}{MACHINE}"
    assert run(tmp_path, weighted, **jobs).jobs["start_time"].round(-1).tolist() == [0.0, 120.0, 60.0]


def test_defaults_in_force_are_named_in_a_line(tmp_path: Path) -> None:
    """Once, and nothing where the file says all."""
    line = "not said, so Slurm 22.05's defaults hold: "
    assert told(tmp_path, MACHINE) == [f"{line}SelectType=select/linear, PriorityType=priority/basic"]
    assert told(tmp_path, CORES + MACHINE) == []
    weighted = "SelectType=select/linear\nPriorityWeightAge=9\n"
    assert told(tmp_path, weighted + MACHINE) == [
        f"{line}PriorityType=priority/basic, PriorityWeightAge without effect"
    ]


@pytest.mark.parametrize(
    ("keys", "refused"),
    [
        (
            "SelectType=select/cons_tres\n",
            "line 1, SelectType: expected CR_CPU, CR_Core or CR_Socket, with or without _Memory",
        ),
        (
            "SelectType=select/cons_res\nSelectTypeParameters=CR_Memory\n",
            "line 2, SelectTypeParameters: expected CR_CPU,",
        ),
        (
            f"{CORES}SuspendTime=300\nSuspendProgram=/s\nResumeProgram=/r\n",
            "line 4, SuspendTime: expected INFINITE: power saving",
        ),
        (
            f"{CORES}TopologyPlugin=topology/3d_torus\n",
            "line 4, TopologyPlugin: expected topology/tree or topology/none",
        ),
        (f"{CORES}TopologyPlugin=topology/tree\n", "line 6, PartitionName=p, OverSubscribe: expected EXCLUSIVE"),
        (
            f"{WHOLE}TopologyPlugin=topology/tree\nTopologyParam=TopoOptional\n",
            "line 6, TopologyParam: expected Dragonfly",
        ),
        (
            f"{WHOLE}TopologyPlugin=topology/tree\n",
            "line 5, TopologyPlugin: expected a topology.conf with SwitchName=…",
        ),
        (
            "SelectType=select/linear\nTopologyPlugin=topology/tree\n",
            "line 2, TopologyPlugin: expected SelectType=select/cons_tres",
        ),
        (
            f"{WHOLE}TopologyPlugin=topology/tree\nPreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n",
            "line 5, TopologyPlugin: expected PreemptType=preempt/none",
        ),
        (
            f"{CORES}PreemptMode=GANG\nPartitionName=q Nodes=ALL\n",
            "line 7, PartitionName=p: expected other nodes than another",
        ),
    ],
)
def test_what_is_switched_on_and_not_simulated_is_refused(tmp_path: Path, keys: str, refused: str) -> None:
    """With file and line."""
    path = tmp_path / "slurm.conf"
    path.write_text(keys + MACHINE)
    with pytest.raises(InputError, match=re.escape(f"scheduler 'slurm', {path} {refused}")):
        make_scheduler(f"slurm:conf={path}")


def test_the_suspend_time_of_a_partition_turns_power_saving_on(tmp_path: Path) -> None:
    """The line of the partition is named; Slurm does not take it from a DEFAULT line."""
    programs = f"{CORES}SuspendProgram=/s\nResumeProgram=/r\n"
    path = tmp_path / "slurm.conf"
    path.write_text(programs + MACHINE.replace("Default=YES", "Default=YES SuspendTime=60"))
    with pytest.raises(InputError, match="line 7, PartitionName=p, SuspendTime: expected INFINITE"):
        make_scheduler(f"slurm:conf={path}")
    path.write_text(f"{programs}PartitionName=DEFAULT SuspendTime=60\n{MACHINE}")
    make_scheduler(f"slurm:conf={path}")


@pytest.mark.parametrize(
    "keys",
    [
        "SuspendProgram=/s\nResumeProgram=/r\n",
        "SuspendProgram=/s\nResumeProgram=/r\nSuspendTime=-1\nResumeTimeout=600\n",
        "SuspendProgram=/s\nResumeProgram=/r\nSuspendTime=INFINITE\n",
        "SuspendTime=300\nSuspendTimeout=60\n",  # without programs Slurm leaves nodes on
        "SuspendTime=300\nSuspendProgram=/s\n",
        "TopologyPlugin=topology/none\nTopologyParam=TopoOptional\n",
        "TopologyPlugin=topology/flat\n",
        "PreemptMode=GANG\n",
        "SchedulerTimeSlice=60\n",
        "PreemptParameters=min_exempt_priority=5\nPreemptExemptTime=60\n",
        "PriorityUsageResetPeriod=DAILY\nPriorityWeightTRES=cpu=5\n",
    ],
)
def test_keys_whose_feature_is_off_are_ignored(tmp_path: Path, keys: str) -> None:
    """Neither the scheduler nor the platform says a word, and jobs run."""
    assert told(tmp_path, CORES + keys + MACHINE) == []
    path = tmp_path / "slurm.conf"
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "(?!.*only the scheduler slurm)")
        Platform.read(path)
    assert run(tmp_path, CORES + keys + MACHINE, requested_cores=[4]).jobs["state"].tolist() == ["completed"]


def test_halves_of_preemption_are_told(tmp_path: Path) -> None:
    """Slurm does not start with a mode without a type, nor with a type without a mode: nobody is preempted here."""
    mode, kind = (
        told(tmp_path, f"{CORES}{key}\n{MACHINE}") for key in ("PreemptMode=REQUEUE", "PreemptType=preempt/qos")
    )
    assert [line.rpartition("line 4, ")[2] for line in mode + kind] == [
        "PreemptMode: does nothing without PreemptType, found REQUEUE; Slurm 22.05 does not start with this",
        "PreemptType: needs another PreemptMode than OFF; Slurm 22.05 does not start with this",
    ]


def test_sharing_is_refused_and_what_is_none_is_not(tmp_path: Path) -> None:
    """FORCE has four jobs on a core, FORCE:n has n; FORCE:1 has one, and YES shares only what jobs ask to share."""
    path = tmp_path / "slurm.conf"
    for key, value in (("OverSubscribe", "FORCE"), ("OverSubscribe", "force:3"), ("Shared", "FORCE:2")):
        for select in (CORES, "SelectType=select/linear\n"):
            path.write_text(f"{MACHINE.replace('Default=YES', f'Default=YES {key}={value}')}{select}")
            found = f"line 2, PartitionName=p, OverSubscribe: expected NO, YES, EXCLUSIVE or FORCE:1: .*, found {value.upper()}"
            with pytest.raises(InputError, match=found):
                make_scheduler(f"slurm:conf={path}")
    for value in ("NO", "YES", "YES:2", "FORCE:1", "FORCE:0", "EXCLUSIVE"):
        conf = CORES + MACHINE.replace("Default=YES", f"Default=YES OverSubscribe={value}")
        starts = run(tmp_path, conf, requested_cores=[4, 4]).jobs["start_time"]
        assert 60.0 < max(starts) < 62.0


@pytest.mark.parametrize(
    ("keys", "cores", "nodes", "starts"),
    [
        ("CPUs=4", [1, 1, 1, 1], "", [0, 0, 0, 0]),  # four cores
        ("Sockets=1 CoresPerSocket=2 ThreadsPerCore=2", [1, 1, 1], "", [0, 0, 60]),  # two cores of two threads
        ("CPUs=4 ThreadsPerCore=2", [3, 1], "", [0, 60]),  # three threads are two cores
        ("CPUs=2 Sockets=1 CoresPerSocket=2 ThreadsPerCore=2", [1, 1, 1], "", [0, 0, 60]),  # CPUs are cores
    ],
)
def test_jobs_share_no_core(tmp_path: Path, keys: str, cores: list[int], nodes: str, starts: list[float]) -> None:
    """Where CPUs are threads a job holds all threads of its cores."""
    conf = CORES + MACHINE.replace("CPUs=4", keys)
    assert run(tmp_path, conf, requested_cores=cores).jobs["start_time"].round(-1).tolist() == starts


def test_memory_of_each_cpu_counts_for_whole_cores(tmp_path: Path) -> None:
    """A job of one CPU has both threads of a core, and twice the memory of a CPU: 2 x 600 of 2000 MB."""
    conf = (
        (CORES + MACHINE)
        .replace("CR_Core", "CR_Core_Memory")
        .replace("CPUs=4", "CPUs=4 ThreadsPerCore=2 RealMemory=2000")
    )
    starts = run(tmp_path, f"DefMemPerCPU=600\n{conf}", requested_cores=[1, 1]).jobs["start_time"]
    assert starts.round(-1).tolist() == [0.0, 60.0]
    starts = run(tmp_path, f"DefMemPerCPU=500\n{conf}", requested_cores=[1, 1]).jobs["start_time"]
    assert starts.round(-1).tolist() == [0.0, 0.0]
    wide = f"DefMemPerCPU=600\n{conf}".replace("n1", "n[1-2]")
    two = run(tmp_path, wide, requested_cores=[1, 2], nodes=[1, 2])
    assert two.jobs["start_time"].round(-1).tolist() == [0.0, 60.0]  # the first node has memory for half a core left
    both = run(tmp_path, f"DefMemPerCPU=600\nDefMemPerNode=900\n{conf}", requested_cores=[1, 1]).jobs["start_time"]
    assert both.round(-1).tolist() == [0.0, 0.0]  # DefMemPerNode counts alone
    own = f"DefMemPerCPU=500\n{conf}".replace("Default=YES", "Default=YES DefMemPerCPU=600")
    assert run(tmp_path, own, requested_cores=[1, 1]).jobs["start_time"].round(-1).tolist() == [0.0, 60.0]


def test_jobs_without_memory_are_told_where_memory_is_given_out(tmp_path: Path) -> None:
    """Once: they share nodes here, where Slurm gives each all memory of its nodes."""
    conf = (CORES + MACHINE).replace("CR_Core", "CR_Core_Memory").replace("CPUs=4", "CPUs=4 RealMemory=2000")
    for keys, times in (("", 1), ("DefMemPerCPU=100\n", 0)):
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            run(tmp_path, keys + conf, requested_cores=[1, 1])
        assert sum("says nothing of memory" in str(each.message) for each in noted) == times


@pytest.mark.parametrize(
    ("state", "jobs"),
    [("UP", "completed"), ("DOWN", "unfinished"), ("DRAINED", "rejected"), ("INACTIVE", "rejected")],
)
@pytest.mark.filterwarnings("ignore:.*unfinished")
def test_states_of_partitions_at_submission(tmp_path: Path, state: str, jobs: str) -> None:
    """DOWN lets jobs wait; DRAIN and INACTIVE deny them, with that reason."""
    conf = CORES + MACHINE.replace("Default=YES", f"Default=YES State={state}")
    result = run(tmp_path, conf, requested_cores=[1])
    assert result.jobs["state"].tolist() == [jobs]
    reason = f"partition 'p' is {state.removesuffix('ED')}, and takes no jobs" if jobs == "rejected" else ""
    assert result.jobs["reason"].tolist() == [reason]


def test_a_job_of_several_partitions_is_in_those_that_take_jobs(tmp_path: Path) -> None:
    """It is denied when none does; the alternate of one takes its place."""
    conf = f"{CORES}NodeName=n[1-2] CPUs=4\n" + "".join(
        f"PartitionName={name} Nodes={node} {keys}\n"
        for name, node, keys in (("a", "n1", "State=DRAIN"), ("b", "n2", ""), ("c", "n1", "State=INACTIVE Alternate=b"))
    )
    result = run(tmp_path, conf, requested_cores=[1, 1, 1, 1], partition=["a,b", "a", "a,c", "c,a"])
    assert result.jobs["state"].tolist() == ["completed", "rejected", "completed", "completed"]
    assert result.jobs["reason"][1] == "partition 'a' is DRAIN, and takes no jobs"
    assert set(result.allocations["node"]) == {"cluster0.node1"}


def test_a_partition_that_drains_starts_the_jobs_that_wait_in_it(tmp_path: Path) -> None:
    """The second job was there before the command, the third was not."""
    path = tmp_path / "slurm.conf"
    path.write_text(CORES + MACHINE)
    (tmp_path / "commands.txt").write_text("20 scontrol update PartitionName=p State=DRAIN\n")
    jobs = Workload({"submit_time": [0.0, 1.0, 30.0], "requested_cores": [4] * 3, "recorded_run_time": [60.0] * 3})
    scheduler = make_scheduler(f"slurm:conf={path},commands={tmp_path / 'commands.txt'}")
    assert Simulation(Platform.read(path), jobs, scheduler).run().jobs["state"].tolist() == [
        "completed",
        "completed",
        "rejected",
    ]


@pytest.mark.parametrize(
    ("enforced", "states"),
    [
        ("NO", ["unfinished", "completed", "completed"]),
        ("ANY", ["rejected", "completed", "completed"]),
        ("YES", ["rejected", "completed", "completed"]),
        ("ALL", ["rejected", "rejected", "completed"]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*unfinished")
def test_limits_of_partitions_at_submission(tmp_path: Path, enforced: str, states: list[str]) -> None:
    """The first two jobs request two minutes: too long for the one partition, not for the other."""
    conf = f"{CORES}EnforcePartLimits={enforced}\n{MACHINE}".replace("Default=YES", "MaxTime=1")
    conf += "PartitionName=long Nodes=n1\n"
    columns: dict[str, Any] = {"partition": ["p", "p,long", "p"], "requested_time": [120.0, 120.0, 60.0]}
    result = run(tmp_path, conf, requested_cores=[1, 1, 1], **columns)
    assert result.jobs["state"].tolist() == states
    if states[0] == "rejected":
        word = "ANY" if enforced == "YES" else enforced
        told = f"it is beyond the limits of partition 'p' (PartitionTimeLimit), and EnforcePartLimits={word}"
        assert result.jobs["reason"][0] == told


def test_a_job_without_a_partition_where_none_is_the_default(tmp_path: Path) -> None:
    """It is rejected as by Slurm, and the reason says what the slurm.conf lacks."""
    result = run(tmp_path, CORES + MACHINE.replace(" Default=YES", ""), requested_cores=[1])
    assert result.jobs["reason"].tolist() == [
        "it names no partition, and the slurm.conf has no default one (Default=YES)"
    ]
