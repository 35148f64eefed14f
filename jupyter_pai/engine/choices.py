"""The values that a platform has for the fields of a form, such as queues or quotas."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ..backends import load_backends
from ..backends.resources import Choice
from ..config.settings import Profile
from ..core.errors import EngineError, NotFound, PaiError, Unreachable
from ..core.field_errors import form_schema, picked_fields
from ..core.i18n import _
from ..jobs.choices import StoredChoices, store_choices, stored_choices
from .profiles import Profiles

# Stored values of a list, and characters of a description.
_MOST, _LONGEST = 1000, 200
# Lists that a rule of the policy of the same name filters.
_RULES = ("instance_types", "images")


class ChoiceList(NamedTuple):
    """The values of a list and its age in seconds; None if there never was one. `trouble` is the reason that it is not
    current. `left_out` is the number of values that the policy excludes."""

    choices: Sequence[Choice]
    age: float | None
    trouble: PaiError | None
    left_out: int


class Choices:
    """Lists of platforms, stored by profile. For `fresh` seconds, a list is not requested again. A platform may take
    `timeout` seconds."""

    def __init__(self, profiles: Profiles, fresh: float = 60.0, timeout: float = 10.0) -> None:
        self.profiles = profiles
        self.folder = profiles.home.choices
        self.fresh, self.timeout = fresh, timeout
        self._locks: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, profile: Profile, name: str, *, refresh: bool = False) -> ChoiceList:
        """Return a list of a profile's platform. If the platform does not return it, return the last one and the error.

        `refresh` requests a list that is still fresh.

        Raises:
            NotFound: if no field is picked from a list of this name.
        """
        kind = load_backends()[profile.backend]
        options = picked_fields(form_schema(kind.options_model))
        settings = picked_fields(form_schema(kind.settings_model))
        if name not in options | settings:
            known = ", ".join(sorted(options | settings))
            raise NotFound(
                _("The backend `{backend}` has no list `{name}`.").format(backend=kind.name, name=name),
                fix=_("Known are: {names}.").format(names=known),
            )
        account = hashlib.sha256(profile.settings.model_dump_json().encode()).hexdigest()
        asked, trouble = time.time(), None
        async with self._locks[profile.name, name]:
            last = stored_choices(self.folder, profile.name, account).get(name)
            # Another request may have refreshed the list meanwhile. A list from the future is old: clocks are set back.
            oldest = asked if refresh else asked - self.fresh
            if not last or not oldest < last.time <= time.time():
                try:
                    values = await self._fetch(profile, name)
                except PaiError as error:
                    trouble = error
                else:
                    allowed = self._allowed(name, values)
                    counts = (len(values) - len(allowed), options.get(name, []), settings.get(name, []))
                    last = StoredChoices(time.time(), allowed, *counts)
                    with suppress(OSError):  # A full disk.
                        store_choices(self.folder, profile.name, account, name, last)
        if not last:
            return ChoiceList((), None, trouble, 0)
        # The policy may have changed since.
        allowed = self._allowed(name, last.choices)
        left_out = last.left_out + len(last.choices) - len(allowed)
        age = max(time.time() - last.time, 0.0)
        return ChoiceList([Choice(*one) for one in allowed.items()], age, trouble, left_out)

    async def _fetch(self, profile: Profile, name: str) -> dict[str, str]:
        try:
            async with asyncio.timeout(self.timeout):
                found = await self.profiles.backend(profile).choices(name)
        except TimeoutError:
            text = _("The platform of profile `{name}` does not respond.").format(name=profile.name)
            raise Unreachable(text, fix=_("Try again.")) from None
        except PaiError:
            raise
        except Exception as error:  # A plug-in may raise any error.
            raise EngineError(f"{type(error).__name__}: {error}") from None
        return {one.value: one.label[:_LONGEST] for one in found[:_MOST]}

    def _allowed(self, name: str, values: Mapping[str, str]) -> dict[str, str]:
        policy = self.profiles.policy()
        return {value: label for value, label in values.items() if name not in _RULES or policy.allows(name, value)}
