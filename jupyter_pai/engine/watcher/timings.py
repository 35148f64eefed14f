"""The intervals of the engine, in seconds. Tests pass smaller ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timings:
    """Intervals and timeouts of one engine, in seconds."""

    # Between two polls of a watched job, of all jobs, and after an error.
    watched: float = 0.05
    unwatched: float = 0.25
    retry: float = 1.0
    # Age from which on a watched remote job is polled less often.
    early: float = 3.0
    # The longest interval between two polls of all jobs, however many they are.
    unwatched_max: float = 3.0
    # A poll does not wait longer for jobs with much data; their processing continues in the background.
    poll_patience: float = 0.25
    # The part of the interval that a backend names for two polls of a remote job.
    polls: float = 1.0
    # Minimum age of the data of a remote job before a request refreshes it.
    refresh: float = 1.0
    # The longest wait for fresh data of a platform.
    fresh_timeout: float = 5.0
    # Until a finished job's data is requested again from its platform.
    incomplete_retry: float = 0.5
    # After each lost reply to a submit, the job is searched this long, as the platform's list may lag. Then the request
    # is sent again, unless it was the last one.
    unlisted: tuple[float, ...] = (15.0, 8.0, 4.0, 15.0)
    # A request whose connection broke may be executed this much later.
    executed: float = 2.0
    # After a repeated submit, the wait for a list that has the job.
    settling: float = 10.0
    # Between two looks at what a submit waits for: then, its job says so.
    waits: float = 3.0
    # The age from which on a job whose submit was interrupted, or sent again, is not searched any more.
    unseen: float = 60.0
    # Between two polls of a job that runs on another host.
    other_host: float = 2.0
    # Between two requests for the events, samples, event files and metric points of a remote job. Platforms collect
    # events and samples several times a minute.
    events: float = 10.0
    samples: float = 30.0
    event_files: float = 5.0
    points: float = 30.0
    # Between two sends of metric points to a platform.
    publish: float = 10.0
    # The end of a remote job waits this long for these; then they are requested again after these pauses.
    optional: float = 1.0
    optional_retries: tuple[float, ...] = (0.3, 2.0, 8.0)
    # Without a new line, the log of a finished remote job is complete after this time: platforms collect lines.
    log_quiet: float = 0.4
    # Staged inputs wait this long for their submit.
    staged: float = 600.0
    # Between two searches for runs of workflows that no process conducts, and two checks for a request to stop one.
    runs: float = 3.0
    run_stops: float = 1.0
    # After a temporary error of a step's submit: the first and the longest pause, and the time after which it fails.
    resubmit: float = 1.0
    resubmit_longest: float = 60.0
    resubmit_patience: float = 1800.0
