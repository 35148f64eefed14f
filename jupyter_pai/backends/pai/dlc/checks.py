"""The manual checks of `doctor` for PAI-DLC. The automatic ones are those of PAI."""

from __future__ import annotations

from ....cloud.alibaba.openapi import DLC
from ....core.i18n import N_
from ...base import Trial
from ..checks import JobList
from .api import JOBS_PATH

__all__ = ["JOBS", "TRIALS"]

JOBS = JobList(DLC, "ListJobs", JOBS_PATH, N_("jobs"))
"""The list of jobs that is tried."""

# ``docs/unverified.md`` names the assumption and the source of each.
TRIALS = (
    Trial("doctor", N_("The services take our signatures; region, role and bucket are as they say."),
          N_("`%pai doctor --backend dlc`: everything is ok, and the role is the one in PAI's console.")),
    Trial("code", N_("The job finds its code as it was packed, with links, empty folders and modes."),
          N_("Submit a folder with a script, a link and an executable, and let it print `pwd` and `ls -lR`.")),
    Trial("variables", N_("The variables of the contract are set on each node, in each type of job."),
          N_("Submit `env | sort` with three instances for each `--option job_type=TYPE`, and compare with "
             "`docs/contract.md`.")),
    Trial("inputs", N_("OSS, NAS, CPFS and dataset inputs are where the job expects them, folders and files."),
          N_("Submit `ls -l /ml/input/data/train` with `--input train=URI` for each kind that the account has.")),
    Trial("outputs", N_("Outputs are in the bucket, and TensorBoard's events while the job runs."),
          N_("Submit a job that writes a file to $PAI_OUTPUT_MODEL and waits; `%pai outputs` lists it meanwhile.")),
    Trial("lookup", N_("A job is found by its name and by its tag at once after it was made."),
          N_("`%pai submit --backend dlc …`, then `%pai adopt`: the new job is listed first, with its id here.")),
    Trial("states", N_("Each status of the platform is one that we know."),
          N_("Submit one job that succeeds, one that ends with `exit 3`, one with an image that does not exist, and "
             "stop one: `%pai show` gives succeeded, failed, failed and stopped, with the platform's reason.")),
    Trial("logs", N_("Lines of a log come once and in order, from several instances too, and after the job's end."),
          N_("Submit `for i in $(seq 20000); do echo $i; [ $((i % 500)) != 0 ] || sleep 1; done` with two instances; "
             "`%pai logs --instance NAME` counts to 20000 for each, also a day later.")),
    Trial("restarts", N_("The log of an instance that was started again continues with that of its new pod."),
          N_("Submit `echo $(date); sleep 5; exit 1` with `--option restart_policy=OnFailure`: the log has each "
             "attempt.")),
    Trial("metrics", N_("The units of CPU and memory are as shown."),
          N_("Submit a job that keeps one core and 1 GB busy for five minutes; compare the charts with the console.")),
    Trial("limit", N_("A job ends after its maximum run time."),
          N_("Submit `sleep 600` with `--max-run-time 60`: it is stopped, and the reason says why.")),
    Trial("quota", N_("A job in a quota gets its sizes, and waits if the quota is used up."),
          N_("Submit `nproc; free -g` with `--option resource_id=ID --cpu 2 --memory 4GiB`; compare with the quota.")),
    Trial("spot", N_("Spot prices match those shown before the submit, and a job with a lower limit waits."),
          N_("Submit `true` with `--option spot.strategy=SpotWithPriceLimit --option spot.discount_limit=0.05`; "
             "compare the note with PAI's console, and stop the job.")),
    Trial("tensorboard", N_("A TensorBoard starts, opens and stops."),
          N_("Start one on a job with event files, and stop it.")),
    Trial("models", N_("The model of a job is registered in the workspace, and deleted."),
          N_("Run `%pai models register NAME --job ID`; compare with the console; delete it.")),
    Trial("refusals", N_("Refusals have the codes that we know."),
          N_("Submit with a wrong instance type, a wrong image, a folder that does not exist, and a wrong quota: each "
             "message says what is wrong and what to do.")),
    Trial("terminal", N_("A terminal opens in a running instance."),
          N_("Submit `sleep 600`, and when it runs: `jupyter pai terminal ID`.")),
    Trial("pipelines", N_("PAI's pipelines accept an exported workflow."),
          N_("Run `%pai workflow export FILE --format paiflow`, and create a pipeline of the file in PAI's console.")),
)  # fmt: skip
