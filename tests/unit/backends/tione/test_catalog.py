"""Rows of the platform's lists as instance types, quotas and images."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_pai.backends.tione import images
from jupyter_pai.backends.tione.catalog import PlatformImage, _image, _instance_type, _quota
from jupyter_pai.core.price import Price

_GIB = 1 << 30


@pytest.mark.parametrize(
    ("alias", "sizes"),
    [
        ("8C40G V100*1", (8, 40, 1, "V100")),
        ("8C32GB GPU(T4)*1", (8, 32, 1, "T4")),
        ("8核40GB V100*1", (8, 40, 1, "V100")),
        ("80核358GB 4090D*4", (80, 358, 4, "4090D")),
        ("32C128G T4*1/4", (32, 128, 1, "1/4 T4")),
        ("4C8GB S6", (4, 8, 0, "")),
        ("2核4G", (2, 4, 0, "")),
        ("0.5C1.5G", (0.5, 1.5, 0, "")),
    ],
)
def test_sizes_are_those_of_the_alias(alias: str, sizes: tuple[float, float, int, str]) -> None:
    kind = _instance_type({"SpecName": "TI.X", "SpecAlias": alias}, {})
    assert (kind.cpu, kind.memory / _GIB, kind.gpu, kind.gpu_name) == sizes


@pytest.mark.parametrize(
    ("row", "sizes"),
    [
        ({"SpecName": "TI.GN10.2XLARGE40.POST", "GpuType": "V100"}, (8, 40, 1, "V100")),
        ({"SpecName": "TI.S6.MEDIUM2.POST", "SpecAlias": None}, (2, 2, 0, "")),
        ({"SpecName": "TI.SA2.LARGE8.POST", "SpecAlias": "big"}, (4, 8, 0, "")),
        ({"SpecName": "custom", "SpecType": "GPU-SW", "GpuType": None}, (0, 0, 1, "")),
    ],
)
def test_sizes_without_an_alias_are_those_of_the_name(
    row: dict[str, Any], sizes: tuple[float, float, int, str]
) -> None:
    kind = _instance_type(row, {})
    assert (kind.cpu, kind.memory / _GIB, kind.gpu, kind.gpu_name) == sizes


@pytest.mark.parametrize(("sent", "available"), [(True, True), (False, False), (None, None), ("", None)])
def test_availability_is_unknown_unless_it_is_sent(sent: object, available: bool | None) -> None:
    price = Price(1, "CNY")
    kind = _instance_type({"SpecName": "TI.X", "Available": sent}, {"TI.X": price, "TI.Y": Price(2, "CNY")})
    assert (kind.available, kind.price) == (available, price)


def test_resource_group_with_null_and_text_is_read() -> None:
    row = {"ResourceGroupId": "rsg-1", "ResourceGroupName": None, "UsedResource": None}
    quota = _quota(row | {"TotalResource": {"Cpu": "16000", "Memory": 1024, "Gpu": 250, "GpuDetailSet": None}})
    assert (quota.id, quota.name, quota.cpu, quota.memory, quota.gpu) == ("rsg-1", "", 16, _GIB, 2)
    assert (quota.free_cpu, quota.free_memory, quota.free_gpu) == (16, _GIB, 2)
    nothing = _quota({"ResourceGroupId": "rsg-2", "TotalResource": None, "UsedResource": {"Cpu": 1000}})
    assert (nothing.cpu, nothing.free_cpu) == (0, 0), "never less than nothing"


def test_image_without_modes_is_read() -> None:
    image = _image({"ImageName": "tilearn-py3.10-cpu", "SupportGpuList": None, "ExtraAttributes": None})
    assert (image.modes, image.gpus, image.framework) == ((), (), "")
    shown = images.image_of(image)
    assert (shown.uri, shown.accelerator, shown.python, shown.cuda) == ("tilearn-py3.10-cpu", "CPU", "3.10", "")


def test_image_for_listed_gpus_is_one_for_gpus() -> None:
    image = PlatformImage("angel", "ccr/angel:1", "PYTORCH", "2", (), ("H20",), "")
    assert images.image_of(image).accelerator == "GPU"
