"""Random platforms, workloads and runs: small, so that many fit, on grids of few values, so that instants coincide.

Everything is drawn from one :class:`random.Random`: hypothesis gives one whose draws it can shrink (:func:`cases`), the
long form of the contract (``python -m benchmarks.fuzz``) one with a seed. *Plain* cases keep to what every test of the
project can judge; *full* ones have all that a platform, a job and a run can have.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st

from cluster_sim import AdvanceReservation, Platform, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.models.contention import contention_models
from cluster_sim.models.network import network_models
from cluster_sim.models.power import power_models, watts
from cluster_sim.models.processor_step import models_of
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType, PState
from cluster_sim.platform.hardware import GOMPERTZ_CONTENTION
from cluster_sim.registry import Registry
from cluster_sim.run.quirks import QUIRKS
from schedulers import job_orders, node_orders, power_policies, schedulers

INF, NAN = math.inf, math.nan
CONTENTION = [
    {},
    {"b": -1.85e-5, "c": 100.0, "da": 1.0, "db": 100.0, "dc": 2500.0, "dd": 10.0},  # slows, smoothly
    {"b": -0.05, "c": 50.0, "da": 1.75, "db": 200.0, "dc": 450.0, "dd": 3000.0},  # meaningless from n = 1 on
]
GOMPERTZ = dict.fromkeys(GOMPERTZ_CONTENTION, 0.01) | {"abb": -2.0, "bbb": 0.9, "ccb": 0.2, "dbb": 0.5}
POLYNOMIAL = {"idle_w": 4.0, "p00": 10.0, "p10": 8.0, "p01": 2.5, "p20": -0.5, "p11": 1.0, "p02": 0.25}
# Every order of jobs with every order of nodes would be some two hundred; each of both is there, in several pairs.
JOB_ORDERS = [order for order in job_orders if order != "multifactor"]  # which warns where there is no slurm.conf
LIST_SPECS = sorted({f"list:{jobs}/{node}" for i, jobs in enumerate(JOB_ORDERS) for node in [*node_orders][i % 3 :: 3]})


def _options(registry: Registry[Any], name: str) -> dict[str, inspect.Parameter]:
    """The parameters of what is registered under a name."""
    parameters = inspect.signature(registry.factory(name)).parameters
    return {key: p for key, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def needs_arguments(registry: Registry[Any], name: str) -> bool:
    """Whether something cannot be made from its name alone, as a scheduler that replays a file."""
    return any(parameter.default is parameter.empty for parameter in _options(registry, name).values())


POWER = ["linear", "linear", "baseline", "idle", "stall-aware:0.25"]
OTHER_SPECS = [
    *(name for name in schedulers if name != "list" and not needs_arguments(schedulers, name)),
    "easy:depth=0",
    "easy:order=sjf,commit=yes,extra=no",
    "easy:depth=3,memory=yes",
    "easy:order=wfp,nodes=high_gflops,backfill=saf",
    "easy:reservation=pinned",
    "conservative:order=sjf,reservation=pinned",
    "conservative:nodes=low_cores,memory=yes",
]

SLURM = {
    "builtin": "SchedulerType=sched/builtin\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core",
    "linear": "SchedulerType=sched/backfill\nSelectType=select/linear\nSchedulerParameters=bf_interval=1",
    "cons_tres": "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
    "SchedulerParameters=bf_interval=1,bf_resolution=1",
    "multifactor": "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nPriorityType=priority/multifactor\n"
    "PriorityWeightAge=1000\nPriorityWeightJobSize=500\nPriorityWeightPartition=100\nOverTimeLimit=UNLIMITED",
    "requeue": "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nPreemptType=preempt/partition_prio\n"
    "PreemptMode=REQUEUE\nSchedulerParameters=bf_interval=2",
    "requeue linear": "SelectType=select/linear\nPreemptType=preempt/partition_prio\nPreemptMode=REQUEUE",
    "gang": "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nPreemptType=preempt/partition_prio\n"
    "PreemptMode=SUSPEND,GANG\nSchedulerParameters=bf_interval=2",
}
"""Configurations of Slurm that the scheduler ``slurm`` simulates, each without its nodes and partitions."""


@contextmanager
def slurm_spec(platform: Platform, kind: str) -> Iterator[str]:
    """The scheduler ``slurm`` of a platform, as a spec: its slurm.conf is there as long as this is open.

    There are two partitions over all nodes: ``batch``, and ``first``, which has the higher tier.
    """
    lines = [f"ClusterName=lab\n{SLURM[kind]}"]
    for node, cores in enumerate(platform.node_cores.tolist()):
        tags = ",".join(sorted(platform.node_types[platform.type_of_node[node]].tags))
        lines.append(f"NodeName=n{node} CPUs={cores} RealMemory=1000" + (f" Feature={tags}" if tags else ""))
    lines.append("PartitionName=batch Nodes=ALL Default=YES MaxTime=UNLIMITED PriorityTier=1 OverSubscribe=FORCE:1")
    lines.append("PartitionName=first Nodes=ALL MaxTime=UNLIMITED PriorityTier=2 OverSubscribe=FORCE:1")
    with TemporaryDirectory() as folder:
        path = Path(folder, "slurm.conf")
        path.write_text("\n".join(lines) + "\n")
        yield f"slurm:conf={path}"


# Values of options by name; an option that is not here keeps its default, one that is yes or no needs no entry.
CHOICES: dict[str, list[Any]] = {
    "order": JOB_ORDERS,
    "backfill": JOB_ORDERS,
    "nodes": [*node_orders],
    "keep-ready.nodes": [0, 1, 3],
    "depth": [0, 1, 2, 5, "all"],
    "adaptive-pcbe.depth": [1, 3, 50],
    "search.order": ["depth", "breadth"],
    "search.metric": ["energy", "makespan", "edp"],
    "search.limit": [1, 30],
    "search.window": [1, 4],
    "reservation": ["counted", "pinned"],
    "aging": [0, 2, 60, "inf"],
    "metric": ["energy", "edp", "delay"],
    "pcbe.metric": ["energy", "edp"],
    "adaptive-pcbe.metric": ["energy", "edp"],
    "job": ["low", "high"],
    "node": ["low", "high"],
    "wait_goal": [0, 5, "inf"],
    "hysteresis": [0, 0.01, 1],
    "placements": ["all", "one"],
    "weight": [0, 0.5, 2],
    "reference": ["slowest", "fastest"],
    "overrun": [0, 0.1, 1],
    "frugal": [0, 0.2, "inf"],
    "spare": [0, 0.3, 0.9],
    "short": [0, 1, 900],
    "seconds": [0, 1, 2.5, 300],
    "width": ["free", "earliest"],
    "size": ["min", "pref", "average", "fixed"],
    "promise": ["agreement", "steal", "common-pool"],
    "period": [1, 5, 60],
    "factor": [0.5, 2],
    "patience": [1, 2, 10],
    "tau": [0, 0.5, 3],
    "how": ["wait", "slow"],
    "k": [0, 0.6, 1],
    "unit": [1000, 1e6],
    "bandwidth": [20, 500],
    "stalled": [0, 0.25, 1],
    "node_link": [1, 100],
    "cluster_link": [1, 100],
}


@dataclass(frozen=True)
class Case:
    """One run to be made, of which everything is written down, so that a failure can be made again."""

    platform: Platform
    jobs: dict[str, list[Any]]
    options: dict[str, Any] = field(default_factory=dict)
    power: str | None = None
    scheduler: str = ""  #: Of a full case.
    think_times: bool = False  #: Whether jobs are submitted after the job that they name.
    orders: tuple[tuple[float, str, int, float], ...] = ()  #: What a process of the user's does meanwhile, by time.
    stops: tuple[float, ...] = ()  #: Where the run is interrupted, s.

    @property
    def workload(self) -> Workload:
        """Its jobs."""
        workload = Workload(self.jobs)
        return workload.with_think_times() if self.think_times else workload

    def simulation(self, scheduler: str | None = None) -> Simulation:
        """The run under a scheduler."""
        policy = make_power_policy(self.power) if self.power else None
        made = make_scheduler(scheduler) if scheduler else None
        return Simulation(self.platform, self.workload, made, policy, **self.options)


def _sometimes(random: Random, share: float) -> bool:
    return random.random() < share


def draw_spec(random: Random, registry: Registry[Any], name: str) -> str:
    """Something registered, with some of its options other than they are by default."""
    parts = []
    for option, parameter in _options(registry, name).items():
        values = CHOICES.get(f"{name}.{option}", CHOICES.get(option, []))
        if isinstance(parameter.default, bool):
            values = ["yes", "no"]
        if values and _sometimes(random, 0.4):
            parts.append(f"{option}={random.choice(values)}")
    return f"{name}:{','.join(parts)}" if parts else name


# Under these, jobs have several attempts or pieces, which these cases' checks do not know; .chaos draws and judges such runs.
PREEMPTIVE = ("preemptive", "preemptive-list", "las")
DRAWN_SCHEDULERS = [name for name in schedulers if not needs_arguments(schedulers, name) and name not in PREEMPTIVE]


def draw_scheduler(random: Random, names: Sequence[str] = DRAWN_SCHEDULERS) -> str:
    """One of the schedulers of these names, with any of its options."""
    name = random.choice(names)
    spec = draw_spec(random, schedulers, name)
    if name == "list":
        orders = f"{random.choice(JOB_ORDERS)}/{random.choice([*node_orders])}"
        spec = f"list:{orders}" + spec.removeprefix("list").replace(":", ",")
    if name == "easy":
        spec = _without_conflicts(spec)
    return spec


def _without_conflicts(spec: str) -> str:
    """EASY's options, without those that speak of one counted promise where there are others, or none."""
    refused = ["commit=", "extra="] if "depth=" in spec and "depth=1" not in spec else []
    refused += ["extra="] if "reservation=pinned" in spec or "memory=yes" in spec else []
    refused += ["aging="] if "depth=all" in spec else []
    name, _, options = spec.partition(":")
    kept = [option for option in options.split(",") if option and not option.startswith(tuple(refused))]
    return f"{name}:{','.join(kept)}" if kept else name


# ---------------------------------------------------------------------- the platform


def _processor(random: Random, number: int, full: bool, model: str) -> ProcessorType:
    """A type of its own name; watts in quarters, so that sums are exact where they should be equal."""
    power: dict[str, float] = {
        "static_w": random.choice([0.0, 10.0, 35.25]),
        "dynamic_w": random.choice([0.0, 2.5, 4.0]),
        "min_power": random.choice([0.0, 0.25, 1.0]),
    }
    contention = dict(random.choice(CONTENTION))
    if full:
        if _sometimes(random, 0.2):
            power = {"static_w": 10, "dynamic_w": 4, "min_power": 1}  # a user writes integers
        if model.startswith("polynomial"):
            power = dict(POLYNOMIAL)
        if contention or _sometimes(random, 0.5):
            contention = CONTENTION[1] | contention | GOMPERTZ | {"bandwidth": random.choice([30.0, 200.0])}
    power = random.choice([power, {}])
    cores, clock = random.randint(1, 5), random.choice([1.0, 1.5, 3.0])
    states: tuple[PState, ...] = ()
    if full and _sometimes(random, 0.3):
        states = (
            PState(clock, power),
            PState(clock / 2),
            PState(clock * 0.75, {**power, "dynamic_w": 1.5} if "dynamic_w" in power else power),
        )
    return ProcessorType(f"p{number}", cores, clock, power=power, contention=contention, p_states=states)


def _transitions(random: Random, full: bool) -> PowerTransitions:
    seconds, watts_of = [0.0, 1.0, 2.5], [None, 7.0, 125.0]
    off_w, on_s = random.choice([0.0, 3.0]), random.choice(seconds)
    on_w, off_s, switch_off_w = random.choice(watts_of), random.choice(seconds), random.choice(watts_of)
    drawn = ""
    if full and _sometimes(random, 0.2):
        on_s, drawn = 0.0, random.choice(["uniform:0,4", "normal:2,1", "lognormal:2,1"])
    return PowerTransitions(off_w, on_s, on_w, off_s, switch_off_w, drawn)


def draw_platform(random: Random, sleepy: bool = True, full: bool = False) -> Platform:
    """One or two clusters of up to six nodes, of up to three types with one to three processors each."""
    contention = random.choice(["none", "piecewise", "piecewise:k=1"])
    power = random.choice(POWER)
    if full:
        contention = draw_spec(random, contention_models, random.choice([*contention_models]))
        power = draw_spec(random, power_models, random.choice([*power_models]))
    kinds = [_processor(random, i, full, power) for i in range(random.randint(1, 2))]
    types = [
        NodeType(
            f"n{i}",
            tuple(random.choice(kinds) for _ in range(random.randint(1, 3))),
            random.choice([None, 1.0, 2.0]),
            _transitions(random, full),
            initially_off=sleepy and _sometimes(random, 0.25),
            tags=frozenset(random.choice(["", "", "a", "a b"]).split()) if full else frozenset(),
        )
        for i in range(random.randint(1, 3))
    ]
    most = random.choice([2, 3, 3, 3, 3, 3, 8, 8, 40]) if full else 3
    clusters = []
    for i in range(random.randint(1, 2)):
        chosen = random.sample(types, min(len(types), random.randint(1, 2)))
        clusters.append(Cluster(f"c{i}", tuple(NodeGroup(kind, random.randint(1, most)) for kind in chosen)))
    return Platform(tuple(clusters), "random", contention, power)


# ---------------------------------------------------------------------- the jobs


def draw_jobs(random: Random, platform: Platform, full: bool = False) -> dict[str, list[Any]]:
    """Up to 14 jobs on a coarse grid of times: many come, start and end together; some take no time, some never fit."""
    widest, everything = platform.widest_node, platform.core_count
    count = random.choice([5, 5, 10, 10, 14, 14, 14, 40, 40, 100]) if full else random.randint(1, 14)
    submits = sorted(float(random.randint(0, 6)) for _ in range(count))
    if full:
        late = random.choice([0, 6, 6, 60])
        fine = _sometimes(random, 0.3)
        submits = sorted(random.uniform(0, late) if fine else float(random.randint(0, late)) for _ in range(count))
    seconds = [random.choice([0.0, 1.0, 1.0, 2.0, 3.0, 4.5]) for _ in range(count)]
    if full and _sometimes(random, 0.3):
        seconds = [random.choice([random.uniform(0, 5), second, 100.0]) for second in seconds]
    shapes = [(0, 0), (0, 0), (0, 0), (0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (2, 2), (3, 1)]
    asked = [random.choice(shapes) for _ in range(count)]
    in_operations = [_sometimes(random, 0.5) for _ in range(count)] if _sometimes(random, 0.5) else [False] * count
    fastest = platform.fastest_ops_per_s
    columns: dict[str, list[Any]] = {
        "job_id": [str(i) for i in range(count)],
        "submit_time": submits,
        "requested_cores": [
            random.randint(1, everything + 1 if _sometimes(random, 1 / 3) else widest) for _ in range(count)
        ],
        "recorded_run_time": [NAN if ops else second for second, ops in zip(seconds, in_operations, strict=True)],
        "operations": [second * fastest if ops else NAN for second, ops in zip(seconds, in_operations, strict=True)],
        "requested_time": [random.choice([INF, 0.0, 1.0, 2.0, 3.0]) for _ in range(count)],
        "mem_vol": [random.choice([0.0, 0.0, 40.0, 5000.0]) for _ in range(count)],
        "memory": [random.choice([0.0, 0.0, 300.0, 900.0]) for _ in range(count)],
        "nodes": [nodes for nodes, _ in asked],
        "ntasks_per_node": [per_node for _, per_node in asked],
    }
    if full and _sometimes(random, 0.3):  # three or six tasks fill a node to the last byte
        columns["memory"] = [random.choice([memory, 1024.0 / 3.0]) for memory in columns["memory"]]
    return columns | _wishes(random, columns, seconds) if full else columns


def _wishes(random: Random, columns: dict[str, list[Any]], seconds: list[float]) -> dict[str, list[Any]]:
    """Columns beyond the plain ones, each in some of the cases: what jobs ask for, wait for and are called."""
    count = len(seconds)

    def column(*values: Any) -> list[Any]:
        return [random.choice(values) for _ in range(count)]

    def in_some(share: float, values: list[Any], default: Any) -> list[Any]:
        return values if _sometimes(random, share) else [default] * count

    factors = random.choice([[1.0], [1.0, 2.0], [0.5, 1.0, 2.0, INF]])
    estimates = [second * random.choice(factors) if second else 1.0 for second in seconds]
    fixed = [not math.isnan(seconds) and _sometimes(random, 0.3) for seconds in columns["recorded_run_time"]]
    after = [
        " ".join(random.choice(["", "any:"]) + str(random.randrange(row)) for _ in range(random.choice([0, 0, 1, 2])))
        if row
        else ""
        for row in range(count)
    ]
    preceding = [random.randrange(row) if row and _sometimes(random, 0.4) else -1 for row in range(count)]
    wishes = {
        "requested_time": in_some(0.6, estimates, None),
        "fixed_run_time": in_some(0.2, fixed, False),
        "phases": in_some(0.3, column("", "3:1 1:3", "1:0 1:1", "0:1 1:0"), ""),
        "comm_vol": in_some(0.3, column(0.0, 0.0, 50.0), 0.0),
        "req_energy": in_some(0.3, column(NAN, 10.0, 100.0), NAN),
        "max_energy": in_some(0.05, column(INF, 50.0), INF),
        "requires": in_some(0.3, column("", "", "a", "b", "a b"), ""),
        "exclusive": in_some(0.3, column(False, False, False, True), False),
        "after": in_some(0.3, after, ""),
        "preceding_job": in_some(0.2, preceding, -1),
        "think_time": column(-1.0, 0.0, 2.5),
        "priority": in_some(0.3, column(-1.0, 0.0, 2.5), 0.0),
        "deadline": in_some(0.3, column(INF, 5.0, 100.0, -1.0), INF),
        "user": in_some(0.5, column("ann", "bob", ""), ""),
        "group": in_some(0.2, column("x", "y"), ""),
        "queue": in_some(0.3, column(-1, 0, 1), -1),
        "profile": in_some(0.2, column("cpu", "mem"), ""),
    }
    # What is the same for all, as by default, says nothing.
    return {name: values for name, values in wishes.items() if None not in values}


# ---------------------------------------------------------------------- the run


def draw_case(random: Random, sleepy: bool = True, full: bool = False) -> Case:
    """A platform, jobs for it, and a run's options."""
    platform = draw_platform(random, sleepy, full)
    jobs = draw_jobs(random, platform, full)
    quirks: Iterable[str] = random.choice(
        [(), (), ("contention-at-job-boundaries",), ("unused-processors-draw-nothing",)]
    )
    if full and _sometimes(random, 0.3):
        quirks = tuple(quirk for quirk in QUIRKS if _sometimes(random, 0.3))
    options = {"enforce_walltime": _sometimes(random, 0.5), "quirks": quirks, "seed": random.randint(0, 3)}
    policies = [
        name for name in power_policies if name != "learned" and (full or not needs_arguments(power_policies, name))
    ]
    power = random.choice([None, *policies]) if sleepy else None
    if not full:
        return Case(platform, jobs, options, power)
    if power is not None:
        power = draw_power(random, platform, power)
    if network := draw_spec(random, network_models, random.choice([*network_models])):
        options["network"] = network
    if _sometimes(random, 0.3):
        options["reservations"] = draw_reservations(random, platform)
        jobs["reservation"] = [random.choice(["", "", "r0", "r1"]) for _ in jobs["job_id"]]
    if _sometimes(random, 0.3):
        options["explain"] = True
    if _sometimes(random, 0.15):
        options["until"] = random.choice([0.0, 1.0, 3.5, 10.0])
    stops = sorted(random.choice([0.5, 1.0, 2.5, 6.0]) for _ in range(3)) if _sometimes(random, 0.15) else []
    return Case(
        platform,
        jobs,
        options,
        power,
        "by hand" if _sometimes(random, 0.05) else draw_scheduler(random),
        _sometimes(random, 0.5),
        _orders(random) if _sometimes(random, 0.35) else (),
        tuple(stops),
    )


def draw_power(random: Random, platform: Platform, name: str) -> str:
    """A power policy with some of its options; a cap between what the machine draws at rest and at work."""
    spec = draw_spec(random, power_policies, name)
    if name != "power-cap":
        return spec
    model = models_of(platform).power
    kinds = [platform.processor_types[i] for i in platform.type_of_processor.tolist()]
    rest, work = (sum(watts(model, kind, busy(kind)) for kind in kinds) for busy in (lambda _: 0, lambda k: k.cores))
    cap = rest + (work - rest) * random.choice([0.15, 0.3, 0.6, 1.0]) + 1.0
    return f"power-cap:{cap:g}{spec.removeprefix('power-cap').replace(':', ',')}"


def draw_reservations(random: Random, platform: Platform) -> list[AdvanceReservation]:
    """Two that follow each other, on any nodes."""
    middle = random.choice([4.0, 6.0])
    ends = (random.choice([0.0, 2.0]), middle, middle + random.choice([2.0, 9.0]))
    nodes = [random.sample(range(platform.node_count), random.randint(1, platform.node_count)) for _ in range(2)]
    return [AdvanceReservation(f"r{i}", ends[i], ends[i + 1], sorted(nodes[i])) for i in range(2)]


ORDERS = ("kill", "fail", "repair", "switch_off", "switch_on", "set_clock", "set_p_state")
TIMES, FACTORS = (0.0, 1.0, 2.0, 2.5, 3.0, 4.0, 5.5, 7.0), (0.5, 1.0, 2.0)
Order = tuple[float, str, int, float]
"""When, what, a number that stands for a node, a processor or a job, and a factor of the clock."""


def _orders(random: Random) -> tuple[Order, ...]:
    times = [random.choice(TIMES) for _ in range(random.randint(1, 10))]
    return tuple((time, random.choice(ORDERS), random.randint(0, 30), random.choice(FACTORS)) for time in sorted(times))


def orders(kinds: Sequence[str] = ORDERS) -> st.SearchStrategy[list[Order]]:
    """The same, for hypothesis, of these kinds."""
    order = st.tuples(st.sampled_from(TIMES), st.sampled_from(kinds), st.integers(0, 30), st.sampled_from(FACTORS))
    return st.lists(order, max_size=8).map(lambda drawn: sorted(drawn, key=lambda order: order[0]))


@st.composite
def cases(draw: st.DrawFn, sleepy: bool = True) -> Case:
    """Plain cases, for hypothesis."""
    return draw_case(draw(st.randoms(use_true_random=False)), sleepy)
