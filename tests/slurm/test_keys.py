"""What is said to be followed of a slurm.conf is what the scheduler reads of it, no more and no less."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.errors import InputError
from cluster_sim.formats.slurm.conf_keys import FOLLOWED, NOT_SIMULATED, OPTIONS
from cluster_sim.platform.slurm import SlurmMachine
from cluster_sim.run.jobs.limit_gate import are_enforced
from schedulers import make_scheduler
from schedulers.slurm import settings
from schedulers.slurm.priority.factors import Factors
from schedulers.slurm.settings import Settings

GIVEN = {
    "preempttype": "preempt/qos",
    "schedulerparameters": "bf_continue",
    "preemptparameters": "youngest_first",
    "licenses": "a:1",
}
REFUSED = {"suspendprogram", "resumeprogram", "suspendtime", "priorityusageresetperiod"}
"""What is read to refuse it."""


class Noting(dict[str, str]):
    """Keys of a slurm.conf that knows which of them have been asked for."""

    def __init__(self, given: dict[str, str]):
        super().__init__(given)
        self.asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """What a key says."""
        self.asked.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Noting:
    """All keys that a run asks for, once it has been made."""
    keys = Noting(GIVEN)
    monkeypatch.setattr(settings, "_Parameters", Options)
    Options.asked.clear()
    machine = SlurmMachine((), (), (), (), keys)
    Settings.of(machine)
    Factors.of(machine)
    are_enforced(machine)
    return keys


class Options(settings._Parameters):
    """Options that know which of them have been asked for, by the text that they stand in."""

    asked: ClassVar[dict[str, set[str]]] = {}

    def __init__(self, text: str, where: str):
        super().__init__(text, where)
        self._asked = self.asked.setdefault(text, set())

    def has(self, name: str) -> bool:
        """Whether it is there."""
        self._asked.add(name)
        return super().has(name)

    def number(self, name: str, default: float, least: float = 0.0) -> float:
        """What it says."""
        self._asked.add(name)
        return super().number(name, default, least)


def test_keys_that_are_followed_are_those_that_are_read(keys: Noting) -> None:
    """Each key of the table is asked for, and nothing else but what is refused; no key is in both tables."""
    followed = {key.lower() for key in FOLLOWED}
    assert keys.asked - REFUSED == followed
    assert followed.isdisjoint(NOT_SIMULATED)


def test_options_that_are_followed_are_those_that_are_read(keys: Noting) -> None:
    """So it is with options, but for those that are only checked, or refused."""
    scheduling = Options.asked["bf_continue"] - set(settings._WITHOUT_EFFECT)
    assert scheduling == OPTIONS["schedulerparameters"].followed
    preempting = Options.asked["youngest_first"] - {"min_exempt_priority", "reclaim_licenses"}
    assert preempting == OPTIONS["preemptparameters"].followed
    assert all(options.followed.isdisjoint(options.others) for options in OPTIONS.values())


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("SchedulerParameters=bf_interval=x", "SchedulerParameters, bf_interval: expected a number >= 1, found x"),
        ("KillWait=soon", "KillWait: expected a whole number, found soon"),
        ("Licenses=foo:bar", "Licenses: expected licences such as foo:4,bar, found foo:bar"),
        ("PriorityWeightAge=foo", "PriorityWeightAge: expected a whole number, found foo"),
        (
            "TopologyPlugin=topology/block",
            "TopologyPlugin: expected topology/tree or topology/none: others are not simulated",
        ),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(line: str, told: str, tmp_path: Path) -> None:
    """Also what only the scheduler reads, in an included file."""
    (tmp_path / "rules.conf").write_text(f"# ours\n{line}\n")
    conf = tmp_path / "slurm.conf"
    conf.write_text("NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\nInclude rules.conf\n")
    jobs = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [4.0]})
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'rules.conf'} line 2, {told}")):
        Simulation(Platform.read(conf), jobs, make_scheduler(f"slurm:conf={conf}")).run()
