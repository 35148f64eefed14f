"""What the verbs of the grammar do with data in storages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..client.transfers import finish_copy, progress_printer
from ..core.errors import Conflict
from ..core.i18n import _, ngettext
from ..core.sizes import show_size
from ..core.text import plain
from .disk import Room
from .parser.parser import Options

__all__ = ["Storehouse", "moment"]


class Storehouse(Room):
    """One method for each verb."""

    def ls(self, options: Options) -> None:
        found = self.client.call(
            "list_data",
            uri=self._uri(options.uri),
            limit=options.limit,
            recursive=options.recursive,
            profile=options.profile,
        )
        if self._say_json(found, options):
            return
        rows = [
            (
                plain(entry["path"]),
                entry["problem"] or ("" if entry["is_folder"] else show_size(entry["bytes"])),
                moment(entry["modified"]),
            )
            for entry in found["entries"]
        ]
        if rows:
            self.screen.table((found["uri"], _("size"), _("written")), rows)
        else:
            self.screen.say(_("{uri} is empty.").format(uri=found["uri"]))
        if found["more"]:
            self.screen.say(_("There is more: --limit N."))

    def put(self, options: Options) -> None:
        path = self.place.path(options.path)
        copy = self._copy("put_data", self._uri(options.uri), path, options)
        if not self._say_json(copy, options):
            self._say_done(copy, copy["uri"])

    def get(self, options: Options) -> None:
        folder = self.place.path(options.folder)
        copy = self._copy("get_data", self._uri(options.uri), folder, options)
        if not self._say_json(copy, options):
            self._say_done(copy, str(folder))

    def mv(self, options: Options) -> None:
        body = {"uri": self._uri(options.uri), "to": self._uri(options.to), "profile": options.profile}
        progress = None if options.json else self.progress()
        copy = self._finish(self.client.call("rename_data", body=body), progress)
        if not self._say_json(copy, options):
            said = ngettext("{n} file was moved: {place}", "{n} files were moved: {place}", copy["files"])
            self.screen.say(said.format(n=copy["files"], place=copy["folder"]))

    def rm(self, options: Options) -> None:
        uri = self._uri(options.uri)
        if not options.yes:
            size = self.client.call("measure_data", uri=uri, profile=options.profile)
            if not self.screen.ask(_question(uri, size)):
                return
        copy = self._finish(self.client.call("remove_data", uri=uri, profile=options.profile))
        if not self._say_json(copy, options):
            said = ngettext("{n} file was removed.", "{n} files were removed.", copy["files"])
            self.screen.say(said.format(n=copy["files"]))

    def mkdir(self, options: Options) -> None:
        body = {"uri": self._uri(options.uri), "profile": options.profile}
        made = self.client.call("make_data_folder", body=body)
        if not self._say_json(made, options):
            self.screen.say(made["uri"])

    def _uri(self, text: str) -> str:
        """A URI, or that of a path."""
        return text if "://" in text else self.place.path(text).as_uri() + "/" * text.endswith("/")

    def _copy(self, verb: str, uri: str, path: Path, options: Options) -> dict[str, Any]:
        """Copy; before files are replaced, who can be asked is asked."""
        body = {"uri": uri, "path": str(path), "overwrite": options.overwrite, "profile": options.profile}
        try:
            copy = self.client.call(verb, body=body)
        except Conflict as error:
            if not error.details.get("files") or options.overwrite or not self.screen.can_ask:
                raise
            if not self.screen.ask(_("{what} Replace it?").format(what=error.message)):
                raise
            copy = self.client.call(verb, body=body | {"overwrite": True})
        return self._finish(copy, None if options.json else self.progress())

    def _finish(self, copy: dict[str, Any], progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
        return finish_copy(lambda verb, number: self.client.call(verb, copy=number), copy, progress)

    def progress(self) -> Callable[[int, int], None]:
        """Says how far a copy is that takes long."""
        return progress_printer(self.screen.say)

    def _say_done(self, copy: dict[str, Any], place: str) -> None:
        said = ngettext("{n} file, {size}: {place}", "{n} files, {size}: {place}", copy["files"])
        self.screen.say(said.format(n=copy["files"], size=show_size(copy["bytes"]), place=place))
        if copy["left_out"]:
            self.screen.say(_("Left out, since they cannot be read: {n}.").format(n=copy["left_out"]))

    def _say_json(self, value: object, options: Options) -> bool:
        if options.json:
            self.screen.say(json.dumps(value, ensure_ascii=False, indent=1))
        return bool(options.json)


def moment(seconds: float) -> str:
    """A time for people; a dash for none."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) if seconds else "-"


def _question(uri: str, size: dict[str, Any]) -> str:
    if not size["is_folder"]:
        return _("Remove {uri} ({size})?").format(uri=uri, size=show_size(size["bytes"]))
    said = ngettext(
        "Remove {uri} with the {n} file in it ({size})?",
        "Remove {uri} with the {n} files in it ({size})?",
        size["files"],
    )
    return said.format(uri=uri, n=size["files"], size=show_size(size["bytes"]))
