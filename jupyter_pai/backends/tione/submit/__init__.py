"""Submit: from a spec to `CreateTrainingTask`."""
