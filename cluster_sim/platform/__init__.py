"""The hardware as it is described: nodes, processors, cores, what they draw, and a library of machines."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
