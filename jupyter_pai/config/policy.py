"""Policy: what the administrator of a JupyterHub or a shared machine allows, from the table `[policy]` of the system's
settings file.

    [policy]
    contact = "ml-ops@example.com"
    local = false
    profiles = ["team"]
    instance_types = ["ecs.g7.*", "ecs.gn6i-c4g1.xlarge"]
    max_run_time = 86400
    locked = ["team"]

It is asked by the engine, before anything is packed or sent: no page and no line can do without it. It binds those who
use the engine; what an account may do at all is for the platform's own roles and quotas to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ..core.errors import NotAllowed
from ..core.i18n import N_, _, ngettext
from ..core.sizes import parse_size, show_size
from ..jobs.spec import JobSpec

__all__ = ["Policy", "PolicyRules"]

M = TypeVar("M", bound=BaseModel)
_LOCAL = "local"
_SIZE = r"(?i)^(\d+(\.\d+)?\s*([KMGT]i?)?B?)?$"
# The field of a spec that a rule is about.
_FIELDS = {
    "backends": "profile", "profiles": "profile", "local": "profile", "instance_types": "instance_type",
    "images": "image", "max_run_time": "max_run_time", "source_limit": "source",
}  # fmt: skip
# What is refused, by the rule that refuses it.
_REFUSED = {
    "backends": N_("The backend `{value}` is not allowed here."),
    "profiles": N_("The profile `{value}` is not allowed here."),
    "instance_types": N_("The instance type `{value}` is not allowed here."),
    "images": N_("The image `{value}` is not allowed here."),
}


class PolicyRules(BaseModel):
    """The table `[policy]`. A list that is not there allows everything; patterns are globs, in which `*` stands for any
    letters, also for slashes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    contact: str = Field("", description=N_("Whom users are to ask: a name, an address, a page."))
    local: bool = Field(True, description=N_("Whether jobs may run on the machine of the server itself."))
    tensorboards: bool = Field(True, description=N_("Whether TensorBoards may run on the machine of the server."))
    backends: tuple[str, ...] | None = Field(None, description=N_("The backends that jobs may go to."))
    profiles: tuple[str, ...] | None = Field(None, description=N_("The profiles that jobs may go with."))
    instance_types: tuple[str, ...] | None = Field(None, description=N_("The instance types that jobs may name."))
    images: tuple[str, ...] | None = Field(None, description=N_("The images that jobs may name."))
    locked: tuple[str, ...] = Field((), description=N_("Profiles of the system's file that users may not change."))
    max_run_time: int | None = Field(None, gt=0, description=N_("The longest run time of a job, in seconds."))
    source_limit: str = Field("", pattern=_SIZE, description=N_("The largest folder of code: `50MB`."))
    jobs_at_a_time: int | None = Field(None, gt=0, description=N_("Jobs of one user that have not ended."))
    price_limit: float | None = Field(None, ge=0, description=N_("The highest price_limit that a profile may have."))
    audit_file: str = Field("", pattern=r"^(/.*)?$", description=N_("Who did what is appended to this file."))
    audit_required: bool = Field(
        False, description=N_("Whether nothing is submitted while that file cannot be written.")
    )
    jobs_keep_server: bool = Field(True, description=N_("Whether a server on which jobs run counts as active."))


@dataclass(frozen=True)
class Policy:
    """Rules, and the file that they stand in. Every refusal names the rule, and whom to ask."""

    rules: PolicyRules = field(default_factory=PolicyRules)
    file: Path = Path()

    def check(self, spec: JobSpec, profile: str, backend: str) -> None:
        """Look at a spec with its defaults filled in.

        Raises:
            NotAllowed: for the first rule that is broken.
        """
        self.check_profile(profile, backend)
        for rule, value in (("instance_types", spec.instance_type), ("images", spec.image)):
            if value and not self.allows(rule, value):
                raise self._not_among(rule, value)
        most = self.rules.max_run_time
        if most and spec.max_run_time and spec.max_run_time > most:
            text = _("A run time of {seconds} s is not allowed here: the longest is {most} s.")
            raise self.refusal("max_run_time", text.format(seconds=spec.max_run_time, most=most))

    def check_profile(self, profile: str, backend: str) -> None:
        """
        Raises:
            NotAllowed: if no job may go with this profile, or to its backend.
        """
        if backend == _LOCAL and not self.rules.local:
            raise self.refusal("local", _("Jobs may not run on this machine itself."))
        for rule, value in (("backends", backend), ("profiles", profile)):
            if not self.allows(rule, value):
                raise self._not_among(rule, value)

    def why_not(self, profile: str, backend: str) -> str:
        """Why no job may go with this profile; empty where jobs may."""
        try:
            self.check_profile(profile, backend)
        except NotAllowed as error:
            return str(error)
        return ""

    def check_source(self, size: int) -> None:
        """
        Raises:
            NotAllowed: if so many bytes of code are too many.
        """
        most = parse_size(self.rules.source_limit) if self.rules.source_limit else size
        if size > most:
            text = _("Code of {size} is not allowed here: the most is {most}.")
            raise self.refusal("source_limit", text.format(size=show_size(size), most=show_size(most)))

    def check_room(self, jobs: int) -> None:
        """
        Raises:
            NotAllowed: if one job more than so many that have not ended is too many.
        """
        most = self.rules.jobs_at_a_time
        if most and jobs >= most:
            text = ngettext(
                "Only {most} job at a time is allowed here, and {jobs} has not ended.",
                "Only {most} jobs at a time are allowed here, and {jobs} have not ended.",
                most,
            )
            raise self.refusal("jobs_at_a_time", text.format(most=most, jobs=jobs))

    def check_tensorboard(self) -> None:
        """
        Raises:
            NotAllowed: if no TensorBoard may run on the machine of the server.
        """
        if not self.rules.tensorboards:
            raise self.refusal("tensorboards", _("TensorBoards may not run on this machine."))

    def check_change(self, profile: str, known: Collection[str]) -> None:
        """
        Raises:
            NotAllowed: if users may not change a profile; `known` are those of the system's file.
        """
        if profile in self.locked(known):
            raise self.locked_refusal(profile)

    def locked(self, known: Iterable[str]) -> set[str]:
        """Those of these profiles that users may not change."""
        return {name for name in known if _matches(name, self.rules.locked)}

    def allows(self, rule: str, value: str) -> bool:
        """Whether a list of the policy has this, or does not exist."""
        patterns = getattr(self.rules, rule)
        return patterns is None or _matches(value, patterns)

    def capped(self, settings: M) -> M:
        """Settings of a profile that go no further than the policy: what they leave open it sets."""
        caps: dict[str, Any] = {}
        for key in ("max_run_time", "price_limit"):
            most, own = getattr(self.rules, key), getattr(settings, key, None)
            # No run time and one of 0 mean that there is no limit; a price of 0 is one.
            is_open = own is None or (key == "max_run_time" and not own)
            if most is not None and key in type(settings).model_fields and (is_open or own > most):
                caps[key] = most
        return settings.model_copy(update=caps) if caps else settings

    def filled(self, spec: JobSpec, settings: BaseModel) -> JobSpec:
        """A spec with the longest run time, where it has none and its profile cannot set one."""
        most = self.rules.max_run_time
        if not most or spec.max_run_time or "max_run_time" in type(settings).model_fields:
            return spec
        return spec.model_copy(update={"max_run_time": most})

    def summary(self) -> str:
        """The rules that limit jobs, as they stand in the file; empty where none does."""
        told = self.rules.model_dump(exclude_defaults=True, exclude={"contact", "audit_file", "audit_required"})
        return "; ".join(f"{name} = {_word(value)}" for name, value in told.items())

    def refusal(self, rule: str, text: str, also: str = "") -> NotAllowed:
        """The error for a rule that is broken."""
        whom = self.rules.contact or _("whoever looks after this machine")
        fix = _("This is the rule `{rule}` of {file}. Ask {whom}.").format(rule=rule, file=self.file, whom=whom)
        error = NotAllowed(f"{text} {also}".rstrip(), fix=fix, rule=rule, contact=self.rules.contact)
        return error.at(_FIELDS[rule]) if rule in _FIELDS else error

    def locked_refusal(self, profile: str) -> NotAllowed:
        """The error for a profile that users may not change."""
        return self.refusal(
            "locked", _("The profile `{name}` is locked: users may not change it.").format(name=profile)
        )

    def _not_among(self, rule: str, value: str) -> NotAllowed:
        names = ", ".join(f"`{pattern}`" for pattern in getattr(self.rules, rule)) or _("none")
        return self.refusal(rule, _(_REFUSED[rule]).format(value=value), _("Allowed are: {names}.").format(names=names))


def _matches(value: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(value, pattern) for pattern in patterns)


def _word(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or _("none")
    return str(value).lower() if isinstance(value, bool) else str(value)
