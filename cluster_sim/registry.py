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
from dataclasses import dataclass, field, replace
from html import escape
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from cluster_sim.errors import ClusterSimError, ModelWarning, SpecError, printable, warn
from cluster_sim.files.source import failure_in, load, source_of
from cluster_sim.options import options_of
from cluster_sim.packages import is_ours, sibling
from cluster_sim.spelling import hint, near, one_of

T = TypeVar("T")
_MOST_RECIPES = 1000
"""Number of specs that a registry remembers: generators are asked for one with every seed."""


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
        for part in filter(None, map(str.strip, rest.split(","))):
            key, equals, value = part.partition("=")
            if not equals:
                positional.append(part)
                continue
            key = key.strip().replace("-", "_")
            if key in options:
                raise SpecError(f"spec '{text}'", f"option '{key}' once", "it twice")
            options[key] = value.strip()
        return cls(name.strip(), tuple(positional), options)

    def __str__(self) -> str:
        rest = ",".join([*self.positional, *(f"{key}={value}" for key, value in self.options.items())])
        return f"{self.name}:{rest}" if rest else self.name

    def with_seed(self, seed: int) -> Spec:
        """Return the spec with another option ``seed``, as generators have."""
        return replace(self, options=self.options | {"seed": str(seed)})


@dataclass(frozen=True, slots=True)
class _Recipe(Generic[T]):
    """The factory behind a spec, and the arguments that the spec has for it."""

    name: str
    factory: Callable[..., T]
    positional: list[Any]
    keywords: dict[str, Any]


class Registry(Generic[T]):
    """Named factories of one kind of thing, with the first line of their docstrings as help.

    A spec may also name a class or a function in a file of the user's, ``lsf.py:LSF,depth=2``: with ``base`` a class derived
    from it. What it makes has the methods ``needs``. With ``arguments``, things of this kind are functions of so many
    arguments, and one in a file is such a thing itself; otherwise a function makes one.
    """

    def __init__(
        self, kind: str, group: str, base: type[T] | None = None, needs: tuple[str, ...] = (), arguments: int = 0
    ):
        self.kind = kind
        self.group = group
        self._base = base
        self._needs = needs
        self._arguments = arguments
        self._factories: dict[str, Callable[..., T]] = {}
        self._recipes: dict[str, _Recipe[T]] = {}  # of the specs that something was made of
        self._later: dict[str, tuple[str, str, str]] = {}
        self._unloaded: dict[str, list[EntryPoint]] | None = None  # by name, when they have been looked for
        self._broken: dict[str, SpecError] = {}  # why an entry point cannot be loaded

    def register(self, name: str) -> Callable[[Callable[..., T]], Callable[..., T]]:
        """Decorator: make a class or function available as ``name``, which becomes a class's attribute ``spec``.

        Registering a name of one's own again replaces what it stood for, as when a cell of a notebook is run again. Raises
        SpecError for a name that no spec can say, and for one of those that the toolkit brings.
        """
        if not self._can_be_said(name):
            raise SpecError(f"name of a {self.kind}", _SAYABLE, repr(name))

        def decorate(factory: Callable[..., T]) -> Callable[..., T]:
            if self._is_built_in(name) and not _is_ours(factory):
                raise SpecError(f"name of a {self.kind}", "one that is not built in", name)
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
        """Iterate over all names, sorted. Entry points that cannot be loaded are left out, with one warning each."""
        self._load_all()
        return iter(sorted(self._factories.keys() | self._later.keys()))

    def __contains__(self, name: str) -> bool:
        if name in self._factories or name in self._later or name in self._entry_points() or name in self._broken:
            return True
        self._load_all()  # what an entry point names may register more
        return name in self._factories

    def __repr__(self) -> str:
        return f"<Registry of {self.kind}s: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(self.help(name))}</td></tr>" for name in self)
        return f"<table><caption>{escape(self.kind)}s</caption>{rows}</table>"

    def names(self, text: str) -> bool:
        """Return whether a text is a spec with options or a file (``lublin:jobs=9``, ``mine.py:days``), and no path."""
        name, colon, _ = text.partition(":")
        return bool(colon) and (source_of(text) is not None or name.strip() in self)

    def factory(self, name: str) -> Callable[..., T]:
        """Return the factory behind ``name``. Raises SpecError if there is none, or if it cannot be loaded."""
        if name in self._entry_points():
            self._load(name)
        if name not in self._factories:
            if name in self._later:
                module, attribute, _ = self._later[name]
                self._factories[name] = getattr(sibling(module), attribute)
            elif name in self._broken:
                raise self._broken[name]
            elif name not in self:
                raise SpecError(self.kind, one_of(name, self), name)
        return self._factories[name]

    def make(self, text: str) -> T:
        """Build the thing a spec describes; option values are converted to the types of the factory's parameters.

        What is built remembers the spec in its attribute ``spec``, for the records. Raises SpecError.
        """
        if not isinstance(text, str):
            raise SpecError(self.kind, "a spec, name[:positional][,key=value…]", repr(text))
        recipe = self._recipes.get(text)
        if recipe is None or self._factories.get(recipe.name) is not recipe.factory:
            spec = Spec.parse(text)
            if source_of(text) is not None:
                recipe = self._recipe(text, *self._from_file(spec, text))
            else:
                recipe = self._recipe(text, self.factory(spec.name), spec)
                if len(self._recipes) >= _MOST_RECIPES:
                    self._recipes.clear()
                self._recipes[text] = recipe
        try:
            thing = recipe.factory(*recipe.positional, **recipe.keywords)
        except ClusterSimError:
            raise
        except Exception as error:
            if _is_ours(recipe.factory):
                raise
            path = source_of(text)
            if path is not None and (failure := failure_in(path, error)):
                raise SpecError(*failure) from error
            expected = f"{_called(recipe.factory)} to make it"
            raise SpecError(f"{self.kind} '{text}'", expected, f"{type(error).__name__}: {error}") from error
        if thing is None:
            raise SpecError(f"{self.kind} '{text}'", f"{_called(recipe.factory)} to return what it makes", "None")
        for name in self._needs:
            if not callable(getattr(thing, name, None)):
                lacking = [method for method in self._needs if not callable(getattr(thing, method, None))]
                found = f"{type(thing).__name__} without {', '.join(lacking)}"
                raise SpecError(f"{self.kind} '{text}'", f"an object with the methods {', '.join(self._needs)}", found)
        if not inspect.isroutine(thing) and not isinstance(thing, type):
            with suppress(AttributeError):  # frozen, or with slots
                thing.spec = text  # type: ignore[attr-defined]
        return thing

    def _recipe(self, text: str, factory: Callable[..., T], spec: Spec) -> _Recipe[T]:
        """Return the arguments of a spec in the types of the factory's parameters. Raises SpecError for others."""
        options = options_of(factory)
        keywords: dict[str, Any] = {}
        for key, value in spec.options.items():
            if key not in options or options[key].several:
                known = [option.name for option in options.values() if not option.several]
                expected = f"an option of {spec.name} ({', '.join(known) or 'it has none'}){hint(key, known)}"
                raise SpecError(f"{self.kind} '{text}'", expected, key)
            keywords[key] = options[key].parse(value, f"{self.kind} '{text}', option {key}")
        positional: list[Any] = list(spec.positional)
        for place, option in enumerate(list(options.values())[: len(positional)]):
            if option.several:
                break
            positional[place] = option.parse(positional[place], f"{self.kind} '{text}', {option.name}")
        try:
            inspect.signature(factory).bind(*positional, **keywords)
        except TypeError as error:
            raise SpecError(f"{self.kind} '{text}'", f"other arguments ({error})") from None
        return _Recipe(spec.name, factory, positional, keywords)

    def _from_file(self, spec: Spec, text: str) -> tuple[Callable[..., T], Spec]:
        """Return the class or function that a spec with a file names, and the rest of the spec: its options."""
        module, base = load(spec.name), self._base
        there: dict[str, Any] = {
            name: thing
            for name, thing in vars(module).items()
            if name[0] != "_" and (isinstance(thing, type) or (base is None and inspect.isfunction(thing)))
        }
        if base is not None:
            there = {name: thing for name, thing in there.items() if issubclass(thing, base)}
        own = {name: thing for name, thing in there.items() if thing.__module__ == module.__name__}
        name = spec.positional[0] if spec.positional else ""
        if name not in there:
            any_of = "a class or a function" if base is None else f"a class derived from {base.__name__}"
            classes = f"one of {', '.join(own)}" if own else any_of
            expected = f"{spec.name}:NAME, NAME being {classes}"
            if not name and ":" in "".join(spec.options):  # file.py:NAME:key=value
                raise SpecError(f"{self.kind} '{text}'", f"{expected}; options follow a comma", "a second colon")
            raise SpecError(f"{self.kind} '{text}'", expected, name or "no name")
        thing = there[name]
        rest = Spec(name, spec.positional[1:], spec.options)
        if self._arguments and not isinstance(thing, type):
            given = [p for p in inspect.signature(thing).parameters.values() if p.default is p.empty]
            if sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in given) == self._arguments:
                return lambda: thing, rest  # the function is the thing itself, and makes nothing
        return thing, rest

    def help(self, name: str) -> str:
        """Return the first line of the documentation of ``name``."""
        if name in self._later:
            return self._later[name][2]
        return (inspect.getdoc(self.factory(name)) or "").partition("\n")[0]

    def options(self, name: str) -> list[str]:
        """Return what a spec of ``name`` takes: its options, and in capitals what stands there without a key."""
        return [
            f"{each.name.upper()}…" if each.several else each.name for each in options_of(self.factory(name)).values()
        ]

    def _entry_points(self) -> dict[str, list[EntryPoint]]:
        """Return the entry points of this group that have not been loaded yet, by name."""
        if self._unloaded is None:
            self._unloaded = {}
            for entry in entry_points(group=self.group):
                self._unloaded.setdefault(entry.name, []).append(entry)
        return self._unloaded

    def _load_all(self) -> None:
        """Load all entry points that have not been; a warning (ModelWarning) of each that cannot be, once."""
        before = set(self._broken)
        while entries := self._entry_points():  # loading one may ask for others
            self._load(next(iter(entries)))
        for name, error in self._broken.items():
            if name not in before:
                warn(ModelWarning(f"{error}; left out"), 4)

    def _load(self, name: str) -> None:
        """Load the entry point of that name. What is there already stays, and so does the first of several packages'."""
        entry, *others = self._entry_points().pop(name)
        if self._is_built_in(name):
            for each in (entry, *others):
                self._warn_of(each, f"not used: {name} is built in")
            return
        for other in others:
            if other.value != entry.value:
                self._warn_of(other, f"not used: {_package_of(entry)} has one of that name, too, {entry.value}")
        if name in self._factories:
            return
        where = f"entry point {name} of {_package_of(entry)}"
        if not self._can_be_said(name):
            self._broken[name] = SpecError(where, _SAYABLE, repr(name))
            return
        try:
            factory = entry.load()
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            self._broken[name] = SpecError(where, f"a class or a function at {entry.value}", what)
            return
        if callable(factory):
            self._factories.setdefault(name, factory)
            return
        found = f"the {type(factory).__name__} {entry.value}"
        self._broken[name] = SpecError(where, "a class or a function, as in package.module:NAME", found)

    def _warn_of(self, entry: EntryPoint, what: str) -> None:
        text = f"entry point {entry.name} of {_package_of(entry)}, a {self.kind}, is {what}"
        warn(ModelWarning(printable(text)), 5)

    def _is_built_in(self, name: str) -> bool:
        return name in self._later or (name in self._factories and _is_ours(self._factories[name]))

    def _can_be_said(self, name: object) -> bool:
        """Return whether a spec can have this name."""
        if not isinstance(name, str) or not name or name != name.strip() or set(name) & set(":,="):
            return False
        return source_of(name) is None


_SAYABLE = "text without ':', ',' and '=' and not the name of a file, as in a spec"


def describe(thing: object) -> str:
    """Return the name of a scheduler, policy or model for records and messages: the spec that made it, or its class."""
    return str(getattr(thing, "spec", "")) or type(thing).__name__


def _called(factory: object) -> str:
    """Return ``package.module.name`` of a class or a function."""
    return f"{getattr(factory, '__module__', '')}.{getattr(factory, '__qualname__', factory)}"


def _is_ours(factory: object) -> bool:
    """Return whether the toolkit brings the factory."""
    return is_ours(getattr(factory, "__module__", ""))


def _package_of(entry: EntryPoint) -> str:
    return "an unknown package" if entry.dist is None else f"package {entry.dist.name}"


def misspelt(text: str, *registries: Registry[Any]) -> SpecError | None:
    """Return the error for a text that names no file, if it looks like a spec (``homogenous:nodes=4``, ``lublin``)."""
    name, colon, _ = os.path.basename(text).partition(":")
    for registry in registries:
        if text in registry:
            expected = f"a file, or options, as in {text}:… ({', '.join(registry.options(text))})"
            return SpecError(f"{registry.kind} '{text}'", expected, "no such file")
    for registry in registries if colon else ():
        if close := near(name, registry):
            return SpecError(f"{registry.kind} '{text}'", f"a file, or a spec such as {close[0]}:…", name)
    return None
