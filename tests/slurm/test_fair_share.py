"""Fair Tree and the classic formula give every row that Slurm's own tests print."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from schedulers.slurm.priority.fair_share import FairShare, ShareTree, classic, fair_tree, norm_usage

DIGITS = 0.6e-6  # six decimals, as printed


def case(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], ShareTree, list[float]]:
    """Associations in and rows out, in one order; the tree, and the usage of each with all below it."""
    found = json.loads(path.read_text())
    rows = found["associations"]
    position = {row["id"]: i for i, row in enumerate(rows)}
    parents = [-1 if row["parent"] is None else position[row["parent"]] for row in rows]
    tree = ShareTree(
        parents,
        [None if row["shares"] == "parent" else row["shares"] for row in rows],
        [row["user"] is not None for row in rows],
    )
    usage = [row["usage"] if row["user"] else 0.0 for row in rows]
    for child in reversed(range(1, len(rows))):
        usage[parents[child]] += usage[child]
    return rows, found["expected"], tree, usage


def mismatches(
    rows: list[dict[str, Any]], expected: list[dict[str, Any]], share: FairShare, *columns: str
) -> Counter[str]:
    """How many expected values of each column are missed, and under ``rows`` how many rows were compared."""
    missed: Counter[str] = Counter()
    found = {(row["account"], row["user"]): i for i, row in enumerate(rows)}
    for row in expected:
        missed["rows"] += 1
        here = found[row["account"], row["user"]]
        for column, values in (
            ("norm_shares", share.norm_shares),
            ("effective_usage", share.effective_usage),
            ("fair_share", share.factor),
            ("level_fs", share.level_fs),
        ):
            told = math.nan if row.get(column) is None else float(row[column])
            value = float(values[here])
            same = math.isnan(told) and math.isnan(value) or told == value or abs(told - value) <= DIGITS
            missed[column] += column in columns and not same
    return missed


def test_fair_tree_gives_every_row_of_slurms_own_test(shared: Path) -> None:
    """35 rows: normalised shares, effective usage, fair share and level fair share, to six decimals."""
    rows, expected, tree, usage = case(shared / "cases" / "slurm" / "facts" / "fair-tree.json")
    found = mismatches(
        rows, expected, fair_tree(tree, usage), "norm_shares", "effective_usage", "fair_share", "level_fs"
    )
    assert found == Counter(rows=35, norm_shares=0, effective_usage=0, fair_share=0, level_fs=0)


def test_the_classic_formula_gives_every_row_of_slurms_own_test(shared: Path) -> None:
    """12 users: normalised shares, effective usage and fair share, to six decimals."""
    rows, expected, tree, usage = case(shared / "cases" / "slurm" / "facts" / "fair-share-classic.json")
    found = mismatches(rows, expected, classic(tree, norm_usage(usage)), "norm_shares", "effective_usage", "fair_share")
    assert found == Counter(rows=12, norm_shares=0, effective_usage=0, fair_share=0, level_fs=0)


def test_dampening_flattens_the_classic_factor() -> None:
    """Twice the dampening is the square root of the factor: 2^(-1/2) where 2^-1 was."""
    tree = ShareTree([-1, 0, 0], [0, 1, 1], [False, True, True])
    assert classic(tree, [1.0, 0.5, 0.5]).factor[1] == pytest.approx(0.5)
    assert classic(tree, [1.0, 0.5, 0.5], 2.0).factor[1] == pytest.approx(2**-0.5)


def test_equal_users_have_equal_ranks_in_fair_tree() -> None:
    """Nobody has used anything: all users of all accounts share the highest rank."""
    tree = ShareTree([-1, 0, 0, 1, 1, 2], [0, 1, 1, 5, 7, 3], [False, False, False, True, True, True])
    assert fair_tree(tree, [0.0] * 6).factor[3:].tolist() == [1.0, 1.0, 1.0]


def test_a_very_deep_tree_is_walked() -> None:
    """A chain of 5,000 accounts with one user at its end."""
    count = 5000
    tree = ShareTree([-1, *range(count)], [0, *[1] * count], [False] * count + [True])
    assert fair_tree(tree, [1.0] * (count + 1)).factor[-1] == 1.0
