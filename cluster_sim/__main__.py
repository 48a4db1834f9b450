"""``python -m cluster_sim`` is the command ``cluster-sim``."""

from __future__ import annotations

from cluster_sim.cli import main

if __name__ == "__main__":
    main()
