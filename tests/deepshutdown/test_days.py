"""A log cut into days as in Casagrande et al. (2022): midnights, sequential jobs, groups, filters, whole minutes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.reproduce.deepshutdown.days import GROUPS, days_per_group, episode, group_of
from cluster_sim import InputError, Platform, Workload
from cluster_sim.formats.batsim_workload import from_document

H = 3600.0


def submitted(*times: float, **attributes: object) -> Workload:
    """Jobs of one core and a minute, submitted at these times."""
    columns = {
        "submit_time": list(times),
        "requested_cores": [1] * len(times),
        "recorded_run_time": [60.0] * len(times),
    }
    return Workload({**columns, "requested_time": [90.0] * len(times)}, **attributes)  # type: ignore[arg-type]


def test_days_begin_at_midnight() -> None:
    """Each on a clock of its own; a day with one job is left out unless it is wanted."""
    log = submitted(0, 23 * H, 24 * H, 50 * H, 71 * H)
    days = log.days()
    assert [day.jobs["submit_time"].tolist() for day in days] == [[0.0, 23 * H], [2 * H, 23 * H]]
    assert [day.origin_s for day in days] == [0.0, 48 * H]
    assert [day.jobs["job_id"].tolist() for day in days] == [["0", "1"], ["3", "4"]]
    assert [len(day) for day in log.days(at_least=1)] == [2, 1, 2]
    with pytest.raises(InputError, match="days, at_least: expected a number of jobs >= 1, found 0"):
        log.days(at_least=0)


def test_the_header_says_when_midnight_is() -> None:
    """2023-11-14 22:13:20 UTC is 23:13:20 in Paris: the day there ends 46 min 40 s later; UTC where the zone is unknown."""
    header = ["; UnixStartTime: 1700000000", "; TimeZoneString: Europe/Paris"]
    log = submitted(0, 2799, 2800, 2801, header=header)
    assert [len(day) for day in log.days()] == [2, 2]
    assert log.days()[1].jobs["submit_time"].tolist() == [0.0, 1.0]
    unknown = submitted(0, 2801, 6399, 6400, 6401, header=[header[0], "; TimeZoneString: nowhere"])
    assert [len(day) for day in unknown.days()] == [3, 2]
    assert [len(day) for day in log.days(midnight_s=2801.0, at_least=1)] == [3, 1]


def test_the_log_began_before_its_first_job() -> None:
    """A reader that made the first submission 0 has kept when it was."""
    log = submitted(0, H, 2 * H, origin_s=23 * H)
    assert [day.jobs["submit_time"].tolist() for day in log.days(at_least=1)] == [[23 * H], [0.0, H]]


def test_sequential_jobs() -> None:
    """Less than five minutes after the one before; exactly five are not; of one job nothing can be said."""
    assert submitted(0, 299, 599, 898.9, 2000).share_of_sequential_jobs() == 2 / 4
    assert submitted(0, 1, 2).share_of_sequential_jobs() == 1.0
    assert submitted(0, 299).share_of_sequential_jobs(gap_s=299) == 0.0
    assert math.isnan(submitted(5).share_of_sequential_jobs())


def test_groups_of_table_2() -> None:
    """Quarters, closed below; the fifth group is of days without any pause."""
    assert [group_of(share) for share in (0.0, 0.249, 0.25, 0.5, 0.75, 0.999, 1.0)] == [1, 1, 2, 3, 4, 4, 5]
    days = [submitted(0, 1, 2), submitted(0, 1, 500), submitted(0, 900)]
    assert days_per_group(days).to_dict() == dict(zip(GROUPS, [1, 0, 1, 0, 1], strict=True))


def test_filters() -> None:
    """Dropped: did not run, wider than the cluster, no request, an assumed one, a request of nothing."""
    log = Workload(
        {
            "submit_time": range(6),
            "requested_cores": [1, 1, 9, 1, 1, 1],
            "recorded_run_time": [5.0, 0.0, 5.0, 5.0, 5.0, 5.0],
            "requested_time": [9.0, 9.0, 9.0, math.inf, 9.0, 0.0],
            "requested_time_assumed": [False, False, False, False, True, False],
        }
    )
    assert log.executable(Platform.homogeneous(2, 4)).jobs["job_id"].tolist() == ["0"]


def test_an_episode_has_whole_minutes() -> None:
    """Three million operations at a million a minute are 180 s, not 179.99999999999997."""
    document = {
        "jobs": [{"id": "1", "res": 1, "subtime": 4, "walltime": 9, "profile": "p"}],
        "profiles": {"p": {"type": "parallel_homogeneous", "cpu": 3e6, "com": 0}},
    }
    day = from_document(document, "day", time_unit="minutes")
    jobs = episode(day, Platform.homogeneous(1, 1, ghz=1e6 / 60 / 1e9)).jobs
    assert jobs["recorded_run_time"].tolist() == [180.0]
    assert jobs["fixed_run_time"].tolist() == [True]
    assert jobs["submit_time"].tolist() == [240.0]


@given(st.lists(st.floats(0, 30 * 86400), min_size=1, max_size=30), st.floats(0, 86400))
def test_days_are_a_partition(times: list[float], midnight: float) -> None:
    """Every job is in one day, at its own time of day."""
    log = submitted(*sorted(times))
    days = log.days(at_least=1, midnight_s=midnight)
    assert [job for day in days for job in day.jobs["job_id"]] == log.jobs["job_id"].tolist()
    for day in days:
        submit = day.jobs["submit_time"].to_numpy()
        assert ((submit >= 0) & (submit < 86400.0 + 1e-6)).all()
    back = np.concatenate([day.jobs["submit_time"] + day.origin_s for day in days])
    np.testing.assert_allclose(back, log.jobs["submit_time"], atol=1e-6)
