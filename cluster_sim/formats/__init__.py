"""File formats: one module each, for platforms and for workloads; ``atomic`` and ``files`` serve them all."""
