"""Output channels of jobs. A channel on this machine is the folder that was noted at the submit. It is opened without
following links, because a job in a container could replace it by a link to files outside of the container."""

from __future__ import annotations

from pathlib import Path

from ...core.errors import NotFound
from ...core.file_uri import path_of, uri_of
from ...core.i18n import _
from ...jobs.job import Job
from ...jobs.state_dir import Home
from ...storage.local import ChannelStorage
from .storages import Location, Storages


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


def open_channel(storages: Storages, job: Job, channel: str) -> Location:
    """Return the location of an output channel.

    Raises:
        NotFound: if the job does not have it.
        PaiError: if its storage has no account.
    """
    uri = channel_uri(job, channel)
    if folder := channel_folder(storages.profiles.home, job, channel):
        return Location(ChannelStorage(), uri_of(folder, folder=True))
    return storages.at(uri, job.profile)
