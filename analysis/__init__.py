"""Tables, figures and reports of finished runs.

The names below load their module, and with it plotly, when they are first used: ``import analysis`` alone is cheap,
and the text tables never need plotly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.distributions import arrival_table as arrival_table
    from analysis.distributions import arrivals as arrivals
    from analysis.distributions import ecdf as ecdf
    from analysis.distributions import ecdf_table as ecdf_table
    from analysis.fairness import fairness_index as fairness_index
    from analysis.fairness import user_fairness as user_fairness
    from analysis.fairness import user_table as user_table
    from analysis.fit_plot import plot_fit as plot_fit
    from analysis.gantt_chart import gantt as gantt
    from analysis.gantt_window import GanttWindows as GanttWindows
    from analysis.gantt_window import window as window
    from analysis.heatmaps import memory_pressure as memory_pressure
    from analysis.heatmaps import occupancy_grid as occupancy_grid
    from analysis.heatmaps import occupancy_heatmap as occupancy_heatmap
    from analysis.heatmaps import pressure_grid as pressure_grid
    from analysis.job_rows import gantt_by_job as gantt_by_job
    from analysis.replications import replication_table as replication_table
    from analysis.report import write_gantt as write_gantt
    from analysis.report import write_report as write_report
    from analysis.runs_chart import gantt_runs as gantt_runs
    from analysis.series import energy_table as energy_table
    from analysis.series import power_table as power_table
    from analysis.series import queue_table as queue_table
    from analysis.series import utilisation_table as utilisation_table
    from analysis.stepping import animation as animation
    from analysis.stepping import write_animation as write_animation
    from analysis.tables import comparison_table as comparison_table
    from analysis.tables import format_table as format_table
    from analysis.tables import headlines as headlines
    from analysis.timelines import energy_timeline as energy_timeline
    from analysis.timelines import power_timeline as power_timeline
    from analysis.timelines import queue_timeline as queue_timeline
    from analysis.timelines import utilisation_timeline as utilisation_timeline
    from analysis.topology_chart import topology as topology
    from analysis.training_curves import decision_probabilities as decision_probabilities
    from analysis.training_curves import learning_curves as learning_curves
    from analysis.training_curves import learning_table as learning_table

# No submodule may be called as a name here: importing it would put the module in the function's place.
_HOME = {
    "animation": "analysis.stepping",
    "write_animation": "analysis.stepping",
    "gantt": "analysis.gantt_chart",
    "gantt_by_job": "analysis.job_rows",
    "gantt_runs": "analysis.runs_chart",
    "gantt_widget": "analysis.gantt_widget",
    "GanttWindows": "analysis.gantt_window",
    "topology": "analysis.topology_chart",
    "window": "analysis.gantt_window",
    "write_gantt": "analysis.report",
    "write_pictures": "analysis.pictures",
    "write_report": "analysis.report",
    "comparison_table": "analysis.tables",
    "format_table": "analysis.tables",
    "headlines": "analysis.tables",
    "plot_fit": "analysis.fit_plot",
    "arrivals": "analysis.distributions",
    "arrival_table": "analysis.distributions",
    "decision_probabilities": "analysis.training_curves",
    "ecdf": "analysis.distributions",
    "ecdf_table": "analysis.distributions",
    "energy_table": "analysis.series",
    "energy_timeline": "analysis.timelines",
    "fairness_index": "analysis.fairness",
    "learning_curves": "analysis.training_curves",
    "learning_table": "analysis.training_curves",
    "memory_pressure": "analysis.heatmaps",
    "occupancy_grid": "analysis.heatmaps",
    "occupancy_heatmap": "analysis.heatmaps",
    "power_table": "analysis.series",
    "power_timeline": "analysis.timelines",
    "pressure_grid": "analysis.heatmaps",
    "queue_table": "analysis.series",
    "queue_timeline": "analysis.timelines",
    "replication_table": "analysis.replications",
    "user_fairness": "analysis.fairness",
    "user_table": "analysis.fairness",
    "utilisation_table": "analysis.series",
    "utilisation_timeline": "analysis.timelines",
}
__all__ = [
    "animation",
    "write_animation",
    "arrival_table",
    "arrivals",
    "comparison_table",
    "decision_probabilities",
    "ecdf",
    "ecdf_table",
    "energy_table",
    "energy_timeline",
    "fairness_index",
    "format_table",
    "gantt",
    "gantt_by_job",
    "gantt_runs",
    "gantt_widget",
    "GanttWindows",
    "write_pictures",
    "topology",
    "window",
    "headlines",
    "learning_curves",
    "learning_table",
    "memory_pressure",
    "occupancy_grid",
    "occupancy_heatmap",
    "plot_fit",
    "power_table",
    "power_timeline",
    "pressure_grid",
    "queue_table",
    "queue_timeline",
    "replication_table",
    "user_fairness",
    "user_table",
    "utilisation_table",
    "utilisation_timeline",
    "write_gantt",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
