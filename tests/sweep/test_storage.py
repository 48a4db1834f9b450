"""Rows in a folder: written at once, in parts, compacted; whatever is torn or twice is put right."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

from analysis.sweep import Grid, read_runs, sweep
from analysis.sweep import storage as storage_module
from analysis.sweep.manifest import held, read_manifest
from analysis.sweep.runs_table import read_sweep
from analysis.sweep.storage import Storage
from cluster_sim.cli import main
from cluster_sim.errors import FormatError, InputError, ModelWarning
from schedulers import Fcfs, schedulers

from .conftest import SMALL

if TYPE_CHECKING:
    from cluster_sim.run import View
    from cluster_sim.run.decisions import Decision

FACTORS = {"scheduler": ["fcfs"], "load": [0.5, 1.0]}


def row(cell: int, energy: float = 1.0, status: str = "done") -> dict[str, Any]:
    """A row with some of its columns."""
    return {"cell": cell, "replication": 0, "scheduler": "fcfs", "load": 0.5, "status": status, "energy_j": energy}


def test_rows_outlive_the_program_from_the_moment_they_are_given(tmp_path: Path) -> None:
    """Without any end: those of whole parts and those of the journal are found by whoever comes next."""
    storage = Storage(tmp_path, FACTORS, 9, part_rows=3)
    for cell in (4, 0, 7, 2, 8):
        storage.append(row(cell, energy=cell / 3))
    assert read_runs(tmp_path, ["cell", "energy_j"])["energy_j"].tolist() == [c / 3 for c in (0, 2, 4, 7, 8)]
    after = Storage(tmp_path, FACTORS, 9, part_rows=3)
    assert np.flatnonzero(after.state).tolist() == [0, 2, 4, 7, 8]
    assert [path.name for path in sorted((tmp_path / "parts").iterdir())] == [
        "part-00001.parquet",
        "part-00002.parquet",
    ]


def test_a_journal_that_has_become_a_part_counts_once(tmp_path: Path) -> None:
    """Killed between the part's writing and the journal's removal, and in the middle of a part's writing."""
    storage = Storage(tmp_path, FACTORS, 4, part_rows=99)
    storage.append(row(1))
    journal = (tmp_path / "parts" / "part-00001.jsonl").read_bytes()
    storage.flush()
    (tmp_path / "parts" / "part-00001.jsonl").write_bytes(journal)
    (tmp_path / "parts" / ".0123456789ab.part-00002.parquet").write_bytes(b"PAR1")
    assert len(read_runs(tmp_path)) == 1
    Storage(tmp_path, FACTORS, 4)
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["part-00001.parquet"]


def test_the_last_attempt_counts(tmp_path: Path) -> None:
    """A cell that failed and was run again is one row, done; also when all is one file, in the order of the cells."""
    storage = Storage(tmp_path, FACTORS, 3, part_rows=2)
    for each in (row(2, 5.0, "failed"), row(1), row(2, 6.0), row(0)):
        storage.append(each)
    assert storage.state.tolist() == [1, 1, 1]
    for _ in range(2):
        runs = read_runs(tmp_path)
        assert runs[["cell", "status"]].values.tolist() == [[0, "done"], [1, "done"], [2, "done"]]
        assert runs["energy_j"].tolist() == [1.0, 1.0, 6.0]
        storage.compact()
    assert not (tmp_path / "parts").exists()


def test_rows_are_read_while_files_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that were found are gone when they are read: they are looked for again."""
    storage = Storage(tmp_path, FACTORS, 3, part_rows=2)
    for cell in range(3):
        storage.append(row(cell))
    found = storage_module._files

    def and_then_compact(folder: Path) -> list[Path]:
        files = found(folder)
        monkeypatch.setattr(storage_module, "_files", found)
        storage.compact()
        return files

    monkeypatch.setattr(storage_module, "_files", and_then_compact)
    assert read_runs(tmp_path)["cell"].tolist() == [0, 1, 2]
    assert not (tmp_path / "parts").exists()


def test_a_folder_without_rows(tmp_path: Path) -> None:
    """Told in one line; so is a file that is no Parquet."""
    with pytest.raises(FormatError, match="expected the results of a sweep, found no such folder"):
        read_runs(tmp_path / "none")
    (tmp_path / "runs.parquet").write_bytes(b"no rows")
    with pytest.raises(FormatError, match=r"runs\.parquet: expected rows of a sweep"):
        Storage(tmp_path, FACTORS, 3)


def test_another_sweep_is_refused(tmp_path: Path) -> None:
    """Another configuration, other inputs or fewer replications, each in one line; more replications are welcome."""
    sweep(Grid.of(SMALL), tmp_path, workers=1)

    def refused(document: dict[str, Any], resume: bool = True) -> str:
        with pytest.raises(InputError) as caught:
            sweep(Grid.of(document), tmp_path, workers=1, resume=resume)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "a folder without a sweep in it, or --resume" in refused(SMALL, resume=False)
    other = SMALL["factors"] | {"scheduler": ["fcfs", "sjf"]}
    assert 'factors.scheduler: expected ["fcfs", "easy"], as in the sweep there' in refused(SMALL | {"factors": other})
    assert "seed: expected 0, as in the sweep there, found 1" in refused(SMALL | {"seed": 1})
    assert "replications: expected at least 3" in refused(SMALL | {"replications": 2})
    with held(tmp_path):
        assert "a folder that no other sweep writes to" in refused(SMALL)
    more = sweep(Grid.of(SMALL | {"replications": 4}), tmp_path, workers=1, resume=True)
    assert (more.ran, more.done, read_manifest(tmp_path)["done"]) == (2, 8, 8)
    again = sweep(Grid.of(SMALL | {"replications": 4}), tmp_path, workers=1, resume=True)
    assert (again.ran, again.done) == (0, 8)


def test_other_libraries_are_told(tmp_path: Path) -> None:
    """A sweep that goes on with another numpy says so, and its manifest keeps with what it was begun."""
    sweep(Grid.of(SMALL), tmp_path, workers=1)
    manifest = tmp_path / "manifest.json"
    begun = read_manifest(tmp_path)
    manifest.write_text(json.dumps(begun | {"made_with": begun["made_with"] | {"numpy": "1.0"}}))
    with pytest.warns(ModelWarning, match=f"begun with numpy 1.0 and goes on with {np.__version__}: runs may differ"):
        sweep(Grid.of(SMALL), tmp_path, workers=1, resume=True)
    assert read_manifest(tmp_path)["made_with"]["numpy"] == "1.0"


def test_a_scheduler_s_file_that_has_changed_is_refused(tmp_path: Path) -> None:
    """What a spec names, Python or a configuration, is an input of the sweep."""
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\nPriorityType=priority/multifactor\n"
    )
    factors = SMALL["factors"] | {"scheduler": ["easy:order=multifactor:conf=slurm.conf"]}
    grid = Grid.of(SMALL | {"factors": factors}, tmp_path)
    sweep(grid, tmp_path / "out", workers=1)
    assert str(conf) in read_manifest(tmp_path / "out")["inputs"]
    conf.write_text(conf.read_text() + "PriorityWeightAge=1000\n")
    with pytest.raises(InputError, match=r"inputs: expected the file .*slurm\.conf with which the sweep there began"):
        sweep(grid, tmp_path / "out", workers=1, resume=True)


def test_the_checksums_of_inputs_are_those_of_other_programs(tmp_path: Path) -> None:
    """What ``sha256sum`` prints for the file as it lies there, packed, and what the ``summary.json`` of a run has."""
    log = tmp_path / "log.csv.gz"
    log.write_bytes(gzip.compress(b"submit_time,requested_cores,recorded_run_time\n0,1,10\n"))
    expected = {str(log): hashlib.sha256(log.read_bytes()).hexdigest()}
    sweep(Grid.of(SMALL | {"factors": SMALL["factors"] | {"workload": str(log)}}), tmp_path / "out", workers=1)
    assert read_manifest(tmp_path / "out")["inputs"] == expected
    words = ["run", "--platform", SMALL["factors"]["platform"], "--workload", str(log), "--out", str(tmp_path / "run")]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["inputs"] == expected


def test_inputs_that_have_changed_are_refused(tmp_path: Path) -> None:
    """A log is not what it was when the sweep began."""
    line = "1 0 -1 {} 1 -1 -1 1 100 -1 1 1 1 1 1 1 -1 -1\n"
    (tmp_path / "log.swf").write_text("; MaxProcs: 2\n" + line.format(5))
    grid = Grid.of({"factors": {"workload": "log.swf"}}, tmp_path)
    assert sweep(grid, tmp_path / "out", workers=1).runs()["makespan_s"].tolist() == [5.0]
    (tmp_path / "log.swf").write_text("; MaxProcs: 2\n" + line.format(6))
    with pytest.raises(InputError, match=r"inputs: expected the file .*log\.swf with which the sweep there began"):
        sweep(grid, tmp_path / "out", workers=1, resume=True)
    # Nor does this process play what it has read before.
    assert sweep(grid, tmp_path / "new", workers=1).runs()["makespan_s"].tolist() == [6.0]
    assert sweep(grid, workers=1).runs()["makespan_s"].tolist() == [6.0]
    for name in ("manifest.json", "runs.parquet"):
        (tmp_path / "new" / name).unlink()
    with pytest.raises(InputError, match="a folder without results"):  # its columns may be another log's
        sweep(grid, tmp_path / "new", workers=1)


@pytest.fixture
def breaking() -> Iterator[dict[str, bool]]:
    """A scheduler ``breaks`` that fails in the run, as long as the switch is on."""
    switch = {"on": True}

    @schedulers.register("breaks")
    class Breaks(Fcfs):
        def schedule(self, view: View) -> Iterable[Decision]:
            if switch["on"]:
                raise ZeroDivisionError("of no use")
            return super().schedule(view)

    yield switch
    schedulers._factories.pop("breaks")


def test_a_failing_run_is_a_row_with_its_traceback(tmp_path: Path, breaking: dict[str, bool]) -> None:
    """It is not fatal to the others; the command says how many failed and where that stands, its status that some did; --resume
    tries them again."""
    (tmp_path / "grid.yaml").write_text(
        "factors: {platform: 'homogeneous:nodes=4,cores=2', workload: 'lublin:jobs=10,nodes=8', scheduler: [breaks, fcfs]}\n"
        "replications: 2\n"
    )
    command = ["sweep", str(tmp_path / "grid.yaml"), "--out", str(tmp_path / "out"), "--workers", "1"]
    first = CliRunner().invoke(main, command)
    assert first.exit_code == 1, first.output
    assert "2 of 4 runs done (4 now)" in first.stdout
    assert "warning: 2 runs failed, the first with: ZeroDivisionError: of no use" in first.stderr
    assert "runs.parquet; --resume tries these runs again" in first.stderr
    failed = read_sweep(tmp_path / "out", failed=True)
    assert failed["status"].tolist() == ["failed", "done"] * 2
    assert failed["error"][0].startswith("Traceback (most recent call last):")
    assert len(read_sweep(tmp_path / "out")) == 2
    breaking["on"] = False
    again = CliRunner().invoke(main, [*command, "--resume"])
    assert again.exit_code == 0, again.output
    assert "4 of 4 runs done (2 now)" in again.stdout
    assert "failed" not in again.stderr
    runs = read_sweep(tmp_path / "out")
    assert runs["energy_j"][0] == runs["energy_j"][1]  # it was fcfs all along


def test_a_policy_that_fails_as_a_run_begins_fails_its_runs_alone(tmp_path: Path) -> None:
    """An error of a user's policy, not a refusal: rows with its traceback, and the others are there."""
    (tmp_path / "own.py").write_text(
        "from schedulers import Fcfs\n\n\nclass Own(Fcfs):\n    def begin(self, view):\n        1 / 0\n"
    )
    grid = Grid.of({"factors": SMALL["factors"] | {"scheduler": ["fcfs", f"{tmp_path / 'own.py'}:Own"]}})
    outcome = sweep(grid, tmp_path / "out", workers=1)
    assert outcome.runs()["status"].tolist() == ["done", "failed"]
    assert outcome.failures()["error"].str.contains("ZeroDivisionError").all()


def test_what_is_wrong_is_found_before_anything_runs(tmp_path: Path) -> None:
    """Any value of any factor; and the folder stays as it was."""
    for factor, value, line in (
        ("scheduler", ["fcfs", "fastest"], "scheduler: expected one of"),
        ("power_policy", ["always-on", "timeout:x"], "expected seconds"),
        ("power_policy", ["always-on", "power-cap:1"], "power cap: expected at least the"),
        ("platform", ["homogeneous:nodes=2,cores=1", "lab.json"], "lab.json"),
        ("contention_model", ["none", "some"], "contention model: expected one of"),
        ("quirks", [[], ["odd"]], "odd"),
        ("workload", "lublin:jobs=x", "expected a whole number"),
        ("workload", "lublin:jobs=5,nodes=8,seed=x", "expected a seed, a whole number from 0 on, found x"),
    ):
        grid = Grid.of({"factors": SMALL["factors"] | {factor: value}})
        with pytest.raises(InputError) as refused:
            sweep(grid, tmp_path / "out", workers=1)
        assert line in str(refused.value)
    assert not (tmp_path / "out").exists()
