"""A neighbour: a machine with which this one shares a folder, and on which jobs of jupyter-pai run."""
