"""The toolkit's own configuration files: the options of ``run`` as the keys of a YAML or JSON document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from cluster_sim.cli.config import beside
from cluster_sim.cli.options import TIME_UNITS
from cluster_sim.errors import FormatError
from cluster_sim.formats.native_platform import OwnKeys, validated


class _Config(OwnKeys):
    workload: str | None = None
    platform: str | None = None
    scheduler: str | None = None
    power_policy: str | None = None
    first: Annotated[int, Field(ge=1)] | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    enforce_walltime: bool | None = None
    quirks: list[str] | None = None
    until: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    contention_model: str | None = None
    power_model: str | None = None
    network_model: str | None = None
    time_unit: Literal["ms", "s", "min", "h", "d", "milliseconds", "seconds", "minutes", "hours", "days"] | None = None
    think_times: bool | None = None
    reservations: str | None = None
    explain: bool | None = None
    report: bool | None = None
    format: Literal["csv", "parquet"] | None = None


def settings(document: object, path: str) -> dict[str, Any]:
    """The settings that a parsed document gives. Raises FormatError naming file and key."""
    if not isinstance(document, dict):
        raise FormatError(path, "a configuration: keys such as 'workload' and 'platform'", type(document).__name__)
    values = validated(_Config, document, path).model_dump(exclude_none=True)
    for key in ("platform", "workload", "reservations"):
        if key in values:
            values[key] = beside(path, values[key])
    if "quirks" in values:
        values["quirks"] = tuple(values["quirks"])
    if "time_unit" in values:
        values["time_unit"] = TIME_UNITS.get(values["time_unit"], values["time_unit"])
    if "format" in values:
        values["file_format"] = values.pop("format")
    return values
