"""Are promises kept? Random runs of the backfilling schedulers, judged by their own logs of decisions.

``python -m benchmarks.promises --runs 10000``: platforms whose nodes are off at first, boot, fail, are repaired, withheld
and switched from outside; jobs that end early or late, are requeued, in parts, make checkpoints or (``--resizing``)
give back cores; every power policy. A promise may be put off only where the log says why, and where the tables of the run show
that it was so; and no attempt of a job starts after what it was promised last.
"""

from __future__ import annotations

import math
import random
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import click

from cluster_sim import AdvanceReservation, Platform, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.engine import latest
from cluster_sim.errors import InputError, ModelWarning, NodeStateError
from cluster_sim.machine.node import NodeState
from cluster_sim.machine.reason import Loss
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
from cluster_sim.records import Result
from schedulers.backfilling.timeline import EXTENSIONS_S

INF = math.inf
ORDERS = ("first", "first", "first", "sjf", "smallest", "longest", "saf", "wfp", "random")
POLICIES = (
    *(None, None, "always-on", "timeout:0", "timeout:0", "timeout:2", "keep-ready:1"),
    *("random:period=3", "inertial:period=4", "off-reservation:0.5", "power-cap"),
)
WITHHOLDING = ("random", "inertial", "off-reservation")
ORDERS_FROM_OUTSIDE = ("fail", "fail", "repair", "repair", "switch_off", "switch_on", "kill")


@dataclass(frozen=True)
class Case:
    """One run to be made, written down so that it can be made again."""

    platform: Platform
    jobs: dict[str, list[Any]]
    scheduler: str
    power: str | None = None
    reservations: tuple[AdvanceReservation, ...] = ()
    disturbances: tuple[tuple[float, str, int], ...] = ()  #: (s, what, which node or job)
    options: dict[str, Any] = field(default_factory=dict)

    def run(self) -> Simulation:
        """Make it, with a process beside it that breaks, repairs and switches nodes, and in the end repairs them all."""
        policy = make_power_policy(self.power) if self.power else None
        simulation = Simulation(
            self.platform,
            Workload(self.jobs),
            make_scheduler(self.scheduler),
            policy,
            explain=True,
            reservations=self.reservations,
            **self.options,
        )
        simulation.env.process(self._disturb(simulation))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # jobs that are left are looked for in the result
            simulation.run()
        return simulation

    def _disturb(self, simulation: Simulation) -> Generator[Any, Any, None]:
        for when, what, number in self.disturbances:
            if when > simulation.env.now:
                yield simulation.env.timeout(when - simulation.env.now)
            try:
                if what == "requeue":
                    simulation.requeue(str(number % len(simulation.workload)))
                elif what == "kill":
                    simulation.kill(str(number % len(simulation.workload)), "because")
                else:
                    getattr(simulation.node(number % self.platform.node_count), what)()
            except (NodeStateError, InputError):
                pass  # what its state does not allow is refused
        if self.disturbances:
            yield simulation.env.timeout(20.0)
        for node in simulation.nodes():
            if node.state is NodeState.FAILED:
                node.repair()


# ---------------------------------------------------------------------- random cases


def random_case(rng: random.Random, resizing: bool = False) -> Case:
    """A small case on few values, so that many things happen in one instant; ``resizing``: some jobs change their cores."""
    platform = _platform(rng)
    reservations = _reservations(rng, platform) if rng.random() < 0.2 else ()
    jobs = _jobs(rng, platform, [window.name for window in reservations])
    count = rng.choice([0, 0, 2, 5])
    times = sorted(rng.choice([0.0, 1.0, 2.5, 4.0, 6.0, 9.0, 13.0]) for _ in range(count))
    changing = rng.random() < 0.5
    orders = ("requeue", *ORDERS_FROM_OUTSIDE) if changing else ORDERS_FROM_OUTSIDE
    disturbances = tuple((when, rng.choice(orders), rng.randrange(20)) for when in times)
    power = rng.choice(POLICIES)
    if power == "power-cap":
        idle, busy = (sum(f(t) for t in _types(platform)) for f in (_idle_w, _busy_w))
        power = f"power-cap:{idle + (busy - idle) * rng.choice([0.4, 0.7]) + 1.0:g}"
    options: dict[str, Any] = {"seed": rng.randrange(3), "enforce_walltime": rng.random() < 0.2}
    if changing:
        count = len(jobs["job_id"])
        jobs["checkpoint_interval"] = [rng.choice(["", "", "2", "4.5"]) for _ in range(count)]
        jobs["checkpoint_time"] = [rng.choice([0.0, 0.5]) for _ in range(count)]
        jobs["restart_time"] = [rng.choice([0.0, 1.0]) for _ in range(count)]
        jobs["parts"] = [rng.choice(["", "", "3"]) for _ in range(count)]
        if rng.random() < 0.4:
            options["failures"] = "exponential:mtbf=60,repair=3,limit=3"
    if changing and resizing:
        count = len(jobs["job_id"])
        jobs["parts"] = [rng.choice(["", "3", "1 2@1 1@4"]) for _ in range(count)]
        jobs["min_cores"] = [rng.randint(1, cores) for cores in jobs["requested_cores"]]
        jobs["max_cores"] = [cores + rng.randint(0, 2) for cores in jobs["requested_cores"]]
        jobs["malleable"] = [rng.choice([False, True]) for _ in range(count)]
        jobs["speedup"] = [rng.choice(["linear", "amdahl:0.2"]) for _ in range(count)]
        jobs["reconfiguration_time"] = [rng.choice([0.0, 0.25]) for _ in range(count)]
    scheduler = _scheduler(rng)
    if "depth=1" in scheduler and "memory=no" in scheduler and not reservations and rng.random() < 0.5:
        scheduler += f",trials={rng.choice([1, 1, 2, 9])},trial_for={rng.choice([0, 2, 120])}"
    return Case(platform, jobs, scheduler, power, reservations, disturbances, options)


def _types(platform: Platform) -> list[NodeType]:
    return [platform.node_types[number] for number in platform.type_of_node]


def _idle_w(node: NodeType) -> float:
    return sum(p.power["static_w"] * p.power["min_power"] for p in node.processors)


def _busy_w(node: NodeType) -> float:
    return sum(p.power["static_w"] + p.cores * p.power["dynamic_w"] for p in node.processors)


def _platform(rng: random.Random) -> Platform:
    flat = rng.random() < 0.4
    groups = []
    for number in range(1 if flat else rng.randint(1, 3)):
        watts = {"static_w": 40.0, "dynamic_w": 10.0, "min_power": 0.5}
        processor = ProcessorType(f"p{number}", 1 if flat else rng.randint(1, 4), 1.0, power=watts)
        random_boots = rng.random() < 0.15
        switching = PowerTransitions(
            switch_on_s=0.0 if random_boots else rng.choice([0.0, 1.0, 3.0, 10.0]),
            switch_off_s=rng.choice([0.0, 1.0, 5.0]),
            switch_on_distribution="uniform:1,5" if random_boots else "",
        )
        node = NodeType(
            f"n{number}",
            (processor,),
            rng.choice([None, 1.0, 2.0]),
            switching,
            initially_off=rng.random() < 0.4,
            tags=frozenset(rng.choice([(), (), ("gpu",)])),
        )
        groups.append(NodeGroup(node, rng.randint(1, 6) if flat else rng.randint(1, 3)))
    return Platform((Cluster("c", tuple(groups)),))


def _reservations(rng: random.Random, platform: Platform) -> tuple[AdvanceReservation, ...]:
    start = rng.choice([0.0, 4.0, 10.0])
    first = rng.randrange(platform.node_count)
    return (AdvanceReservation("r", start, start + rng.choice([5.0, 20.0]), range(first, platform.node_count)),)


def _jobs(rng: random.Random, platform: Platform, windows: list[str]) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {}
    now, plain, random_requests = 0.0, rng.random() < 0.5, rng.random() < 0.5
    for number in range(rng.randint(1, 14)):
        now += rng.choice([0, 0, 1, 2, 5])
        run = float(rng.choice([1, 2, 3, 5, 8, 20, 100]))  # that one outlives the first extension
        requested = run * rng.choice([1.0, 1.0, 1.5, 3.0])
        if random_requests:
            requested = rng.choice([requested, requested, run / 2.0, INF, 0.0])
        widest = rng.choice([platform.widest_node, platform.core_count])
        row = {
            "job_id": str(number),
            "submit_time": now,
            "requested_cores": rng.randint(1, widest),
            "requested_time": requested,
            "recorded_run_time": run,
            "memory": 0.0 if plain else rng.choice([0.0, 0.0, 300.0, 1024.0 / 3.0, 700.0]),
            "exclusive": not plain and rng.random() < 0.1,
            "requires": "" if plain else rng.choice(["", "", "", "", "gpu"]),
            "nodes": 0 if plain else rng.choice([0, 0, 0, 0, 1, 2]),
            "reservation": rng.choice(["", "", *windows]),
            "after": str(rng.randrange(number)) if number and not plain and rng.random() < 0.1 else "",
        }
        for name, value in row.items():
            rows.setdefault(name, []).append(value)
    return rows


def _scheduler(rng: random.Random) -> str:
    options = {"order": rng.choice(ORDERS), "nodes": rng.choice(["first", "first", "low_cores", "random"])}
    options["reservation"] = rng.choice(["counted", "counted", "pinned"])
    options["memory"] = rng.choice(["no", "no", "yes"])
    name = rng.choice(["easy", "easy", "conservative", "conservative"])
    if name == "easy":
        options["depth"] = rng.choice(["1", "1", "1", "0", "2", "3", "all"])
        if options["depth"] != "all":
            options["backfill"] = rng.choice(["", "", "saf", "random"])
            options["aging"] = rng.choice(["", "", "", "", "5"])
    else:
        options["replan"] = rng.choice(["no", "no", "no", "yes"])
    return f"{name}:{','.join(f'{key}={value}' for key, value in options.items() if value)}"


# ---------------------------------------------------------------------- judging a run


@dataclass
class Verdict:
    """What was found in one run."""

    promises: int = 0  #: Rows of promises that were looked at.
    later: int = 0  #: Of these, moves to later.
    unsteady: int = 0  #: Of all, those made in a run in which nodes were OFF or failed.
    causes: Counter[Loss] = field(default_factory=Counter)  #: What the log says of these.
    broken: list[str] = field(default_factory=list)  #: What is wrong, in words.


def judge(case: Case, simulation: Simulation) -> Verdict:
    """Every promise of a run that is over, in turn."""
    verdict, result = Verdict(), simulation.result()
    jobs = result.jobs.set_index("job_id")
    attempts = dict(iter(result.attempts.groupby("job_id")))
    told: dict[tuple[str, int], tuple[float, float]] = {}  # job and attempt: (promised, when it was)
    withdrawn = _withdrawals(result)
    begun: Counter[str] = Counter()  # attempts of each job so far; one may end as it begins, so times do not tell
    for row, reason in zip(result.decisions.itertuples(), result.decision_reasons, strict=True):
        begun[row.job_id] += row.decision == "start"
        if row.decision != "reserve":
            continue
        verdict.promises += 1
        number = begun[row.job_id] - (Loss.LATE_BOOT in reason.losses)  # that is told as the attempt begins
        mine, key = attempts.get(row.job_id), (row.job_id, number)
        promised, since = told.get(key, (INF, row.time))
        rejoined = mine is not None and number < len(mine) and since < mine["queue_time"].iloc[number]
        if rejoined or any(since <= when <= min(row.time, latest(promised)) for when in withdrawn[row.job_id]):
            promised, since = INF, row.time  # it was withdrawn while it waited, and has joined the queue again
        if row.promised_time > latest(promised):
            verdict.later += 1
            causes = reason.losses
            verdict.causes.update(causes)
            wrong = [cause for cause in causes if not _happened(cause, case, simulation, row, since)]
            if wrong or not causes:
                why = (
                    f"because {' and '.join(cause.value for cause in wrong)}, which is not so"
                    if wrong
                    else "for no reason"
                )
                verdict.broken.append(
                    f"at {row.time:g} job {row.job_id}: {promised:g} moved to {row.promised_time:g} {why}"
                )
        told[key] = row.promised_time, row.time
    states = {state for _, _, state, _ in simulation.view.machine.state_changes}
    verdict.unsteady = verdict.promises if states & {NodeState.OFF, NodeState.FAILED} else 0
    for (job_id, number), (promised, since) in told.items():
        mine = attempts.get(job_id)
        start = math.nan if mine is None or number >= len(mine) else mine["start_time"].iloc[number]
        if any(since <= when <= min(start, latest(promised)) for when in withdrawn[job_id]):
            continue  # it has joined the queue again, and started before it was promised anything
        if start > promised + 1e-9 * max(1.0, abs(promised)):
            verdict.broken.append(f"job {job_id} was promised {promised:g} and started at {start:g}")
    verdict.broken += [f"job {job_id} waits for ever" for job_id in jobs.index[jobs["state"] == "unfinished"]]
    return verdict


def _withdrawals(result: Result) -> dict[str, list[float]]:
    """Return when each job was killed in the queue that came back later, s: no promise outlives that."""
    ids, found = result.jobs["job_id"].tolist(), defaultdict[str, list[float]](list)
    for absence in () if result.conditions is None else result.conditions.absences:
        found[ids[absence.job]].append(absence.since)
    return found


def _happened(cause: Loss, case: Case, simulation: Simulation, row: Any, since: float) -> bool:
    """Whether the records show the cause of a move, between the promise and the move."""
    states = {Loss.FAILED: NodeState.FAILED, Loss.SWITCHED_OFF: NodeState.SWITCHING_OFF}
    if cause in states:
        changes = simulation.view.machine.state_changes
        return any(since <= when <= row.time and state is states[cause] for when, _, state, _ in changes)
    jobs = simulation.result().jobs
    if cause == Loss.SWITCHED_ON:  # by the policy, or from outside; an order to a node that shuts down leaves no record
        return bool(case.power or case.disturbances or "failures" in case.options)  # a node that is repaired boots
    if cause in (Loss.LATE_NODE, Loss.LATE_BOOT):
        return any(kind.transitions.switch_on_distribution for kind in case.platform.node_types)
    if cause == Loss.LATE_JOB:
        asked = jobs["requested_time"].where(jobs["requested_time"] > 0.0, EXTENSIONS_S[0])
        lasted = jobs["finish_time"].fillna(INF).clip(upper=row.time) - jobs["allocation_time"]
        return bool(((lasted >= asked - 1e-9 * row.time) & ~(jobs["finish_time"] < since)).any())
    if cause == Loss.CHANGED:
        pieces = simulation.result().spells.values()
        starts = [piece.start for own in pieces for piece in own[1:]]
        return any(since <= start <= row.time for start in starts)
    if cause == Loss.WITHHELD:
        return str(case.power).startswith(WITHHOLDING)
    if cause == Loss.CAPPED:
        return str(case.power).startswith("power-cap")
    return cause == Loss.GOES_FIRST and not _stays_first(case, simulation.result(), row)


def _stays_first(case: Case, result: Result, row: Any) -> bool:
    """Whether no job can go before this one: under conservative, or at the head of a queue in order of submission."""
    if case.scheduler.startswith("conservative") or "depth=all" in case.scheduler:
        return True
    if "order=first" not in case.scheduler or "aging" in case.scheduler:
        return False
    jobs, attempts = result.jobs, result.attempts
    again = attempts[(attempts["queue_time"] <= row.time) & ~(attempts["allocation_time"] < row.time)]["job_id"]
    before = jobs["submit_time"] < jobs.set_index("job_id").loc[row.job_id, "submit_time"]
    waiting = (jobs["eligible_time"] <= row.time) & ~(jobs["allocation_time"] < row.time) | jobs["job_id"].isin(again)
    withdrawn = jobs["allocation_time"].isna() & (jobs["finish_time"] < row.time)
    at_once = jobs["submit_time"] == jobs.set_index("job_id").loc[row.job_id, "submit_time"]
    earlier = before | (at_once & (jobs.index < jobs.index[jobs["job_id"] == row.job_id][0]))
    return not (earlier & waiting & ~withdrawn).any()


# ---------------------------------------------------------------------- the command


@click.command()
@click.option("--runs", type=click.IntRange(1), default=1000, show_default=True, help="Random runs to judge.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the first run; each has the next.")
@click.option("--seconds", type=float, default=INF, help="Stop after that long, s.")
@click.option("--resizing", is_flag=True, help="With malleable jobs, which give back cores between parts.")
def main(runs: int, seed: int, seconds: float, resizing: bool) -> None:
    """Judge random runs; print what was found, and exit with 1 if a promise was broken."""
    total, made, begun = Verdict(), 0, time.monotonic()
    for number in range(seed, seed + runs):
        if time.monotonic() - begun > seconds:
            break
        case = random_case(random.Random(number), resizing)
        try:
            verdict = judge(case, case.run())
        except Exception as error:
            verdict = Verdict(broken=[f"{type(error).__name__}: {error}"])
        made += 1
        total.promises += verdict.promises
        total.later += verdict.later
        total.unsteady += verdict.unsteady
        total.causes += verdict.causes
        for words in verdict.broken:
            click.echo(f"seed {number}, {case.scheduler}, {case.power}: {words}")
        total.broken += verdict.broken
    where = f"{total.unsteady:,} of them where nodes were off or failed"
    click.echo(f"{made:,} runs, {total.promises:,} promises, {where}")
    click.echo(f"{total.later:,} moved to later, {len(total.broken)} broken")
    for cause, count in total.causes.most_common():
        click.echo(f"  {count:,} because {cause.value}")
    raise SystemExit(1 if total.broken else 0)


if __name__ == "__main__":
    main()
