"""Workloads: what can be done to their jobs before a run, and what a job may be."""

from __future__ import annotations

import math
import pickle
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cluster_sim import Platform, Simulation, make_scheduler
from cluster_sim.errors import FormatError, InputError, SpecError
from cluster_sim.workload import fields
from cluster_sim.workload.phases import parse_phases
from cluster_sim.workload.workload import WORKLOAD_GENERATORS, Workload

PLATFORM = SimpleNamespace(core_count=20, widest_node=8)


def workload(submit: list[float], attributes: dict[str, Any] | None = None, **columns: Any) -> Workload:
    """Jobs of one core and ten seconds, submitted at these times."""
    table = {"submit_time": submit, "requested_cores": [1] * len(submit), "recorded_run_time": [10.0] * len(submit)}
    return Workload(pd.DataFrame({**table, **columns}), **(attributes or {}))


def submissions(w: Workload) -> list[float]:
    """Submission times, for comparing."""
    times: list[float] = w.jobs["submit_time"].tolist()
    return times


def test_columns_are_the_schema() -> None:
    """A workload has every column of the schema, in its order and types, filled with defaults."""
    jobs = workload([0, 1]).jobs
    assert list(jobs.columns) == fields.names(fields.JOB_FIELDS)
    kinds = {"float": "float64", "int": "int64", "bool": "bool", "str": "object"}
    assert [str(dtype) for dtype in jobs.dtypes] == [kinds[field.kind] for field in fields.JOB_FIELDS]
    for field in fields.JOB_FIELDS:
        if field.default is not fields.REQUIRED and field.name not in (
            "recorded_run_time",
            "requested_time",
            "requested_time_assumed",
        ):
            np.testing.assert_equal(jobs[field.name].tolist(), [field.default] * 2)


def test_the_run_time_stands_in_for_a_request() -> None:
    """It is the request where none is given, which is noted; inf is one, and so is what only work is known of."""
    columns = {
        "submit_time": [0, 0, 0, 0],
        "requested_cores": [1] * 4,
        "recorded_run_time": [5.0, 6.0, 7.0, math.nan],
        "operations": [math.nan, math.nan, math.nan, 1e9],
    }
    for given, expected in (
        ({}, [5.0, 6.0, 7.0, math.inf]),
        ({"requested_time": [math.nan, math.inf, 9.0, math.nan]}, [5.0, math.inf, 9.0, math.inf]),
        ({"requested_time": [None, math.inf, 9.0, None]}, [5.0, math.inf, 9.0, math.inf]),
    ):
        jobs = Workload(columns | given).jobs
        assert jobs["requested_time"].tolist() == expected
        stands_in = [time in (5.0, 6.0, 7.0) for time in expected]
        assert jobs["requested_time_assumed"].tolist() == stands_in


def test_requests_survive_the_own_format(tmp_path: Path) -> None:
    """No limit, a limit, and a run time that stands in are the same when they are read again."""
    columns = {"submit_time": [0, 0, 0], "requested_cores": [1] * 3, "recorded_run_time": [5.0, 6.0, 7.0]}
    for requested in ([math.inf] * 3, [math.nan] * 3, [math.inf, 9.0, math.nan]):
        whole = Workload(columns | {"requested_time": requested})
        whole.write(tmp_path / "jobs.csv")
        pd.testing.assert_frame_equal(Workload.read(tmp_path / "jobs.csv").jobs, whole.jobs)


def test_parts_start_their_own_clock() -> None:
    """first, slice and split shift their first submission to 0, move deadlines along and remember the origin."""
    whole = workload([0, 10, 20, 30, 40], {"origin_s": 1000.0}, deadline=[99.0, 99.0, 99.0, math.inf, 99.0])
    assert submissions(whole.first(2)) == [0.0, 10.0]
    part = whole.slice(10, 40)
    assert submissions(part) == [0.0, 10.0, 20.0]
    assert part.origin_s == 1010.0
    assert part.jobs["deadline"].tolist() == [89.0, 89.0, math.inf]
    assert part.jobs["job_id"].tolist() == ["1", "2", "3"]
    assert len(whole.slice(41, 50)) == 0
    assert len(whole.first(99)) == 5


def test_parts_of_a_format_that_is_not_shifted() -> None:
    """With rebase=False parts keep the clock of the whole."""
    whole = workload([5, 10, 20], {"rebase": False})
    assert submissions(whole.slice(10, 99)) == [10.0, 20.0]
    assert whole.slice(10, 99).origin_s == 0.0


def test_split_takes_equal_consecutive_parts() -> None:
    """Parts have the same length; the last one takes the rest."""
    parts = workload([0, 1, 2, 3, 5, 8, 13]).split(3)
    assert [submissions(part) for part in parts] == [[0.0, 1.0], [0.0, 1.0], [0.0, 3.0, 8.0]]
    assert [part.origin_s for part in parts] == [0.0, 2.0, 5.0]


@pytest.mark.parametrize("number", [3, 11])
def test_split_as_the_papers_tool(shared: Path, number: int) -> None:
    """The 20 segments of P5's scale run are what its own tool cut."""
    whole = Workload.read(shared / "cases/pcbe/scale-table-5.3/workload.json")
    segment = Workload.read(shared / f"cases/pcbe/slice-{number:02}/workload.json")
    part = whole.split(20)[number]
    pd.testing.assert_frame_equal(part.jobs, segment.jobs)
    assert part.origin_s == segment.origin_s


def test_energy_as_the_papers_tool(shared: Path) -> None:
    """P5's add_energy is requested time x 3 W per task."""
    whole = Workload.read(shared / "cases/pcbe/scale-table-5.3/workload.json")
    assert whole.with_energy(3).jobs["req_energy"].tolist() == whole.jobs["req_energy"].tolist()


def test_no_requested_time_no_energy() -> None:
    """Without a requested time there is no estimate."""
    jobs = workload([0, 1], requested_time=[math.inf, 7.0]).with_energy(2).jobs
    np.testing.assert_equal(jobs["req_energy"].tolist(), [math.nan, 14.0])


def test_scale_load_divides_gaps() -> None:
    """Twice the load halves the gaps, keeps the first submission and the slack to deadlines."""
    scaled = workload([10, 20, 40], deadline=[15.0, 30.0, math.inf]).scale_load(2)
    assert submissions(scaled) == [10.0, 15.0, 25.0]
    assert scaled.jobs["deadline"].tolist() == [15.0, 25.0, math.inf]


def test_shaken_moves_each_submission_a_little() -> None:
    """By at most so much, none before the first, deadlines with it; the rows are in order of submission again."""
    whole = workload([10, 20, 21, 22, 23, 500], deadline=[15.0, 30.0, math.inf, 40.0, 50.0, 600.0])
    names = whole.jobs["job_id"].tolist()
    seen = set()
    for seed in range(20):
        shaken = whole.shaken(5.0, seed)
        times = shaken.jobs.set_index("job_id").loc[names]
        moved = times["submit_time"].to_numpy() - whole.jobs["submit_time"].to_numpy()
        assert (np.abs(moved) <= 5.0).all()
        assert len(set(moved)) > 4
        assert submissions(shaken) == sorted(submissions(shaken))
        assert min(submissions(shaken)) >= 10.0
        np.testing.assert_allclose(
            times["deadline"].to_numpy() - times["submit_time"].to_numpy(), [5, 10, math.inf, 18, 27, 100]
        )
        seen.add(tuple(shaken.jobs["job_id"]))
        part = whole.first(3).shaken(5.0, seed).jobs.set_index("job_id")["submit_time"]
        assert part.to_dict() == pytest.approx({job: times["submit_time"][job] - 10.0 for job in names[:3]})
    assert len(seen) > 4
    assert submissions(whole.shaken(0.0)) == submissions(whole)
    assert whole.shaken(5.0, 1).jobs.equals(whole.shaken(5.0, 1).jobs)


def test_a_pickled_workload_holds_its_columns_once() -> None:
    """What has been made of them, and read, stays behind; what was changed in the frame does not."""
    fresh, used = workload(list(range(500))), workload(list(range(500)))
    used.jobs["requested_cores"] = 7
    assert used.columns["requested_cores"][0] == used.request_columns["requested_cores"][0] == 7
    other = pickle.loads(pickle.dumps(used))
    assert other.jobs.equals(used.jobs)
    assert len(pickle.dumps(used)) < 1.2 * len(pickle.dumps(fresh))


def test_fit_to_clamps() -> None:
    """Jobs too wide for the platform, or for the nodes they name, get fewer cores."""
    wide = workload(
        [0] * 5, requested_cores=[20, 21, 9, 30, 8], nodes=[0, 0, 1, 2, 1], ntasks_per_node=[0, 0, 0, 15, 8]
    )
    jobs = wide.fit_to(PLATFORM).jobs
    assert jobs["requested_cores"].tolist() == [20, 20, 8, 16, 8]
    assert jobs["nodes"].tolist() == [0, 0, 1, 2, 1]
    assert jobs["ntasks_per_node"].tolist() == [0, 0, 0, 8, 8]


@pytest.mark.parametrize(
    ("cores", "told"),
    [
        ([1], "workload, requested_cores: expected as many values as submit_time has, 2, found 1"),
        (1, "workload, requested_cores: expected a value for each job, found 1"),
        ("12", "workload, requested_cores: expected a value for each job, found 12"),
    ],
)
def test_columns_have_a_value_for_each_job(cores: Any, told: str) -> None:
    """Neither too few, which a run might take for others, nor one for all."""
    with pytest.raises(FormatError, match=told):
        Workload({"submit_time": [0.0, 1.0], "requested_cores": cores, "recorded_run_time": [1.0, 1.0]})


def test_what_is_made_of_a_workload_that_has_run() -> None:
    """The columns that runs read follow a change, also after a run has had those of the workload before it."""
    log = workload([0, 10])
    assert log.columns["submit_time"].tolist() == [0, 10]  # as a run asks for them
    assert log.scale_load(2).columns["submit_time"].tolist() == [0, 5]
    assert len(log.first(1).columns["submit_time"]) == 1


def test_fit_to_drops() -> None:
    """wider="drop" leaves them out instead."""
    wide = workload([0, 1, 2], requested_cores=[20, 21, 9], nodes=[0, 0, 1])
    assert wide.fit_to(PLATFORM, wider="drop").jobs["job_id"].tolist() == ["0"]


def test_profile_mix() -> None:
    """Jobs draw profiles by share; the traffic of a task is its bandwidth x run time."""
    n = 4000
    run = np.arange(n, dtype=float)
    mixed = workload(list(range(n)), recorded_run_time=run).with_profiles(
        {"memory": (1, 8000), "compute": (3, 50)}, seed=1
    )
    is_memory = (mixed.jobs["profile"] == "memory").to_numpy()
    assert 0.22 < is_memory.mean() < 0.28
    np.testing.assert_array_equal(mixed.jobs["mem_vol"], np.where(is_memory, 8000, 50) * run)


def test_profile_mix_is_the_same_for_a_longer_workload() -> None:
    """The draw of a job depends on the seed and its position only."""
    mix = {"a": (0.5, 1.0), "b": (0.5, 2.0)}
    long = workload(list(range(100))).with_profiles(mix, seed=5).jobs["profile"]
    short = workload(list(range(10))).with_profiles(mix, seed=5).jobs["profile"]
    assert long[:10].tolist() == short.tolist()
    assert workload(list(range(100))).with_profiles(mix, seed=6).jobs["profile"].tolist() != long.tolist()


def test_phases_of_a_profile() -> None:
    """Jobs of a profile get its phases, with their totals as before; others keep what they have."""
    jobs = workload([0, 1, 2], profile=["m", "c", "m"], mem_vol=[8.0, 2.0, 6.0], phases=["", "1:3 3:1", "1:1"])
    phased = jobs.with_phases({"m": [(3, 1), (1, 3)], "elsewhere": [(1, 1)]}).jobs
    assert [parse_phases(text) for text in phased["phases"]] == [
        ((0.75, 0.25), (0.25, 0.75)),
        ((0.25, 0.75), (0.75, 0.25)),
        ((0.75, 0.25), (0.25, 0.75)),
    ]
    assert phased["mem_vol"].tolist() == [8.0, 2.0, 6.0]
    for wrong in ([(0, 1)], [(-1, 1)], []):
        with pytest.raises(InputError, match=r"phases: expected pairs work:memory of shares >= 0"):
            jobs.with_phases({"m": wrong})


def test_profile_mix_of_jobs_in_operations() -> None:
    """Work takes its time at the reference rate; without one the run time is unknown."""
    jobs = pd.DataFrame({"submit_time": [0], "requested_cores": [1], "operations": [5e9]})
    assert Workload(jobs, reference_gflops=2.5).with_profiles({"a": (1, 10)}).jobs["mem_vol"].tolist() == [20.0]
    with pytest.raises(InputError, match="job 0: expected a run time, or a workload with reference_gflops"):
        Workload(jobs).with_profiles({"a": (1, 10)})


def test_triples() -> None:
    """(time, tasks, profile) and the profiles make a workload."""
    profiles = {"A": {"req_ops": 10, "ipc": 4, "req_time": 3}, "B": {"req_ops": 7, "mem_vol": 5}}
    jobs = Workload.from_triples([(2.0, 4, "B"), (1.0, 2, "A")], profiles).jobs
    assert jobs[["submit_time", "requested_cores", "profile", "operations", "mem_vol"]].to_numpy().tolist() == [
        [0.0, 2, "A", 3.0, 0.0],
        [1.0, 4, "B", 7.0, 5.0],
    ]
    with pytest.raises(FormatError, match=r"jobs\[0\].profile: expected one of A, B, found C"):
        Workload.from_triples([(0, 1, "C")], profiles)


def test_nothing_changes_in_place() -> None:
    """Every method leaves the workload it was called on as it was."""
    whole = workload([0, 10, 20, 30], requested_cores=[1, 50, 3, 4], requested_time=[5.0] * 4)
    before = whole.jobs.copy()
    whole.first(2)
    whole.slice(10, 20)
    whole.split(2)
    whole.scale_load(3)
    whole.fit_to(PLATFORM)
    whole.with_profiles({"a": (1, 1)})
    whole.with_energy(3)
    pd.testing.assert_frame_equal(whole.jobs, before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w: w.first(-1), "first: expected a number of jobs >= 0, found -1"),
        (lambda w: w.split(0), "split: expected a number of parts from 1 to 2, found 0"),
        (lambda w: w.split(3), "split: expected a number of parts from 1 to 2, found 3"),
        (lambda w: w.scale_load(0), "scale_load: expected a factor above 0"),
        (lambda w: w.scale_load(math.nan), "scale_load: expected a factor above 0"),
        (lambda w: w.shaken(-1), "shaken: expected seconds >= 0"),
        (lambda w: w.shaken(1e308), "shaken: expected seconds >= 0, and at most 1e.12"),
        (lambda w: w.shaken(10, -1), "shaken, seed: expected a whole number >= 0, found -1"),
        (lambda w: w.shaken(math.nan), "shaken: expected seconds >= 0"),
        (lambda w: w.with_energy(-1), "with_energy: expected watts >= 0"),
        (lambda w: w.fit_to(PLATFORM, wider="cut"), "fit_to, wider: expected clamp or drop, found cut"),
        (lambda w: w.with_profiles({}), "with_profiles: expected shares"),
        (lambda w: w.with_profiles({"a": (0, 1)}), "with_profiles: expected shares"),
        (lambda w: w.with_profiles({"a": (1, math.nan)}), "with_profiles: expected bandwidths"),
        (lambda w: Workload(w.jobs, reference_gflops=0), "reference_gflops: expected a rate from 1e-09 to"),
    ],
)
def test_bad_arguments(call: Any, message: str) -> None:
    """An argument that makes no sense is refused with what was expected."""
    with pytest.raises(InputError, match=message):
        call(workload([0, 1]))


@pytest.mark.parametrize(
    ("column", "bad", "message"),
    [
        ("submit_time", math.nan, "submit_time: expected a finite number >= 0, found nan"),
        ("submit_time", math.inf, "submit_time: expected a finite number >= 0, found inf"),
        ("submit_time", -1.0, "submit_time: expected a finite number >= 0, found -1.0"),
        ("requested_cores", 0, "requested_cores: expected a whole number below .* >= 1, found 0"),
        ("requested_cores", 10**30, "requested_cores: expected a whole number below"),
        ("requested_cores", 1.5, "requested_cores: expected a whole number"),
        ("operations", math.inf, "operations: expected a finite number >= 0, found inf"),
        ("recorded_run_time", -1.0, "recorded_run_time: expected a finite number >= 0"),
        ("recorded_run_time", math.nan, "operations: expected operations or recorded_run_time, found neither"),
        ("requested_time", -math.inf, "requested_time: expected a finite number >= 0, found -inf"),
        ("ipc", 0.0, "ipc: expected a finite number > 0, found 0.0"),
        ("mem_vol", "much", "mem_vol: expected a number, found much"),
        (
            "parts",
            "4@2 1",
            "parts: expected a first part without @, as a job starts on its requested_cores, found 4@2 1",
        ),
        ("job_id", "0", "job_id: expected an id not yet used .*row 0.*, found 0"),
    ],
)
def test_impossible_jobs(column: str, bad: Any, message: str) -> None:
    """The first offending row is named with its job, the column, what was expected and what was found."""
    columns: dict[str, list[Any]] = {
        "job_id": ["0", "1", "2"], "submit_time": [0, 1, 2], "requested_cores": [1, 1, 1], "recorded_run_time": [1, 1, 1],
    }  # fmt: skip
    good = {"requested_time": 1.0, "ipc": 1.0, "mem_vol": 0.0, "operations": math.nan, "parts": ""}
    columns.setdefault(column, [good.get(column)] * 3)
    columns[column][1] = bad
    with pytest.raises(FormatError, match=message) as caught:
        Workload(pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}))
    assert "workload row 1, job" in str(caught.value)


def test_unknown_column() -> None:
    """A column that is not in the schema is refused with the name it is nearest to."""
    with pytest.raises(FormatError, match=r"column 'memvol': expected mem_vol \(the nearest known name\)"):
        workload([0], memvol=[1.0])


def test_ids_of_any_kind() -> None:
    """Ids given as numbers become text."""
    assert workload([0, 1], job_id=[7, 8]).jobs["job_id"].tolist() == ["7", "8"]
    assert workload([0, 1], job_id=pd.Series(["x", "y"], dtype="str")).jobs["job_id"].tolist() == ["x", "y"]
    with pytest.raises(FormatError, match="row 1, job_id: expected an id"):
        workload([0, 1], job_id=["a", None])


def test_a_generator_is_read_by_its_spec() -> None:
    """A registered generator is called by name; its options are those of the function."""

    @WORKLOAD_GENERATORS.register("pulse")
    def pulse(jobs: int = 1, gap_s: float = 1.0) -> Workload:
        """Jobs at regular intervals."""
        return workload([gap_s * i for i in range(jobs)])

    try:
        assert submissions(Workload.read("pulse:jobs=3,gap_s=2")) == [0.0, 2.0, 4.0]
        with pytest.raises(SpecError, match="expected an option of pulse"):
            Workload.read("pulse:cores=3")
        with pytest.raises(SpecError, match="options within its spec"):
            Workload.read("pulse:jobs=3", time_unit="minutes")
    finally:
        del WORKLOAD_GENERATORS._factories["pulse"]


def test_a_generator_nobody_registered() -> None:
    """A spec of an unknown generator is told what can be read."""
    with pytest.raises(FormatError, match=r"nobody:jobs=3: expected a workload file \(.swf\[.gz\], .json\[.gz\], .csv"):
        Workload.read("nobody:jobs=3")


def test_empty_workload() -> None:
    """No jobs is a workload too: a slice of a quiet night."""
    empty = workload([0]).first(0)
    assert len(empty) == 0
    assert empty.widest_job == 0
    assert len(empty.scale_load(2).with_profiles({"a": (1, 1)}).fit_to(PLATFORM)) == 0
    assert "0 jobs" in repr(empty)


def test_the_manual_page_is_up_to_date() -> None:
    """docs/reference/job-schema.md is made from the table that the code uses."""
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "job-schema.md"
    assert page.read_text() == fields.job_schema_page(), (
        "run: python -m cluster_sim.workload.fields > docs/reference/job-schema.md"
    )
    records = page.with_name("records.md").read_text()
    assert re.findall(r"^```\{fields\} (\w+)$", records, re.MULTILINE) == [*fields.RESULT_TABLES, "summary"]


def test_one_table_of_fields() -> None:
    """Names are unique within their table, metrics carry their unit in the key, and every entry says what it means."""
    for table in (fields.JOB_FIELDS, fields.SUMMARY_METRICS, *fields.RESULT_TABLES.values()):
        assert len({field.name for field in table}) == len(table)
        assert all(field.meaning for field in table)
    suffixes = {"s": "_s", "J": "_j", "J s": "_js", "W": "_watts", "1/h": "_per_h"}
    for metric in fields.SUMMARY_METRICS:
        assert metric.name.endswith(suffixes.get(metric.unit, "")), metric.name


def test_with_checkpoints_every_job_makes_them_and_nothing_else_changes() -> None:
    """An interval and times of one's own, or as often as Daly says."""
    whole = workload([0, 1], recorded_run_time=[100.0, 50.0])
    checkpointed = whole.with_checkpoints(30, time_s=5.0, restart_s=1.0)
    result = Simulation(Platform.homogeneous(nodes=2, cores=1), checkpointed, make_scheduler("fcfs")).run()
    assert result.jobs["run_time"].tolist() == [115.0, 55.0]  # after 30, 60 and 90 s of work; after 30 s
    daly = whole.with_checkpoints("daly", time_s=5.0, restart_s=1.0)
    assert daly.jobs["checkpoint_interval"].tolist() == ["daly", "daly"]
    assert daly.jobs["recorded_run_time"].tolist() == whole.jobs["recorded_run_time"].tolist()
