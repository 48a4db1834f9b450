"""The framework on a made-up paper: verdicts, files, interruption and resuming, missing inputs."""

from __future__ import annotations

import csv
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
from click.testing import CliRunner

import analysis.reproduce
from analysis.reproduce import inputs as digests
from analysis.reproduce import runner
from analysis.reproduce.inputs import VARIABLE, inputs_folder
from analysis.reproduce.outcome import save, text
from analysis.reproduce.paper import ComputedPart, ReproductionSetting
from analysis.reproduce.runner import Reproduction, reproduce
from cluster_sim.cli import main
from cluster_sim.errors import InputError
from tests.support.made_up import NASTY, from_input, make

VERDICTS = ["reproduced", "not reproduced", "reproduced", "reproduced", "reproduced", "not reproducible"]


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with the paper's one input."""
    folder = tmp_path / "inputs"
    folder.mkdir()
    (folder / "number.txt").write_text("7")
    return folder


def run(tmp_path: Path, inputs: Path, quick: bool = False, fails: Path | None = None) -> Reproduction:
    """The made-up paper, in this process."""
    return reproduce(make(tmp_path / "log", fails), ReproductionSetting(quick, inputs), tmp_path / "out", workers=1)


def verdicts(found: Reproduction) -> list[str]:
    """Of all claims, in order."""
    return [judged.verdict.value for judged in found.judged]


def test_every_claim_gets_a_verdict(tmp_path: Path, inputs: Path) -> None:
    """Two squared, three squared (published wrongly), four squared, a statement, an input, and what nobody can check."""
    found = run(tmp_path, inputs)
    assert verdicts(found) == VERDICTS
    assert [judged.measured for judged in found.judged] == [4.0, 9.0, 16.0, True, 7.0, None]
    assert found.judged[1].difference == 1.0
    assert found.cost["runs"] == 4


def test_quick_leaves_out_and_says_so(tmp_path: Path, inputs: Path) -> None:
    """What is left out is not run, with the reason."""
    found = run(tmp_path, inputs, quick=True)
    assert found.judged[2].verdict.value == "not run"
    assert found.judged[2].why == "four is left out with --quick"


def test_an_interrupted_reproduction_goes_on(tmp_path: Path, inputs: Path) -> None:
    """What was finished is kept and not computed again; the rest is."""
    fails = tmp_path / "fails"
    fails.touch()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, inputs, fails=fails)
    assert len((tmp_path / "log").read_text().splitlines()) == 2
    fails.unlink()
    found = run(tmp_path, inputs, fails=fails)
    assert verdicts(found) == VERDICTS
    assert [line.split()[0] for line in (tmp_path / "log").read_text().splitlines()] == ["2", "3", "4"]
    assert (found.cost["parts"], found.cost["kept_parts"]) == (4, 2)


def test_chosen_parts_alone(tmp_path: Path, inputs: Path) -> None:
    """Parts whose name has the text are computed, and their claims shown; a text in no name is an error that lists them."""
    paper, out = make(tmp_path / "log"), tmp_path / "out"
    found = reproduce(paper, ReproductionSetting(False, inputs, parts="square 4"), out, workers=1)
    assert [line.split()[0] for line in (tmp_path / "log").read_text().splitlines()] == ["4"]
    whole = run(tmp_path, inputs)
    assert found.judged
    assert {one.claim.key for one in found.judged} < {one.claim.key for one in whole.judged}
    with pytest.raises(InputError, match=r"expected text in the name of one of square 2, .*, found cube"):
        reproduce(paper, ReproductionSetting(False, inputs, parts="cube"), out, workers=1)


def test_a_part_of_another_input_or_a_broken_one_is_computed_again(tmp_path: Path, inputs: Path) -> None:
    """A changed input changes the result; a part file that is no JSON is as good as none."""
    run(tmp_path, inputs)
    (inputs / "number.txt").write_text("8")
    (tmp_path / "out" / "parts" / "square-2.json").write_text('{"key": ')
    found = run(tmp_path, inputs)
    assert found.judged[4].measured == 8.0
    assert found.cost["kept_parts"] == 2


def test_parts_of_other_code_are_computed_again(tmp_path: Path, inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the simulator makes what is finished stale; how much was kept is told each time."""
    told: list[str] = []
    for digest in ("before", "before", "after"):
        monkeypatch.setattr(runner, "code", lambda digest=digest: digest)
        reproduce(
            make(tmp_path / "log"), ReproductionSetting(False, inputs), tmp_path / "out", workers=1, tell=told.append
        )
    assert [line[:14] for line in told if "are kept" in line] == ["0 of 4 parts a", "4 of 4 parts a", "0 of 4 parts a"]


def test_the_code_is_that_of_the_simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another text, or another name, of a module below one of the packages is other code."""
    package = tmp_path / "made_up_package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(digests, "CODE", ("made_up_package",))
    digest = runner.code.__wrapped__
    found = [digest()]
    (package / "inner" / "a.py").write_text("x = 1")
    found.append(digest())
    (package / "inner" / "a.py").write_text("x = 2")
    found.append(digest())
    (package / "inner" / "a.py").rename(package / "inner" / "b.py")
    found.append(digest())
    assert len(set(found)) == 4
    assert digest() == found[-1]


def test_all_goes_on_without_the_papers_that_lack_inputs(
    tmp_path: Path, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first paper has no inputs, the second is reproduced: status 0. With none reproduced it is 2."""
    needy = [ComputedPart("gone", from_input, {"name": "gone.txt"}, ("gone.txt",), ("input",))]
    papers = {"needy": replace(make(tmp_path / "log"), name="needy", parts=lambda setting: needy)}
    monkeypatch.setattr(analysis.reproduce, "paper_of", lambda name: papers[name])
    monkeypatch.setattr(analysis.reproduce, "MODULES", papers)
    words = ["reproduce", "all", "--workers", "1", "--inputs", str(inputs), "--out", str(tmp_path / "out")]
    none = CliRunner().invoke(main, words)
    assert none.exit_code == 2
    assert "expected the inputs of one paper at least" in none.stderr
    papers["made-up"] = make(tmp_path / "log")
    one = CliRunner().invoke(main, words)
    assert one.exit_code == 0, one.output
    assert "the paper's inputs, found no gone.txt" in one.stderr
    assert (tmp_path / "out" / "made-up" / "report.html").exists()


def test_missing_inputs_are_named_in_one_line(tmp_path: Path, inputs: Path) -> None:
    """The rest is done; the claims that need them are not run, and say which."""
    (inputs / "number.txt").unlink()
    told: list[str] = []
    found = reproduce(
        make(tmp_path / "log"), ReproductionSetting(False, inputs), tmp_path / "out", workers=1, tell=told.append
    )
    assert found.judged[4].why == "input missing: number.txt"
    assert verdicts(found)[4] == "not run"
    assert told[0] == f"left out, for want of inputs in {inputs}: number.txt"


def test_processes_find_the_same(tmp_path: Path, inputs: Path) -> None:
    """Two processes compute what one does."""
    with ProcessPoolExecutor(2, get_context("fork")) as pool:
        found = reproduce(make(tmp_path / "log"), ReproductionSetting(False, inputs), tmp_path / "out", executor=pool)
    assert verdicts(found) == VERDICTS
    assert len({line.split()[1] for line in (tmp_path / "log").read_text().splitlines()}) >= 1


def test_the_files(tmp_path: Path, inputs: Path) -> None:
    """A table, a document with what it cost, Markdown, and a page in which every foreign text is escaped."""
    found = run(tmp_path, inputs)
    out = tmp_path / "out"
    report = save(found, out, {"command": f"cluster-sim reproduce {NASTY}", "quick": True}).read_text()
    with (out / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == VERDICTS
    assert rows[0]["published"] == "4.0"
    assert rows[0]["source"] == "Table 1"
    document = json.loads((out / "results.json").read_text())
    assert document["verdicts"] == {
        "the paper's numbers and statements": {"reproduced": 4, "not reproduced": 1, "not reproducible": 1}
    }
    assert document["cost"]["runs"] == 4
    assert document["values"]["square/2"] == 4.0
    assert "<script>alert" not in report
    assert "&lt;script&gt;alert" in report
    assert "Quick: four is left out." in report
    assert "https://" not in report.partition("plotly.js v")[0]
    assert (
        "| three squared | 8 | 9 | +1 | m² | ± 0.5 |  | not reproduced | three is odd | Table 1 |"
        in (out / "results.md").read_text()
    )
    assert "the paper's numbers and statements: 4 reproduced, 1 not reproduced, 1 not reproducible" in text(found)


def test_where_inputs_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As given, else as the environment says, else beside the working directory; a named one has to be there."""
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert inputs_folder() == tmp_path / "shared"
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert inputs_folder() == tmp_path
    assert inputs_folder(tmp_path / "here") == tmp_path / "here"
    with pytest.raises(InputError, match="--inputs: expected a folder"):
        inputs_folder(tmp_path / "nowhere")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=f"{VARIABLE}: expected a folder"):
        inputs_folder()
