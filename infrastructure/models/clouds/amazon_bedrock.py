"""Who asks Amazon Bedrock, and in which region: the ways of AWS itself."""

from __future__ import annotations

import base64
import configparser
import json
import struct
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from quorum.domain.errors import ProviderError, make_configuration_error
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.clouds.sign_in import SignIn
from quorum.infrastructure.models.shared.json_fields import read_text_field

if TYPE_CHECKING:
    from botocore.session import Session  # type: ignore[import-untyped]


BEARER_ENV = "AWS_BEARER_TOKEN_BEDROCK"
REMEDY = (
    "sign in with `aws sso login` or `aws configure`, set AWS_PROFILE, or set AWS_ACCESS_KEY_ID and "
    f"AWS_SECRET_ACCESS_KEY, or {BEARER_ENV}"
)


class AmazonKeys(NamedTuple):
    """What a request is signed with; temporary keys come with a session token."""

    access_key: str
    secret_key: str
    session_token: str | None


class BedrockAccess:
    """The way to Bedrock in one region. AWS's own library looks for the keys in all the places it knows."""

    def __init__(self, provider: str, region: str) -> None:
        self.region = region
        self.sign_in = SignIn(provider=provider, cloud="AWS", remedy=REMEDY)
        self._session: Session | None = None
        self._asking = threading.Lock()

    def load(self) -> None:
        """Import what signs requests and reads their answers. Blocks."""
        import boto3  # type: ignore[import-untyped]  # noqa: F401
        import botocore.auth  # type: ignore[import-untyped]
        import botocore.eventstream  # type: ignore[import-untyped]  # noqa: F401

    async def get_keys(self) -> AmazonKeys:
        """The keys, made new where they had run out. Raises ProviderError."""
        return await self.sign_in.call_in_time(self._look_up)

    def _look_up(self) -> AmazonKeys:
        from botocore import exceptions

        try:
            with self._asking:
                return self._find_keys()
        except (exceptions.ConnectionError, exceptions.HTTPClientError) as error:
            raise self.sign_in.explain_unreachable(str(error)) from error
        except exceptions.ClientError as error:
            raise self.sign_in.explain_refusal(str(error)) from error
        except exceptions.BotoCoreError as error:
            raise self.sign_in.explain_unusable(str(error)) from error

    def _find_keys(self) -> AmazonKeys:
        import botocore.session

        if self._session is None:
            self._session = botocore.session.get_session()
        if "mfa_serial" in self._session.get_scoped_config():
            # the library would ask for the code on the terminal that the screen is drawn on
            raise self.sign_in.explain_unusable("the profile wants a code typed in each time (mfa_serial)")
        found = self._session.get_credentials()
        if found is None:
            raise self.sign_in.explain_missing()
        now = found.get_frozen_credentials()
        return AmazonKeys(now.access_key, now.secret_key, now.token)


def find_region(provider: str, region: str | None, environ: Mapping[str, str]) -> str:
    """The region: as set, of the environment, or of the profile. Raises ProviderError(CONFIGURATION)."""
    found = (
        region
        or environ.get("AWS_REGION")
        or environ.get("AWS_DEFAULT_REGION")
        or _read_profile_region(environ)
    )
    if found:
        return found
    raise make_configuration_error(
        f'provider {provider} has no region; set region in [providers.{provider}], for example "us-east-1", '
        "or AWS_REGION, or a region in your AWS profile"
    )


def _read_profile_region(environ: Mapping[str, str]) -> str:
    profile = environ.get("AWS_DEFAULT_PROFILE") or environ.get("AWS_PROFILE") or "default"
    section = profile if profile == "default" else f"profile {profile}"
    in_config = _read_entry(environ.get("AWS_CONFIG_FILE") or "~/.aws/config", section)
    return in_config or _read_entry(environ.get("AWS_SHARED_CREDENTIALS_FILE") or "~/.aws/credentials", profile)


def _read_entry(path: str, section: str) -> str:
    file = Path(path).expanduser()
    parser = configparser.RawConfigParser()
    try:
        parser.read(file, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise make_configuration_error(
            f"{file} cannot be read: {' '.join(str(error).split())}; correct it"
        ) from error
    return parser.get(section, "region", fallback="").strip()


_FRAMED = "application/vnd.amazon.eventstream"


def is_framed(content_type: str) -> bool:
    """Whether a body of this type consists of frames."""
    return content_type.partition(";")[0].strip().lower() == _FRAMED


async def unpack_frames(
    body: AsyncIterator[bytes], damaged: Callable[[str], ProviderError]
) -> AsyncIterator[bytes]:
    """The body as server-sent events, one for each frame. Raises what `damaged` makes of a broken frame."""
    from botocore.eventstream import EventStreamBuffer, ParserError

    frames = EventStreamBuffer()
    async for piece in body:
        frames.add_data(piece)
        try:
            events = [_decode_event(frame.headers, frame.payload) for frame in frames]
        except (ParserError, ValueError, LookupError, struct.error) as error:
            raise damaged("a frame of the stream is broken") from error
        if whole := b"".join(events):
            yield whole


def _decode_event(headers: Mapping[str, object], payload: bytes) -> bytes:
    """One frame as an event. Raises ValueError where it holds none."""
    match headers.get(":message-type"):
        case "event":
            data = base64.b64decode(read_text_field(_parse_object(payload), "bytes"), validate=True)
            return b"data: %s\n\n" % b" ".join(data.splitlines()) if data else b""
        case "exception":
            return _encode_error(
                headers.get(":exception-type"), read_text_field(_parse_object(payload), "message")
            )
        case _:
            return _encode_error(headers.get(":error-code"), str(headers.get(":error-message") or ""))


def _encode_error(name: object, message: str) -> bytes:
    error = {"type": "error", "error": {"type": str(name or ""), "message": message}}
    return f"event: error\ndata: {json.dumps(error)}\n\n".encode()


def _parse_object(payload: bytes) -> JsonObject:
    try:
        value: JsonValue = json.loads(payload)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return value if isinstance(value, Mapping) else {}
