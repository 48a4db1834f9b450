"""Random cases whose times are whole milliseconds, to be run in several units of time: the schedule has to be the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from cluster_sim import Platform, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.platform import PowerTransitions

SCHEDULERS = (
    "fcfs",
    "list:first/first,blocking=no",
    "list:shortest/first",
    "easy",
    "easy:reservation=pinned",
    "easy:depth=3",
    "easy:backfill=sjf",
    "conservative",
    "conservative:reservation=pinned",
    "conservative:replan=yes",
)
CONTENTION = {"b": -1.85e-5, "c": 100.0, "da": 1.0, "db": 100.0, "dc": 2500.0, "dd": 10.0}


@dataclass(frozen=True)
class TimedCase:
    """A run of which every time is a number of milliseconds."""

    scheduler: str
    nodes: int
    cores: int
    jobs: dict[str, list[Any]]  #: Times in ms, ``mem_vol`` in MB per ms of the run time.
    timeout: int | None = None  #: After how many ms an idle node is switched off; None: never.
    boots: tuple[int, int] = (0, 0)  #: How long a node takes to be on and to be OFF, ms.
    settings: dict[str, Any] = field(default_factory=dict)

    def schedule(self, factor: int) -> list[tuple[float, str, str, str]]:
        """What is started, in order: (when, which job, where, how it ended), where all times are ``factor`` times as long.

        When is told in seconds of the case as it is.
        """

        def seconds(milliseconds: int) -> float:
            return milliseconds * factor / 1000

        columns = dict(self.jobs)
        for name in ("submit_time", "recorded_run_time", "requested_time"):
            columns[name] = [seconds(milliseconds) for milliseconds in self.jobs[name]]
        columns["mem_vol"] = [
            rate * seconds(run) for rate, run in zip(self.jobs["mem_vol"], self.jobs["recorded_run_time"], strict=True)
        ]
        transitions = PowerTransitions(switch_on_s=seconds(self.boots[0]), switch_off_s=seconds(self.boots[1]))
        platform = Platform.homogeneous(self.nodes, self.cores, contention=CONTENTION, transitions=transitions)
        power = None if self.timeout is None else make_power_policy(f"timeout:{seconds(self.timeout)!r}")
        run = Simulation(platform, Workload(columns), make_scheduler(self.scheduler), power, **self.settings)
        result = run.run()
        where = result.jobs_with_allocation().set_index("job_id")["allocation"]
        attempts = result.attempts[["start_time", "job_id", "outcome"]].itertuples(index=False)
        return [
            (start / factor, job, " ".join(sorted(where[job].split(";"))), outcome) for start, job, outcome in attempts
        ]


def draw(random: Random, scheduler: str | None = None) -> TimedCase:
    """A case in which instants coincide: few different times, from the first second or from up to 10⁶ s on."""
    nodes, cores = random.randint(1, 4), random.choice([1, 1, 2, 4])
    step = random.choice([1, 7, 10, 50, 100, 100, 100, 1000, 3600, 10**7])
    begin = random.choice([0, 0, random.randint(1, 10**4), random.randint(1, 10**8), random.randint(1, 9 * 10**8)])
    count = random.choice([5, 8, 8, 15, 15, 40])
    most = min(random.choice([3, 10]), 10**8 // (step * count) + 2)
    runs = [step * random.randint(1, most) for _ in range(count)]
    rates = [0] * count
    if random.random() < 0.4:
        rates = [random.choice([0, 40, 60, 200]) for _ in range(count)]
    # A job that outlives its request is given more time in steps of so many seconds, whatever the unit.
    enforced = any(rates) or random.random() < 0.3
    requested = [
        run if random.random() < 0.4 else step * random.randint(1 if enforced else run // step, 2 * most)
        for run in runs
    ]
    return TimedCase(
        scheduler or random.choice(SCHEDULERS),
        nodes,
        cores,
        {
            "job_id": [f"j{i}" for i in range(count)],
            "submit_time": sorted(begin + step * random.randint(0, count // 2) for _ in range(count)),
            "requested_cores": [
                random.randint(1, nodes * cores if random.random() < 0.4 else cores) for _ in range(count)
            ],
            "recorded_run_time": runs,
            "requested_time": requested,
            "mem_vol": rates,
        },
        None if random.random() < 0.6 else step * random.randint(0, 3),
        (step * random.randint(0, 3), step * random.randint(0, 3)),
        {"enforce_walltime": True} if enforced else {},
    )
