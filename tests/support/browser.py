"""A headless Chromium, for tests of what a page's scripts do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from analysis.figures.pictures import browser


def browse(address: str, folder: Path, budget_ms: int = 10_000) -> str:
    """The page at an address after its scripts have run for so long of its clock; the test is skipped without a Chromium."""
    program = browser()
    if program is None:
        pytest.skip("needs a Chromium")
    command = [
        program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--virtual-time-budget={budget_ms}", "--dump-dom", address,
    ]  # fmt: skip
    for attempt in range(2):  # on a busy machine Chromium sometimes does not end
        profile = f"--user-data-dir={folder / f'profile{attempt}'}"
        try:
            return subprocess.run([*command, profile], capture_output=True, text=True, timeout=90, check=False).stdout
        except subprocess.TimeoutExpired:
            continue
    pytest.fail("Chromium did not end, twice")
