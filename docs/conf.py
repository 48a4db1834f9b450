"""How Sphinx builds the site: ``make docs``. Nothing is fetched from the network, neither here nor by the reader."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from pathlib import Path

from sphinx.deprecation import RemovedInSphinx11Warning
from sphinx.pycode.parser import Parser

import cluster_sim

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

import forked_kernels  # noqa: E402 - they stand beside the pages
import gathering  # noqa: E402

project = "cluster-sim"
author = "cluster-sim developers"
copyright = author  # noqa: A001 - Sphinx calls it so
version = release = cluster_sim.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "tables_of_fields",
    "machine_tables",
    "plotly_pages",
    "our_docstrings",
    "registered_names",
    "gathering",
]
exclude_patterns = ["_build", "_ext"]
if not tags.has("teachers"):  # noqa: F821 - Sphinx puts it there
    exclude_patterns.append("lessons/solutions.md")  # students read this site, too
nitpicky = True
# Names of other people's objects cannot be looked up without the network; ours must exist.
nitpick_ignore_regex = [(r"py:.*", r"(?!(cluster_sim|schedulers|learning|analysis)\.).*")]

html_theme = "furo"
html_title = f"cluster-sim {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
smartquotes = False  # they would turn --option into a dash

myst_heading_anchors = 4

# Chapters of the tutorial and lessons are notebooks: their outputs are made here, from this version of the code.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 180
nb_execution_in_temp = True
os.environ["IPYTHONDIR"] = str(HERE / "_ext" / "ipython")
os.environ["PLOTLY_RENDERER"] = "json"  # the kernel's start-up file puts the site's own in its place
os.environ["OMP_NUM_THREADS"] = "1"

autodoc_default_options = {
    "members": True,
    "show-inheritance": True,
    "member-order": "bysource",
    "ignore-module-all": True,
}
autodoc_typehints_format = "short"
autodoc_use_type_comments = False  # there are none, and looking for them took a twelfth of the time to build
maximum_signature_line_length = 100
napoleon_use_rtype = False
# To find the lines at which definitions begin and end, for which nothing here asks, took a tenth of it.
Parser.parse_definition = lambda _: None
toc_object_entries = False  # a fifth of the time to build went into menus of three thousand entries

forked_kernels.begin()

logging.getLogger("traitlets").setLevel(logging.WARNING)  # nbclient would tell of every kernel that it starts

# Under `python -W error`: Sphinx 9's own extension napoleon still uses what Sphinx 9 deprecates.
warnings.filterwarnings("ignore", category=RemovedInSphinx11Warning)

gathering.gather()
