"""The slow modules of a first submit: imported when a kernel loads the extension, if a profile of PAI exists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from jupyter_pai.jobs.state_dir import Home

from ...conftest import until
from ...fakes.alibaba import StandIn
from ..server.conftest import server  # noqa: F401  a fixture
from ..server.real_server import RealServer


def test_loading_the_extension_preloads_the_modules_of_a_submit(
    pai: StandIn,
    server: RealServer,  # noqa: F811
) -> None:
    maps = Path(f"/proc/{server.process.pid}/maps")
    assert "anycrc" not in maps.read_text()
    server.notebook().run("%load_ext jupyter_pai")
    until(lambda: "anycrc" in maps.read_text())


def test_nothing_is_preloaded_without_a_profile(home: Home, tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from jupyter_pai.config.toml_file import user_file
        from jupyter_pai.engine.service import JobService

        service = JobService()
        service.preload()
        print("oss2" in sys.modules, "httpx" in sys.modules)
        user_file().parent.mkdir(parents=True, exist_ok=True)
        user_file().write_text('[profiles.mine]\\nbackend = "pai"\\nregion_id = "cn-hangzhou"\\n')
        user_file().chmod(0o600)
        service.preload()
        print("oss2" in sys.modules, "httpx" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True", "True"]
