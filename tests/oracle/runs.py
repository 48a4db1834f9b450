"""A case is one run, or the episodes of one environment, written down; :func:`tables` makes it and returns what it leaves."""

from __future__ import annotations

import contextlib
import re
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np

from cluster_sim import (
    CautionWarning,
    ClusterSimError,
    ModelWarning,
    Platform,
    Result,
    Simulation,
    make_power_policy,
    make_scheduler,
)
from cluster_sim.records.core_holds import allocation_table

from . import files
from .digests import Table
from .disturbances import disturb, watch
from .inputs import Inputs, small

RESULT_TABLES = ("jobs", "allocations", "node_states", "nodes", "power", "queue", "p_states", "decisions")
REPLAYED = "replay:"


@dataclass(frozen=True)
class Case:
    """One run.

    ``inputs`` is the seed of :func:`~tests.oracle.inputs.small` inputs, which have the ``traits``, or the name of some
    of :mod:`tests.oracle.files`. ``options`` are those of a Simulation. ``disturbed`` are orders that a process gives
    from outside. With ``explains`` every job's explanation is kept. ``pauses`` are times (s) at which the run stops and
    goes on. A scheduler ``replay:SPEC`` plays back what the scheduler SPEC did; a power cap ``30%`` lies so far from the
    watts of the idle machine to those of the busy one.
    """

    name: str
    inputs: int | str
    scheduler: str
    power: str = ""
    traits: tuple[str, ...] = ()
    jobs: int = 30
    options: dict[str, Any] = field(default_factory=dict)
    disturbed: tuple[str, ...] = ()
    explains: bool = False
    pauses: tuple[float, ...] = ()

    @property
    def needs_shared(self) -> bool:
        """Whether its inputs stand in ../shared."""
        return isinstance(self.inputs, str) and self.inputs.startswith("shared:")

    def tables(self) -> dict[str, Table]:
        """What the run leaves."""
        made = _inputs(self.inputs, frozenset(self.traits), self.jobs)
        # In the folder of the file that is played back, so that texts which name it do not name a folder.
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            scheduler = self.scheduler
            if scheduler.startswith(REPLAYED):
                played = self._simulation(made, scheduler.removeprefix(REPLAYED)).run()
                played.jobs_with_allocation().to_csv("jobs.csv", index=False)
                scheduler = f"{REPLAYED}jobs.csv"
            simulation = self._simulation(made, scheduler)
        seen: list[tuple[float, str, str]] = []
        if self.disturbed:
            simulation.env.process(disturb(simulation, self.disturbed, made.workload.jobs.shape[0]))
            simulation.env.process(watch(simulation, seen))
        kept: dict[str, Table] = {}
        for number, time in enumerate(self.pauses):
            part = result_tables(simulation.run(until=time))
            kept |= {f"{name} at pause {number}": table for name, table in part.items()}
        kept |= result_tables(simulation.run(), self.explains)
        if seen:
            kept["notices"] = dict(zip(("time", "what", "of"), zip(*seen, strict=True), strict=True))
        return kept

    def _simulation(self, made: Inputs, scheduler: str) -> Simulation:
        spec = re.sub(r"([0-9]+)%", lambda found: str(_watts_at(made.platform, int(found[1]) / 100)), self.power)
        power = make_power_policy(spec) if spec else None
        options = {"reservations": made.reservations, "explain": self.explains} | self.options
        return Simulation(made.platform, made.workload, make_scheduler(scheduler), power, **options)


@dataclass(frozen=True)
class Rollout:
    """Episodes of an environment in which allowed actions are drawn from a fixed seed, or the first of them is taken.

    Without ``inputs``, on the environment's own small case.
    """

    name: str
    environment: str
    arguments: dict[str, Any] = field(default_factory=dict)
    episodes: int = 1
    first_action: bool = False
    most_steps: int = 400
    inputs: int | None = None
    traits: tuple[str, ...] = ()
    needs_shared = False

    def tables(self) -> dict[str, Table]:
        """Observations, masks, rewards and infos of every step, and the records of the last episode."""
        import learning

        arguments = dict(self.arguments)
        if self.inputs is not None:
            made = _inputs(self.inputs, frozenset(self.traits), 30)
            arguments["episodes"] = learning.Whole(made.platform, made.workload)
        environment = getattr(learning, self.environment)(**arguments)
        rng = Random(7)
        steps: dict[str, list[Any]] = {
            name: [] for name in ("action", "reward", "terminated", "truncated", "time", "info")
        }
        seen: dict[str, list[np.ndarray]] = {}
        masks: list[np.ndarray] = []

        def note(observation: Any, info: dict[str, Any]) -> None:
            observed = observation if isinstance(observation, dict) else {"flat": observation}
            for name, values in observed.items():
                if name != "action_mask":
                    seen.setdefault(name, []).append(np.asarray(values).ravel())
            masks.append(np.asarray(info["action_mask"]))

        for episode in range(self.episodes):
            observation, info = environment.reset(seed=episode)
            note(observation, info)
            for _ in range(self.most_steps):
                allowed = np.flatnonzero(environment.action_masks()).tolist()
                action = allowed[0] if self.first_action else rng.choice(allowed)
                observation, reward, terminated, truncated, info = environment.step(action)
                note(observation, info)
                said = ",".join(sorted(info))
                for name, value in zip(
                    steps, (action, reward, terminated, truncated, environment.simulation.env.now, said), strict=True
                ):
                    steps[name].append(value)
                if terminated or truncated:
                    break
        return {
            "steps": steps,
            "observations": {name: np.concatenate(values) for name, values in seen.items()},
            "masks": {"allowed": np.concatenate(masks), "actions": [len(mask) for mask in masks]},
            "summary": {name: [value] for name, value in info.get("metrics", {}).items()},
            **{name: getattr(environment.result(), name) for name in ("jobs", "node_states", "power")},
            "allocations": allocations_as_given(environment.result()),
        }


AnyCase = Case | Rollout


def allocations_as_given(result: Result) -> Table:
    """The table of allocations in the order in which cores were given, which tells who came first in an instant."""
    cores = result.core_holds
    return allocation_table(result.platform, cores.used.of(cores.job[cores.used.tenant]), cores.job_ids)


def result_tables(result: Result, explains: bool = False) -> dict[str, Table]:
    """All tables of a result, its summary as a table of one row."""
    kept: dict[str, Table] = {name: getattr(result, name) for name in RESULT_TABLES}
    kept["jobs"] = result.jobs_with_allocation()
    kept["allocations"] = allocations_as_given(result)
    kept["summary"] = {key: [value] for key, value in result.metrics.items()}
    if explains:
        ids = result.jobs["job_id"].tolist()
        kept["explanations"] = {"job_id": ids, "text": [result.explain(job) for job in ids]}
    return kept


def tables(case: AnyCase) -> dict[str, Table]:
    """What a case leaves, the warnings of its models but not the cautions among it; where it ends in an error, that."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            kept = case.tables()
        except Exception as error:  # also a defect is something that a change may mend, or bring
            said = _without_folders(str(error)) if isinstance(error, ClusterSimError) else ""
            kept = {"error": {"type": [type(error).__name__], "text": [said]}}
    models = [one for one in caught if issubclass(one.category, ModelWarning) and one.category is not CautionWarning]
    said = [_without_folders(str(one.message)) for one in models]
    return {**kept, "warnings": {"text": said}}


def _without_folders(text: str) -> str:
    """A text in which files have no folders, which are others at each place and time."""
    return re.sub(r"(?<!\w)/\S*/", "", text)


def _watts_at(platform: Platform, share: float) -> float:
    """Between the watts of the idle machine and those with all cores busy, by the linear power model."""
    kinds = [platform.node_types[number] for number in platform.type_of_node]
    powers = [(kind.cores, kind.power) for node in kinds for kind in node.processors]
    idle = sum(power["static_w"] * power["min_power"] for _, power in powers)
    busy = sum(power["static_w"] + power["dynamic_w"] * cores for cores, power in powers)
    return idle + share * (busy - idle)


@lru_cache(maxsize=4)
def _inputs(name: int | str, traits: frozenset[str], jobs: int) -> Inputs:
    """The inputs of a case, kept for the next, which often has the same."""
    return small(name, traits, jobs) if isinstance(name, int) else files.read(name)


def chosen(cases: list[AnyCase], pattern: str, has_shared: bool) -> Iterator[AnyCase]:
    """The cases whose name the pattern is found in and whose inputs are there."""
    for case in cases:
        if re.search(pattern, case.name) and (has_shared or not case.needs_shared):
            yield case
