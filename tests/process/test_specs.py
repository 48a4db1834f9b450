"""Specs stand wherever objects do, and a simulation and a registry say what they are."""

from __future__ import annotations

import pytest

from cluster_sim import Platform, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.errors import InputError, SpecError
from cluster_sim.models.contention import contention_models

PLATFORM = Platform.homogeneous(nodes=2, cores=4)


def jobs() -> Workload:
    """Two jobs with a pause between them."""
    columns = {
        "submit_time": [0, 500],
        "requested_cores": [4, 4],
        "recorded_run_time": [9, 9],
        "requested_time": [9, 9],
    }
    return Workload(columns)


def test_a_scheduler_and_a_power_policy_by_their_specs() -> None:
    """The same run as with the objects, under both names of the policy."""
    made = Simulation(PLATFORM, jobs(), make_scheduler("easy:order=sjf"), make_power_policy("timeout:100")).run()
    for power in ({"power": "timeout:100"}, {"power_policy": "timeout:100"}):
        result = Simulation(PLATFORM, jobs(), "easy:order=sjf", **power).run()
        assert result.summary().equals(made.summary())
        assert (result.meta["scheduler"], result.meta["power_policy"]) == ("easy:order=sjf", "timeout:100")


def test_wrong_specs_are_refused() -> None:
    """With the nearest name; and one policy has one name."""
    with pytest.raises(SpecError, match="the nearest is easy"):
        Simulation(PLATFORM, jobs(), "eazy")
    with pytest.raises(InputError, match="power or power_policy, which are the same"):
        Simulation(PLATFORM, jobs(), "easy", "timeout:1", power_policy="timeout:1")


def test_reprs() -> None:
    """Spec and state of a simulation; names and help of a registry, escaped."""
    simulation = Simulation(PLATFORM, jobs(), "easy", power_policy="timeout:100")
    assert repr(simulation) == "<Simulation of 2 jobs on 'homogeneous' under easy, timeout:100, at 0 s>"
    assert "gompertz, none, piecewise, roofline" in repr(contention_models)
    assert "<td>piecewise</td>" in contention_models._repr_html_()


def test_a_workload_as_tables_are_used() -> None:
    """A mapping for each job, columns by name, rows in a loop, and a name that is not there with the nearest one."""
    rows = [
        {"submit_time": 0, "requested_cores": 2, "recorded_run_time": 9},
        {"submit_time": 5, "requested_cores": 1, "recorded_run_time": 8},
    ]
    made = Workload(rows, name="<b>two</b>")
    assert made["submit_time"].tolist() == [0.0, 5.0]
    assert [job.requested_cores for job in made] == [2, 1]
    assert len(made.head(1)) == 1
    assert repr(made) == "<Workload '<b>two</b>': 2 jobs submitted within 5 s, at most 2 cores each>"
    assert "&lt;b&gt;two&lt;/b&gt;" in made._repr_html_()
    with pytest.raises(KeyError, match="submit: expected submit_time"):
        made["submit"]
    with pytest.raises(InputError, match="a mapping for each job"):
        Workload([1, 2])  # type: ignore[list-item]
    result = Simulation(PLATFORM, made, "easy").run(warn=False)
    assert "2 jobs" in result._repr_html_()
    assert repr(PLATFORM) == "<Platform 'homogeneous': 1 cluster, 2 nodes, 2 processors, 8 cores>"
