"""The benchmarks: what is run, and what its cost is compared with.

Each is a function of the sizes and the number of runs, registered under its name, and returns rows of the report. It is
called in a process of its own, so that no benchmark inherits the heap of another.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import inputs
from benchmarks.figures import figure_row
from benchmarks.measure import Cost, alternate, cost_of, floor, in_fresh_process, peak_memory_gb
from benchmarks.passes import pass_row
from benchmarks.report import CostRow, MemoryRow, Row
from cluster_sim import Platform, Simulation, Workload, make_power_policy, make_scheduler

FLOOR = "SimPy's floor"
BEST_OF_EXPERIMENT_3 = "list:smallest/most_used_mem"
MONTHLY_FAILURES = "exponential:mtbf=2592000,repair=3600"
CONSERVATIVE_JOBS = 10_000  # most pending jobs of which a pass of conservative is timed


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the cases are."""

    jobs: int = 10_000  #: Of the log, and of SimPy's floor.
    many_jobs: int = 1_000_000
    jobs_on_many_cores: int = 20_000
    many_cores: int = 100_000
    contending_jobs: int = 1_000
    in_a_row: int = 10  #: Runs of a contention case that are timed together.
    swift_jobs: int = 28_476  #: Of the log that FCFS and EASY are compared on with short queues.
    failing_jobs: int = 100_000  #: On nodes that fail.
    large_log_jobs: int = 50_000  #: On 8,192 cores, where EASY is compared with FCFS,
    whole_large_log_jobs: int = 400_000  #: and where the files of a whole run are written.
    queues: tuple[int, ...] = (10, 100, 1_000, 10_000, 100_000)  #: Pending jobs in the passes that are timed.
    rectangles: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)  #: In the charts that are drawn.
    pcbe_queues: tuple[tuple[str, tuple[int, ...]], ...] = (
        ("mixed:100x64@3.0,200x8@4.2", (10, 100, 1_000, 10_000, 100_000)),
        ("mixed:400x64@3.0,600x8@4.2", (3_000,)),
    )  #: Platforms, and pending jobs, for PCBE.


QUICK = Sizes(
    jobs=300,
    many_jobs=1_000,
    jobs_on_many_cores=300,
    many_cores=2_048,
    contending_jobs=40,
    in_a_row=1,
    swift_jobs=300,
    failing_jobs=300,
    large_log_jobs=300,
    whole_large_log_jobs=300,
    queues=(10, 100),
    rectangles=(100,),
    pcbe_queues=(("mixed:4x64@3.0,8x8@4.2", (10, 100)),),
)

Benchmark = Callable[[Sizes, int], list[Row]]
BENCHMARKS: dict[str, Benchmark] = {}


def benchmark(function: Benchmark) -> Benchmark:
    """Register a benchmark under its function's name."""
    BENCHMARKS[function.__name__] = function
    return function


def simulate(
    platform: Platform,
    workload: Workload,
    scheduler: str = "fcfs",
    power: str | None = None,
    failures: str | None = None,
) -> int:
    """One run from its building to its table of jobs; how many jobs it had."""
    policy = None if power is None else make_power_policy(power)
    return len(Simulation(platform, workload, make_scheduler(scheduler), policy, failures=failures).run().jobs)


def read_and_simulate(platform: Platform, path: Path) -> int:
    """As ``simulate``, from the file of the workload."""
    return simulate(platform, Workload.read(path))


def in_a_row(times: int, run: Callable[[], int]) -> int:
    """Several runs as one, for cases that are over too soon to be timed."""
    return sum(run() for _ in range(times))


def flat(cores: int, per_node: int = 1) -> Platform:
    """A machine of equal nodes."""
    return Platform.homogeneous(nodes=cores // per_node, cores=per_node)


@benchmark
def fcfs(sizes: Sizes, repeat: int) -> list[Row]:
    """First come, first served on a log: reading the file, the run, and the table of jobs."""
    with tempfile.TemporaryDirectory() as folder:
        case = partial(read_and_simulate, flat(inputs.LOG_CORES), inputs.log_file(Path(folder), sizes.jobs))
        costs = alternate({"floor": partial(floor, sizes.jobs), "fcfs": case}, repeat)
    what = f"FCFS on {sizes.jobs:,} jobs of {inputs.log_source()}, {inputs.LOG_CORES} one-core nodes, reading included"
    return [
        CostRow("floor", "SimPy's own cheapest job as a process that holds a Resource", costs["floor"]),
        CostRow("fcfs", what, costs["fcfs"], FLOOR, costs["floor"], target=4.0),
    ]


@benchmark
def jobs(sizes: Sizes, repeat: int) -> list[Row]:
    """The log repeated end to end: cost of a job among a million, and the memory that they take.

    Each run has a process of its own: a million jobs leave a heap on which the next run would be slower. The log offers
    more than FCFS can use, so a backlog grows all the time: the hard case.
    """
    with tempfile.TemporaryDirectory() as folder:
        few, many = (Path(folder) / f"{name}.swf.gz" for name in ("few", "many"))
        in_fresh_process(_write_repeated, few, sizes.jobs)
        in_fresh_process(_write_repeated, many, sizes.many_jobs)
        few_runs, many_runs, peaks = [], [], []
        for _ in range(repeat):
            few_runs.append(in_fresh_process(_cost_and_peak, few, few)[0])
            cost, peak = in_fresh_process(_cost_and_peak, few, many)
            many_runs.append(cost)
            peaks.append(peak)
    few_cost, many_cost = Cost(tuple(few_runs)), Cost(tuple(many_runs))
    case = f"FCFS on {sizes.many_jobs:,} jobs, {inputs.log_source()} end to end"
    return [
        CostRow("jobs", case, many_cost, f"{sizes.jobs:,} jobs", few_cost, target=1.5),
        MemoryRow("jobs", f"peak memory of that, result.jobs included ({sizes.many_jobs:,} jobs)", max(peaks), 2.0),
    ]


def _write_repeated(path: Path, jobs: int) -> None:
    inputs.repeated(inputs.log(), jobs).write(path)


def _cost_and_peak(warm_up: Path, path: Path) -> tuple[float, float]:
    platform = flat(inputs.LOG_CORES)
    read_and_simulate(platform, warm_up)  # loads modules, fills caches
    return cost_of(partial(read_and_simulate, platform, path)), peak_memory_gb()


@benchmark
def cores(sizes: Sizes, repeat: int) -> list[Row]:
    """Run the same jobs on a large machine and on a small one, of one-core nodes and of 16-core nodes.

    *The same jobs*: the small machine has a queue, on the large one no job waits. *As busy*: submissions follow each
    other faster, by as much as there are more cores: as much of both machines is asked for, and on the large one
    thousands of jobs run at once. Building the machine is included.
    """
    workload = inputs.repeated(inputs.log(), sizes.jobs_on_many_cores)
    dense = workload.scale_load(sizes.many_cores / inputs.LOG_CORES)
    rows: list[Row] = []
    for per_node in (1, 16):
        small, large = flat(inputs.LOG_CORES, per_node), flat(sizes.many_cores, per_node)
        runs = {
            "small": partial(simulate, small, workload),
            "large": partial(simulate, large, workload),
            "full": partial(simulate, large, dense),
        }
        costs = alternate(runs, repeat)
        for name, load in (("large", "the same jobs"), ("full", "as busy")):
            case = f"FCFS on {len(workload):,} jobs, {_nodes(large)}, {load}"
            rows.append(CostRow("cores", case, costs[name], _nodes(small), costs["small"], target=1.5))
    return rows


def _nodes(platform: Platform) -> str:
    each = platform.widest_node
    return f"{platform.node_count:,} nodes × {each} core{'s' * (each > 1)}"


@benchmark
def contention(sizes: Sizes, repeat: int) -> list[Row]:
    """Jobs that slow each other through their processors' memory."""
    experiment, bound = inputs.experiment_3(), inputs.memory_bound(sizes.contending_jobs)
    runs = {
        "floor": partial(floor, sizes.jobs),
        "experiment 3": partial(
            in_a_row, sizes.in_a_row, partial(simulate, *experiment, "list:smallest/most_used_mem")
        ),
        "memory-bound": partial(in_a_row, sizes.in_a_row, partial(simulate, *bound)),
    }
    costs = alternate(runs, repeat)
    bound_case = f"FCFS on {sizes.contending_jobs:,} memory-bound jobs, 16 nodes × 16 cores"
    return [
        CostRow(
            "contention",
            f"{BEST_OF_EXPERIMENT_3} on experiment 3 of López (2023): 180 jobs, 1040 cores",
            costs["experiment 3"],
            FLOOR,
            costs["floor"],
            target=12.0,
        ),
        CostRow("contention", bound_case, costs["memory-bound"], FLOOR, costs["floor"], target=12.0),
    ]


@benchmark
def backfilling(sizes: Sizes, repeat: int) -> list[Row]:
    """Whole runs of EASY and conservative: on a log with long queues, and on one with short ones.

    Reading is not included, since it is the same for all. The log with short queues is KTH-SP2, or its stand-in.
    """
    long, short, machine = inputs.log().first(sizes.jobs), inputs.short_queues(sizes.swift_jobs), flat(inputs.LOG_CORES)
    small = flat(inputs.SHORT_CORES)
    runs = {
        "floor": partial(floor, sizes.jobs),
        "fcfs": partial(simulate, machine, long),
        "easy": partial(simulate, machine, long, "easy"),
        "conservative": partial(simulate, machine, long, "conservative"),
        "fcfs, short": partial(simulate, small, short),
        "easy, short": partial(simulate, small, short, "easy"),
    }
    costs = alternate(runs, repeat)
    lasting = f"{len(long):,} jobs of {inputs.log_source()}"
    swift = f"{len(short):,} jobs of {inputs.short_queues_source()}"
    return [
        CostRow("backfilling", f"EASY on {lasting}", costs["easy"], FLOOR, costs["floor"], target=6.0),
        CostRow("backfilling", f"EASY on {lasting}", costs["easy"], "FCFS", costs["fcfs"]),
        CostRow("backfilling", f"conservative on {lasting}", costs["conservative"], "EASY", costs["easy"], target=4.0),
        CostRow("backfilling", f"EASY on {swift}", costs["easy, short"], "FCFS", costs["fcfs, short"], target=2.0),
    ]


@benchmark
def large(sizes: Sizes, repeat: int) -> list[Row]:
    """EASY where thousands of small jobs wait for 8,192 cores; and the memory that it takes to write all files of a run."""
    log = inputs.large_log(sizes.large_log_jobs)
    rows: list[Row] = []
    for per_node in (1, 8):
        machine = flat(inputs.LARGE_CORES, per_node)
        costs = alternate({name: partial(simulate, machine, log, name) for name in ("fcfs", "easy")}, repeat)
        case = f"EASY on {len(log):,} jobs much like RICC's, {_nodes(machine)}"
        rows.append(CostRow("large", case, costs["easy"], "FCFS", costs["fcfs"], target=2.0))
    peak = in_fresh_process(_peak_of_files, sizes.whole_large_log_jobs)
    case = f"peak memory of EASY on {sizes.whole_large_log_jobs:,} of them, {_nodes(flat(inputs.LARGE_CORES))}, all files as CSV"
    return [*rows, MemoryRow("large", case, peak, 1.5)]


def _peak_of_files(jobs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        Simulation(flat(inputs.LARGE_CORES), inputs.large_log(jobs), make_scheduler("easy")).run().save(folder)
    return peak_memory_gb()


@benchmark
def power(sizes: Sizes, repeat: int) -> list[Row]:
    """Nodes that sleep: a timeout on the log with short queues, against the same with all nodes always on."""
    log, machine = inputs.short_queues(sizes.swift_jobs), flat(inputs.SHORT_CORES)
    rows: list[Row] = []
    for scheduler in ("fcfs", "easy"):
        runs = {policy: partial(simulate, machine, log, scheduler, policy) for policy in ("always-on", "timeout:300")}
        costs = alternate(runs, repeat)
        case = f"timeout:300, {scheduler.upper()}, on {len(log):,} jobs of {inputs.short_queues_source()}"
        rows.append(CostRow("power", case, costs["timeout:300"], "always-on", costs["always-on"], target=1.5))
    return rows


@benchmark
def changing(sizes: Sizes, repeat: int) -> list[Row]:
    """Nodes that fail once in 30 days and jobs that make a checkpoint each hour, against the same jobs without."""
    log = inputs.repeated(inputs.short_queues(sizes.swift_jobs), sizes.failing_jobs)
    checkpointed = log.with_checkpoints(3600.0, time_s=30.0, restart_s=60.0)
    machine = flat(inputs.SHORT_CORES)
    rows: list[Row] = []
    for scheduler in ("fcfs", "easy"):
        runs = {
            "steady": partial(simulate, machine, log, scheduler),
            "failing": partial(simulate, machine, checkpointed, scheduler, failures=MONTHLY_FAILURES),
        }
        costs = alternate(runs, repeat)
        case = f"failures and checkpoints, {scheduler.upper()}, on {len(log):,} jobs of {inputs.short_queues_source()}"
        rows.append(CostRow("changing", case, costs["failing"], "the same without", costs["steady"], target=3.0))
    return rows


@benchmark
def passes(sizes: Sizes, repeat: int) -> list[Row]:
    """One scheduling pass against the length of the queue, when a job has ended on a full machine.

    Each length is run once, for the median of its passes: what they differ by is large.
    """
    machine = flat(inputs.LOG_CORES)
    rows: list[Row] = [
        pass_row(scheduler, machine, sizes.queues, target=1.0)
        for scheduler in ("fcfs", "list:first/first,blocking=no", "easy")
    ]
    # A pass of conservative moves every reservation when a job ends early: a minute or more for 100,000 of them.
    rows.append(pass_row("conservative", machine, [n for n in sizes.queues if n <= CONSERVATIVE_JOBS]))
    for platform, lengths in sizes.pcbe_queues:
        rows.append(pass_row("pcbe", Platform.read(platform), lengths, target=1.0 if len(lengths) > 1 else None))
    rows.append(pass_row("adaptive-pcbe", Platform.read(sizes.pcbe_queues[0][0]), sizes.queues[1:3]))
    return rows


@benchmark
def figures(sizes: Sizes, repeat: int) -> list[Row]:
    """Gantt charts: made here, drawn and zoomed by a browser."""
    return [figure_row(rectangles, repeat) for rectangles in sizes.rectangles]
