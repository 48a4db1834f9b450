"""``python -m tests.oracle record | compare | tables``: see :func:`main`."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pandas as pd

from .cases import all_cases, has_shared
from .digests import Kept, differences, keep
from .recorded import RECORDED, arithmetic, read_recorded, write_recorded
from .runs import AnyCase, chosen, tables


def digests_of(case: AnyCase) -> tuple[str, Kept]:
    """A case's name and what is kept of it."""
    return case.name, keep(tables(case))


def main() -> int:
    """Record what all runs leave; compare what they leave now with that; or write the tables of some, to look into them."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=main.__doc__)
    parser.add_argument("command", choices=("record", "compare", "tables"))
    parser.add_argument(
        "--only", default="", metavar="PATTERN", help="cases in whose name this regular expression is found"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at a time")
    parser.add_argument("--rounding", action="store_true", help="joules and watts may differ by rounding (1e-12)")
    parser.add_argument("--out", type=Path, default=Path("oracle-tables"), help="tables: the folder for them, as CSV")
    arguments = parser.parse_args()
    cases = all_cases()
    wanted = list(chosen(cases, arguments.only, has_shared()))
    if not has_shared():
        print(f"{sum(case.needs_shared for case in cases)} cases are left out: ../shared is not there", file=sys.stderr)
    if arguments.command == "tables":
        return _write_tables(wanted, arguments.out)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        found = dict(pool.map(digests_of, wanted, chunksize=8))
    if arguments.command == "record":
        # What was not run stays as it was; what is no case any more goes.
        names = {case.name for case in cases}
        kept = (
            {name: value for name, value in read_recorded().runs.items() if name in names} if RECORDED.exists() else {}
        )
        write_recorded({**kept, **found})
        print(f"{len(found)} cases recorded in {RECORDED.name}, {RECORDED.stat().st_size / 1e6:.2f} MB")
        return 0
    return _compare(found, arguments.rounding)


def _compare(found: dict[str, Kept], rounding: bool) -> int:
    recorded = read_recorded()
    if recorded.arithmetic != arithmetic():
        print(f"recorded with other arithmetic ({recorded.arithmetic}): last digits may differ", file=sys.stderr)
    wrong = cases = 0
    for name, kept in found.items():
        if name not in recorded.runs:
            print(f"{name}: not recorded")
            wrong, cases = wrong + 1, cases + 1
            continue
        all_differences = [d for d in differences(name, recorded.runs[name], kept) if not (rounding and d.is_rounding)]
        print(*all_differences, sep="\n", end="\n" if all_differences else "")
        wrong, cases = wrong + len(all_differences), cases + bool(all_differences)
    print(f"{len(found)} cases compared: {wrong} differences in {cases} cases")
    return 1 if wrong else 0


def _write_tables(cases: list[AnyCase], folder: Path) -> int:
    for case in cases:
        target = folder / "".join(c if c.isalnum() or c in "-_.=" else "_" for c in case.name)
        target.mkdir(parents=True, exist_ok=True)
        for name, table in tables(case).items():
            columns = {column: pd.Series(table[column]) for column in table}
            pd.DataFrame(columns).to_csv(target / f"{name}.csv", index=False)
        print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
