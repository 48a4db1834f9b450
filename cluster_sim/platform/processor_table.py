"""Processors that a source documents, by number of cores and clock, and the power law that they follow.

The server processors of the PCBE and Energy-scheduler studies follow one law: watts grow with the square of the
clock, ``dynamic = 3.313·(f/3)²`` per core and ``static = 35.108·(f/3)²`` per processor, f in GHz (Cruz 2023,
processor table). Contention parameters have no such law: they were fitted machine by machine, so a processor that
no source documents has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

REFERENCE_GHZ = 3.0
DYNAMIC_W_AT_REFERENCE = 3.313
STATIC_W_AT_REFERENCE = 35.108
MIN_POWER = 0.3959


def power_at(ghz: float) -> dict[str, float]:
    """Return the parameters of the ``linear`` power model at a clock in GHz."""
    square = (ghz / REFERENCE_GHZ) ** 2
    return {
        "static_w": STATIC_W_AT_REFERENCE * square,
        "dynamic_w": DYNAMIC_W_AT_REFERENCE * square,
        "min_power": MIN_POWER,
    }


@dataclass(frozen=True, slots=True)
class DocumentedProcessor:
    """A processor with its parameters and where they were published. Watts, MB/s."""

    cores: int
    ghz: float
    power: Mapping[str, float]
    contention: Mapping[str, float]
    source: str


_PCBE = "Cruz 2023 (PCBE), scaling experiment"
_ENERGY = "López 2023 (Energy scheduler), Experiments 2-4"
_ENERGY_1 = "López 2023 (Energy scheduler), Experiment 1"
_PCBE_SMALL = "Cruz 2023 (PCBE), Tables 5.1-5.2"
_IRMASIM = "Herrera et al. 2021 (IRMaSim), Table III"


def _piecewise(c: float, da: float, db: float, dc: float, dd: float) -> dict[str, float]:
    return {"b": -1.85e-5, "c": c, "da": da, "db": db, "dc": dc, "dd": dd}


def _watts(static_w: float, dynamic_w: float, min_power: float) -> dict[str, float]:
    return {"static_w": static_w, "dynamic_w": dynamic_w, "min_power": min_power}


# Table III of Herrera et al. gives pa·n + pb W for n busy cores: pa is dynamic, pb static, all of it drawn when idle.
# Two sources describe four cores at 3.4 GHz; the measured one stands here, PCBE's variant in its own input files.
PROCESSORS: tuple[DocumentedProcessor, ...] = (
    DocumentedProcessor(64, 3.0, power_at(3.0), _piecewise(21000, 1.0, 100, 25000, 10), _PCBE),
    DocumentedProcessor(48, 3.0, power_at(3.0), _piecewise(21000, 1.0, 100, 25000, 10), _ENERGY),
    DocumentedProcessor(32, 3.4, power_at(3.4), _piecewise(21000, 1.0, 150, 25000, 20), _ENERGY),
    DocumentedProcessor(16, 3.8, power_at(3.8), _piecewise(21000, 1.0, 169, 25000, 100), _ENERGY),
    DocumentedProcessor(8, 4.2, power_at(4.2), _piecewise(32000, 1.0, 500, 25000, 500), f"{_PCBE}; {_ENERGY}"),
    DocumentedProcessor(8, 2.5, _watts(24.38, 2.3, 0.05), _piecewise(32000, 1.75, 2000, 50000, 6000), _ENERGY_1),
    DocumentedProcessor(4, 3.4, _watts(5.59316, 6.14211, 1.0), _piecewise(32000, 1.75, 3500, 45000, 3000), _IRMASIM),
    DocumentedProcessor(4, 2.5, _watts(3.19636, 3.51244, 1.0), _piecewise(32000, 1.75, 3500, 45000, 3000), _IRMASIM),
    DocumentedProcessor(4, 1.7, _watts(1.59482, 2.31082, 1.0), _piecewise(32000, 1.75, 3500, 45000, 3000), _IRMASIM),
    DocumentedProcessor(
        4, 1.5, _watts(2.31082, 1.59482, 0.05), _piecewise(32000, 1.75, 2000, 50000, 6000), _PCBE_SMALL
    ),
)


def documented(cores: int, ghz: float) -> DocumentedProcessor | None:
    """Return the documented processor of exactly that many cores and that clock, or None."""
    return next((entry for entry in PROCESSORS if (entry.cores, entry.ghz) == (cores, ghz)), None)
