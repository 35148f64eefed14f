"""Manual checks with a real account, for behaviour that no stand-in can verify.

`%pai doctor --live` lists them. ``docs/unverified.md`` names the assumption and the source of each.
"""

from __future__ import annotations

from ...core.i18n import N_
from ..base import Trial

TRIALS = (
    Trial("doctor", N_("The services take our signatures; region, role and bucket are as they say."),
          N_("`%pai doctor --backend pai`: everything is ok, and the role is the one in PAI's console.")),
    Trial("code", N_("The job finds its code as it was packed, with links, empty folders and modes."),
          N_("Submit a folder with a script, a link and an executable, and let it print `ls -lR`.")),
    Trial("requirements", N_("The service installs requirements.txt before the command runs."),
          N_("Submit with a requirements.txt that names a small package, and import it.")),
    Trial("lookup", N_("A job is found by its label at once after it was made."),
          N_("`%pai submit --backend pai …`, then `%pai adopt`: the new job stands first, with its id here.")),
    Trial("states", N_("Each status of the platform is one that we know."),
          N_("Submit one job that succeeds, one that ends with `exit 3`, one with an image that there is not, and stop "
             "one: `%pai show` gives succeeded, failed, failed and stopped, with the platform's reason.")),
    Trial("logs", N_("Lines of a log come once and in order, from several instances too."),
          N_("Submit `for i in $(seq 100000); do echo $i; done` with two instances; `%pai logs --instance` counts to "
             "100000 for each.")),
    Trial("metrics", N_("The platform reads metrics by our patterns; the units of CPU and memory are as shown."),
          N_("Submit a job that prints `loss=0.5` and keeps one core and 1 GB busy for five minutes; compare the "
             "charts with PAI's console.")),
    Trial("outputs", N_("Outputs and TensorBoard's events are in the bucket while the job runs."),
          N_("Submit a job that writes a file to $PAI_OUTPUT_MODEL and waits; `%pai outputs` lists it meanwhile.")),
    Trial("limit", N_("The platform ends a job after its maximum running time."),
          N_("Submit `sleep 600` with `--max-run-time 60`: it is stopped, and the reason says why.")),
    Trial("machines", N_("Availability, spot discounts and what is free in quotas are as listed."),
          N_("Compare `%pai instances --backend pai` with PAI's console; submit to one that is shown as in use.")),
    Trial("spot", N_("Spot prices match those shown before the submit, and a job with a lower limit waits."),
          N_("Submit `true` with `--option spot.strategy=SpotWithPriceLimit --option spot.discount_limit=0.05`; "
             "compare the note with PAI's console, and stop the job.")),
    Trial("images", N_("Images that are listed can be pulled, also from newer registries."),
          N_("`%pai images PyTorch --version latest --gpu`, and submit with it.")),
    Trial("refusals", N_("Refusals have the codes that we know."),
          N_("Submit with a wrong instance type, a wrong image, more than the quota has, and a name of 300 characters: "
             "each message says what is wrong and what to do.")),
    Trial("tensorboard", N_("A TensorBoard starts, opens and stops; the sixth is refused with the list of the others."),
          N_("Start six on six jobs with event files, and stop them.")),
    Trial("datasets", N_("A job reads a data set of the workspace, and a version of it."),
          N_("Submit `ls /ml/input/data/train` with `--input train=dataset://ID`, then with `?version=NAME` added.")),
    Trial("terminal", N_("A terminal opens in an instance that runs."),
          N_("Submit `sleep 600`, and when it runs: `jupyter pai terminal ID`.")),
    Trial("dsw", N_("In a DSW instance nothing needs to be set."),
          N_("In a new DSW instance, install, and `%pai doctor`: keys, workspace and bucket are found; then submit.")),
)  # fmt: skip
