"""Brings what stands elsewhere in the project into the site, and turns links to such files into links to its pages.

The README, the contributor's page, the changelog, the examples and the lessons are read on their own, too. They are copied
when the site is built, so that each exists once; what is copied is not in version control. Pages of the Python interface
name modules, ``{modules}``; here they get the headings and docstrings.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
LESSONS = ROOT / "analysis" / "lessons" / "texts"
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")

PAGES = {
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "cluster_sim/data/README.md": "project/data.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "tests/README.md": "project/tests.md",
}
"""Files of the project that are pages of the site."""

MODULES = re.compile(r"^```\{modules\}\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
"""Names of modules, one a line, on a page of the Python interface."""

EXAMPLES = "project/examples.md"
API = DOCS / "reference" / "api"


def gather() -> None:
    """Copy the pages that stand outside ``docs``, write the page of examples."""
    for source, page in PAGES.items():
        _write(DOCS / page, relinked((ROOT / source).read_text(), ROOT / source, DOCS / page))
    for lesson in sorted(LESSONS.glob("lesson-*.md")):
        _write(DOCS / "lessons" / lesson.name, lesson.read_text())
    _write(DOCS / EXAMPLES, _examples())


def relinked(text: str, source: Path, page: Path) -> str:
    """``text`` of the file ``source`` with its relative links as they have to be on ``page``."""

    def replace(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(source.parent / match[1]))
        link = _on_site(target)
        if link is None:
            return match[0]
        place, _, anchor = link.partition("#")
        fragment = f"#{anchor}" if anchor else match[2] or ""
        return f"]({os.path.relpath(DOCS / place, page.parent)}{fragment})"

    return LINK.sub(replace, text.replace('"docs/_static/', '"../_static/'))


def _on_site(target: Path) -> str | None:
    """Page, and perhaps ``#place`` on it, that shows a file of the project; None for one that is not shown."""
    if target.is_relative_to(DOCS):
        return str(target.relative_to(DOCS))
    if not target.is_relative_to(ROOT):
        return None
    path = target.relative_to(ROOT)
    if path.parts and path.parts[0] == "examples":
        name = path.parts[-1].removesuffix(".py").replace("_", "-")
        return f"{EXAMPLES}#{name}" if path.suffix == ".py" else EXAMPLES
    if path.suffix == ".py":
        return _documented().get(".".join(path.with_suffix("").parts))
    if path == Path("cluster_sim/data"):
        return PAGES["cluster_sim/data/README.md"]
    return PAGES.get(str(path))


@cache
def _documented() -> dict[str, str]:
    """Page and heading of each module that the reference documents."""
    found = {}
    for page in API.glob("*.md"):
        for block in MODULES.findall(page.read_text()):
            found |= {name: f"reference/api/{page.name}#{name.replace('.', '')}" for name in block.split()}
    return found


def _examples() -> str:
    folder = ROOT / "examples"
    parts = [
        "# Examples\n\nWhole scripts, in the folder `examples`; which the tests run. Below, configurations.\n",
        *(_section("##", script.stem.replace("_", "-"), script, "python") for script in sorted(folder.glob("*.py"))),
    ]
    for kind in ("training", "sweeps"):
        parts.append(f"## Configurations: {kind}\n")
        parts += [_section("###", config.stem, config, "yaml") for config in sorted((folder / kind).glob("*.yaml"))]
    return "\n".join(parts)


def _section(level: str, title: str, path: Path, language: str) -> str:
    """A heading, the file's name, and what is in it."""
    return f"{level} {title}\n\n`{path.relative_to(ROOT)}`\n\n```{language}\n{path.read_text()}```\n"


def _write(path: Path, text: str) -> None:
    """Write what has changed: an untouched page need not be read again."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def with_docstrings(text: str) -> str:
    """``text`` with a heading and the docstrings of each module in place of its name."""
    entry = "## {0}\n\n```{{eval-rst}}\n.. automodule:: {0}\n```\n"
    return MODULES.sub(lambda block: "\n".join(map(entry.format, block[1].split())), text)


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(name))
    if page.suffix == ".md":
        source[0] = relinked(with_docstrings(source[0]), page, page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
