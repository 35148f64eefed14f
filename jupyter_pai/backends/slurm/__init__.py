"""The `slurm` backend: jobs on a Slurm cluster that shares a folder with this machine."""
