"""Alibaba Cloud's PAI: training jobs of PaiStudio, version 2022-01-12."""
