"""Time in charts: round ticks, the calendar of the log, and curves that say when they are means."""

from __future__ import annotations

import datetime
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import (
    ecdf,
    energy_timeline,
    gantt,
    gantt_by_job,
    gantt_runs,
    occupancy_heatmap,
    power_timeline,
    queue_timeline,
    utilisation_timeline,
)
from analysis.figures.time_axis import TimeAxis, round_ticks
from analysis.figures.timelines import BAND, coarsened, ranges
from cluster_sim import Platform, Result, Simulation, Workload, make_scheduler

from .conftest import FakeResult

STOCKHOLM = "; UnixStartTime: 843480031\n; TimeZoneString: Europe/Stockholm\n; MaxProcs: 4\n"
DAY = 86_400.0


@pytest.mark.parametrize(
    ("window", "texts"),
    [
        ((0, 30), ["0 s", "5 s", "10 s", "15 s", "20 s", "25 s", "30 s"]),
        ((0, 0.5), ["0 s", "0.1 s", "0.2 s", "0.3 s", "0.4 s", "0.5 s"]),
        ((0, 5_400), ["0 min", "10 min", "20 min", "30 min", "40 min", "50 min", "60 min", "70 min", "80 min", "90 min"]),
        ((0, 1.5 * DAY), ["0 d", "06:00", "12:00", "18:00", "1 d", "06:00", "12:00"]),
        ((0, 1_200_000), ["0 d", "2 d", "4 d", "6 d", "8 d", "10 d", "12 d"]),
        ((0, 232 * DAY), ["0 d", "50 d", "100 d", "150 d", "200 d"]),
        ((4 * DAY + 29_700, 4 * DAY + 29_770), ["08:15:00<br>4 d", "08:15:10", "08:15:20", "08:15:30", "08:15:40"]),
    ],
)  # fmt: skip
def test_ticks_stand_at_round_times(window: tuple[float, float], texts: list[str]) -> None:
    """Seconds and minutes in short runs, then the clock and the days; never 1,200,000 seconds or 143.7961 days."""
    places, found = round_ticks(*window)
    assert found[: len(texts)] == texts
    assert len(places) == len(found)
    assert all(window[0] <= place <= window[1] for place in places)


def test_ticks_are_few_wherever_one_zooms() -> None:
    """At most ten, at least three, evenly spaced and different, for windows of any length anywhere in a long run."""
    for length, begin in itertools.product(10.0 ** np.arange(-3, 9, 0.37), (0.0, 1e3, 123_456.7, 2e7)):
        places, texts = round_ticks(begin, begin + length)
        assert 3 <= len(places) <= 10, (begin, length, texts)
        assert np.ptp(np.diff(places)) <= 2e-6
        plain = [text.partition("<br>")[0] for text in texts]
        assert len(set(plain)) == len(plain) or length > 12 * 3_600


@pytest.fixture
def dated(tmp_path: Path) -> Result:
    """Two jobs of a log that began on 23 September 1996 in Stockholm, an hour after its clock was 0; saved and loaded."""
    log = STOCKHOLM + "1 3600 0 50 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n2 3610 0 60 4 -1 -1 4 90 -1 1 2 1 1 1 1 -1 -1\n"
    (tmp_path / "log.swf").write_text(log)
    workload = Workload.read(tmp_path / "log.swf")
    run = Simulation(Platform.homogeneous(nodes=4, cores=1), workload, make_scheduler("easy")).run()
    run.save(tmp_path / "run")
    return Result.load(tmp_path / "run")


def test_a_run_keeps_the_date_of_its_log(dated: Result) -> None:
    """The date of second 0, an hour after the log's own, in the zone that its header states: summer time then, UTC+2."""
    began = datetime.datetime.fromtimestamp(843480031 + 3_600, datetime.UTC)
    assert datetime.datetime.fromisoformat(dated.meta["start_date"]) == began
    assert dated.meta["start_date"] == "1996-09-23T15:00:31+02:00"


def test_every_chart_with_time_has_the_calendar_of_the_log(dated: Result) -> None:
    """Dates on the axis as clocks in Stockholm showed them, without the workload at hand; the title says which zone."""
    second = {"one": dated, "two": dated}
    charts = [
        *(gantt(dated), gantt_by_job(dated), gantt_runs(second), occupancy_heatmap(dated), power_timeline(dated)),
        *(energy_timeline(second), utilisation_timeline(dated), queue_timeline(second)),
    ]
    for chart in charts:
        assert (chart.layout.xaxis.type, chart.layout.xaxis.title.text) == ("date", "Time (UTC+02:00)")
    jobs = next(trace for trace in charts[0].data if trace.meta == "jobs")
    shown = datetime.datetime.fromtimestamp(min(jobs.base) / 1e3, datetime.UTC)
    assert shown == datetime.datetime(1996, 9, 23, 15, 0, 31, tzinfo=datetime.UTC)
    said = {str(text) for trace in charts[0].data if trace.meta == "jobs" for text in trace.customdata.ravel()}
    assert "1996-09-23 15:00:31" in said


def test_a_date_beyond_the_calendar_is_none() -> None:
    """A header may hold any number, and another text than a zone."""
    workload = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [1.0]})
    for header, date in (
        (["; UnixStartTime: 99999999999999999"], None),
        (["; UnixStartTime: 0", "; TimeZoneString: x"], 1970),
    ):
        dated = Workload(workload.jobs, header=header)
        assert (dated.start_date.year if dated.start_date else None) == date


def test_without_a_date_time_runs_from_the_start(small: FakeResult) -> None:
    """Ticks at round seconds; hovers with times and durations as text; another unit on request."""
    chart = gantt(small)
    assert chart.layout.xaxis.ticktext[:2] == ("0 s", "5 s")
    assert chart.layout.meta["elapsed"]
    power = next(trace for trace in chart.data if trace.name == "power")
    assert list(power.text) == ["0 s", "10 s", "20 s", "30 s"]
    assert power.hovertemplate == "power: %{y:.3~s}W<br>from %{text}<extra></extra>"
    assert gantt(small, time_unit="min").layout.xaxis.title.text == "Time (simulated minutes)"


def test_hovers_write_amounts_for_people(small: FakeResult) -> None:
    """A wait of four days, an energy of 29 MWh; the table keeps the numbers."""
    small.jobs = small.jobs.assign(wait_time=375_379.0, energy_j=104_872_517_314.0)
    template = next(trace for trace in gantt(small).data if trace.meta == "jobs").hovertemplate
    assert "waited 4 d 08:16" in template
    assert "energy 29.1 MWh" in template
    assert "ran %{customdata" in template
    assert small.jobs["wait_time"].tolist() == [375_379.0] * 3


def test_an_axis_of_waits_has_round_ticks() -> None:
    """Powers of ten of seconds, then minutes, hours and days on a logarithmic axis."""
    waits = [1.0, 30.0, 4_000.0, 300_000.0]
    jobs = {"submit_time": [0.0] * 4, "requested_cores": [1] * 4, "recorded_run_time": waits}
    result = Simulation(Platform.homogeneous(1, 4), Workload(jobs), make_scheduler("fcfs")).run()
    chart = ecdf(result, "run_time")
    assert chart.layout.xaxis.type == "log"
    assert chart.layout.xaxis.ticktext == ("1 s", "10 s", "1 min", "10 min", "1 h", "6 h", "1 d", "10 d")
    assert list(chart.data[0].customdata)[-1] == "3 d 11:20"


def test_ranges_by_brute_force() -> None:
    """The least and greatest value in each bin, against a look at every step; values of no duration do not count."""
    rng = np.random.default_rng(4)
    time = np.sort(rng.integers(0, 400, 300) / 4)
    value = rng.integers(0, 50, 300).astype(float)
    edges, mean = coarsened(time, value, 17)
    low, high = ranges(time, value, edges)
    for place, (begin, end) in enumerate(itertools.pairwise(edges.tolist())):
        seen = [
            held
            for since, until, held in zip(time[:-1].tolist(), time[1:].tolist(), value.tolist(), strict=False)
            if since < until and since < end and until > begin
        ]
        assert (low[place], high[place]) == (min(seen), max(seen))
    assert ((low <= mean + 1e-9) & (mean <= high + 1e-9))[:-1].all()


def test_means_say_so_and_show_their_range(small: FakeResult) -> None:
    """A curve of 50,000 steps over 50,000 s is named after its bins of 12.5 s, in the subtitle too, with a band that has
    its extremes."""
    time = np.arange(50_001.0)
    watts = np.random.default_rng(3).uniform(100, 500, len(time))
    watts[777] = 9_000.0
    small.power = pd.DataFrame({"time": time, "watts": watts})
    chart = gantt(small)
    curve = next(trace for trace in chart.data if (trace.name or "").startswith("power"))
    assert curve.name == "power, mean of 12.5 s"
    assert "power, mean of 12.5 s: " in curve.hovertemplate
    assert "means, shaded from least to greatest: power of 12.5 s" in chart.layout.title.subtitle.text
    low, high = (trace for trace in chart.data if trace.meta == BAND)
    assert (high.fill, max(high.y)) == ("tonexty", 9_000.0)
    assert min(low.y) == watts.min()
    assert not [trace for trace in gantt(small, x_range=(0.0, 100.0)).data if trace.meta == BAND]


def test_a_stack_of_means_shows_the_range_of_all_power(small: FakeResult) -> None:
    """Power by state in seven bins: each name says what it is a mean of, and the band is that of the whole curve."""
    jobs = {"submit_time": np.arange(40) * 10.0, "requested_cores": [1] * 40, "recorded_run_time": [25.0] * 40}
    power = {"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.5}
    result = Simulation(Platform.homogeneous(1, 2, power=power), Workload(jobs), make_scheduler("fcfs")).run()
    chart = power_timeline(result, most_points=7)
    assert all(", mean of " in trace.name for trace in chart.data if trace.stackgroup)
    high = chart.data[-1]
    assert high.name == "all power, from least to greatest"
    assert max(high.y) == result.power["watts"].max()


def test_elapsed_time_on_request() -> None:
    """Elapsed time may be asked for even where there is a date."""
    axis = TimeAxis.of("elapsed", (0.0, 10.0), "2026-03-01")
    assert axis.texts(np.array([1.5])) == ["1.5 s"]
