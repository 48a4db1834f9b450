"""What a sweep is: the keys of its configuration file, checked.

A YAML or JSON file; relative names of files start in its folder::

    factors:
      platform: homogeneous:nodes=16,cores=4
      workload: lublin:jobs=200,nodes=64
      scheduler: ["list:*/*", easy]
      power_policy: [always-on, timeout:300]
    replications: 5

Every key is a field of a class below, with what it means (docs/guides/sweeps.md has the same as a table). A factor is a list of
values, or a single one. A key that does not exist and a value of the wrong type end in one line that names file and key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from cluster_sim.errors import FormatError
from cluster_sim.files.documents import read_document
from cluster_sim.formats.native_platform import Count, OwnKeys, Whole, key_field, validated
from cluster_sim.run.settings import SETTINGS, FirstJobs, Setting, Shake, TimeUnit, as_in_a_run, with_settings
from cluster_sim.spelling import nearest
from cluster_sim.workload.fields import SUMMARY_METRICS, names

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

SHOWN = ["mean_wait_s", "mean_bounded_slowdown", "utilisation", "energy_j", "edp_js"]


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _as_lists(value: Any) -> Any:
    """Return the values of a factor that are lists of names: a list of names is one value, a list of lists several."""
    if isinstance(value, str):
        return [[value]]
    return value if isinstance(value, list) and value and all(isinstance(one, list) for one in value) else [value]


def _known_metric(name: str) -> str:
    known = names(SUMMARY_METRICS)
    if name not in known:
        raise PydanticCustomError("metric", "{expected}", {"expected": nearest(name, known)})
    return name


Metric = Annotated[str, AfterValidator(_known_metric)]


def _values(kind: Any) -> Any:
    return Annotated[list[kind], BeforeValidator(_as_list), Field(min_length=1)]


def _factor(setting: Setting) -> tuple[Any, Any]:
    """Return the type and the default of a setting as a factor."""
    kind, default = as_in_a_run(setting)
    if isinstance(default, tuple):
        return Annotated[list[list[str]], BeforeValidator(_as_lists)], [list(default)]
    return _values(kind), [default]


class WorkloadKeys(OwnKeys):
    """A workload with more than a name."""

    source: str = key_field("a file, or a spec such as lublin:jobs=1000,nodes=64", ...)
    name: str | None = key_field("what tables call it; else its source, and how it is cut")
    first: FirstJobs | None = key_field(SETTINGS["first"].meaning)
    slice: tuple[float, float] | None = key_field(SETTINGS["slice"].meaning, strict=False)
    window: Count | None = key_field(
        "each replication takes that many consecutive jobs, from a job on that is drawn with its seed"
    )
    shake: Annotated[Shake, Field(allow_inf_nan=False)] | None = key_field(SETTINGS["shake"].told("sweep"))
    time_unit: TimeUnit | None = key_field(SETTINGS["time_unit"].meaning)
    think_times: bool = key_field(SETTINGS["think_times"].meaning, False)
    fit: Literal["clamp", "drop"] | None = key_field(
        "jobs wider than the platform: clamp, they get fewer cores; drop, they are left out"
    )


@with_settings("sweep", _factor)
class FactorKeys(OwnKeys):
    """The factors: each a list of values, or one value. The grid is all their combinations. Most are settings of a run."""

    workload: Annotated[
        list[
            Annotated[WorkloadKeys, BeforeValidator(lambda name: {"source": name} if isinstance(name, str) else name)]
        ],
        BeforeValidator(_as_list),
        Field(min_length=1),
    ] = key_field(SETTINGS["workload"].told("sweep"), ...)
    load: _values(Positive) = key_field("gaps between submissions are divided by it", [1.0])  # type: ignore[valid-type]

    def values(self, factor: str) -> list[Any]:
        """Return the values of a factor."""
        found: list[Any] = getattr(self, factor)
        return found


class TrainKeys(OwnKeys):
    """Agents that the sweep trains itself, for the scheduler or power policy ``trained``."""

    config: str = key_field("a configuration of cluster-sim train", ...)
    settings: dict[str, list[Any]] = key_field(
        "factors of the training: dotted keys of its configuration, each with a list of values; files lie beside the sweep's",
        default_factory=dict,
    )

    @model_validator(mode="after")
    def _something_each(self) -> TrainKeys:
        for key, values in self.settings.items():
            if not values:
                raise PydanticCustomError("settings", "{expected}", {"expected": f"at least one value of {key}"})
        return self


class OutputKeys(OwnKeys):
    """Files that are kept of a run beside its metrics."""

    jobs: bool = key_field("its table of jobs, jobs/CELL.parquet", False)
    gantt: Whole = key_field("its Gantt chart, gantt/CELL.html, if it has at most that many jobs", 0)
    charts: bool = key_field("curves of power, use and queue, charts/CELL.html", False)


class SweepConfig(OwnKeys):
    """A whole sweep."""

    factors: FactorKeys = key_field("see below", ...)
    replications: Count = key_field("runs of each combination, with seeds of their own", 1)
    seed: Whole = key_field("what all seeds are derived from", 0)
    train: TrainKeys | None = key_field("see below")
    outputs: OutputKeys = key_field("see below", default_factory=OutputKeys)
    metrics: Annotated[list[Metric], Field(min_length=1)] = key_field(
        "what the printed table shows, keys of summary.json; for each the best is named",
        default_factory=lambda: list(SHOWN),
    )
    confidence: Annotated[float, Field(gt=0, lt=1)] = key_field("of the intervals", 0.95)


SECTIONS: tuple[tuple[str, type[OwnKeys]], ...] = (
    ("", SweepConfig),
    ("factors", FactorKeys),
    ("factors.workload", WorkloadKeys),
    ("train", TrainKeys),
    ("outputs", OutputKeys),
)
"""Every section of a configuration, for the manual."""


def read_config(path: str | Path) -> SweepConfig:
    """Return the configuration in a file. Raises FormatError naming file and key."""
    return config_of(read_document(path), path)


def config_of(document: object, path: str | Path = "sweep") -> SweepConfig:
    """Return the configuration in a parsed document; ``path`` is for messages. Raises FormatError."""
    if not isinstance(document, dict):
        raise FormatError(path, "a sweep: keys such as 'factors' and 'replications'", type(document).__name__)
    return validated(SweepConfig, document, path)
