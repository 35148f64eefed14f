"""Tables of MaxCompute."""
