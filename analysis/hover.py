"""What the Gantt tells about a job under the mouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.wording import NOTHING, numbers, plotly_text, shortened

SHOWN_PIECES = 3
REASON_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Hover:
    """A plotly hover template and, per job, the texts that it refers to.

    ``data`` has shape (jobs, texts). Column 0 is always the job's id. Labels stand once in the template and not in
    every row, which keeps pages of many jobs small.
    """

    template: str
    data: np.ndarray


# Each line of the hover: (label, column, unit, digits) parts. A part whose column the table lacks is left out, so
# tables of other programs can be shown too.
_LINES: tuple[tuple[tuple[str, str, str, int], ...], ...] = (
    (("submitted", "submit_time", " s", 8), ("started", "start_time", " s", 8), ("finished", "finish_time", " s", 8)),
    (("waited", "wait_time", " s", 6), ("ran", "run_time", " s", 6), ("requested", "requested_time", " s", 6)),
    (("cores", "requested_cores", "", 6), ("slowdown", "slowdown", "", 4), ("energy", "energy_j", " J", 6)),
)


def job_hover(jobs: pd.DataFrame, allocations: pd.DataFrame, decisions: pd.DataFrame | None = None) -> Hover:
    """Hover texts for every row of ``jobs``: id, state, user, profile, times, cores, energy and where it ran.

    With ``decisions``, the log of a run that was to explain, also why: what its scheduler said last of each job.
    """
    columns: list[Sequence[str]] = [plotly_text(jobs["job_id"])]
    lines: list[str] = [f"<b>job {_place(0)}</b>"]

    def part(label: str, texts: Sequence[str]) -> str:
        columns.append(texts)
        return f"{label} {_place(len(columns) - 1)}".lstrip()

    if "state" in jobs:
        lines[0] += " " + part("·", plotly_text(_state(jobs)))
    lines.append(" · ".join(part(name, _texts(jobs[name])) for name in ("user", "profile") if _filled(jobs, name)))
    lines += [" · ".join(part(*_quantity(jobs, *spec)) for spec in line if spec[1] in jobs) for line in _LINES]
    lines.append(part("on", plotly_text(allocation_texts(allocations, jobs["job_id"]))))
    if decisions is not None and len(decisions):
        lines.append(part("why", plotly_text(reasons(decisions, jobs["job_id"]))))
    data = np.empty((len(jobs), len(columns)), dtype=object)
    for position, column in enumerate(columns):
        data[:, position] = column
    return Hover("<br>".join(filter(None, lines)) + "<extra></extra>", data)


def allocation_texts(allocations: pd.DataFrame, job_ids: pd.Series, pieces: int = SHOWN_PIECES) -> list[str]:
    """Where each job ran, ``cluster0.node0.processor0:0-3; …``: ``pieces`` of it at most, and how many more."""
    rank = allocations.groupby("job_id", sort=False).cumcount()
    shown = allocations[rank < pieces]
    first, last = shown["first_core"].astype(str), shown["last_core"].astype(str)
    cores = first.where(first == last, first + "-" + last)
    text = shown["node"].astype(str) + "." + shown["processor"].astype(str) + ":" + cores
    joined = text.groupby(shown["job_id"], sort=False).agg("; ".join)
    beyond = allocations["job_id"].value_counts(sort=False) - pieces
    beyond = beyond[beyond > 0]
    joined.loc[beyond.index] += "; and " + beyond.astype(str) + " more"
    return joined.reindex(job_ids).fillna("nothing").tolist()


def reasons(decisions: pd.DataFrame, job_ids: pd.Series) -> list[str]:
    """Why each job started when it did: what was said of its start, else the last reason for which it waited."""
    said = decisions[decisions["decision"].isin(["start", "hold"]) & (decisions["because"] != "")]
    last = said.groupby("job_id", sort=False).last()
    behind = last["behind"].where(last["behind"] == "", " (job " + last["behind"] + ")")
    text = last["because"].map(lambda because: shortened(because, REASON_LENGTH)) + behind
    held = (last["decision"] == "hold") & last.index.isin(decisions["job_id"][decisions["decision"] == "start"])
    return text.where(~held, "waited: it " + text).reindex(job_ids).fillna(NOTHING).tolist()


def _place(position: int) -> str:
    return f"%{{customdata[{position}]}}"


def _filled(jobs: pd.DataFrame, column: str) -> bool:
    return column in jobs and bool((jobs[column].fillna("") != "").any())


def _texts(column: pd.Series) -> list[str]:
    return plotly_text(shortened(text) if text else "not given" for text in column.fillna("").astype(str))


def _state(jobs: pd.DataFrame) -> list[str]:
    state = jobs["state"].astype(str)
    if "reason" not in jobs:
        return state.tolist()
    reason = jobs["reason"].fillna("").astype(str)
    return state.where(reason == "", state + " (" + reason.map(shortened) + ")").tolist()


def _quantity(jobs: pd.DataFrame, label: str, column: str, unit: str, digits: int) -> tuple[str, list[str]]:
    values = jobs[column].to_numpy(dtype=float)
    # A request that is infinite is none; a time that is NaN did not come.
    missing = "nothing" if column == "requested_time" else NOTHING
    finite = np.isfinite(values).tolist()
    texts = numbers(values, digits)
    return label, [text + unit if known else missing for text, known in zip(texts, finite, strict=True)]
