"""The grid: all combinations of the factors, in a fixed order, each cell worked out when it is asked for.

Replications change slowest, then workloads: so cells that share a workload follow each other, and more replications later
on leave the numbers of the cells as they were. Nothing grows with the number of cells.

Seeds. Replication r has three, each the first word of ``numpy.random.SeedSequence(seed, spawn_key=(k, r))``. They are
those of generated workloads and windows (k = 0), of the run (k = 1), and of a training (k = 2). They do not depend on
the cell: in one replication every scheduler, policy and model meets the same jobs and the same luck (common random
numbers). So differences can be taken within it. A seed that is written in a generator's spec is that of replication 0.
The seeds of the other replications are derived from it, with ``SeedSequence([seed, written], spawn_key=(0, r))``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from analysis.sweep.agents import Variant, key_of, variants
from analysis.sweep.config import SweepConfig, WorkloadKeys, config_of, read_config
from analysis.sweep.statuses import TRAINED
from analysis.sweep.wildcards import schedulers_of
from cluster_sim.errors import InputError, naming
from cluster_sim.registry import Spec
from cluster_sim.run.settings import SETTINGS, located, located_policy
from cluster_sim.workload.fields import whole_number
from cluster_sim.workload.workload import WORKLOAD_GENERATORS

Cell = dict[str, Any]
"""Facts that a worker needs to know of a run: only numbers, text, lists and mappings of them."""

WORKLOADS, RUNS, TRAININGS = 0, 1, 2
DECIDERS = ("power_policy", "scheduler")
OF_THE_LOG = "the log's"
MOST_CELLS = 2**40


@dataclass(frozen=True, slots=True)
class Level:
    """One value of a factor: its labels in tables, by column, and its entries in a cell."""

    labels: dict[str, Any]
    says: dict[str, Any]
    agent: Variant | None = field(default=None, compare=False)


class Grid(Sequence[Cell]):
    """The cells of a sweep, from 0 to ``len(grid) - 1``.

    ``folder`` is where relative names of files start, ``source`` what messages call the configuration. ``factors`` are the
    columns of the factors with their values, in the order of their appearance.
    """

    def __init__(self, config: SweepConfig, folder: str | Path = ".", source: str | Path = ""):
        self.config = config
        self.folder = Path(folder).resolve()
        self.source = str(source)
        with naming(source):
            self._axes = _axes(config, self.folder)
        self.sizes = [len(levels) for levels in self._axes]  #: Values of each factor, the slowest first.
        self._length = config.replications * math.prod(self.sizes)
        if self._length > MOST_CELLS:
            where = f"{source}: replications" if source else "replications"
            raise InputError(where, f"at most {MOST_CELLS:,} runs in all", config.replications)

    @classmethod
    def read(cls, path: str | Path) -> Grid:
        """Return the grid of a configuration file. Raises FormatError naming file and key."""
        return cls(read_config(path), Path(path).parent, path)

    @classmethod
    def of(cls, document: Mapping[str, Any], folder: str | Path = ".") -> Grid:
        """Return the grid of a mapping with the keys of a configuration file. Raises FormatError."""
        return cls(config_of(dict(document)), folder)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"cell {index} of a grid of {len(self)}")
        return self._cell(int(index) % len(self))

    def __iter__(self) -> Iterator[Cell]:
        return (self._cell(i) for i in range(len(self)))

    @cached_property
    def factors(self) -> dict[str, list[Any]]:
        """Return the factors' columns, each with its values; those of trainings only if agents are trained."""
        found: dict[str, dict[Any, None]] = {}
        for levels in self._axes:
            for level in levels:
                for column, value in level.labels.items():
                    found.setdefault(column, {})[value] = None
        return {column: list(values) for column, values in found.items()}

    def levels(self) -> Iterator[Level]:
        """Yield every value of every factor."""
        return (level for levels in self._axes for level in levels)

    def files(self) -> list[dict[str, Any]]:
        """Return what cells say of the workloads that no generator makes."""
        found = [level.says["workload"] for level in self._axes[0]]
        return [says for says in found if not _generator(says["source"])]

    @property
    def combinations(self) -> int:
        """Return the number of combinations of factors; each is run once in every replication."""
        return self._length // self.config.replications

    def labels(self, index: int) -> dict[str, Any]:
        """Return the values of a cell's factors (None where it lacks one), its replication and its seeds."""
        replication, levels = self._place(index)
        found: dict[str, Any] = {"replication": replication, **dict.fromkeys(self.factors)}
        for level in levels:
            found |= level.labels
        source = levels[0].says["workload"]["source"]
        return found | {
            "workload_seed": self._workload_seed(source, replication),
            "seed": self.seed(RUNS, replication),
        }

    def training(self, index: int) -> tuple[str, dict[str, Any]] | None:
        """Return the key and the configuration of the training whose agent plays in a cell, or None."""
        replication, levels = self._place(index)
        agent = levels[-1].agent
        if agent is None:
            return None
        document = agent.training(self.seed(TRAININGS, replication))
        return key_of(document), document

    def seed(self, kind: int, replication: int, *written: int) -> int:
        """Return the seed of a kind in a replication, see the module's docstring."""
        entropy = [self.config.seed, *written] if written else self.config.seed
        return int(np.random.SeedSequence(entropy, spawn_key=(kind, replication)).generate_state(1)[0])

    def _place(self, index: int) -> tuple[int, list[Level]]:
        """Return the replication and the levels of a cell: the digits of its number."""
        digits = []
        for size in reversed([self.config.replications, *self.sizes]):
            index, digit = divmod(index, size)
            digits.append(digit)
        replication, *places = reversed(digits)
        return replication, [levels[place] for levels, place in zip(self._axes, places, strict=True)]

    def _cell(self, index: int) -> Cell:
        replication, levels = self._place(index)
        cell: Cell = {"cell": index, "seed": self.seed(RUNS, replication)}
        for level in levels:
            cell |= level.says
        # The replication's seed goes where the workload draws: into its spec, or beside its window.
        says = cell["workload"]
        source, drawn = says["source"], self._workload_seed(says["source"], replication)
        if says.get("window") or says.get("shake"):
            says = says | {"drawn_seed": drawn}
        cell["workload"] = says | {"source": str(Spec.parse(source).with_seed(drawn))} if _generator(source) else says
        training = self.training(index)
        return cell | {"agent": None if training is None else training[0]}

    def _workload_seed(self, source: str, replication: int) -> int:
        written = Spec.parse(source).options.get("seed", "") if _generator(source) else ""
        if not written:
            return self.seed(WORKLOADS, replication)
        seed = whole_number(written)
        if seed is None:
            raise InputError(f"factors.workload, {source}", "a seed, a whole number from 0 on", written)
        return self.seed(WORKLOADS, replication, seed) if replication else seed


def source_key(says: Mapping[str, Any]) -> str:
    """Return a name for what is read of a workload before it is cut: its file and how it is read."""
    text = json.dumps([says["source"], says.get("time_unit"), bool(says.get("think_times"))])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _generator(source: str) -> bool:
    return source.partition(":")[0] in WORKLOAD_GENERATORS


def _axes(config: SweepConfig, folder: Path) -> list[list[Level]]:
    """Return the levels of each factor, the slowest factor first: workloads first, schedulers and policies last.

    Raises InputError where two levels of a factor would look the same in tables.
    """
    factors = config.factors
    workloads = []
    for keys in factors.workload:
        says = keys.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
        says["source"] = located(folder, keys.source)
        workloads.append(Level({"workload": keys.name or which_jobs(keys)}, {"workload": says}))
    others = [name for name in type(factors).model_fields if name not in ("workload", *DECIDERS)]
    axes = [
        workloads,
        *([_level(name, value, folder) for value in factors.values(name)] for name in others),
        _deciders(config, folder),
    ]
    for levels in axes:
        known: set[str] = set()
        for level in levels:
            text = str(level.labels)
            if text in known:
                name = next(iter(levels[0].labels))
                raise InputError(f"factors.{name}", "different values (a workload may be given a name)", text)
            known.add(text)
    return axes


def _level(name: str, value: Any, folder: Path) -> Level:
    label = (" ".join(value) or None) if isinstance(value, list) else value
    if name == "platform":
        label = value or OF_THE_LOG
    if value is None or name not in SETTINGS:
        return Level({name: label}, {name: value})
    setting = SETTINGS[name]
    says = located(folder, value) if setting.file else located_policy(folder, value) if setting.is_spec else value
    if setting.name == "process":
        says = [located_policy(folder, each) for each in value]
    return Level({name: label}, {name: says})


def which_jobs(keys: WorkloadKeys) -> str:
    """Return a workload's source and how it is read and cut: ``log.swf, window 128, think_times``."""
    words = [keys.source]
    for key, value in keys.model_dump(exclude_defaults=True, exclude={"name", "source"}).items():
        ends = value if isinstance(value, tuple) else (value,)
        text = " to ".join(end if isinstance(end, str) else f"{end:.15g}" for end in ends)
        words.append(key if value is True else f"{key} {text}")
    return ", ".join(words)


def _deciders(config: SweepConfig, folder: Path) -> list[Level]:
    """Return the pairs of a scheduler and a power policy.

    A pair with an agent stands there once for each combination of training settings.
    """
    factors = config.factors
    pairs = list(product(factors.values("power_policy"), schedulers_of(factors.values("scheduler"))))
    trained = any(TRAINED in pair for pair in pairs)
    if trained != (config.train is not None):
        raise InputError("train", f"both this section and the scheduler or power policy '{TRAINED}', or neither")
    agents = variants(config.train, folder) if config.train is not None else []
    if agents:
        # An agent can do only what it learns.
        kind = agents[0].document.get("environment", {}).get("kind", "job-node")
        own, other = ("power_policy", "scheduler") if kind == "node-shutdown" else ("scheduler", "power_policy")
        if TRAINED in factors.values(other):
            raise InputError(f"train, an agent of kind {kind}", f"'{TRAINED}' as a {own}", "it in the other place")
        if kind == "jobs-and-nodes" and (others := [power for power, _ in pairs if power != "always-on"]):
            who = f"always-on alone as a power_policy, since '{TRAINED}' brings its own, as easy + timeout:300 does"
            raise InputError(f"train, an agent of kind {kind}", who, others[0])
    found = []
    for power, scheduler in pairs:
        labels = {"power_policy": power, "scheduler": scheduler}
        says = {name: located_policy(folder, spec) for name, spec in labels.items()}
        if TRAINED in (power, scheduler):
            found += [Level(labels | agent.labels, says, agent) for agent in agents]
        else:
            found.append(Level(labels, says))
    return found
