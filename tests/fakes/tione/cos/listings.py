"""Replies about the contents of buckets, as XML."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from ...alibaba.buckets import Bucket, Page, Stored, Upload
from ...alibaba.calls import Answer, Call
from ...alibaba.clock import iso
from ...alibaba.listings import tag, xml
from ...alibaba.service_errors import Refusal
from ..keys import APP_ID, OWNER

__all__ = ["HANDLERS", "OWNER_ROW", "buckets", "namer"]

OWNER_ROW = f"<Owner><ID>{APP_ID}</ID><DisplayName>{APP_ID}</DisplayName></Owner>"


def buckets(call: Call, all_of_them: list[Bucket]) -> Answer:
    """The account's buckets, perhaps of one region."""
    region = call.query.get("region", "")
    rows = [
        f"<Bucket>{tag('Name', bucket.name)}{tag('Location', bucket.region)}"
        f"{tag('CreationDate', iso(bucket.created))}{tag('BucketType', 'cos')}</Bucket>"
        for bucket in sorted(all_of_them, key=lambda bucket: bucket.name)
        if region in ("", bucket.region)
    ]
    identity = f"qcs::cam::uin/{OWNER}:uin/{OWNER}"
    owner = f"<Owner>{tag('ID', identity)}{tag('DisplayName', OWNER)}</Owner>"
    return xml("ListAllMyBucketsResult", owner, f"<Buckets>{''.join(rows)}</Buckets>")


def namer(query: dict[str, str]) -> Callable[[str], str]:
    """Return how keys are written: with percent signs if the client asks for it."""
    return (lambda key: quote(key, safe="")) if query.get("encoding-type") == "url" else str


def _location(_call: Call, bucket: Bucket) -> Answer:
    return xml("LocationConstraint", bucket.region)


def _head_bucket(_call: Call, bucket: Bucket) -> Answer:
    return Answer(headers={"x-cos-bucket-region": bucket.region})


def _objects(call: Call, bucket: Bucket) -> Answer:
    query, name = call.query, namer(call.query)
    marker, prefix, delimiter = (query.get(word, "") for word in ("marker", "prefix", "delimiter"))
    limit = _limit(query, "max-keys")
    page = bucket.page(prefix, delimiter, marker, limit)
    rows = [tag("Name", bucket.name), tag("Prefix", name(prefix)), tag("Marker", name(marker)), tag("MaxKeys", limit)]
    rows += [tag("Delimiter", name(delimiter))] if delimiter else []
    rows += [tag("EncodingType", "url")] if query.get("encoding-type") == "url" else []
    rows.append(tag("IsTruncated", str(bool(page.next)).lower()))
    rows += [tag("NextMarker", name(page.next))] if page.next else []
    return xml("ListBucketResult", *rows, *_contents(page, name))


def _limit(query: dict[str, str], word: str) -> int:
    value = query.get(word) or "1000"
    if not value.isdigit():
        raise Refusal(400, "InvalidArgument", f"{word} must be a number.")
    return min(int(value), 1000)


def _contents(page: Page, name: Callable[[str], str]) -> list[str]:
    rows = [_row(stored, name) for stored in page.objects]
    return rows + [f"<CommonPrefixes>{tag('Prefix', name(folder))}</CommonPrefixes>" for folder in page.folders]


def _row(stored: Stored, name: Callable[[str], str]) -> str:
    fields = {
        "Key": name(stored.key),
        "LastModified": iso(stored.modified, millis=True),
        "ETag": f'"{stored.blob.md5.lower()}"',
        "Size": stored.blob.size,
        "StorageClass": "STANDARD",
    }
    return f"<Contents>{''.join(tag(*field) for field in fields.items())}{OWNER_ROW}</Contents>"


def _uploads(call: Call, bucket: Bucket) -> Answer:
    query, name = call.query, namer(call.query)
    prefix, after = query.get("prefix", ""), (query.get("key-marker", ""), query.get("upload-id-marker", ""))
    found = [upload for upload in bucket.uploads.values() if upload.key.startswith(prefix) and _follows(upload, *after)]
    found.sort(key=lambda upload: (upload.key, upload.id))
    limit = _limit(query, "max-uploads")
    page, last = found[:limit], found[:limit][-1] if len(found) > limit else None
    rows = [tag("Bucket", bucket.name), tag("Prefix", name(prefix)), tag("IsTruncated", str(bool(last)).lower())]
    rows += [tag("EncodingType", "url")] if query.get("encoding-type") == "url" else []
    rows += [tag("KeyMarker", name(after[0])), tag("UploadIdMarker", after[1]), tag("MaxUploads", limit)]
    rows += [tag("NextKeyMarker", name(last.key) if last else ""), tag("NextUploadIdMarker", last.id if last else "")]
    return xml("ListMultipartUploadsResult", *rows, *[_upload(upload, name) for upload in page])


def _upload(upload: Upload, name: Callable[[str], str]) -> str:
    fields = {"Key": name(upload.key), "UploadId": upload.id, "StorageClass": "STANDARD"}
    fields["Initiated"] = iso(upload.started, millis=True)
    return f"<Upload>{''.join(tag(*field) for field in fields.items())}{OWNER_ROW}</Upload>"


def _follows(upload: Upload, key: str, upload_id: str) -> bool:
    return upload.key > key or (bool(upload_id) and upload.key == key and upload.id > upload_id)


HANDLERS: dict[str, Callable[[Call, Bucket], Answer]] = {
    "GetBucketLocation": _location,
    "HeadBucket": _head_bucket,
    "ListObjects": _objects,
    "ListMultipartUploads": _uploads,
}
