"""Predictions of what happens on processors, worked out by hand from the models' formulas."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim.engine import SAME_INSTANT, Environment, latest
from cluster_sim.machine.memory_channel import MemoryChannel
from cluster_sim.models.contention import ContentionModel, contention_models
from cluster_sim.models.power import power_models
from cluster_sim.models.prediction import Group, Share, predict
from cluster_sim.models.processor_step import ProcessorModel
from cluster_sim.platform import ProcessorType

KIND = ProcessorType(
    "p",
    4,
    1.0,
    power={"static_w": 100.0, "dynamic_w": 1.0, "min_power": 0.1, "idle_w": 7.0, "p10": 1000.0, "p01": 3.0},
    contention={"bandwidth": 100.0},
)
# Two tasks that ask for 80 MB/s each on a channel of 100: both run at 50/80 = 0.625 until one has done its 4 s, after
# 6.4 s; the other then has 10 - 4 = 6 s left, alone.
PAIR = (Group(0, 1, 4.0, 80.0), Group(1, 1, 10.0, 80.0))


def share(power: str = "linear", groups: tuple[Group, ...] = PAIR) -> Share:
    """A processor under the roofline model."""
    model: ContentionModel = contention_models.make("roofline")
    return Share(ProcessorModel(KIND, model, power_models.make(power)), groups)


def test_speeds_change_when_a_task_ends() -> None:
    """Each job's end, step by step from one completion to the next."""
    forecast = predict([share()])
    assert forecast.ends == pytest.approx({0: 6.4, 1: 12.4})
    assert forecast.horizon == pytest.approx(12.4)


@pytest.mark.parametrize(
    ("power", "busy_with_two", "busy_with_one", "idle"),
    [
        ("linear", 102.0, 101.0, 10.0),
        ("baseline", 2.0, 1.0, 0.0),
        ("idle", 10.0, 10.0, 10.0),
        ("stall-aware", 100.0 + 2 * 0.625, 101.0, 10.0),
        # 3 W a task and 1000 W per GB/s: two tasks move 100 MB/s together, one alone moves 80.
        ("polynomial", 6.0 + 100.0, 3.0 + 80.0, 7.0),
    ],
)
def test_energy_is_the_integral_of_the_watts(
    power: str, busy_with_two: float, busy_with_one: float, idle: float
) -> None:
    """6.4 s with both, 6 s with one, then idle; any window of it adds up."""
    forecast = predict([share(power)])
    whole = 6.4 * busy_with_two + 6.0 * busy_with_one + 2.6 * idle
    assert forecast.energy(0.0, 15.0) == pytest.approx(whole)
    assert forecast.energy(0.0, 5.0) + forecast.energy(5.0, 9.0) + forecast.energy(9.0, 15.0) == pytest.approx(whole)


def test_an_empty_processor_idles() -> None:
    """Nobody ends, and the energy is idle power times time."""
    forecast = predict([share(groups=())])
    assert (forecast.ends, forecast.horizon) == ({}, 0.0)
    assert forecast.energy(2.0, 5.0) == pytest.approx(30.0)


def test_what_is_left_after_a_while() -> None:
    """After 3.2 s at 0.625 both have done 2 s of work; a task that has ended stays, with nothing left."""
    forecast = predict([share()])
    assert [group.seconds for group in forecast.after(3.2)[0].groups] == pytest.approx([2.0, 8.0])
    assert [group.seconds for group in forecast.after(8.4)[0].groups] == pytest.approx([0.0, 4.0])
    assert predict(forecast.after(3.2)).ends == pytest.approx({0: 3.2, 1: 9.2})


def test_cores_are_held_for_tasks_elsewhere() -> None:
    """A job's cores stay busy until its last task ends, on another processor or another node; speeds do not care."""
    other = share(groups=(Group(0, 1, 9.0, 0.0),))
    forecast = predict([share(), other])
    assert forecast.ends == pytest.approx({0: 9.0, 1: 12.4})
    assert forecast.energy(0.0, 12.4) == pytest.approx(9.0 * (102 + 101) + 3.4 * (101 + 10))
    held = predict([share()]).held_until({0: 8.4, 1: 3.0})
    assert held.ends == pytest.approx({0: 8.4, 1: 12.4})
    assert held.energy(0.0, 12.4) == pytest.approx(8.4 * 102 + 4.0 * 101)


def test_watts_that_follow_speeds_count_waiting_cores_as_busy() -> None:
    """Held cores wait actively, at full speed and without traffic, as on the simulated machine."""
    held = predict([share("stall-aware")]).held_until({0: 8.4})
    assert held.energy(0.0, 12.4) == pytest.approx(6.4 * 101.25 + 2.0 * 102.0 + 4.0 * 101.0)


def test_free_cores() -> None:
    """Groups that have ended still hold theirs."""
    assert share(groups=(Group(0, 1, 0.0, 5.0), Group(1, 2, 3.0, 5.0))).free == 1
    assert predict([share(groups=(Group(0, 1, 0.0, 5.0),))]).ends == {0: 0.0}


def test_piecewise_by_hand() -> None:
    """Two equal tasks deep in contention: one other task, s(q) = 0, so speed 1/(1 + 0.6) = 0.625."""
    kind = ProcessorType("p", 2, 1.0, contention={"b": -1.0, "c": 10.0, "da": 1.0, "db": 0.0, "dc": 50.0, "dd": 0.0})
    model = ProcessorModel(kind, contention_models.make("piecewise"), power_models.make("linear"))
    forecast = predict([Share(model, (Group(0, 1, 5.0, 80.0), Group(1, 1, 5.0, 80.0)))])
    assert forecast.ends == pytest.approx({0: 8.0, 1: 8.0})
    assert math.isclose(forecast.energy(0.0, 8.0), 0.0)


@settings(max_examples=80, deadline=None)
@given(
    model=st.sampled_from(["roofline", "piecewise", "none"]),
    tasks=st.lists(
        st.tuples(st.integers(1, 8), st.floats(1e-3, 1e6), st.one_of(st.just(0.0), st.floats(1.0, 3e4))),
        min_size=1,
        max_size=12,
    ),
)
def test_the_channel_and_the_prediction_agree_to_the_last_bit(
    model: str, tasks: list[tuple[int, float, float]]
) -> None:
    """Both step by one law, so that what was predicted is what happens: equal floats, not nearly equal ones.

    Unless two ends differ by rounding only: those are one instant to the clock.
    """
    kind = ProcessorType(
        "p",
        96,
        1.0,
        contention={"b": -1.85e-5, "c": 2.1e4, "da": 1.0, "db": 100.0, "dc": 2.5e4, "dd": 10.0, "bandwidth": 2.1e4},
    )
    processor = ProcessorModel(kind, contention_models.make(model), power_models.make("linear"))
    env = Environment()
    channel = MemoryChannel(env, processor.contention)
    ends: dict[int, float] = {}
    for i, (count, seconds, bandwidth) in enumerate(tasks):
        group = channel.request(count, [(seconds, bandwidth)])
        group.callbacks.append(lambda event, i=i: ends.update({i: env.now}))
    env.run()
    forecast = predict([Share(processor, tuple(Group(i, *task) for i, task in enumerate(tasks)))])
    if any(second <= latest(first) for first, second in pairwise(sorted(set(forecast.ends.values())))):
        assert ends == pytest.approx(forecast.ends, rel=len(tasks) * (SAME_INSTANT - 1.0))
    else:
        assert ends == forecast.ends
