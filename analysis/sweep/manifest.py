"""manifest.json: what a folder of results holds, so that nothing else is ever put into it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.sweep.config import FactorKeys, SweepConfig, WorkloadKeys
from cluster_sim import __version__
from cluster_sim.errors import FormatError, InputError, ModelWarning, warn_user
from cluster_sim.files.atomic import write_bytes
from cluster_sim.files.documents import flat
from cluster_sim.files.folders import held as held
from cluster_sim.files.reading import read_own_json, sha256
from cluster_sim.files.source import NAMING, files_of
from cluster_sim.libraries import made_with
from cluster_sim.spelling import UnknownKeys

if TYPE_CHECKING:
    from analysis.sweep.grid import Grid

MANIFEST = "manifest.json"
FORMAT = 1

_KEYS = "format version made_with command begun ended cells combinations factors config inputs done failed".split()

# What may change from one call to the next of one sweep: more replications are more cells, the rest is how they are shown.
FREE_KEYS = ("replications", "metrics", "confidence")


def begin(grid: Grid, folder: Path, resume: bool, command: str) -> dict[str, Any]:
    """The manifest of a sweep that begins or goes on in a folder, written there.

    Raises InputError where the folder holds a sweep and ``resume`` was not asked for, or another one: the first key in which
    it differs, or the file that is not the one it was.
    """
    path = folder / MANIFEST
    new = _manifest(grid, command)
    if path.exists():
        if not resume:
            raise InputError(folder, "a folder without a sweep in it, or --resume")
        old = read_manifest(folder)
        one, other = (dict(flat(m["config"])) for m in (new, old))
        for key in dict.fromkeys([*other, *one]):
            if key not in FREE_KEYS and one.get(key) != other.get(key):
                raise InputError(
                    f"{path}, {key}", f"{_told(other.get(key))}, as in the sweep there", _told(one.get(key))
                )
        if new["config"]["replications"] < old["config"]["replications"]:
            found = new["config"]["replications"]
            raise InputError(
                f"{path}, replications", f"at least {old['config']['replications']}, as in the sweep there", found
            )
        for source, digest in new["inputs"].items():
            if old["inputs"].get(source, digest) != digest:
                raise InputError(
                    f"{path}, inputs", f"the file {source} with which the sweep there began", "another content"
                )
        if new["version"] != old["version"]:
            raise InputError(f"{path}, version", f"{old['version']}, with which the sweep there began", new["version"])
        if new["factors"] != old["factors"]:  # a wildcard that means more than it did, a training's configuration
            raise InputError(f"{path}, factors", "the values with which the sweep there began", "others")
        before = old.get("made_with", new["made_with"])
        # Warn (ModelWarning) where the runs to come are made with other versions than those that are there.
        now = new["made_with"]
        for name in before:
            if before[name] != now.get(name, before[name]):
                told = f"the sweep was begun with {name} {before[name]} and goes on with {now[name]}: runs may differ for that"
                warn_user(ModelWarning(f"{MANIFEST}: {told}"))
        new |= {"begun": old["begun"], "made_with": before}
    elif any((folder / name).exists() for name in ("parts", "runs.parquet", "workloads", "agents")):
        raise InputError(folder, "a folder without results, or those of a sweep", f"no {MANIFEST}")
    _write(new, path)
    return new


def end(manifest: dict[str, Any], folder: Path, done: int, failed: int) -> None:
    """Say how far the sweep has come."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    _write(manifest | {"done": done, "failed": failed, "ended": now}, folder / MANIFEST)


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest in a folder. Raises FormatError."""
    path = Path(folder) / MANIFEST
    content = read_own_json(path, "the manifest of a sweep")
    if content.get("format") != FORMAT:
        raise FormatError(path, f"the manifest of a sweep, format {FORMAT}", content.get("format", "no format"))
    for key, kind in {"factors": dict, "config": dict, "inputs": dict, "begun": str, "version": str}.items():
        if not isinstance(content.get(key), kind):
            expected = "an object" if kind is dict else "text"
            raise FormatError(f"{path}: {key}", expected, type(content.get(key)).__name__)
    if not isinstance(content["config"].get("factors"), dict):
        raise FormatError(f"{path}: config.factors", "an object", type(content["config"].get("factors")).__name__)
    keys = UnknownKeys(path)
    keys.look(content, _KEYS, "the file")
    keys.look(content["config"], SweepConfig.model_fields, "config")
    for place, factors in (("factors", content["factors"]), ("config.factors", content["config"]["factors"])):
        keys.look(factors, FactorKeys.model_fields, place)
        workloads = factors.get("workload")
        for number, workload in enumerate(workloads if isinstance(workloads, list) else ()):
            look = workload if isinstance(workload, dict) else ()
            keys.look(look, WorkloadKeys.model_fields, f"{place}.workload[{number}]")
    keys.tell()
    for key in ("cells", "combinations", "done", "failed"):
        if key in content and (type(content[key]) is not int or content[key] < 0):
            raise FormatError(f"{path}: {key}", "a whole number >= 0", content[key])
    if type(content["config"].get("replications")) is not int:
        raise FormatError(f"{path}: config.replications", "a whole number", content["config"].get("replications"))
    return content


def _manifest(grid: Grid, command: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": __version__,
        "made_with": made_with(),
        "command": command,
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "cells": len(grid),
        "combinations": grid.combinations,
        "factors": grid.factors,
        "config": grid.config.model_dump(mode="json"),
        "inputs": {source: _digest(Path(source)) for source in _sources(grid)},
    }


def _sources(grid: Grid) -> list[str]:
    """The files, and the folders of agents, that the cells are made of."""
    found: dict[str, None] = {}
    for level in grid.levels():
        for key in ("platform", "workload"):
            source = level.says.get(key)
            found[str(source["source"] if isinstance(source, dict) else source)] = None
        specs = [said for said in level.says.values() if isinstance(said, str)]
        specs += level.says.get("process") or []
        found |= dict.fromkeys(file for spec in specs for file in files_of(spec, NAMING))
    if grid.config.train is not None:
        found[str((grid.folder / grid.config.train.config).resolve())] = None
    return [source for source in found if os.path.exists(source)]


def _digest(path: Path) -> str:
    """SHA-256 of a file, as everyone else works it out; of a folder that of the digests of all agents in it."""
    if path.is_file():
        return sha256(path)
    digest = hashlib.sha256()
    for file in sorted(file for file in path.rglob("best/*") if file.is_file()):
        digest.update(bytes.fromhex(sha256(file)))
    return digest.hexdigest()


def _told(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value)


def _write(manifest: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, (json.dumps(manifest, indent=2, default=os.fspath) + "\n").encode())
