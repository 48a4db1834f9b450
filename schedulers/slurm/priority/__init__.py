"""Slurm's priorities: multifactor, fair share, usage."""
