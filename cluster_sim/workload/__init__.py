"""The jobs: their columns, what can be done to them before a run, and where they come from."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
