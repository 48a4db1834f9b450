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
from cluster_sim.extras import made_with
from cluster_sim.files.atomic import write_bytes
from cluster_sim.files.documents import flat
from cluster_sim.files.folders import held as held
from cluster_sim.files.reading import read_own_json, sha256
from cluster_sim.files.source import NAMING, files_of
from cluster_sim.spelling import UnknownKeys

if TYPE_CHECKING:
    from analysis.sweep.grid import Grid

MANIFEST = "manifest.json"
FORMAT = 1

_KEYS = "format version made_with command begun ended cells combinations factors config inputs done failed".split()

# Keys that may change when a sweep goes on: more replications are more cells, the others are how these are shown.
FREE_KEYS = ("replications", "metrics", "confidence")


def begin(grid: Grid, folder: Path, resume: bool, command: str) -> dict[str, Any]:
    """Write the manifest of a sweep that begins or goes on in a folder, and return it.

    Raises InputError where the folder holds a sweep and ``resume`` was not asked for, or another sweep. The error then
    names the first key that differs, or the file that has changed. Warns (ModelWarning) where libraries have other
    versions now.
    """
    path = folder / MANIFEST
    new: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "made_with": made_with(),
        "command": command,
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "cells": len(grid),
        "combinations": grid.combinations,
        "factors": grid.factors,
        "config": grid.config.model_dump(mode="json"),
        "inputs": _digests(grid),
    }
    if path.exists():
        if not resume:
            raise InputError(folder, "a folder without a sweep in it, or --resume")
        old = read_manifest(folder)
        _check_same(new, old, path)
        now = new["made_with"]
        before = old.get("made_with", now)
        for name, version in before.items():
            if version != now.get(name, version):
                text = (
                    f"the sweep was begun with {name} {version} and goes on with {now[name]}: runs may differ for that"
                )
                warn_user(ModelWarning(f"{MANIFEST}: {text}"))
        new |= {"begun": old["begun"], "made_with": before}
    elif any((folder / name).exists() for name in ("parts", "runs.parquet", "workloads", "agents")):
        raise InputError(folder, "a folder without results, or those of a sweep", f"no {MANIFEST}")
    _write(new, path)
    return new


def end(manifest: dict[str, Any], folder: Path, done: int, failed: int) -> None:
    """Write how far the sweep has come."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    _write(manifest | {"done": done, "failed": failed, "ended": now}, folder / MANIFEST)


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest in a folder. Raises FormatError."""
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


def _digests(grid: Grid) -> dict[str, str]:
    """Return the SHA-256 of each file that the cells are made of.

    For a folder it is the digest of the digests of all agents in it.
    """
    sources: dict[str, None] = {}
    for level in grid.levels():
        for key in ("platform", "workload"):
            source = level.says.get(key)
            sources[str(source["source"] if isinstance(source, dict) else source)] = None
        specs = [said for said in level.says.values() if isinstance(said, str)]
        specs += level.says.get("process") or []
        sources |= dict.fromkeys(file for spec in specs for file in files_of(spec, NAMING))
    if grid.config.train is not None:
        sources[str((grid.folder / grid.config.train.config).resolve())] = None
    digests = {}
    for source in filter(os.path.exists, sources):
        path = Path(source)
        if path.is_file():
            digests[source] = sha256(path)
        else:
            whole = hashlib.sha256()
            for file in sorted(file for file in path.rglob("best/*") if file.is_file()):
                whole.update(bytes.fromhex(sha256(file)))
            digests[source] = whole.hexdigest()
    return digests


def _check_same(new: Mapping[str, Any], old: Mapping[str, Any], path: Path) -> None:
    """Raise InputError where a sweep is not the one whose manifest is in the folder."""

    def differ(key: str, expected: str, found: Any) -> InputError:
        return InputError(f"{path}, {key}", expected, found)

    began = "with which the sweep there began"
    now, before = (dict(flat(manifest["config"])) for manifest in (new, old))
    for key in dict.fromkeys([*before, *now]):
        if key not in FREE_KEYS and now.get(key) != before.get(key):
            here, there = ("nothing" if one.get(key) is None else json.dumps(one[key]) for one in (now, before))
            raise differ(key, f"{there}, as in the sweep there", here)
    if now["replications"] < before["replications"]:
        raise differ("replications", f"at least {before['replications']}, as in the sweep there", now["replications"])
    for source, digest in new["inputs"].items():
        if old["inputs"].get(source, digest) != digest:
            raise differ("inputs", f"the file {source} {began}", "another content")
    if new["version"] != old["version"]:
        raise differ("version", f"{old['version']}, {began}", new["version"])
    if new["factors"] != old["factors"]:  # such as a wildcard that means more than it did
        raise differ("factors", f"the values {began}", "others")


def _write(manifest: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, (json.dumps(manifest, indent=2, default=os.fspath) + "\n").encode())
