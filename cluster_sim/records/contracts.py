"""What records are made of, and what tables and explanations need of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from cluster_sim.engine import Environment
    from cluster_sim.machine.machine import Machine
    from cluster_sim.machine.reason import Reason
    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.core_holds import CoreHolds
    from cluster_sim.records.reasons.spells import Spell
    from cluster_sim.run.decision_log import DecisionLog, KeptBack
    from cluster_sim.run.jobs.attempts import Attempts
    from cluster_sim.workload.workload import Workload


class RecordedRun(Protocol):
    """A simulation as far as its records are made of it, see :class:`~cluster_sim.run.simulation.Simulation`."""

    platform: Platform
    workload: Workload
    env: Environment
    quirks: frozenset[str]
    stopped_at: float | None
    decision_log: DecisionLog | None
    kept_back: KeptBack
    machine: Machine
    attempts: Attempts
    jobs: Any  #: With the ``columns`` of all jobs.
    admission: Any  #: With the ``times`` at which jobs were submitted and eligible.
    life: Any  #: With the ``courses`` of jobs that have some.
    view: Any  #: What the scheduler sees.
    scheduler: Any
    traits: Any  #: What the scheduler declares of itself.
    power_policy: Any
    power_traits: Any  #: What the power policy declares of itself.
    power_model: Any
    network: Any
    accounts: Any

    @property
    def is_over(self) -> bool:
        """Return whether the last job is over."""
        ...


class RunRecords(Protocol):
    """A result as those need it who read its tables, see :class:`~cluster_sim.records.result.Result`."""

    platform: Platform
    meta: dict[str, Any]

    @property
    def jobs(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    @property
    def attempts(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    @property
    def holds(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    @property
    def allocations(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    @property
    def resource_holds(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    @property
    def stages(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    @property
    def decisions(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    @property
    def node_states(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    @property
    def off_states(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    @property
    def nodes(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    @property
    def power(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    @property
    def core_holds(self) -> CoreHolds:
        """See the property of that name of Result."""
        ...

    @property
    def decision_reasons(self) -> Sequence[Reason]:
        """See the property of that name of Result."""
        ...

    @property
    def conditions(self) -> Any:
        """See the property of that name of Result."""
        ...

    @property
    def spells(self) -> dict[int, list[Spell]]:
        """See the property of that name of Result."""
        ...

    @property
    def all_spells(self) -> Any:
        """See the property of that name of Result."""
        ...

    @property
    def waits(self) -> Any:
        """See the property of that name of Result."""
        ...
