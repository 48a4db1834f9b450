"""Names for pluggable things, and the specs that users write: ``name[:positional][,key=value…]``.

A :class:`Registry` maps a name to a factory. Third parties add theirs without touching this code, through a
setuptools entry point in the registry's group::

    [options.entry_points]
    cluster_sim.schedulers =
        mine = my_package:MyScheduler
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from cluster_sim.errors import SpecError
from cluster_sim.files.source import load, source_of
from cluster_sim.siblings import sibling
from cluster_sim.spelling import hint, near, one_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed spec: ``easy:depth=2,order=saf`` has name ``easy`` and options ``depth`` and ``order``."""

    name: str
    positional: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Take a spec apart. Raises SpecError when it has no name or gives an option twice."""
        name, _, rest = text.strip().partition(":")
        if not name:
            raise SpecError(f"spec '{text}'", "name[:positional][,key=value…]")
        positional: list[str] = []
        options: dict[str, str] = {}
        for part in filter(None, (part.strip() for part in rest.split(","))):
            key, equals, value = part.partition("=")
            if not equals:
                positional.append(part)
                continue
            key = key.strip().replace("-", "_")
            if key in options:
                raise SpecError(f"spec '{text}'", f"option '{key}' once", "it twice")
            options[key] = value.strip()
        return cls(name.strip(), tuple(positional), options)


class Registry(Generic[T]):
    """Named factories of one kind of thing, with the first line of their docstrings as help.

    With ``base``, a spec may also name a class derived from it in a file of the user's: ``lsf.py:LSF,depth=2``.
    """

    def __init__(self, kind: str, group: str, base: type[T] | None = None):
        self.kind = kind
        self.group = group
        self._base = base
        self._factories: dict[str, Callable[..., T]] = {}
        self._later: dict[str, tuple[str, str, str]] = {}
        self._entry_points_loaded = False

    def register(self, name: str) -> Callable[[Callable[..., T]], Callable[..., T]]:
        """Decorator: make a class or function available as ``name``, which becomes a class's attribute ``spec``."""

        def decorate(factory: Callable[..., T]) -> Callable[..., T]:
            self._factories[name] = factory
            if isinstance(factory, type):
                factory.spec = name  # type: ignore[attr-defined]
            return factory

        return decorate

    def register_later(self, name: str, module: str, attribute: str, meaning: str) -> None:
        """Make what ``attribute`` of one of our own modules will be available as ``name``: imported when it is asked for.

        For what stands in a package above the registry's, or needs what is slow to import. ``meaning`` is its line of help.
        """
        self._later[name] = (module, attribute, meaning)

    def __iter__(self) -> Iterator[str]:
        self._load_entry_points()
        return iter(sorted(self._factories.keys() | self._later.keys()))

    def __contains__(self, name: str) -> bool:
        self._load_entry_points()
        return name in self._factories or name in self._later

    def factory(self, name: str) -> Callable[..., T]:
        """The factory behind ``name``. Raises SpecError, listing the names there are."""
        self._load_entry_points()
        if name in self._later and name not in self._factories:
            module, attribute, _ = self._later[name]
            self._factories[name] = getattr(sibling(module), attribute)
        try:
            return self._factories[name]
        except KeyError:
            raise SpecError(self.kind, one_of(name, self), name) from None

    def make(self, text: str) -> T:
        """Build the thing a spec describes; option values are converted to the types of the factory's parameters.

        What is built remembers the spec in its attribute ``spec``, for the records. Raises SpecError.
        """
        spec = Spec.parse(text)
        if self._base is not None and source_of(text) is not None:
            factory, spec = self._from_file(spec, text, self._base)
        else:
            factory = self.factory(spec.name)
        signature = _signature(factory)
        parameters = signature.parameters
        keywords: dict[str, Any] = {}
        for key, value in spec.options.items():
            if key not in parameters or parameters[key].kind is inspect.Parameter.VAR_POSITIONAL:
                known = [name for name, p in parameters.items() if p.kind is not inspect.Parameter.VAR_POSITIONAL]
                expected = f"an option of {spec.name} ({', '.join(known) or 'it has none'}){hint(key, known)}"
                raise SpecError(f"{self.kind} '{text}'", expected, key)
            keywords[key] = _converted(value, parameters[key], f"{self.kind} '{text}', option {key}")
        positional: list[Any] = list(spec.positional)
        for i, (name, parameter) in enumerate(parameters.items()):
            if i < len(positional) and parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
                positional[i] = _converted(positional[i], parameter, f"{self.kind} '{text}', {name}")
        try:
            signature.bind(*positional, **keywords)
        except TypeError as error:
            raise SpecError(f"{self.kind} '{text}'", f"other arguments ({error})") from None
        thing = factory(*positional, **keywords)
        if not inspect.isroutine(thing) and not isinstance(thing, type):
            with suppress(AttributeError):  # frozen, or with slots
                thing.spec = text  # type: ignore[attr-defined]
        return thing

    def _from_file(self, spec: Spec, text: str, base: type[T]) -> tuple[Callable[..., T], Spec]:
        """The class that a spec with a file names, and what remains of the spec: options."""
        module = load(spec.name)
        there = {
            name: thing for name, thing in vars(module).items() if isinstance(thing, type) and issubclass(thing, base)
        }
        own = {name: thing for name, thing in there.items() if thing.__module__ == module.__name__}
        name = spec.positional[0] if spec.positional else ""
        if name not in there:
            classes = f"one of {', '.join(own)}" if own else f"a class derived from {base.__name__}"
            expected = f"{spec.name}:NAME, NAME being {classes}"
            if not name and ":" in "".join(spec.options):  # file.py:NAME:key=value
                raise SpecError(f"{self.kind} '{text}'", f"{expected}; options follow a comma", "a second colon")
            raise SpecError(f"{self.kind} '{text}'", expected, name or "no name")
        return there[name], Spec(name, spec.positional[1:], spec.options)

    def help(self, name: str) -> str:
        """First line of the documentation of ``name``."""
        if name in self._later:
            return self._later[name][2]
        return (inspect.getdoc(self.factory(name)) or "").partition("\n")[0]

    def _load_entry_points(self) -> None:
        if self._entry_points_loaded:
            return
        self._entry_points_loaded = True
        for entry in entry_points(group=self.group):
            self._factories.setdefault(entry.name, entry.load())


def misspelt(text: str, *registries: Registry[Any]) -> SpecError | None:
    """The error to raise for a text that names no file, if it looks like a spec of a registry: ``homogenous:nodes=4``."""
    name, colon, _ = os.path.basename(text).partition(":")
    for registry in registries if colon else ():
        if close := near(name, registry):
            return SpecError(f"{registry.kind} '{text}'", f"a file, or a spec such as {close[0]}:…", name)
    return None


@cache
def _signature(factory: Callable[..., Any]) -> inspect.Signature:
    """Looked up once: simulations by the thousand, as in training, make the same models again and again."""
    return inspect.signature(factory)


_TRUTH = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


def _converted(value: str, parameter: inspect.Parameter, where: str) -> object:
    """``value`` in the type of the parameter's default, of one without a default as it is annotated; else it stays text."""
    default = parameter.default
    if isinstance(default, bool):
        if value.lower() not in _TRUTH:
            raise SpecError(where, "yes or no", value)
        return _TRUTH[value.lower()]
    for kind in (int, float):
        # Annotations are text where their module does not evaluate them.
        if isinstance(default, kind) or (default is parameter.empty and parameter.annotation in (kind, kind.__name__)):
            try:
                return kind(value)
            except ValueError:
                raise SpecError(where, "an integer" if kind is int else "a number", value) from None
    return value
