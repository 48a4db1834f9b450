"""How the settings of a run are read from a configuration file.

A configuration is a YAML or JSON file whose keys are the options of ``run``, with ``_`` for ``-``::

    platform: lab.yaml            # beside the configuration, or a spec such as homogeneous:nodes=64,cores=16
    workload: week.swf.gz
    scheduler: list:shortest/high_gflops
    quirks: [textual-node-order]

IRMaSim's ``options.json`` is known by its keys ``platform_file`` and ``workload_file``, see :mod:`.irmasim_options`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cluster_sim.errors import InputError, naming
from cluster_sim.run.settings import RunSettings


def settings_of(config: str | None, options: dict[str, Any]) -> RunSettings:
    """Return the settings from a configuration file, if there is one, and from options, which override it.

    Raises FormatError for a bad file, InputError when nothing says what the workload is.
    """
    from cluster_sim.models.contention import contention_models
    from cluster_sim.models.network import network_models
    from cluster_sim.models.power import power_models
    from cluster_sim.run.failures import failure_models
    from schedulers import make_power_policy, make_scheduler

    makers: dict[str, Callable[[str], object]] = {
        "scheduler": make_scheduler,
        "power_policy": make_power_policy,
        "contention_model": contention_models.make,
        "power_model": power_models.make,
        "network_model": network_models.make,
        "failures": failure_models.make,
    }
    read: dict[str, Any] = {}
    if config is not None:
        from cluster_sim.cli.own_config import read_config

        read = read_config(config)
    with naming(config):
        # Everything that the file names by a spec is made once here, so that an error names the file.
        for key in (read.keys() - options.keys()) & makers.keys():
            makers[key](read[key])
    merged = {**read, **options}
    if "workload" not in merged:
        wanted = "--workload W, or a configuration file" if config is None else "key 'workload'"
        raise InputError(config or "cluster-sim run", wanted)
    return RunSettings(config=config, from_config=frozenset(read.keys() - options.keys()), **merged)


def is_config(document: object) -> bool:
    """Return whether a parsed document is a configuration: it says where its workload is."""
    return isinstance(document, dict) and bool({"workload", "workload_file"} & document.keys())
