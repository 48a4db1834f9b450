"""The packages may know of each other in one direction only, and importing the simulator stays light."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import networkx as nx
import pytest

from cluster_sim import packages
from tests.support.sources import PACKAGES, ROOT, tree_of

# cluster_sim <- schedulers <- learning <- analysis.
MAY_IMPORT = {
    "cluster_sim": {"cluster_sim"},
    "schedulers": {"cluster_sim", "schedulers"},
    "learning": {"cluster_sim", "schedulers", "learning"},
    "analysis": {"cluster_sim", "schedulers", "learning", "analysis"},
}
HEAVY = ("torch", "plotly", "dash", "gymnasium", "dask", "distributed", "pyarrow", "matplotlib", "scipy", "jinja2")


def is_for_type_checkers(node: ast.If) -> bool:
    """Return whether a condition is ``TYPE_CHECKING`` or ``typing.TYPE_CHECKING``."""
    return "TYPE_CHECKING" in (getattr(node.test, "id", ""), getattr(node.test, "attr", ""))


def imports(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """(imported of our packages, line, when) for each import statement; when is start, lazily or typing.

    An import inside a function runs when that is called, one under ``if TYPE_CHECKING`` never.
    """

    def walk(node: ast.AST, when: str) -> Iterator[tuple[str, int, str]]:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno, when) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module, node.lineno, when
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            when = "lazily"
        elif isinstance(node, ast.If) and is_for_type_checkers(node):
            for child in node.body:
                yield from walk(child, "typing")
            for child in node.orelse:
                yield from walk(child, when)
            return
        for child in ast.iter_child_nodes(node):
            yield from walk(child, when)

    for name, line, when in walk(tree, "start"):
        if name.partition(".")[0] in PACKAGES:
            yield name.partition(".")[0], line, when


def allowed(module: Path, imported: str, when: str) -> bool:
    """Whether ``module`` (a path from the root) may import the package ``imported`` at the time ``when``."""
    if imported in MAY_IMPORT[module.parts[0]]:
        return True
    return module.is_relative_to("cluster_sim/cli") and when != "start"


def forbidden(root: Path) -> list[str]:
    """A line for every import below ``root`` that goes the wrong way."""
    found = []
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            module = path.relative_to(root)
            for imported, line, when in imports(tree_of(path)):
                if not allowed(module, imported, when):
                    found.append(f"{module}:{line} imports {imported}")
    return found


ROOMS = {
    "cluster_sim": ("files", "platform", "workload", "models", "machine", "run", "records", "formats", "cli"),
    "schedulers": ("policy", "queue", "backfilling", "energy", "changing", "power", "slurm", "optimum"),
    "learning": ("networks", "tasks", "algorithms", "training"),
    "analysis": (
        *("pages", "tables", "figures", "gantt_chart", "stepping", "reports"),
        *("sweep", "whatif", "explore", "lessons", "reproduce"),
    ),
}
"""The rooms of each package. A room knows those before it only."""
DOORS = {
    ("cluster_sim/platform/platform.py", "formats"),  # Platform.read and .write
    ("cluster_sim/platform/specs.py", "formats"),  # the spec of a SimGrid file
    ("cluster_sim/workload/workload.py", "formats"),  # Workload.read and .write
    ("cluster_sim/records/result.py", "formats"),  # the platform beside a result, and other programs' results
    ("cluster_sim/run/simulation.py", "records"),  # Simulation.result
}
"""Modules that open a later room, when somebody reads, writes or asks: inside a function, by name or for type checkers."""
MOST_MODULES = 22
"""Modules of a folder: more are rooms that were not made."""


def of_room(name: str) -> tuple[str, str]:
    """The package and the room of a module; no room for what all of the package may know."""
    package, _, rest = name.partition(".")
    room = rest.partition(".")[0]
    return package, room if room in ROOMS.get(package, ()) else ""


def imported_modules(tree: ast.AST, when: str = "start") -> Iterator[tuple[str, int, str]]:
    """(module, line, when) of each ``from … import`` and ``sibling("…")``, also for type checkers and inside functions."""
    for node in ast.iter_child_nodes(tree):
        inside = "lazily" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) else when
        if isinstance(node, ast.If) and is_for_type_checkers(node):
            inside = "typing"
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node.lineno, when
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "sibling"
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value), node.lineno, when
        yield from imported_modules(node, inside)


def modules_of(package: str) -> dict[str, Path]:
    """The modules of a package, by name."""
    paths = sorted((ROOT / package).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


@pytest.mark.parametrize("package", PACKAGES)
def test_rooms_know_only_those_above_them(package: str) -> None:
    """No circle among the rooms, type-only imports counted; doors are few, and open when they are used."""
    wrong, used = [], set()
    for module, path in modules_of(package).items():
        _, room = of_room(module)
        for name, line, when in imported_modules(tree_of(path)) if room else ():
            theirs, other = of_room(name)
            if theirs != package or not other or ROOMS[package].index(other) <= ROOMS[package].index(room):
                continue
            door = (path.relative_to(ROOT).as_posix(), other)
            used.add(door)
            if door not in DOORS or when == "start":
                wrong.append(f"{module}:{line} imports {name}")
    assert not wrong
    assert used == {door for door in DOORS if door[0].startswith(package)}, "a door that nobody uses is none"


def test_tasks_do_not_know_each_other() -> None:
    """What several tasks of agents need stands beside them."""
    tasks = {name: path for name, path in modules_of("learning").items() if name.count(".") > 2 and ".tasks." in name}
    for module, path in tasks.items():
        own = module.rpartition(".")[0]
        for name, _, _ in imported_modules(tree_of(path)):
            assert not (name in tasks and not name.startswith(f"{own}.")), f"{module} imports {name}"


STAGES = (("groups", "rows"), ("rectangles",), ("hover", "traces", "overlays", "panels"), ("layout", "tool", "still"))
"""How data flow in a Gantt chart: rows and pieces, rectangles, traces, page. The modules of a stage know those before them."""
KNOWN_BY_PAGES = {"RectanglesInView", "busy_fraction"}
"""What the page knows of the rectangles, which it has for its own drawing."""
OFFERED = {"options", "gantt", "runs_chart", "job_rows", "notebook"}
"""The charts that are offered, which put the stages together, and their options."""


def test_data_of_the_gantt_chart_flow_one_way() -> None:
    """A stage knows the one before it, and the view that is drawn; nobody knows the charts that use it."""
    order = [name for stage in STAGES for name in stage]
    stage_of = {name: place for place, stage in enumerate(STAGES) for name in stage}
    folder, wrong = "analysis.gantt_chart.", []
    modules = {
        name.removeprefix(folder): path for name, path in modules_of("analysis").items() if name.startswith(folder)
    }
    assert set(modules) - OFFERED == set(order)
    for module in order:
        for node in ast.walk(tree_of(modules[module])):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(folder):
                continue
            other, names = str(node.module).removeprefix(folder), {alias.name for alias in node.names}
            is_next = other in order[: order.index(module)] and stage_of[module] - stage_of[other] <= 1
            if not is_next and not names <= KNOWN_BY_PAGES:
                wrong.append(f"{module} imports {', '.join(sorted(names))} from {other}")
    assert not wrong


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_import_each_other(package: str) -> None:
    """Type-only imports and those inside functions count."""
    modules, graph = modules_of(package), nx.DiGraph()
    for module, path in modules.items():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                known = {name if name in modules else node.module for name in names} & modules.keys() - {module}
                graph.add_edges_from((module, name) for name in known)
    circles = [sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1]
    assert circles == []


def test_no_folder_is_crowded() -> None:
    """Who looks for a module finds it."""
    counts = Counter(path.parent for package in PACKAGES for path in modules_of(package).values())
    assert {str(folder.relative_to(ROOT)): count for folder, count in counts.items() if count - 1 > MOST_MODULES} == {}


def test_which_modules_are_ours() -> None:
    """Modules of the four packages are ours, in the order in which they use each other; names that only begin so are not."""
    assert packages.PACKAGES == PACKAGES
    assert all(packages.is_ours(name) for name in (*PACKAGES, "schedulers.slurm.selection.node_holder"))
    assert not any(packages.is_ours(name) for name in ("simpy.core", "learning2", "my.analysis", "", None))


def run_python(cwd: Path, *arguments: str) -> str:
    """What a fresh interpreter prints whose working directory, first on its path, is ``cwd``."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    command = [sys.executable, *arguments]
    run = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_imports_go_one_way() -> None:
    """No module imports a package that stands above its own."""
    assert forbidden(ROOT) == []


@pytest.mark.parametrize(
    ("module", "source", "line"),
    [
        ("cluster_sim/machine/node.py", "import schedulers.policy.policy", 1),
        ("cluster_sim/machine/node.py", "def f():\n    from analysis import gantt", 2),
        ("cluster_sim/cli/commands/run.py", "from schedulers import make_scheduler", 1),
        ("schedulers/lists.py", "import os, learning", 1),
        ("learning/gantt.py", "if TYPE_CHECKING:\n    from analysis import gantt", 2),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, module: str, source: str, line: int) -> None:
    """The check above sees an import wherever it hides, and says where it stands."""
    path = tmp_path / module
    path.parent.mkdir(parents=True)
    path.write_text(source)
    assert [entry.partition(" ")[0] for entry in forbidden(tmp_path)] == [f"{module}:{line}"]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("learning/training/agent.py", "from schedulers import Scheduler\nimport cluster_sim"),
        ("cluster_sim/cli/commands/run.py", "def run():\n    from schedulers import make_scheduler"),
        ("analysis/reproduce/ineps.py", "import learning, schedulers"),
    ],
)
def test_an_allowed_import_passes(tmp_path: Path, module: str, source: str) -> None:
    """Downwards everybody may look; the command line and the reproductions may look everywhere."""
    path = tmp_path / module
    path.parent.mkdir(parents=True)
    path.write_text(source)
    assert forbidden(tmp_path) == []


@pytest.mark.parametrize("package", ["cluster_sim", "schedulers"])
def test_importing_the_simulator_loads_nothing_heavy(tmp_path: Path, package: str) -> None:
    """Plots, learning and parquet come when they are used, not with the import."""
    loaded = run_python(tmp_path, "-c", f"import json, sys, {package}; print(json.dumps(sorted(sys.modules)))")
    assert set(json.loads(loaded)).isdisjoint(HEAVY)


def test_the_command_line_answers_without_numpy(tmp_path: Path) -> None:
    """What a command needs it loads itself: help and completion wait for none of it."""
    code = "import json, sys, cluster_sim.cli; print(json.dumps(sorted(sys.modules)))"
    assert {"numpy", "pandas", "yaml", "analysis"}.isdisjoint(json.loads(run_python(tmp_path, "-c", code)))


@pytest.fixture
def crowded_directory(tmp_path: Path) -> Path:
    """A working directory in which the user keeps a package named like one of ours."""
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis" / "__init__.py").write_text("")
    return tmp_path


SHADOWED = (
    "analysis: expected cluster-sim's package of that name; rename the file or folder that Python finds before it"
)


@pytest.mark.parametrize("access", ["cluster_sim.gantt", "cluster_sim.analysis", "cluster_sim.comparison_table"])
def test_a_package_of_the_users_with_a_name_of_ours_is_told(crowded_directory: Path, access: str) -> None:
    """One sentence says which file has the name, and what to do; the other packages work."""
    code = "import cluster_sim\ncluster_sim.make_scheduler('fcfs')\n"
    code += f"try: {access}\nexcept ImportError as error: print(error)"
    told = run_python(crowded_directory, "-c", code)
    assert told == f"{SHADOWED}, found {crowded_directory / 'analysis' / '__init__.py'}\n"


def test_the_command_line_tells_it_at_once(crowded_directory: Path) -> None:
    """``python -m cluster_sim`` puts the working directory first on the path: exit status 2, nothing done."""
    command = [sys.executable, "-m", "cluster_sim", "list", "schedulers"]
    ended = subprocess.run(command, cwd=crowded_directory, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"cluster-sim: {SHADOWED}")


def test_a_script_may_not_be_called_as_one_of_our_packages(tmp_path: Path) -> None:
    """A script ``analysis.py`` would import itself."""
    script = tmp_path / "analysis.py"
    script.write_text("import cluster_sim\ntry: cluster_sim.gantt\nexcept ImportError as error: print(error)\n")
    assert run_python(tmp_path, str(script)) == f"{SHADOWED}, found {script}\n"


FACADES = ("cluster_sim", "schedulers", "learning", "learning.training", "analysis", "analysis.sweep")


@pytest.mark.parametrize("package", FACADES)
def test_offered_names_are_there(package: str) -> None:
    """Each name of a package can be imported, is in ``dir()``, and comes with ``from … import *``."""
    module = import_module(package)
    everything: dict[str, object] = {}
    exec(f"from {package} import *", everything)
    assert module.__all__
    assert set(module.__all__) <= set(dir(module))
    assert {name: everything[name] for name in module.__all__} == {
        name: getattr(module, name) for name in module.__all__
    }


@pytest.mark.parametrize("package", FACADES)
def test_no_submodule_is_called_as_an_offered_name(package: str) -> None:
    """Importing such a submodule would put the module in the place of the function; a module may be offered itself."""
    modules = {path.stem for path in ROOT.joinpath(*package.split(".")).iterdir()}
    offered = import_module(package)
    functions = {name for name in offered.__all__ if not isinstance(getattr(offered, name), ModuleType)}
    assert modules.isdisjoint(functions)
