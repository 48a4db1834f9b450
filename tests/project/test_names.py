"""Names: each public class has one of its own."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.support.sources import PACKAGES, ROOT, definitions, tree_of


def test_no_public_class_name_stands_twice() -> None:
    """A reader who meets a name knows which class it is."""
    places: dict[str, set[str]] = defaultdict(set)
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in definitions(tree_of(path)):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].add(path.relative_to(ROOT).as_posix())
    assert {name: sorted(paths) for name, paths in places.items() if len(paths) > 1} == {}


BY_ROLE = (
    *("asks", "kept", "ends", "shares", "clockwork", "seen", "situations", "scene", "closing", "desk", "bench"),
    *("helpers", "utils", "misc", "common", "manager", "handler", "stuff"),
)
"""Names of modules that say which part something plays, and not what it is."""


def test_no_module_is_named_by_its_role() -> None:
    """A module is named by the field's noun, and holds that noun."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert [path.relative_to(ROOT).as_posix() for path in paths if path.stem in BY_ROLE] == []
