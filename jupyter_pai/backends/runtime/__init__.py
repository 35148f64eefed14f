"""The code that runs inside of jobs."""

# The client of another SDK, in a job: its file in this package, and the module that a job imports it as.
CLIENT_IN_JOB = ("sdk/tikit/in_job.py", "sdk/tikit/client.py")
