"""The packages of the toolkit, and whether a module is in one of them."""

from __future__ import annotations

PACKAGES = ("cluster_sim", "schedulers", "learning", "analysis")
"""Each uses those before it."""


def is_ours(module: object) -> bool:
    """Whether the toolkit brings a module of that name."""
    return str(module).partition(".")[0] in PACKAGES
