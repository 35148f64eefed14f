"""Replies about the contents of buckets, as XML."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote
from xml.sax.saxutils import escape

from .buckets import Bucket, Page, Stored, Upload
from .calls import Answer, Call
from .clock import iso
from .service_errors import Refusal

__all__ = ["HANDLERS", "buckets", "xml"]

_OWNER = "<Owner><ID>100000000000000001</ID><DisplayName>100000000000000001</DisplayName></Owner>"


def xml(root: str, *parts: str) -> Answer:
    """A document."""
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root}>{"".join(parts)}</{root}>'
    return Answer(200, text.encode(), {"Content-Type": "application/xml"})


def tag(name: str, value: object) -> str:
    """An element with text."""
    return f"<{name}>{escape(str(value))}</{name}>"


def buckets(call: Call, all_of_them: list[Bucket]) -> Answer:
    """The account's buckets."""
    rows = [
        f"<Bucket>{tag('Name', b.name)}{tag('Location', f'oss-{b.region}')}{tag('Region', b.region)}"
        f"{tag('CreationDate', iso(b.created, millis=True))}{_endpoints(b)}{tag('StorageClass', 'Standard')}</Bucket>"
        for b in sorted(all_of_them, key=lambda bucket: bucket.name)
        if b.name.startswith(call.query.get("prefix", ""))
    ]
    return xml("ListAllMyBucketsResult", _OWNER, f"<Buckets>{''.join(rows)}</Buckets>")


def _endpoints(bucket: Bucket) -> str:
    host = f"oss-{bucket.region}"
    return tag("ExtranetEndpoint", f"{host}.aliyuncs.com") + tag("IntranetEndpoint", f"{host}-internal.aliyuncs.com")


def _info(call: Call, bucket: Bucket) -> Answer:
    rows = [
        tag("Name", bucket.name),
        tag("Location", f"oss-{bucket.region}"),
        tag("CreationDate", iso(bucket.created, millis=True)),
        _endpoints(bucket),
        _OWNER,
        "<AccessControlList><Grant>private</Grant></AccessControlList>",
        tag("StorageClass", "Standard"),
        tag("DataRedundancyType", "LRS"),
    ]
    return xml("BucketInfo", f"<Bucket>{''.join(rows)}</Bucket>")


def _location(call: Call, bucket: Bucket) -> Answer:
    return xml("LocationConstraint", f"oss-{bucket.region}")


def _acl(call: Call, bucket: Bucket) -> Answer:
    return xml("AccessControlPolicy", _OWNER, "<AccessControlList><Grant>private</Grant></AccessControlList>")


def _stat(call: Call, bucket: Bucket) -> Answer:
    everything = bucket.below("")
    storage = sum(stored.blob.size for stored in everything)
    count, uploads = len(everything), len(bucket.uploads)
    rows = [tag("Storage", storage), tag("ObjectCount", count), tag("MultipartUploadCount", uploads)]
    return xml("BucketStat", *rows, tag("LiveChannelCount", 0), tag("LastModifiedTime", int(bucket.created)))


def _objects(call: Call, bucket: Bucket) -> Answer:
    query = call.query
    page = _page(bucket, query, query.get("marker", ""))
    name = _namer(query)
    rows = [*_head(bucket, query), tag("Marker", name(query.get("marker", "")))]
    rows += [tag("NextMarker", name(page.next))] if page.next else []
    return xml("ListBucketResult", *rows, *_contents(page, name, _OWNER))


def _objects_v2(call: Call, bucket: Bucket) -> Answer:
    query = call.query
    try:
        after = urlsafe_b64decode(query.get("continuation-token", "")).decode() or query.get("start-after", "")
    except ValueError:
        raise Refusal(400, "InvalidArgument", "The continuation-token is invalid.", EC="0017-00000103") from None
    page = _page(bucket, query, after)
    name = _namer(query)
    rows = [*_head(bucket, query), tag("KeyCount", len(page.objects) + len(page.folders))]
    if page.next:
        rows.append(tag("NextContinuationToken", urlsafe_b64encode(page.next.encode()).decode()))
    return xml("ListBucketResult", *rows, *_contents(page, name, _OWNER if query.get("fetch-owner") == "true" else ""))


def _limit(query: dict[str, str]) -> int:
    value = query.get("max-keys") or "100"
    if not value.isdigit() or not 1 <= int(value) <= 1000:
        raise Refusal(400, "InvalidArgument", "Argument max-keys must be an integer between 1 and 1000.")
    return int(value)


def _page(bucket: Bucket, query: dict[str, str], after: str) -> Page:
    return bucket.page(query.get("prefix", ""), query.get("delimiter", ""), after, _limit(query))


def _namer(query: dict[str, str]) -> Callable[[str], str]:
    """Return how keys are written: percent-encoded if the client requests it."""
    return (lambda key: quote(key, safe="")) if query.get("encoding-type") == "url" else str


def _head(bucket: Bucket, query: dict[str, str]) -> list[str]:
    name = _namer(query)
    rows = [tag("Name", bucket.name), tag("Prefix", name(query.get("prefix", ""))), tag("MaxKeys", _limit(query))]
    rows.append(tag("Delimiter", name(query.get("delimiter", ""))))
    return [*rows, tag("EncodingType", "url")] if query.get("encoding-type") == "url" else rows


def _contents(page: Page, name: Callable[[str], str], owner: str) -> list[str]:
    rows = [tag("IsTruncated", str(bool(page.next)).lower())]
    rows += [_row(stored, name, owner) for stored in page.objects]
    return rows + [f"<CommonPrefixes>{tag('Prefix', name(folder))}</CommonPrefixes>" for folder in page.folders]


def _row(stored: Stored, name: Callable[[str], str], owner: str) -> str:
    fields = {
        "Key": name(stored.key),
        "LastModified": iso(stored.modified, millis=True),
        "ETag": stored.etag,
        "Type": stored.type,
        "Size": stored.blob.size,
        "StorageClass": "Standard",
    }
    return f"<Contents>{''.join(tag(*field) for field in fields.items())}{owner}</Contents>"


def _uploads(call: Call, bucket: Bucket) -> Answer:
    query, name = call.query, _namer(call.query)
    prefix, after = query.get("prefix", ""), (query.get("key-marker", ""), query.get("upload-id-marker", ""))
    results = [u for u in bucket.uploads.values() if u.key.startswith(prefix) and _comes_after(u, *after)]
    results.sort(key=lambda upload: (upload.key, upload.id))
    limit = int(query.get("max-uploads") or 1000)
    page, last = results[:limit], results[:limit][-1] if len(results) > limit else None
    rows = [tag("Bucket", bucket.name), tag("Prefix", name(prefix)), tag("IsTruncated", str(bool(last)).lower())]
    rows += [tag("EncodingType", "url")] if query.get("encoding-type") == "url" else []
    rows += [tag("NextKeyMarker", name(last.key) if last else ""), tag("NextUploadIdMarker", last.id if last else "")]
    rows += [
        f"<Upload>{tag('Key', name(u.key))}{tag('UploadId', u.id)}{tag('Initiated', iso(u.started, True))}</Upload>"
        for u in page
    ]
    return xml("ListMultipartUploadsResult", *rows)


def _comes_after(upload: Upload, key: str, upload_id: str) -> bool:
    return upload.key > key or (bool(upload_id) and upload.key == key and upload.id > upload_id)


def _head_bucket(call: Call, bucket: Bucket) -> Answer:
    return Answer()


HANDLERS: dict[str, Callable[[Call, Bucket], Answer]] = {
    "GetBucketInfo": _info,
    "GetBucketLocation": _location,
    "GetBucketStat": _stat,
    "GetBucketAcl": _acl,
    "HeadBucket": _head_bucket,
    "ListObjects": _objects,
    "ListObjectsV2": _objects_v2,
    "ListMultipartUploads": _uploads,
}
