"""CPUs, sockets and threads of a node, worked out from what its NodeName line says, by the rules of Slurm 22.05."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cluster_sim.errors import counted

KEYS = ("CPUs", "Boards", "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore")


class Hardware(NamedTuple):
    """CPUs of a node, its sockets, and how many of its CPUs are threads of one core."""

    cpus: int
    sockets: int
    threads: int


def hardware_of(given: Mapping[str, int]) -> tuple[Hardware, list[str]]:
    """Return the hardware for the keys that are given, by :data:`KEYS`, and a sentence for each value that Slurm corrects.

    A number that is missing is 1, but for two. Sockets that are missing are ``Boards`` times ``SocketsPerBoard``, or else what
    ``CPUs`` need if these fill sockets exactly, or else one on each board. CPUs that are missing are all threads. ``Boards``
    count for nothing else. CPUs may be as many as sockets, cores or threads; others are corrected to all threads.
    """
    notes = [f"{key}=0: Slurm takes 1" for key, number in given.items() if not number]
    found = {key: max(number, 1) for key, number in given.items()}
    boards, cores, threads = (found.get(key, 1) for key in ("Boards", "CoresPerSocket", "ThreadsPerCore"))
    if "SocketsPerBoard" in found:
        sockets = boards * found["SocketsPerBoard"]
        if "Sockets" in found:
            notes.append("Sockets beside SocketsPerBoard: Slurm takes SocketsPerBoard")
    elif "Sockets" in found:
        sockets = found["Sockets"]
    elif "CPUs" in found and not found["CPUs"] % (cores * threads):
        sockets = found["CPUs"] // (cores * threads)
    else:
        sockets = boards
    all_cores = sockets * cores
    cpus = found.get("CPUs", all_cores * threads)
    if cpus not in (sockets, all_cores, all_cores * threads):
        has = f"{counted(sockets, 'socket')}, {counted(all_cores, 'core')} and {counted(all_cores * threads, 'thread')}"
        notes.append(f"CPUs={cpus} of nodes with {has}: Slurm takes all threads")
        cpus = all_cores * threads
    return Hardware(cpus, sockets, 1 if all_cores >= cpus else threads), notes
