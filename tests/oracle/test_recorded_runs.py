"""Runs leave what they left when they were recorded; and the comparison that says so finds the smallest difference."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from schedulers import job_orders, node_orders, power_policies, schedulers

from .cases import all_cases, core_cases, has_shared
from .digests import Kept, differences, keep
from .recorded import Recorded, arithmetic, read_recorded
from .runs import AnyCase, Case, chosen, tables

ROOT = Path(__file__).resolve().parents[2]
QUICK = 12  #: Of so many cases one is tried in the ordinary tests,
SLOW = 6  #: of so many of the others in the slow ones,
PARTS = 4  #: which are so many tests, for several processes.
OF_SETS = {"in-a-row", "fewest-switches", "one-switch-or-all", "group-packing"}
OF_GPUS = {"best-fit", "clustering", "dot-product", "fgd", "packing"}
GPU_QUEUES = {"las", "preemptive-list"}
NEEDS_A_FILE = {"learned", "slurm", "multifactor"}  #: An agent, a slurm.conf: checked where these are.


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    """What was recorded, where the last digits can be the same."""
    found = read_recorded()
    if found.arithmetic != arithmetic():
        pytest.skip(f"recorded with {found.arithmetic}, here is {arithmetic()}: last digits may differ")
    return found


def compare(cases: list[AnyCase], recorded: Recorded) -> list[str]:
    """What differs, but for joules and watts by rounding."""
    found = [d for case in cases for d in differences(case.name, recorded.runs[case.name], keep(tables(case)))]
    return [str(difference) for difference in found if not difference.is_rounding]


def test_a_sample_of_the_runs_is_as_recorded(recorded: Recorded) -> None:
    """Every twelfth case leaves the recorded tables; `python -m tests.oracle compare` tries them all."""
    assert compare(core_cases()[::QUICK], recorded) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_sixth_run_is_as_recorded(recorded: Recorded, part: int) -> None:
    """A sixth of the other cases too, with those of ../shared if it is there."""
    sampled = {case.name for case in core_cases()[::QUICK]}
    rest = [case for case in all_cases() if case.name not in sampled and (has_shared() or not case.needs_shared)]
    assert compare(rest[::SLOW][part::PARTS], recorded) == []


def test_every_case_is_recorded_once_by_its_own_name() -> None:
    """There are more than 400 without ../shared; no name stands twice, none is missing in the record, and none left over."""
    names = [case.name for case in all_cases()]
    assert len(set(names)) == len(names)
    assert set(names) == set(read_recorded().runs)
    assert len(core_cases()) >= 400


def test_everything_registered_is_run() -> None:
    """Every scheduler, power policy and order is in some case; only what needs a trained agent or a slurm.conf is not.

    Nor are what ``tests/conformance`` holds against others: node orders that choose sets of nodes (``test_node_choice.py``),
    those for GPUs (``test_openb.py``), and GPU queues (``test_tiresias.py``). Nor is
    ``powers``, to which ``saf`` and ``sjf`` belong, nor ``search``: ``tests/optimum`` holds it against the optimum.
    """
    cases = [case for case in core_cases() if isinstance(case, Case)]
    assert {case.scheduler.partition(":")[0] for case in cases} == {*schedulers} - NEEDS_A_FILE - GPU_QUEUES - {
        "search"
    }
    assert {case.power.partition(":")[0] for case in cases} - {""} == {*power_policies} - NEEDS_A_FILE
    pairs = [case.scheduler[5:].split(",")[0].split("/") for case in cases if case.scheduler.startswith("list:")]
    assert {pair[0] for pair in pairs} == {*job_orders} - NEEDS_A_FILE - {"powers"}
    assert {pair[1] for pair in pairs} == {*node_orders} - OF_SETS - OF_GPUS


def test_another_process_with_other_hashes_leaves_the_same() -> None:
    """What is kept does not depend on the hash seed, nor on what was run before."""
    only = r"^(setting/waiting 30 (conservative|list:random)|disturbed/everything fcfs|environments/PolicySelection)"
    program = "import sys; from tests.oracle.runs import *; from tests.oracle.cases import *; from tests.oracle.digests import *"
    program += "; print([keep(tables(case)) for case in chosen(core_cases(), sys.argv[1], False)])"
    here = str([keep(tables(case)) for case in chosen(core_cases(), only, False)])
    environment = os.environ | {"PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}
    command = [sys.executable, "-c", program, only]
    there = subprocess.run(command, check=True, env=environment, cwd=ROOT, capture_output=True, text=True).stdout
    assert here.count("'summary'") > 5
    assert there == f"{here}\n"


# ---------------------------------------------------------------------- the comparison itself


def example() -> dict[str, Any]:
    """The tables of a run that has everything to be changed."""
    case = next(case for case in core_cases() if case.name == "setting/sleepy 30 easy timeout:2")
    return tables(case)


def changed(tables: dict[str, Any], table: str, column: str, change: Callable[[Any], Any], row: int = 3) -> Kept:
    """What is kept when one cell is another."""
    frame = pd.DataFrame(tables[table]).copy()
    frame[column] = [change(value) if i == row % len(frame) else value for i, value in enumerate(frame[column])]
    return keep({**tables, table: frame})


@pytest.mark.parametrize(
    ("table", "column", "change", "expected"),
    [
        ("jobs", "start_time", lambda t: np.nextafter(t, np.inf), "other values"),
        ("jobs", "state", lambda text: "finished", "other values"),
        ("jobs", "energy_j", lambda joules: joules * (1 + 1e-9), "beyond 1e-12"),
        ("jobs", "energy_j", lambda joules: joules * (1 + 2e-14), "(within 1e-12)"),
        ("allocations", "first_core", lambda core: core + 1, "other values"),
        ("node_states", "end", lambda t: np.nextafter(t, 0.0), "other values"),
        ("power", "watts", lambda watts: watts + 0.5, "beyond 1e-12"),
        ("summary", "mean_wait_s", lambda t: t + 1.0, "recorded"),
        ("summary", "energy_j", lambda joules: joules * (1 + 1e-10), "differs by 1.0e-10, beyond"),
        ("summary", "jobs_completed", lambda jobs: jobs + 1, "recorded"),
    ],
)
def test_a_changed_cell_is_named(table: str, column: str, change: Callable[[Any], Any], expected: str) -> None:
    """The last digit of a time, a core, a word, a joule: the difference names the column, and joules say how much."""
    made = example()
    found = list(differences("case", keep(made), changed(made, table, column, change)))
    assert [difference.where for difference in found] == [f"{table}.{column}"]
    assert expected in str(found[0])
    assert found[0].is_rounding == ("within" in expected)


def test_rows_that_change_places_are_found() -> None:
    """Two jobs that exchange their energies leave the sum as it is, but not the weighted one."""
    made = example()
    jobs = pd.DataFrame(made["jobs"]).copy()
    values = jobs["energy_j"].to_numpy().copy()
    one, other = np.argsort(values)[[-1, -2]]
    values[[one, other]] = values[[other, one]]
    assert values[one] != values[other]
    found = list(differences("case", keep(made), keep({**made, "jobs": jobs.assign(energy_j=values)})))
    assert [(d.where, d.is_rounding) for d in found] == [("jobs.energy_j", False)]


def test_what_is_new_is_no_difference_and_what_is_gone_is() -> None:
    """Columns and tables may come, but not go."""
    made = example()
    more = {**made, "jobs": pd.DataFrame(made["jobs"]).assign(attempts=1), "holds": {"owner": ["a"]}}
    assert list(differences("case", keep(made), keep(more))) == []
    gone = [difference.where for difference in differences("case", keep(more), keep(made))]
    assert gone == ["jobs.attempts", "holds"]


def test_a_run_that_ends_in_an_error_is_a_difference() -> None:
    """A run that fails where it did not leaves none of its tables, and says why."""
    made = example()
    broken = {"error": {"type": ["KeyError"], "text": [""]}, "warnings": {"text": []}}
    found = [str(difference) for difference in differences("case", keep(made), keep(broken))]
    assert "case: jobs: the table is gone" in found
    assert any("KeyError" in text for text in found)


def test_equal_values_of_other_forms_are_equal() -> None:
    """Which integers, which text, and the sign of nothing do not count; the kind of a column does."""
    first = {"t": {"a": np.array([1, 2], np.int32), "b": ["x", "y"], "c": [0.0, np.nan], "d": []}}
    second = {
        "t": {"a": [1, 2], "b": pd.Series(["x", "y"], dtype="string"), "c": [-0.0, -np.nan], "d": np.array([], object)}
    }
    assert keep(first) == keep(second)
    assert keep({"t": {"a": [1.0, 2.0]}}) != keep({"t": {"a": [1, 2]}})
