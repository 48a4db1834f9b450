"""Tables, figures and reports of finished runs.

The names below load their module, and with it plotly, when they are first used: ``import analysis`` alone is cheap,
and the text tables never need plotly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.fit_plot import plot_fit as plot_fit
    from analysis.gantt_chart import gantt as gantt
    from analysis.report import write_gantt as write_gantt
    from analysis.report import write_report as write_report
    from analysis.tables import comparison_table as comparison_table
    from analysis.tables import format_table as format_table
    from analysis.tables import headlines as headlines

# No submodule may be called as a name here: importing it would put the module in the function's place.
_HOME = {
    "gantt": "analysis.gantt_chart",
    "write_gantt": "analysis.report",
    "write_report": "analysis.report",
    "comparison_table": "analysis.tables",
    "format_table": "analysis.tables",
    "headlines": "analysis.tables",
    "plot_fit": "analysis.fit_plot",
}

__all__ = ["comparison_table", "format_table", "gantt", "headlines", "plot_fit", "write_gantt", "write_report"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
