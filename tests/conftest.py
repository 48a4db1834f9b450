"""What all tests share: the way to the cases of other programs, and the settings of random tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

# The same examples in every run, and no limit on the time of one: a slow machine is no failure.
settings.register_profile(
    "project",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("project")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of logs and of other programs' results beside the repository; tests that need it skip without it."""
    folder = Path(__file__).resolve().parents[1].parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared, with logs and other programs' results, is not there")
    return folder
