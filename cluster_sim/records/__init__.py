"""What a run leaves: tables, accounts, metrics, explanations; saved and loaded."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
