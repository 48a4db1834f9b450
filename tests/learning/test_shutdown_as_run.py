"""What the authors' program of DeepShutdown does and the paper does not say: reward, features and the head, by hand."""

from __future__ import annotations

import math

import pytest

from cluster_sim import Platform, PowerTransitions, Workload
from learning.tasks.episodes import Whole
from learning.tasks.node_shutdown.environment import NodeShutdown

COSTS = PowerTransitions(switch_on_s=60.0, switch_on_w=125.0, switch_off_s=180.0, switch_off_w=101.0)
COLUMNS = ("submit_time", "requested_cores", "requested_time", "recorded_run_time", "user")


def environment(
    nodes: int, *rows: tuple[float, int, float, float, str], cores: int = 1, **options: str
) -> NodeShutdown:
    """Nodes that draw 95 W idle, all on at first, and these jobs; a decision a minute."""
    power = {"static_w": 95.0, "dynamic_w": 95.0, "min_power": 1.0}
    machine = Platform.homogeneous(nodes=nodes, cores=cores, power=power, transitions=COSTS)
    columns = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    given = {"observation": "as-published", "reward": "as-run", **options}
    env = NodeShutdown(
        Whole(machine, Workload(columns), until=1200.0), **given, skip=False, patience=math.inf, idle="stay"
    )
    env.reset(seed=0)
    return env


def test_the_reward_of_the_program_by_hand() -> None:
    """Two nodes; one is reserved at once, then both, and from 300 s none: watts over 125 W, shares of two cores.

    Idle nodes count 95/125, those that shut down 101/125, one that boots 1, each half. The job of 400 s that came at 60 s is
    late from 260 s on: at the decision at 300 s the reservation is over and it starts; held until 360 s it is paid for.
    """
    rewards = {}
    for until in (300, 360):
        env = environment(2, (60.0, 1, 400.0, 120.0, "a"))
        rewards[until] = [env.step(1)[1]]
        rewards[until] += [env.step(2 if time < until else 0)[1] for time in range(60, 480, 60)]
    one, both = (95.0 + 101.0) / 250.0, 2 * 101.0 / 250.0
    assert rewards[300] == pytest.approx([-one, -both, -both, -101.0 / 250.0, 0.0, -0.5, 0.0, 0.0])
    assert rewards[360] == pytest.approx([-one, -both, -both, -101.0 / 250.0, 0.0, -0.5, -0.5, 0.0])


def test_idle_cores_of_a_computing_node_waste_nothing_in_the_program() -> None:
    """A node of two cores runs a job on one: the text's reward by core counts half of its 95 W, the program's nothing."""
    for reward, paid in (("as-run", 0.0), ("as-published", 47.5)):
        env = environment(1, (0.0, 1, 900.0, 900.0, "a"), reward=reward, cores=2)
        env.step(0)
        assert env.step(0)[1] == pytest.approx(-paid)


def test_a_scaled_reward_of_the_text_by_hand() -> None:
    """Two nodes, one reserved at once: in a minute 95 W and 101 W are wasted, times the scale."""
    for scale in (1.0, 0.01):
        env = environment(2, (60.0, 1, 400.0, 120.0, "a"), reward=f"as-published:scale={scale}")
        assert env.step(1)[1] == pytest.approx(-scale * (95.0 + 101.0))


def test_late_jobs_count_if_they_could_start() -> None:
    """One node runs a job, the other is reserved: a late job of two cores could not start anyway, one of one core could."""
    for cores, late, paid in ((2, "startable", 0.0), (2, "all", 1.0), (1, "startable", 0.5), (1, "all", 0.5)):
        env = environment(2, (0.0, 1, 900.0, 900.0, "a"), (0.0, cores, 60.0, 60.0, "b"), reward=f"as-run:late={late}")
        rewards = [env.step(1)[1] for _ in range(6)]
        assert rewards[-1] == pytest.approx(-paid)
    env = environment(2, (0.0, 1, 900.0, 900.0, "a"), (0.0, 2, 60.0, 60.0, "b"))
    assert env.step(0)[1] == pytest.approx(-95.0 / 250.0)  # late, but nothing is reserved


def test_a_cost_counts_beside_the_reward() -> None:
    """The reward counts its late jobs, and so does a cost of the same kind: each is minus the other."""
    env = environment(
        2, (0.0, 1, 900.0, 900.0, "a"), (0.0, 2, 60.0, 60.0, "b"), reward="as-run:late=all", cost="as-run:late=all"
    )
    *_, (_, reward, _, _, info) = [env.step(1) for _ in range(6)]
    assert (reward, info["cost"]) == (pytest.approx(-1.0), pytest.approx(1.0))


@pytest.mark.parametrize(
    ("head", "cores", "starts"),
    [("waits", 2, None), ("waits-for-jobs", 2, 60.0), ("starts", 2, 60.0), ("waits-for-jobs", 3, 60.0)],
)
def test_the_head_starts_where_nothing_runs(head: str, cores: int, starts: float | None) -> None:
    """All three nodes are reserved all the time: the reservation shrinks to what the head needs, or it does not."""
    env = environment(3, (60.0, cores, 600.0, 60.0, "a"), head=head)
    for _ in range(12):
        env.step(3)
    (start,) = env.result().jobs["start_time"].tolist()
    assert math.isnan(start) if starts is None else start >= starts
    assert env.result().summary()["jobs_completed"] == (starts is not None)


@pytest.mark.parametrize(("head", "start"), [("waits-for-jobs", 660.0), ("starts", 120.0)])
def test_the_head_waits_for_jobs_only(head: str, start: float) -> None:
    """A job runs on the first node until 600 s, the others are reserved when the second job comes at 120 s."""
    env = environment(3, (0.0, 1, 600.0, 600.0, "a"), (120.0, 2, 600.0, 60.0, "b"), head=head)
    env.step(0)
    for _ in range(15):
        env.step(2)
    started = env.result().jobs["start_time"].tolist()[1]
    assert start <= started <= start + 240.0  # a node that shuts down has to end that, and to boot


def test_the_features_of_the_program_by_hand() -> None:
    """The head of the queue stays first, the others stand by area; waits, users and the queue have other scales."""
    rows = [
        (0.0, 2, 900.0, 900.0, "a"),
        (0.0, 2, 600.0, 60.0, "b"),
        (0.0, 2, 600.0, 60.0, "a"),
        (0.0, 1, 240.0, 60.0, "a"),
    ]
    looks = {}
    for features in ("as-written", "as-run"):
        env = environment(2, *rows, observation=f"as-published:jobs=3,features={features}")
        env.step(0)
        looks[features] = env.step(0)[0]["observation"][-1]
    queue, promise, time = (slice(5, 6), slice(6, 7), slice(7, 8))
    assert looks["as-written"][queue] == pytest.approx(3 / 100)
    assert looks["as-run"][queue] == pytest.approx(3 / 4500)
    assert looks["as-written"][promise] == pytest.approx((900 - 120) / 86400)
    assert looks["as-run"][promise] == 0.0
    assert looks["as-run"][time] == looks["as-written"][time] == pytest.approx(120 / 86400)
    by_job = {name: look[8:].reshape(3, 4) for name, look in looks.items()}
    assert by_job["as-written"][:, 0].tolist() == [1.0, 1.0, 0.5]
    assert by_job["as-run"][:, 0].tolist() == [1.0, 0.5, 1.0]  # the head, then the smallest
    assert by_job["as-written"][:, 2] == pytest.approx([0.2, 0.2, 0.5])
    assert by_job["as-run"][:, 2] == pytest.approx([0.4, 1.0, 0.4])
    assert by_job["as-written"][:, 3] == pytest.approx([0.1, 0.3, 0.3])  # jobs waiting or running
    assert by_job["as-run"][:, 3] == pytest.approx([1 / 50, 4 / 50, 4 / 50])  # two jobs in sight and two cores in use
