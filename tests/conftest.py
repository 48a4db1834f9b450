"""What all tests share: the way to the cases of other programs."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of logs and of other programs' results beside the repository; tests that need it skip without it."""
    folder = Path(__file__).resolve().parents[1].parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared, with logs and other programs' results, is not there")
    return folder
