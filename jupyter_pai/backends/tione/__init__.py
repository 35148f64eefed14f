"""The `tione` backend: training tasks of Tencent Cloud TI-ONE."""
