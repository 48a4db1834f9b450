"""Cost of a finished run up to any of its times: joules, and the price of waiting."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cluster_sim.run.simulation import Simulation

Floats = npt.NDArray[np.float64]


class RuleCost:
    """Cost of a rule's run, J, as a function of time: its energy and ``price`` J for every second that a job waited.

    With ``of_waste`` the cores of running jobs draw nothing: each of their core-seconds has the same share of what the run
    did not waste by core. ``total`` is the cost of the whole run.
    """

    def __init__(self, run: Simulation, price: float, of_waste: bool):
        result = run.result()
        jobs, power = result.jobs[result.jobs["start_time"].notna()], result.power
        times, watts = power["time"].to_numpy(), power["watts"].to_numpy()
        submit, start, finish = (jobs[f"{name}_time"].to_numpy() for name in ("submit", "start", "finish"))
        finish = np.where(np.isnan(finish), times[-1], finish)  # the run stopped before the job
        self._times = np.unique(np.concatenate([times, submit, start, finish]))
        joules = np.interp(self._times, times, np.concatenate([[0.0], np.cumsum(watts[:-1] * np.diff(times))]))
        if of_waste:
            cores = jobs["requested_cores"].to_numpy(np.float64)
            busy = _passed_since(self._times, start, cores) - _passed_since(self._times, finish, cores)
            joules -= busy * (joules[-1] - result.metrics["energy_waste_by_core_j"]) / max(busy[-1], 1.0)
        ones = np.ones(len(jobs))
        waits = _passed_since(self._times, submit, ones) - _passed_since(self._times, start, ones)
        self._costs = joules + price * waits
        self.total = float(self._costs[-1])

    def until(self, time: float) -> float:
        """Return the cost up to a time (s), J."""
        return float(np.interp(time, self._times, self._costs))


def _passed_since(times: Floats, since: Floats, weights: Floats) -> Floats:
    """Return at each time the seconds since each of some instants before it, times their weights, summed."""
    order = np.argsort(since, kind="stable")
    before = np.searchsorted(since[order], times)
    weight = np.concatenate([[0.0], np.cumsum(weights[order])])[before]
    passed: Floats = times * weight - np.concatenate([[0.0], np.cumsum((weights * since)[order])])[before]
    return passed
