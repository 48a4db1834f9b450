"""Directive ``fields``: every column and metric there is, in one table, from the tables that the program itself uses."""

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


class Fields(SphinxDirective):
    """``{fields}``: a table of all names, in alphabetical order, each with where it stands, its unit and meaning."""

    def run(self) -> list[nodes.Node]:
        """Written in Markdown, for the parser of the page that it stands on."""
        lines = ["| name | of | unit | meaning |", "|---|---|---|---|"]
        for name, where, unit, meaning in sorted(rows(), key=lambda row: row[0].lower()):
            text = meaning.replace("|", "\\|")
            lines.append(f"| `{name}` | {where} | {unit or '–'} | {text} |")
        container = nodes.container(classes=["fields"])
        self.state.nested_parse(StringList(lines, source="fields"), self.content_offset, container)
        return [container]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("fields", Fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
