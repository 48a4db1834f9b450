"""Textbook cases: what their sources say comes out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cluster_sim import Platform, Workload, examples
from cluster_sim.errors import InputError


@pytest.mark.parametrize("name", examples.names())
def test_what_the_source_says_comes_out(name: str) -> None:
    """Every published or hand-worked start and metric of the case is what the simulation gives."""
    case = examples.case(name)
    assert case.check() == []
    assert case.source
    assert {expected.source for expected in case.expected} <= {"published", "hand-worked"}


def test_another_answer_is_noticed() -> None:
    """A case whose expectation is off by a second says which number it is."""
    case = examples.case("graham-nine")
    wrong = replace(case, expected=(replace(case.expected[0], metrics={"makespan_s": 13}, starts={"T9": 2.0}),))
    assert wrong.check() == [
        "graham-nine, list:first/first,blocking=no: start of T9 is 3, not 2",
        "graham-nine, list:first/first,blocking=no: makespan_s is 12, not 13",
    ]


def test_contention_of_lu_on_the_slow_node() -> None:
    """Herrera's model by hand: four tasks ask for 35152 MB/s, 3152 too much, and lose 1.85e-5 of their speed for each."""
    times = examples.case("lu-on-two-nodes").run("fcfs").jobs.set_index("job_id")["run_time"]
    alone = round(370.25e10 / 2.20) / 1.7e9
    speedup = 1 - 1.85e-5 * (4 * 8_700_000 / alone - 32_000)
    assert times["lu4"] == pytest.approx(alone / speedup, rel=1e-9)


def test_the_optima_that_the_cases_name() -> None:
    """Longest first reaches Graham's 4/3 - 1/(3m) against the optimum, which the exact search finds."""
    from schedulers.optimum import optimum

    for name, processors in (("lpt-two", 2), ("lpt-three", 3)):
        case = examples.case(name)
        best = optimum(case.platform, case.workload, "makespan")
        longest_first = case.run("ljf").summary()["makespan_s"]
        assert best.proven
        assert longest_first / best.value == pytest.approx(4 / 3 - 1 / (3 * processors))
    experiment = examples.case("experiment-1")
    assert optimum(experiment.platform, experiment.workload, "energy").value == pytest.approx(2852.83, abs=0.005)


def test_a_case_can_be_written_for_the_command_line(tmp_path: Path) -> None:
    """The files read back as the same platform and the same jobs."""
    case = examples.case("memory-and-compute")
    platform, workload = case.write(tmp_path / "case")
    assert Platform.read(platform) == case.platform
    assert Workload.read(str(workload)).jobs.equals(case.workload.jobs)


def test_an_unknown_case_lists_the_known_ones() -> None:
    """The message has the names that there are."""
    with pytest.raises(InputError, match=r"expected one of .*graham-nine.*, found graham-ten"):
        examples.case("graham-ten")
