"""Bursts of sequential submissions, and workloads drawn from a mix of profiles."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from cluster_sim import Workload
from cluster_sim.errors import InputError
from cluster_sim.workload.generators import cruz, from_profiles, lopez_mixed, lublin, npb, with_bursts


def hourly(gap_s: float = 3600.0, jobs: int = 101) -> Workload:
    """One job an hour."""
    times = np.arange(jobs) * gap_s
    return Workload({"submit_time": times, "requested_cores": np.ones(jobs, int), "recorded_run_time": np.ones(jobs)})


@pytest.mark.parametrize("share", [0.0, 0.25, 0.584, 1.0])
def test_the_share_is_exact(share: float) -> None:
    """Where no gap is short by itself, as many are made so as were asked for, each below five minutes."""
    bursts = with_bursts(hourly(), share, seed=1)
    assert bursts.share_of_sequential_jobs() == pytest.approx(share, abs=0.01)
    assert len(bursts) == 101
    assert bursts.jobs["job_id"].tolist() == hourly().jobs["job_id"].tolist()


def test_later_jobs_keep_their_time() -> None:
    """A gap that stays long takes over what the short ones before it lost: jobs after it are submitted as before."""
    before = hourly().jobs["submit_time"].to_numpy()
    after = with_bursts(hourly(), 0.5, seed=2).jobs["submit_time"].to_numpy()
    assert (after <= before).all()
    starts = np.flatnonzero(np.diff(after) >= 300.0) + 1  # first jobs of a burst, or jobs on their own
    assert len(starts) == 50
    assert after[starts] == pytest.approx(before[starts])
    assert (after == np.floor(after)).all()


def test_a_generated_workload_with_bursts() -> None:
    """As an option of the generator; a share that the workload has anyway changes nothing."""
    plain, bursty = (Workload.read(f"lublin:jobs=2000,seed=3,kind=batch,sequential={s}") for s in (0.1, 0.8))
    assert plain.jobs.equals(lublin(jobs=2000, seed=3, kind="batch").jobs)
    assert bursty.share_of_sequential_jobs() == pytest.approx(0.8, abs=0.001)
    assert bursty.origin_s == plain.origin_s
    assert bursty.jobs["recorded_run_time"].equals(plain.jobs["recorded_run_time"])


def test_bursts_are_seeded_and_checked() -> None:
    """The same seed, the same bursts; shares from 0 to 1; empty and lone workloads have none."""
    assert with_bursts(hourly(), 0.5, seed=4).jobs.equals(with_bursts(hourly(), 0.5, seed=4).jobs)
    assert not with_bursts(hourly(), 0.5, seed=4).jobs.equals(with_bursts(hourly(), 0.5, seed=5).jobs)
    with pytest.raises(InputError, match="from 0 to 1"):
        with_bursts(hourly(), 1.5)
    lone = hourly(jobs=1)
    assert math.isnan(lone.share_of_sequential_jobs())
    assert with_bursts(lone, 1.0).jobs.equals(lone.jobs)


# López (2023), Table 4.16: instructions and memory volume of six profiles.
OPERATIONS = {"A1": 2.75e10, "B1": 6.25e10, "C1": 12.5e10, "A2": 5.5e10, "B2": 8.25e10, "C2": 12.5e10}
VOLUME = {"A1": 1e5, "B1": 1e6, "C1": 1e8, "A2": 1.0, "B2": 1.0, "C2": 1.0}
PROFILES = {name: {"req_ops": OPERATIONS[name], "mem_vol": VOLUME[name]} for name in OPERATIONS}


def test_a_mix_of_profiles() -> None:
    """Experiment 4's training workload: 400 jobs of 8 tasks, a second apart, shares kept exactly, order drawn."""
    mix = from_profiles(PROFILES, dict.fromkeys(PROFILES, 1.0), jobs=400, tasks=8, gap_s=1.0, seed=4321)
    assert mix.jobs["submit_time"].tolist() == list(range(400))
    assert (mix.jobs["requested_cores"] == 8).all()
    counts = mix.jobs["profile"].value_counts()
    assert sorted(counts) == [66, 66, 67, 67, 67, 67]
    for name, operations in OPERATIONS.items():
        assert (mix.jobs.loc[mix.jobs["profile"] == name, "operations"] == operations).all()
    again = from_profiles(PROFILES, dict.fromkeys(PROFILES, 1.0), jobs=400, tasks=8, gap_s=1.0, seed=4321)
    assert again.jobs.equals(mix.jobs)


def test_a_mix_with_poisson_arrivals_and_widths() -> None:
    """Exponential gaps of the mean asked for, and tasks by profile."""
    mix = from_profiles(
        PROFILES, {"A1": 3, "C2": 1}, jobs=4000, tasks={"A1": 2, "C2": 16}, gap_s=10.0, seed=1, poisson=True
    )
    gaps = np.diff(mix.jobs["submit_time"])
    assert gaps.mean() == pytest.approx(10.0, abs=3.3 * 10 / np.sqrt(4000))
    assert gaps.std() == pytest.approx(10.0, rel=0.1)
    assert mix.jobs.groupby("profile")["requested_cores"].agg(["min", "max", "size"]).to_numpy().tolist() == [
        [2, 2, 3000], [16, 16, 1000],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shares", "jobs", "gap", "match"),
    [({"Z": 1}, 1, 0, "of A1"), ({}, 1, 0, "shares"), ({"A1": -1}, 1, 0, "shares"), ({"A1": 1}, 0, 0, "1 to")],
)
def test_impossible_mixes(shares: dict[str, float], jobs: int, gap: float, match: str) -> None:
    """Unknown profiles, no shares, no jobs."""
    with pytest.raises(InputError, match=match):
        from_profiles(PROFILES, shares, jobs, gap_s=gap)


@pytest.mark.parametrize(("memory", "bound"), [("0", 0), ("0.3", 18), ("0.5", 30), ("1", 60)])
def test_the_share_that_is_bound_by_memory(memory: str, bound: int) -> None:
    """As many jobs of the first three profiles as asked for, the rest of the others, each half in equal parts."""
    counts = Workload.read(f"lopez-mixed:jobs=60,memory={memory}").jobs["profile"].value_counts()
    assert [int(counts.get(name, 0)) for name in ("A1", "B1", "C1")] == [bound // 3] * 3
    assert [int(counts.get(name, 0)) for name in ("A2", "B2", "C2")] == [20 - bound // 3] * 3


def test_parts_that_are_drawn() -> None:
    """The share of a kind stays; its three profiles have any part of it, on average a third, and the seed says which."""
    drawn = [lopez_mixed(jobs=60, parts="drawn", seed=seed).jobs["profile"].value_counts() for seed in range(300)]
    assert all(counts.filter(regex="1$").sum() == pytest.approx(30, abs=1) for counts in drawn)
    for profile in ("A1", "B1", "C1", "A2", "B2", "C2"):
        parts = np.array([counts.get(profile, 0) for counts in drawn]) / 30
        # Of a flat Dirichlet distribution of three: mean 1/3, standard deviation sqrt(1/18).
        assert parts.mean() == pytest.approx(1 / 3, abs=0.06)
        assert parts.std() == pytest.approx(np.sqrt(1 / 18), abs=0.04)
    assert lopez_mixed(jobs=60, parts="drawn", seed=7).jobs.equals(lopez_mixed(jobs=60, parts="drawn", seed=7).jobs)
    only = Workload.read("lopez-mixed:jobs=60,memory=0,parts=drawn").jobs["profile"]
    assert set(only) <= {"A2", "B2", "C2"}
    with pytest.raises(InputError, match="equal or drawn"):
        lopez_mixed(parts="some")


def test_a_share_that_is_drawn() -> None:
    """A third of the draws is pure of either kind, and a third has any share in between; the seed says which."""
    shares = [
        lopez_mixed(jobs=60, memory="-1..2", seed=seed).jobs["profile"].str.endswith("1").mean() for seed in range(300)
    ]
    pure = [shares.count(0.0), shares.count(1.0)]
    assert all(70 <= count <= 130 for count in (*pure, 300 - sum(pure)))  # 100 each, to 3.7 standard deviations
    assert np.mean([share for share in shares if 0.0 < share < 1.0]) == pytest.approx(0.5, abs=0.1)
    again = lopez_mixed(jobs=60, memory="-1..2", seed=7)
    assert again.jobs.equals(lopez_mixed(jobs=60, memory="-1..2", seed=7).jobs)


@pytest.mark.parametrize("memory", ["1.1", "-0.1", "nan", "some", "0.5..0.2", "0..inf", "1.5..2", "-2..-1"])
def test_impossible_shares_of_memory(memory: str) -> None:
    """Outside 0 to 1, no number, or a range upside down or without end."""
    with pytest.raises(InputError, match="a share from 0 to 1, or a range"):
        Workload.read(f"lopez-mixed:memory={memory}")


def test_negative_seeds_are_refused() -> None:
    """In one line, as other impossible numbers, also in a spec."""
    for make in (lopez_mixed, npb):
        with pytest.raises(InputError, match="seed: expected a whole number, 0 or more"):
            make(seed=-1)
    with pytest.raises(InputError, match="seed: expected a whole number, 0 or more"):
        lopez_mixed(memory="-1..2", seed=-1)
    with pytest.raises(InputError, match="seed: expected a whole number, 0 or more"):
        Workload.read("npb:seed=-1")


def test_jobs_of_three_intensities(shared: Path) -> None:
    """Profiles are those of the author's inputs; intensities and widths are as likely as each other, gaps as long as said."""
    author = Workload.read(shared / "cases" / "pcbe" / "table-5.1-row-1" / "workload.json").jobs
    drawn = cruz(jobs=3000, seed=5).jobs
    columns = ["operations", "requested_time", "req_energy", "ipc", "memory", "mem_vol"]
    theirs, ours = (
        jobs.drop_duplicates("profile").set_index("profile")[columns].sort_index() for jobs in (author, drawn)
    )
    assert ours.equals(theirs)
    shares = drawn.groupby(["profile", "requested_cores"]).size() / 3000
    assert len(shares) == 6
    assert np.allclose(shares, 1 / 6, atol=0.03)  # 4.4 standard deviations
    assert drawn["submit_time"].diff().mean() == pytest.approx(0.25, abs=0.02)
    assert cruz(seed=7).jobs.equals(Workload.read("cruz:seed=7").jobs)
    assert not cruz(seed=7).jobs.equals(cruz(seed=8).jobs)
