"""Statistics of the Lublin-Feitelson generator: against the model's published parameters, and a log made by its authors.

Confidence intervals are of 99.9 % each; seeds are fixed, so a test that passes stays passed.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import SpecError
from cluster_sim.workload.generators import (
    LUBLIN,
    LublinParameters,
    daily_rate,
    lublin,
    lublin_arrivals,
    lublin_run_times,
    lublin_sizes,
)

Z = float(stats.norm.ppf(0.9995))
JOBS = 100_000
NODES = 256
KINDS = pytest.mark.parametrize("kind", list(LUBLIN))


def within(sample_share: float, share: float, count: int) -> bool:
    """Whether a share of ``count`` draws lies in the interval that the true share allows."""
    return abs(sample_share - share) <= Z * math.sqrt(share * (1 - share) / count) + 1e-12


def rng(stream: int) -> np.random.Generator:
    """A stream of draws."""
    return np.random.default_rng(np.random.SeedSequence([2003, stream]))


def stage_cdf(p: LublinParameters, exponent: float) -> float:
    """Distribution function of the two-stage uniform variable for 256 cores."""
    high = math.log2(NODES) - p.largest_below
    middle = high - p.middle_below
    first = np.clip((exponent - p.low) / (middle - p.low), 0, 1)
    second = np.clip((exponent - middle) / (high - middle), 0, 1)
    return float(p.first_stage * first + (1 - p.first_stage) * second)


def size_probability(p: LublinParameters, cores: int) -> float:
    """Probability that a job has that many cores, from the model's definition."""
    if cores == 1:
        return p.serial
    other = stage_cdf(p, math.log2(cores + 0.5)) - stage_cdf(p, math.log2(cores - 0.5))
    whole = 0.0
    if cores & (cores - 1) == 0:
        whole = stage_cdf(p, math.log2(cores) + 0.5) - stage_cdf(p, math.log2(cores) - 0.5)
    return p.power_of_two * whole + (1 - p.serial - p.power_of_two) * other


@KINDS
def test_sizes_follow_the_published_distribution(kind: str) -> None:
    """The share of every size that occurs often, of serial jobs and of powers of two; no job beyond the machine."""
    p = LUBLIN[kind]
    cores = lublin_sizes(p, JOBS, NODES, rng(1))
    probabilities = {c: size_probability(p, c) for c in range(1, NODES + 1)}
    assert sum(probabilities.values()) == pytest.approx(1.0, abs=1e-9)
    for c, probability in probabilities.items():
        if probability > 0.005:
            assert within(float((cores == c).mean()), probability, JOBS), c
    powers = [2**k for k in range(1, 9)]
    assert within(float(np.isin(cores, powers).mean()), sum(probabilities[c] for c in powers), JOBS)
    mean = sum(c * probability for c, probability in probabilities.items())
    assert abs(cores.mean() - mean) <= Z * cores.std() / math.sqrt(JOBS)
    assert cores.min() == 1
    assert cores.max() <= NODES


@KINDS
@pytest.mark.parametrize("cores", [1, 32, 200])
def test_run_times_are_hyper_gamma(kind: str, cores: int) -> None:
    """Shares below 1 s … 1 day for jobs of one size, with the long kind more likely for wide jobs."""
    p = LUBLIN[kind]
    times = lublin_run_times(p, np.full(JOBS, cores), rng(2))
    short = min(1.0, max(0.0, p.slope * cores + p.start))

    def below(log: float) -> float:
        parts = [stats.gamma.cdf(log, shape, scale=scale) for shape, scale in (p.short, p.long)]
        return float(short * parts[0] + (1 - short) * parts[1])

    for seconds in (1, 5, 30, 120, 600, 3600, 10_000, 20_000, 40_000, 86_400):
        # floor(e^g) <= seconds, given that g <= 12, beyond which the program draws again.
        expected = below(min(12.0, math.log(seconds + 1))) / below(12.0)
        assert within(float((times <= seconds).mean()), expected, JOBS), seconds
    assert times.min() >= 1
    assert times.max() <= math.exp(12)


@KINDS
def test_the_day_has_its_shape(kind: str) -> None:
    """The arrival rate is the published gamma density over half hours, and it shows in the arrivals, day by day."""
    p = LUBLIN[kind]
    edges = stats.gamma.cdf(np.arange(10.5, 59.5), p.day[0], scale=p.day[1])
    shares = np.roll(np.diff(edges), 10)
    rate = daily_rate(p)
    assert rate == pytest.approx(shares / shares.mean(), rel=1e-9)

    days = lublin_arrivals(p, JOBS, rng(3)) // 1800
    whole = int(days[-1] // 48)
    counts = np.bincount(days[days < 48 * whole].astype(int), minlength=48 * whole).reshape(whole, 6, 8).sum(axis=2)
    expected = rate.reshape(6, 8).sum(axis=1) / 48
    # A ratio of sums over days: its variance is that of the days' deviations, gaps of hours included.
    for block in range(6):
        deviation = counts[:, block] - expected[block] * counts.sum(axis=1)
        error = deviation.std(ddof=1) / math.sqrt(whole) / counts.sum(axis=1).mean()
        assert abs(deviation.mean() / counts.sum(axis=1).mean()) <= Z * error, block


@KINDS
def test_gaps_at_the_mean_rate(kind: str) -> None:
    """Undoing the day's cycle leaves log-gamma gaps: their mean is the model's, e^g for g up to 13."""
    p = LUBLIN[kind]
    shape, scale = p.gap
    density = stats.gamma(shape, scale=scale).pdf
    mass = stats.gamma(shape, scale=scale).cdf(13.0)
    mean = integrate.quad(lambda g: math.exp(g) * density(g) / mass, 0.0, 13.0, limit=200)[0]
    spread = math.sqrt(integrate.quad(lambda g: math.exp(2 * g) * density(g) / mass, 0.0, 13.0, limit=200)[0] - mean**2)
    # Over whole days the clock and the work agree, so the mean gap on the clock is the mean gap of work.
    arrivals = lublin_arrivals(p, JOBS, rng(4))
    assert abs(arrivals[-1] / JOBS - mean) <= Z * spread / math.sqrt(JOBS) + 86_400 / JOBS


@pytest.fixture(scope="module")
def theirs(shared: Path) -> Workload:
    """10,000 jobs on 256 nodes by the authors' own program."""
    return Workload.read(shared / "traces/lublin_256.swf.gz")


@pytest.fixture(scope="module")
def ours() -> Workload:
    """The same by ours."""
    return Workload.read("lublin:jobs=10000,nodes=256,seed=1")


def test_sizes_and_run_times_as_in_the_authors_sample(theirs: Workload, ours: Workload) -> None:
    """Two-sample Kolmogorov-Smirnov tests see no difference at 0.1 %, nor do the shares of serial jobs and powers of 2."""
    for column in ("requested_cores", "recorded_run_time"):
        test = stats.ks_2samp(theirs.jobs[column], ours.jobs[column])
        assert test.pvalue > 0.001, column
    for sizes in ([1], [2**k for k in range(1, 9)]):
        a, b = (float(w.jobs["requested_cores"].isin(sizes).mean()) for w in (theirs, ours))
        assert abs(a - b) <= Z * math.sqrt(2 * a * (1 - a) / 10_000)
    for level in (0.25, 0.5, 0.75, 0.95):
        a, b = (float(w.jobs["recorded_run_time"].quantile(level)) for w in (theirs, ours))
        assert b == pytest.approx(a, rel=0.15), level
    # Correlation of size and run time: the reason for the hyper-gamma's linear share.
    a, b = (stats.spearmanr(w.jobs["requested_cores"], w.jobs["recorded_run_time"])[0] for w in (theirs, ours))
    assert b == pytest.approx(a, abs=2 * Z / math.sqrt(10_000))


def test_arrivals_as_in_the_authors_sample(theirs: Workload, ours: Workload) -> None:
    """The gaps have one distribution; their mean and the shares of the day's six parts agree within their errors."""
    gaps = [np.diff(w.jobs["submit_time"].to_numpy()) for w in (theirs, ours)]
    assert stats.ks_2samp(*gaps).pvalue > 0.001
    error = math.sqrt(sum(g.var() / len(g) for g in gaps))
    assert abs(gaps[0].mean() - gaps[1].mean()) <= Z * error

    parts, errors = [], []
    for w in (theirs, ours):
        times = w.jobs["submit_time"].to_numpy() + w.origin_s
        counts = np.array([
            np.bincount((day % 86_400 // 14_400).astype(int), minlength=6)
            for day in np.split(times, np.flatnonzero(np.diff(times // 86_400)) + 1)
        ])  # fmt: skip
        share = counts.sum(axis=0) / counts.sum()
        deviation = counts - share * counts.sum(axis=1, keepdims=True)
        parts.append(share)
        errors.append(deviation.std(axis=0) / math.sqrt(len(counts)) / counts.sum(axis=1).mean())
    assert (np.abs(parts[0] - parts[1]) <= Z * np.hypot(*errors)).all()


def test_same_seed_same_workload() -> None:
    """Byte for byte; another seed gives another; options for estimates leave jobs as they are."""
    first, again, other = (lublin(jobs=500, seed=seed) for seed in (7, 7, 8))
    assert first.jobs.equals(again.jobs)
    assert not first.jobs.equals(other.jobs)
    with_estimates = lublin(jobs=500, seed=7, estimates="tsafrir")
    for column in ("submit_time", "requested_cores", "recorded_run_time"):
        assert with_estimates.jobs[column].equals(first.jobs[column])


def test_estimates_and_header() -> None:
    """Requested times by option; the header names the machine, the clock starts at the first submission."""
    exact, rounded, none = (lublin(jobs=600, nodes=64, seed=3, estimates=e) for e in ("exact", "tsafrir", "none"))
    assert exact.jobs["requested_time"].equals(exact.jobs["recorded_run_time"])
    assert exact.jobs["requested_time_assumed"].all()
    assert (rounded.jobs["requested_time"] >= rounded.jobs["recorded_run_time"]).all()
    assert not rounded.jobs["requested_time_assumed"].any()
    assert np.isinf(none.jobs["requested_time"]).all()
    assert exact.max_procs == 64
    assert exact.jobs["submit_time"].iloc[0] == 0.0
    assert exact.origin_s > 0.0
    longest = lublin(jobs=600, nodes=64, seed=3, estimates="tsafrir", longest_estimate_s=720_000.0)
    assert longest.jobs["requested_time"].max() == 720_000.0


def test_mixed_is_two_streams() -> None:
    """Batch and interactive jobs in one workload, told apart by their queue, each with its own kind of jobs."""
    jobs = lublin(jobs=5000, seed=2, kind="mixed").jobs
    assert len(jobs) == 5000
    assert jobs["submit_time"].is_monotonic_increasing
    batch, interactive = jobs[jobs["queue"] == 1], jobs[jobs["queue"] == 0]
    assert len(interactive) > len(batch) > 500
    assert batch["recorded_run_time"].median() > 10 * interactive["recorded_run_time"].median()
    assert interactive["requested_cores"].max() <= 91  # 2^(8 - 1.5)


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 8, 100, 1000])
def test_any_size_of_machine(nodes: int) -> None:
    """No job is wider than the machine, whatever the rounding; one node means serial jobs."""
    for kind in LUBLIN:
        cores = lublin(jobs=300, nodes=nodes, seed=1, kind=kind).jobs["requested_cores"]
        assert cores.between(1, nodes).all()


def test_written_and_read_again(tmp_path: Path) -> None:
    """As SWF: the same jobs, the same time of day."""
    workload = lublin(jobs=200, nodes=32, seed=4, estimates="tsafrir")
    workload.write(tmp_path / "l.swf.gz")
    again = Workload.read(tmp_path / "l.swf.gz")
    assert again.origin_s == workload.origin_s
    assert again.max_procs == 32
    for column in ("submit_time", "requested_cores", "recorded_run_time", "requested_time"):
        assert again.jobs[column].tolist() == workload.jobs[column].tolist()


def test_it_runs() -> None:
    """A generated workload is an ordinary one."""
    result = Simulation(Platform.homogeneous(32, 1), lublin(jobs=200, nodes=32, seed=5), make_scheduler("fcfs")).run()
    assert (result.jobs["state"] == "completed").all()


@pytest.mark.parametrize(
    "spec",
    [
        "jobs=0",
        "jobs=99999999999",
        "nodes=0",
        "seed=-1",
        "kind=huge",
        "estimates=wild",
        "jobs=ten",
        "cores=5",
        "longest_estimate_s=7200",
    ],
)
def test_wrong_options(spec: str) -> None:
    """Named, with what may stand there."""
    with pytest.raises(SpecError, match=spec.partition("=")[0]):
        Workload.read(f"lublin:{spec}")
