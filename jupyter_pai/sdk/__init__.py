"""The PAI SDK's own names over this engine: `estimator`, `job`."""
