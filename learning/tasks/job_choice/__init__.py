"""JobChoice: choose the next job, with backfilling behind it (Zhang et al. 2020)."""
