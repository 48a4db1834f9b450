"""Reproductions of published papers: one module of declarations for each, on a runner that they share.

| module | holds |
|---|---|
| ``claims`` | a published number or statement, how it is measured here, and the verdict |
| ``paper`` | what a paper's module declares: parts to compute, claims, figures |
| ``inputs`` | where the papers' inputs lie, and what of them is missing |
| ``runner`` | computes the parts on all cores, keeps each that is finished, judges |
| ``outcome``, ``page`` | results.csv, results.json, results.md and report.html |
| ``agents`` | rows of trained agents, for every paper in one place |
| ``drawing`` | figures that several papers need |
| others | the papers, by the name in :data:`MODULES` |

To add a paper: a module with a ``PAPER`` (:class:`~analysis.reproduce.paper.Paper`), and its name in :data:`MODULES`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from cluster_sim.errors import SpecError

if TYPE_CHECKING:
    from analysis.reproduce.paper import Paper

MODULES = {
    "irmasim": "irmasim.paper",
    "energy-scheduler-1": "energy_scheduler.experiment_1",
    "energy-scheduler-2": "energy_scheduler.experiment_2",
    "energy-scheduler-3": "energy_scheduler.experiment_3",
    "energy-scheduler-4": "energy_scheduler.experiment_4",
    "ineps": "ineps",
    "pcbe": "pcbe",
    "deepshutdown": "deepshutdown.paper",
}
"""Name of a reproduction on the command line → its module in this package."""


def paper_of(name: str) -> Paper:
    """Return the declarations of the paper of that name. Raises SpecError for an unknown name."""
    if name not in MODULES:
        raise SpecError("reproduce", f"one of {', '.join(MODULES)}, all", name)
    found: Paper = import_module(f"analysis.reproduce.{MODULES[name]}").PAPER
    return found
