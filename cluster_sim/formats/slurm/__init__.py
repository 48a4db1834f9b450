"""Slurm's files: sacct's logs, sacctmgr's accounts, slurm.conf."""
