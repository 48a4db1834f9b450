"""Worker processes: what becomes of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cluster_sim.errors import InputError
from learning.algorithms.workers import processes

PROGRAM = """
import os, sys, time
from learning.algorithms.workers import processes

if __name__ == "__main__":
    with processes(2, 2) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600).result()
"""


def test_workers_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    """After SIGKILL of the process that trains, none of its workers goes on with a task of ten minutes."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    parent = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 60.0
    while _runs(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(worker)


def _runs(pid: int) -> bool:
    """Whether there is such a process, and it is not one that has ended and waits to be collected."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    return "State:\tZ" not in status.read_text() if status.exists() else True


def test_a_worker_that_is_killed_ends_in_a_line() -> None:
    """As for want of memory: it is told, and the other processes are gone."""
    told = r"^processes: expected each to live to its end: .*, found one that was killed or did not come up$"
    with pytest.raises(InputError, match=told), processes(2, 2) as pool:
        assert pool is not None
        worker = pool.submit(os.getpid).result()
        waits = pool.submit(time.sleep, 600)
        os.kill(worker, signal.SIGKILL)
        waits.result()


def test_a_script_without_a_guard_is_told_what_it_lacks(tmp_path: Path) -> None:
    """Each of its processes begins it once more, and ends where it would start some of its own."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os\nfrom learning.algorithms.workers import processes\n"
        "with processes(2, 2) as pool:\n    print(pool.submit(os.getpid).result())\n"
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    told = ended.stderr.splitlines()[-1]
    assert told.startswith("cluster_sim.errors.InputError: processes: expected each to live to its end")
    assert "in a script, what starts them belongs under: if __name__ == '__main__', found one that" in told
