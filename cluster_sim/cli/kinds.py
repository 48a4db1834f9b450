"""What a file or a folder is, told by its content: an input, a configuration, or what a program left."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

from cluster_sim.errors import FormatError
from cluster_sim.files.source import READY_PREFIX, ready_agents

Kind = Literal[
    "workload",
    "platform",
    "reservations",
    "configuration",
    "training configuration",
    "sweep configuration",
    "results",
    "agent",
]

_OF_A_RUN = {"scheduler", "power_policy"}
_OF_A_TRAINING = {"environment", "algorithm", "network", "iterations", "validation", "warm_start", "objective"}


def kind_of(source: str) -> Kind:
    """Return what ``source``, a file or a spec, is. Raises FormatError when it is neither, or cannot be read."""
    from cluster_sim.platform.specs import is_platform_spec, platforms
    from cluster_sim.registry import misspelt
    from cluster_sim.workload.workload import WORKLOAD_GENERATORS

    if is_platform_spec(source):
        return "platform"
    if source.startswith(("learned:", READY_PREFIX)):
        return "agent"
    name, colon, _ = source.partition(":")
    if colon and name in WORKLOAD_GENERATORS:
        return "workload"
    if os.path.isdir(source):
        if (Path(source) / "summary.json").exists():
            return "results"
        places = ("agent.json", "best/agent.json", "seed-*/best/agent.json")
        if any(next(Path(source).glob(place), None) for place in places):
            return "agent"
        raise FormatError(source, "a folder that run or train left", "neither summary.json nor an agent")
    if not os.path.exists(source):
        with suppress(ImportError):  # without the libraries that agents need, there is no ready agent
            if source in ready_agents():
                return "agent"
        if error := misspelt(source, platforms, WORKLOAD_GENERATORS):
            raise error
    from cluster_sim.formats.batsim_import import is_batsim_result

    return "results" if is_batsim_result(source) else _kind_of_file(source)


def _kind_of_file(path: str) -> Kind:
    from cluster_sim.cli.config import is_config
    from cluster_sim.cli.irmasim_options import is_options
    from cluster_sim.files.documents import is_yaml_name, parse_json, read_document
    from cluster_sim.files.reading import read_bytes, read_text
    from cluster_sim.formats.irmasim_platform import is_irmasim
    from cluster_sim.formats.slurm.conf_lines import is_slurm_conf
    from cluster_sim.formats.slurm.sacct_table import delimiter_of
    from cluster_sim.formats.workload_files import foreign

    if not is_yaml_name(path):
        first = read_bytes(path).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if first == b"<":
            return "platform"  # SimGrid's XML
        if first not in b"{[":
            start = read_bytes(path)[:100_000].decode(errors="replace")
            if delimiter_of(start) or foreign(path, start) or not is_slurm_conf(path, start):
                return "workload"  # sacct's output, SWF, CSV; what is none of them, its reader says
            return "platform"
    # Workloads may be far longer than read_document allows.
    document = read_document(path) if is_yaml_name(path) else parse_json(path, read_text(path))
    if isinstance(document, dict):
        if "jobs" in document:
            return "workload"
        if "factors" in document:
            return "sweep configuration"
        if is_config(document) or is_options(document) or _OF_A_RUN & document.keys():
            return "configuration"
        if "reservations" in document:
            return "reservations"
        if _OF_A_TRAINING & document.keys():
            return "training configuration"
        if is_irmasim(document) or {"clusters", "node_types", "processor_types"} & document.keys():
            return "platform"
    expected = (
        "a workload (key 'jobs'), a platform ('clusters', 'platform'), reservations ('reservations'), "
        "or the configuration of a run ('workload'), a sweep ('factors') or a training ('environment')"
    )
    raise FormatError(path, expected)
