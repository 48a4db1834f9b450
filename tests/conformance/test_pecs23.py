"""The malleable strategies of Posner, Hupfeld and Finnerty (PECS 2023): published figures, and single jobs.

All rows of three seeds are compared by ``python -m studies.malleable_study``; here are a few of each kind.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from studies import malleable_study as study


@pytest.mark.parametrize(
    ("seed", "percent", "strategy"),
    [
        ("S0", 0, "rigid_backfill"),
        ("S0", 0, "rigid_easy_backfill"),
        ("S1", 20, "min_agreement"),
        ("S1", 20, "pref_steal_agreement"),
        ("S1", 20, "average_common_pool"),
    ],
)
def test_a_published_row_and_its_jobs(shared: Path, seed: str, percent: int, strategy: str) -> None:
    """Every figure is the published one; every job starts, ends and changes its size as in the reference."""
    folder = shared / "cases/pecs23"
    result, scheduler = study.run(study.workload(folder, seed, percent), strategy)
    ours = study.figures(result, scheduler)
    assert study.differences(ours, study.published(folder, seed, percent, strategy)) == []
    assert study.jobs_that_differ(result, folder / "expected" / f"{seed}-{percent}-{strategy}.csv.gz") == []
