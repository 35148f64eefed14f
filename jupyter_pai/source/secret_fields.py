"""Scans the fields of a spec for secrets: the command, its arguments, the environment, hyperparameters and labels.

They are stored, displayed, and sent to the platform in clear.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..core.errors import SpecError
from ..core.i18n import _
from ..jobs.spec import JobSpec
from .secret_rules import title
from .secret_scan import find


def check(spec: JobSpec, *, passes_secrets: bool = True) -> tuple[str, ...]:
    """Return a note for each field with a likely secret. `allow_secret` of the source may contain paths of fields, such
    as `environment.NAME`. `passes_secrets`: the backend has another way to pass them.

    Raises:
        SpecError: naming the fields, if one certainly has a secret.
    """
    notes, faults = list[str](), dict[str, str]()
    for path, place, text in _texts(spec):
        leaks = find(text.encode("utf-8", "surrogatepass")) if path not in spec.source.allow_secret else []
        for leak in sorted(leaks, key=lambda leak: not leak.certain)[:1]:
            if leak.certain:
                faults[path] = _("Secret detected in {place} ({kind}).").format(place=place, kind=title(leak.kind))
            else:
                notes.append(_("Possible secret in {place} ({kind}).").format(place=place, kind=title(leak.kind)))
    if faults:
        fix = (
            _(
                "Pass it to the job with --secret NAME instead (store it with %pai secret set NAME), or allow it with "
                "--allow-secret {field}."
            )
            if passes_secrets
            else _("The platform stores and displays it. To send it anyway: --allow-secret {field}.")
        )
        raise SpecError(
            "\n".join(faults.values()),
            fix=fix.format(field=next(iter(faults))),
            faults=faults,
            fields=list(faults),
        )
    return tuple(notes)


def _texts(spec: JobSpec) -> Iterator[tuple[str, str, str]]:
    """Yield the path of each field, its name for users, and its text."""
    yield "command", _("the command"), spec.command
    for number, role in enumerate(spec.roles):
        yield f"roles.{number}.command", _("the command of role `{name}`").format(name=role.name), role.command
    yield "args", _("the arguments"), "\n".join(spec.args)
    named = {
        "environment": (_("environment variable `{name}`"), spec.environment),
        "hyperparameters": (_("hyperparameter `{name}`"), spec.hyperparameters),
        "labels": (_("label `{name}`"), spec.labels),
    }
    for field, (place, values) in named.items():
        for name, value in values.items():
            yield f"{field}.{name}", place.format(name=name), f"{name}={value}\n"
