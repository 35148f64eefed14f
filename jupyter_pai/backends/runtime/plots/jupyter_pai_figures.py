"""A backend of matplotlib that keeps each shown figure in the output channel `figures`.

Selected by MPLBACKEND in jobs, which have no display. Imports only matplotlib, so it works with any interpreter.
`plt.show()` writes ``figure-1.png``, ``figure-2.png``, … and closes the figures, as after their windows are closed.
"""

from __future__ import annotations

import io
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

__all__ = ["FigureCanvas", "FigureManager"]


class FigureManager(FigureManagerBase):
    """Keeps one figure."""

    path: Path | None = None

    def show(self) -> None:
        """Write the figure to the channel, again if it is shown again."""
        picture = io.BytesIO()
        self.canvas.figure.savefig(picture, format="png")
        self.path = self.path or _new_file()
        self.path.write_bytes(picture.getbuffer())

    @classmethod
    def pyplot_show(cls, *_args: Any, **_options: Any) -> None:
        """Keep all open figures and close them: `plt.show()`."""
        for manager in Gcf.get_all_fig_managers():
            manager.show()
        Gcf.destroy_all()


def _new_file() -> Path:
    """Create a file. Other processes of the job may show figures too."""
    folder = Path(os.environ.get("PAI_OUTPUT_FIGURES", "."))
    folder.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        path = folder / f"figure-{number}.png"
        with suppress(FileExistsError):
            path.open("xb").close()
            return path
        number += 1


class FigureCanvas(FigureCanvasAgg):
    """Draws as PNG."""

    manager_class = FigureManager
