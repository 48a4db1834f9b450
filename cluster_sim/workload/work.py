"""How much work the jobs of a workload really are, on cores of any rate."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from cluster_sim.workload.phases import Phase, parse_phases
from cluster_sim.workload.speedup import time_ratio


class Work:
    """How much work each job of a workload really is: what schedulers do not get to see."""

    in_phases: bool = property(attrgetter("_in_phases"), doc="Whether any job asks for memory now more, now less.")  # type: ignore[assignment]

    def __init__(self, columns: dict[str, Any], reference_ops_per_s: float):
        self._columns = columns
        self._reference = reference_ops_per_s
        self._only_recorded = bool(np.isnan(columns["operations"]).all()) and not columns["fixed_run_time"].any()
        self._in_phases = bool((columns["phases"] != "").any())
        self._bind()

    def _bind(self) -> None:
        columns = self._columns
        self._phases = columns["phases"] if self._in_phases else None
        self._comm_vol = columns["comm_vol"]
        self._operations = columns["operations"]
        self._recorded = columns["recorded_run_time"]
        self._fixed = columns["fixed_run_time"]
        self._mem_vol = columns["mem_vol"]
        self._cores = columns["requested_cores"]
        self._speedup = columns["speedup"]

    def add(self, index: int) -> None:
        """Add one more job of the columns, at ``index``."""
        columns = self._columns
        given, fixed = columns["operations"][index] == columns["operations"][index], columns["fixed_run_time"][index]
        self._only_recorded = self._only_recorded and not given and not fixed
        self._in_phases = self._in_phases or columns["phases"][index] != ""
        self._bind()

    def seconds(self, index: int, ops_per_s: float) -> float:
        """Return the uncontended run time of a task of the job on a core of that rate, s.

        Where operations are not given, the recorded time is scaled by the ratio of the rates, which is exactly 1 on the
        reference core; going through operations and back would round. A fixed run time is not scaled.
        """
        if self._only_recorded:
            return float(self._recorded.item(index) * (self._reference / ops_per_s))
        operations = self._operations.item(index)
        if operations == operations:
            return float(operations / ops_per_s)
        if self._fixed.item(index):
            return float(self._recorded.item(index))
        return float(self._recorded.item(index) * (self._reference / ops_per_s))

    def is_fixed(self, index: int) -> bool:
        """Return whether the job takes its time on any core, at any clock."""
        operations = self._operations.item(index)
        return bool(self._fixed.item(index)) and operations != operations

    def comm_vol(self, index: int) -> float:
        """Return MB that each task exchanges with other nodes."""
        return float(self._comm_vol.item(index))

    def time_ratio(self, index: int, cores: int) -> float:
        """Return how many times as long the job takes on that many cores as on those that it requested."""
        return time_ratio(str(self._speedup[index]), self._cores.item(index), cores)

    def stretch_of(self, index: int, ops_per_s: float, begin: float, share: float, cores: int) -> list[Phase]:
        """Return the phases of a part of the job's work, which begins when ``begin`` of it (0 to 1) is done.

        The job's memory traffic is shared out evenly over its tasks, however many there are.
        """
        ratio = self.time_ratio(index, cores)
        thinner = self._cores.item(index) / cores / ratio if ratio > 0.0 else 0.0
        phases = self.phases(index, ops_per_s)
        if len(phases) == 1:
            return [(seconds * ratio * share, bandwidth * thinner) for seconds, bandwidth in phases]
        whole = sum(seconds for seconds, _ in phases)
        cut: list[Phase] = []
        before, stop = 0.0, (begin + share) * whole
        for seconds, bandwidth in phases:
            inside = min(before + seconds, stop) - max(before, begin * whole)
            before += seconds
            if inside > 0.0:
                cut.append((inside * ratio, bandwidth * thinner))
        return cut or [(0.0, 0.0)]

    def phases(self, index: int, ops_per_s: float) -> list[Phase]:
        """Return the job's phases on a core of that rate: (uncontended s, MB/s that a task asks for), in turn."""
        seconds = self.seconds(index, ops_per_s)
        mem_vol = float(self._mem_vol.item(index))
        if self._phases is None or not self._phases[index]:
            return [(seconds, mem_vol / seconds if seconds > 0.0 else 0.0)]
        return [
            (seconds * work, mem_vol * memory / (seconds * work) if seconds * work > 0.0 else 0.0)
            for work, memory in parse_phases(self._phases[index])
        ]
