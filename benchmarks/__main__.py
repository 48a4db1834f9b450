"""The command: ``python -m benchmarks [NAME…] [--quick] [--repeat N] [--json FILE]``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from benchmarks.cases import BENCHMARKS, QUICK, Sizes
from benchmarks.measure import in_fresh_process
from benchmarks.profiling import profiles
from benchmarks.report import Row, circumstances, described, markdown

NAMES = (*BENCHMARKS, "profile")


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Small sizes and one run each: shows that they work, measures nothing.")
@click.option("--repeat", type=click.IntRange(1), default=5, show_default=True, help="Alternating runs of each case.")
@click.option(
    "--json", "file", type=click.Path(path_type=Path, dir_okay=False), help="Write every single run here too."
)
def main(names: tuple[str, ...], quick: bool, repeat: int, file: Path | None) -> None:
    """Measure the simulator against SimPy's own cheapest job; print a Markdown table, and a profile.

    NAMEs: fcfs, jobs, cores, contention, backfilling, large, power, passes, figures, profile; all of them by default.
    See benchmarks/README.md.
    """
    sizes, repeat = (QUICK, 1) if quick else (Sizes(), repeat)
    chosen = [name for name in NAMES if name in names or not names]
    rows: list[Row] = []
    for name in chosen:
        if name in BENCHMARKS:
            click.echo(f"{name} …", err=True)
            rows += in_fresh_process(BENCHMARKS[name], sizes, repeat)
    if rows:
        click.echo(f"Median of {repeat} alternating run{'s' * (repeat > 1)}, CPU time. {described(circumstances())}\n")
        click.echo(markdown(rows))
    found = in_fresh_process(profiles, sizes) if "profile" in chosen else []
    for profile in found:
        click.echo(f"\n{profile.text()}")
    if file is not None:
        content: dict[str, Any] = {"circumstances": circumstances(), "repeat": repeat, "sizes": asdict(sizes)}
        content["rows"] = [row.as_json() for row in rows]
        content["profiles"] = [asdict(profile) for profile in found]
        file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
