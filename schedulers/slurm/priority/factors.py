"""The factors of priority/multifactor and their weights (Slurm 22.05), by column: one entry for each job."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cluster_sim.errors import InputError, ModelWarning, warn_user
from cluster_sim.formats.slurm.conf_values import YES, duration
from cluster_sim.platform.accounts import Accounts
from cluster_sim.platform.slurm import SlurmMachine

Floats = npt.NDArray[np.float64]
DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class Factors:
    """Settings of priorities in a slurm.conf: weights, times in s, and flags. The defaults are Slurm's."""

    age: int = 0
    fairshare: int = 0
    job_size: int = 0
    partition: int = 0
    qos: int = 0
    max_age_s: float = 7 * DAY_S
    half_life_s: float = 7 * DAY_S
    period_s: float = 300.0
    dampening: float = 1.0
    favor_small: bool = False
    flags: frozenset[str] = frozenset()

    @classmethod
    def of(cls, machine: SlurmMachine, are_used: bool = True) -> Factors:
        """Return those of a slurm.conf. Raises InputError naming the key; warns (ModelWarning) of weights that count as 0.

        With priorities that are not multifactor (``are_used``) there is nothing to warn of, nor to refuse.
        """

        def read(key: str, parse: Callable[[str], Any]) -> Any:
            try:
                return parse(machine.said(key))
            except ValueError as error:
                raise InputError(machine.where(key), str(error), machine.said(key)) from None

        flags = frozenset(filter(None, machine.said("PriorityFlags").lower().replace(" ", "").split(",")))
        counted = "slurmdbd" in machine.said("AccountingStorageType").lower()
        age, fairshare = read("PriorityWeightAge", _weight), read("PriorityWeightFairshare", _weight)
        if are_used:
            text = machine.parameters.get("priorityusageresetperiod", "")
            if text.upper() not in ("", "NONE"):
                where = machine.where("PriorityUsageResetPeriod")
                raise InputError(where, "NONE: usage decays, and is not set back", text)
            if (age or fairshare) and not counted:
                text = "PriorityWeightAge and PriorityWeightFairshare count as 0 without AccountingStorageType slurmdbd"
                warn_user(ModelWarning(f"slurm.conf: {text}"))
        return cls(
            age if counted else 0,
            fairshare if counted else 0,
            read("PriorityWeightJobSize", _weight),
            read("PriorityWeightPartition", _weight),
            read("PriorityWeightQOS", _weight),
            read("PriorityMaxAge", _time),
            read("PriorityDecayHalfLife", _time),
            read("PriorityCalcPeriod", _period),
            read("FairShareDampeningFactor", _positive),
            machine.said("PriorityFavorSmall").upper() in YES,
            flags,
        )

    def ages(self, seconds: Floats) -> Floats:
        """Return the weighted age of jobs that have been eligible for so many seconds."""
        oldest = self.max_age_s if self.max_age_s > 0.0 else math.inf
        return self.age * np.minimum(np.maximum(seconds, 0.0) / oldest, 1.0)

    def sizes(self, nodes: Floats, cpus: Floats, limits_s: Floats, all_nodes: int, all_cpus: int) -> Floats:
        """Return the weighted size of jobs that ask for so many of the cluster's nodes and CPUs, for so long (s)."""
        if not self.job_size:
            return np.zeros(len(nodes))
        if "small_relative_to_time" in self.flags:
            minutes = np.maximum(np.ceil(limits_s / 60.0), 1.0)
            factor = np.maximum(nodes * all_cpus / all_nodes, cpus) / minutes / all_cpus
            factor = 1.0 - factor if self.favor_small else factor
        else:
            factor = 0.5 * (nodes / all_nodes + cpus / all_cpus)
            factor = 1.0 - factor if self.favor_small else factor
        return self.job_size * np.clip(factor, 0.0, 1.0)

    def of_largest(self, weight: int, value: float, largest: float, kind: str) -> float:
        """Return the weighted priority of a partition or quality of service (``part``, ``qos``), over the largest."""
        if self.flags & {"no_normal_all", f"no_normal_{kind}"}:
            return weight * value
        return weight * value / largest if largest > 0.0 else 0.0


def _weight(text: str) -> int:
    if not re.fullmatch("[0-9]{1,10}", text):
        raise ValueError("a whole number")
    return int(text)


def _time(text: str) -> float:
    seconds = duration(text)
    if math.isnan(seconds):
        raise ValueError("a duration such as 7-0 (days-hours)")
    return seconds if seconds < math.inf else 0.0


def _period(text: str) -> float:
    seconds = _time(text)
    if seconds < 60.0 or seconds % 60.0:
        raise ValueError("whole minutes, at least 1")
    return seconds


def _positive(text: str) -> float:
    if not re.fullmatch("[0-9]{1,9}", text) or not int(text):
        raise ValueError("a whole number >= 1")
    return float(text)


def warn_without_qualities(key: str, accounts: Accounts | None) -> None:
    """Warn (ModelWarning) that a key of the slurm.conf has no effect if no accounts list the qualities of service."""
    if accounts is None or accounts.qos == Accounts().qos:
        text = "no accounts say which qualities of service there are (--accounts, from sacctmgr show qos)"
        warn_user(ModelWarning(f"slurm.conf: {key} counts for nothing: {text}"))
