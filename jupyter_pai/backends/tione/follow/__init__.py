"""Following tasks: states, instances, logs, events, and tasks submitted elsewhere."""
