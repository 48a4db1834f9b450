"""Simulate how jobs are scheduled on heterogeneous clusters: time, memory contention, power, nodes that sleep.

Everything a script needs is here by name, and loaded when it is first touched::

    import cluster_sim as cs

    result = cs.Simulation(cs.Platform.homogeneous(64, 16), cs.Workload.read("log.swf"), cs.make_scheduler("fcfs")).run()
    cs.gantt(result).show()
"""

from cluster_sim.packages import offered

__getattr__, __dir__, __all__ = offered(__name__, __file__)
__version__ = "0.2.0"
