"""Platform files of any format: they find their reader by what they hold."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

from cluster_sim.errors import FormatError, ModelWarning, SpecError, warn_user
from cluster_sim.files.documents import MAX_JSON_BYTES, is_yaml_name, read_document
from cluster_sim.files.reading import check_source, read_text
from cluster_sim.formats.slurm.conf_lines import is_slurm_conf
from cluster_sim.platform.hardware import check_contention
from cluster_sim.platform.platform import Platform
from cluster_sim.platform.specs import is_platform_spec, platforms
from cluster_sim.registry import Spec, misspelt


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


def has_time_unit(source: str) -> bool:
    """Return whether the times of a platform may count minutes, say: SimGrid's XML has no units."""
    return Spec.parse(source).name == "simgrid" if is_platform_spec(source) else is_xml(source)


def is_xml(path: str) -> bool:
    """Return whether a file is XML, by its name or its first character: a SimGrid platform, then."""
    return path.lower().removesuffix(".gz").endswith(".xml") or (
        os.path.isfile(path) and read_text(path, MAX_JSON_BYTES).lstrip().startswith("<")
    )


def _read_file(path: str, name: str | None, options: dict[str, Any]) -> Platform:
    # These parsers and pydantic take a tenth of a second to load; a spec does without them.
    from cluster_sim.formats import irmasim_platform, native_platform
    from cluster_sim.formats.gpu import openb
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
    start = "" if is_yaml_name(path) else read_text(path, MAX_JSON_BYTES)
    if openb.is_nodes(start):
        if others := options.keys() - {"milli"}:
            raise SpecError(path, "the option milli, of a list of openb's nodes", ", ".join(sorted(others)))
        return openb.read_nodes(path, **options)
    if options:
        raise SpecError(path, "no options: only SimGrid's XML and openb's lists of nodes take any", ", ".join(options))
    if not is_yaml_name(path) and is_slurm_conf(path, start):
        return read_slurm_conf(path)
    document = read_document(path)
    if isinstance(document, dict) and "meta" in document and {"nodes", "partitions", "sinfo"} & document.keys():
        raise FormatError(path, "the slurm.conf itself", "what a command of Slurm's prints with --json")
    if irmasim_platform.is_irmasim(document):
        return irmasim_platform.platform_from(document, path, name)
    if not (isinstance(document, dict) and document.keys() & {"clusters", "node_types", "processor_types"}):
        raise FormatError(path, "a platform: key 'clusters' (the own format) or 'platform' (IRMaSim's)")
    return native_platform.platform_from(document, path)
