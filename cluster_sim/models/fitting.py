"""Parameters of the contention and power models from measurements of a real machine, by regression.

The method is that of Herrera et al. (2021, §III-B). *Contention*: run a benchmark of steady memory traffic beside
others of the same kind, at several bandwidths and numbers of tasks. For each run note the bandwidth that the task of
interest has alone, how many others ran, and the sum of what all have alone. Note also the rate that it reached,
relative to running alone. *Power*: run 1 … all cores of a processor compute-bound and note the watts; the line through
them is the model.

Fitting contention needs scipy (the extra ``fit``); power needs nothing more than numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from cluster_sim.errors import FormatError, InputError, SpecError
from cluster_sim.extras import needed
from cluster_sim.models.fitting_curves import CURVES
from cluster_sim.platform.hardware import LINEAR_POWER

Floats = npt.NDArray[np.float64]
Measurements = pd.DataFrame | Mapping[str, Sequence[float]]

CONTENTION_COLUMNS = ("bandwidth", "others", "total", "speedup")
POWER_COLUMNS = ("busy_cores", "watts")
_POLYNOMIAL = ("p00", "p10", "p01", "p20", "p11", "p02")


@dataclass(frozen=True)
class Fit:
    """Parameters estimated from measurements, and how well they explain them.

    Attributes
    ----------
    model : spec of the model that the parameters belong to.
    parameters : name -> value, as ``ProcessorType`` takes them for ``contention`` or ``power``.
    standard_errors : name -> standard error from the curvature at the optimum, where the data determine the parameter.
    measurements : the measurements used, with the columns ``fitted`` and ``residual`` (measured - fitted) added.
    observed : the column that was fitted, ``speedup`` or ``watts``.
    """

    model: str
    parameters: Mapping[str, float]
    standard_errors: Mapping[str, float]
    measurements: pd.DataFrame
    observed: str

    @property
    def rmse(self) -> float:
        """Return the root mean square residual, in the unit of what was fitted."""
        return float(np.sqrt((self.measurements["residual"] ** 2).mean()))

    @property
    def r_squared(self) -> float:
        """Return the share of the variance that the fit explains; 1 when there is none."""
        observed = self.measurements[self.observed]
        spread = float(((observed - observed.mean()) ** 2).sum())
        return 1.0 - float((self.measurements["residual"] ** 2).sum()) / spread if spread > 0.0 else 1.0

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value:.6g}" for name, value in self.parameters.items())
        return (
            f"{self.model}: {values} (R² {self.r_squared:.4f}, RMSE {self.rmse:.3g}, {len(self.measurements)} points)"
        )


# ---------------------------------------------------------------------- contention


def fit_contention(
    measurements: Measurements,
    model: str = "piecewise",
    *,
    k: float = 0.6,
    unit: float = 1000.0,
    factor: float = 0.9,
    starts: int = 12,
    seed: int = 0,
) -> Fit:
    """Fit the parameters of a contention model for one processor.

    Parameters
    ----------
    measurements : one row per run, with the columns ``bandwidth`` (of the task of interest alone, MB/s), ``others``
        (tasks running beside it), ``total`` (sum of what all tasks have alone, MB/s) and ``speedup`` (its rate over
        its rate alone).
    model : ``piecewise``, ``gompertz`` or ``roofline``. For ``roofline`` all tasks of a run are taken to be alike.
    k : of ``piecewise``. ``unit``, ``factor`` : of ``gompertz``.
    starts, seed : least squares has local optima; it starts this often, from places drawn with the seed.

    Raises InputError when the measurements cannot determine the parameters, MissingLibraryError without scipy.
    """
    data = _table(measurements, CONTENTION_COLUMNS)
    if model not in CURVES:
        raise SpecError("fit_contention, model", f"one of {', '.join(CURVES)}", model)
    if (data["speedup"] <= 0).any() or (data["bandwidth"] < 0).any() or (data["others"] < 0).any():
        raise InputError("fit_contention, measurements", "speedups above 0, bandwidths and others not below 0")
    if (data["speedup"] > 1.0 - 1e-6).all():
        raise InputError(
            "fit_contention, measurements", "some speedup below 1: nothing was slowed, there is nothing to fit"
        )
    curve = CURVES[model](data, {"k": k, "unit": unit, "factor": factor})
    if len(data) < len(curve.names):
        raise InputError("fit_contention, measurements", f"at least {len(curve.names)} of them", len(data))
    observed = data["speedup"].to_numpy()
    with needed("fit_contention", "scipy"):
        from scipy.optimize import least_squares

    def residuals(x: Floats) -> Floats:
        return np.asarray(curve.speedups(x) - observed)

    rng = np.random.default_rng(seed)
    optima = [
        least_squares(residuals, curve.start(rng), x_scale="jac", max_nfev=2000, xtol=1e-12, ftol=1e-12, gtol=1e-12)
        for _ in range(max(1, starts))
    ]
    best = min(optima, key=lambda fit: float(fit.cost))
    parameters = dict(zip(curve.names, curve.parameters(best.x).tolist(), strict=True))
    if parameters.get("b", -1.0) >= 0.0:
        raise InputError("fit_contention, measurements", "speedups that fall as the total bandwidth grows")
    spread = _spread(best.jac, best.fun, curve.jacobian(best.x))
    options = {"piecewise": f":k={k:g}", "gompertz": f":unit={unit:g},factor={factor:g}", "roofline": ""}[model]
    errors = dict(zip(curve.names, spread.tolist(), strict=True))
    return _fit(model + options, parameters, errors, data, "speedup", curve.speedups(best.x))


def _spread(jacobian: Floats, residuals: Floats, change: Floats) -> Floats:
    """Return standard errors of parameters: nan where the measurements do not determine them."""
    freedom = max(1, len(residuals) - jacobian.shape[1])
    _, singular, rows = np.linalg.svd(jacobian, full_matrices=False)
    # The derivatives are differences of floats, good to some eight digits: what is smaller is nothing.
    determined = singular > 1e-7 * max(singular.max(), 1e-300)
    inverse = np.where(determined, 1.0 / np.where(determined, singular, 1.0), np.inf)
    with np.errstate(invalid="ignore"):
        loads = np.abs(change @ rows.T)
        loads = np.where(loads > 1e-9 * loads.max(axis=1, keepdims=True), loads, 0.0)
        error = np.sqrt(np.nansum((loads * inverse) ** 2, axis=1) * float(residuals @ residuals) / freedom)
    return np.where(np.isfinite(error), error, np.nan)


# ---------------------------------------------------------------------- power


def fit_power(measurements: Measurements, model: str = "linear") -> Fit:
    """Fit the parameters of a power model for one processor.

    Parameters
    ----------
    measurements : one row per run, with the columns ``busy_cores`` and ``watts``; for ``polynomial`` also ``total``,
        the memory bandwidth of all tasks together (MB/s).
    model : ``linear`` (static_w, dynamic_w, min_power): the line is fitted to the rows with busy cores; rows with none
        give ``min_power``, the idle watts relative to ``static_w`` (1 without such rows: the processor then draws its
        static watts when idle, as in Herrera et al. 2021). ``polynomial`` (idle_w, p00 … p02): the quadratic surface
        over tasks and bandwidth; ``idle_w`` is the mean of the idle rows, and must be measured.

    Raises InputError when the measurements cannot determine the parameters (for the line: two numbers of busy cores),
    and when the line starts at or below 0 W, rises towards fewer cores, or the idle watts lie above its start: no
    parameters of the model do that.
    """
    if model == "polynomial":
        return _fit_polynomial(_table(measurements, (*POWER_COLUMNS, "total")))
    if model != "linear":
        raise SpecError("fit_power, model", "linear or polynomial", model)
    data = _table(measurements, POWER_COLUMNS)
    cores, watts = data["busy_cores"].to_numpy(), data["watts"].to_numpy()
    busy = cores > 0
    if len(np.unique(cores[busy])) < 2:
        raise InputError("fit_power, measurements", "two different numbers of busy cores", cores.tolist())
    design = np.column_stack((np.ones(int(busy.sum())), cores[busy]))
    (static, dynamic), *_ = np.linalg.lstsq(design, watts[busy], rcond=None)
    least = float(watts[~busy].mean() / static) if (~busy).any() else 1.0
    if not (static > 0.0 and dynamic >= 0.0):
        raise InputError("fit_power, measurements", "watts that rise with the busy cores from above 0", watts.tolist())
    if not 0.0 <= least <= 1.0 + 1e-9:
        raise InputError("fit_power, measurements", f"idle watts from 0 to {static:g}", float(watts[~busy].mean()))
    least = min(least, 1.0)
    residuals = watts[busy] - design @ np.array([static, dynamic])
    freedom = max(1, len(residuals) - 2)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * float(residuals @ residuals) / freedom)
    fitted = np.where(busy, static + dynamic * cores, least * static)
    parameters = dict(zip(LINEAR_POWER, (float(static), float(dynamic), least), strict=True))
    spread = dict(zip(LINEAR_POWER[:2], errors.tolist(), strict=True))
    return _fit("linear", parameters, spread, data, "watts", fitted)


def _fit_polynomial(data: pd.DataFrame) -> Fit:
    cores, watts = data["busy_cores"].to_numpy(), data["watts"].to_numpy()
    busy = cores > 0
    if busy.all():
        raise InputError("fit_power, measurements", "a row with no busy core: the idle watts have no other source")
    n, gb = cores, data["total"].to_numpy() / 1000.0
    design = np.column_stack((np.ones_like(n), gb, n, gb * gb, gb * n, n * n))
    solution, _, rank, _ = np.linalg.lstsq(design[busy], watts[busy], rcond=None)
    if rank < design.shape[1]:
        expected = "runs with three numbers of busy cores and three bandwidths, crossed"
        raise InputError("fit_power, measurements", expected, f"{rank} of 6 coefficients determined")
    residuals = watts[busy] - design[busy] @ solution
    scatter = float(residuals @ residuals) / max(1, len(residuals) - 6)
    errors = np.sqrt(np.diag(np.linalg.pinv(design[busy].T @ design[busy])) * scatter)
    idle = float(watts[~busy].mean())
    parameters = {"idle_w": idle, **dict(zip(_POLYNOMIAL, solution.tolist(), strict=True))}
    spread = dict(zip(_POLYNOMIAL, errors.tolist(), strict=True))
    return _fit("polynomial", parameters, spread, data, "watts", np.where(busy, design @ solution, idle))


# ---------------------------------------------------------------------- tables


def _table(measurements: Measurements, columns: Sequence[str]) -> pd.DataFrame:
    """Return the columns as finite floats, in a table of our own."""
    data = measurements if isinstance(measurements, pd.DataFrame) else pd.DataFrame(dict(measurements))
    for name in columns:
        if name not in data:
            raise FormatError("measurements", f"a column {name}", f"only {', '.join(map(str, data.columns)) or 'none'}")
    try:
        table = data[list(columns)].astype(np.float64).reset_index(drop=True)
    except (TypeError, ValueError):
        raise FormatError("measurements", f"numbers in the columns {', '.join(columns)}") from None
    bad = ~np.isfinite(table.to_numpy()).all(axis=1)
    if bad.any() or not len(table):
        found = f"row {int(bad.argmax())}" if len(table) else "no rows"
        raise FormatError("measurements", f"finite {', '.join(columns)} in every row", found)
    return table


def _fit(
    model: str,
    parameters: Mapping[str, float],
    errors: Mapping[str, float],
    data: pd.DataFrame,
    observed: str,
    fitted: Floats,
) -> Fit:
    data["fitted"] = fitted
    data["residual"] = data[observed] - data["fitted"]
    return Fit(model, parameters, errors, data, observed)
