"""Copies files between HDFS and a container, by WebHDFS.

Runs in the images of jobs: standard library only, Python 3.7 or newer. HDFS takes the name of the user, no password.

    python3 webhdfs.py get USER ADDRESS URI FOLDER      a file or folder into a folder, under its last name
    python3 webhdfs.py put USER ADDRESS FOLDER URI      the content of a folder
    python3 webhdfs.py follow USER ADDRESS FOLDER URI   event files in a folder when they have grown, until it is ended

ADDRESS is that of WebHDFS, or `-` to find it by the host of the URI.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

_PREFIX = "/webhdfs/v1"
_GATEWAY = "/webhdfs/api/v1"
# Ports of the NameNode: those of Hadoop's own protocol, and those of HTTP.
_RPC_PORTS = (None, 8020, 8021, 9000, 9820)
_HTTP_PORTS = (9870, 50070, 5070)
_ATTEMPTS = 6
_TIMEOUT = 60
_PIECE = 1 << 20
_AT_A_TIME = 4


class Failure(Exception):
    """HDFS refuses a request. `again`: it may take it later."""

    def __init__(self, text: str, again: bool = False) -> None:
        super().__init__(text)
        self.again = again


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: object, **more: object) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirect)


class Hdfs:
    """The HDFS of one URI."""

    def __init__(self, user: str, address: str, uri: str) -> None:
        self.user = user
        self.parts = urllib.parse.urlsplit(uri)
        self.path = uri.split("://", 1)[1].partition("/")[2]
        self.base = self._find(address)

    def _find(self, address: str) -> str:
        last: Failure | None = None
        tried = candidates(address if address != "-" else f"hdfs://{self.parts.netloc}")
        for number in range(_ATTEMPTS):
            for base in tried:
                try:
                    self.base = base
                    self._send("GET", "", "GETFILESTATUS", attempts=1)
                    return base
                except Failure as failure:
                    last = failure
            pause(number)
        raise Failure(f"no WebHDFS at {', '.join(tried)}: {last}")

    def status(self, path: str) -> int | None:
        """Return the size of a file, None for a folder."""
        reply = self._send("GET", path, "GETFILESTATUS")["FileStatus"]
        return None if reply["type"] == "DIRECTORY" else int(reply["length"])

    def entries(self, path: str) -> Iterator[tuple[str, int | None]]:
        """Yield the names in a folder with their sizes, None for a folder."""
        for one in self._send("GET", path, "LISTSTATUS")["FileStatuses"]["FileStatus"]:
            yield one["pathSuffix"], None if one["type"] == "DIRECTORY" else int(one["length"])

    def get(self, path: str, size: int, target: str) -> None:
        """Download a file."""
        repeat(lambda: self._get(path, size, target))

    def _get(self, path: str, size: int, target: str) -> None:
        with follow(self._request("GET", path, "OPEN")) as response, open(target, "wb") as file:
            while True:
                piece = response.read(_PIECE)
                if not piece:
                    break
                file.write(piece)
            if file.tell() != size:
                raise Failure(f"{path}: {file.tell()} of {size} bytes came", again=True)

    def put(self, source: str, path: str) -> None:
        """Upload a file. One that exists is replaced."""
        repeat(lambda: self._put(source, path))

    def _put(self, source: str, path: str) -> None:
        request = self._request("PUT", path, "CREATE", overwrite="true")
        with _open_url(request, redirects=True) as response:
            location = response.headers.get("Location", "")
        if not location.startswith(("http://", "https://")):
            raise Failure(f"HDFS redirects to an invalid address for {path}", again=True)
        with open(source, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
            # A file may grow while it is sent.
            data: Any = Part(file, size)
            _open_url(urllib.request.Request(location, data, headers, method="PUT")).close()

    def _request(self, method: str, path: str, operation: str, **query: str) -> urllib.request.Request:
        words = urllib.parse.urlencode({"op": operation, "user.name": self.user, **query})
        return urllib.request.Request(f"{self.base}/{urllib.parse.quote(path)}?{words}", method=method)

    def _send(self, method: str, path: str, operation: str, attempts: int = _ATTEMPTS) -> Any:
        def once() -> Any:
            with _open_url(self._request(method, path, operation)) as response:
                try:
                    return json.loads(response.read().decode("utf-8"))
                except ValueError:
                    raise Failure("the reply cannot be read", again=True) from None

        return repeat(once, attempts)


class Part:
    """The first bytes of a file, for `http.client`."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.file = file
        self.left = size

    def read(self, size: int = -1) -> bytes:
        piece = self.file.read(self.left if size < 0 else min(size, self.left))
        self.left -= len(piece)
        return piece


def candidates(address: str) -> list[str]:
    """Return the addresses of WebHDFS that may be meant by a URI or an address."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme != "hdfs":
        base = address.rstrip("/")
        return [base] if parts.path.strip("/") else [base + _PREFIX, base + _GATEWAY]
    if parts.port not in _RPC_PORTS:
        sites = [f"{scheme}://{parts.netloc}" for scheme in ("http", "https")]
        return [site + path for site in sites for path in (_PREFIX, _GATEWAY)]
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    names = [f"http://{host}:{port}{_PREFIX}" for port in _HTTP_PORTS]
    return [*names, f"https://{host}{_GATEWAY}", f"http://{host}{_GATEWAY}"]


def _open_url(request: urllib.request.Request, redirects: bool = False) -> Any:
    """Return the response to a request; with `redirects`, also one that redirects."""
    try:
        return _opener.open(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if redirects and error.code in (301, 302, 303, 307, 308):
            return error
        with error:
            raise refusal(error) from None
    except (OSError, ValueError) as error:
        raise Failure(str(getattr(error, "reason", "") or error), again=True) from None


def follow(request: urllib.request.Request) -> Any:
    """Return the response to a request, at the address to which it redirects."""
    response = _open_url(request, redirects=True)
    location = response.headers.get("Location", "")
    if not location.startswith(("http://", "https://")):
        return response
    response.close()
    return _open_url(urllib.request.Request(location))


def refusal(error: urllib.error.HTTPError) -> Failure:
    """Return the failure of an error response."""
    try:
        reply = json.loads(error.read().decode("utf-8"))["RemoteException"]
        kind, text = str(reply["exception"]), str(reply["message"]).split("\n")[0]
    except Exception:
        kind, text = "", f"status {error.code}"
    again = error.code in (408, 429) or error.code >= 500 or kind in ("StandbyException", "RetriableException")
    return Failure(f"{kind}: {text}" if kind else text, again)


def repeat(work: Callable[[], Any], attempts: int = _ATTEMPTS) -> Any:
    """Return the result of a function, which is called again if it fails for a while."""
    number = 0
    while True:
        try:
            return work()
        except (Failure, OSError) as error:
            number += 1
            if number == attempts or not getattr(error, "again", True):
                raise
        pause(number)


def pause(number: int) -> None:
    """Wait before another attempt."""
    time.sleep(min(0.2 * 3**number, 10))


def get(hdfs: Hdfs, folder: str) -> None:
    """Download the file or folder of a URI into a folder."""
    path = hdfs.path.strip("/")
    target = os.path.join(folder, path.rpartition("/")[2] or "data")
    os.makedirs(folder, exist_ok=True)
    size = hdfs.status(path)
    if size is not None:
        hdfs.get(path, size, target)
        return
    files: list[tuple[str, int, str]] = []
    folders = [(path, target)]
    while folders:
        place, here = folders.pop()
        os.makedirs(here, exist_ok=True)
        for name, size in hdfs.entries(place):
            if "/" in name or name in ("", ".", ".."):
                raise Failure(f"invalid name in {place}")
            path, target = f"{place}/{name}", os.path.join(here, name)
            if size is None:
                folders.append((path, target))
            else:
                files.append((path, size, target))
    run(hdfs.get, files)


def put(hdfs: Hdfs, folder: str, mark: str = "", sent: dict[str, int] | None = None) -> None:
    """Upload the files of a folder with `mark` in their names. `sent`: the sizes of files that are there already."""
    files: list[tuple[object, ...]] = []
    for place, _folders, names in os.walk(folder):
        for name in names:
            source = os.path.join(place, name)
            if not os.path.isfile(source) or mark not in name:
                continue
            path = os.path.relpath(source, folder)
            size = os.path.getsize(source)
            if sent is None or sent.get(path) != size:
                files.append((source, f"{hdfs.path.strip('/')}/{path}"))
            if sent is not None:
                sent[path] = size
    run(hdfs.put, files)


def run(work: Callable[..., None], calls: Iterable[tuple[object, ...]]) -> None:
    """Call a function with each of these arguments, some at a time."""
    with ThreadPoolExecutor(_AT_A_TIME) as threads:
        for done in [threads.submit(work, *call) for call in calls]:
            done.result()


def follow_events(hdfs: Hdfs, folder: str) -> None:
    """Upload event files when they have grown, for ever."""
    sent: dict[str, int] = {}
    while True:
        time.sleep(30)
        try:
            put(hdfs, folder, "tfevents", sent)
        except (Failure, OSError):
            sent.clear()


def main(words: list[str]) -> int:
    """Run a command."""
    verb, user, address, source, target = words
    try:
        hdfs = Hdfs(user, address, source if verb == "get" else target)
        if verb == "get":
            get(hdfs, target)
        elif verb == "put":
            put(hdfs, source)
        else:
            follow_events(hdfs, source)
    except (Failure, OSError) as error:
        sys.stderr.write(f"[jupyter-pai] HDFS: {source}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
