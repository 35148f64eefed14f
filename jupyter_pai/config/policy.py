"""Policy: the administrator's rules for a JupyterHub or a shared machine, from the table `[policy]` of the system's
settings file.

    [policy]
    contact = "ml-ops@example.com"
    local = false
    profiles = ["team"]
    instance_types = ["gpu.large.*", "cpu.small"]
    max_run_time = 86400
    locked = ["team"]

The engine enforces it before packing or sending anything, so no client can bypass it. It applies to users of the
engine; limits of an account belong to the platform's own roles and quotas.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, WithJsonSchema

from ..core.errors import NotAllowed
from ..core.i18n import N_, _, ngettext
from ..core.ownership import Flaw
from ..core.price import Price
from ..core.text import parse_size, show_size
from ..jobs.spec import JobSpec

M = TypeVar("M", bound=BaseModel)
# A price per hour as text: `12.5 CNY`.
PriceLimit = Annotated[
    Price, PlainValidator(Price.parse), PlainSerializer(str, str), WithJsonSchema({"type": "string"})
]
_LOCAL = "local"
_SIZE = r"(?i)^(\d+(\.\d+)?\s*([KMGT]i?)?B?)?$"
# The field of a spec that a rule applies to.
_FIELDS = {
    "backends": "profile", "profiles": "profile", "local": "profile", "instance_types": "instance_type",
    "images": "image", "max_run_time": "max_run_time", "source_limit": "source",
}  # fmt: skip
# Messages by rule.
_REFUSED = {
    "backends": N_("The backend `{value}` is not allowed here."),
    "profiles": N_("The profile `{value}` is not allowed here."),
    "instance_types": N_("The instance type `{value}` is not allowed here."),
    "images": N_("The image `{value}` is not allowed here."),
}


class PolicyRules(BaseModel):
    """The table `[policy]`. A missing list allows everything. Patterns are globs in which `*` also matches slashes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contact: str = Field("", description=N_("Contact for users: a name, an email address or a URL."))
    local: bool = Field(True, description=N_("Allow jobs on the server's own machine."))
    tensorboards: bool = Field(True, description=N_("Allow TensorBoards on the server's own machine."))
    backends: tuple[str, ...] | None = Field(None, description=N_("Allowed backends."))
    profiles: tuple[str, ...] | None = Field(None, description=N_("Allowed profiles."))
    instance_types: tuple[str, ...] | None = Field(None, description=N_("Allowed instance types."))
    images: tuple[str, ...] | None = Field(None, description=N_("Allowed images."))
    locked: tuple[str, ...] = Field((), description=N_("Profiles of the system's file that users may not change."))
    max_run_time: int | None = Field(None, gt=0, description=N_("Maximum run time of a job, in seconds."))
    source_limit: str = Field("", pattern=_SIZE, description=N_("Maximum size of a code folder: `50MB`."))
    jobs_at_a_time: int | None = Field(None, gt=0, description=N_("Maximum number of active jobs per user."))
    price_limit: PriceLimit | None = Field(None, description=N_("Upper bound of a profile's price_limit: `12 CNY`."))
    audit_file: str = Field("", pattern=r"^(/.*)?$", description=N_("File to which an audit log is appended."))
    audit_required: bool = Field(False, description=N_("Reject submits if the audit file cannot be written."))
    strict_state: bool = Field(
        False, description=N_("Reject submits if users of a group could replace the state folder, or others read it.")
    )
    jobs_keep_server: bool = Field(True, description=N_("Count a server with running jobs as active."))


@dataclass(frozen=True)
class Policy:
    """The rules and the file that contains them. Every refusal names the rule and the contact."""

    rules: PolicyRules = field(default_factory=PolicyRules)
    file: Path = Path()

    def check(self, spec: JobSpec, profile: str, backend: str) -> None:
        """Check a spec with its defaults filled in.

        Raises:
            NotAllowed: for the first violated rule.
        """
        self.check_profile(profile, backend)
        for one in spec.by_role.values():
            self._check_lists(instance_types=one.instance_type, images=one.image)
        most = self.rules.max_run_time
        if most and spec.max_run_time and spec.max_run_time > most:
            text = _("Maximum run time exceeded: {seconds} s requested, {most} s allowed.")
            raise self.refusal("max_run_time", text.format(seconds=spec.max_run_time, most=most))

    def check_profile(self, profile: str, backend: str) -> None:
        """Check the profile and backend of a job.

        Raises:
            NotAllowed: if jobs may not use the profile or its backend.
        """
        if backend == _LOCAL and not self.rules.local:
            raise self.refusal("local", _("Jobs are not allowed on this machine."))
        self._check_lists(backends=backend, profiles=profile)

    def _check_lists(self, **values: str) -> None:
        """Check values by the list of the policy that names them. An empty value is not checked."""
        for rule, value in values.items():
            if value and not self.allows(rule, value):
                names = ", ".join(f"`{pattern}`" for pattern in getattr(self.rules, rule)) or _("none")
                allowed = _("Allowed: {names}.").format(names=names)
                raise self.refusal(rule, _(_REFUSED[rule]).format(value=value), allowed)

    def why_not(self, profile: str, backend: str) -> str:
        """Return the reason that jobs may not use a profile, or an empty string."""
        try:
            self.check_profile(profile, backend)
        except NotAllowed as error:
            return str(error)
        return ""

    def check_source(self, size: int) -> None:
        """Check the size of the code in bytes.

        Raises:
            NotAllowed: if it exceeds the limit.
        """
        most = parse_size(self.rules.source_limit) if self.rules.source_limit else size
        if size > most:
            text = _("Code too large: {size}, at most {most} allowed.")
            raise self.refusal("source_limit", text.format(size=show_size(size), most=show_size(most)))

    def check_room(self, jobs: int) -> None:
        """Check the number of active jobs before submitting another one.

        Raises:
            NotAllowed: if the limit is reached.
        """
        most = self.rules.jobs_at_a_time
        if most and jobs >= most:
            text = ngettext(
                "Only {most} active job is allowed here, and {jobs} is active.",
                "Only {most} active jobs are allowed here, and {jobs} are active.",
                most,
            )
            raise self.refusal("jobs_at_a_time", text.format(most=most, jobs=jobs))

    def check_state(self, warnings: Sequence[Flaw]) -> tuple[str, ...]:
        """Return the notes of a submit about the state folder, as `doctor` reports them.

        Raises:
            NotAllowed: for a warning, under the rule `strict_state`.
        """
        if warnings and self.rules.strict_state:
            raise self.refusal("strict_state", warnings[0].text, warnings[0].fix)
        return tuple(flaw.text + " " + flaw.fix for flaw in warnings if not flaw.is_harmless)

    def check_tensorboard(self) -> None:
        """Check that TensorBoards may run on this machine.

        Raises:
            NotAllowed: if they may not.
        """
        if not self.rules.tensorboards:
            raise self.refusal("tensorboards", _("TensorBoards are not allowed on this machine."))

    def check_change(self, profile: str, known: Collection[str]) -> None:
        """Check that users may change a profile. `known` are the profiles of the system's file.

        Raises:
            NotAllowed: if it is locked.
        """
        if profile in self.locked(known):
            raise self.locked_refusal(profile)

    def locked(self, known: Iterable[str]) -> set[str]:
        """Return the profiles that users may not change."""
        return {name for name in known if _matches(name, self.rules.locked)}

    def allows(self, rule: str, value: str) -> bool:
        """Return whether a list of the policy contains a value or is missing."""
        patterns = getattr(self.rules, rule)
        return patterns is None or _matches(value, patterns)

    def capped(self, settings: M) -> M:
        """Return the settings of a profile, limited by the policy."""
        caps: dict[str, Any] = {}
        for key in ("max_run_time", "price_limit"):
            most, own = getattr(self.rules, key), getattr(settings, key, None)
            # A missing or zero run time is unlimited. A zero price is a limit.
            is_open = own is None or (key == "max_run_time" and not own)
            if most is not None and key in type(settings).model_fields and (is_open or _is_above(own, most)):
                caps[key] = most
        return settings.model_copy(update=caps) if caps else settings

    def filled(self, spec: JobSpec, settings: BaseModel) -> JobSpec:
        """Return a spec with the maximum run time filled in: the policy's, if its profile cannot set one. A spec of 0
        takes the one in the profile's file, as limited by the policy, but not the default of the platform."""
        most = self.rules.max_run_time or 0
        if spec.max_run_time == 0:
            is_written = "max_run_time" in settings.model_fields_set
            limit = (getattr(settings, "max_run_time", 0) if is_written else most) or 0
            return spec.model_copy(update={"max_run_time": limit})
        if not most or spec.max_run_time or "max_run_time" in type(settings).model_fields:
            return spec
        return spec.model_copy(update={"max_run_time": most})

    def summary(self) -> str:
        """Return the rules that limit jobs, as written in the file, or an empty string."""
        rules = self.rules.model_dump(exclude_defaults=True, exclude={"contact", "audit_file", "audit_required"})
        return "; ".join(f"{name} = {_word(value)}" for name, value in rules.items())

    def refusal(self, rule: str, text: str, also: str = "") -> NotAllowed:
        """Return the error for a violated rule."""
        whom = self.rules.contact or _("the administrator")
        fix = _("Rule `{rule}` in {file}. Contact: {whom}.").format(rule=rule, file=self.file, whom=whom)
        error = NotAllowed(f"{text} {also}".rstrip(), fix=fix, rule=rule, contact=self.rules.contact)
        return error.at(_FIELDS[rule]) if rule in _FIELDS else error

    def locked_refusal(self, profile: str) -> NotAllowed:
        """Return the error for changing a locked profile."""
        return self.refusal("locked", _("Profile `{name}` is locked and cannot be changed.").format(name=profile))


def _is_above(own: Any, most: Any) -> bool:
    """Return whether a limit exceeds another one. A price in another currency does."""
    return not own.is_within(most) if isinstance(own, Price) else own > most


def _matches(value: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(value, pattern) for pattern in patterns)


def _word(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or _("none")
    return str(value).lower() if isinstance(value, bool) else str(value)
