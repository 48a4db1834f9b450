"""Colours that colour-blind readers can tell apart (Okabe and Ito 2008), and the strategies that give them to jobs.

A colour strategy is a function ``jobs -> ColourClasses``. Classes are few for any number of jobs, because each becomes
one trace. They depend on the workload only, so a job keeps its colour from one run to the next.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd

from cluster_sim.amounts import durations, moments, numbers, prefixed
from cluster_sim.errors import SpecError
from cluster_sim.spelling import hint

# Okabe–Ito without its black, which stands for nodes that are off.
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
OTHERS = "#B8B8B8"
NONE = "#D3DBE2"
# Pale, then seven of matplotlib's viridis from light to dark (van der Walt, Smith 2015), made for colour-blind readers.
SCALE = ("#D3DBE2", "#F4E61E", "#9AD83D", "#46BF70", "#21918C", "#2F6B8E", "#423F85", "#460B5E")
LONG_STEPS_S = (0.0, 60.0, 600.0, 3_600.0, 14_400.0, 43_200.0, 86_400.0, 259_200.0, np.inf)
"""Steps of lengths of time: the same for every run, so that a job has one colour on all pages."""
SHORT_STEPS_S = (0.0, 1.0, 5.0, 15.0, 30.0, 60.0, 180.0, 300.0, 600.0)
"""Steps where no length is above ten minutes, as in examples for teaching."""
_MOMENTS = frozenset({"submit_time", "eligible_time", "allocation_time", "start_time", "finish_time", "promised_time"})
"""Columns of times on the run's clock; other columns of seconds are lengths of time."""
CLOCK = "s of the clock"
_ROUND_S = (1, 2, 5, 10, 15, 30, *(60 * n for n in (1, 2, 5, 10, 15, 30)), *(3_600 * n for n in (1, 2, 3, 6, 12)))
"""Seconds of a step that begins at round times of a clock; longer steps are round numbers of days."""

STATE_COLOURS = {
    "OFF": "#4A4A4A",
    "SWITCHING_ON": "#009E73",
    "SWITCHING_OFF": "#9C9C9C",
    "FAILED": "#B3261E",
}
ALL_STATES = STATE_COLOURS | {"IDLE": "#E69F00", "COMPUTING": "#56B4E9"}
"""Colours of all states of nodes; the Gantt chart leaves the last two white, or covers them with jobs."""
JOB_STATES = {
    "completed": "#0072B2",
    "killed": "#D55E00",
    "unfinished": "#CC79A7",
    "rejected": "#4A4A4A",
}
COMPARED = {"earlier": "#009E73", "later": "#D55E00", "elsewhere": "#56B4E9", "same": OTHERS}
OFFERED = ("auto", "job", "user", "profile", "state", "wait", "slowdown", "energy")
"""Meanings of colours that a list offers, where a reader chooses."""
MOST_BY_JOB = 100
"""Number of jobs up to which, by default, each job has another colour than its neighbours."""
POWER = "#D55E00"
BUSY = "#0072B2"
CAPACITY = "#444444"


@dataclass(frozen=True, slots=True)
class ColourClasses:
    """Classes into which a strategy sorts the jobs.

    ``code`` has one entry per row of ``result.jobs``: the index of its class in ``names`` and ``colours``. ``title``
    heads the legend; without a title the classes mean nothing to a reader and no legend is shown. ``edges``, one more
    than classes, make the classes steps of a scale: then a colour bar replaces the legend. Jobs without a value (code
    beyond the steps) come after them, in classes of their own.
    """

    code: np.ndarray
    names: tuple[str, ...]
    colours: tuple[str, ...]
    title: str = ""
    edges: tuple[float, ...] = ()
    unit: str = ""  #: SI unit of the edges.


ColourStrategy = Callable[[pd.DataFrame], ColourClasses]


def by_job(jobs: pd.DataFrame) -> ColourClasses:
    """Give neighbours in submission order different colours, in a cycle of seven."""
    code = np.arange(len(jobs)) % len(OKABE_ITO)
    return ColourClasses(code, tuple([f"jobs {i + 1}" for i in range(len(OKABE_ITO))]), OKABE_ITO)


def by_meaning(jobs: pd.DataFrame) -> ColourClasses:
    """Colour a few jobs by job; many jobs by their waits, and by their state if they did not complete.

    If all jobs waited equally long, colour them by user or profile, if there are several.
    """
    if len(jobs) <= MOST_BY_JOB:
        return by_job(jobs)
    for column in ("wait_time", "user", "profile"):
        if column in jobs and jobs[column].nunique() > 1:
            break
    else:
        return by_job(jobs)
    classes = by_any(column)(jobs)
    ended = jobs["state"].astype(str) if "state" in jobs else pd.Series("completed", jobs.index)
    if column != "wait_time" or ended.isin(("completed", "rejected")).all():
        return classes
    code, names, colours = classes.code.copy(), list(classes.names), list(classes.colours)
    for state in sorted(set(ended) - {"completed", "rejected"}):
        code[(ended == state).to_numpy()] = len(names)
        names.append(state)
        colours.append(JOB_STATES.get(state, OTHERS))
    return replace(classes, code=code, names=tuple(names), colours=tuple(colours))


def by_named(column: str, colours: Mapping[str, str]) -> ColourStrategy:
    """Return a strategy for a column of few values with fixed colours, such as the states of jobs."""

    def strategy(jobs: pd.DataFrame) -> ColourClasses:
        # The first of several runs has no column that compares it with the first.
        values = jobs[column].fillna("").astype(str) if column in jobs else pd.Series("", jobs.index)
        names = tuple(values.value_counts().index)
        code = pd.Index(names).get_indexer(pd.Index(values))
        return ColourClasses(code, names, tuple(colours.get(name, OTHERS) for name in names), _titled(column)[0])

    return strategy


def by_column(column: str) -> ColourStrategy:
    """Return a strategy that gives each of seven values of a text column a colour: those whose jobs used most core-seconds.

    All further values share one grey, labelled with their number. Without run times and cores, jobs are counted.
    """

    def strategy(jobs: pd.DataFrame) -> ColourClasses:
        values = jobs[column].fillna("").astype(str)
        used = pd.Series(_core_seconds(jobs), jobs.index)[values != ""].groupby(values).sum()
        ranked = used.sort_values(ascending=False, kind="stable").index.tolist()
        named = ranked[: len(OKABE_ITO)]
        names, colours = list(named), list(OKABE_ITO[: len(named)])
        code = pd.Index(named).get_indexer(pd.Index(values)) if named else np.full(len(jobs), -1)
        if len(ranked) > len(named):
            code = np.where((code < 0) & (values.to_numpy() != ""), len(names), code)
            names.append(f"{len(ranked) - len(named)} more")
            colours.append(OTHERS)
        if (code < 0).any():
            code = np.where(code < 0, len(names), code)
            names.append(f"no {column}")
            colours.append(NONE)
        return ColourClasses(code, tuple(names), tuple(colours), title=_titled(column)[0])

    return strategy


def _core_seconds(jobs: pd.DataFrame) -> np.ndarray:
    """Return the core-seconds of each job, or 1 for each where they are unknown."""
    if not {"run_time", "requested_cores"} <= set(jobs):
        return np.ones(len(jobs))
    used: np.ndarray = (jobs["run_time"] * jobs["requested_cores"]).fillna(0.0).to_numpy(dtype=float)
    return used


def by_number(column: str) -> ColourStrategy:
    """Return a strategy that shades jobs by a column of numbers, in at most eight round steps from pale to dark.

    Lengths of time have fixed steps, whatever the run. Times of the clock have steps that are round on a clock, and steps of
    whole numbers begin at whole numbers. Of other numbers the steps are equally long, or equally long in
    the logarithm: if the largest value is above 100 times the median and 10 times the smallest value above 0. Energies
    spread over many orders of magnitude: equal steps would give nearly all jobs one shade.
    """

    def strategy(jobs: pd.DataFrame) -> ColourClasses:
        values = jobs[column].to_numpy(dtype=float)
        known = values[np.isfinite(values)]
        title, unit = _titled(column)
        if not len(known):
            return ColourClasses(np.zeros(len(jobs), dtype=np.int64), (f"no {title}",), (NONE,), title)
        is_moment, is_whole = column in _MOMENTS, not unit and bool(np.all(known == np.rint(known)))
        edges = _clock_edges(known) if is_moment else _steps(known, unit == "s", is_whole)
        unit = CLOCK if is_moment else unit
        code = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
        texts = steps_in_words(edges.tolist(), unit)
        names = tuple(f"{low} to {high}" if high else f"{low} or more" for low, high in pairwise(texts))
        if edges[0] == edges[-1]:
            names = (texts[0],)
        elif is_whole and np.all(np.diff(edges) == 1.0):
            names = tuple(texts[:-1])  # each is the step of one number
        steps = len(names)
        colours = tuple(
            SCALE[round(i * (len(SCALE) - 1) / (steps - 1))] if steps > 1 else SCALE[4] for i in range(steps)
        )
        missing = ~np.isfinite(values)
        if missing.any():
            code, names, colours = np.where(missing, len(names), code), (*names, f"no {title}"), (*colours, OTHERS)
        return ColourClasses(code, names, colours, title, tuple(edges.tolist()), unit)

    return strategy


def _steps(known: np.ndarray, lengths: bool, whole: bool) -> np.ndarray:
    """Return the edges of the steps of a scale that holds all ``known`` values."""
    low, high = float(known.min()), float(known.max())
    if lengths and low >= 0.0:
        return np.array(SHORT_STEPS_S if high <= SHORT_STEPS_S[-1] else LONG_STEPS_S)
    if low == high:
        return np.array([low, low])
    least = max(float(known[known > 0].min()), high * 1e-6) if high > 0 else high
    if low < 0 or high <= 100 * float(np.median(known)) or high <= 10 * least:
        return _even_edges(low, high, whole)
    return _growing_edges(low, least, high)


def _even_edges(low: float, high: float, whole: bool) -> np.ndarray:
    """Return at most eight round steps of equal length from ``low`` to ``high``, ``whole`` ones of whole numbers."""
    size = 10.0 ** math.floor(math.log10((high - low) / len(SCALE)))
    lengths = [factor * size for factor in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0)]
    if not whole:
        return _fewest_edges(low, high, lengths)
    if high - low < len(SCALE):
        return np.arange(low, high + 2.0)
    return _fewest_edges(low, high + 1.0, [length for length in lengths if length >= 1.0 and length.is_integer()])


def _clock_edges(known: np.ndarray) -> np.ndarray:
    """Return at most eight steps that hold all ``known`` times, s, and begin at round times of a clock."""
    low, high = float(known.min()), float(known.max())
    days = [86_400.0 * length for length in (1, 2, 5, 7, 14, 28)]
    size = max(10.0 ** math.floor(math.log10(max(high - low, 1.0) / len(SCALE) / 86_400.0)), 10.0)
    days += [86_400.0 * factor * size for factor in (5.0, 10.0, 20.0, 50.0)]
    return np.array([low, low]) if low == high else _fewest_edges(low, high, [*_ROUND_S, *days])


def _fewest_edges(low: float, high: float, lengths: Iterable[float]) -> np.ndarray:
    """Return the edges of steps of the first of ``lengths`` of which at most eight hold all from ``low`` to ``high``."""
    of_steps = ((length, math.floor(low / length), math.ceil(high / length)) for length in lengths)
    length, first, last = next(steps for steps in of_steps if steps[2] - steps[1] <= len(SCALE))
    return np.arange(first, last + 1) * length


def _growing_edges(low: float, least: float, high: float) -> np.ndarray:
    """Return at most eight steps, round in the logarithm, from ``low`` by the ``least`` value above 0 to ``high``."""
    first, last = math.floor(math.log10(least)) - 1, math.ceil(math.log10(high)) + 1  # logarithms are rounded
    for parts in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        edges = [part * 10.0**power for power in range(first, last + 1) for part in parts]
        begin, end = bisect_right(edges, least) - 1, bisect_left(edges, high)
        if end - begin < len(SCALE):
            break
    shown = edges[max(begin, end - len(SCALE) + 1) : end + 1]
    return np.array(shown if low >= shown[0] else [0.0, *shown])


def steps_in_words(edges: Sequence[float], unit: str) -> list[str]:
    """Return the edges of a scale as short texts for a colour bar: ``1 h 30 min``, ``12.5 MJ``; "" for an open end.

    Those of the unit :data:`CLOCK` are times of the run: ``1 d 12:00``.
    """
    if unit == CLOCK:
        texts = moments(edges)
        if all(edge % 60 == 0.0 for edge in edges):
            texts = [text.removesuffix(":00").removesuffix(" 00:00") for text in texts]
    elif unit == "s":
        texts = durations(edges)
    else:
        texts = [prefixed(edge, unit) for edge in edges] if unit else numbers(edges, digits=3)
    return ["" if edge == np.inf else text for edge, text in zip(edges, texts, strict=True)]


def _titled(column: str) -> tuple[str, str]:
    """Return a column in words, and its unit: ``wait_time`` is Wait time, in s."""
    words, unit = column, "s" if column.endswith("_time") else ""
    for ending, its_unit in (("_j", "J"), ("_s", "s"), ("_w", "W")):
        if column.endswith(ending):
            words, unit = column.removesuffix(ending), its_unit
    return words.replace("_", " ").capitalize(), unit


STRATEGIES: dict[str, ColourStrategy] = {
    "job": by_job,
    "profile": by_column("profile"),
    "user": by_column("user"),
    "wait": by_number("wait_time"),
    "energy": by_number("energy_j"),
    "state": by_named("state", JOB_STATES),
    "auto": by_meaning,
}


def colour_strategy(colour_by: str | ColourStrategy) -> ColourStrategy:
    """Return the strategy of that name, a strategy for the column of that name, or the function itself.

    A column of numbers is shaded; other columns have a colour for each value. The strategy raises SpecError when it is
    used, if the name is neither.
    """
    if callable(colour_by):
        return colour_by
    return STRATEGIES.get(colour_by) or by_any(colour_by)


def by_any(column: str) -> ColourStrategy:
    """Return a strategy for any column: shades for numbers, else a colour for each value."""

    def strategy(jobs: pd.DataFrame) -> ColourClasses:
        if column not in jobs:
            known = [*STRATEGIES, *(str(name) for name in jobs.columns if name not in STRATEGIES)]
            expected = f"one of {', '.join(known)} or a function of the jobs table{hint(column, known)}"
            raise SpecError("colour_by", expected, column)
        numeric = pd.api.types.is_numeric_dtype(jobs[column]) and not pd.api.types.is_bool_dtype(jobs[column])
        return (by_number if numeric else by_column)(column)(jobs)

    return strategy


def jointly(strategy: ColourStrategy, tables: Sequence[pd.DataFrame]) -> list[ColourClasses]:
    """Return the classes of several runs' jobs by one scale, so that equal colours mean the same.

    Colours without a meaning go by a job's place in its table. If a run has jobs that another run lacks, they go by the
    job's place among the jobs of all runs.
    """
    if len(tables) == 1:
        return [strategy(tables[0])]
    if all(table["job_id"].equals(tables[0]["job_id"]) for table in tables[1:]):
        if not strategy(tables[0]).title:
            return [strategy(table) for table in tables]
    else:
        together = pd.concat(tables, ignore_index=True).drop_duplicates("job_id")
        classes = strategy(together)
        if not classes.title:
            place = pd.Index(together["job_id"])
            return [replace(classes, code=classes.code[place.get_indexer(table["job_id"])]) for table in tables]
    classes = strategy(pd.concat(tables, ignore_index=True))
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return [replace(classes, code=code) for code in np.split(classes.code, ends)]


def mixed(colour: str, other: str, share: float) -> str:
    """Return ``colour`` with ``share`` (0 to 1) of it replaced by ``other``; both as ``#rrggbb``."""
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in pairs)


@cache
def darker(colour: str) -> str:
    """Return the shade that outlines a rectangle of ``colour``."""
    return mixed(colour, "#000000", 0.35)


@cache
def text_colour(background: str) -> str:
    """Return black or white, whichever contrasts more with ``background`` (luminance as in WCAG 2)."""
    linear = [(c / 255) / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in _channels(background)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#FFFFFF"


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
