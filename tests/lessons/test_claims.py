"""What lessons say in general, over random cases: no claim of "What to remember" that can be computed is only asserted."""

from __future__ import annotations

import math
from itertools import permutations
from random import Random

import pandas as pd
import pytest

from cluster_sim import Platform, PowerTransitions, Result, Simulation, Workload
from examples.shortest_remaining import ShortestRemaining
from schedulers import make_power_policy, make_scheduler

CORE = Platform.homogeneous(nodes=1, cores=1)
NODE = Platform.homogeneous(nodes=1, cores=4)


def workload(random: Random, jobs: int, cores: int = 1, within: int = 20) -> Workload:
    """Jobs with whole numbers, submitted within some seconds, that request their run times."""
    run = [random.randint(1, 12) for _ in range(jobs)]
    return Workload(
        {
            "submit_time": sorted(random.randint(0, within) for _ in range(jobs)),
            "requested_cores": [random.randint(1, cores) for _ in range(jobs)],
            "recorded_run_time": run,
            "requested_time": run,
        }
    )


def run(platform: Platform, jobs: Workload, scheduler: object) -> Result:
    """The run of a scheduler, by its spec or as an object."""
    made = make_scheduler(scheduler) if isinstance(scheduler, str) else scheduler
    return Simulation(platform, jobs, made).run(warn=False)


def mean_wait(platform: Platform, jobs: Workload, scheduler: object) -> float:
    """Mean wait, s."""
    return float(run(platform, jobs, scheduler).jobs["wait_time"].mean())


@pytest.mark.parametrize("seed", range(20))
def test_lesson_1_shortest_first_is_least_of_jobs_that_wait_together(seed: int) -> None:
    """No order of four jobs on one core has a lower mean wait, by brute force."""
    jobs = workload(Random(seed), 4, within=0)
    least = min(
        sum(sum(order[:place]) for place in range(4)) / 4 for order in permutations(jobs.jobs["recorded_run_time"])
    )
    assert mean_wait(CORE, jobs, "sjf") == pytest.approx(least)


@pytest.mark.parametrize("seed", range(40))
def test_lesson_2_a_promise_protects_the_job_that_has_it(seed: int) -> None:
    """Under EASY the job at the head starts no later than it was promised, since requests are exact or too long."""
    random = Random(seed)
    jobs = workload(random, 8, cores=4, within=6).jobs
    longer = Workload(jobs.assign(requested_time=[t * random.choice([1, 2, 3]) for t in jobs["recorded_run_time"]]))
    result = Simulation(NODE, longer, make_scheduler("easy"), explain=True).run(warn=False)
    promised = result.decisions[result.decisions["decision"] == "reserve"]
    starts = result.jobs.set_index("job_id")["start_time"]
    first = promised.groupby("job_id")["promised_time"].first()
    assert (starts[first.index] <= first).all()


def test_lesson_3_equal_requests_leave_backfilling_to_the_extra_cores() -> None:
    """All ask for 24 s: a job passes a head that leaves a core over, and none passes one that needs them all."""
    columns = {"submit_time": [0, 1, 2], "recorded_run_time": [10, 5, 5], "requested_time": [24, 24, 24]}
    for head, start in ((3, 2), (4, 15)):
        jobs = Workload(columns | {"requested_cores": [2, head, 1]})
        assert run(NODE, jobs, "easy").jobs["start_time"].tolist() == [0, 10, start]


@pytest.mark.parametrize("seed", range(20))
def test_lesson_3_a_scheduler_plans_with_what_users_ask_for(seed: int) -> None:
    """Jobs of the same requests start alike until the first of them ends, whatever they will run."""
    random = Random(seed)
    jobs = workload(random, 8, cores=4).jobs
    asked = jobs.assign(requested_time=60.0)
    longer = asked.assign(recorded_run_time=asked["recorded_run_time"] + [random.randint(0, 9) for _ in range(8)])
    runs: list[pd.DataFrame] = [run(NODE, Workload(each), "easy").jobs for each in (asked, longer)]
    ended = min(each["finish_time"].min() for each in runs)
    before = [each["start_time"].where(each["start_time"] < ended) for each in runs]
    pd.testing.assert_series_equal(*before)


@pytest.mark.parametrize("seed", range(20))
def test_lesson_7_a_pause_that_pays(seed: int) -> None:
    """A node that is switched off between two jobs needs less energy exactly if the pause is longer than cycle / idle power."""
    random = Random(seed)
    off_s, on_s, off_w, on_w = (
        random.randint(1, 60),
        random.randint(1, 120),
        random.randint(20, 300),
        random.randint(20, 300),
    )
    machine = Platform.homogeneous(
        nodes=1,
        cores=1,
        power={"static_w": 100.0, "dynamic_w": 50.0, "min_power": 1.0},
        transitions=PowerTransitions(switch_off_s=off_s, switch_off_w=off_w, switch_on_s=on_s, switch_on_w=on_w),
    )
    always = Simulation(machine, _two_jobs(1000), make_scheduler("fcfs")).run(warn=False)
    idle_w = float(always.summary()["energy_idle_j"]) / 1000
    threshold = (off_s * off_w + on_s * on_w) / idle_w
    for pause in (threshold * 0.9, threshold * 1.1):
        if pause > off_s:
            energies = [
                float(
                    Simulation(machine, _two_jobs(pause), make_scheduler("fcfs"), power)
                    .run(warn=False)
                    .summary()["energy_j"]
                )
                for power in (make_power_policy("always-on"), make_power_policy("timeout:0"))
            ]
            assert (energies[1] < energies[0]) == (pause > threshold)


def _two_jobs(pause: float) -> Workload:
    return Workload(
        {
            "submit_time": [0, 10 + pause],
            "requested_cores": [1, 1],
            "recorded_run_time": [10, 10],
            "requested_time": [10, 10],
        }
    )


@pytest.mark.parametrize("seed", range(15))
def test_lesson_11_shortest_remaining_time_has_the_least_mean_wait(seed: int) -> None:
    """On one core and at no cost no other scheduler waits less, and by time slots no schedule at all does."""
    jobs = workload(Random(seed), 5, within=12)
    least = mean_wait(CORE, jobs, ShortestRemaining())
    for spec in ("fcfs", "sjf", "ljf", "easy:order=wfp", "conservative"):
        assert least <= mean_wait(CORE, jobs, spec) + 1e-9
    assert least == pytest.approx(_least_by_slots(jobs.jobs))


def _least_by_slots(jobs: pd.DataFrame) -> float:
    """The least mean wait of any preemptive schedule of whole seconds, by looking at all of them."""
    submit, lengths = jobs["submit_time"].astype(int).tolist(), jobs["recorded_run_time"].astype(int).tolist()
    states = {(0, *lengths): 0}  # time and what is left: the least sum of finishes so far
    done = []
    while states:
        following: dict[tuple[int, ...], int] = {}
        for (time, *left), total in states.items():
            if not any(left):
                done.append(total)
                continue
            ready = [job for job, rest in enumerate(left) if rest and submit[job] <= time]
            for job in ready or [None]:
                after, finished = list(left), 0
                if job is not None:
                    after[job] -= 1
                    finished = (time + 1) * (after[job] == 0)
                key = (time + 1, *after)
                following[key] = min(following.get(key, total + finished), total + finished)
        states = following
    return (min(done) - sum(submit) - sum(lengths)) / len(lengths)


@pytest.mark.parametrize("seed", range(20))
def test_lesson_12_an_interval_that_is_too_short_costs_more(seed: int) -> None:
    """δ / τ + τ / (2 M) is least at √(2 δ M), and some seconds less cost more than as many seconds more."""
    random = Random(seed)
    checkpoint, mtbf = random.uniform(1, 600), random.uniform(3600, 1e6)
    best = math.sqrt(2 * checkpoint * mtbf)
    away = random.uniform(0.05, 0.9) * best

    def share(interval: float) -> float:
        return checkpoint / interval + interval / (2 * mtbf)

    assert share(best) < share(best + away) < share(best - away)
