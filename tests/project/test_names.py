"""Names: each public class has one of its own."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_no_public_class_name_stands_twice() -> None:
    """A reader who meets a name knows which class it is."""
    places: dict[str, set[str]] = defaultdict(set)
    for package in ("cluster_sim", "schedulers", "learning", "analysis"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].add(path.relative_to(ROOT).as_posix())
    assert {name: sorted(paths) for name, paths in places.items() if len(paths) > 1} == {}
