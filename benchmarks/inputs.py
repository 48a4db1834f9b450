"""What the benchmarks simulate: logs of flat machines, and jobs that contend for memory.

The log is Lublin-256, 10,000 jobs of the model of Lublin and Feitelson (2003) for 256 processors, as the Parallel
Workloads Archive has it. Where the repository stands alone a stand-in is drawn, with a fixed seed, from the log's
statistics: widths, run times by width, gaps between submissions, and the load that they offer.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from cluster_sim.platform import Platform
from cluster_sim.workload import Workload

LOG = Path(__file__).resolve().parents[2] / "shared" / "traces" / "lublin_256.swf.gz"
LOG_CORES = 256
SHORT_LOG = LOG.with_name("KTH-SP2-1996-2.1-cln.swf.gz")
SHORT_CORES = 100
LOG_JOBS = 10_000
STAND_IN_SEED = 256

# Statistics of the log. Run times (s) by width: the widest job of the class, and quantiles; gaps (s): quantiles.
_WIDTH_COUNTS = {1: 2493, 2: 918, 4: 1177, 8: 1143, 16: 1035, 32: 1034, 64: 326, 128: 307, 256: 180}
_OTHER_WIDTHS = 1387  # spread evenly over the logarithm
_RUN_TIME_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
_RUN_TIMES = (
    (1, (1, 7, 17, 80, 3_313, 14_420, 36_067, 107_069)),
    (8, (1, 6.5, 17, 82, 4_547, 12_820, 32_071, 109_441)),
    (32, (1, 7, 23, 168, 8_484, 16_033, 35_651, 124_707)),
    (256, (1, 21, 2_979, 9_452, 14_771, 22_190, 39_764, 76_316)),
)
_GAP_SHARES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
_GAPS = (2, 18, 51, 116, 281, 500, 1_267, 2_624, 11_475, 139_588)
_LOAD = 1.06


def log_source() -> str:
    """Which log is measured, for the report."""
    return "Lublin-256" if LOG.exists() else "a stand-in with the statistics of Lublin-256"


def log() -> Workload:
    """The jobs of the log, or of its stand-in."""
    return Workload.read(LOG) if LOG.exists() else stand_in(LOG_JOBS)


def log_file(folder: Path, jobs: int) -> Path:
    """The file of the log's first jobs: the log itself, or one written into the folder."""
    if jobs == LOG_JOBS and LOG.exists():
        return LOG
    path = folder / "log.swf.gz"
    log().first(jobs).write(path)
    return path


def short_queues_source() -> str:
    """Which log with short queues is measured, for the report."""
    return "KTH-SP2" if SHORT_LOG.exists() else "a stand-in with a load of 0.5"


def short_queues(jobs: int) -> Workload:
    """A log whose queues are short: the first jobs of KTH-SP2 (100 cores), or narrow ones of the stand-in, half the load."""
    if SHORT_LOG.exists():
        return Workload.read(SHORT_LOG).first(jobs)
    drawn = stand_in(jobs).jobs
    columns = {name: drawn[name].to_numpy() for name in ("submit_time", "requested_cores", "recorded_run_time")}
    widths = np.minimum(columns["requested_cores"], SHORT_CORES)
    area = (widths * columns["recorded_run_time"]).sum()
    gaps = area / (SHORT_CORES * 0.5) / columns["submit_time"].max()
    return _flat_log(np.floor(columns["submit_time"] * gaps), widths, columns["recorded_run_time"], "stand-in")


def stand_in(jobs: int, seed: int = STAND_IN_SEED) -> Workload:
    """Jobs with the log's statistics, drawn independently of each other."""
    rng = np.random.default_rng(seed)
    widths = _draw_widths(rng, jobs)
    run_times = np.empty(jobs)
    least = 1
    for widest, quantiles in _RUN_TIMES:
        chosen = (widths >= least) & (widths <= widest)
        run_times[chosen] = _draw(rng, int(chosen.sum()), _RUN_TIME_SHARES, quantiles)
        least = widest + 1
    run_times = np.ceil(run_times)
    submissions = np.cumsum(_draw(rng, jobs, _GAP_SHARES, _GAPS))
    submissions *= (widths * run_times).sum() / (LOG_CORES * _LOAD) / submissions[-1]
    return _flat_log(np.floor(submissions), widths, run_times, "stand-in")


def _draw_widths(rng: np.random.Generator, jobs: int) -> npt.NDArray[np.int64]:
    weights = np.array([*_WIDTH_COUNTS.values(), _OTHER_WIDTHS], float)
    widths = rng.choice([*_WIDTH_COUNTS, 0], jobs, p=weights / weights.sum())
    others = np.floor(2.0 ** rng.uniform(1.0, 8.0, jobs)).astype(np.int64)
    return np.where(widths == 0, others, widths)


def _draw(
    rng: np.random.Generator, count: int, shares: tuple[float, ...], quantiles: tuple[float, ...]
) -> npt.NDArray[np.float64]:
    """Numbers with these quantiles, even over the logarithm in between."""
    logarithms: npt.NDArray[np.float64] = np.interp(rng.random(count), shares, np.log(quantiles))
    return np.exp(logarithms)


def repeated(workload: Workload, jobs: int) -> Workload:
    """``jobs`` jobs: the log again and again, end to end, as if its users had gone on like that."""
    columns = workload.jobs
    submissions, widths, run_times = (
        columns[name].to_numpy() for name in ("submit_time", "requested_cores", "recorded_run_time")
    )
    times = -(-jobs // len(workload))
    period = submissions[-1] + np.ceil(np.diff(submissions).mean())
    shifted = (submissions[None, :] + period * np.arange(times)[:, None]).ravel()
    return _flat_log(
        shifted[:jobs], np.tile(widths, times)[:jobs], np.tile(run_times, times)[:jobs], f"{workload.name} repeated"
    )


def _flat_log(
    submissions: npt.NDArray[np.float64],
    widths: npt.NDArray[np.int64],
    run_times: npt.NDArray[np.float64],
    name: str,
    requested: npt.NDArray[np.float64] | None = None,
) -> Workload:
    columns = {"submit_time": submissions, "requested_cores": widths, "recorded_run_time": run_times}
    columns["job_id"] = np.arange(1, len(submissions) + 1).astype(str)
    columns["requested_time"] = run_times if requested is None else requested
    return Workload(columns, name=name)


# ---------------------------------------------------------------------- a large machine, much like RICC

LARGE_CORES = 8_192
LARGE_SEED = 447_786
_LARGE_LOAD = 0.8
_LARGE_WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048)
_LARGE_WIDTH_SHARES = (0.5, 0.03, 0.06, 0.25, 0.07, 0.04, 0.03, 0.012, 0.005, 0.002, 0.0008, 0.0002)
_LARGE_TIME_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
_LARGE_TIMES = (1, 15, 120, 1_500, 12_000, 50_000, 200_000, 258_000)
_LARGE_LIMITS = np.array([3_600, 14_400, 43_200, 86_400, 259_200])  # requested times: those of the queues, s
_MOST_ALIKE = 2_000


def large_log(jobs: int, seed: int = LARGE_SEED) -> Workload:
    """Jobs for 8,192 cores as RICC's users submit them: many, most of them small, in batches of up to 2,000 alike.

    The batches make queues of thousands of jobs at a load of 0.8. Requested times are limits of queues, those of the
    jobs' own or of a longer one; so they are inexact, and one job in a hundred outlives its own.
    """
    rng = np.random.default_rng(seed)
    # Sizes of batches: a heavy tail, of which half the jobs are.
    sizes = np.minimum(np.floor(rng.pareto(1.0, jobs) + 1.0), _MOST_ALIKE).astype(np.int64)
    batches = int(np.searchsorted(np.cumsum(sizes), jobs)) + 1
    sizes = sizes[:batches]
    widths = np.repeat(rng.choice(_LARGE_WIDTHS, batches, p=_LARGE_WIDTH_SHARES), sizes)[:jobs]
    typical = np.repeat(_draw(rng, batches, _LARGE_TIME_SHARES, _LARGE_TIMES), sizes)[:jobs]
    run_times = np.ceil(typical * rng.uniform(0.5, 1.0, jobs))
    queue = np.searchsorted(_LARGE_LIMITS, typical) + np.repeat(rng.integers(0, 3, batches), sizes)[:jobs]
    requested = _LARGE_LIMITS[np.minimum(queue, len(_LARGE_LIMITS) - 1)].astype(float)
    outlived = rng.random(jobs) < 0.01
    requested[outlived] = np.ceil(run_times[outlived] * 0.9)
    begins = np.repeat(np.cumsum(rng.exponential(1.0, batches)), sizes)[:jobs]
    begins *= (widths * run_times).sum() / (LARGE_CORES * _LARGE_LOAD) / begins[-1]
    order = np.argsort(submissions := np.floor(begins + rng.uniform(0.0, 60.0, jobs)), kind="stable")
    return _flat_log(submissions[order], widths[order], run_times[order], "large log", requested[order])


# ---------------------------------------------------------------------- with contention


def experiment_3() -> tuple[Platform, Workload]:
    """Experiment 3 of López (2023): 180 jobs, a third of their work memory-bound, on 40 nodes with 1040 cores."""
    profiles = {
        "A": {"req_ops": 62.5e9, "req_time": 20.8, "mem": 100, "mem_vol": 1e3},
        "B": {"req_ops": 13.75e9, "req_time": 4.6, "mem": 100, "mem_vol": 1.0},
        "C": {"req_ops": 125e9, "req_time": 41.7, "mem": 100, "mem_vol": 1e6},
    }
    letters = "B" * 140 + "C" * 20 + "A" * 20
    triples = [(round(0.01 * i, 2), 4 if letter == "C" else 8, letter) for i, letter in enumerate(letters)]
    platform = Platform.read("mixed:10x8@4.2,10x16@3.8,10x32@3.4,10x48@3.0")
    return platform, Workload.from_triples(triples, profiles, "experiment 3")


def memory_bound(jobs: int, seed: int = 16) -> tuple[Platform, Workload]:
    """Jobs of 1 to 8 tasks that ask for 2 to 12 GB/s each, on 16 nodes × 16 cores that serve 21 GB/s a node.

    Poisson arrivals that would load the machine to nine tenths if nothing slowed down, so that it is full all the time.
    """
    rng = np.random.default_rng(seed)
    platform = Platform.read("mixed:16x16@3.8")
    widths = rng.integers(1, 9, jobs)
    run_times = rng.uniform(50.0, 500.0, jobs)
    bandwidths = rng.uniform(2_000.0, 12_000.0, jobs)
    gap = float(np.mean(widths * run_times)) / (0.9 * platform.core_count)
    columns = {
        "submit_time": np.cumsum(rng.exponential(gap, jobs)),
        "requested_cores": widths,
        "recorded_run_time": run_times,
        "requested_time": run_times,
        "mem_vol": bandwidths * run_times,
    }
    return platform, Workload(columns, name="memory-bound")
