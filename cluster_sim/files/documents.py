"""JSON and YAML documents from files that are not to be trusted.

Reading refuses what a parser would let pass in silence or die of: keys given twice, NaN and infinity, aliases that
expand to gigabytes, nesting beyond reason, compressed files without end. Whatever is wrong ends in a FormatError.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from cluster_sim.errors import FormatError
from cluster_sim.files.reading import read_text

# Parsed documents take some twenty times (JSON) to several hundred times (YAML) their size in memory.
MAX_JSON_BYTES = 16 * 2**20
MAX_YAML_BYTES = 2**20
MAX_YAML_DEPTH = 50

_YAML_SUFFIXES = (".yaml", ".yml")
_FastLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_NAME = 200
"""Longest name, of a key or of a thing, in characters."""


def read_document(path: str | Path, max_json_bytes: int = MAX_JSON_BYTES) -> Any:
    """Read a JSON or YAML file, ``.gz`` too: YAML by its suffix, or if the text does not begin as JSON does.

    Raises FormatError naming the file and, where there is one, the line.
    """
    text = read_text(path, max(max_json_bytes, MAX_YAML_BYTES), "a JSON or YAML document")
    begins_as_json = text.lstrip()[:1] in ("{", "[")
    is_yaml = _suffix(path) in _YAML_SUFFIXES or (_suffix(path) != ".json" and not begins_as_json)
    try:
        return _parse_yaml(text, path) if is_yaml else parse_json(path, text)
    except RecursionError:
        raise FormatError(path, "a document of reasonable depth", "nesting that is too deep") from None


def flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Return the values of a document and their keys, those of inner mappings with a dot between: ``ppo.epochs``."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def is_yaml_name(path: str | Path) -> bool:
    """Return whether a file of this name is YAML (a last ``.gz`` does not count)."""
    return _suffix(path) in _YAML_SUFFIXES


def is_plain(text: str) -> bool:
    """Return whether a text may stand in a message: not every terminal can print every character."""
    return text.isprintable() and len(text) <= MAX_NAME


def _suffix(path: str | Path) -> str:
    path = Path(path)
    return Path(path.stem if path.suffix == ".gz" else path.name).suffix.lower()


def parse_json(path: str | os.PathLike[str], text: str) -> Any:
    """Parse the JSON document in ``text`` of a file. Raises FormatError, naming line and column of what is no JSON.

    Keys given twice, or that no message could show, NaN and Infinity are errors.
    """
    plain: set[str] = set()  # keys that may stand: most objects of a long document have those of one before

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            key = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise FormatError(path, "every key once in an object", f"'{key}' twice")
        if not plain.issuperset(mapping):
            for key in mapping:
                if not is_plain(key):
                    raise FormatError(path, f"keys of at most {MAX_NAME} printable characters", key)
            plain.update(mapping)
        return mapping

    def refuse(constant: str) -> Any:
        raise FormatError(path, "finite numbers", constant)

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise FormatError(f"{path}, line {error.lineno} column {error.colno}", "JSON", error.msg) from None
    except RecursionError:
        raise FormatError(path, "a document of reasonable depth", "nesting that is too deep") from None
    except FormatError:
        raise
    except ValueError:
        # Python refuses to read integers of more than 4300 digits.
        raise FormatError(path, "numbers of a reasonable length", "an integer of thousands of digits") from None


class _Loader(_FastLoader):  # type: ignore[misc, valid-type]
    """PyYAML's safe loader, with YAML 1.2's numbers (``1e5`` is one) and every key of a mapping only once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                raise yaml.constructor.ConstructorError(None, None, "expected plain keys", key.start_mark)
            if key.value in seen or not is_plain(key.value):
                problem = f"found key '{key.value}' twice" if key.value in seen else "found an unprintable key"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)  # type: ignore[no-any-return]


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


def _parse_yaml(text: str, path: str | Path) -> Any:
    if len(text.encode()) > MAX_YAML_BYTES:
        raise FormatError(path, f"at most {MAX_YAML_BYTES} bytes of YAML (JSON may be longer)", "more")
    try:
        depth = 0
        for event in yaml.parse(io.StringIO(text), Loader=_FastLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_YAML_DEPTH:
                raise FormatError(_at(path, event.start_mark), f"at most {MAX_YAML_DEPTH} levels", "more")
            if isinstance(event, yaml.AliasEvent):
                raise FormatError(_at(path, event.start_mark), "no aliases (write the value out)", f"*{event.anchor}")
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        where, problem = _at(path, getattr(error, "problem_mark", None)), getattr(error, "problem", None) or str(error)
        if (lacks := problem.removeprefix("did not find expected ")) != problem:
            raise FormatError(where, f"YAML, here {lacks}") from None
        raise FormatError(where, "YAML", problem.removeprefix("found ")) from None
    except FormatError:
        raise
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError) as error:
        # Dates such as 2020-99-99, integers of thousands of digits, odd tags: PyYAML lets these through as they come.
        raise FormatError(path, "YAML", str(error)) from None


def _at(path: str | Path, mark: Any) -> str:
    return f"{path}, line {mark.line + 1}" if mark else str(path)
