"""What a file is, told by its content: a workload, a platform, or the configuration of a run."""

from __future__ import annotations

from typing import Literal

from cluster_sim.errors import FormatError

Kind = Literal["workload", "platform", "configuration"]


def kind_of(source: str) -> Kind:
    """What ``source``, a file or a spec, is. Raises FormatError when it is neither, or cannot be read."""
    from cluster_sim.formats.platform_specs import is_platform_spec
    from cluster_sim.workload import WORKLOAD_GENERATORS

    if is_platform_spec(source):
        return "platform"
    name, colon, _ = source.partition(":")
    if colon and name in WORKLOAD_GENERATORS:
        return "workload"
    return _kind_of_file(source)


def _kind_of_file(path: str) -> Kind:
    from cluster_sim.cli.config import is_config
    from cluster_sim.formats.documents import is_yaml_name, read_document
    from cluster_sim.formats.files import parse_json, read_bytes, read_text
    from cluster_sim.formats.irmasim_platform import is_irmasim

    if not is_yaml_name(path):
        first = read_bytes(path).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if first == b"<":
            return "platform"  # SimGrid's XML
        if first not in b"{[":
            return "workload"  # SWF and CSV; what is none of them, its reader says
    # Workloads may be far longer than read_document allows.
    document = read_document(path) if is_yaml_name(path) else parse_json(path, read_text(path))
    if isinstance(document, dict):
        if "jobs" in document:
            return "workload"
        if is_config(document):
            return "configuration"
        if is_irmasim(document) or {"clusters", "node_types", "processor_types"} & document.keys():
            return "platform"
    raise FormatError(
        path, "a workload (key 'jobs'), a platform ('clusters', 'platform') or a configuration ('workload')"
    )
