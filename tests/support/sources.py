"""The project's modules as Python reads them; each is parsed once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cluster_sim", "schedulers", "learning", "analysis")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def definitions(node: ast.AST) -> Iterator[Definition]:
    """Yield the functions and classes below a node, also those within others. Expressions hold none, and are left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield child
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from definitions(child)
