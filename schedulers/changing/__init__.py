"""Schedulers that change jobs: moldable, malleable, elastic, preemptive."""
