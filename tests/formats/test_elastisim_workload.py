"""ElastiSim's jobs: sizes, work, speedups, parts and requests by hand; what is left out or refused is named."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import FormatError, ModelWarning
from cluster_sim.formats.formulas import evaluate


def cpu(flops: object, pattern: str = "uniform", **more: Any) -> dict[str, Any]:
    """A task that computes."""
    return {"type": "cpu", "flops": flops, "computation_pattern": pattern, **more}


def job(kind: str, application: object, submit: float = 0.0, **more: Any) -> dict[str, Any]:
    """A job that may have 2 to 4 nodes, a rigid one 2."""
    size = {"num_nodes": 2} if kind == "rigid" else {"num_nodes_min": 2, "num_nodes_max": 4}
    return {"type": kind, "submit_time": submit, "application": application, **size, **more}


def phases(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An application of one phase."""
    return {"phases": [{"tasks": list(tasks), **more}]}


def read(folder: Path, *jobs: dict[str, Any], **options: Any) -> Workload:
    """What is read of a file with these jobs."""
    path = folder / "jobs.json"
    path.write_text(json.dumps({"jobs": list(jobs)}))
    return Workload.read(str(path), **options)


def row(folder: Path, one: dict[str, Any], **options: Any) -> Any:
    """The row of the only job of a file."""
    return next(read(folder, one, **options).jobs.itertuples())


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        (3, 3.0),
        ("2 + 3 * 4", 14.0),
        ("-2^2", -4.0),
        ("2^3^2", 512.0),
        ("w / num_nodes^0.5", 5.0),
        ("max(w, 12) % 5", 2.0),
        ("round(2.5) + floor(-0.5) + ceil(0.2)", 3.0),
    ],
)
def test_formulas(formula: object, value: float) -> None:
    """Formulas are arithmetic, with ^ for powers."""
    assert evaluate(formula, {"w": 10.0, "num_nodes": 4.0}, "here") == value


@pytest.mark.parametrize(
    "formula",
    [
        *("__import__('os')", "w.real", "w[0]", "'a'*9", "lambda: 1", "w if w else 1", "9^9^9^9", "1/0", "", "(" * 900),
        *("min(1)", "min(1, 2, key=3)", "print(1)", "1" * 2000, "-" * 999 + "1", "True", "v", "1 < 2", [1], None),
    ],
)
def test_what_is_no_formula(formula: object) -> None:
    """Anything else is refused in one line that says where it stands."""
    with pytest.raises(FormatError, match=r"^here: expected "):
        evaluate(formula, {"w": 1.0}, "here")


def test_sizes_and_requests(tmp_path: Path) -> None:
    """A node is a core; walltime 0 is none; what may change is malleable, in parts of an iteration each."""
    steps = phases(cpu("total / num_nodes"), iterations="steps")
    arguments = {"total": 24, "steps": 3}
    jobs = read(
        tmp_path,
        job("rigid", steps, 5.0, arguments=arguments, walltime=0),
        job("moldable", steps, 6.0, arguments=arguments, walltime=60, attributes={"priority": 7}),
        job("malleable", steps, 7.0, arguments=arguments, num_nodes=3),
    ).jobs
    assert jobs["submit_time"].tolist() == [0.0, 1.0, 2.0]
    assert jobs["requested_cores"].tolist() == [2, 2, 3]
    assert jobs["min_cores"].tolist() == [0, 2, 2]
    assert jobs["max_cores"].tolist() == [0, 4, 4]
    assert jobs["requested_time"].tolist() == [math.inf, 60.0, math.inf]
    assert jobs["operations"].tolist() == [36.0, 36.0, 24.0]  # 3 x 24 over the nodes
    assert jobs["speedup"].tolist() == ["linear"] * 3
    assert jobs["parts"].tolist() == ["", "", "3"]
    assert jobs["malleable"].tolist() == [False, False, True]
    assert jobs["priority"].tolist() == [0.0, 7.0, 0.0]


@pytest.mark.parametrize(
    ("pattern", "work"),
    [
        ("uniform", (12.0, 12.0, 12.0)),
        ("all_ranks", (6.0, 4.0, 3.0)),
        ("root_only", (12.0, 12.0, 12.0)),
        ("even_ranks", (12.0, 6.0, 6.0)),
        ("odd_ranks", (12.0, 12.0, 6.0)),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, work: tuple[float, ...]) -> None:
    """The node with most to do decides: 12 operations on 2, 3 and 4 nodes."""
    for size, expected in zip((2, 3, 4), work, strict=True):
        assert row(tmp_path, job("rigid", phases(cpu(12, pattern))) | {"num_nodes": size}).operations == expected


def test_nodes_that_do_different_things(tmp_path: Path) -> None:
    """The even nodes do 6 each, then the odd ones 12: with a barrier at the end of the iteration only, that takes 12."""
    application = phases(cpu("6 * ceil(num_nodes / 2)", "even_ranks"), cpu("12 * floor(num_nodes / 2)", "odd_ranks"))
    assert row(tmp_path, job("rigid", application)).operations == 12.0


def test_speedup_is_a_table_of_all_sizes(tmp_path: Path) -> None:
    """100 operations on each, and 120 shared: 160, 140 and 130 on 2, 3 and 4 nodes."""
    application = phases({"type": "sequence", "tasks": [cpu(50, iterations=2), cpu(120, "all_ranks")]})
    one = row(tmp_path, job("moldable", application))
    assert one.operations == 160.0
    assert one.speedup == f"table:2=1.0,3={160 / 140!r},4={160 / 130!r}"
    platform = Platform.homogeneous(nodes=3, cores=1, ghz=1e-9)
    result = Simulation(platform, read(tmp_path, job("moldable", application)), make_scheduler("moldable")).run()
    assert result.jobs["run_time"].tolist() == pytest.approx([140.0])


def test_delays_take_their_time_on_any_node(tmp_path: Path) -> None:
    """Idle nodes have a fixed run time; with computation, the rate of a node must be known."""
    idle = {"type": "idle", "delay": "30 / num_nodes", "pattern": "uniform"}
    one = row(tmp_path, job("rigid", phases(idle, iterations=4)))
    assert (one.recorded_run_time, one.fixed_run_time) == (60.0, True)
    both = job("rigid", phases(idle, cpu(4e9)))
    with pytest.raises(FormatError, match=r"jobs\[0\]: expected flops or delays, or both with reference_gflops"):
        read(tmp_path, both)
    one = row(tmp_path, both, reference_gflops=2.0)
    assert (one.recorded_run_time, one.fixed_run_time) == (17.0, False)


def test_parts_begin_with_what_is_done_once(tmp_path: Path) -> None:
    """No scheduling point comes before the first iteration, after the last, or where a phase has none."""
    application = {
        "on_init": {"tasks": [cpu(5)]},
        "phases": [
            {"tasks": [cpu(10)], "iterations": 2},
            {"tasks": [cpu(20)], "iterations": 2, "scheduling_point": False},
            {"tasks": [cpu(1)], "iterations": 2, "final_scheduling_point": False},
            {"tasks": [cpu(7)]},
        ],
    }
    one = row(tmp_path, job("malleable", application))
    assert one.parts == "15.0 10.0 41.0 8.0"  # 5 + 10 | 10 | 20 + 20 + 1 | 1 + 7
    assert one.operations == 74.0


def test_requests_of_evolving_jobs(tmp_path: Path) -> None:
    """Asked before each iteration but the first, rounded towards zero, within the bounds; only there its nodes may change."""
    application = phases(cpu(10), iterations=4, evolving_request="num_nodes_min + 0.7 * phase_iteration * up")
    assert row(tmp_path, job("evolving", application, arguments={"up": 1})).parts == "10.0 10.0@2 10.0@3 10.0@4"
    assert row(tmp_path, job("evolving", application, arguments={"up": 9})).parts == "10.0 10.0@4 10.0@4 10.0@4"
    assert row(tmp_path, job("evolving", phases(cpu(10), iterations=4))).malleable is False
    assert row(tmp_path, job("malleable", application, arguments={"up": 1})).parts == "4"
    with pytest.raises(FormatError, match=r"evolving_request: expected a formula of .*, found num_nodes"):
        read(tmp_path, job("evolving", phases(cpu(10), evolving_request="num_nodes + 1")))


def test_a_request_before_any_work(tmp_path: Path) -> None:
    """An iteration that does nothing is no part: what comes after it is asked for at the start, which no job can."""
    work = {"tasks": [cpu(10)], "evolving_request": 4}
    application = {"phases": [{"tasks": [cpu(0)]}, work, work]}
    with pytest.warns(ModelWarning, match="evolving_request before any work"):
        assert row(tmp_path, job("evolving", application)).parts == "10.0 10.0@4"


@pytest.mark.parametrize(("works", "asks"), [((0, 10, 10), 1), ((0, 0, 10), 2), ((0, 0, 10, 10), 1)])
def test_a_request_before_all_the_work(tmp_path: Path, works: tuple[int, ...], asks: int) -> None:
    """The only request comes before any work: it is named, and all of the work is one part, in which nothing changes."""
    each: list[dict[str, Any]] = [{"tasks": [cpu(work)]} for work in works]
    each[asks]["evolving_request"] = 4
    with pytest.warns(ModelWarning, match="evolving_request before any work"):
        one = row(tmp_path, job("evolving", {"phases": each}))
    assert (one.parts, one.malleable, one.operations) == ("", False, float(sum(works)))


def test_a_request_after_all_the_work(tmp_path: Path) -> None:
    """An iteration that does nothing asks for nothing that could matter."""
    application = {"phases": [{"tasks": [cpu(10)]}, {"tasks": [cpu(0)], "evolving_request": 4}]}
    assert row(tmp_path, job("evolving", application)).parts == ""


@pytest.mark.parametrize("kind", ["malleable", "adaptive"])
@pytest.mark.parametrize(("works", "parts"), [((0, 10), "1"), ((10, 0), "1"), ((10,), "1"), ((0, 10, 10), "2")])
def test_iterations_that_do_nothing_are_no_parts(tmp_path: Path, kind: str, works: tuple[int, ...], parts: str) -> None:
    """A job in one part stays malleable, as one of a single iteration: schedulers that resize choose what it starts on."""
    one = row(tmp_path, job(kind, {"phases": [{"tasks": [cpu(work)]} for work in works]}))
    assert (one.parts, one.malleable) == (parts, True)


@pytest.mark.parametrize(("kind", "parts"), [("malleable", "1"), ("evolving", "")])
def test_a_job_that_only_begins(tmp_path: Path, kind: str, parts: str) -> None:
    """What is done once is all that such a job does: one part."""
    one = row(tmp_path, job(kind, {"on_init": [cpu(10)]}))
    assert (one.parts, one.operations) == (parts, 10.0)


def test_an_evolving_job_gets_what_it_asks_for(tmp_path: Path) -> None:
    """12 on 2 nodes in two iterations: the first takes 6 s; with 4 nodes the second takes 3, after 2 s of reconfiguration."""
    application = {
        "phases": [
            {"tasks": [cpu("12 / num_nodes")]},
            {"tasks": [cpu("12 / num_nodes")], "evolving_request": "2 * num_nodes_min"},
        ],
        "on_reconfiguration": [{"type": "busy_wait", "delay": 2, "pattern": "uniform"}],
    }
    wide = job("rigid", phases(cpu(3)))  # has the other two nodes until 3 s
    workload = read(tmp_path, wide, job("evolving", application))
    platform = Platform.homogeneous(nodes=4, cores=1, ghz=1e-9)
    result = Simulation(platform, workload, make_scheduler("shrink-expand")).run()
    assert result.jobs["finish_time"].tolist() == pytest.approx([3.0, 6.0 + 2.0 + 3.0])
    assert [spell.cores for spell in result.spells[1]] == [2, 4]


def test_applications_in_files(tmp_path: Path) -> None:
    """An application is looked for beside the jobs, then in the folders above, as for runs from above."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "model.json").write_text(json.dumps(phases(cpu("x"))))
    for named in ("model.json", "data/model.json"):
        one = {"type": "rigid", "submit_time": 0, "num_nodes": 1, "application_model": named, "arguments": {"x": 8}}
        assert row(tmp_path / "data", one).operations == 8.0
    with pytest.raises(FormatError, match=r"other\.json"):
        read(tmp_path, job("rigid", None) | {"application": "other.json"})


def test_what_is_left_out_is_named_once(tmp_path: Path) -> None:
    """Network, files, costs by size and attributes: one warning, with the number of jobs."""
    application = phases(
        cpu(8, bytes=9, communication_pattern="ring", coupled=True),
        {"type": "pfs_write", "bytes": 9, "pattern": "uniform"},
    ) | {"on_expansion": [cpu(1)], "on_reconfiguration": [{"type": "idle", "delay": "num_nodes", "pattern": "uniform"}]}
    with pytest.warns(ModelWarning) as caught:
        jobs = read(
            tmp_path, job("malleable", application), job("rigid", application, attributes={"dependency": "0"})
        ).jobs
    assert jobs["reconfiguration_time"].tolist() == [2.0, 0.0]
    (message,) = (str(each.message) for each in caught)
    assert message.endswith(
        "not simulated: bytes of cpu tasks (2 jobs), pfs_write tasks (2 jobs), on_expansion (1 job), "
        "on_reconfiguration by the number of nodes (1 job), attribute dependency (1 job)"
    )


def test_gpus_and_phases_of_their_own_speedup(tmp_path: Path) -> None:
    """GPUs are counted as requests; a job has one speedup, that of its whole work."""
    application = {"phases": [{"tasks": [cpu(60, "all_ranks")]}, {"tasks": [cpu(10)]}]}
    with pytest.warns(ModelWarning, match="phases of their own speedup"):
        one = row(tmp_path, job("malleable", application, num_gpus_per_node_min=2))
    assert (one.parts, one.operations, one.gpus_per_task) == ("30.0 10.0", 40.0, 2)
    assert one.speedup == f"table:2=1.0,3={40 / 30!r},4={40 / 25!r}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "elastic"}, r"jobs\[0\].type: expected one of rigid, .*, found elastic"),
        ({"num_nodes_min": 0}, r"jobs\[0\]: expected whole numbers, 1 <= num_nodes_min"),
        ({"num_nodes_max": 2.5}, r"jobs\[0\]: expected whole numbers, 1 <= num_nodes_min"),
        ({"num_nodes_max": None}, r"jobs\[0\].num_nodes_max: expected a number >= 0, found nothing"),
        ({"submit_time": "now"}, r"jobs\[0\].submit_time: expected a number >= 0, found now"),
        ({"arguments": {"x": "y"}}, r"jobs\[0\].arguments.x: expected a formula of numbers, found y"),
        ({"application": None}, r"jobs\[0\].application: expected an object, found nothing"),
        ({"application": phases({"type": "gpu", "flops": 1})}, r"jobs\[0\]: expected work to simulate"),
        ({"application": phases({"type": "cup"})}, r"tasks\[0\].type: expected one of cpu, idle"),
        ({"application": phases(cpu(1, "vector"))}, r"computation_pattern: expected one of uniform"),
        ({"application": phases(cpu("3 - num_nodes"))}, r"flops: expected an amount >= 0 on any number of nodes"),
        ({"application": phases(cpu(1), iterations=-1)}, r"phases\[0\].iterations: expected a number of iterations"),
        ({"application": phases(cpu(1), iterations=1e9)}, r"jobs\[0\]: expected at most 100,000 iterations"),
        ({"application": {"phases": {}}}, r"phases: expected a list"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """One line: which job, what was expected, what was found."""
    with pytest.raises(FormatError, match=message):
        read(tmp_path, job("malleable", phases(cpu(1))) | change)


def test_only_the_own_format_keeps_what_changes(tmp_path: Path) -> None:
    """As .csv such jobs come back; other formats have no field for what they choose, and say so."""
    workload = read(tmp_path, job("malleable", phases(cpu("8 / num_nodes^0.5"), iterations=3)))
    workload.write(str(tmp_path / "jobs.csv"))
    again = Workload.read(str(tmp_path / "jobs.csv"))
    for column in ("operations", "min_cores", "max_cores", "malleable", "speedup", "parts"):
        assert again.jobs[column].tolist() == workload.jobs[column].tolist()
    with pytest.warns(ModelWarning, match="no field for min_cores, max_cores, malleable, speedup, parts"):
        workload.write(str(tmp_path / "again.json"))
