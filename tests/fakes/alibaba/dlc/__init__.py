"""Jobs of PAI-DLC: what CreateJob is given really runs, with its roles and its mounts."""
