"""Docstrings as they are written here: tables in Markdown, names as they are imported, columns of a command's help.

Five things that autodoc does not do by itself. A signature shows types without what is annotated beside them. A table of a
docstring may be written with pipes. A name in a type hint that its module imports for type checkers only leads to what it
stands for. And a reference to a name by the package that offers it (``analysis.gantt``) leads to the module that defines
it; one to something that exists, but has no entry on these pages, becomes plain text, while one to nothing stays a warning.
And no class needs to say that it derives from ``object``.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_type_hints

from docutils import nodes
from sphinx import addnodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

PACKAGES = ("cluster_sim", "schedulers", "learning", "analysis")
OTHERS = ("np", "npt", "numpy", "pd", "pandas", "go", "gym", "gymnasium", "spaces", "torch", "nx", "simpy", "click")
"""How other people's packages are called in type hints."""
MISSING = object()


def _convert_tables(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn tables of pipes into list tables of reStructuredText."""
    converted: list[str] = []
    table: list[str] = []
    for line in [*lines, ""]:
        if line.lstrip().startswith("|"):
            table.append(line)
            continue
        if table:
            converted += _list_table(table) if len(table) > 1 and set(table[1]) <= set("|-: ") else table
            table = []
        converted.append(line)
    lines[:] = converted


_DECLARED: list[tuple[Any, dict[str, Any]]] = []
"""Functions that show their types alone on this page, each with its annotations as they are declared."""


def _show_types_alone(app: Sphinx, thing: Any, bound: bool) -> None:
    """Have a signature show the types of options; their bounds, units and meanings stand in the tables of names."""
    plain = inspect.unwrap(thing)
    with suppress(AttributeError):
        _DECLARED.append((plain, dict(plain.__annotations__)))
    try:
        plain.__annotations__.update(get_type_hints(plain))
    except Exception:  # some annotations are there for type checkers alone, or are fields of another module's class
        with suppress(AttributeError, SyntaxError):
            plain.__annotations__.update({name: _type_alone(each) for name, each in plain.__annotations__.items()})


def _declare_again(app: Sphinx, page: str, source: list[str]) -> None:
    """Undo :func:`_show_types_alone` before the next page, whose tables read the declarations."""
    while _DECLARED:
        plain, annotations = _DECLARED.pop()
        plain.__annotations__.update(annotations)


def _type_alone(annotation: Any) -> Any:
    """Return the type of an annotation, of which the text says what is annotated beside it."""
    if isinstance(annotation, str) and annotation.startswith("Annotated["):
        told = ast.parse(annotation, mode="eval").body
        if isinstance(told, ast.Subscript) and isinstance(told.slice, ast.Tuple):
            return ast.unparse(told.slice.elts[0])
    return annotation


def _show_types_of_fields(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Do the same for the fields of a class, which are documented after it."""
    if what == "class":
        with suppress(Exception):
            thing.__annotations__.update({each: get_type_hints(thing)[each] for each in thing.__annotations__})


_PLAIN = {"attribute", "data", "property"}
_AS_WRITTEN: list[list[str]] = []


def _set_aside(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if what in _PLAIN:
        _AS_WRITTEN.append(list(lines))


def _put_back(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Have no colon in what is said of an attribute taken for the end of its type, as napoleon does."""
    if what in _PLAIN:
        lines[:] = _AS_WRITTEN.pop()


def _list_table(table: list[str]) -> list[str]:
    indent = table[0][: len(table[0]) - len(table[0].lstrip())]
    lines = [f"{indent}.. list-table::", f"{indent}   :header-rows: 1", ""]
    for row in (table[0], *table[2:]):
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
        lines += [f"{indent}   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(cells)]
    return [*lines, ""]


@cache
def _imports(module: str) -> dict[str, str]:
    """Full names of what a module imports from our packages, or names itself, for type checkers only or not."""
    try:
        tree = ast.parse(inspect.getsource(import_module(module)))
    except (ImportError, OSError, TypeError, ValueError):
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in PACKAGES:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.ClassDef):
            found.setdefault(node.name, f"{module}.{node.name}")
        elif isinstance(node, ast.Assign):
            found.update({name.id: f"{module}.{name.id}" for name in node.targets if isinstance(name, ast.Name)})
    return found


def _name_in_full(app: Sphinx, tree: nodes.document) -> None:
    for reference in list(tree.findall(addnodes.pending_xref)):
        target, module = reference.get("reftarget", ""), reference.get("py:module")
        if reference.get("refdomain") != "py" or not module:
            continue
        full = _imports(module).get(target)
        word = target.islower() and reference.get("reftype") == "class"  # "spec of a scheduler" in place of a type
        if full is not None:
            reference["reftarget"] = full
        elif word or hasattr(builtins, target) or ("." in target and target.partition(".")[0] in OTHERS):
            reference.replace_self(reference.children)  # nothing to look for, which takes time, or finds a namesake


def _without_object(app: Sphinx, tree: nodes.document) -> None:
    """Every class derives from ``object``: not worth a line."""
    for paragraph in list(tree.findall(nodes.paragraph)):
        if paragraph.astext() == "Bases: object":
            paragraph.parent.remove(paragraph)


def _look_up(name: str) -> object:
    """What a full name stands for; MISSING if that is nothing."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            thing: object = import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            annotated = getattr(thing, "__annotations__", {})
            thing = getattr(thing, part, part if part in annotated else MISSING)
            if thing is MISSING:
                break
        return thing
    return MISSING


def _resolve(app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, text: nodes.Element) -> nodes.Node | None:
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or target.partition(".")[0] not in PACKAGES:
        return None
    thing = _look_up(target)
    if thing is MISSING:
        module, _, name = target.rpartition(".")
        return text if name in _imports(module) else None  # an alias for type checkers only
    home = f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"
    domain = env.get_domain("py")
    if home != target and home.partition(".")[0] in PACKAGES:
        found = domain.resolve_xref(env, node["refdoc"], app.builder, "obj", home, node, text)
        if found is not None:
            return found
    return text


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", _declare_again)
    app.connect("autodoc-before-process-signature", _show_types_alone)
    app.connect("autodoc-process-docstring", _show_types_of_fields)
    app.connect("autodoc-process-docstring", _convert_tables, priority=100)
    app.connect("autodoc-process-docstring", _set_aside, priority=200)  # napoleon comes at 500
    app.connect("autodoc-process-docstring", _put_back, priority=900)
    app.connect("doctree-read", _name_in_full)
    app.connect("doctree-read", _without_object)
    app.connect("missing-reference", _resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
