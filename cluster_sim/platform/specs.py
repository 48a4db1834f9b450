"""Platforms from a file or from a spec such as ``homogeneous:nodes=64,cores=16`` or ``mixed:3x64@3.0,9x8@4.2``.

A third party adds a spec by registering a function that returns a Platform in ``platforms``, or through the
setuptools entry-point group ``cluster_sim.platforms``.
"""

from __future__ import annotations

import inspect
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster_sim.errors import FormatError, ModelWarning, SpecError, warn_user
from cluster_sim.files.reading import check_source
from cluster_sim.platform.hardware import Cluster, NodeGroup, NodeType, ProcessorType, check_contention
from cluster_sim.platform.platform import Platform
from cluster_sim.platform.processor_table import documented, power_at
from cluster_sim.registry import Registry, Spec, misspelt

platforms: Registry[Platform] = Registry("platform", "cluster_sim.platforms")

_GROUP = re.compile(r"([0-9]{1,9})x([0-9]{1,9})@([0-9]{1,9}(?:\.[0-9]{1,9})?)")


@platforms.register("homogeneous")
def homogeneous(
    nodes: int = 0, cores: int = 0, ghz: float = 3.0, processors: int = 1, memory_gb: float = math.inf
) -> Platform:
    """Equal nodes: nodes=N,cores=N per node[,ghz=3.0][,processors=sockets per node][,memory_gb=per node]."""
    for key, value in (("nodes", nodes), ("cores", cores)):
        if value < 1:
            raise SpecError("platform 'homogeneous'", f"{key}=N, N at least 1", value or f"no {key}")
    return replace(Platform.homogeneous(nodes, cores, ghz, processors, _unlimited(memory_gb)), watts_assumed=True)


@platforms.register("mixed")
def mixed(*groups: str, memory_gb: float = math.inf) -> Platform:
    """Nodes of documented processors, one each: COUNTxCORES@GHZ[,COUNTxCORES@GHZ…][,memory_gb=per node].

    A processor that no source documents gets its power from the law and no contention, with a ModelWarning.
    """
    if not groups:
        raise SpecError("platform 'mixed'", "groups COUNTxCORES@GHZ such as mixed:3x64@3.0,9x8@4.2", "none")
    types: dict[tuple[int, float], NodeType] = {}
    members = []
    for group in groups:
        match = _GROUP.fullmatch(group)
        if match is None:
            raise SpecError("platform 'mixed'", "COUNTxCORES@GHZ such as 3x64@3.0", group)
        cores, ghz = int(match[2]), float(match[3])
        if (cores, ghz) not in types:
            entry = documented(cores, ghz)
            if entry is None:
                text = "its power follows the law of the documented ones, and its tasks do not slow each other"
                none = f"no source documents a processor of {cores} cores at {ghz} GHz"
                warn_user(ModelWarning(f"platform 'mixed': {none}: {text}"))
            power = power_at(ghz) if entry is None else entry.power
            contention = {} if entry is None else entry.contention
            processor = ProcessorType(f"proc_{cores}_{ghz}", cores, ghz, power=power, contention=contention)
            types[cores, ghz] = NodeType(f"node_{cores}_{ghz}", (processor,), _unlimited(memory_gb))
        members.append(NodeGroup(types[cores, ghz], int(match[1])))
    return Platform((Cluster("cluster0", tuple(members)),), id="mixed")


@platforms.register("simgrid")
def simgrid(path: str, cores_per_node: int = 0, max_hosts: int = 0, time_unit: str = "seconds") -> Platform:
    """A SimGrid XML file with options: FILE[,cores_per_node=N][,max_hosts=N][,time_unit=minutes]."""
    from cluster_sim.formats.batsim_platform import read_simgrid

    return read_simgrid(path, time_unit=time_unit, cores_per_node=cores_per_node or None, max_hosts=max_hosts or None)


def read_platform(source: str | Path, name: str | None = None, **options: Any) -> Platform:
    """Read the platform of a spec or a file; see :meth:`cluster_sim.platform.platform.Platform.read`."""
    check_source("Platform.read", source)
    text = str(source)
    if isinstance(source, str) and is_platform_spec(text):
        given = Spec.parse(text).options
        platform = platforms.make(text + "".join(f",{k}={v}" for k, v in options.items() if k not in given))
        if not hasattr(platform, "processor_types"):
            raise SpecError(f"platform '{text}'", "one that returns a Platform", type(platform).__name__)
    else:
        platform = _read_file(text, name, options)
    for processor in platform.processor_types:
        reason = check_contention(processor)
        if reason and Spec.parse(platform.contention_model).name == "piecewise":
            warn_user(ModelWarning(f"{text}: {reason}"))
    return platform


def is_platform_spec(text: str) -> bool:
    """Return whether a text is a spec (a registered name or a Python file, then a colon) and not a path."""
    return platforms.names(text)


def has_time_unit(source: str) -> bool:
    """Return whether the times of a platform may count minutes, say: SimGrid's XML has no units."""
    return Spec.parse(source).name == "simgrid" if is_platform_spec(source) else is_xml(source)


def is_xml(path: str) -> bool:
    """Return whether a file is XML, by its name or its first character: a SimGrid platform, then."""
    from cluster_sim.files.documents import MAX_JSON_BYTES
    from cluster_sim.files.reading import read_text

    return path.lower().removesuffix(".gz").endswith(".xml") or (
        os.path.isfile(path) and read_text(path, MAX_JSON_BYTES).lstrip().startswith("<")
    )


def _read_file(path: str, name: str | None, options: dict[str, Any]) -> Platform:
    # Parsers and pydantic take a tenth of a second to load; a spec does without them.
    from cluster_sim.files.documents import MAX_JSON_BYTES, is_yaml_name, read_document
    from cluster_sim.files.reading import read_text
    from cluster_sim.formats import irmasim_platform, native_platform
    from cluster_sim.formats.slurm.conf_lines import is_slurm_conf
    from cluster_sim.formats.slurm.slurm_conf import read_slurm_conf

    if path in platforms:
        raise SpecError(f"platform '{path}'", f"options, as in {path}:… ({platforms.help(path)})")
    if not os.path.exists(path) and (error := misspelt(path, platforms)):
        raise error
    if is_xml(path):
        from cluster_sim.formats.batsim_platform import read_simgrid

        known = inspect.signature(read_simgrid).parameters
        for option in options:
            if option not in known or option == "path":
                raise SpecError(path, f"an option of SimGrid's XML ({', '.join(list(known)[1:])})", option)
        return read_simgrid(path, **options)
    if options:
        raise SpecError(path, "no options: only SimGrid's XML takes any", ", ".join(options))
    if not is_yaml_name(path) and is_slurm_conf(path, read_text(path, MAX_JSON_BYTES)):
        return read_slurm_conf(path)
    document = read_document(path)
    if isinstance(document, dict) and "meta" in document and {"nodes", "partitions", "sinfo"} & document.keys():
        raise FormatError(path, "the slurm.conf itself", "what a command of Slurm's prints with --json")
    if irmasim_platform.is_irmasim(document):
        return irmasim_platform.platform_from(document, path, name)
    if not (isinstance(document, dict) and document.keys() & {"clusters", "node_types", "processor_types"}):
        raise FormatError(path, "a platform: key 'clusters' (the own format) or 'platform' (IRMaSim's)")
    return native_platform.platform_from(document, path)


def _unlimited(memory_gb: float) -> float | None:
    return None if memory_gb == math.inf else memory_gb


# The library of machines registers its spec on import. It imports this module, so it comes when that is complete.
import cluster_sim.platform.library  # noqa: E402, F401
