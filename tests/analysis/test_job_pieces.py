"""Pieces of jobs in the Gantt chart: what their hovers say, and what is drawn over them."""

from __future__ import annotations

from typing import Any

import pytest

from analysis import gantt, gantt_by_job
from analysis.pages.redrawn import carried
from cluster_sim import Result
from tests.support.scripted import requeued, resized, suspended

from .conftest import FakeResult


def said(figure: Any, job: str = "a") -> list[str]:
    """What the hovers of a job's rectangles say of its pieces, in order of time."""
    rows = [row for trace in figure.data if trace.meta == "jobs" and trace.customdata is not None
            for row in sorted(zip(trace.base, trace.customdata, strict=True), key=lambda pair: pair[0])]  # fmt: skip
    return [row[-1] for _, row in rows if row[0] == job]


def over(figure: Any) -> dict[str, list[tuple[float, float]]]:
    """What is drawn over the jobs: from when to when, s, by name."""
    found: dict[str, list[tuple[float, float]]] = {}
    for trace in figure.data:
        if trace.meta == "pieces" and trace.type == "bar":
            found[trace.name] = list(zip(trace.base.tolist(), (trace.base + trace.x).tolist(), strict=True))
    return found


def test_pieces_of_a_suspended_job() -> None:
    """For whom it was suspended, and where it goes on."""
    figure = gantt(suspended(), time_unit="s")
    both = "cluster0.node0 to cluster0.node1"
    assert said(figure) == [
        f"<br>piece 1 of 2: 2 cores from 0 s to 4 s, then suspended for job b<br>goes on at 7 s on {both}",
        "<br>piece 2 of 2: 2 cores from 7 s to 13 s",
    ]
    assert set(said(figure, "b")) == {""}
    (link,) = [trace for trace in figure.data if trace.name == "where it goes on"]
    assert link.x[:2] == (4.0, 7.0)
    assert over(figure) == {}


def test_a_page_has_a_column_of_attempts() -> None:
    """Where a job had several; without such a job there is none."""
    tables = [carried(gantt(run()))["layers"][0]["jobs"]["later"] for run in (requeued, resized)]
    assert tables[0]["attempts"]["values"].tolist() == [2, 1]
    assert "attempts" not in tables[1]


def test_pieces_of_a_resized_job() -> None:
    """The number of cores of each piece, and a mark while the job changes."""
    figure = gantt(resized(), time_unit="s")
    assert said(figure) == [
        "<br>piece 1 of 2: 4 cores from 0 s to 5 s, then 2 cores",
        "<br>piece 2 of 2: 2 cores from 5 s to 16 s",
    ]
    assert over(figure) == {"reconfiguration": [(5.0, 6.0)]}


def test_what_was_lost_is_paler() -> None:
    """From the end of the checkpoint to the end of the attempt; checkpoints and the restart are marked."""
    figure = gantt(requeued(), time_unit="s")
    assert said(figure)[0] == (
        "<br>attempt 1 of 2: preempted for job b (an urgent job came), 6 s of core time lost"
        "<br>goes on at 10 s on cluster0.node0 to cluster0.node1"
    )
    assert over(figure) == {
        "work lost, done again": [(5.0, 8.0)],
        "checkpoint": [(4.0, 5.0), (16.0, 17.0)],
        "restart": [(10.0, 12.0)],
    }
    (checkpoints,) = [trace for trace in figure.data if trace.name == "checkpoint"]
    assert checkpoints.customdata[0].tolist() == ["a", "4 s", "5 s", "; 40 % of its work is saved"]


@pytest.mark.parametrize("make", [suspended, requeued, resized])
def test_polygons_have_a_hover_for_each_piece(make: Any) -> None:
    """A polygon says the same words as a bar."""
    result: Result = make()
    (points,) = [t for t in gantt(result, drawing="polygons").data if t.meta == "hover" and t.customdata[0][0] == "a"]
    assert sorted(row[-1] for row in points.customdata) == sorted(said(gantt(result)))


def test_jobs_in_one_piece_are_drawn_as_ever(small: FakeResult) -> None:
    """Nothing over them, and no words about pieces."""
    figure = gantt(small)
    assert not [trace for trace in figure.data if trace.meta == "pieces"]
    rows = [row for trace in figure.data if trace.meta == "jobs" for row in trace.customdata]
    assert {row[0] for row in rows} == {"a", "b", "c"}
    assert not [value for row in rows for value in row if str(value).startswith("<br>")]


def test_rows_of_jobs_show_their_pieces() -> None:
    """Two pieces, and between them a pale time in which the job had no cores."""
    figure = gantt_by_job(suspended(), time_unit="s")
    drawn = {
        meta: [(begin, begin + length) for trace in figure.data if trace.meta == meta
               for begin, length, row in zip(trace.base, trace.x, trace.customdata, strict=True) if row[0] == "a"]
        for meta in ("jobs", "waits")
    }  # fmt: skip
    assert drawn == {"jobs": [(0.0, 4.0), (7.0, 13.0)], "waits": [(4.0, 7.0)]}
