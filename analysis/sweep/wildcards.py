"""``list:*/*`` spelt out: every list scheduler whose orders fit the pattern."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import product

from cluster_sim.errors import SpecError
from cluster_sim.files.source import PLUS
from cluster_sim.registry import Spec
from schedulers import job_orders, node_orders


def schedulers_of(specs: Iterable[str]) -> list[str]:
    """Return the specs with each pattern ``list:JOB/NODE`` replaced by all schedulers that fit it, none twice.

    Options and a power policy behind it go to each: ``list:smallest/*,blocking=no + timeout:300``. Raises SpecError for a
    pattern that no order fits.
    """
    found: dict[str, None] = {}
    for text in specs:
        scheduler, plus, power = text.partition(PLUS)
        spec = Spec.parse(scheduler)
        pattern = spec.positional[0] if spec.positional else ""
        if spec.name != "list" or not set("*?") & set(pattern):
            found[text] = None
            continue
        jobs, slash, nodes = pattern.partition("/")
        rest = "".join(f",{key}={value}" for key, value in spec.options.items()) + plus + power
        pairs = product(_fitting(job_orders, jobs, text), _fitting(node_orders, nodes if slash else "*", text))
        found |= {f"list:{job}/{node}{rest}": None for job, node in pairs}
    return list(found)


def _fitting(orders: Iterable[str], pattern: str, text: str) -> list[str]:
    found = [name for name in orders if fnmatchcase(name, pattern)]
    if not found:
        raise SpecError(f"scheduler '{text}'", f"a pattern that fits some order ({', '.join(orders)})", pattern)
    return found
