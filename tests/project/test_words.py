"""Words: docstrings begin with a verb or a noun, and no text has the turns that readers stumble over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

from tests.support.sources import PACKAGES, ROOT, definitions, tree_of

BEGINS_WRONG = re.compile(
    r"(The same|Those|Of |It |So many|Another|Nothing|They|That |These|This |Its |None of|Whoever|Nobody|Where )"
)
BANNED = ("belongs into", "twice too long", "is free since", "what lacks a library")
"""Turns of which a reader of English has to guess the meaning."""
MOST_WORDS = 30
"""Words of the longest sentence that a page may have; `:` and `;` end a sentence here."""
PROSE_DIRECTIVE = re.compile(r"\{(note|tip|warning|important|admonition|seealso)\}")


def pages() -> list[Path]:
    """Return the README, CONTRIBUTING, the lessons, and the manual without what programs write into it."""
    manual = [
        page
        for page in (ROOT / "docs").rglob("*.md")
        if not {"_build", "project", "reproductions"}.intersection(page.parts)
    ]
    lessons = (ROOT / "analysis" / "lessons" / "texts").glob("*.md")
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(manual), *sorted(lessons)]


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page's prose: code, tables and headings are left out."""
    in_table = in_heading = False
    for token in MarkdownIt("commonmark").enable("table").parse(re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)):
        if token.type in ("table_open", "table_close"):
            in_table = token.nesting > 0
        elif token.type in ("heading_open", "heading_close"):
            in_heading = token.nesting > 0
        elif token.type == "fence" and PROSE_DIRECTIVE.match(token.info):
            yield from sentences(token.content)
        elif token.type == "inline" and not in_table and not in_heading:
            parts = [
                {"code_inline": "code", "softbreak": " "}.get(child.type, child.content)
                for child in token.children or ()
            ]
            yield from re.split(r"(?<=[.!?:;])\s", re.sub(r"\$[^$]*\$", "formula", "".join(parts)))


def test_no_docstring_begins_with_a_pronoun() -> None:
    """The first word of a docstring says what is done, or what a thing is."""
    wrong = []
    for package in (*PACKAGES, "benchmarks", "studies"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in definitions(tree_of(path)):
                text = ast.get_docstring(node) or ""
                if BEGINS_WRONG.match(text):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {text[:60]}")
    assert wrong == []


def test_no_sentence_of_a_page_is_too_long() -> None:
    """A reader in a third language loses the thread of a long sentence."""
    long = [
        f"{page.relative_to(ROOT)}: {sentence}"
        for page in pages()
        for sentence in sentences(page.read_text(encoding="utf-8"))
        if sum(bool(re.search(r"\w", word)) for word in sentence.split()) > MOST_WORDS
    ]
    assert long == []


def test_long_sentences_are_found() -> None:
    """In paragraphs, lists and notes, not in code or tables."""
    long = "word " * (MOST_WORDS + 1)
    page = f"# {long}\n\n{long}. Short.\n\n- {long}\n\n```python\n{long}\n```\n\n```{{note}}\n{long}\n```\n"
    assert sum(len(sentence.split()) > MOST_WORDS for sentence in sentences(page)) == 3


def test_no_page_has_a_banned_turn() -> None:
    """In the README, the manual and the lessons."""
    found = [
        f"{page.relative_to(ROOT)}: {turn}"
        for page in pages()
        for turn in BANNED
        if turn in page.read_text(encoding="utf-8").lower()
    ]
    assert found == []
