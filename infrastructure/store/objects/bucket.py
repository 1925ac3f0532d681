"""The bucket that the settings name. Loads nothing of the object store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quorum.domain.errors import ConfigError
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.storage_backend import BUCKET_SCHEME

_BUCKET = r"(?a)s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:/[\w.=+-]+)*)/?"


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketAddress:
    """A bucket and the beginning of the names in it, and how the environment says to reach it.

    Without `key`, obstore looks where programs of AWS do: in its variables, and at the machine's own role.
    """

    bucket: str
    prefix: str
    endpoint: str
    region: str
    key: str
    secret: str = field(repr=False)
    token: str = field(repr=False)

    @property
    def place(self) -> str:
        """The address as people read it."""
        return f"{BUCKET_SCHEME}{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")


def parse_bucket(url: str, environ: Mapping[str, str]) -> BucketAddress:
    """The bucket of `[storage] blobs`. Raises ConfigError."""
    found = compile_once(_BUCKET).fullmatch(url)
    if found is None or any(part in (".", "..") for part in found[2].split("/")):
        raise ConfigError(
            "storage.blobs is no bucket of an object store; expected one such as s3://bucket/prefix"
        )
    return BucketAddress(
        bucket=found[1],
        prefix=found[2].strip("/"),
        endpoint=environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL", ""),
        region=environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION", ""),
        key=environ.get("AWS_ACCESS_KEY_ID", ""),
        secret=environ.get("AWS_SECRET_ACCESS_KEY", ""),
        token=environ.get("AWS_SESSION_TOKEN", ""),
    )
