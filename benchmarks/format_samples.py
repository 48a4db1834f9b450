"""Right files of every format that the toolkit reads, and what is done with each: what :mod:`benchmarks.damaged` damages."""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cluster_sim import Platform, Result, Simulation, Workload
from cluster_sim.cli.file_facts import facts_of
from cluster_sim.cli.kinds import kind_of


@dataclass(frozen=True)
class Sample:
    """Right files by name, what of them is handed to ``use`` ("" for their folder), and which of them are damaged."""

    files: dict[str, bytes]
    given: str
    use: Callable[[str], object]
    damage: tuple[str, ...] = ()


PLATFORM_YAML = b"""\
id: lab
contention_model: piecewise
processor_types:
  slow:
    cores: 4
    clock_ghz: 1.0
    power: {static_w: 10.0, dynamic_w: 2.0, min_power: 0.5}
    contention: {b: -1.85e-5, c: 32000, da: 1, db: 500, dc: 25000, dd: 500}
    p_states: [{clock_ghz: 1.0}, {clock_ghz: 0.5, power: {static_w: 6.0, dynamic_w: 1.0, min_power: 0.5}}]
node_types:
  thin:
    processors: [{type: slow, count: 2}]
    memory_gb: 32
    tags: [ssd]
    transitions: {off_w: 1.0, switch_on_s: 5, switch_on_w: 9.0, switch_off_s: 2, per: node}
clusters:
- {id: c, nodes: [{type: thin, count: 2}]}
"""
CSV = b"""\
# name: jobs
# origin_s: 5
job_id,submit_time,requested_cores,operations,phases,requested_time,user,after,tags
a,0,1,1e9,,60,ann,,
b,5,2,2e9,1:1 2:3,,bob,a,ssd
c,6,1,4e9,,9,ann,,
"""
SWF = b"; MaxProcs: 8\n; UnixStartTime: 0\n; TimeZoneString: Europe/Paris\n" + b"".join(
    b"%d %d -1 %d %d -1 -1 %d %d -1 1 1 1 1 1 1 -1 -1\n" % (i, 3 * i, 10 + i, 1 + i % 4, 1 + i % 4, 20 + i)
    for i in range(1, 12)
)
IRMASIM_JOBS = {
    "jobs": [
        {"id": "a", "subtime": 0, "res": 4, "profile": "A"},
        {"subtime": 5, "ntasks": 4, "nodes": 2, "req_ops": 1e9},
    ],
    "profiles": {"A": {"req_ops": 1e10, "ipc": 1, "req_time": 5.5, "mem": 100, "mem_vol": 1}},
}
IRMASIM_CSV = (
    b"id,subtime,ntasks,nodes,req_ops,ipc,req_time,mem,mem_vol\n1,0,4,1,1e9,1,10,100,1\n2,4,2,1,3e9,1,10,100,1\n"
)
IRMASIM_PLATFORM = {
    "platform": {"p": {"id": "p", "clusters": [{"id": "c", "nodes": [{"type": "n", "number": 2}]}]}},
    "node": {"n": {"id": "n", "processors": [{"type": "q"}], "memory": {"capacity": 32}}},
    "processor": {
        "q": {"cores": 4, "clock_rate": 2.5, "dpflops_per_cycle": 1, "static_power": 6, "dynamic_power": 5,
              "min_power": 0.05, "b": -1.85e-5, "c": 32000, "da": 1, "db": 500, "dc": 25000, "dd": 500}
    },
}  # fmt: skip
IRMASIM_OPTIONS = {
    "platform_file": "platform.json",
    "workload_file": "jobs.json",
    "seed": 0,
    "workload_manager": {"type": "Heuristic", "job_selection": "smallest", "resource_selection": "high_mem"},
}
BATSIM_JOBS = {
    "nb_res": 4,
    "jobs": [
        {"id": "w!1", "subtime": 1, "walltime": 100, "res": 4, "profile": "delay", "user": "ann", "priority": 2},
        {"id": 2, "subtime": 2.5, "walltime": -1, "res": 2, "profile": "work", "requires": "", "exclusive": False},
        {"id": "3", "subtime": 3, "res": 2, "profile": "both"},
        {"id": "4", "subtime": 3, "res": 1, "profile": "each"},
        {"id": "5", "subtime": 4, "res": 2, "profile": "nested"},
    ],
    "profiles": {
        "delay": {"type": "delay", "delay": 20.2},
        "work": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
        "both": {"type": "composed", "repeat": 3, "seq": ["delay", "delay"]},
        "each": {"type": "parallel", "cpu": [5e9], "com": [0]},
        "nested": {"type": "composed", "seq": ["total", "twice"]},
        "twice": {"type": "composed", "nb": 2, "seq": ["work"]},
        "total": {"type": "parallel_homogeneous_total", "cpu": 8e9, "com": 0},
    },
}
SIMGRID = b"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="AS0" routing="Full">
  <prop id="cores_per_node" value="1"/>
  <host id="a" speed="100.0Mf,50.0Mf" pstate="0"><prop id="watt_per_state" value="30.0:30.0:100.0,20.0:20.0:90.0"/></host>
  <host id="b" speed="100.0Mf,1f,1f,1f" core="2">
    <prop id="watt_per_state" value="30:30:100,9:9:9,20:20:20,5:5:5"/><prop id="sleep_pstates" value="1:2:3"/>
  </host>
  <cluster id="c" prefix="n" suffix="" radical="0-3,5" speed="1Gf" bw="1GBps" lat="1us"/>
</zone></platform>
"""
RESERVATIONS = b"""\
reservations:
  - {name: works, start: 10, end: 90.5, nodes: all}
  - {name: x, start: 95, end: 99, nodes: [0-1]}
"""
RUN = b"""\
workload: jobs.csv
platform: platform.yaml
scheduler: list:shortest/high_gflops
power_policy: timeout:300
first: 3
quirks: [textual-node-order]
until: 1000.0
contention_model: piecewise:k=1
network_model: none
reservations: reservations.yaml
"""
TRAINING = b"""\
environment:
  platform: platform.yaml
  workload: jobs.csv
  reward: energy
  options: {num_jobs: 3}
algorithm: {name: ppo, options: {epochs: 1, actor_lr: 0.001}}
network: scorer:hidden=8
iterations: 2
baselines: [fcfs]
limits: {mean_wait_s: 500.0}
validation: {every: 1, episodes: 2}
warm_start: {teacher: "list:smallest/first", episodes: 1, options: {epochs: 2}}
"""
SWEEP = b"""\
factors:
  platform: platform.yaml
  workload: {source: jobs.csv, name: three, slice: [0, 100], fit: clamp}
  scheduler: ["list:short*/first", easy]
  power_policy: [always-on, timeout:300]
  load: [1.0, 0.5]
  quirks: [textual-node-order]
replications: 2
metrics: [mean_wait_s, energy_j]
outputs: {jobs: true}
"""
SACCT = b"""\
JobID|JobName|User|Account|Partition|QOS|Submit|Eligible|Start|End|Elapsed|Timelimit|State|ReqCPUS|AllocCPUS|ReqNodes|NNodes|\
ReqMem|ReqTRES|NodeList|MaxRSS|Priority|Constraints|ExitCode
1|a|ann|phys|p|normal|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:00:05|2026-03-01T10:10:05|00:10:00|01:00:00|\
COMPLETED|4|4|1|1|8G|billing=4,cpu=4,mem=8G,node=1,license/foo=2|n1||100|fast|0:0
1.batch|batch||phys|||2026-03-01T10:00:05|2026-03-01T10:00:05|2026-03-01T10:00:05|2026-03-01T10:10:05|00:10:00||COMPLETED|4|4|1|1|\
||n1|1000K||||0:0
2_1|b|bob|phys|p|high|2026-03-01T10:01:00|2026-03-01T10:03:00|2026-03-01T10:02:05|2026-03-01T10:10:05|00:08:00.250|UNLIMITED|\
CANCELLED by 1000|4|4|2|2|4Gn|cpu=4,mem=8G,node=2,gres/gpu:a=2|n[1-2]||50||0:0
2_[2-5%2]|b|bob|phys|p|high|2026-03-01T10:01:00|2026-03-01T10:01:00|Unknown|Unknown|00:00:00|00:30:00|PENDING|4|0|2|2|500Mc|\
cpu=4,mem=8G,node=2|None assigned||1|a*2|0:0
3|c|cy|bio|q|normal|2026-03-01T11:00:00|2026-03-01T11:00:00|2026-03-01T11:00:05|2026-03-01T11:05:05|00:05:00|1-00:00:00|NODE_FAIL|\
8|8|1|2|1000M|cpu=8,mem=1000M,node=1|n[3-4]||7||0:0
3|c|cy|bio|q|normal|2026-03-01T11:05:06|2026-03-01T11:07:00|2026-03-01T11:10:00|2026-03-01T11:20:00|00:10:00|1-00:00:00|TIMEOUT|\
8|8|1|2|1000M|cpu=8,mem=1000M,node=1|n[3-4]||7||0:0
"""
SACCTMGR = b"""\
Account|User|ParentName|Share|GrpJobs|GrpTRES|MaxJobs|MaxTRES|MaxWall|Def QOS
root|||1||||||
phys||root|60|9|cpu=64,mem=1T|||1-00:00:00|
phys|ann||10|||2|node=4|02:00:00|high
bio||root|parent||gres/gpu=4||||
wet||bio|5||||||
wet|bob||parent||||||
Name|Priority|Preempt|PreemptMode|UsageFactor|GrpTRES|MaxTRESPU|MaxJobsPU|GrpSubmit
normal|0||cluster|1.000000||||
high|100|normal|requeue|2.5|node=3|cpu=32|2|7
"""
SLURM_CONF = b"""\
ClusterName=lab  # whose
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,\\
bf_resolution=1
Licenses=foo:4
TopologyPlugin=topology/tree
Include nodes.conf
NodeSet=quick Feature=fast
PartitionName=DEFAULT MaxTime=1-00:00:00 State=UP
PartitionName=p Nodes=ALL Default=YES PriorityTier=5 OverSubscribe=FORCE:1
PartitionName=q Nodes=quick,n[06-07] MaxNodes=2 PreemptMode=REQUEUE GraceTime=30 AllowQos=high
"""
SLURM_NODES = b"""\
NodeName=DEFAULT Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=64000
NodeName=n[01-05] Feature=fast,big Weight=10
nodename=n[06-07],m8 CPUs=8 Gres=gpu:a:2 State=UNKNOWN
NodeName=old Sockets=1 State=DOWN Reason="no more"
"""
INPUTS = {"platform.yaml": PLATFORM_YAML, "jobs.csv": CSV, "reservations.yaml": RESERVATIONS}
EVALYS = b"""\
jobID,submission_time,requested_number_of_processors,requested_time,success,starting_time,execution_time,finish_time,\
waiting_time,turnaround_time,stretch,allocated_processors
585,0.0,1,20.0,1,5.0,10.0,15.0,5.0,15.0,1.5,0
33,0.0,2,20.0,1,15.0,10.0,25.0,15.0,25.0,2.5,0-1
7,1.0,9,20.0,0,-1.0,-1.0,-1.0,-1.0,-1.0,-1.0,
"""
METRICS = b"iteration,rollout/ep_rew_mean,validation/best\n0,,3.5\n1,-5.25,4\n2,-4.5,4\n"


def _json(document: object) -> bytes:
    return json.dumps(document, indent=1).encode()


def _as_csv(table: bytes) -> bytes:
    rows = [line.split("|") for line in table.decode().splitlines()]
    return "".join(",".join(f'"{cell}"' if "," in cell else cell for cell in row) + "\n" for row in rows).encode()


@cache
def samples() -> dict[str, Sample]:
    """Every format that the toolkit reads, by a name of its own."""
    options = {
        "options.json": _json(IRMASIM_OPTIONS),
        "platform.json": _json(IRMASIM_PLATFORM),
        "jobs.json": _json(IRMASIM_JOBS),
    }
    result, batsim = _results()
    return {
        "swf": Sample({"log.swf": SWF}, "log.swf", use_workload),
        "swf.gz": Sample({"log.swf.gz": gzip.compress(SWF, mtime=0)}, "log.swf.gz", use_workload),
        "workload csv": Sample({"jobs.csv": CSV}, "jobs.csv", use_workload),
        "irmasim workload": Sample({"jobs.json": _json(IRMASIM_JOBS)}, "jobs.json", use_workload),
        "irmasim workload csv": Sample({"jobs.csv": IRMASIM_CSV}, "jobs.csv", use_workload),
        "batsim workload": Sample({"batsim.json": _json(BATSIM_JOBS)}, "batsim.json", use_workload),
        "platform yaml": Sample({"lab.yaml": PLATFORM_YAML}, "lab.yaml", use_platform),
        "platform json": Sample({"lab.json": _json(yaml.safe_load(PLATFORM_YAML))}, "lab.json", use_platform),
        "irmasim platform": Sample({"platform.json": _json(IRMASIM_PLATFORM)}, "platform.json", use_platform),
        "simgrid": Sample({"machine.xml": SIMGRID}, "machine.xml", use_platform),
        "sacct": Sample({"jobs.txt": SACCT}, "jobs.txt", use_workload),
        "sacct csv": Sample({"jobs.csv": _as_csv(SACCT)}, "jobs.csv", use_workload),
        "slurm.conf": Sample(
            {"slurm.conf": SLURM_CONF, "nodes.conf": SLURM_NODES}, "slurm.conf", use_platform, ("slurm.conf", "nodes.conf")
        ),
        "what if": Sample(
            {"jobs.txt": SACCT, "slurm.conf": SLURM_CONF.replace(b"TopologyPlugin=topology/tree\n", b""),
             "nodes.conf": SLURM_NODES},
            "jobs.txt", use_what_if, ("jobs.txt", "slurm.conf", "nodes.conf"),
        ),
        "sacctmgr": Sample({"accounts.txt": SACCTMGR}, "accounts.txt", use_accounts),
        "reservations": Sample({"r.yaml": RESERVATIONS}, "r.yaml", use_reservations),
        "run configuration": Sample(INPUTS | {"run.yaml": RUN}, "run.yaml", described, ("run.yaml",)),
        "irmasim options": Sample(options, "options.json", described, ("options.json",)),
        "training configuration": Sample(INPUTS | {"training.yaml": TRAINING}, "training.yaml", described, ("training.yaml",)),
        "sweep configuration": Sample(INPUTS | {"sweep.yaml": SWEEP}, "sweep.yaml", described, ("sweep.yaml",)),
        "result": Sample(result, "", use_result),
        "result parquet": Sample(_results("parquet")[0], "", use_result),
        "batsim results": Sample(batsim, "out_jobs.csv", use_result),
        "evalys table": Sample({"evalys.csv": EVALYS}, "evalys.csv", use_result),
        "replay": Sample({"jobs.csv": result["jobs.csv"]}, "jobs.csv", use_schedule),
        "replay of batsim": Sample({"out_jobs.csv": batsim["out_jobs.csv"]}, "out_jobs.csv", use_schedule),
        "agent": Sample(_agent(), "", use_agent),
        "metrics of a training": Sample({"metrics.csv": METRICS}, "metrics.csv", use_metrics),
        "sweep": Sample(_sweep(), "", use_sweep),
    }  # fmt: skip


def _workload() -> Workload:
    return Workload(
        {"submit_time": [0, 1, 2, 3], "requested_cores": [4, 8, 30, 1], "recorded_run_time": [20, 10, 5, 5],
         "requested_time": [30, 30, 30, 30], "user": ["ann", "bob", "ann", "bob"]}
    )  # fmt: skip


def _lab() -> Platform:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lab.yaml")
        path.write_bytes(PLATFORM_YAML)
        return Platform.read(path)


def _run(platform: Platform, workload: Workload, scheduler: str = "fcfs", power: str = "always-on") -> Result:
    """A small run; what is not over after a while is left."""
    from schedulers import make_power_policy, make_scheduler

    made = make_scheduler(scheduler), make_power_policy(power)
    return Simulation(platform, workload, *made, until=1e6, explain=True).run()


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@cache
def _results(file_format: Any = "csv") -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The folder of a run and Batsim's files of it."""
    from cluster_sim.formats.batsim_results import write_outputs

    result = _run(_lab(), _workload(), "easy", "timeout:5")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        result.save(folder, file_format)
        write_outputs(result, Path(other, "out"))
        return _contents(Path(folder)), _contents(Path(other))


def _agent() -> dict[str, bytes]:
    from learning.networks.building import make_network
    from learning.training.agent import Agent
    from learning.training.configuration import EnvironmentKeys
    from learning.training.inputs import environment_on

    keys = EnvironmentKeys(options={"num_jobs": 4})
    environment = environment_on(keys, None)
    network = make_network("scorer:hidden=4", environment.observation_space, int(environment.maker.action_space.n), 0)
    facts = {"seed": 0, "score": 1.0, "objective": "energy_j", "reduction": 0.0, "iteration": 3}
    with tempfile.TemporaryDirectory() as folder:
        Agent(keys.model_dump(mode="json", exclude_none=True), "scorer:hidden=4", network.weights(), facts).save(folder)
        return {
            "agent.safetensors" if "safetensors" in name else name: content
            for name, content in signed(_contents(Path(folder))).items()
        }


def signed(files: dict[str, bytes]) -> dict[str, bytes]:
    """An agent's files, in which the one says of the other what it is, under a name that is always the same."""
    try:
        document = json.loads(files["agent.json"])
        weights = next(content for name, content in files.items() if name.endswith(".safetensors"))
        document |= {"tensors": "agent.safetensors", "sha256": hashlib.sha256(weights).hexdigest()}
        return files | {"agent.json": _json(document)}
    except (ValueError, TypeError, KeyError, RecursionError, StopIteration):
        return files


def _sweep() -> dict[str, bytes]:
    from analysis.sweep import Grid, sweep

    factors = {
        "platform": "homogeneous:nodes=2,cores=4",
        "workload": "lublin:jobs=5,nodes=8",
        "scheduler": ["fcfs", "easy"],
    }
    with tempfile.TemporaryDirectory() as folder:
        outcome = sweep(Grid.of({"factors": factors}), folder, workers=1)
        rows = [json.dumps(row, default=str) for row in outcome.runs().to_dict("records")]
        Path(folder, "parts").mkdir(exist_ok=True)
        Path(folder, "parts", "part-00009.jsonl").write_text("\n".join(rows) + "\n")
        return {name: content for name, content in _contents(Path(folder)).items() if name != ".lock"}


# ---------------------------------------------------------------------- what is done with them


def described(path: str) -> None:
    """What ``cluster-sim validate`` does."""
    facts_of(path, kind_of(path), {})


def use_workload(path: str) -> None:
    """Read, and run its first jobs; their tables can be written."""
    described(path)
    workload = Workload.read(path)
    _written(_run(_machine(), workload.first(10)))


@cache
def _machine() -> Platform:
    return Platform.homogeneous(nodes=4, cores=2)


def use_platform(path: str) -> None:
    """Read, and run a few jobs on it, if it is small."""
    described(path)
    platform = Platform.read(path)
    if platform.core_count <= 2_000:
        _written(_run(platform, _workload(), "list:first/high_gflops", "timeout:5"))


def use_what_if(path: str) -> None:
    """Replay a log of Slurm's with and without a change, if the machine is small, and work out all tables."""
    from analysis import what_if

    conf = str(Path(path).with_name("slurm.conf"))
    if Platform.read(conf).core_count > 2_000:
        return
    with tempfile.TemporaryDirectory() as folder:
        changes = ("SchedulerParameters:bf_interval=5", "PriorityWeightAge=9")
        study = what_if(path, conf, folder, changes, nodes="+2", power_policy="timeout:600")
        _ = study.agreement, study.causes, study.near_starts, study.overall, study.effects


def use_accounts(path: str) -> None:
    """Read, share what has been used, and ask for the limits of every user."""
    from cluster_sim.formats.slurm.sacctmgr import read_accounts
    from cluster_sim.run.jobs.account_limits import Demand, Limits
    from schedulers.slurm.priority.association_shares import AssociationShares
    from schedulers.slurm.priority.factors import Factors

    accounts = read_accounts(path)
    limits = Limits(accounts)
    for flags in (frozenset[str](), frozenset(["no_fair_tree"])):
        shares = AssociationShares(accounts, Factors(fairshare=1, flags=flags), 0.0)
        for job, one in enumerate(accounts.associations):
            demand = Demand(job, one.default_qos, one.user, one.account, 4, 1, 100.0, 60.0)
            limits.refusal(demand)
            limits.started(job, demand, (0,), 4)
            limits.refusal_on(demand, (0, 1), 4)
            limits.ended(job)
            shares.usage.start(job, job, 4.0, 0.0)
        shares.end_period(60.0, {})
        shares.sshare()


def use_reservations(path: str) -> None:
    """Read, and run jobs beside them."""
    from cluster_sim.cli.simulate import build
    from cluster_sim.run.settings import RunSettings

    described(path)
    _written(build(RunSettings(workload="", reservations=path), "fcfs", _machine(), _workload()).run())


def use_result(path: str) -> None:
    """Read every table, explain jobs, draw the chart, write it again."""
    from analysis import comparison_table, gantt

    described(path)
    result = Result.load(path)
    for job in result.jobs["job_id"].tolist()[:4]:
        result.explain(job)
    comparison_table({"a": result})
    gantt(result)
    _written(result)


def _written(result: Result) -> None:
    with tempfile.TemporaryDirectory() as folder:
        result.save(folder)


def use_schedule(path: str) -> None:
    """Play it back."""
    _run(_lab(), _workload(), f"replay:{path}")


def use_agent(path: str) -> None:
    """Describe it, and let it decide."""
    described(path)
    _run(_machine(), _workload(), f"learned:{path}")


def use_metrics(path: str) -> None:
    """Draw the curve, and read all numbers."""
    from analysis import learning_curves
    from learning.training.logs import read_metrics

    learning_curves(path)
    read_metrics(Path(path).parent)


def use_sweep(path: str) -> None:
    """Read its rows and what it is; go on with it."""
    from analysis.sweep.runs_table import read_sweep
    from analysis.sweep.storage import Storage

    read_sweep(path)
    Storage(path, {"scheduler": ["fcfs", "easy"]}, 2)
