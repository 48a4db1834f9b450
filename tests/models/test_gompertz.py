"""The Gompertz contention model: its formula at hand-worked points, its limits, and what keeps it within bounds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import InputError, SpecError
from cluster_sim.models.contention import contention_models
from cluster_sim.models.gompertz import SLOWEST
from cluster_sim.platform import ProcessorType
from cluster_sim.platform.hardware import GOMPERTZ_CONTENTION

# Of the quad-core nodes that come as an example with the public program.
EXAMPLE = dict.fromkeys(GOMPERTZ_CONTENTION, 0.0) | {
    "abb": -92.130488, "bbb": 1.0, "ccb": 1.0, "cca": -0.004, "cbb": 14.7, "cba": -19.8, "cab": -815.0, "caa": 495.0,
    "dbb": 0.0186, "dab": 0.7,
}  # fmt: skip
QUAD = ProcessorType("quad", 4, 3.4, contention=EXAMPLE)
MODEL = "gompertz:unit=1e6"


def speedup(*groups: tuple[int, float], model: str = MODEL) -> float:
    """Speedup of the first group on the example's processor."""
    return contention_models.make(model).speedups(QUAD, groups)[0]


def test_a_point_worked_by_hand() -> None:
    """Four tasks of 17,300 MB/s: x = 0.0173, X = 0.0692, n = 3.

    c = 1 - 0.012 + (14.7 - 59.4)·0.0173 + (1485 - 815)·0.00029929 = 0.4152; d = 0.0186 + 0.01211 = 0.03071;
    a·(X - d) = -92.130488·0.03849 = -3.5461; exp(-exp(-3.5461)) = 0.97159; 1 - 0.9·0.5848·0.97159 = 0.4886.
    """
    assert speedup((4, 17_300.0)) == pytest.approx(0.4886, abs=2e-4)
    assert speedup((4, 17_300.0), model=f"{MODEL},factor=1") == pytest.approx(1 - 0.5848 * 0.97159, abs=2e-4)


def test_every_parameter_counts_as_documented() -> None:
    """Each letter of a name says which coefficient, which power of x, and whether per other task."""
    x, total, n = 0.3, 1.1, 2

    def formula(p: dict[str, float]) -> float:
        a = p["abb"] + n * p["aba"] + (p["aab"] + n * p["aaa"]) * x
        b = p["bbb"] + n * p["bba"] + (p["bab"] + n * p["baa"]) * x
        c = p["ccb"] + n * p["cca"] + (p["cbb"] + n * p["cba"]) * x + (p["cab"] + n * p["caa"]) * x**2
        d = p["dbb"] + n * p["dba"] + (p["dab"] + n * p["daa"]) * x
        return b + 0.9 * (c - b) * math.exp(-math.exp(a * (total - d)))

    base = dict.fromkeys(GOMPERTZ_CONTENTION, 0.01) | {"abb": -2.0, "bbb": 0.9, "ccb": 0.2, "dbb": 0.5}
    for name in GOMPERTZ_CONTENTION:
        parameters = base | {name: base[name] + 0.05}
        processor = ProcessorType("p", 3, 1.0, contention=parameters)
        found = contention_models.make("gompertz").speedups(processor, [(1, 300.0), (2, 400.0)])[0]
        assert found == pytest.approx(formula(parameters), rel=1e-12), name


def test_limits() -> None:
    """No traffic slows nothing; a lone task is hardly slowed; much traffic leads to b + factor·(c - b)."""
    assert contention_models.make(MODEL).speedups(QUAD, [(4, 0.0)]) == [1.0]
    assert speedup((1, 15_000.0)) == pytest.approx(1.0, abs=0.01)
    flat = ProcessorType(
        "flat", 4, 1.0, contention=EXAMPLE | {"cbb": 0.0, "cba": 0.0, "cab": 0.0, "caa": 0.0, "ccb": 0.4}
    )
    endless = contention_models.make(MODEL).speedups(flat, [(1, 1.0), (3, 1e6)])[0]
    assert endless == pytest.approx(1 - 0.9 * (0.6 + 3 * 0.004), rel=1e-9)


@given(st.floats(1.0, 19_000.0), st.floats(0.0, 19_000.0), st.floats(0.0, 19_000.0))
def test_more_traffic_beside_a_task_slows_it_more(own: float, less: float, more: float) -> None:
    """Within the range of the fit the speedup falls with the total bandwidth."""
    low, high = sorted((less, more))
    assert speedup((1, own), (3, high)) <= speedup((1, own), (3, low)) + 1e-12


@given(st.lists(st.tuples(st.integers(1, 100), st.floats(0.0, 1e12)), min_size=1, max_size=5))
def test_never_stops_and_never_gains(groups: list[tuple[int, float]]) -> None:
    """Far outside the range of the fit, where the formula is negative or above 1, the result is still a speedup."""
    for model in (MODEL, "gompertz"):
        assert all(SLOWEST <= s <= 1.0 for s in contention_models.make(model).speedups(QUAD, groups))


def test_all_eighteen_parameters_or_none() -> None:
    """A platform with some of them is refused by name; a processor without any does not contend."""
    with pytest.raises(InputError, match="no aaa"):
        Platform.homogeneous(1, 2, contention={"abb": 1.0}, contention_model="gompertz")
    assert contention_models.make("gompertz").speedups(ProcessorType("q", 4, 1.0), [(4, 1e6)]) == [1.0]
    for option in ("unit=0", "factor=0", "unit=-1"):
        with pytest.raises(SpecError, match="above 0"):
            contention_models.make(f"gompertz:{option}")


def test_a_run_takes_the_time_the_formula_says() -> None:
    """Four equal tasks on a quad-core end together, at their work over their speedup."""
    platform = Platform.homogeneous(1, 4, 3.4, contention=EXAMPLE, contention_model=MODEL)
    jobs = {"submit_time": [0.0], "requested_cores": [4], "operations": [34e9], "mem_vol": [173_000.0]}
    result = Simulation(platform, Workload(jobs), make_scheduler("fcfs")).run()
    assert result.jobs["finish_time"].tolist() == pytest.approx([10.0 / speedup((4, 17_300.0))])
