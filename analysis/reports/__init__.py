"""Reports: one page about one or several runs, or about a training."""
