"""Kernels for the notebooks of the site: forks of one process that has imported what they need, which takes seconds each time.

``begin`` starts that process and writes a kernel ``python3`` that Jupyter finds before its own. What Jupyter starts then is
this file with the word ``kernel``: it asks the process for a fork, and lives as long as that. Where a system has no forks,
Jupyter's own kernels do it.
"""

from __future__ import annotations

import json
import os
import socket
import sys

IMPORTED = (
    "ipykernel.kernelapp", "networkx", "analysis.gantt_chart.runs_chart", "analysis.lessons.answers.lesson14",
    "cluster_sim.records.result", "cluster_sim.run.simulation", "learning.training.training",
)  # fmt: skip


def begin() -> None:
    """Start the process that forks, to end with this one."""
    import atexit
    import shutil
    import subprocess
    import tempfile
    from pathlib import Path

    if not hasattr(os, "fork"):
        return
    folder = Path(tempfile.mkdtemp())
    address = str(folder / "forks")
    spec = folder / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    argv = [sys.executable, "-P", "-S", __file__, "kernel", address, "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        number = listening.fileno()
        process = subprocess.Popen([sys.executable, "-P", __file__, "forks", str(number)], pass_fds=[number])
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("JUPYTER_PATH"))))
    here = os.getpid()

    def end() -> None:
        if os.getpid() == here:  # and not one of Sphinx's workers
            process.terminate()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)


def _forks(number: int) -> None:
    """Import once; then a fork for everyone who asks."""
    import importlib
    import signal

    for name in IMPORTED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, lambda *_: _ended())
    with socket.socket(fileno=number) as listening:
        while True:
            asked, _ = listening.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listening.close()
                _run(asked)
                os._exit(0)
            asked.close()


def _ended() -> None:
    """Let the forks go that have ended: their time counts as this process's."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass  # there is none


def _run(asked: socket.socket) -> None:
    """Be the kernel that was asked for: in its folder and environment, until it or the one that asked ends."""
    import threading

    from ipykernel.kernelapp import launch_new_instance

    wanted = json.loads(asked.makefile().readline())
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    threading.Thread(target=lambda: asked.recv(1) or os._exit(0), daemon=True).start()
    launch_new_instance(argv=[*wanted["options"], f"--IPKernelApp.parent_handle={os.getppid()}"])


def _kernel(address: str, options: list[str]) -> None:
    """Ask for a kernel, and wait for its end."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Jupyter's, when it shuts a kernel down
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(address)
        wanted = {"folder": os.getcwd(), "environment": dict(os.environ), "options": options}
        asking.sendall(json.dumps(wanted).encode() + b"\n")
        asking.recv(1)


if __name__ == "__main__":
    if sys.argv[1] == "forks":
        _forks(int(sys.argv[2]))
    else:
        _kernel(sys.argv[2], sys.argv[3:])
