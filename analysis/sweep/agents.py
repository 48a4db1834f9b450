"""Trainings as factors: a configuration of ``cluster-sim train``, and for each combination of settings one of its own.

A training is a task of the sweep, before the cells that its agent plays in. It leaves its files in ``agents/KEY`` of
the sweep's folder; KEY is the digest of its configuration. So an agent is trained once, however many cells use it. A
training that was killed goes on from its checkpoint.
"""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from analysis.sweep.config import TrainKeys
from cluster_sim.errors import FormatError
from cluster_sim.extras import needed
from cluster_sim.formats.native_platform import validated

AGENTS = "agents"
PREFIX = "train."


@dataclass(frozen=True, slots=True)
class Variant:
    """One combination of training settings: its labels, and the training's configuration without the seed."""

    labels: dict[str, Any]
    document: dict[str, Any]
    own_seed: bool

    def training(self, seed: int) -> dict[str, Any]:
        """Return the configuration with the seed of a replication; with its own if the seed is one of the settings."""
        return self.document if self.own_seed else self.document | {"seed": seed}


def variants(train: TrainKeys, folder: Path) -> list[Variant]:
    """Return every combination of the settings, checked. Raises FormatError naming the file and the setting."""
    with needed("train"):
        from learning.training import configuration as learning
    path = folder / train.config
    base = learning.read_config(path).model_dump(mode="json", exclude_none=True)
    found = []
    for values in product(*train.settings.values()):
        document = copy.deepcopy(base)
        labels = dict(zip(train.settings, values, strict=True))
        for key, value in labels.items():
            _put(document, key, value, path)
        where = ", ".join(f"{key}={value}" for key, value in labels.items()) or "its own settings"
        # Files of the settings lie in the folder of the sweep's configuration; the other files have been placed.
        config = learning.placed(validated(learning.Config, document, f"{path} with {where}"), folder)
        document = config.model_dump(mode="json", exclude_none=True) | {"workers": 1, "seeds": 1}
        shown = {
            PREFIX + key: value if isinstance(value, str | int | float | bool) else json.dumps(value)
            for key, value in labels.items()
        }
        found.append(Variant(shown, document, "seed" in labels))
    return found


def key_of(document: dict[str, Any]) -> str:
    """Return the name of a training's folder."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def _put(document: dict[str, Any], key: str, value: Any, path: Path) -> None:
    *way, last = key.split(".")
    for part in way:
        document = document.setdefault(part, {})
        if not isinstance(document, dict):
            raise FormatError(f"{path}, settings", "dotted keys of a training", key)
    document[last] = value
