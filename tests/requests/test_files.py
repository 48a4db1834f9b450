"""The requests in files: workloads of every format that can carry them, and files of advance reservations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster_sim import FormatError, Workload
from cluster_sim.cli import main
from cluster_sim.formats.reservations import read_reservations

from .conftest import jobs, machine

ONE = "homogeneous:nodes=1,cores=1"
COLUMNS = {
    "priority": [2.5, 0.0],
    "deadline": [90.0, float("inf")],
    "requires": ["ib ssd", ""],
    "exclusive": [True, False],
    "reservation": ["course", ""],
    "tags": ["night batch", ""],
}


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.json", "jobs.csv.gz", "jobs.json.gz"])
@pytest.mark.filterwarnings("ignore::cluster_sim.ModelWarning")
def test_native_and_irmasim_files_carry_the_requests(tmp_path: Path, name: str) -> None:
    """Written and read again they are the same."""
    workload = jobs((0, 1, 5), (3, 2, 5), **COLUMNS)
    workload.write(tmp_path / name)
    table = Workload.read(tmp_path / name).jobs
    assert {key: table[key].tolist() for key in COLUMNS} == COLUMNS


def test_irmasims_csv_carries_them(tmp_path: Path) -> None:
    """In the words of a table."""
    path = tmp_path / "jobs.csv"
    path.write_text(
        "id,subtime,runtime,ntasks,req_ops,requires,exclusive,reservation\na,0,5,1,5,ib,true,course\nb,1,5,1,5,,,\n"
    )
    table = Workload.read(path).jobs
    assert table["requires"].tolist() == ["ib", ""]
    assert table["exclusive"].tolist() == [True, False]
    assert table["reservation"].tolist() == ["course", ""]


def _batsim(**keys: object) -> dict[str, object]:
    first = {"id": "1", "subtime": 0, "walltime": 100, "res": 4, "profile": "p"}
    return {"nb_res": 4, "jobs": [first | keys, first | {"id": "2"}], "profiles": {"p": {"type": "delay", "delay": 10}}}


def test_batsim_files_carry_them(tmp_path: Path) -> None:
    """As keys of a job that Batsim leaves to its users."""
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(_batsim(**{key: values[0] for key, values in COLUMNS.items()})))
    table = Workload.read(path).jobs
    assert {key: table[key].tolist() for key in COLUMNS} == COLUMNS


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("exclusive", 2, "jobs[0].exclusive: expected true or false, found 2"),
        ("requires", ["ib"], "jobs[0].requires: expected text, found a list of 1"),
        ("deadline", "soon", "jobs[0].deadline: expected a number, found"),
    ],
)
@pytest.mark.parametrize("kind", ["batsim", "irmasim"])
def test_wrong_values_are_told(tmp_path: Path, kind: str, key: str, value: object, message: str) -> None:
    """File, job, key, and what was found."""
    document = _batsim(**{key: value})
    if kind == "irmasim":
        document = {"jobs": [{"subtime": 0, "res": 1, "req_ops": 5, key: value}]}
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError) as error:
        Workload.read(path)
    assert f"{path}: {message}" in str(error.value)


# ---------------------------------------------------------------------- files of advance reservations


def test_a_file_of_reservations(tmp_path: Path) -> None:
    """Nodes in all ways that there are, YAML and JSON alike."""
    document = {
        "reservations": [
            {"name": "down", "start": 10, "end": 20.5, "nodes": "all"},
            {"name": "course", "start": 30, "end": 40, "nodes": [0, "1-2", "lab.node3"]},
            {"name": "one", "start": 50, "end": 60, "nodes": 3},
        ]
    }
    path = tmp_path / "reservations.yaml"
    path.write_text(json.dumps(document))  # which is YAML, too
    read = read_reservations(str(path))
    assert [(r.name, r.start, r.end, r.nodes) for r in read] == [
        ("down", 10, 20.5, ("all",)),
        ("course", 30, 40, (0, "1-2", "lab.node3")),
        ("one", 50, 60, (3,)),
    ]
    windows = [r.on(machine((4, 1, ""))).nodes.tolist() for r in read]
    assert windows == [[True] * 4, [True] * 4, [False, False, False, True]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("reservations: []\nx: 1\n", "found x"),
        ("- 1\n", "expected a mapping, found a list"),
        ("reservations:\n- {name: a, start: 0, end: 1}\n", "reservations[0]: expected key 'nodes'"),
        ("reservations:\n- {name: a, start: 0, end: 1, nodes: 0, node: 1}\n", "found node"),
        (
            "reservations:\n- {name: a, start: later, end: 1, nodes: 0}\n",
            "reservations[0].start: expected a valid number",
        ),
        (
            "reservations:\n- {name: a, start: 2, end: 1, nodes: 0}\n",
            "'a', end: expected a time after its start, 2 s, found 1",
        ),
    ],
)
def test_wrong_files_of_reservations(tmp_path: Path, text: str, message: str) -> None:
    """One line that names the file and the key."""
    path = tmp_path / "reservations.yaml"
    path.write_text(text)
    with pytest.raises(FormatError) as error:
        read_reservations(str(path))
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


def test_the_command_line_takes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an option, and as the key of a configuration, where names of files start beside it."""
    from click.testing import CliRunner

    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "down.yaml").write_text("reservations: [{name: down, start: 0, end: 30, nodes: all}]\n")
    jobs((0, 1, 5)).write(tmp_path / "study" / "jobs.csv")
    (tmp_path / "study" / "run.yaml").write_text(f"platform: {ONE}\nworkload: jobs.csv\nreservations: down.yaml\n")
    monkeypatch.chdir(tmp_path)
    words = f"run -p {ONE} -w study/jobs.csv --reservations study/down.yaml --out a"
    for command in (words, "run study/run.yaml --out a"):
        finished = CliRunner().invoke(main, command.split())
        assert finished.exit_code == 0, finished.output
        summary = json.loads((tmp_path / "a" / "summary.json").read_text())
        assert summary["mean_wait_s"] == 30
        assert "study/down.yaml" in summary["inputs"]
