"""Tables, figures and reports of finished runs.

The names below load their module, and with it plotly, when they are first used: ``import analysis`` alone is cheap,
and the text tables never need plotly.
"""

from cluster_sim.packages import offered

__getattr__, __dir__, __all__ = offered(__name__, __file__)
