"""How fast the simulator is, as ratios measured within one run, and where its time goes: ``python -m benchmarks``."""
