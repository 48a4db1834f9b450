"""One run: jobs on their way through it, who decides when, and what policies see."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
