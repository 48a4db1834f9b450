"""Any power policy, sensible or not, under every kind of scheduler: the contract holds, and no job is lost."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import CautionWarning, Simulation, Workload, make_scheduler
from cluster_sim.errors import ModelWarning
from cluster_sim.run import View
from cluster_sim.run.decisions import Offer, PowerDecision, SwitchOff, SwitchOn, WakeAt, Withhold
from schedulers import PowerPolicy, power_policies
from tests.support.contract import checks
from tests.support.contract.runs import TIMES, Case, cases

SCHEDULERS = (
    "fcfs",
    "easy",
    "easy:reservation=pinned",
    "easy:depth=3",
    "conservative",
    "list:first/first,blocking=no",
    "pcbe",
)
LAST = 20.0

Order = tuple[float, str, int, bool]
orders = st.lists(
    st.tuples(
        st.sampled_from(TIMES), st.sampled_from(["on", "off", "withhold", "offer"]), st.integers(0, 30), st.booleans()
    ),
    max_size=16,
)


class AtRandom(PowerPolicy):
    """Gives orders (time, what, a number for the node, whether before the scheduler); at last it offers everything."""

    def __init__(self, plan: list[Order]):
        self._plan = plan

    def begin(self, view: View) -> None:
        """Nothing has been done."""
        self._left = list(self._plan)

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """Orders that come before the scheduler's pass."""
        if view.now < LAST:
            yield WakeAt(min((time for time in TIMES if time > view.now), default=LAST))
        yield from self._due(view, before=True)
        if view.now >= LAST:
            yield from (Offer(node) for node in range(view.platform.node_count))

    def react(self, view: View) -> Iterable[PowerDecision]:
        """Orders that come after it."""
        yield from self._due(view, before=False)

    def _due(self, view: View, before: bool) -> Iterable[PowerDecision]:
        kinds = {"on": SwitchOn, "off": SwitchOff, "withhold": Withhold, "offer": Offer}
        now = [order for order in self._left if order[0] <= view.now and order[3] == before]
        self._left = [order for order in self._left if order not in now]
        for _, what, number, _ in now:
            yield kinds[what](number % view.platform.node_count)


def check(case: Case, simulation: Simulation) -> None:
    """All that must hold of the run."""
    result = simulation.run()
    workload = Workload(case.jobs)
    checks.check_times(result, workload)
    assert not (result.jobs["state"] == "unfinished").any()
    checks.check_cores(result)
    checks.check_walltime(result, case.options["enforce_walltime"])
    checks.check_node_states(result)
    checks.check_energy_identities(result)
    checks.check_second_opinion(result, "unused-processors-draw-nothing" in case.options["quirks"])


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@settings(max_examples=20)
@given(case=cases(), plan=orders)
def test_a_policy_that_decides_at_random(scheduler: str, case: Case, plan: list[Order]) -> None:
    """Legal and illegal orders at any time: all jobs complete once everything is offered, and every joule is booked."""
    simulation = Simulation(
        case.platform, Workload(case.jobs), make_scheduler(scheduler), AtRandom(plan), **case.options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CautionWarning)
        warnings.filterwarnings("ignore", "AtRandom, at .* the decision is refused", ModelWarning)
        check(case, simulation)


@pytest.mark.parametrize("policy", [name for name in power_policies if name not in ("power-cap", "learned")])
@settings(max_examples=12)
@given(case=cases(), scheduler=st.sampled_from(SCHEDULERS))
def test_every_policy_beside_every_kind_of_scheduler(policy: str, case: Case, scheduler: str) -> None:
    """The registered ones never ask for what is refused, never stall, and lose no job."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CautionWarning)
        check(case, replace(case, power=policy).simulation(scheduler))


@pytest.mark.parametrize(
    "policy", ["timeout:0", "timeout:1", "keep-ready:0", "off-reservation:0", "inertial:period=1", "random:period=1"]
)
@settings(max_examples=12)
@given(case=cases(), scheduler=st.sampled_from(SCHEDULERS))
def test_policies_that_switch_often(policy: str, case: Case, scheduler: str) -> None:
    """With times as short as the jobs', so that transitions, jobs and stages coincide."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CautionWarning)
        check(case, replace(case, power=policy).simulation(scheduler))


@settings(max_examples=25)
@given(cases(), st.sampled_from(["fcfs", "easy", "pcbe"]))
def test_the_running_sum_of_watts_is_what_the_nodes_draw(case: Case, scheduler: str) -> None:
    """Made anew from the nodes at every fall, the power curve is the same curve."""

    def curve() -> tuple[list[float], list[float]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            power = case.simulation(scheduler).run().power
        return power["time"].tolist(), power["watts"].tolist()

    kept = curve()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cluster_sim.machine.power.power_meter.WATTS_FALL", 1e9)
        anew = curve()
    assert anew[0] == kept[0]
    assert anew[1] == pytest.approx(kept[1], rel=1e-12, abs=1e-9)
