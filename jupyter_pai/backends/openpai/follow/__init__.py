"""Following jobs: states, instances, logs, events, and jobs submitted elsewhere."""
