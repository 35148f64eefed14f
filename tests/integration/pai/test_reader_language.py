"""Notes and reasons of jobs on a platform are in the language of their reader; texts of the platform are unchanged."""

from __future__ import annotations

import re
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.i18n import use_language

from ...conftest import submit
from ...fakes.alibaba import StandIn
from .conftest import IMAGE, write_profile

SPOT = {"spot": {"strategy": "SpotWithPriceLimit", "discount_limit": 0.1}}
CHINESE = re.compile("[\u4e00-\u9fff]")
ENGLISH = re.compile(r"\b(?:the|is|of|and|with|runs|cores|GPUs|machine)\b")
LANGUAGES = ("en", "zh-CN")


def read(engine: EmbeddedClient, job: str, language: str) -> dict[str, Any]:
    with use_language(language):
        return dict(engine.call("show", job=job))


@pytest.mark.parametrize("writer", LANGUAGES)
def test_notes_on_cost_and_machine_are_in_the_language_of_the_reader(
    engine: EmbeddedClient, pai: StandIn, writer: str
) -> None:
    write_profile(pai, max_run_time=3600)
    with use_language(writer):
        spec = {"name": "x", "command": "true", "profile": "pai", "source": {"files": {"a": ""}}, "cpu": 3, "gpu": 1}
        job = engine.submit(spec | {"options": SPOT}, confirmed=True)["job"]["id"]
    english, chinese = (read(engine, job, language)["notes"] for language in LANGUAGES)
    assert len(english) == len(chinese) == 3  # Cost, machine, spot price.
    assert [note for note in english if CHINESE.search(note)] == []
    assert [note for note in chinese if ENGLISH.search(note)] == []


@pytest.mark.parametrize("writer", LANGUAGES)
def test_reason_of_an_instance_is_in_the_language_of_the_reader(engine: EmbeddedClient, writer: str) -> None:
    with use_language(writer):
        job = submit(engine, "[ $RANK = 0 ] || exit 7; sleep 1000", instance_count=2).wait()
    assert read(engine, job.id, "en")["reason"] == "worker-1: The command ended with exit code 7."
    assert read(engine, job.id, "zh-CN")["reason"] == "worker-1: 命令以退出码 7 结束。"


@pytest.mark.parametrize("writer", LANGUAGES)
def test_message_of_the_platform_is_unchanged(engine: EmbeddedClient, pai: StandIn, writer: str) -> None:
    with use_language(writer):
        job = submit(engine, "true", profile="pai", image=f"{IMAGE}-no-such-tag").wait()
    english, chinese = (read(engine, job.id, language) for language in LANGUAGES)
    assert "no-such-tag" in english["reason"]
    assert english["reason"] == chinese["reason"]
    assert (CHINESE.search(english["fix"]), bool(CHINESE.search(chinese["fix"]))) == (None, True)
