"""Colours that colour-blind readers can tell apart (Okabe and Ito 2008), and which job gets which.

A colour strategy is a function ``jobs -> ColourClasses``. Classes are few whatever the number of jobs, because each
becomes one trace; and they depend on the workload only, so a job keeps its colour from one run to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cluster_sim.errors import SpecError

# Okabe–Ito without its black, which stands for nodes that are off.
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
OTHERS = "#C4C4C4"
NONE = "#9AA5B1"

STATE_COLOURS = {
    "OFF": "#4A4A4A",
    "SWITCHING_ON": "#009E73",
    "SWITCHING_OFF": "#8A8A8A",
    "FAILED": "#B3261E",
}
POWER = "#D55E00"
BUSY = "#0072B2"
CAPACITY = "#444444"


@dataclass(frozen=True, slots=True)
class ColourClasses:
    """The classes that a strategy sorts the jobs into.

    ``code`` has one entry per row of ``result.jobs``: the index of its class in ``names`` and ``colours``. ``title``
    heads the legend; without one the classes mean nothing to a reader and no legend is shown.
    """

    code: np.ndarray
    names: tuple[str, ...]
    colours: tuple[str, ...]
    title: str = ""


ColourStrategy = Callable[[pd.DataFrame], ColourClasses]


def by_job(jobs: pd.DataFrame) -> ColourClasses:
    """Neighbours in submission order get different colours, in a cycle of seven."""
    code = np.arange(len(jobs)) % len(OKABE_ITO)
    return ColourClasses(code, tuple(f"jobs {i + 1}" for i in range(len(OKABE_ITO))), OKABE_ITO)


def by_column(column: str) -> ColourStrategy:
    """A strategy that gives each value of a text column its colour, the value with the most jobs first.

    Seven hues, then their light and dark shades; what goes beyond shares one grey, labelled with how many values it
    stands for.
    """

    def strategy(jobs: pd.DataFrame) -> ColourClasses:
        values = jobs[column].fillna("").astype(str)
        counts = values[values != ""].value_counts(sort=False).rename_axis("value").reset_index(name="jobs")
        ranked = counts.sort_values(["jobs", "value"], ascending=[False, True])["value"].tolist()
        named = ranked if len(ranked) <= len(_SHADES) else ranked[: len(_SHADES)]
        names, colours = list(named), list(_SHADES[: len(named)])
        code = pd.Index(named).get_indexer(pd.Index(values)) if named else np.full(len(jobs), -1)
        if len(ranked) > len(named):
            code = np.where((code < 0) & (values.to_numpy() != ""), len(names), code)
            names.append(f"{len(ranked) - len(named)} more")
            colours.append(OTHERS)
        if (code < 0).any():
            code = np.where(code < 0, len(names), code)
            names.append(f"no {column}")
            colours.append(NONE)
        return ColourClasses(code, tuple(names), tuple(colours), title=column.capitalize())

    return strategy


STRATEGIES: dict[str, ColourStrategy] = {
    "job": by_job,
    "profile": by_column("profile"),
    "user": by_column("user"),
}


def colour_strategy(colour_by: str | ColourStrategy) -> ColourStrategy:
    """The strategy of that name, or the function itself. Raises SpecError for an unknown name."""
    if callable(colour_by):
        return colour_by
    if colour_by not in STRATEGIES:
        raise SpecError("colour_by", f"one of {', '.join(STRATEGIES)} or a function of the jobs table", colour_by)
    return STRATEGIES[colour_by]


def mixed(colour: str, other: str, share: float) -> str:
    """``colour`` with ``share`` (0 to 1) of it replaced by ``other``; both as ``#rrggbb``."""
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in pairs)


def darker(colour: str) -> str:
    """The shade that outlines a rectangle of ``colour``."""
    return mixed(colour, "#000000", 0.35)


def text_colour(background: str) -> str:
    """Black or white, whichever contrasts more with ``background`` (luminance as in WCAG 2)."""
    linear = [(c / 255) / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in _channels(background)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#FFFFFF"


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


_SHADES = (
    *OKABE_ITO,
    *(mixed(colour, "#FFFFFF", 0.55) for colour in OKABE_ITO),
    *(mixed(colour, "#000000", 0.45) for colour in OKABE_ITO),
)
