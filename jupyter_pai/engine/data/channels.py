"""Output channels of jobs. A channel on this machine is the folder that was noted at the submit. It is opened without
following links, because a job in a container could replace it by a link to files outside of the container."""

from __future__ import annotations

from pathlib import Path

from ...core.errors import NotFound
from ...core.i18n import _
from ...jobs.job import Job
from ...jobs.state_dir import Home
from ...storage.base import Storage
from ...storage.local import ChannelStorage, path_of
from .storages import Storages


def channel_uri(job: Job, channel: str) -> str:
    """Return the URI of an output channel.

    Raises:
        NotFound: if the job does not have it.
    """
    if channel not in job.outputs:
        raise NotFound(
            _("Job {job} has no output channel `{name}`.").format(job=job.id, name=channel),
            fix=_("Known are: {names}.").format(names=", ".join(job.outputs)),
        )
    return job.outputs[channel]


def channel_folder(home: Home, job: Job, channel: str) -> Path | None:
    """Return the folder of an output channel on this machine; None if it is elsewhere or the job does not have it."""
    path = path_of(job.outputs.get(channel, ""))
    return path and home.job(job.id).channel(channel, path)


def open_channel(storages: Storages, job: Job, channel: str) -> tuple[Storage, str]:
    """Return the storage of an output channel, and the URI of the channel for it.

    Raises:
        NotFound: if the job does not have it.
        PaiError: if its storage has no account.
    """
    uri = channel_uri(job, channel)
    if folder := channel_folder(storages.profiles.home, job, channel):
        return ChannelStorage(), f"{folder.as_uri()}/"
    return storages.of(uri, job.profile), uri
