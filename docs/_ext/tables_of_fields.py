"""Directives ``fields``: columns and metrics, and ``keys``: keys of a YAML file, from where the program declares them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from cluster_sim.workload.fields import JOB_FIELDS, RESULT_TABLES, SUMMARY_METRICS
from learning.training.logs import NUMBERS

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
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
        return _parsed(self, lines_of(self.arguments[0]) if self.arguments else all_lines())


def lines_of_keys(module: str) -> Iterator[str]:
    """Yield a table of the keys of each section of a file: the sections that a module declares."""
    for path, section in import_module(module).SECTIONS:
        title = f"`{path}`" if path.isidentifier() or "." in path else path.capitalize() or "At the top"
        about = inspect.cleandoc(section.__doc__ or "").partition("\n\n")[0].replace("``", "`")
        yield from (f"**{title}.** {about}", "", "| key | default | meaning |", "|---|---|---|")
        for key, field in section.model_fields.items():
            yield f"| `{key}` | {_default(field)} | {_cell(field.description or '')} |"
        yield ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, list | tuple):
        return ", ".join(_text(each) for each in value)
    return _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"`{value}`" if isinstance(value, str) else f"{value:g}" if isinstance(value, int | float) else ""


class Keys(SphinxDirective):
    """``{keys} MODULE``: a table for each section of a configuration."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Written in Markdown, for the parser of the page that it stands on."""
        return _parsed(self, lines_of_keys(self.arguments[0]))


def _parsed(directive: SphinxDirective, lines: Iterator[str]) -> list[nodes.Node]:
    container = nodes.container(classes=["fields"])
    directive.state.nested_parse(StringList(list(lines), source="fields"), directive.content_offset, container)
    return [container]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("fields", Fields)
    app.add_directive("keys", Keys)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
