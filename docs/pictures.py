"""Renew the pictures of the manual: make each page by its command, and let an installed Chromium draw its first screen.

::

    python docs/pictures.py [NAME ...]

Without names all are made, in some minutes. With Pillow installed, pictures get a palette of 128 colours, a third of the bytes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

HERE = Path(__file__).parent
WIDTH = 1280
MOST_BYTES = 150_000
GANTT = (
    "run -p homogeneous:nodes=6,cores=8 -w lublin:jobs=90,nodes=32,seed=2 -s easy --power-policy timeout:1800 --explain"
)


def cluster_sim(words: str, folder: Path) -> None:
    """Run a command in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "cluster_sim", *words.split()], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"cluster-sim {words}\n{done.stderr}")


def shot(address: str, name: str, height: int, dark: bool = False) -> None:
    """Draw the first screen of a page as ``NAME.png``."""
    from analysis.figures.pictures import browser

    program = browser()
    if program is None:
        sys.exit("expected a Chromium on the PATH")
    target = HERE / f"{name}.png"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking",
            f"--user-data-dir={profile}", f"--window-size={WIDTH},{height}", "--virtual-time-budget=30000",
            f"--screenshot={target}", *(["--blink-settings=preferredColorScheme=0"] if dark else []), address,
        ]  # fmt: skip
        for last in (False, True):  # on a busy machine Chromium sometimes does not end
            try:
                subprocess.run(command, capture_output=True, timeout=120, check=False)
                break
            except subprocess.TimeoutExpired:
                if last:
                    raise
    shrink(target)
    size = target.stat().st_size
    print(f"{target.relative_to(HERE)}: {size:,} bytes" + (", more than is meant" if size > MOST_BYTES else ""))


def shrink(target: Path) -> None:
    """Give a picture a palette, if Pillow is there."""
    try:
        from PIL import Image
    except ImportError:
        return
    with Image.open(target) as picture:
        small = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(target, optimize=True)


def gantt(folder: Path) -> None:
    """Draw the chart of a run with a job that is chosen, on light and on dark ground."""
    cluster_sim(f"{GANTT} --out run", folder)
    cluster_sim("gantt run --out gantt.html", folder)
    for ground in ("light", "dark"):
        shot(f"{(folder / 'gantt.html').as_uri()}#job=33", f"_static/gantt-{ground}", 800, ground == "dark")


def stepping(folder: Path) -> None:
    """Draw a step in the middle of the same run."""
    cluster_sim(f"{GANTT} --out run", folder)
    cluster_sim("gantt run --view steps", folder)
    shot(f"{(folder / 'run' / 'steps.html').as_uri()}#100", "guides/stepping", 900)


def changing_jobs(folder: Path) -> None:
    """Draw the chart that the blocks of the guide on changing jobs write."""
    text = (HERE / "guides" / "changing-jobs.md").read_text(encoding="utf-8")
    blocks = [part.partition("```")[0] for part in text.split("```python\n")[1:]]
    source = "\n".join(blocks[: next(i for i, block in enumerate(blocks) if "write_gantt(" in block) + 1])
    subprocess.run([sys.executable, "-W", "ignore", "-c", source], cwd=folder, capture_output=True, check=True)
    shot((folder / "changing-jobs.html").as_uri(), "guides/changing-jobs", 560)


def sweep(folder: Path) -> None:
    """Draw the head of the report of a sweep."""
    cluster_sim(f"sweep {HERE.parent}/examples/sweeps/load-and-sleep.yaml --out sweep --report", folder)
    shot((folder / "sweep" / "report.html").as_uri(), "guides/sweep-report", 820)


def what_if(folder: Path) -> None:
    """Draw the head of the answer of four more nodes."""
    example = HERE.parent / "examples" / "synthetic_cluster.py"
    command = [sys.executable, str(example), "--out", "synthetic", "--weeks", "6", "--seed", "1"]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    cluster_sim("whatif synthetic/jobs.txt --conf synthetic/slurm.conf --nodes +4 --out more-nodes", folder)
    shot((folder / "more-nodes" / "whatif.html").as_uri(), "guides/what-if", 820)


def report(folder: Path) -> None:
    """Draw the head of the report of the demo, a real week under two schedulers."""
    cluster_sim("demo --out demo", folder)
    shot((folder / "demo" / "report.html").as_uri(), "guides/report", 900)


def explore(_: Path) -> None:
    """Draw the page of explore as it opens."""
    with exploring() as address:
        shot(address, "guides/explore", 900)


def exploring() -> AbstractContextManager[str]:
    """Serve the page of explore, at an address."""
    from analysis.explore.app import make_app
    from analysis.explore.offers import Offers
    from analysis.explore.runs import ExploreSession
    from analysis.pages.serving import served

    return served(make_app(ExploreSession(Offers.of())), "explore")


PICTURES: dict[str, Callable[[Path], None]] = {
    "gantt": gantt,
    "stepping": stepping,
    "changing-jobs": changing_jobs,
    "sweep": sweep,
    "what-if": what_if,
    "report": report,
    "explore": explore,
}


def main(names: list[str]) -> None:
    """Make the pictures of these names, or all."""
    for name in names or PICTURES:
        if name not in PICTURES:
            sys.exit(f"expected names of {', '.join(PICTURES)}, found {name}")
        with tempfile.TemporaryDirectory() as folder:
            PICTURES[name](Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
