"""Nodes, processors and channels as SimPy resources: one set of stories holds for SimPy's own and for a processor."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pandas as pd
import pytest
import simpy
from simpy.resources.base import BaseResource

from cluster_sim import Platform, ProcessorType, Simulation, Workload
from cluster_sim.engine import Environment
from cluster_sim.errors import NodeStateError, PlacementError
from cluster_sim.machine.memory_channel import MemoryChannel
from cluster_sim.machine.node import Processor
from cluster_sim.machine.placement import Placement
from cluster_sim.models.contention import contention_models
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions
from schedulers import IdleTimeout, make_scheduler

Process = Generator[Any, Any, None]


BEGIN = 1
"""When the stories begin, s."""


class Evens:
    """Grants only what an even number of requests came before: a rule that no resource has by itself."""

    asked = 0

    def _do_put(self, event: Any) -> Any:
        event.number = getattr(event, "number", Evens.asked)
        Evens.asked = max(Evens.asked, event.number + 1)
        return super()._do_put(event) if event.number % 2 == 0 else True  # type: ignore[misc]


class EvenResource(Evens, simpy.Resource):
    """SimPy's resource by that rule."""


class EvenProcessor(Evens, Processor):
    """A processor by that rule."""


def busy_machine() -> Simulation:
    """Return a run in which jobs hold two of four cores all the time and compete for the others at 50 s."""
    jobs = {
        "submit_time": [0, 50],
        "requested_cores": [2, 2],
        "requested_time": [1000, 10],
        "recorded_run_time": [1000, 10],
    }
    return Simulation(Platform.homogeneous(nodes=1, cores=4), Workload(jobs), make_scheduler("fcfs"))


@pytest.fixture(params=["simpy", "processor"])
def made(request: pytest.FixtureRequest) -> tuple[Any, Any, Callable[[], None]]:
    """Return an environment, a resource that two can use at once, and what runs both for 200 s."""
    if request.param == "simpy":
        env = simpy.Environment(BEGIN)
        return env, simpy.Resource(env, capacity=2), lambda: env.run(200)
    simulation = busy_machine()
    simulation.env.run(BEGIN)  # the first job has its cores
    return simulation.env, simulation.node(0).processors[0], lambda: simulation.env.run(200)


def user(env: Any, resource: Any, log: list[tuple[str, float]], name: str, seconds: float) -> Process:
    """Hold a unit for some time, and log when it is had and given back."""
    with resource.request() as held:
        yield held
        log.append((name, env.now - BEGIN))
        yield env.timeout(seconds)
    log.append((f"{name} leaves", env.now - BEGIN))


def test_requests_are_granted_in_their_order(made: Any) -> None:
    """Two at once; the third and the fourth wait for whoever leaves first."""
    env, resource, run = made
    log: list[tuple[str, float]] = []
    for name, seconds in (("a", 10), ("b", 20), ("c", 5), ("d", 5)):
        env.process(user(env, resource, log, name, seconds))
    run()
    assert log == [
        ("a", 0), ("b", 0), ("a leaves", 10), ("c", 10), ("c leaves", 15), ("d", 15), ("b leaves", 20), ("d leaves", 20),
    ]  # fmt: skip


def test_a_queue_has_who_waits(made: Any) -> None:
    """``queue`` in order, and as many ``users`` of ours as there are units."""
    env, resource, run = made
    requests = [resource.request() for _ in range(4)]
    env.run(BEGIN + 1)
    assert [request.triggered for request in requests] == [True, True, False, False]
    assert list(resource.queue) == requests[2:]
    assert list(resource.users)[:2] == requests[:2]
    run()


def test_a_cancelled_request_is_never_granted(made: Any) -> None:
    """Whoever stood behind it is next."""
    env, resource, run = made
    first, second, third, fourth = (resource.request() for _ in range(4))
    env.run(BEGIN + 1)
    third.cancel()
    resource.release(first)
    run()
    assert (second.triggered, third.triggered, fourth.triggered) == (True, False, True)


def test_release_is_an_event(made: Any) -> None:
    """It happens at once, and what was held is free."""
    env, resource, run = made
    log = []

    def give_back() -> Process:
        held = resource.request()
        yield held
        yield resource.release(held)
        log.append((env.now - BEGIN, held in resource.users))

    env.process(give_back())
    run()
    assert log == [(0, False)]


def test_who_is_interrupted_while_queued_leaves_the_queue(made: Any) -> None:
    """The block withdraws its request on the way out."""
    env, resource, run = made
    log: list[tuple[str, float]] = []

    def impatient() -> Process:
        try:
            with resource.request() as held:
                yield held
                log.append(("had it", env.now - BEGIN))
        except simpy.Interrupt:
            log.append(("gave up", env.now - BEGIN))

    for name in ("a", "b"):
        env.process(user(env, resource, log, name, 30))
    waiting = env.process(impatient())
    env.process(user(env, resource, log, "c", 1))

    def interrupt() -> Process:
        yield env.timeout(5)
        waiting.interrupt()

    env.process(interrupt())
    run()
    assert [entry for entry in log if entry[0] in ("gave up", "had it", "c")] == [("gave up", 5), ("c", 30)]
    assert list(resource.queue) == []


def test_any_of(made: Any) -> None:
    """A request can be waited for together with a timeout."""
    env, resource, run = made
    log: list[tuple[str, float]] = []

    def patient_for(seconds: float) -> Process:
        with resource.request() as held:
            happened = yield held | env.timeout(seconds)
            log.append(("had it" if held in happened else "gave up", env.now - BEGIN))

    for name in ("a", "b"):
        env.process(user(env, resource, log, name, 30))
    env.process(patient_for(10))
    env.process(patient_for(40))
    run()
    assert [entry for entry in log if entry[0] in ("gave up", "had it")] == [("gave up", 10), ("had it", 30)]


@pytest.mark.parametrize("kind", ["simpy", "processor"])
def test_a_subclass_grants_by_its_own_rule(kind: str) -> None:
    """``_do_put`` decides in SimPy's resource and in a processor."""
    Evens.asked = 0
    simulation = busy_machine()
    env = simulation.env
    resource: Any = EvenProcessor(simulation.machine, 0) if kind == "processor" else EvenResource(env, capacity=2)
    requests = [resource.request() for _ in range(3)]
    env.run(1)
    assert [request.triggered for request in requests] == [True, False, True]


def test_jobs_are_users_beside_guests() -> None:
    """A processor has four cores: two of a job, one of a guest, and a second job waits in the scheduler's queue."""
    simulation = busy_machine()
    processor = simulation.node(0).processors[0]
    assert (processor.capacity, processor.count, list(processor.users)) == (4, 0, [])
    held = processor.request(1, owner="backup")
    simulation.env.run(60)
    guest, running = processor.users
    assert guest is held
    assert (running.job.job_id, processor.count) == (simulation.workload.jobs["job_id"][0], 3)
    assert [core.user for core in processor.cores] == [held, running, running, None]
    assert simulation.node(0).users == [held, running]


def test_a_job_and_a_guest_never_have_one_core() -> None:
    """Jobs start when guests have left enough of the cores."""
    simulation = busy_machine()
    processor = simulation.node(0).processors[0]
    simulation.env.run(BEGIN)
    for name in ("a", "b"):
        simulation.env.process(user(simulation.env, processor, [], name, 69))
    result = simulation.run()
    assert result.jobs["start_time"].tolist() == [0.0, 70.0]


@pytest.mark.parametrize("kind", ["simpy", "processor"])
def test_a_request_of_another_resource_is_not_released(kind: str) -> None:
    """Whoever releases it at the wrong one changes nothing, in SimPy's resource and in a processor."""
    env: Any = simpy.Environment()
    mine, other = simpy.Resource(env), simpy.Resource(env)
    if kind == "processor":
        two = ProcessorType("p", 1, 1.0)
        jobs = {"submit_time": [0], "requested_cores": [1], "recorded_run_time": [1]}
        platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (two, two)), 2),)),))
        simulation = Simulation(platform, Workload(jobs), make_scheduler("fcfs"))
        env, (mine, other) = simulation.env, simulation.node(1).processors
    request = mine.request()
    env.run(1)
    assert other.release(request).triggered
    assert list(mine.users) == [request]
    mine.release(request)
    assert list(mine.users) == []


def test_a_channel_serves_everybody_at_once() -> None:
    """Its users stand in ``put_queue`` until they end; the bandwidth is its capacity."""
    env = Environment()
    platform = Platform.homogeneous(nodes=1, cores=4)
    channel = MemoryChannel(env, contention_models.make("none").on(platform.processor_types[0]))
    first, second = channel.request(2, [(10.0, 1.0)]), channel.request(1, [(30.0, 1.0)])
    assert (channel.users, channel.queue, channel.count) == ((first, second), (), 2)
    env.run(20)
    assert (first.processed, channel.users) == (True, (second,))
    released = channel.release(second)
    env.run(40)
    assert (released.processed, second.triggered, channel.count) == (True, False, 0)


def channel_of_two() -> tuple[Environment, MemoryChannel]:
    """Return a channel on which three tasks of 40 MB/s each run slower than two, and its clock."""
    env = Environment()
    processor = ProcessorType("p", 4, 1.0, contention={"bandwidth": 100.0})
    return env, MemoryChannel(env, contention_models.make("roofline").on(processor))


def test_who_leaves_a_channel_early_frees_its_bandwidth() -> None:
    """By cancelling, or by leaving the block; both tell the others at once."""
    for leave in ("cancel", "block"):
        env, channel = channel_of_two()
        stays = channel.request(2, [(100.0, 40.0)])
        with channel.request(1, [(100.0, 40.0)]) as leaves:
            env.run(10)
            assert (channel.demand, stays.speed < 1.0) == (120.0, True)
            if leave == "cancel":
                leaves.cancel()
                assert (channel.demand, stays.speed, channel.users) == (80.0, 1.0, (stays,))
        assert (channel.demand, stays.speed, channel.users, leaves.triggered) == (80.0, 1.0, (stays,), False)


def test_a_group_that_has_ended_leaves_the_channel_with_its_block() -> None:
    """Until then its cores are held; a second release changes nothing, and later ones work."""
    env, channel = channel_of_two()
    with channel.request(1, [(5.0, 40.0)]) as group:
        env.run(group)
        assert channel.ended_groups == (group,)
    assert channel.ended_groups == ()
    channel.release(group)
    other = channel.request(1, [(5.0, 40.0)])
    channel.release(other)
    assert channel.users == ()


def test_a_job_has_one_allocation_on_all_its_processors() -> None:
    """One request to the machine's cores, granted in one call; its pieces are among the users of every processor."""
    two = ProcessorType("p", 2, 1.0)
    platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (two, two)), 2),)),))
    jobs = {"submit_time": [0, 0], "requested_cores": [6, 2], "recorded_run_time": [50, 20]}
    simulation = Simulation(platform, Workload(jobs), make_scheduler("fcfs"))
    cores = simulation.machine.cores
    assert (cores.capacity, cores.count, cores.users) == (8, 0, [])
    simulation.env.run(10)
    wide, narrow = cores.users
    processors = [processor for node in simulation.nodes() for processor in node.processors]
    assert [processor.users for processor in processors] == [[wide], [wide], [wide], [narrow]]
    assert (wide.job.job_id, narrow.job.job_id, cores.count) == ("0", "1", 8)
    assert wide.processed
    simulation.env.run(30)
    assert (cores.users, cores.count) == ([wide], 6)
    with pytest.raises(PlacementError, match=r"Allocation of job 0.*given back when the job ends: simulation\.kill"):
        cores.release(wide)
    assert (cores.users, cores.count) == ([wide], 6)
    simulation.env.run(60)
    assert (cores.users, cores.count) == ([], 0)
    assert cores.release(wide).triggered  # of what is given back it changes nothing, as in SimPy
    assert cores.count == 0


def test_a_process_asks_the_whole_machine_for_cores() -> None:
    """One request gives it cores of several nodes; a job starts when the block gives them back, and the records know."""
    platform = Platform.homogeneous(nodes=2, cores=4)
    jobs = {"submit_time": [1], "requested_cores": [8], "recorded_run_time": [10]}
    simulation = Simulation(platform, Workload(jobs), make_scheduler("fcfs"))
    cores = simulation.machine.cores

    def hold() -> Process:
        with cores.request(Placement.on({0: 3, 1: 1})) as held:
            yield held
            assert (cores.users, cores.count, simulation.node(1).users) == ([held], 4, [held])
            yield simulation.env.timeout(7)

    simulation.env.process(hold())
    result = simulation.run()
    assert result.jobs["start_time"].tolist() == [7.0]
    held_by = result.holds[["owner", "kind", "node", "start", "end"]]
    mine = held_by[held_by["kind"] == "guest"]
    assert mine.to_numpy().tolist() == [
        ["nobody", "guest", "cluster0.node0", 0.0, 7.0],
        ["nobody", "guest", "cluster0.node1", 0.0, 7.0],
    ]


@pytest.mark.parametrize("name", ["fcfs", "easy", "conservative"])
def test_planned_ends_and_channels_give_equal_bits(name: str) -> None:
    """A job that nobody can slow is one planned event; had it been put on the channels, not a bit would differ."""
    workload = Workload.read("lublin:jobs=200,nodes=16,seed=5")
    tables = []
    for on_channels in (False, True):
        simulation = Simulation(Platform.homogeneous(nodes=8, cores=2), workload, make_scheduler(name))
        if on_channels:
            simulation.life.executor.move_to_channels()
        tables.append(simulation.run(warn=False).jobs)
        assert bool(simulation.machine.channels) is on_channels
    pd.testing.assert_frame_equal(*tables, check_exact=True)


def test_who_is_in_no_list_of_the_hub_hears_nothing() -> None:
    """Functions are called in their order, at once; others are not."""
    simulation = busy_machine()
    heard: list[tuple[str, Any]] = []
    hub = simulation.machine.hub
    hub.started.append(lambda job: heard.append(("started", job.job_id)))
    hub.over.append(lambda job, outcome: heard.append((outcome, job.job_id)))
    hub.over.append(lambda job, outcome: heard.append(("again", job.job_id)))
    simulation.run()
    first, second = simulation.workload.jobs["job_id"]
    ends = [("completed", second), ("again", second), ("completed", first), ("again", first)]
    assert heard == [("started", first), ("started", second), *ends]


def test_all_are_simpy_resources() -> None:
    """By type, with SimPy's words."""
    simulation = busy_machine()
    node = simulation.node(0)
    for resource in (node, node.processors[0], simulation.machine.channel(0), simulation.machine.cores):
        assert isinstance(resource, BaseResource)
        for word in ("capacity", "count", "users", "queue", "request", "release"):
            assert hasattr(resource, word)


def test_a_node_has_a_process_unless_it_is_on() -> None:
    """Shutdown, sleep and boot are live SimPy processes; nodes that switch together share them."""
    costs = PowerTransitions(switch_on_s=60.0, switch_off_s=20.0)
    kind = NodeType("n", (ProcessorType("p", 1, 1.0),), transitions=costs)
    simulation = Simulation(
        Platform((Cluster("c", (NodeGroup(kind, 2),)),)),
        Workload({"submit_time": [0, 1000], "requested_cores": [1, 2], "recorded_run_time": [10, 10]}),
        make_scheduler("fcfs"),
        power=IdleTimeout(100),
    )
    first, second = simulation.node(0), simulation.node(1)
    seen = []
    for time in (50, 115, 500, 1001, 1065):
        simulation.env.run(time)
        seen.append((first.state, first.process is not None, first.process is second.process))
        for node in (first, second):
            if node.process is not None:
                assert isinstance(node.process, simpy.Process)
                assert node.process.is_alive
    states = [state.value for state, _, _ in seen]
    assert states == ["IDLE", "SWITCHING_OFF", "OFF", "SWITCHING_ON", "COMPUTING"]
    assert [alive for _, alive, _ in seen] == [False, True, True, True, False]
    assert seen[3][2]  # they boot together


def test_a_broken_node_has_a_process_until_it_is_repaired() -> None:
    """The process of its outage ends with its repair, which is one itself."""
    simulation = busy_machine()
    node = simulation.node(0)
    node.fail()
    simulation.env.run(1)
    outage = node.process
    assert outage is not None
    assert outage.is_alive
    node.repair()
    assert node.process is not outage
    assert node.process is not None
    simulation.env.run(1.5)
    assert not outage.is_alive
    simulation.env.run(500)
    assert node.process is None


def test_a_process_of_a_node_is_not_interrupted() -> None:
    """Many nodes may share it: the error says what to call instead, and the transition goes on."""
    costs = PowerTransitions(switch_on_s=60.0, switch_off_s=20.0)
    platform = Platform(
        (Cluster("c", (NodeGroup(NodeType("n", (ProcessorType("p", 1, 1.0),), transitions=costs), 2),)),)
    )
    jobs = {"submit_time": [0], "requested_cores": [1], "recorded_run_time": [100]}
    simulation = Simulation(platform, Workload(jobs), make_scheduler("fcfs"))
    node = simulation.node(1)
    for begin in (node.switch_off, lambda: simulation.env.run(30)):  # in its transition, and asleep
        begin()
        assert node.process is not None
        with pytest.raises(NodeStateError, match=r"use node\.fail\(\)"):
            node.process.interrupt()
    assert node.state.value == "OFF"


def test_a_process_goes_on_as_itself_after_it_has_woken_a_node() -> None:
    """The end of a sleep is an event like others: it does not run inside the process that ends it."""
    simulation = busy_machine()
    node = simulation.node(0)
    node.fail()
    simulation.env.run(1)
    assert node.process is not None
    seen = []

    def repair() -> Process:
        yield simulation.env.timeout(0)
        node.repair()
        seen.append(simulation.env.active_process)

    process = simulation.env.process(repair())
    simulation.env.run(2)
    assert seen == [process]


def test_nobody_waits_once_the_last_request_is_cancelled() -> None:
    """The machine need not look for requests when cores become free."""
    simulation = busy_machine()
    simulation.env.run(BEGIN)
    waiting = simulation.node(0).request(4)
    simulation.env.run(2)
    assert simulation.machine.cores.awaited == {0}
    waiting.cancel()
    assert simulation.machine.cores.awaited == set()
