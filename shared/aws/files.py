"""The `Files` port on an S3 bucket."""

import base64
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from botocore.exceptions import ClientError

from shared.errors import FileMissing
from shared.ports.files import UPLOAD_SECONDS, Upload, digest_of, spooled

_CHUNK = 256 * 1024
_DELETE_AT_ONCE = 1000
DOWNLOAD_SECONDS = 60
MISSING = frozenset({"404", "NoSuchKey", "NotFound"})


class S3Files:
    """Objects in one private bucket. Clients upload and download by presigned URLs: no byte passes through a function."""

    def __init__(self, client: Any, bucket: str) -> None:
        self._s3 = client
        self._bucket = bucket

    def put(self, key: str, content: Iterable[bytes], *, size: int, media_type: str) -> None:
        with tempfile.TemporaryFile() as whole:  # S3 wants to read it twice: to sign it, and to send it
            spooled(key, content, whole.write, size=size)
            whole.seek(0)
            self._s3.put_object(
                Bucket=self._bucket,
                Key=key,
                Body=whole,
                ContentLength=size,
                ContentType=media_type,
                ChecksumSHA256=_checksum(key),
            )

    def get(self, key: str) -> Iterator[bytes]:
        try:
            body = self._s3.get_object(Bucket=self._bucket, Key=key)["Body"]
        except ClientError as error:
            raise _missing(error) from None
        return _read(body)

    def copy(self, source: str, target: str) -> None:
        """Within S3: the caller sees no byte."""
        try:
            self._s3.copy_object(Bucket=self._bucket, Key=target, CopySource={"Bucket": self._bucket, "Key": source})
        except ClientError as error:
            raise _missing(error) from None

    def size(self, key: str) -> int | None:
        try:
            return int(self._s3.head_object(Bucket=self._bucket, Key=key)["ContentLength"])
        except ClientError as error:
            _missing(error)
            return None

    def upload(self, key: str, *, size: int, media_type: str, now: int) -> Upload:
        headers = {
            "Content-Length": str(size),
            "Content-Type": media_type,
            "x-amz-checksum-sha256": _checksum(key),
        }
        url = self._s3.generate_presigned_url(
            "put_object",
            Params={
                "Bucket": self._bucket,
                "Key": key,
                "ContentLength": size,
                "ContentType": media_type,
                "ChecksumSHA256": headers["x-amz-checksum-sha256"],
            },
            ExpiresIn=UPLOAD_SECONDS,
        )
        return Upload(url, headers, now + UPLOAD_SECONDS * 1000)

    def download_url(self, key: str, *, name: str, media_type: str, now: int) -> str | None:  # noqa: ARG002  # S3 has a clock
        url: str = self._s3.generate_presigned_url(
            "get_object",
            Params={
                "Bucket": self._bucket,
                "Key": key,
                "ResponseContentType": media_type,
                "ResponseContentDisposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
            },
            ExpiresIn=DOWNLOAD_SECONDS,
        )
        return url

    def delete(self, prefix: str) -> None:
        if not prefix.endswith("/"):
            self._s3.delete_object(Bucket=self._bucket, Key=prefix)
            return
        while keys := self._s3.list_objects_v2(Bucket=self._bucket, Prefix=prefix, MaxKeys=_DELETE_AT_ONCE).get(
            "Contents", []
        ):
            self._s3.delete_objects(
                Bucket=self._bucket, Delete={"Objects": [{"Key": one["Key"]} for one in keys], "Quiet": True}
            )


def _read(body: Any) -> Iterator[bytes]:
    with body:
        yield from body.iter_chunks(_CHUNK)


def _missing(error: ClientError) -> FileMissing:
    """FileMissing, if that is what S3 says; raises the error if it says another thing."""
    if error.response.get("Error", {}).get("Code") not in MISSING:
        raise error
    return FileMissing("no such object")


def _checksum(key: str) -> str:
    """The digest in the key, as S3 writes it."""
    return base64.b64encode(bytes.fromhex(digest_of(key))).decode()
