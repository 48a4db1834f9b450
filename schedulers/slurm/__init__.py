"""Slurm's scheduler, by the rules of Slurm 22.05."""
