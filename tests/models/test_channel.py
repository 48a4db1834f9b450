"""The memory channel alone: task groups come and go, speeds change, and one completion is planned at a time."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cluster_sim import Platform, ProcessorType, Simulation
from cluster_sim.engine import Environment, latest
from cluster_sim.machine.memory_channel import MemoryChannel
from cluster_sim.models.contention import Demand
from cluster_sim.platform import Cluster, NodeGroup, NodeType
from schedulers import Fcfs
from tests.support.rows import workload_of


class Shared:
    """Egalitarian sharing: while anybody asks for bandwidth, n tasks run at 1/n each."""

    threshold = 1.0

    def __init__(self) -> None:
        self.asked: list[list[Demand]] = []

    def speedups(self, groups: Sequence[Demand]) -> list[float]:
        """1/n for everyone."""
        self.asked.append(list(groups))
        tasks = sum(count for count, _ in groups)
        return [1.0 / tasks if sum(rate for _, rate in groups) >= 1.0 else 1.0] * len(groups)


@pytest.fixture
def env() -> Environment:
    """The clock."""
    return Environment()


def play(env: Environment, channel: MemoryChannel, rows: list[tuple[float, int, float, float]]) -> dict[int, float]:
    """Run groups from (start, tasks, seconds, bandwidth); when each ended."""
    ended: dict[int, float] = {}

    def one(i: int, start: float, tasks: int, seconds: float, bandwidth: float) -> Generator[Any, Any, None]:
        yield env.at(start)
        yield channel.request(tasks, [(seconds, bandwidth)])
        ended[i] = env.now

    for i, row in enumerate(rows):
        env.process(one(i, *row))
    env.run()
    return ended


def test_groups_share_and_speed_up_when_others_end(env: Environment) -> None:
    """6 s of work from 0, and 2 s from 2: both at half speed until 6, when 4 s of the first are done; it ends at 8."""
    channel = MemoryChannel(env, Shared())
    assert play(env, channel, [(0.0, 1, 6.0, 5.0), (2.0, 1, 2.0, 5.0)]) == {0: 8.0, 1: 6.0}


def test_a_group_of_many_tasks_counts_as_many(env: Environment) -> None:
    """Three tasks beside one: quarter speed for all; the single one, done first, leaves thirds."""
    channel = MemoryChannel(env, Shared())
    # From 0 to 4 all run at 1/4: the single task is done; the three have 2 of 3 s left, at 1/3: 6 s more.
    assert play(env, channel, [(0.0, 3, 3.0, 1.0), (0.0, 1, 1.0, 1.0)]) == {0: 10.0, 1: 4.0}


def test_only_the_plan_that_stands_counts(env: Environment) -> None:
    """A group planned for 3 s is slowed at 1 s: at 3 s nothing happens; each superseded plan passes without effect."""
    channel = MemoryChannel(env, Shared())
    ended = play(env, channel, [(0.0, 1, 3.0, 1.0), (1.0, 1, 10.0, 1.0), (2.0, 2, 10.0, 1.0)])
    # 1 s alone, 1 s at 1/2, then quarters: 1.5 s left take 6 s.
    assert ended[0] == pytest.approx(8.0)
    assert min(ended.values()) == ended[0]
    assert channel.users == ()
    assert channel.demand == 0.0


def test_below_the_threshold_nothing_is_computed(env: Environment) -> None:
    """The model is not asked while the demand is below its threshold: every speed is 1 there, by what the threshold means."""
    model = Shared()
    channel = MemoryChannel(env, model)
    play(env, channel, [(0.0, 1, 2.0, 0.25), (0.0, 2, 3.0, 0.25)])
    assert model.asked == []
    env, model = Environment(), Shared()
    play(env, MemoryChannel(env, model), [(0.0, 1, 2.0, 0.25), (1.0, 1, 1.0, 2.0), (9.0, 1, 1.0, 0.0)])
    assert model.asked == [[(1, 0.25), (1, 2.0)]]  # as the heavy group comes; when it goes, the other is at full speed


@given(
    start=st.floats(0, 1e6),
    seconds=st.floats(0, 1e6),
    later=st.lists(st.floats(0, 1e6), max_size=4),
)
@example(start=1.0, seconds=5.695444116327053e-14, later=[])
def test_a_group_that_nobody_disturbs_ends_at_its_start_plus_its_seconds_exactly(
    start: float, seconds: float, later: list[float]
) -> None:
    """Not an ulp beside it, whoever else comes and goes below the threshold; where that is one instant, when it starts."""
    env = Environment()
    rows = [(start, 1, seconds, 0.0), *((time, 1, 1.0, 0.01) for time in later)]
    end = start + seconds
    assert play(env, MemoryChannel(env, Shared()), rows)[0] == (end if end > latest(start) else start)


def test_groups_planned_for_one_time_end_in_one_instant(env: Environment) -> None:
    """Equal groups end together, in the order in which they started; the clock does not tell them apart."""
    channel = MemoryChannel(env, Shared())
    ended = play(env, channel, [(0.1, 1, 0.7, 1.0), (0.1, 1, 0.7, 1.0), (0.1, 1, 0.7, 1.0)])
    assert len(set(ended.values())) == 1
    assert list(ended) == [0, 1, 2]
    assert ended[0] == pytest.approx(0.1 + 3 * 0.7)


def test_groups_that_end_an_ulp_apart_end_in_one_instant(env: Environment) -> None:
    """Such times differ by rounding only."""
    later = math.nextafter(0.7, 1.0)
    assert play(env, MemoryChannel(env, Shared()), [(0.0, 1, later, 0.0), (0.0, 1, 0.7, 0.0)]) == {1: 0.7, 0: 0.7}


def test_groups_that_end_a_picosecond_apart_end_in_two_instants(env: Environment) -> None:
    """Nothing else is rounded together."""
    later = 0.7 + 1e-12
    assert play(env, MemoryChannel(env, Shared()), [(0.0, 1, later, 0.0), (0.0, 1, 0.7, 0.0)]) == {1: 0.7, 0: later}


def test_a_group_taken_out_never_ends_and_leaves_room(env: Environment) -> None:
    """Its job was killed at 2 s: the other group, half done by then, goes on at full speed."""
    channel = MemoryChannel(env, Shared())
    first, second = channel.request(1, [(3.0, 1.0)]), channel.request(1, [(9.0, 1.0)])

    def story() -> Generator[Any, Any, None]:
        yield env.timeout(2)
        channel.release(second)
        assert channel.users == (first,)
        yield first

    env.run(until=env.process(story()))
    assert env.now == 4.0
    env.run()
    assert not second.triggered


def test_a_new_clock_changes_work_and_bandwidth(env: Environment) -> None:
    """At twice the clock, the 6 s left of 8 take 3, and twice the bandwidth is asked for."""
    channel = MemoryChannel(env, Shared())
    group = channel.request(1, [(8.0, 0.4)])

    def story() -> Generator[Any, Any, None]:
        yield env.timeout(2)
        channel.change_rate(2.0)
        assert channel.demand == 0.8
        yield group

    env.run(until=env.process(story()))
    assert env.now == 5.0


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 8).map(float), st.integers(1, 3), st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.just(1.0)),
        min_size=1,
        max_size=8,
    )
)
def test_shared_work_is_conserved(rows: list[tuple[float, int, float, float]]) -> None:
    """A shared channel works at rate 1 while anybody is there: it is empty when a single server would be."""
    env = Environment()
    ended = play(env, MemoryChannel(env, Shared()), rows)
    free = 0.0
    for start, tasks, seconds, _ in sorted(rows):
        free = max(free, start) + tasks * seconds
    assert max(ended.values()) == pytest.approx(free)


# ---------------------------------------------------------------------- jobs on channels


def saturated(cores: int, processors: int = 1) -> Platform:
    """Processors on which n memory-bound tasks run at 1/n."""
    curve = {"b": -1.0, "c": 1.0, "da": 0.0, "db": 0.0, "dc": 1.0, "dd": 0.0}
    kind = ProcessorType("p", cores, 3.0, contention=curve)
    node = NodeType("node", (kind,) * processors)
    return Platform((Cluster("cluster0", (NodeGroup(node, 1),)),), contention_model="piecewise:k=1")


def test_a_task_that_moves_no_memory_is_slowed_with_the_others() -> None:
    """Its neighbour takes the processor over the threshold; the slope is steep, so its own d is what is left: q < 1."""
    workload = workload_of((0.0, 1, 10.0), (0.0, 1, 4.0), mem_vol=[1e4, 0.0])
    platform = saturated(2)
    jobs = Simulation(platform, workload, Fcfs()).run().jobs
    # The first: q > 1, half speed. The second: q = 0, s = 1, d = 1: full speed, done at 4; then the first is alone.
    assert jobs["finish_time"].tolist() == [12.0, 4.0]
    steep = Platform.homogeneous(
        1, 2, contention={"b": -1e-3, "c": 600.0, "da": 0.0, "db": 0.0, "dc": 1e-9, "dd": 1.0}
    ).with_models("piecewise:k=1")
    # dc - 1·dd < 0: s = 0 for both. The slope at 1000 MB/s is 0.6 > d = 1/2: both at 0.6 until the second ends at 4/0.6.
    jobs = Simulation(steep, workload, Fcfs()).run().jobs
    assert jobs["finish_time"].tolist() == pytest.approx([4 / 0.6 + 6.0, 4 / 0.6])


def test_a_job_keeps_its_cores_until_its_last_group_ends() -> None:
    """Of three tasks two share a socket and one has its own: it ends first, but its core stays the job's, and busy."""
    workload = workload_of((0.0, 3, 4.0), (1.0, 2, 1.0), mem_vol=[4000.0, 0.0])
    platform = saturated(2, processors=2)
    result = Simulation(platform, workload, Fcfs()).run()
    assert result.jobs["finish_time"].tolist() == [8.0, 9.0]
    assert result.jobs["start_time"].tolist() == [0.0, 8.0]
    ends = result.allocations[result.allocations["job_id"] == "0"]["end"]
    assert set(ends) == {8.0}


def test_a_group_that_has_ended_leaves_the_others_alone() -> None:
    """It no longer counts as another task: a job beside it speeds up when the group, not when its job, ends."""
    platform = saturated(3, processors=2)
    workload = workload_of((0.0, 4, 4.0), (0.0, 2, 8.0), mem_vol=[4000.0, 8000.0])
    # Job 0: three tasks on the first socket, at 1/3, end at 12; one on the second, with the two of job 1, at 1/3: 12.
    # Then job 1's two tasks, with 4 of 8 s left, run at 1/2: they end at 20.
    jobs = Simulation(platform, workload, Fcfs()).run().jobs
    assert jobs["finish_time"].tolist() == pytest.approx([12.0, 20.0])


@pytest.mark.parametrize(("quirks", "end"), [([], 12.0), (["contention-at-job-boundaries"], 14.0)])
def test_boundaries_of_jobs_instead_of_groups(quirks: list[str], end: float) -> None:
    """With the quirk, speeds are not recomputed when a group ends; only when a job starts or is released."""
    workload = workload_of((0.0, 4, 4.0), (0.0, 1, 8.0), mem_vol=[4000.0, 8000.0])
    # Job 0: three tasks on the first socket, at 1/3, end at 12; one on the second, at 1/2 beside job 1, ends at 8. Job 1
    # has 4 of 8 s left then: alone it needs until 12; kept at 1/2 until job 0 is released at 12, 2 s more than that.
    jobs = Simulation(saturated(3, processors=2), workload, Fcfs(), quirks=quirks).run().jobs
    assert jobs["finish_time"].tolist() == pytest.approx([12.0, end])
