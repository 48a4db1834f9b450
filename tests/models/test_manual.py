"""The manual's page on models names every model that there is, and every parameter that they take."""

from __future__ import annotations

from pathlib import Path

from cluster_sim.models.contention import contention_models
from cluster_sim.models.network import network_models
from cluster_sim.models.power import power_models
from cluster_sim.platform.hardware import CONTENTION_PARAMETERS, LINEAR_POWER

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/models.md").read_text(encoding="utf-8")


def test_every_model_has_its_row() -> None:
    """Contention, power and network models, by the name of their spec."""
    for registry in (contention_models, power_models, network_models):
        for name in registry:
            # Other tests may register models of their own.
            if registry.factory(name).__module__.startswith("cluster_sim."):
                assert f"\n| `{name}" in PAGE, name


def test_every_parameter_is_explained() -> None:
    """The parameters that a platform may hold stand on the page."""
    for name in (*LINEAR_POWER, *(name for names in CONTENTION_PARAMETERS.values() for name in names)):
        assert name in PAGE, name
