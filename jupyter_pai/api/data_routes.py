"""The verbs of the engine about data in storages; a part of `routes.ROUTES`."""

from __future__ import annotations

from .route import Parameter, Route

__all__ = ["DATA_ROUTES"]

_URI = Parameter("uri", str, "A file, or a folder if it ends with a slash: oss://bucket/key, file:///path.")
_ACCOUNT = Parameter("profile", str, "The profile whose account is used; else the first that has one for the URI.")

DATA_ROUTES: dict[str, Route] = {
    "storages": Route("GET", "/storages", "Where one can begin to look for data.", reply="Storages"),
    "list_data": Route(
        "GET",
        "/data",
        "What is at a URI of a storage: a file, or what is directly in a folder, by names.",
        (
            _URI,
            Parameter("after", str, "Only what comes after this name."),
            Parameter("limit", int, "How much at most, up to 10000."),
            Parameter("recursive", bool, "All files below the folder instead, by paths."),
            _ACCOUNT,
        ),
        reply="DataFolder",
    ),
    "measure_data": Route("GET", "/data/size", "How many files a URI means.", (_URI, _ACCOUNT), reply="DataSize"),
    "get_data": Route(
        "POST", "/data/get", "Begin to copy a file or folder into a local folder.", body="DataCopy", reply="CopyView"
    ),
    "put_data": Route("POST", "/data/put", "Begin to copy a local file or folder.", body="DataCopy", reply="CopyView"),
    "remove_data": Route(
        "DELETE",
        "/data",
        "Begin to remove a file, or a folder if its URI ends with a slash.",
        (_URI, _ACCOUNT),
        reply="CopyView",
    ),
    "make_data_folder": Route("POST", "/data/folder", "Make a folder.", body="DataPlace", reply="MadeFolder"),
    "rename_data": Route(
        "POST", "/data/move", "Begin to give a file or folder another name or place.", body="DataMove", reply="CopyView"
    ),
    "data_file": Route(
        "GET",
        "/data/file",
        "The bytes of a file. The header X-Size says how many it has.",
        (
            _URI,
            Parameter("offset", int, "Where to begin, in bytes."),
            Parameter("limit", int, "How many bytes at most; 0 for all that there are."),
            _ACCOUNT,
        ),
        bytes=True,
    ),
    "begin_upload": Route(
        "POST",
        "/uploads",
        "Make ready for a file that is sent piece by piece. It is known as a copy, by whose id it is ended as well.",
        body="Upload",
        reply="CopyView",
    ),
    "upload_data": Route(
        "PUT",
        "/uploads/{copy}",
        "A piece of it, up to 64 MiB. After the last one the storage gets the file.",
        (Parameter("offset", int, "Where in the file the piece begins, in bytes."),),
        reply="CopyView",
        content=True,
    ),
}
