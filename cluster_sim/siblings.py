"""The packages that stand beside this one, found by place and not by name.

Where a user works in a folder that has an ``analysis/`` or ``learning/`` of its own, ``import analysis`` takes that one:
the working directory often stands first on the path.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

_HOME = Path(__file__).resolve().parent.parent


def sibling(name: str) -> ModuleType:
    """Our module ``name``, such as ``analysis`` or ``schedulers.base``.

    Raises ImportError when another package of that name has been imported before.
    """
    package = name.partition(".")[0]
    home = _HOME / package
    if package not in sys.modules:
        spec = spec_from_file_location(package, home / "__init__.py", submodule_search_locations=[str(home)])
        if spec is None or spec.loader is None:
            raise ImportError(f"package {package!r} is not installed beside cluster_sim")
        module = sys.modules[package] = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[package]
            raise
    found = getattr(sys.modules[package], "__file__", None)
    if found is None or Path(found).resolve().parent != home:
        raise ImportError(f"another package named {package!r} was imported before: {found or 'a folder'}")
    return import_module(name)
