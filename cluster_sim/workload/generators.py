"""Workloads without a log: the model of Lublin and Feitelson (2003), bursts of submissions, draws from profiles.

Everything is drawn from ``numpy.random.default_rng`` streams that one seed spawns: the same seed gives the same
workload on the same numpy version, and what an option adds (estimates, bursts) does not change the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le, Unit
from typing_extensions import Doc

from cluster_sim.errors import InputError, SpecError
from cluster_sim.options import checked
from cluster_sim.workload.days import SEQUENTIAL_S
from cluster_sim.workload.estimates import tsafrir_estimates
from cluster_sim.workload.job_table import as_columns
from cluster_sim.workload.workload import WORKLOAD_GENERATORS, Workload

Floats = npt.NDArray[np.float64]

MAX_JOBS = 10_000_000

Jobs = Annotated[int, Ge(1), Le(MAX_JOBS), Unit("jobs"), Doc("jobs that are drawn")]
Seed = Annotated[int, Ge(0), Doc("seed of the random numbers")]

# López (2023), Table 4.16: name -> operations of a task (10^10), requested time (s), memory traffic of a task (MB/s).
LOPEZ_PROFILES: Mapping[str, tuple[float, float, float]] = {
    "A1": (2.75, 9.2, 1e5), "B1": (6.25, 20.8, 1e6), "C1": (12.5, 41.7, 1e8),
    "A2": (5.5, 18.4, 1.0), "B2": (8.25, 27.5, 1.0), "C2": (12.5, 41.7, 1.0),
}  # fmt: skip

# Herrera et al. (2021), Table IV: name -> instructions (10^10), instructions per cycle, memory volume (MB).
NPB_PROFILES: Mapping[str, tuple[float, float, float]] = {
    "bt.C": (633.50, 3.06, 5.17e6), "cg.C": (60.31, 1.10, 7.30e6), "ep.C": (80.94, 1.16, 0.21e6),
    "is.C": (6.43, 0.95, 0.07e6), "lu.C": (370.25, 2.20, 8.70e6), "sp.C": (356.10, 2.74, 9.60e6),
    "ua.C": (312.57, 2.30, 4.32e6),
}  # fmt: skip

# Cruz (2023), inputs of Tables 5.1 and 5.2: name -> operations of a task (10^10), requested time (s), energy of a task (J).
CRUZ_PROFILES: Mapping[str, tuple[float, float, float]] = {
    "Low_Intensity": (0.1, 1.0, 0.36811111), "Med_Intensity": (0.5, 5.0, 1.840555), "High_Intensity": (1.0, 10.0, 3.1681),
}  # fmt: skip

_BUCKETS = 48  # half hours of a day
_BUCKET_S = 1800.0
_DAY_STARTS = 11  # the half hour from which the day of the arrival model counts
_LONGEST_RUN = 12.0  # ln s: 45 h
_LONGEST_GAP = 13.0  # ln s: 5 days


@dataclass(frozen=True, slots=True)
class LublinParameters:
    """Published parameters of the model for one kind of jobs.

    ==================  ====================================================================================
    ``serial``          probability of one core
    ``power_of_two``    probability of a power of two among all jobs, serial ones not counted
    ``low``             log2 of the smallest parallel size
    ``middle_below``    log2 of the largest size less that of the bend between the two uniform stages
    ``largest_below``   log2 of the machine's cores less that of the largest size
    ``first_stage``     probability of the lower stage
    ``short, long``     (shape, scale) of the gamma distributions of ln(run time / s)
    ``slope, start``    probability of ``short`` is slope · cores + start, within [0, 1]
    ``gap``             (shape, scale) of the gamma distribution of ln(rush-hour gap / s)
    ``day``             (shape, scale) of the gamma density over the half hours of a day that gives the arrival rate
    ==================  ====================================================================================
    """

    serial: float
    power_of_two: float
    low: float
    middle_below: float
    largest_below: float
    first_stage: float
    short: tuple[float, float]
    long: tuple[float, float]
    slope: float
    start: float
    gap: tuple[float, float]
    day: tuple[float, float]


# Lublin and Feitelson (2003), as in the authors' program lublin99.c. The shape of `gap` is a product there, of the rush
# hours' value and the ratio of all hours to the rush hours.
LUBLIN: Mapping[str, LublinParameters] = {
    "all": LublinParameters(
        serial=0.244, power_of_two=0.576, low=0.8, middle_below=2.5, largest_below=0.0, first_stage=0.86,
        short=(4.2, 0.94), long=(312.0, 0.03), slope=-0.0054, start=0.78,
        gap=(10.2303 * 1.0225, 0.4871), day=(8.1737, 3.9631),
    ),
    "batch": LublinParameters(
        serial=0.2927, power_of_two=0.6686, low=1.2, middle_below=2.0, largest_below=0.0, first_stage=0.875,
        short=(6.57, 0.823), long=(639.1, 0.0156), slope=-0.003, start=0.6986,
        gap=(6.0415 * 1.0519, 0.8531), day=(6.1271, 5.2740),
    ),
    "interactive": LublinParameters(
        serial=0.1541, power_of_two=0.625, low=1.0, middle_below=2.5, largest_below=1.5, first_stage=0.705,
        short=(3.8351, 0.6605), long=(7.073, 0.6856), slope=-0.0118, start=0.9156,
        gap=(6.5510 * 0.9797, 0.6621), day=(8.9186, 3.6680),
    ),
}  # fmt: skip


@WORKLOAD_GENERATORS.register("lublin")
@checked
def lublin(
    jobs: Jobs = 10_000,
    nodes: Annotated[int, Ge(1), Le(2**30), Unit("nodes"), Doc("cores of the machine, the largest job's size")] = 256,
    seed: Seed = 0,
    kind: Annotated[Literal["all", "batch", "interactive", "mixed"], Doc("jobs as of which logs")] = "all",
    estimates: Annotated[Literal["exact", "tsafrir", "none"], Doc("requested times")] = "exact",
    longest_estimate_s: Annotated[
        float, Ge(0), Unit("s"), Doc("longest that tsafrir's users ask for; 0: as jobs run")
    ] = 0.0,
    sequential: Annotated[float, Doc("least share of submissions within 5 minutes of the one before")] = 0.0,
) -> Workload:
    """Rigid parallel jobs with a daily cycle, after Lublin and Feitelson (2003).

    Parameters
    ----------
    jobs, nodes, seed : how many jobs; cores of the machine (the model's nodes have one core each), which is the largest
        job's size: nodes=1024 for 64 nodes of 16 cores.
    kind : ``all`` (the parameters of the model for logs that do not tell batch from interactive jobs), ``batch``,
        ``interactive``, or ``mixed``: both of these, each with arrivals of its own (``queue`` 1 for batch, else 0).
    estimates : requested times: ``exact`` (the run time, marked as assumed), ``tsafrir``
        (:func:`cluster_sim.workload.estimates.tsafrir_estimates`) or ``none``.
    longest_estimate_s : the longest that users may ask for, for ``tsafrir``; 0: the longest run time in whole hours.
    sequential : least share of submissions within 5 minutes of the one before (:func:`with_bursts`); 0: as they come.

    Times are whole seconds, the clock starts with the first submission and ``origin_s`` is that one's time after
    midnight, so ``(submit_time + origin_s) mod 86400`` is the time of day. Raises SpecError for an impossible option.
    """
    if longest_estimate_s and estimates != "tsafrir":
        raise SpecError(
            "generator 'lublin', longest_estimate_s", "estimates=tsafrir beside it", f"estimates={estimates}"
        )
    streams = np.random.default_rng(seed).spawn(4)
    if kind == "mixed":
        parts = [_lublin_jobs(LUBLIN[part], jobs, nodes, streams[i]) for i, part in enumerate(("interactive", "batch"))]
        merged = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        merged["queue"] = np.repeat([0, 1], jobs)
        order = np.argsort(merged["submit_time"], kind="stable")[:jobs]
        columns: dict[str, Any] = {name: values[order] for name, values in merged.items()}
    else:
        columns = _lublin_jobs(LUBLIN[kind], jobs, nodes, streams[0])
    origin_s = float(columns["submit_time"][0])
    columns["submit_time"] -= origin_s
    if estimates == "exact":
        columns["requested_time"] = columns["recorded_run_time"]
        columns["requested_time_assumed"] = np.ones(jobs, dtype=bool)
    elif estimates == "tsafrir":
        longest = longest_estimate_s or None
        columns["requested_time"] = tsafrir_estimates(columns["recorded_run_time"], streams[2], longest)
    else:
        columns["requested_time"] = np.full(jobs, np.inf)
    header = (
        f"; MaxNodes: {nodes}",
        f"; MaxProcs: {nodes}",
        "; Note: made by the model of Lublin and Feitelson (2003)",
    )
    workload = Workload(columns, name="lublin", origin_s=origin_s, header=header)
    return with_bursts(workload, sequential, streams[3]) if sequential else workload


def _lublin_jobs(p: LublinParameters, jobs: int, nodes: int, rng: np.random.Generator) -> dict[str, Any]:
    """Draw the submissions (s after midnight), cores and run times of ``jobs`` jobs of one kind."""
    arrivals, sizes, times = rng.spawn(3)
    cores = lublin_sizes(p, jobs, nodes, sizes)
    return {
        "submit_time": lublin_arrivals(p, jobs, arrivals),
        "requested_cores": cores,
        "recorded_run_time": lublin_run_times(p, cores, times),
    }


def lublin_sizes(p: LublinParameters, jobs: int, nodes: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw the cores of each job: 1, or 2 to the power of a two-stage uniform variable (whole for powers of two)."""
    highest = max(0.0, math.log2(nodes) - p.largest_below)
    low = min(p.low, highest)
    # On machines of a few cores the bend would fall below the lower end; the authors' advice there is to halve.
    middle = highest - p.middle_below if highest - p.middle_below > low else (low + highest) / 2
    which, stage, within = rng.random((3, jobs))
    lower = stage <= p.first_stage
    exponent = np.where(lower, low + within * (middle - low), middle + within * (highest - middle))
    exponent = np.where(which <= p.serial + p.power_of_two, np.floor(exponent + 0.5), exponent)
    cores = np.floor(2.0**exponent + 0.5).astype(np.int64)
    return np.where(which <= p.serial, 1, np.minimum(cores, nodes))


def lublin_run_times(p: LublinParameters, cores: npt.NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Draw run times (whole s, at least 1): ln(run time) is hyper-gamma, wide jobs more often of the long kind."""
    is_short = rng.random(len(cores)) <= np.clip(p.slope * cores + p.start, 0.0, 1.0)
    shape, scale = (np.where(is_short, short, long) for short, long in zip(p.short, p.long, strict=True))
    logs = rng.gamma(shape, scale)
    # The program draws the whole hyper-gamma again where it is too long, kind included.
    while (redraw := np.flatnonzero(logs > _LONGEST_RUN)).size:
        again = rng.random(len(redraw)) <= np.clip(p.slope * cores[redraw] + p.start, 0.0, 1.0)
        shape, scale = (np.where(again, short, long) for short, long in zip(p.short, p.long, strict=True))
        logs[redraw] = rng.gamma(shape, scale)
    return np.floor(np.exp(logs))


def lublin_arrivals(p: LublinParameters, jobs: int, rng: np.random.Generator) -> Floats:
    """Draw submissions (whole s after midnight): log-gamma gaps, stretched and squeezed by the hour of the day.

    A gap is so much *work*, which a half hour does at the rate of its share of the day's arrivals; the next job comes
    when the work is done. The time of a job is therefore the inverse of the rate's integral at the sum of the gaps.
    """
    logs = rng.gamma(*p.gap, size=jobs)
    while (redraw := np.flatnonzero(logs > _LONGEST_GAP)).size:
        logs[redraw] = rng.gamma(*p.gap, size=len(redraw))
    work = np.cumsum(np.exp(logs))
    done = np.concatenate(([0.0], np.cumsum(daily_rate(p)))) * _BUCKET_S  # at the edges of the half hours
    days, rest = np.divmod(work, done[-1])
    edges = np.arange(_BUCKETS + 1) * _BUCKET_S
    return np.asarray(np.floor(days * edges[-1] + np.interp(rest, done, edges)))


def daily_rate(p: LublinParameters) -> Floats:
    """Return the arrival rate of each half hour of the day relative to the mean, from midnight; mean 1."""
    shape, scale = p.day
    hours = np.arange(_DAY_STARTS, _DAY_STARTS + _BUCKETS)
    shares = [_gamma_cdf((i + 0.5) / scale, shape) - _gamma_cdf((i - 0.5) / scale, shape) for i in hours.tolist()]
    rate = np.empty(_BUCKETS)
    rate[(hours - 1) % _BUCKETS] = shares
    return np.asarray(rate / rate.mean())


def _gamma_cdf(x: float, shape: float) -> float:
    """Return the regularised lower incomplete gamma function, by its power series (x of the order of ``shape``)."""
    term = total = 1.0 / shape
    k = shape
    while term > total * 1e-16:
        k += 1.0
        term *= x / k
        total += term
    return total * math.exp(shape * math.log(x) - x - math.lgamma(shape))


def with_bursts(
    workload: Workload, share: float, seed: int | np.random.Generator = 0, within_s: float = SEQUENTIAL_S
) -> Workload:
    """Return the workload with at least ``share`` of its submissions less than ``within_s`` after the one before.

    Of the gaps that are longer, as many as needed are drawn and become uniform in [0, within_s), in whole seconds where
    all submissions are. The time that they lose is added to the next gap that stays long, so the days keep their
    cycle. Raises InputError for a share outside [0, 1].
    """
    if not 0.0 <= share <= 1.0:
        raise InputError("with_bursts, share", "a share from 0 to 1", share)
    rng = np.random.default_rng(seed)
    submit = workload.jobs["submit_time"].to_numpy()
    gaps = np.diff(submit)
    long = np.flatnonzero(gaps >= within_s)
    count = math.ceil(round(share * len(gaps) - (len(gaps) - len(long)), 9))
    if count <= 0:
        return workload
    chosen = rng.permutation(long)[:count]
    brief = rng.uniform(0.0, within_s, size=count)
    lost = np.zeros(len(gaps))
    new = np.floor(brief) if (submit == np.floor(submit)).all() else brief
    lost[chosen] = gaps[chosen] - new
    gaps[chosen] = new
    stays = np.setdiff1d(long, chosen)
    # Each gap's loss goes to the first long one after it; what is lost after the last of them shortens the workload.
    heir = np.searchsorted(stays, chosen)
    np.add.at(gaps, stays[heir[heir < len(stays)]], lost[chosen[heir < len(stays)]])
    columns = as_columns(workload.jobs)
    moved = np.concatenate((submit[:1], submit[0] + np.cumsum(gaps)))
    columns["deadline"] = columns["deadline"] + (moved - submit)
    columns["submit_time"] = moved
    return Workload(
        columns, workload.name, workload.origin_s, workload.header, workload.reference_gflops, workload.rebase
    )


def from_profiles(
    profiles: Mapping[str, Mapping[str, Any]],
    shares: Mapping[str, float],
    jobs: int,
    tasks: int | Mapping[str, int] = 1,
    gap_s: float = 0.0,
    seed: int = 0,
    poisson: bool = False,
    name: str = "mix",
) -> Workload:
    """Draw jobs from a mix of application profiles, as the batches of Herrera et al. (2021) and López (2023) are.

    Parameters
    ----------
    profiles : name -> what its tasks do, as :meth:`Workload.from_triples` takes them.
    shares : name -> relative share. The counts are exact (largest remainders), only their order is drawn.
    tasks : tasks of every job, or of each profile's.
    gap_s : seconds between submissions; with ``poisson`` their mean, exponentially distributed.

    Raises InputError for shares that are no shares, or of profiles that there are not.
    """
    weights = np.array([shares.get(profile, 0.0) for profile in profiles], dtype=np.float64)
    unknown = [profile for profile in shares if profile not in profiles]
    if unknown or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise InputError("from_profiles, shares", f"shares >= 0 of {', '.join(profiles)}", dict(shares))
    if not 1 <= jobs <= MAX_JOBS or not 0.0 <= gap_s < math.inf or seed < 0:
        raise InputError("from_profiles", f"1 to {MAX_JOBS} jobs, gap_s >= 0, seed >= 0", (jobs, gap_s, seed))
    order, gaps = np.random.default_rng(seed).spawn(2)
    exact = weights / weights.sum() * jobs
    counts = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: jobs - int(counts.sum())]] += 1
    drawn = order.permutation(np.repeat(np.array(list(profiles), dtype=object), counts)).tolist()
    steps = gaps.exponential(gap_s, jobs - 1) if poisson else np.full(jobs - 1, gap_s)
    times = np.concatenate(([0.0], np.cumsum(steps))).tolist()
    width = tasks if isinstance(tasks, Mapping) else dict.fromkeys(profiles, tasks)
    triples = [(time, width[profile], profile) for time, profile in zip(times, drawn, strict=True)]
    return Workload.from_triples(triples, profiles, name=name)


@WORKLOAD_GENERATORS.register("lopez-mixed")
@checked
def lopez_mixed(
    jobs: Jobs = 400,
    gap_s: Annotated[float, Unit("s"), Doc("time between two submissions")] = 1.0,
    memory: Annotated[str | float, Doc("share of the jobs that memory binds, or a range it is drawn from")] = "0.5",
    parts: Annotated[Literal["equal", "drawn"], Doc("parts of the profiles of a kind")] = "equal",
    seed: Seed = 0,
) -> Workload:
    """The training workload of López (2023), Experiment 4: jobs of 8 tasks of all six profiles of Table 4.16.

    Three of the profiles are bound by memory, and have the share ``memory`` of the ``jobs`` (0 to 1) in equal parts; three by
    computing, and have the rest. A range draws that share with the seed, and cuts it to 0 to 1: with ``memory="-1..2"`` a third
    of the draws have no job bound by memory, a third no other, the last any share in between. The paper does not say how many
    jobs each profile has; its public repository has 82, 88, 40, 82, 52 and 56 of A1 to C2. With ``parts="drawn"`` the three of a
    kind share it in parts drawn with the seed, any being as likely.
    The order is drawn with ``seed``, and one job is submitted every ``gap_s`` seconds. Raises InputError for impossible numbers.
    """
    profiles = {
        name: {"req_ops": operations * 1e10, "req_time": seconds, "mem_vol": volume}
        for name, (operations, seconds, volume) in LOPEZ_PROFILES.items()
    }
    least, dots, most = str(memory).partition("..")
    try:
        low, high = float(least), float(most or least)
    except ValueError:
        low = high = math.nan
    possible = low < high < math.inf and high >= 0.0 if dots else low >= 0.0
    if not (possible and -math.inf < low <= 1.0):
        expected = "a share from 0 to 1, or a range such as -1..2, with more at its end"
        raise InputError("lopez-mixed, memory", expected, memory)
    # A stream apart from the one that draws the order, which refuses seeds below 0.
    rng = np.random.default_rng(max(seed, 0)).spawn(3)[2]
    share = float(np.clip(rng.uniform(low, high), 0.0, 1.0)) if dots else low
    shares = {name: 2.0 * (share if volume > 1.0 else 1.0 - share) for name, (_, _, volume) in LOPEZ_PROFILES.items()}
    if parts == "drawn":  # the profiles of a kind stand one after the other
        rng = np.random.default_rng(max(seed, 0)).spawn(4)[3]  # the share and the order stay those of equal parts
        of_kind = np.concatenate([rng.dirichlet(np.ones(3)) for _ in range(2)]) * 3.0
        shares = {name: share * float(part) for (name, share), part in zip(shares.items(), of_kind, strict=True)}
    return from_profiles(profiles, shares, jobs, tasks=8, gap_s=gap_s, seed=seed, name="lopez-mixed")


@WORKLOAD_GENERATORS.register("npb")
@checked
def npb(
    jobs: Jobs = 60,
    within_s: Annotated[float, Ge(0), Unit("s"), Doc("time within which jobs are submitted")] = 120.0,
    at_once: Annotated[int, Ge(0), Unit("jobs"), Doc("jobs that are submitted at 0")] = 0,
    seed: Seed = 0,
) -> Workload:
    """A batch as those of Herrera et al. (2021): sequential jobs, each one of seven NAS parallel benchmarks at random.

    The first ``at_once`` are submitted at 0, so that a queue can stand from the beginning; the others at random within
    ``within_s`` seconds ("in the first minutes"). They ask for the time that they take alone at 3.4 GHz. Sizes and times
    of submission are not published. Raises InputError for impossible numbers.
    """
    if at_once > jobs:
        raise InputError("npb, at_once", f"from 0 to jobs={jobs}", at_once)
    times, kinds = np.random.default_rng(seed).spawn(2)
    submits = [0.0] * at_once + np.sort(times.uniform(0.0, within_s, jobs - at_once)).tolist()
    profiles = {
        name: {"req_ops": work * 1e10, "ipc": ipc, "mem_vol": volume, "req_time": work * 1e10 / ipc / 3.4e9}
        for name, (work, ipc, volume) in NPB_PROFILES.items()
    }
    drawn = kinds.choice(list(profiles), jobs).tolist()
    return Workload.from_triples(
        [(time, 1, name) for time, name in zip(submits, drawn, strict=True)], profiles, name="npb"
    )


@WORKLOAD_GENERATORS.register("cruz")
@checked
def cruz(
    jobs: Jobs = 7,
    gap_s: Annotated[float, Ge(0), Unit("s"), Doc("mean time between two submissions")] = 0.25,
    seed: Seed = 0,
) -> Workload:
    """Jobs like those of Cruz (2023), Tables 5.1 and 5.2: three intensities, 2 or 4 tasks, submitted soon after each other.

    Intensity and tasks of each job are drawn, every one as likely; gaps are exponential.
    """
    gaps, kinds, widths = np.random.default_rng(seed).spawn(3)
    times = np.concatenate(([0.0], np.cumsum(gaps.exponential(gap_s, jobs - 1)))).tolist()
    profiles = {
        name: {
            "req_ops": work * 1e10,
            "req_time": seconds,
            "req_energy": energy,
            "ipc": 1.0,
            "mem": 1100,
            "mem_vol": 19.0,
        }
        for name, (work, seconds, energy) in CRUZ_PROFILES.items()
    }
    drawn = kinds.choice(list(profiles), jobs).tolist()
    tasks = widths.choice([2, 4], jobs).tolist()
    return Workload.from_triples(list(zip(times, tasks, drawn, strict=True)), profiles, name="cruz")
