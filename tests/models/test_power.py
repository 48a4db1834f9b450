"""Power models: watts by hand, and a run's watts at every number of busy cores."""

from __future__ import annotations

import math

import pytest

from cluster_sim import Platform, ProcessorType, Simulation, Workload
from cluster_sim.errors import InputError
from cluster_sim.models.power import BaselinePower, LinearPower, StallAwarePower, watts
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions
from schedulers import Fcfs, IdleTimeout
from tests.support.rows import workload_of

# Herrera et al. (2021), Table III, 3.4 GHz, in the form of P = pa·n + pb.
TABLE_III = ProcessorType("i7", 4, 3.4, power={"static_w": 5.59316, "dynamic_w": 6.14211, "min_power": 0.0})


def test_linear_power_worked_out_by_hand() -> None:
    """static + dynamic · busy; idle: the fraction min_power of static."""
    kind = ProcessorType("p", 8, 2.5, power={"static_w": 24.38, "dynamic_w": 2.3, "min_power": 0.05})
    model = LinearPower()
    assert [watts(model, kind, busy) for busy in (0, 1, 8)] == pytest.approx([1.219, 26.68, 42.78])
    assert (model.shared_watts(kind, 3), model.core_watts(kind, 3)) == (24.38, 2.3)


def test_baseline_power_is_the_cores_alone() -> None:
    """15 quad-core nodes at full load: 15 · 4 · 6.14211 = 369 W, against 452 W with what their processors share."""
    assert 15 * watts(BaselinePower(), TABLE_III, 4) == pytest.approx(368.5, abs=0.1)
    assert 15 * watts(LinearPower(), TABLE_III, 4) == pytest.approx(452.4, abs=0.1)
    assert watts(BaselinePower(), TABLE_III, 0) == 0.0


def test_a_processor_that_tells_no_watts_draws_none() -> None:
    """Nothing is invented."""
    silent = ProcessorType("p", 8, 2.5)
    assert {watts(model, silent, busy) for model in (LinearPower(), BaselinePower()) for busy in (0, 1, 8)} == {0.0}


def test_the_watts_of_a_run_step_by_step() -> None:
    """One more core of the first socket a second, then the second socket: 2 sockets of 2 cores, 10 W + 2 W a core."""
    platform = Platform.homogeneous(1, 4, processors=2, power={"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.25})
    workload = workload_of((1.0, 1, 9.0), (2.0, 1, 7.0), (3.0, 2, 5.0))
    result = Simulation(platform, workload, Fcfs()).run()
    assert result.power.values.tolist() == [[0, 5], [1, 14.5], [2, 16.5], [3, 28], [8, 16.5], [9, 14.5], [10, 5]]
    # Job 0 shares its socket from 2 to 9 s, job 1 all its time; job 2 has the second socket, idle else, to itself.
    assert result.jobs["energy_j"].tolist() == [2 * 12 + 7 * 7, 7 * 7, 5 * 14]
    summary = result.summary()
    assert summary["energy_unused_j"] == (2 + 2) * 2.5
    assert summary["energy_idle_j"] == 1 * 5
    assert summary["energy_computing_j"] == 73 + 49 + 70 + 10


def test_quirk_unused_processors_draw_nothing() -> None:
    """Until a processor's first task it draws 0 W, afterwards its idle watts."""
    platform = Platform.homogeneous(2, 2, power={"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.5})
    workload = Workload({"submit_time": [1.0, 9.0], "requested_cores": [2, 1], "recorded_run_time": [4.0, 1.0]})
    result = Simulation(platform, workload, Fcfs(), quirks=["unused-processors-draw-nothing"]).run()
    assert result.power.values.tolist() == [[0, 0], [1, 14], [5, 5], [9, 12], [10, 5]]
    assert result.summary()["energy_j"] == 4 * 14 + 4 * 5 + 12


def test_models_of_a_run_replace_those_of_the_platform() -> None:
    """``power_model`` and ``contention`` as specs or objects."""
    platform = Platform.homogeneous(1, 2, power={"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.5})
    workload = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [4.0]})
    for model in ("baseline", BaselinePower()):
        assert Simulation(platform, workload, Fcfs(), power_model=model).run().summary()["energy_j"] == 8.0
    with_model = platform.with_models(power="baseline")
    assert Simulation(with_model, workload, Fcfs()).run().summary()["energy_j"] == 8.0
    assert Simulation(platform, workload, Fcfs()).run().summary()["energy_j"] == 48.0


def test_parameters_are_checked_for_the_model_of_the_run() -> None:
    """Of a platform that was written for another model, at once; what one of the user's own makes of them is its affair."""

    class Own(LinearPower):
        def shared_watts(self, processor: ProcessorType, busy_cores: int) -> float:
            return abs(super().shared_watts(processor, busy_cores))

    workload = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [4.0]})
    platform = Platform.homogeneous(1, 2, power={"static_w": -5.0}, power_model="polynomial")
    for model in ("linear", "stall-aware:0.5", LinearPower(), StallAwarePower(0.5)):
        with pytest.raises(
            InputError, match=r"^processor type 'processor', power\.static_w: expected .*, found -5\.0$"
        ):
            Simulation(platform, workload, Fcfs(), power_model=model)
    assert Simulation(platform, workload, Fcfs(), power_model=Own()).run().summary()["energy_j"] == 20.0


def test_a_huge_transient_leaves_nothing_behind() -> None:
    """A boot at 1e17 W, beside which 100 W are no number at all: afterwards the curve is what the nodes draw, to the digit.

    Three nodes of 25.15 W idle and 71 W with one busy core, off at 9.1 W; node 0 is booted at 500 s and computes from 560 s.
    """
    kind = ProcessorType("p", 4, 2.0, power={"static_w": 50.3, "dynamic_w": 20.7, "min_power": 0.5})
    switching = PowerTransitions(9.1, switch_on_s=60.0, switch_on_w=1e17, switch_off_s=30.0, switch_off_w=100.3)
    platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (kind,), transitions=switching), 3),)),))
    jobs = Workload({"submit_time": [0, 500, 900], "requested_cores": [2, 1, 1], "recorded_run_time": [10, 1000, 5]})
    power = Simulation(platform, jobs, Fcfs(), IdleTimeout(20.0)).run().power
    watts = dict(zip(power["time"], power["watts"], strict=True))
    alone, off = 50.3 + 20.7, 2 * 9.1
    assert watts[500.0] == pytest.approx(1e17)
    assert [watts[560.0], watts[900.0], watts[905.0]] == pytest.approx(
        [alone + off, alone + 20.7 + off, alone + off], rel=1e-15
    )


class Constant(LinearPower):
    """A user's model: 10 W, and as much for each busy core as is said."""

    def __init__(self, core_w: float):
        self.core_w = core_w

    def idle_watts(self, processor: ProcessorType) -> float:
        """10 W."""
        return 10.0

    def shared_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """10 W."""
        return 10.0

    def core_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """As was said."""
        return self.core_w


def test_watts_of_an_own_model_are_looked_at() -> None:
    """Two cores of -5 W each come to 0 W, which may be; of -6 W, or of no finite number, they would make energies wrong."""
    jobs = Workload({"submit_time": [0.0], "requested_cores": [2], "recorded_run_time": [10.0]})
    platform = Platform.homogeneous(nodes=1, cores=2)
    assert Simulation(platform, jobs, Fcfs(), power_model=Constant(-5.0)).run().summary()["energy_j"] == 0.0
    for core_w, busy in ((-6.0, 2), (math.inf, 1), (math.nan, 1)):
        told = f"'processor', {busy} of 2 cores busy: expected finite watts, 0 or more, found"
        with pytest.raises(InputError, match=told):
            Simulation(platform, jobs, Fcfs(), power_model=Constant(core_w)).run()
