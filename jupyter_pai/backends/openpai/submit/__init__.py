"""The submit of a job: checks, the document, and the way of code, inputs and outputs."""
