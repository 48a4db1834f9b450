"""Who runs next and where; when nodes sleep."""

from cluster_sim.packages import offered

__getattr__, __dir__, __all__ = offered(__name__, __file__)

for _name in __all__:
    __getattr__(_name)  # now, not later: what a module has to offer is registered when it is loaded
