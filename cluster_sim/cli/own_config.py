"""Configuration files, the toolkit's own or IRMaSim's: the options of ``run`` as the keys of a YAML or JSON document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cluster_sim.cli import irmasim_options
from cluster_sim.errors import FormatError
from cluster_sim.files.documents import read_document
from cluster_sim.files.source import policy_with_place, source_of, with_place
from cluster_sim.formats.native_platform import OwnKeys, validated
from cluster_sim.run.settings import TIME_UNITS, names_a_file, taken, with_settings


@with_settings("configuration", lambda setting: (setting.checked | None, None))
class _Config(OwnKeys):
    """The keys are the settings."""


SECTIONS = (("", _Config),)
"""The one section of a configuration, as those of sweeps and trainings are named."""


def read_config(path: str) -> dict[str, Any]:
    """Return the settings of a configuration file, by the names of ``RunSettings``. Raises FormatError."""
    document = read_document(path)
    if irmasim_options.is_options(document):
        values = irmasim_options.settings(document, path)
        return values | {key: _beside(path, values[key]) for key in ("platform", "workload")}
    return _settings(document, path)


def _settings(document: object, path: str) -> dict[str, Any]:
    """Return the settings that a parsed document gives. Raises FormatError naming file and key."""
    if not isinstance(document, dict):
        raise FormatError(path, "a configuration: keys such as 'workload' and 'platform'", type(document).__name__)
    values = validated(_Config, document, path).model_dump(exclude_none=True)
    found = {}
    for setting in taken("configuration"):
        if setting.key in values:
            value = values[setting.key]
            if setting.file:
                value = _beside(path, value)
            elif setting.is_spec:
                value = policy_with_place(value, lambda name: str(Path(path).parent / name))
            if isinstance(value, list):
                value = tuple(value)
            if setting.name == "process":
                value = tuple(policy_with_place(each, lambda name: str(Path(path).parent / name)) for each in value)
            found[setting.name] = TIME_UNITS.get(value, value) if setting.name == "time_unit" else value
    return found


def _beside(config: str, source: str) -> str:
    """Return a file named in ``config``, whose relative names start in its folder; or a spec as it is."""
    if source_of(source) is not None:
        return with_place(source, lambda name: str(Path(config).parent / name))
    return str(Path(config).parent / source) if names_a_file(source) else source
