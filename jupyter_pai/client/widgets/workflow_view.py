"""`WorkflowWidget`: the live view of a run of a workflow, for a page without our extension."""

from __future__ import annotations

import traitlets

from ..base import Client
from .job_view import PageWidget

# The verbs that the page of a run calls.
_VERBS = frozenset("show_workflow stop_workflow resume_workflow delete_workflow".split())


class WorkflowWidget(PageWidget):
    """The view of a run in our JupyterLab extension. The page draws no graphs, so it shows the table of the steps."""

    workflow = traitlets.Unicode().tag(sync=True)

    def __init__(self, run_id: str, snapshot: str, client: Client) -> None:
        super().__init__("view", client, _VERBS.__contains__, workflow=run_id, snapshot=snapshot)
