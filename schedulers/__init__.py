"""Who runs next and where; when nodes sleep."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

for _name in __all__:
    __getattr__(_name)  # now, not later: what a module has to offer is registered when it is loaded
