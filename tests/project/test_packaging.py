"""What a user installs: the wheel holds everything that runs, and the lock file pins everything that is asked for."""

from __future__ import annotations

import configparser
import email
import gzip
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cluster_sim.extras import EXTRA_OF

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cluster_sim", "schedulers", "learning", "analysis")
IGNORED = shutil.ignore_patterns("__pycache__")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, opened."""
    return zipfile.ZipFile(wheel_file(tmp_path_factory.mktemp("source")))


def wheel_file(source: Path) -> Path:
    """The wheel, built from a copy in ``source`` so that the work tree gets no build folder."""
    for name in ("setup.cfg", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=IGNORED)
    build = "from setuptools.build_meta import build_wheel; build_wheel('dist')"
    run = subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return next((source / "dist").glob("cluster_sim-*.whl"))


def required_by(path: Path) -> list[Requirement]:
    """Return what a wheel asks for without extras."""
    with zipfile.ZipFile(path) as wheel:
        metadata = email.message_from_string(wheel_text(wheel, "METADATA"))
    return [asked for asked in map(Requirement, metadata.get_all("Requires-Dist", [])) if asked.marker is None]


def wheel_text(wheel: zipfile.ZipFile, name: str) -> str:
    """A file of the wheel's ``.dist-info`` folder."""
    return wheel.read(next(entry for entry in wheel.namelist() if entry.endswith(f".dist-info/{name}"))).decode()


def requirements() -> list[Requirement]:
    """Everything that setup.cfg asks for, all extras included."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = config["options"]["install_requires"].splitlines() + config["options.extras_require"]["all"].splitlines()
    return [Requirement(line) for line in lines if line]


def lock() -> dict[str, str]:
    """Version by package name."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", pin) for pin in pins), "plain name==version lines only"
    return {canonicalize_name(name): version for name, version in (pin.split("==") for pin in pins)}


def test_the_wheel_holds_every_module_and_data_file(wheel: zipfile.ZipFile) -> None:
    """Every file of the four packages is in the wheel."""
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()]
    ours = {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}
    assert ours - set(wheel.namelist()) == set()
    assert {f"{package}/py.typed" for package in PACKAGES} <= ours


def test_the_wheel_holds_nothing_else(wheel: zipfile.ZipFile) -> None:
    """Tests, benchmarks and examples stay at home."""
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


def test_the_wheel_brings_the_command(wheel: zipfile.ZipFile) -> None:
    """``cluster-sim`` is installed as a command."""
    scripts = configparser.ConfigParser()
    scripts.read_string(wheel_text(wheel, "entry_points.txt"))
    assert scripts["console_scripts"]["cluster-sim"] == "cluster_sim.cli:main"


def test_the_core_asks_for_nothing_heavy(wheel: zipfile.ZipFile) -> None:
    """Who only wants a Gantt downloads no torch."""
    core = {asked.name for asked in required_by(Path(str(wheel.filename)))}
    assert "simpy" in core
    assert core.isdisjoint({"torch", "gymnasium", "dash", "dask", "pyarrow"})


def test_every_requirement_is_pinned() -> None:
    """The lock file has a version for all that setup.cfg names, and one that setup.cfg accepts."""
    pins = lock()
    missing = [str(asked) for asked in requirements() if canonicalize_name(asked.name) not in pins]
    assert missing == []
    refused = [str(asked) for asked in requirements() if pins[canonicalize_name(asked.name)] not in asked.specifier]
    assert refused == []
    assert pins["torch"] == "2.13.0"


def test_the_hints_know_the_extras() -> None:
    """Each library that a hint speaks of is one that setup.cfg lists under that extra."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    extras = {
        name: {Requirement(line).name for line in lines.splitlines() if line and not line.startswith("%")}
        for name, lines in config["options.extras_require"].items()
    }
    assert {library: extra for library, extra in EXTRA_OF.items() if library not in extras[extra]} == {}


def test_the_demo_log_keeps_its_acknowledgement() -> None:
    """The excerpt says whose log it is, that it is an excerpt, and has the jobs it says."""
    lines = gzip.decompress((ROOT / "cluster_sim/data/unilu-gaia-2014-week.swf.gz").read_bytes()).decode().splitlines()
    header = "\n".join(line for line in lines if line.startswith(";"))
    jobs = [line.split() for line in lines if not line.startswith(";")]
    assert "Acknowledge: Joseph Emeras, SnT" in header
    assert f"The {len(jobs)} jobs of UniLu-Gaia-2014-2.swf" in header
    assert {len(job) for job in jobs} == {18}
