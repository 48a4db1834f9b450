"""The settings of a run, and how they are read from a configuration file.

A configuration is a YAML or JSON file whose keys are the options of ``run``, with ``_`` for ``-``::

    platform: lab.yaml            # beside the configuration, or a spec such as homogeneous:nodes=64,cores=16
    workload: week.swf.gz
    scheduler: list:shortest/high_gflops
    quirks: [textual-node-order]

IRMaSim's ``options.json`` is known by its keys ``platform_file`` and ``workload_file``, see :mod:`.irmasim_options`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cluster_sim.errors import InputError, naming


@dataclass(frozen=True, slots=True)
class Settings:
    """What is to be run: the options of ``run`` by their names, with their defaults."""

    workload: str
    platform: str | None = None
    platform_name: str | None = None  # which of several in an IRMaSim file
    scheduler: str = "fcfs"
    power_policy: str = "always-on"
    first: int | None = None
    seed: int = 0
    enforce_walltime: bool = False
    quirks: tuple[str, ...] = ()
    until: float | None = None
    contention_model: str | None = None
    power_model: str | None = None
    network_model: str = "none"
    time_unit: str | None = None
    reservations: str | None = None
    think_times: bool = False
    explain: bool = False
    report: bool = False
    file_format: Literal["csv", "parquet"] = "csv"
    config: str | None = None
    from_config: frozenset[str] = frozenset()

    def said_by(self, key: str) -> str:
        """What gave a setting, for messages: the configuration file, or "" for the command line."""
        return self.config if self.config and key in self.from_config else ""


def settings_of(config: str | None, options: dict[str, Any]) -> Settings:
    """Settings from a configuration file, if there is one, and from options, which override it.

    Raises FormatError for a bad file, InputError when nothing says what the workload is.
    """
    read = {} if config is None else read_config(config)
    with naming(config):
        for key in read.keys() - options.keys():
            _check_spec(key, read[key])
    merged = {**read, **options}
    if "workload" not in merged:
        wanted = "--workload W, or a configuration file" if config is None else "key 'workload'"
        raise InputError(config or "cluster-sim run", wanted)
    return Settings(config=config, from_config=frozenset(read.keys() - options.keys()), **merged)


def _check_spec(key: str, value: Any) -> None:
    """Make what a spec in a file names, so that what is wrong with it is told with the file. Raises InputError."""
    from cluster_sim.contention import contention_models
    from cluster_sim.network import network_models
    from cluster_sim.power import power_models
    from schedulers import make_power_policy, make_scheduler

    made: dict[str, Callable[[str], object]] = {
        "scheduler": make_scheduler,
        "power_policy": make_power_policy,
        "contention_model": contention_models.make,
        "power_model": power_models.make,
        "network_model": network_models.make,
    }
    if key in made:
        made[key](value)


def is_config(document: object) -> bool:
    """Whether a parsed document is a configuration: it says where its workload is."""
    return isinstance(document, dict) and bool({"workload", "workload_file"} & document.keys())


def read_config(path: str) -> dict[str, Any]:
    """The settings that a configuration file gives, by the names of :class:`Settings`. Raises FormatError."""
    from cluster_sim.cli import irmasim_options, own_config
    from cluster_sim.formats.documents import read_document

    document = read_document(path)
    if irmasim_options.is_options(document):
        return irmasim_options.settings(document, path)
    return own_config.settings(document, path)


def beside(config: str, source: str) -> str:
    """A file named in ``config``, whose relative names start in its folder; or a spec as it is."""
    from cluster_sim.formats.platform_specs import is_platform_spec
    from cluster_sim.workload import WORKLOAD_GENERATORS

    if is_platform_spec(source) or source.partition(":")[0] in WORKLOAD_GENERATORS:
        return source
    return str(Path(config).parent / source)
