"""Directives ``registered``, ``options``, ``commands`` and ``command``: tables of options, from where these are declared.

Names of a registry with their options, the options of one function, all commands, and the options of one command.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from cluster_sim.cli import main
from cluster_sim.cli.commands.listing import registry_of
from cluster_sim.options import REQUIRED, Option, options_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_MODULE = "cluster_sim.cli.commands."


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
    """``{options} MODULE:NAME``: a table of the options that a function or a model of options declares.

    ``{options} MODULE:NAME MODULE:VALUES`` has a column for each of some named sets of values, with what differs there.
    """

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Written in Markdown, for the parser of the page that it stands on."""
        of, *values = map(_declared, self.arguments)
        sets: dict[str, dict[str, Any]] = values[0] if values else {}
        lines = [
            f"| option | value | default |{''.join(f' {name} |' for name in sets)} what it is |",
            "|---" * (4 + len(sets)) + "|",
        ]
        for option in options_of(of).values():
            texts = [option.in_spec(given[option.name]) if option.name in given else "" for given in sets.values()]
            *row, meaning = _row(option).removesuffix(" |").rsplit(" | ", 1)
            lines.append(" | ".join([*row, *texts, meaning]) + " |")
        return _parsed(self, lines)


def _declared(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


class Commands(SphinxDirective):
    """``{commands}``: a table of all commands, each with a link to its section."""

    def run(self) -> list[nodes.Node]:
        """Written in Markdown, for the parser of the page that it stands on."""
        rows = [f"| [`{name}`](#{name}) | {command.short_help} |" for name, command in main.commands.items()]
        return _parsed(self, ["| command | does |", "|---|---|", *rows])


class CommandHelp(SphinxDirective):
    """``{command} lesson grade``: what ``--help`` says of a command and, as a table, of its options."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Written in Markdown, for the parser of the page that it stands on."""
        command = _command(words := self.arguments[0].split())
        lines = [
            "```text",
            f"cluster-sim {' '.join([*words, *command.collect_usage_pieces(click.Context(command))])}",
            "```",
            "",
        ]
        for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
            is_as_typed = paragraph.startswith("\b\n")
            lines += (
                ["```text", *paragraph.splitlines()[1:], "```", ""] if is_as_typed else [*paragraph.splitlines(), ""]
            )
        options = [each for each in command.params if isinstance(each, click.Option)]
        told = [option.get_help_record(click.Context(command)) for option in options]
        rows = [f"| `{_cell(flags)}` | {_cell(meaning)} |" for flags, meaning in filter(None, told)]
        return _parsed(self, [*lines, *["| option | meaning |", "|---|---|"] * bool(rows), *rows])


def _parsed(directive: SphinxDirective, lines: list[str], **attributes: list[str]) -> list[nodes.Node]:
    container = nodes.container(classes=["fields"], **attributes)
    directive.state.nested_parse(StringList(lines, source="options"), directive.content_offset, container)
    return [container]


def _command(words: list[str]) -> click.Command:
    """Return a command, ``run``, or one of a group, ``lesson grade``."""
    found: click.Command = (
        main.commands[words[0]] if len(words) == 1 else getattr(import_module(_MODULE + words[0]), words[-1])
    )
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("registered", Registered)
    app.add_directive("options", Options)
    app.add_directive("commands", Commands)
    app.add_directive("command", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
