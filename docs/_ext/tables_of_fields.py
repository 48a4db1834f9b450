"""Directive ``fields``: columns and metrics, all or those of one table, from the tables that the program itself uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from cluster_sim.workload.fields import JOB_FIELDS, RESULT_TABLES, SUMMARY_METRICS
from learning.training.logs import NUMBERS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

Row = tuple[str, str, str, str]


def rows() -> Iterator[Row]:
    """(name, where it stands, unit, meaning) of every column, metric and logged number."""
    for field in JOB_FIELDS:
        yield field.name, "[workload](job-schema.md)", field.unit, field.meaning
    for table, fields in RESULT_TABLES.items():
        for field in fields:
            yield field.name, f"[result.{table}](records.md#result{table})", field.unit, field.meaning
    for field in SUMMARY_METRICS:
        yield field.name, "[summary](records.md#resultsummary)", field.unit, field.meaning
    for number in NUMBERS:
        yield number.name, "[training](training.md#every-number)", number.unit, number.meaning


def all_lines() -> Iterator[str]:
    """Yield a table of all names, in alphabetical order, each with where it stands, its unit and meaning."""
    yield from ("| name | of | unit | meaning |", "|---|---|---|---|")
    for name, where, unit, meaning in sorted(rows(), key=lambda row: row[0].lower()):
        yield f"| `{name}` | {where} | {unit or '–'} | {_cell(meaning)} |"


def lines_of(table: str) -> Iterator[str]:
    """Yield one table in its own order: of a result, its ``summary``, or the numbers of a ``training``."""
    declared = {**RESULT_TABLES, "summary": SUMMARY_METRICS, "training": NUMBERS}[table]
    yield from ("| name | unit | meaning |", "|---|---|---|")
    for each in declared:
        yield f"| `{each.name}` | {each.unit} | {_cell(each.meaning)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


class Fields(SphinxDirective):
    """``{fields}``: a table of all names; ``{fields} jobs``: those of one table."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Written in Markdown, for the parser of the page that it stands on."""
        lines = list(lines_of(self.arguments[0]) if self.arguments else all_lines())
        container = nodes.container(classes=["fields"])
        self.state.nested_parse(StringList(lines, source="fields"), self.content_offset, container)
        return [container]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("fields", Fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
