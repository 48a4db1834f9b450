"""Words: docstrings begin with a verb or a noun, and no text has the turns that readers stumble over."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cluster_sim", "schedulers", "learning", "analysis", "benchmarks", "studies")
BEGINS_WRONG = re.compile(
    r"(The same|Those|Of |It |So many|Another|Nothing|They|That |These|This |Its |None of|Whoever|Nobody|Where )"
)
BANNED = ("belongs into", "twice too long", "is free since", "what lacks a library")
"""Turns of which a reader of English has to guess the meaning."""


def test_no_docstring_begins_with_a_pronoun() -> None:
    """The first word of a docstring says what is done, or what a thing is."""
    wrong = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    text = ast.get_docstring(node) or ""
                    if BEGINS_WRONG.match(text):
                        wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {text[:60]}")
    assert wrong == []


def test_no_page_has_a_banned_turn() -> None:
    """In the README, the manual and the lessons."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    pages += (ROOT / "analysis" / "lessons" / "texts").glob("*.md")
    found = [
        f"{page.relative_to(ROOT)}: {turn}"
        for page in pages
        for turn in BANNED
        if turn in page.read_text(encoding="utf-8").lower() and "_build" not in page.parts
    ]
    assert found == []
