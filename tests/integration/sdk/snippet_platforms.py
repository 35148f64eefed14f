"""The platforms of the seeds' snippets: this machine, and the stand-in of PAI. Placeholders are filled in."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from jupyter_pai.config.toml_file import user_file

from ...fakes.alibaba import StandIn

__all__ = ["CODE", "IMAGE", "SnippetPlatform", "copy_snippet"]

CODE = Path(__file__).parent / "code"
IMAGE = "registry.cn-shanghai.aliyuncs.com/pai-dlc/pytorch-training:1.12-cpu-py39-ubuntu20.04"
# The names of the seeds' inputs.
_DATA = ("path/to/train/data/a.csv", "train/data/train.csv", "test/data/test.csv", "path-to-data/b.csv")
_ASKED_FOR = 'retrieve("PyTorch", accelerator_type="GPU").image_uri'


def copy_snippet(folder: Path, snippet: str, name: str) -> None:
    """Copy a snippet into a folder under the name that the seed uses."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(CODE / f"{snippet}.py", folder / name)


@dataclass
class SnippetPlatform:
    """A platform of the snippets; `pai` is None on this machine."""

    folder: Path
    pai: StandIn | None = None

    def __post_init__(self) -> None:
        profile = self._profile()
        user_file().parent.mkdir(parents=True, exist_ok=True)
        user_file().write_text("\n".join(profile) + "\n", "utf-8")
        for name in _DATA:
            if self.pai:
                self.pai.objects.write(name, b"1,2\n")
            else:
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_text("1,2\n")

    def _profile(self) -> list[str]:
        """Return the settings of a user. On this machine jobs run without images."""
        local = ["[profiles.local]", 'backend = "local"', 'container = "none"']
        if not self.pai:
            return local
        keys = {"backend": "pai", **self.pai.settings(), "default_instance_type": "ecs.c6.large"}
        keys["default_image"] = IMAGE
        pai = ["[profiles.pai]", *(f'{name} = "{value}"' for name, value in keys.items())]
        return ['default = "pai"', *pai, *local]

    def filled(self, snippet: str, **more: str) -> str:
        """A snippet with its placeholders filled in."""
        words = {"<LaunchCommand>": "python train.py", "<SourceCodeDirectory>": "train_src"}
        if self.pai:
            words |= {"<TrainingImageUri>": IMAGE, "<TrainingImageUir>": IMAGE, "<YourOssBucket>": self.pai.bucket}
            words |= {"<TrainingInstanceType>": "ecs.c6.large", "<BucketName>": self.pai.bucket}
        else:
            words |= {"oss://<YourOssBucket>/": "", "<TrainingInstanceType>": "local"}
            words |= {"oss://<BucketName>/": "", _ASKED_FOR: '"torch_image_uri"'}
        text = (CODE / f"{snippet}.py").read_text("utf-8")
        for word, value in (words | more).items():
            text = text.replace(word, value)
        return text

    def run(self, *snippets: str, **more: str) -> str:
        """Run snippets that submit a job, as cells of one notebook, and return the printed text."""
        code = "\n".join(self.filled(snippet, **more) for snippet in snippets)
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def is_model(self, uri: str) -> bool:
        """Return whether the URI is the output folder of a job's channel."""
        return uri.startswith(f"oss://{self.pai.bucket}") if self.pai else Path(uri).is_dir()
