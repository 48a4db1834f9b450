"""What a shell offers when a word is to be completed: names, each with its meaning where the shell shows it, and files."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

NAMED = {
    "scheduler": ("schedulers", True),
    "power_policy": ("power-policies", True),
    "contention_model": ("contention-models", False),
    "power_model": ("power-models", False),
    "network_model": ("network-models", False),
    "failures": ("failure-models", False),
    "platform": ("platforms", True),
    "workload": ("workload-generators", True),
}
"""Kinds of names, in the words of ``list``, that the options of settings take, and whether they take files, too."""

_ALWAYS_WITH_OPTIONS = ("platform", "workload")


def names_for(setting: str) -> list[CompletionItem]:
    """Return the names that the option of a setting takes."""
    from cluster_sim.cli.commands.listing import rows_of

    names = rows_of(NAMED[setting][0])
    if setting in _ALWAYS_WITH_OPTIONS:
        names = [(name if ":" in name else f"{name}:", meaning) for name, meaning in names]
    return [CompletionItem(name, help=meaning) for name, meaning in names]


class Named(click.ParamType):
    """A spec of a setting's kind, or a file where these may stand in its place; taken as it is."""

    name = "text"

    def __init__(self, setting: str):
        self.setting = setting

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete with files that begin so, where they may stand there, and with names that do."""
        names = [item for item in names_for(self.setting) if str(item.value).startswith(incomplete)]
        # Click's function for bash forgets what comes before the files, and offers these where no name begins so.
        return [CompletionItem(incomplete, type="file")] * NAMED[self.setting][1] + names
