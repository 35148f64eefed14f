"""Errors, statuses and lists of the official SDK and of the names here are equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...fakes.alibaba import StandIn
from .both_packages import COMMON, Here, both
from .snippet_platforms import IMAGE

pytestmark = pytest.mark.usefixtures("private_ml")

NAMES = """
    import importlib.util
    from PACKAGE.common.oss_utils import OssUriObj, upload
    from PACKAGE.estimator import Estimator
    from PACKAGE.exception import PAIException, UnexpectedStatusException
    from PACKAGE.image import retrieve
    from PACKAGE.job import TrainingJob, TrainingJobStatus
    from PACKAGE.model import InferenceSpec
    from PACKAGE.serializers import JsonSerializer
    from PACKAGE.session import Session, load_default_config_file
    from PACKAGE.tensorboard import TensorBoard

    def estimator(command="true", **more):
        return Estimator(image, command, instance_type="ecs.c6.large", **more)

    # Bad input.
    folder = {"source_dir": "/no/such"}
    results["bad input"] = [kinds(call) for call in (
        lambda: estimator(**folder).fit(), lambda: estimator(git_config={"branch": "main"}).fit(),
        lambda: estimator(git_config={"repo": "ftp://host/name"}).fit(),
        lambda: estimator().fit({"train": "/no/such"}), lambda: estimator().fit({"train": 3}),
        lambda: estimator().fit({}, {"model": 3}), lambda: Session(""), lambda: Session(None),
        lambda: session.is_gpu_training_instance("ecs.none"), lambda: retrieve("Nemo", "latest"),
        lambda: retrieve("nothing", "latest"), lambda: OssUriObj("s3://bucket/key"),
        lambda: OssUriObj("oss://bucket/key").get_uri_with_endpoint(), lambda: upload("/no/such", "key"),
        lambda: upload("/no/such", "key", is_tar=True), lambda: TensorBoard.create("nas://a/b"))]

    # Statuses are texts.
    done = estimator().fit(wait=False)
    done.wait(interval=1, show_logs=False)
    results["done"] = [done.status, done.status == "Succeed", done.status in {"Succeed"}, {"Succeed": 1}[done.status]]
    results["constants"] = [vars(TrainingJobStatus)[name] for name in ("Creating", "Failed", "Terminated")]
    failed = estimator("exit 3")
    try:
        failed.fit(show_logs=False)
    except PAIException as error:
        results["failed"] = [error.status, isinstance(error, UnexpectedStatusException), failed.latest_job.status]

    # Lists.
    ids = [failed.latest_job.training_job_id, done.training_job_id]
    jobs = [job for job in TrainingJob.list(page_size=20) if job.training_job_id in ids]
    results["list"] = [sorted(job.status for job in jobs), sorted(job.is_completed() for job in jobs)]
    results["names"] = {job.training_job_name for job in jobs} == {failed.latest_job.training_job_name,
                                                                   done.training_job_name}
    of_status = TrainingJob.list(status="Failed", page_size=3)
    results["of status"] = {job.status for job in of_status} == {"Failed"} and len(of_status) <= 3
    results["no page"] = len(TrainingJob.list(page_size=20, page_number=500))

    # The file of the SDK.
    session.save_config(arguments["file"])
    results["config"] = [load_default_config_file(arguments["file"]), load_default_config_file("/no/such")]
"""


@pytest.fixture
def here(home: Home, folder: Path, keys: StandIn) -> Here:
    keys.clear()
    return Here(folder, keys)


@pytest.mark.slow("processes")
def test_errors_statuses_and_lists_mean_the_same(here: Here) -> None:
    theirs, ours = both(here, COMMON + NAMES, code="", image=IMAGE, file=str(here.folder / "config.json"))
    for reply in (theirs, ours):
        del reply["output"], reply["requests"]
    assert ours == theirs
