"""Parameters that are known come back from measurements made with them, exact ones exactly, noisy ones within their error."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis import plot_fit
from cluster_sim import Platform
from cluster_sim.errors import FormatError, InputError, MissingLibraryError, SpecError
from cluster_sim.models.contention import contention_models
from cluster_sim.models.fitting import CONTENTION_COLUMNS, fit_contention, fit_power
from cluster_sim.models.power import power_models
from cluster_sim.platform import ProcessorType
from cluster_sim.platform.hardware import GOMPERTZ_CONTENTION

pytest.importorskip("scipy")

# Herrera et al. (2021), Table III.
PIECEWISE = {"b": -1.85e-5, "c": 32000.0, "da": 1.75, "db": 3500.0, "dc": 45000.0, "dd": 3000.0}
GOMPERTZ = dict.fromkeys(GOMPERTZ_CONTENTION, 0.0) | {
    "abb": -92.1, "bbb": 1.0, "ccb": 1.0, "cca": -0.004, "cbb": 14.7, "cba": -19.8, "cab": -815.0, "caa": 495.0,
    "dbb": 0.0186, "dab": 0.7,
}  # fmt: skip


def measured(
    model: str, parameters: dict[str, float], bandwidths: list[float], noise: float = 0.0, cores: int = 4
) -> pd.DataFrame:
    """What a benchmark would show on a processor that is exactly like the model: a task beside 0 to 3 equal others."""
    processor = ProcessorType("p", cores, 3.0, contention=parameters)
    law, rng = contention_models.make(model), np.random.default_rng(1)
    rows = []
    for others in range(cores):
        for own in bandwidths:
            for beside in bandwidths if others else [0.0]:
                groups = [(1, own), (others, beside)] if others else [(1, own)]
                speedup = law.speedups(processor, groups)[0] + noise * rng.standard_normal()
                rows.append((own, others, own + others * beside, speedup))
    return pd.DataFrame(rows, columns=list(CONTENTION_COLUMNS))


BANDWIDTHS = np.linspace(1000.0, 40_000.0, 10).tolist()


def test_piecewise_parameters_come_back() -> None:
    """From clean measurements to nine digits, ready for a platform."""
    fit = fit_contention(measured("piecewise", PIECEWISE, BANDWIDTHS))
    assert dict(fit.parameters) == pytest.approx(PIECEWISE, rel=1e-9)
    assert fit.r_squared == pytest.approx(1.0)
    assert fit.rmse < 1e-9
    assert fit.model == "piecewise:k=0.6"
    Platform.homogeneous(1, 4, contention=fit.parameters)


def test_piecewise_with_another_k() -> None:
    """k is not fitted but given: the paper prints 1, its group's numbers need 0.6."""
    fit = fit_contention(measured("piecewise:k=1", PIECEWISE, BANDWIDTHS), k=1.0)
    assert dict(fit.parameters) == pytest.approx(PIECEWISE, rel=1e-9)


def test_noise_is_told_from_parameters() -> None:
    """With 1 % noise every parameter lies within four standard errors, and the RMSE is the noise."""
    fit = fit_contention(measured("piecewise", PIECEWISE, BANDWIDTHS, noise=0.01))
    assert fit.rmse == pytest.approx(0.01, rel=0.15)
    for name, truth in PIECEWISE.items():
        assert abs(fit.parameters[name] - truth) < 4 * fit.standard_errors[name], name


def test_gompertz_parameters_come_back() -> None:
    """The eighteen parameters, from a grid fine enough to tell them apart; the law that they make is the same."""
    bandwidths = np.linspace(1000.0, 19_000.0, 8).tolist()
    fit = fit_contention(measured("gompertz:unit=1e6", GOMPERTZ, bandwidths), "gompertz", unit=1e6)
    assert fit.rmse < 1e-6
    for name in ("abb", "bbb", "ccb", "cba", "cbb", "cab", "caa", "dbb", "dab"):
        assert fit.parameters[name] == pytest.approx(GOMPERTZ[name], rel=1e-2), name
    theirs, ours = (ProcessorType("p", 4, 1.0, contention=c) for c in (GOMPERTZ, fit.parameters))
    for own in (2500.0, 9000.0, 17_500.0):
        groups = [(1, own), (2, 11_000.0)]
        speedups = [contention_models.make(fit.model).speedups(kind, groups) for kind in (theirs, ours)]
        assert speedups[0] == pytest.approx(speedups[1], abs=1e-4)


def test_roofline_capacity_comes_back() -> None:
    """Equal tasks, more and more of them: the capacity is where it bends."""
    tasks = np.arange(1, 17)
    data = {
        "bandwidth": np.full(16, 2500.0), "others": tasks - 1, "total": 2500.0 * tasks,
        "speedup": np.minimum(1.0, 25_600.0 / (2500.0 * tasks)),
    }  # fmt: skip
    fit = fit_contention(data, "roofline")
    assert fit.parameters["bandwidth"] == pytest.approx(25_600.0)


def test_what_the_data_do_not_say_has_no_error() -> None:
    """With one number of other tasks the fall of onset and width per task cannot be known."""
    data = measured("piecewise", PIECEWISE, BANDWIDTHS, noise=0.005)
    fit = fit_contention(data[data["others"] == 3])
    assert np.isnan(fit.standard_errors["db"])
    assert np.isfinite(fit.standard_errors["b"])
    assert fit.rmse < 0.006


def test_power_line_comes_back() -> None:
    """Table III at 3.4 GHz: 6.14211 W per core and 5.59316 W for all; idle rows give min_power."""
    cores = np.arange(1, 5)
    fit = fit_power({"busy_cores": cores, "watts": 6.14211 * cores + 5.59316})
    assert dict(fit.parameters) == pytest.approx({"static_w": 5.59316, "dynamic_w": 6.14211, "min_power": 1.0})
    with_idle = fit_power({"busy_cores": [0, *cores], "watts": [2.0, *(6.14211 * cores + 5.59316)]})
    assert with_idle.parameters["min_power"] == pytest.approx(2.0 / 5.59316)
    Platform.homogeneous(1, 4, power=with_idle.parameters)


def test_power_with_noise() -> None:
    """Within four standard errors."""
    rng = np.random.default_rng(3)
    cores = np.repeat(np.arange(1, 17), 5)
    fit = fit_power({"busy_cores": cores, "watts": 35.108 + 3.313 * cores + rng.normal(0.0, 1.0, cores.size)})
    for name, truth in (("static_w", 35.108), ("dynamic_w", 3.313)):
        assert abs(fit.parameters[name] - truth) < 4 * fit.standard_errors[name]


def test_polynomial_power_comes_back() -> None:
    """The six coefficients and the idle watts, and the model says what was measured."""
    truth = {"idle_w": 0.957, "p00": 4.457, "p10": 1.996, "p01": 4.29, "p20": -0.01729, "p11": -0.0175, "p02": -0.0121}
    rows = [(0.0, 0.0, truth["idle_w"])]
    for n in range(1, 5):
        for gb in (0.0, 5.0, 12.0, 30.0):
            p = truth
            watts = p["p00"] + p["p10"] * gb + p["p01"] * n + p["p20"] * gb**2 + p["p11"] * gb * n + p["p02"] * n**2
            rows.append((n, 1000.0 * gb, watts))
    fit = fit_power(pd.DataFrame(rows, columns=["busy_cores", "total", "watts"]), "polynomial")
    assert dict(fit.parameters) == pytest.approx(truth, rel=1e-8)
    model: Any = power_models.make("polynomial")
    processor = ProcessorType("p", 4, 1.0, power=fit.parameters)
    shared, own = model.loaded_watts(processor, [(2, 6000.0, 1.0)])
    measured_watts = next(watts for n, total, watts in rows if (n, total) == (2, 12_000.0))
    assert shared + sum(own) == pytest.approx(measured_watts)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"speedup": None}, FormatError, "a column speedup"),
        ({"speedup": ["fast"] * 8}, FormatError, "numbers"),
        ({"speedup": [float("nan")] * 8}, FormatError, "row 0"),
        ({"speedup": [1.0] * 8}, InputError, "nothing was slowed"),
        ({"speedup": [-0.5] * 8}, InputError, "above 0"),
        ({"others": [-1] * 8}, InputError, "not below 0"),
    ],
)
def test_measurements_that_cannot_be_fitted(change: dict[str, Any], error: type[Exception], match: str) -> None:
    """Each says what is wrong with them."""
    data: dict[str, Any] = {"bandwidth": [100.0] * 8, "others": [1] * 8, "total": [200.0] * 8, "speedup": [0.5] * 8}
    data = {name: values for name, values in (data | change).items() if values is not None}
    with pytest.raises(error, match=match):
        fit_contention(data)


def test_other_impossible_requests() -> None:
    """Too few rows, unknown models, a line that no parameters make."""
    few = {"bandwidth": [100.0], "others": [1], "total": [200.0], "speedup": [0.5]}
    with pytest.raises(InputError, match="at least 6"):
        fit_contention(few)
    with pytest.raises(SpecError, match="piecewise"):
        fit_contention(few, "cubic")
    with pytest.raises(SpecError, match="polynomial"):
        fit_power({"busy_cores": [1, 2], "watts": [1, 2]}, "cubic")
    for watts in ([10.0, 5.0], [1.0, 5.0]):
        with pytest.raises(InputError, match="rise"):
            fit_power({"busy_cores": [1, 2], "watts": watts})
    with pytest.raises(InputError, match="two different"):
        fit_power({"busy_cores": [0, 2], "watts": [1.0, 5.0]})
    with pytest.raises(InputError, match="idle watts"):
        fit_power({"busy_cores": [0, 1, 2], "watts": [50.0, 11.0, 12.0]})
    with pytest.raises(InputError, match="no other source"):
        fit_power({"busy_cores": [1, 2], "watts": [1, 2], "total": [0, 0]}, "polynomial")


def test_without_scipy_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra to install stands in the message."""
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **options: Any) -> Any:
        if name.startswith("scipy"):
            raise ImportError(name)
        return real(name, *rest, **options)

    for name in [name for name in sys.modules if name.startswith("scipy")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingLibraryError, match=r"cluster-sim\[fit\]"):
        fit_contention(measured("piecewise", PIECEWISE, BANDWIDTHS[::3]))


def test_the_figure_shows_fit_and_residuals() -> None:
    """Measured and fitted points per number of tasks above, residuals below; power as a line."""
    fit = fit_contention(measured("piecewise", PIECEWISE, BANDWIDTHS[::2], noise=0.01))
    figure = plot_fit(fit)
    names = [trace.name for trace in figure.data]
    assert names[:3] == ["0 other tasks", "0 other tasks, fitted", "0 other tasks"]
    assert len(names) == 12
    residuals = np.concatenate([trace.y for trace in figure.data if trace.yaxis == "y2"])
    assert np.sort(residuals) == pytest.approx(np.sort(fit.measurements["residual"].to_numpy()))
    assert "R²" in figure.layout.title.text

    power = plot_fit(fit_power({"busy_cores": [0, 1, 2], "watts": [3.0, 10.0, 12.0]}), title="mine")
    assert power.data[1].mode == "lines"
    assert power.data[1].y.tolist() == pytest.approx([3.0, 10.0, 12.0])
    assert power.layout.title.text == "mine"


def test_many_numbers_of_tasks_share_colours() -> None:
    """Seven colours tell seven series apart; the highest numbers of tasks are one."""
    tasks = np.arange(1, 13)
    data = {
        "bandwidth": np.full(12, 10.0), "others": tasks - 1, "total": 10.0 * tasks,
        "speedup": np.minimum(1.0, 50.0 / (10.0 * tasks)),
    }  # fmt: skip
    figure = plot_fit(fit_contention(data, "roofline"))
    assert len(figure.data) == 21
    assert figure.data[-1].name == "6 to 11 other tasks"
