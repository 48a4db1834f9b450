"""Directives ``registered``: what can be named in a spec, and ``options``: a table, both from where options are declared."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from cluster_sim.cli.commands.listing import registry_of
from cluster_sim.options import REQUIRED, Option, options_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _row(option: Option) -> str:
    kind = f"any of {', '.join(option.choices)}" if option.several else option.kind_text
    value = f"{kind} ({option.unit})" if option.unit else kind
    default = "must be given" if option.default is REQUIRED else option.in_spec(option.default)
    return f"| `{option.name}` | {value} | {default} | {_cell(option.meaning)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


class Registered(SphinxDirective):
    """``{registered}``: a table of the things of a kind, each with its options."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Written in Markdown, for the parser of the page that it stands on."""
        found = registry_of(kind := self.content[0])
        lines = [
            f"Entry-point group `{found.group}`.",
            "",
            "| name | option | value | default | what it is |",
            "|---|---|---|---|---|",
        ]
        for name in found:
            lines.append(f"| `{name}` | | | | {_cell(found.help(name))} |")
            # Machines of the library all have the same one.
            lines += [f"| {_row(option)}" for option in options_of(found.factory(name)).values() if kind != "machines"]
        return _parsed(self, lines, ids=[nodes.make_id(kind)])


class Options(SphinxDirective):
    """``{options} MODULE:NAME``: a table of the options that a function or a model of options declares."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Written in Markdown, for the parser of the page that it stands on."""
        module, _, name = self.arguments[0].partition(":")
        options = options_of(getattr(import_module(module), name)).values()
        return _parsed(self, ["| option | value | default | what it is |", "|---|---|---|---|", *map(_row, options)])


def _parsed(directive: SphinxDirective, lines: list[str], **attributes: list[str]) -> list[nodes.Node]:
    container = nodes.container(classes=["fields"], **attributes)
    directive.state.nested_parse(StringList(lines, source="options"), directive.content_offset, container)
    return [container]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("registered", Registered)
    app.add_directive("options", Options)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
