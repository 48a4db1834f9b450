"""One instant, one batch, one scheduling pass; and what listeners get told."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from simpy.events import NORMAL

from cluster_sim import InputError, Job, Placement, Platform, Simulation, Start, View
from cluster_sim.engine import RESERVE, WALLTIME, Environment
from cluster_sim.errors import SimulationError, StallError
from cluster_sim.run import passes as passes_module
from cluster_sim.run.decisions import Decision, Hold, LimitPower, PowerDecision, SwitchOff, WakeAt, Withhold
from cluster_sim.run.notices import NOTICES, Batch
from schedulers import Fcfs, ListScheduler, PowerPolicy, Scheduler

from .conftest import At, Log, Story, jobs, machine


class Watched(Fcfs):
    """FCFS that writes its passes down: (time, jobs submitted since the last, jobs running)."""

    def __init__(self, log: Log):
        super().__init__()
        self.log = log

    def schedule(self, view: View) -> Iterable[Decision]:
        """One pass, noted."""
        submitted, running = [j.job_id for j in view.submitted], [r.job.job_id for r in view.running]
        self.log.append((view.now, submitted, running))
        return super().schedule(view)


class EveryPass(Fcfs):
    """FCFS with a pass in every instant, since it has a method of its own."""

    def schedule(self, view: View) -> Iterable[Decision]:
        """One pass."""
        return super().schedule(view)


def ids(noticed: Iterable[Job]) -> list[str]:
    """Ids of jobs."""
    return [job.job_id for job in noticed]


def times_of_passes(simulation: Simulation) -> list[float]:
    """Return a list that gets the time of every pass of the run, s."""
    passes: list[float] = []
    over = simulation.passes.pass_is_over

    def note() -> None:
        passes.append(simulation.env.now)
        over()

    simulation.passes.pass_is_over = note  # type: ignore[method-assign]
    return passes


def test_a_finish_and_an_arrival_at_one_time_are_one_pass(log: Log) -> None:
    """At 5 s job 0 ends, and job 1 comes: the scheduler looks once, and sees both."""
    result = Simulation(machine(), jobs((0, 2, 5), (5, 2, 5)), Watched(log)).run()
    assert log == [(0.0, ["0"], []), (5.0, ["1"], []), (10.0, [], [])]
    assert result.jobs["start_time"].tolist() == [0.0, 5.0]


def test_a_job_that_blocks_the_queue_is_not_looked_at_before_it_can_start() -> None:
    """What comes behind it at 2 s, and the core that is free at 3 s, bring no pass; the second core at 9 s does."""
    simulation = Simulation(machine(), jobs((0, 1, 3), (0, 1, 9), (1, 2, 1), (2, 1, 1)), Fcfs())
    passes = times_of_passes(simulation)
    starts = simulation.run().jobs["start_time"]
    assert (passes, starts.tolist()) == ([0.0, 1.0, 9.0, 10.0, 11.0], [0.0, 0.0, 9.0, 10.0])


def test_a_job_that_no_single_node_holds_is_not_looked_at_again_for_arrivals() -> None:
    """From 4 s on each node has one free core, and job 3 asks for two of one node: job 4, behind it, brings no pass."""
    simulation = Simulation(machine(2, 2), jobs((0, 1, 9), (0, 1, 4), (0, 1, 9), (5, 2, 1), (6, 1, 1)), Fcfs())
    passes = times_of_passes(simulation)
    starts = simulation.run().jobs["start_time"]
    assert (passes, starts.tolist()) == ([0.0, 4.0, 5.0, 9.0, 10.0], [0.0, 0.0, 0.0, 9.0, 9.0])


@pytest.mark.parametrize("seed", range(60))
def test_passes_that_are_spared_would_have_started_nothing(seed: int) -> None:
    """With a pass in every instant the schedule is the same, also where jobs are killed, wait again, or come late."""
    rng, cores = random.Random(seed), 1 if seed < 30 else 3
    rows = sorted((rng.randint(0, 90), rng.randint(1, 4 * cores), rng.randint(1, 9)) for _ in range(30))
    acts = [
        (rng.uniform(0, 60), rng.choice(("kill", "requeue", "submit", "fail")), rng.randrange(30)) for _ in range(12)
    ]

    def disturb(simulation: Any) -> Story:
        env = simulation.env
        for time, act, job in sorted(acts):
            yield env.timeout(max(time - env.now, 0.0))
            if act == "submit":
                simulation.submit({"requested_cores": 1 + job % 4, "recorded_run_time": 2.0})
            elif act == "fail" and simulation.node(job % 4).is_ready:
                simulation.node(job % 4).fail()
                yield env.timeout(1.0)
                simulation.node(job % 4).repair()
            elif act == "kill" and simulation.view.pending:
                simulation.kill(simulation.view.pending[0])
            elif act == "requeue" and simulation.view.running:
                simulation.requeue(simulation.view.running[0].job)

    power = (None, "timeout:0", "timeout:6")[seed % 3]
    results = [
        Simulation(machine(4, cores), jobs(*rows), scheduler, power, processes=[disturb]).run(warn=False)
        for scheduler in (Fcfs(), EveryPass())
    ]
    for table in ("attempts", "holds", "power", "node_states"):
        assert getattr(results[0], table).equals(getattr(results[1], table)), table


def test_many_arrivals_at_one_time_are_one_pass(log: Log) -> None:
    """Jobs submitted together are seen together, in the order of the workload."""
    Simulation(machine(), jobs((1, 1, 2), (1, 1, 2), (1, 1, 2)), Watched(log)).run()
    assert log[0] == (1.0, ["0", "1", "2"], [])
    assert [entry[0] for entry in log] == [1.0, 3.0, 5.0]


def test_chains_without_delay_are_over_before_the_pass(log: Log) -> None:
    """A user's process that takes three steps of no time, then kills, still belongs to the instant in which it began."""
    simulation = Simulation(machine(), jobs((0, 2, 9), (5, 2, 1)), Watched(log))

    def story() -> Story:
        yield simulation.env.timeout(5)
        for _ in range(3):
            yield simulation.env.timeout(0)
        simulation.kill("0")

    simulation.env.process(story())
    result = simulation.run()
    assert log == [(0.0, ["0"], []), (5.0, ["1"], []), (6.0, [], [])]
    assert result.jobs["start_time"].tolist() == [0.0, 5.0]


def test_times_that_differ_by_rounding_are_one_instant(log: Log) -> None:
    """0.1 + 0.2 is more than 0.3 in floating point: the job that ends and the one that comes are one pass, at the later."""
    Simulation(machine(), jobs((0.1, 2, 0.2), (0.3, 2, 1)), Watched(log)).run()
    assert log == [(0.1, ["0"], []), (0.1 + 0.2, ["1"], []), (0.1 + 0.2 + 1, [], [])]


def test_times_that_differ_by_more_are_two_instants(log: Log) -> None:
    """A picosecond between an end and an arrival, a few thousand times what rounding makes of such times, is kept."""
    Simulation(machine(), jobs((0.0, 2, 0.3), (0.3 + 1e-12, 2, 1)), Watched(log)).run()
    assert [entry[0] for entry in log] == [0.0, 0.3, 0.3 + 1e-12, 0.3 + 1e-12 + 1]


@pytest.mark.parametrize("factor", [1, 10, 60, 1000])
def test_a_schedule_does_not_depend_on_the_unit_of_time(factor: int) -> None:
    """Jobs of 0.1 + 0.2 and 0.3 time units end together, and the wide job gets both nodes, in whatever unit that is told."""
    times = [(0, 1, 100), (0, 1, 300), (0, 1, 200), (50, 2, 1000), (60, 1, 1000)]
    workload = jobs(*((submit * factor / 1000, cores, run * factor / 1000) for submit, cores, run in times))
    scheduler = ListScheduler(blocking=False)
    result = Simulation(Platform.homogeneous(2, 1), workload, scheduler).run(until=1.25 * factor)
    starts = result.jobs["start_time"] / factor
    assert starts.tolist() == pytest.approx([0.0, 0.0, 0.1, 0.3, math.nan], nan_ok=True)


def test_nothing_happens_before_its_time() -> None:
    """Events of one instant happen at the last of their times, by phase and then in the order in which they were planned."""
    env, happened = Environment(), []
    for time, priority in ((0.3, WALLTIME), (0.1 + 0.2, NORMAL), (0.3, NORMAL), (0.4, NORMAL)):
        event = env.at(time, priority, (time, priority))
        event.callbacks.append(lambda event: happened.append((env.now, event.value)))
    env.run()
    joined = [(0.1 + 0.2, NORMAL), (0.3, NORMAL), (0.3, WALLTIME)]
    assert happened == [*((0.1 + 0.2, value) for value in joined), (0.4, (0.4, NORMAL))]


def test_a_plan_that_has_been_superseded_moves_no_instant() -> None:
    """An event that nothing waits for any more does not put others off to its time."""
    env, happened = Environment(), []
    env.at(0.1 + 0.2)
    env.at(0.3).callbacks.append(lambda event: happened.append(env.now))
    env.run(until=1)
    assert happened == [0.3]


def test_a_policy_that_asks_to_be_woken_finds_its_time_come(log: Log) -> None:
    """It is woken no earlier than it asked, also where that time joins another, so that comparing with now is enough."""

    class Wakes(Watched):
        def schedule(self, view: View) -> Iterable[Decision]:
            yield from super().schedule(view)
            if view.now < 0.1 + 0.2:
                yield WakeAt(0.1 + 0.2)

    Simulation(machine(), jobs((0.0, 2, 0.3)), Wakes(log)).run()
    assert [entry[0] for entry in log] == [0.0, 0.1 + 0.2]


def test_a_job_of_no_length_ends_in_the_instant_of_its_start(log: Log) -> None:
    """Its end is a new event of the same time, so the scheduler gets a second look there."""
    result = Simulation(machine(), jobs((2, 2, 0), (2, 2, 0), (2, 2, 1)), Watched(log)).run()
    assert [entry[0] for entry in log] == [2.0, 2.0, 2.0, 3.0]
    assert result.jobs["finish_time"].tolist() == [2.0, 2.0, 3.0]


def test_power_policies_frame_the_scheduler(log: Log) -> None:
    """In each instant: the policy reserves, the scheduler decides, the policy reacts; once each."""

    class Policy(PowerPolicy):
        def reserve(self, view: View) -> Iterable[PowerDecision]:
            log.append((view.now, "reserve", view.pending_count))
            return ()

        def react(self, view: View) -> Iterable[PowerDecision]:
            log.append((view.now, "react", view.pending_count))
            return ()

    Simulation(machine(), jobs((1, 2, 5), (6, 1, 1)), Watched(log), Policy()).run()
    assert log[:2] == [(0.0, "reserve", 0), (0.0, "react", 0)]
    assert log[2:8] == [
        (1.0, "reserve", 1),
        (1.0, ["0"], []),
        (1.0, "react", 0),
        (6.0, "reserve", 1),
        (6.0, ["1"], []),
        (6.0, "react", 0),
    ]


class Own:
    """A power policy that derives from nothing: its process waits for its turns itself."""

    clairvoyant = False

    def __init__(self, log: Log):
        self.log = log

    def begin(self, view: View) -> None:
        """Nothing to forget."""

    def attend(self, simulation: Simulation) -> Story:
        """Writes every turn down, and switches a node off before the scheduler's pass at 1 s."""
        while True:
            turn = yield simulation.power_turn_due()
            self.log.append((simulation.env.now, "before" if turn == RESERVE else "after"))
            if turn == RESERVE and simulation.env.now == 1.0:
                simulation.apply(SwitchOff(0))


def test_a_power_policy_is_a_process_like_a_scheduler(log: Log) -> None:
    """One written as a bare SimPy process has its turns before and after the pass, and decides by the same call."""
    result = Simulation(machine(nodes=2), jobs((1, 2, 5)), Watched(log), Own(log)).run(until=2)
    assert log == [(0.0, "before"), (0.0, "after"), (1.0, "before"), (1.0, ["0"], []), (1.0, "after")]
    assert result.allocations["node"].tolist() == ["cluster0.node1"]


class Decides(PowerPolicy):
    """A power policy that makes one decision about the first job that waits, in one of its turns."""

    def __init__(self, turn: str, decide: Callable[[Job], Any]):
        self._turn, self._decide = turn, decide

    def reserve(self, view: View) -> Iterable[Any]:
        """Before the scheduler's pass."""
        return self._of("reserve", view)

    def react(self, view: View) -> Iterable[Any]:
        """After it."""
        return self._of("react", view)

    def _of(self, turn: str, view: View) -> Iterable[Any]:
        return [self._decide(view.pending[0])] if view.pending and turn == self._turn else ()


@pytest.mark.parametrize("turn", ["reserve", "react"])
@pytest.mark.parametrize("decide", [lambda job: Start(job, Placement.on({0: 2})), lambda job: Hold(job, "it is late")])
def test_a_power_policy_decides_nothing_of_the_schedulers(turn: str, decide: Callable[[Job], Any]) -> None:
    """A job that it starts or holds is refused in either turn, and the error says whose decision that is."""
    simulation = Simulation(machine(), jobs((0, 2, 5), (0, 2, 5)), Fcfs(), Decides(turn, decide))
    with pytest.raises(SimulationError, match=r"a power policy decides SwitchOn, .* not .*, which a scheduler decides"):
        simulation.run()


@pytest.mark.parametrize("decision", [SwitchOff(0), LimitPower(100.0)])
def test_a_scheduler_decides_nothing_of_a_power_policys(decision: PowerDecision) -> None:
    """It switches no node and limits no power, beside a power policy or without one, nor does a program outside."""

    class Switches(Scheduler):
        def schedule(self, view: View) -> Iterable[Any]:
            return [decision]

    words = r"a scheduler decides Start, .* not .*, which a power policy decides"
    for power in (None, PowerPolicy()):
        with pytest.raises(SimulationError, match=words):
            Simulation(machine(), jobs((0, 2, 5)), Switches(), power).run()
    simulation = Simulation(machine(), jobs((0, 2, 5)))
    simulation.step_to_decision()
    with pytest.raises(SimulationError, match=words):
        simulation.apply(decision)


def test_a_policy_that_returns_nothing_is_told() -> None:
    """A forgotten yield is named by class and method, for power policies as for schedulers."""

    class Forgets(PowerPolicy):
        def react(self, view: View) -> Iterable[PowerDecision]:
            return None  # type: ignore[return-value]

    with pytest.raises(SimulationError, match=r"Forgets\.react returned None: yield decisions, or return a list"):
        Simulation(machine(), jobs((0, 2, 5)), Fcfs(), Forgets()).run()


def test_what_a_policy_reserves_is_gone_for_the_scheduler() -> None:
    """A node that is switched off before the pass of its instant is not there for the jobs of that instant."""

    class Reserve(PowerPolicy):
        def reserve(self, view: View) -> Iterable[PowerDecision]:
            if view.now == 1.0:
                yield SwitchOff(0)

    result = Simulation(machine(nodes=2), jobs((1, 2, 5)), Fcfs(), Reserve()).run()
    assert result.allocations["node"].tolist() == ["cluster0.node1"]
    assert result.jobs["start_time"].tolist() == [1.0]


# ---------------------------------------------------------------------- notices


def listen(simulation: Simulation, name: str, log: Log) -> None:
    """A process that writes down what it is told, and listens again."""

    def story() -> Story:
        while True:
            noticed = yield simulation.on(name)
            log.append((simulation.env.now, noticed))

    simulation.env.process(story())


def test_every_kind_of_notice_reaches_two_listeners(at: At) -> None:
    """Jobs submitted, started, completed, killed, rejected, and nodes' states: each with its payload, to both listeners."""
    simulation = Simulation(machine(nodes=2), jobs((0, 1, 5), (0, 2, 9), (1, 5, 1), (2, 1, 3)), Fcfs())
    logs: dict[str, tuple[Log, Log]] = {name: ([], []) for name in NOTICES}
    for name, pair in logs.items():
        for one in pair:
            listen(simulation, name, one)
    at(simulation, 3.0, lambda: simulation.kill("1"))
    at(simulation, 4.0, simulation.node(1).switch_off)
    simulation.run()
    assert all(one == two for one, two in logs.values())
    told = {name: [(time, noticed) for time, noticed in one] for name, (one, _) in logs.items()}
    for name, expected in {
        "job_submitted": [(0.0, ["0", "1"]), (2.0, ["3"])],
        "job_started": [(0.0, ["0", "1"]), (2.0, ["3"])],
        "job_completed": [(5.0, ["0", "3"])],
        "job_killed": [(3.0, ["1"])],
        "job_rejected": [(1.0, ["2"])],
    }.items():
        assert [(time, ids(noticed)) for time, noticed in told[name]] == expected, name
    assert [
        (time, [(node.name, str(state)) for node, state in noticed]) for time, noticed in told["node_state_changed"]
    ] == [(4.0, [("cluster0.node1", "SWITCHING_OFF")])]


def test_an_instant_is_told_in_one_batch_and_the_starts_that_follow_in_another() -> None:
    """Job 0 ends and jobs 1 and 2 come at 5 s: one batch; the scheduler then starts job 1: its own batch."""
    simulation = Simulation(machine(), jobs((0, 2, 5), (5, 2, 1), (5, 2, 1)), Fcfs())
    batches: list[Batch] = []

    def story() -> Story:
        while True:
            batches.append((yield simulation.on("instant")))

    simulation.env.process(story())
    simulation.run()
    told: list[tuple[Any, ...]] = [(b.time, ids(b.submitted), ids(b.started), ids(b.completed)) for b in batches]
    assert told[:4] == [
        (0.0, ["0"], [], []),
        (0.0, [], ["0"], []),
        (5.0, ["1", "2"], [], ["0"]),
        (5.0, [], ["1"], []),
    ]


def test_notices_come_before_the_scheduler(log: Log) -> None:
    """A listener that is told of a submission can still kill the job before the scheduler sees it."""
    simulation = Simulation(machine(), jobs((0, 2, 5), (1, 1, 5)), Watched(log))

    def story() -> Story:
        while True:
            for job in (yield simulation.on("job_submitted")):
                if job.job_id == "1":
                    simulation.kill(job, "unwanted")

    simulation.env.process(story())
    result = simulation.run()
    assert result.jobs["state"].tolist() == ["completed", "killed"]
    assert result.jobs["reason"].tolist() == ["", "unwanted"]
    assert result.jobs["start_time"].isna().tolist() == [False, True]


def test_a_notice_that_does_not_exist_is_refused() -> None:
    """The error names those that do, in one line."""
    simulation = Simulation(machine(), jobs((0, 1, 1)), Fcfs())
    with pytest.raises(InputError, match=r"job_submitted.*instant, found job_finished") as error:
        simulation.on("job_finished")
    assert "\n" not in str(error.value)


def test_a_users_scheduler_of_ten_lines(log: Log) -> None:
    """Own code decides both job and cores: the widest job first, on the last cores that are free."""
    from schedulers import Scheduler

    class WidestFirst(Scheduler):
        def schedule(self, view: View) -> Iterable[Decision]:
            for job in sorted(view.pending, key=lambda job: -job.requested_cores):
                for node in reversed(range(view.platform.node_count)):
                    if view.free_cores[node] >= job.requested_cores:
                        yield Start(job, Placement.on({node: job.requested_cores}))
                        break

    result = Simulation(machine(nodes=2), jobs((0, 1, 4), (0, 2, 4), (0, 2, 4)), WidestFirst()).run()
    assert result.jobs["start_time"].tolist() == [4.0, 0.0, 0.0]
    assert result.jobs_with_allocation()["allocation"].tolist() == [
        "cluster0.node1.processor0:0-0",
        "cluster0.node1.processor0:0-1",
        "cluster0.node0.processor0:0-1",
    ]


def test_who_waits_for_passes_has_them_all() -> None:
    """A process of the user's that waits for the next pass has one in every instant, also behind a blocked queue."""
    passes: dict[bool, list[float]] = {}
    for watched in (False, True):
        simulation = Simulation(machine(), jobs((0, 1, 50), *((1 + i, 2, 1) for i in range(20))), Fcfs())
        held = passes[watched] = []

        def watch(simulation: Simulation = simulation, held: list[float] = held) -> Story:
            while True:
                yield simulation.pass_due()
                held.append(simulation.env.now)

        if watched:
            simulation.env.process(watch())
        simulation.run()
    assert passes[True][:21] == [float(i) for i in range(21)]


def test_a_policy_that_only_asks_to_be_woken_is_stopped_beside_a_blocked_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that joined the queue unseen, since no pass is held for them, are no news again and again."""
    monkeypatch.setattr(passes_module, "MOST_FRUITLESS_PASSES", 500)

    class Withholds(PowerPolicy):
        follows_submissions = False

        def reserve(self, view: View) -> Iterable[PowerDecision]:
            return [Withhold([0])]

        def react(self, view: View) -> Iterable[PowerDecision]:
            return [WakeAt(view.now + 1.0)]

    simulation = Simulation(machine(), jobs(*((i, 2, 5) for i in range(20))), Fcfs(), Withholds())
    with pytest.raises(StallError, match="20 jobs wait and none runs"):
        simulation.run(until=10_000.0)
