"""Textbook cases: small platforms and workloads whose schedules are published, or were worked out by hand.

::

    from cluster_sim import examples

    case = examples.case("graham-nine")
    case.run("list:first/first,blocking=no").summary()["makespan_s"]   # 12, as in Graham (1969)
    case.check()                                                       # [] : everything is as its source says

Each case is a YAML file in the folder ``cases``, with the keys of :class:`Case`.
"""

from cluster_sim.examples.textbook import Case, Expected, case, cases, names, table

__all__ = ["Case", "Expected", "case", "cases", "names", "table"]
