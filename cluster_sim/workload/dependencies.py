"""Which jobs come after which: the column ``after``, and think times as logs have them.

``after`` holds ids of jobs, separated by spaces. A job that was submitted is held back until all of them are over, and is
rejected if one of them did not complete; of one written ``any:ID`` it does not matter what became of it. (Slurm says
``afterok:ID`` and ``afterany:ID``.)

``preceding_job`` and ``think_time`` are what the Standard Workload Format says of a user's session: the job was submitted
``think_time`` seconds after the preceding job had ended (Feitelson and others; Zakay and Feitelson 2014 on why a replay
should keep to it). They count only in a workload made by :meth:`Workload.with_think_times`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cluster_sim.errors import FormatError, InputError

if TYPE_CHECKING:
    import networkx as nx

Columns = dict[str, Any]  # as in cluster_sim.workload.job_table, which imports this module

When = Literal["completed", "over"]
"""Condition on a job that another one waits for: it completed, or it is over, completed or not."""

ANY = "any:"


def parse_after(text: str, ids: Container[str]) -> list[tuple[str, When]]:
    """Return the ids in an ``after`` text with what is asked of each; an id may itself begin with "any:"."""
    parts: list[tuple[str, When]] = []
    for part in text.split():
        whatever = part.startswith(ANY) and part not in ids
        parts.append((part.removeprefix(ANY), "over") if whatever else (part, "completed"))
    return parts


def has_after(columns: Columns) -> bool:
    """Return whether any job waits for another."""
    return bool((_once(columns["after"]) != "").any())


def waits(columns: Columns) -> Iterator[tuple[int, int, When]]:
    """Yield (row of a job, row of one that it waits for, what is asked of that one) of the whole table."""
    if has_after(columns):
        rows = {job: row for row, job in enumerate(columns["job_id"].tolist())}
        for row, text in enumerate(columns["after"].tolist()):
            for job, when in parse_after(text, rows) if text else ():
                yield row, rows[job], when


def follows(columns: Columns) -> Iterator[tuple[int, int, float]]:
    """Yield (row of a job, row of its preceding job, think time in s) of the whole table.

    A think time that is not known counts as 0; a preceding job that is not in the table precedes nothing.
    """
    preceding = columns["preceding_job"]
    if (_once(preceding) >= 0).any():
        rows = {job: row for row, job in enumerate(columns["job_id"].tolist())}
        for row in np.flatnonzero(preceding >= 0).tolist():
            predecessor = rows.get(str(preceding.item(row)))
            if predecessor is not None:
                yield row, predecessor, max(0.0, columns["think_time"].item(row))


def dependency_graph(columns: Columns, think_times: bool) -> nx.DiGraph:
    """Return the graph of :meth:`Workload.dependencies`."""
    import networkx as nx

    ids = columns["job_id"].tolist()
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(ids)
    graph.add_edges_from((ids[before], ids[row], {"when": when}) for row, before, when in waits(columns))
    if think_times:
        graph.add_edges_from((ids[before], ids[row], {"think_time": think}) for row, before, think in follows(columns))
    return graph


def _once(values: np.ndarray) -> np.ndarray:
    """Return one element of a column that is constant, and takes the memory of one; else the whole column."""
    return values[:1] if len(values) and not any(values.strides) else values


# -- checks and cuts --------------------------------------------------------------------------------------------------


def check_after(columns: Columns, place: Callable[[int, str], str]) -> None:
    """Raise FormatError for an id that no job has, and for jobs that wait for each other in a circle."""
    if not has_after(columns):
        return
    ids = set(columns["job_id"].tolist())
    for row, text in enumerate(columns["after"].tolist()):
        for job, _ in parse_after(text, ids) if text else ():
            if job not in ids:
                raise FormatError(place(row, "after"), "ids of jobs of this workload, separated by spaces", job)
    circle = find_circle([(row, predecessor) for row, predecessor, _ in waits(columns)])
    if circle:
        raise FormatError(place(circle[0], "after"), NO_CIRCLE, circle_text(columns, circle))


def check_think_times(columns: Columns, source: str) -> None:
    """Raise InputError for jobs that wait for each other in a circle when think times count."""
    pairs = [(row, predecessor) for row, predecessor, _ in follows(columns)]
    pairs += [(row, predecessor) for row, predecessor, _ in waits(columns)]
    circle = find_circle(pairs)
    if circle:
        raise InputError(f"{source}, preceding_job", NO_CIRCLE, circle_text(columns, circle))


NO_CIRCLE = "jobs that do not wait for each other in a circle"


def find_circle(pairs: list[tuple[int, int]]) -> list[int]:
    """Return the rows of jobs each of which waits for the next, and the last for the first; empty: no circle.

    ``pairs`` are (row, row of the one that it waits for).
    """
    if all(predecessor < row for row, predecessor in pairs):
        return []  # as in every log, and quicker to see than by searching
    import networkx as nx

    graph = nx.DiGraph(pairs)
    if nx.is_directed_acyclic_graph(graph):
        return []
    return [row for row, _ in nx.find_cycle(graph)]


def circle_text(columns: Columns, circle: list[int]) -> str:
    """Return the jobs of a circle by their ids."""
    return " after ".join(columns["job_id"][row] for row in [*circle, circle[0]])


def without_absent(columns: Columns) -> Columns:
    """Return the columns of a part of a workload; a job outside the part that another waits for counts as completed."""
    if not has_after(columns):
        return columns
    ids = set(columns["job_id"].tolist())
    kept = [[p for p in text.split() if p in ids or p.removeprefix(ANY) in ids] for text in columns["after"].tolist()]
    return columns | {"after": np.array([" ".join(parts) for parts in kept], dtype=object)}


def after_texts(columns: Columns, after: Mapping[Any, Iterable[tuple[Any, When]]], source: str) -> np.ndarray:
    """Return the column ``after``, changed for the jobs that ``after`` maps to those that they wait for.

    Raises InputError for an id that no job has, or that cannot be written because it has a space in it.
    """
    rows = {job: row for row, job in enumerate(columns["job_id"].tolist())}
    texts: np.ndarray = columns["after"].copy()
    for job, predecessors in after.items():
        if str(job) not in rows:
            raise InputError(source, "ids of jobs of the workload", str(job))
        parts = dict.fromkeys((ANY if when == "over" else "") + str(other) for other, when in predecessors)
        for part in parts:
            if part.removeprefix(ANY) not in rows and part not in rows:
                raise InputError(f"{source}, job {job}", "ids of jobs of the workload", part.removeprefix(ANY))
            if len(part.split()) != 1:
                raise InputError(f"{source}, job {job}", "ids without spaces", part)
        texts[rows[str(job)]] = " ".join(parts)
    return texts
