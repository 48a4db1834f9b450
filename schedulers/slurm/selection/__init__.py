"""Which nodes a job gets under Slurm, and when."""
