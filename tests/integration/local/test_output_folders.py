"""Two jobs do not share a folder for outputs, unless their user names it for both and agrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import Unconfirmed

from ...conftest import submit

WRITE = "echo {} > $PAI_OUTPUT_MODEL/m"


def test_output_path_that_is_given_twice_keeps_both_models(engine: EmbeddedClient, tmp_path: Path) -> None:
    path = str(tmp_path / "out")
    jobs = [submit(engine, WRITE.format(n), output_path=path, name="a/b").wait() for n in (1, 2)]
    assert [job.read_file("m") for job in jobs] == [b"1\n", b"2\n"]
    assert all(job.outputs["model"].startswith((tmp_path / "out" / "a_b-").as_uri()) for job in jobs)
    again = jobs[0].rerun().wait()
    assert [job.read_file("m") for job in (*jobs, again)] == [b"1\n", b"2\n", b"1\n"]
    assert len(list((tmp_path / "out").iterdir())) == 3
    assert f'"output_path": "{path}/"' in engine.call("code", job=again.id)["json"]


def test_output_path_in_the_folder_of_code_is_not_packed(engine: EmbeddedClient, folder: Path) -> None:
    (folder / "a.py").write_text("1")
    for _n in range(2):
        job = submit(engine, "ls; " + WRITE.format(1), folder, output_path="out").wait()
        assert job.logs() == "a.py\n"
    assert len(list((folder / "out").iterdir())) == 2


@pytest.mark.parametrize("exact", [False, True], ids=["channel", "code-layout"])
def test_folder_that_is_named_for_two_jobs_is_a_question(engine: EmbeddedClient, tmp_path: Path, exact: bool) -> None:
    named: dict[str, Any] = {"outputs": {"model": str(tmp_path / "out/model")}}
    if exact:
        named = {"output_path": str(tmp_path / "out"), "layout": "code"}
    first = submit(engine, WRITE.format(1), **named).wait()
    with pytest.raises(Unconfirmed, match=f"The outputs of {first.id} are in .*/out/model/, and may be overwritten"):
        submit(engine, WRITE.format(2), **named)
    with pytest.raises(Unconfirmed, match=first.id):
        submit(engine, WRITE.format(2), outputs={"other": (tmp_path / "out/model").as_uri()})
    with pytest.raises(Unconfirmed, match=first.id):
        first.rerun()
    assert first.read_file("m") == b"1\n"
    second = submit(engine, WRITE.format(2), **named, confirmed=True).wait()
    assert second.read_file("m") == b"2\n"
    assert [note for note in second.info["notes"] if first.id in note]
    first.delete()
    second.delete()
    submit(engine, WRITE.format(3), **named).wait()
