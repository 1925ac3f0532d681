"""What can go wrong with a provider, each in one sentence and one ProviderError."""

from __future__ import annotations

import json
import math
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
from msgspec import Struct

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.http_client import HeadTimeout
from quorum.infrastructure.models.shared.error_bodies import (
    find_error,
    find_status,
    fit_to_line,
    is_final,
    is_stranger_to_amazon,
    is_too_long,
    may_speak_of_length,
    read_plain_text,
    read_upstream,
    speaks_of_key,
    speaks_of_loading,
    speaks_of_model,
    speaks_of_payment,
)
from quorum.infrastructure.models.shared.json_fields import read_text_field
from quorum.infrastructure.models.shared.retry import parse_retry_after

_LONGEST_SEARCHED = 4_000
_DEEPEST = 6
# The names of fields, without case and punctuation, and what one unit of their numbers is in seconds.
_FIELDS: Mapping[str, float] = {
    "retryafter": 1.0,
    "retryafterseconds": 1.0,
    "retryaftersecs": 1.0,
    "retryafters": 1.0,
    "retryafterms": 0.001,
    "retryaftermilliseconds": 0.001,
    "retrydelay": 1.0,
    "retrydelayms": 0.001,
    "resetafter": 1.0,
    "resetafterseconds": 1.0,
    "resetafterms": 0.001,
    "resetin": 1.0,
    "resetsin": 1.0,
    "resetsinseconds": 1.0,
    "resetat": 1.0,
    "resetsat": 1.0,
    "resettime": 1.0,
    "retryat": 1.0,
    "resetseconds": 1.0,
    "xratelimitreset": 1.0,
    "estimatedtime": 1.0,  # until the model is loaded
}
# A larger number of seconds is a moment since 1970, and of milliseconds a still larger one.
_FIRST_MOMENT_SECS = 1e9
_FIRST_MOMENT_MS = 1e12
_CLOCK = r"(\d{1,4}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)(?![\d:])"
_MOMENT = r"(?i)\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?\s?(?:Z|UTC|[+-]\d\d:?\d\d)?"
_UNITS: Mapping[str, float] = {
    **{"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0},
    **{"秒": 1.0, "分": 60.0, "小": 3600.0},
}
_PART = (
    r"(?i)(\d{1,9}(?:\.\d{1,9})?)\s{0,3}"
    r"(ms|milliseconds?|msecs?|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s|days?|d|秒|分钟|分|小时)(?![a-z])"
)
_BARE = r"\d{1,9}(?=[\s,;)\"'.]*\Z|[,;)]\s)"
_GAP = r"\s{0,3}(?:,|and)?\s{0,3}(?=\d)"
# Only words that ask to come again are about a wait; limits "per 60 s" are not.
_ASKS = (
    r"(?i)\b(?:(?:try|retry|wait|retrying)(?: your request)?(?: again)?(?: in| after| for| at least| about)?"
    r"|(?:again|retry|resets?|refreshed|available|allowed|wait)(?: again)?[ -](?:in|after|at|until|on))"
    r"\s{0,3}[:=~]?\s{0,3}(?=\d)|请(?:在|等待|等)\s{0,3}(?=\d{1,6}\s{0,3}(?:秒|分|小时))"
)


def find_told_wait(body: JsonValue) -> float | None:
    """Return the wait in seconds that a body of JSON, or of text, asks for; None where it asks for none.

    A field says it better than a sentence. Of several, the longest counts: to come too early is refused again.
    """
    waits = list(_list_field_waits(body, _DEEPEST))
    if not waits:
        waits = [wait for text in _list_texts(body, _DEEPEST) if (wait := _read_sentence(text)) is not None]
    return max(waits, default=None)


def find_body_wait(body: bytes) -> float | None:
    """Return the wait in seconds that the body of a refusal asks for, whether it is JSON or text; or None."""
    try:
        return find_told_wait(json.loads(body))
    except (ValueError, RecursionError):
        return find_told_wait(body[:_LONGEST_SEARCHED].decode("utf-8", "replace"))


def _list_field_waits(value: JsonValue, depth: int) -> Iterator[float]:
    for key, inner in _list_items(value, depth):
        unit = _FIELDS.get(re.sub(r"[^a-z]", "", key[:40].lower()))
        if unit is not None and (wait := _read_wait(inner, unit)) is not None:
            yield wait
        yield from _list_field_waits(inner, depth - 1)


def _list_texts(value: JsonValue, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:_LONGEST_SEARCHED]
    for _, inner in _list_items(value, depth):
        yield from _list_texts(inner, depth - 1)


def _list_items(value: JsonValue, depth: int) -> list[tuple[str, JsonValue]]:
    if depth <= 0 or isinstance(value, str):
        return []
    if isinstance(value, Mapping):
        return list(value.items())
    return [("", inner) for inner in value] if isinstance(value, Sequence) else []


def _read_wait(value: JsonValue, unit: float) -> float | None:
    match value:
        case bool():
            return None
        case int() | float():
            return _keep_sane(_count_from_now(value, unit))
        case str():
            try:
                return _keep_sane(_count_from_now(float(value), unit))
            except ValueError:
                return _read_duration(value[:_LONGEST_SEARCHED].strip())
        case Mapping():  # a duration of Google's in two fields
            return _read_seconds_and_nanos(value)
        case _:
            return None


def _read_seconds_and_nanos(value: JsonObject) -> float | None:
    seconds, nanos = value.get("seconds", 0), value.get("nanos", 0)
    try:
        return _keep_sane(float(str(seconds)) + float(str(nanos)) / 1e9) if value else None
    except ValueError:
        return None


def _read_sentence(text: str) -> float | None:
    found = [
        wait
        for asks in compile_once(_ASKS).finditer(text)
        if (wait := _read_named_field(asks[0], text[asks.end() :])) is not None
    ]
    return max(found, default=None)


def _read_named_field(asks: str, told: str) -> float | None:
    """A duration, or the bare seconds of a header that a sentence quotes, as in "Retry-After: 9"."""
    is_header = (
        asks.lower().startswith("retry-after") and (number := compile_once(_BARE).match(told)) is not None
    )
    return float(number[0]) if is_header and number else _read_duration(told)


def _read_duration(text: str) -> float | None:
    """Read the parts at the beginning of a text, such as "1m30.5s" or "2 minutes and 3 seconds"."""
    if (clock := compile_once(_CLOCK).match(text)) is not None:
        return float(clock[1]) * 3600 + float(clock[2]) * 60 + float(clock[3])
    if (moment := compile_once(_MOMENT).match(text)) is not None:
        return _compute_seconds_until(moment[0])
    seconds, position = None, 0
    while (part := compile_once(_PART).match(text, position)) is not None:
        seconds = (seconds or 0.0) + float(part[1]) * _find_unit(part[2].lower())
        position = part.end()
        gap = compile_once(_GAP).match(text, position)
        position = gap.end() if gap is not None else position
    return seconds


def _count_from_now(number: float, unit: float) -> float:
    """Seconds to wait, where a number is so many units, or a moment."""
    if not number >= _FIRST_MOMENT_SECS:  # not a number, too
        return number * unit
    moment = number / 1000 if number >= _FIRST_MOMENT_MS else number
    return max(0.0, moment - time.time())


def _compute_seconds_until(text: str) -> float | None:
    """Seconds until a moment, which has passed already where it is 0; without a zone it is in UTC."""
    try:
        moment = datetime.fromisoformat(re.sub(r"\s?(?:UTC|Z)$", "+00:00", text, flags=re.IGNORECASE))
        return max(0.0, moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _find_unit(name: str) -> float:
    return _UNITS["ms"] if name.startswith(("ms", "milli")) else _UNITS[name[0]]


def _keep_sane(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


_VERSION = "/v1"
# What SDKs add to base_url. It is often pasted with it, as servers' documentation shows the whole address.
_METHOD = r"(?:/chat/completions|/completions|/responses|/messages|/models|/embeddings)$"


def suggest_base_url(address: str, path: str) -> str | None:
    """The base_url that was meant, where this one holds too much or too little; None where it looks right.

    `path` is what is added to it, as in "/chat/completions"; where that begins with the version, base_url ends
    before it.
    """
    parts = urlsplit(address)
    given = parts.path.rstrip("/")
    base = compile_once(_METHOD).sub("", given)
    if path.startswith(f"{_VERSION}/"):
        given, base = given.removesuffix(_VERSION), base.removesuffix(_VERSION)  # either way the same is asked
    elif not base:
        base = _VERSION
    return None if base == given else f"{parts.scheme}://{parts.netloc}{base}"


def explain_base_url(provider: str, address: str, path: str) -> str:
    """The remedy for an address that the server does not know."""
    where = f"base_url of [providers.{provider}]"
    if not path:
        return f"check {where}"
    if (meant := suggest_base_url(address, path)) is not None:
        return f'check {where}: {path} is added to it, so it is probably "{meant}"'
    end = "ends before that" if path.startswith(f"{_VERSION}/") else f"mostly ends in {_VERSION}"
    return f"check {where}: {path} is added to it, and it {end}"


_Kind = ProviderErrorKind
_KINDS: Mapping[int, _Kind] = {
    401: _Kind.AUTHENTICATION,
    402: _Kind.PERMISSION,
    403: _Kind.PERMISSION,
    404: _Kind.NOT_FOUND,
    408: _Kind.TIMEOUT,
    409: _Kind.SERVER,
    413: _Kind.TOO_LONG,
    429: _Kind.RATE_LIMIT,
    503: _Kind.OVERLOADED,
    504: _Kind.TIMEOUT,
    529: _Kind.OVERLOADED,
}
_SAYS: Mapping[_Kind, str] = {
    _Kind.CONFIGURATION: "cannot be asked this way",
    _Kind.CONNECTION: "could not be reached",
    _Kind.TIMEOUT: "did not answer in time",
    _Kind.AUTHENTICATION: "refused the key",
    _Kind.PERMISSION: "does not permit the request",
    _Kind.NOT_FOUND: "does not know the model or the address",
    _Kind.BAD_REQUEST: "refused the request",
    _Kind.TOO_LONG: "refused the request as too long",
    _Kind.RATE_LIMIT: "rate limited the request",
    _Kind.OVERLOADED: "is overloaded",
    _Kind.SERVER: "failed on its side",
    _Kind.DAMAGED_STREAM: "sent a damaged answer",
}
_PROXY_WANTS_TO_KNOW = 407
_NO_SUCH_PATH = (404, 405, 501)
_ASKS_TO_WAIT = (429, 503, 529)
# what no other authority would mend: the certificate is not yet valid, is no longer, or is another host's
_OWN_FAULTS = frozenset({9, 10, 62, 64})
_RETRYABLE = frozenset({_Kind.TIMEOUT, _Kind.RATE_LIMIT, _Kind.OVERLOADED, _Kind.SERVER})


class Failures(Struct, frozen=True, kw_only=True):
    """Words the failures of one provider. `secret` is the key, which never appears in a sentence.

    `path` is what is added to `address` for a request, where that is the same for all. `sign_in` is what to do
    where no key but a cloud's own credentials were refused; `other_api` what to do where the server does not
    know the address that is asked.
    """

    provider: str
    address: str
    key_env: str | None
    secret: str
    timeout_secs: float
    path: str = ""
    sign_in: str = ""
    other_api: str = ""

    def explain_refusal(self, response: httpx2.Response) -> ProviderError:
        """An HTTP status other than success. The body must have been read."""
        status = response.status_code
        if status == _PROXY_WANTS_TO_KNOW and (proxy := find_proxy(self.address)) is not None:
            return self._explain_proxy_refusal(proxy, "407")
        error = find_error(response.content)
        body = read_plain_text(response.content)
        wish = response.headers.get("x-should-retry")
        wait = self._find_wait(response)
        unknown = is_stranger_to_amazon(response.headers.get("x-amzn-errortype", ""))
        refusal = self._explain_status(
            status,
            self._read_detail(error) or self._clean_text(body),
            kind=_Kind.AUTHENTICATION
            if unknown or speaks_of_key(error, status, body)
            else _Kind.TOO_LONG
            if is_too_long(error, status, body)
            else None,
            remedy=self._explain_address(response, is_of_model=speaks_of_model(error, body)),
            final=is_final(error) or wish == "false" or (wait is None and speaks_of_payment(error, body)),
            passing=wish == "true",
            http_status=status,
            request_id=response.headers.get("request-id") or response.headers.get("x-request-id"),
            retry_after=wait,
        )
        refusal.may_be_length = may_speak_of_length(error, status, body)
        refusal.is_loading = speaks_of_loading(error, status, body)
        return refusal

    def _find_wait(self, response: httpx2.Response) -> float | None:
        wait = parse_retry_after(response.headers)
        return (
            find_body_wait(response.content) if wait is None and response.status_code in _ASKS_TO_WAIT else wait
        )

    def explain_reported(self, error: JsonValue, *, started: bool, remedy: str = "") -> ProviderError:
        """An error that the provider reported inside a stream that had begun with success."""
        known = error if isinstance(error, Mapping) else {"message": error}
        status = find_status(known)
        kind = _Kind.TOO_LONG if is_too_long(known, status) else None
        refusal = self._explain_status(
            status,
            self._read_detail(known),
            kind=kind,
            remedy=remedy,
            final=is_final(known),
            partial=started,
            retry_after=find_told_wait(known) if status in _ASKS_TO_WAIT else None,
        )
        refusal.may_be_length = may_speak_of_length(known, status, "")
        refusal.is_loading = speaks_of_loading(known, status, "")
        return refusal

    def explain_unreachable(self, error: Exception, *, started: bool) -> ProviderError:
        """A failure of the connection, before or after the answer began."""
        if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            text = f"no connection to {self.address} could be made in time"
            return ProviderError(text, kind=_Kind.TIMEOUT, retryable=True)
        if isinstance(error, HeadTimeout):
            text = f"{self.provider} did not begin its answer within {self.timeout_secs:g} s"
            return ProviderError(text, kind=_Kind.TIMEOUT, retryable=True)
        if isinstance(error, httpx2.TimeoutException):
            text = f"{self.provider} sent nothing for {self.timeout_secs:g} s"
            return ProviderError(text, kind=_Kind.TIMEOUT, retryable=not started, partial=started)
        if isinstance(error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError | httpx2.InvalidURL):
            text = f"{self.provider} cannot be asked at {self.address}: {self._clean_text(str(error))}"
            return ProviderError(text, kind=_Kind.CONFIGURATION)
        if started or isinstance(error, httpx2.DecodingError):
            return self.explain_damage("the stream broke off before the answer was complete", started=started)
        if isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.WriteError):
            text = f"{self.address} closed the connection without an answer"
            return ProviderError(text, kind=_Kind.CONNECTION, retryable=True)
        return self._explain_no_connection(error)

    def explain_damage(self, what: str, *, started: bool) -> ProviderError:
        """An answer that cannot be trusted to be whole."""
        text = f"{self.provider}: {self._clean_text(what)}"
        return ProviderError(text, kind=_Kind.DAMAGED_STREAM, retryable=not started, partial=started)

    def explain_missing_stream(self, content_type: str, body: bytes) -> ProviderError:
        """A successful answer that is no event stream, though one was asked for."""
        remedy = explain_base_url(self.provider, self.address, self.path)
        error = find_error(body)
        if error:  # LM Studio says so of an address that it does not know
            is_wrong = suggest_base_url(self.address, self.path) is not None
            return self.explain_reported(error, started=False, remedy=remedy if is_wrong else "")
        text = (
            f"{self.address} answered with {self._clean_text(content_type) or 'something'} where a "
            f"stream of events was asked for; {remedy}"
        )
        return ProviderError(text, kind=_Kind.BAD_REQUEST)

    def explain_unusable(self, error: Exception) -> ProviderError:
        """The SDK would not send the request at all."""
        text = f"{self.provider} cannot be asked: {self._clean_text(str(error))}"
        return ProviderError(text, kind=_Kind.CONFIGURATION)

    def explain_bad_environment(self, error: Exception) -> ProviderError:
        """The proxies or certificates that the environment names cannot be used."""
        text = (
            f"{self.provider} cannot be asked: {self._clean_text(str(error))}; check the environment variables "
            "HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
        )
        return ProviderError(text, kind=_Kind.CONFIGURATION)

    def _explain_address(self, response: httpx2.Response, *, is_of_model: bool) -> str:
        """Which address the server did not know, and what to do; nothing where it refused something else."""
        if response.status_code not in _NO_SUCH_PATH:
            return ""
        asked = response.request.url.copy_with(userinfo=b"", query=None, fragment=None)
        address = f"the address was {self._clean_text(str(asked))}"
        if is_of_model:
            return address
        remedies = explain_base_url(self.provider, self.address, self.path), self.other_api
        return "; ".join((address, *filter(None, remedies)))

    def _explain_status(
        self,
        status: int | None,
        detail: str,
        *,
        final: bool,
        passing: bool = False,
        kind: _Kind | None = None,
        remedy: str = "",
        partial: bool = False,
        http_status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> ProviderError:
        kind = kind or _classify_status(status)
        number = f" ({status})" if status is not None else ""
        if kind is _Kind.AUTHENTICATION:
            remedy = (
                f"set {self.key_env} to a valid key and start again"
                if self.key_env
                else self.sign_in or self._name_key()
            )
        reason = "; ".join(part for part in (detail or "it gave no reason", remedy) if part)
        return ProviderError(
            f"{self.provider} {_SAYS[kind]}{number}: {reason}",
            kind=kind,
            retryable=(passing or kind in _RETRYABLE) and not final and not partial,
            status=http_status,
            request_id=request_id,
            retry_after=retry_after,
            partial=partial,
        )

    def _name_key(self) -> str:
        return f"name the variable that holds its key with api_key_env in [providers.{self.provider}]"

    def _explain_no_connection(self, error: Exception) -> ProviderError:
        causes = list(_walk_causes(error))
        certificate = next((c for c in causes if isinstance(c, ssl.SSLCertVerificationError)), None)
        if certificate is not None:
            return self._explain_untrusted(certificate)
        proxy = find_proxy(self.address)
        if isinstance(error, httpx2.ProxyError) and proxy is not None:
            return self._explain_proxy_refusal(proxy, str(error))
        reason = next((r for c in causes if (r := _read_reason(c))), self._clean_text(str(error)))
        way = f" through the proxy {proxy.address} of {proxy.variable}" if proxy is not None else ""
        text = f"cannot connect to {self.address}{way}: {reason or type(error).__name__}"
        return ProviderError(text, kind=_Kind.CONNECTION, retryable=True)

    def _explain_untrusted(self, certificate: ssl.SSLCertVerificationError) -> ProviderError:
        text = (
            f"the certificate of {self.address} is not trusted: {self._clean_text(certificate.verify_message)}"
        )
        if getattr(certificate, "verify_code", 0) not in _OWN_FAULTS:
            text += (
                "; if an authority of your own signed it, set SSL_CERT_FILE to the file with its certificate"
            )
        return ProviderError(text, kind=_Kind.CONNECTION)

    def _explain_proxy_refusal(self, proxy: Proxy, reason: str) -> ProviderError:
        """The proxy answered, and did not let through. What it refuses once, it refuses again."""
        if reason.startswith(str(_PROXY_WANTS_TO_KNOW)):
            text = (
                f"the proxy {proxy.address} wants to know who asks (407); write your name and password into "
                f"{proxy.variable}, as http://NAME:PASSWORD@HOST:PORT"
            )
            return ProviderError(text, kind=_Kind.CONNECTION)
        text = (
            f"the proxy {proxy.address} does not lead to {self.address}: {self._clean_text(reason)}; check "
            f"{proxy.variable} and NO_PROXY"
        )
        return ProviderError(text, kind=_Kind.CONNECTION, retryable=reason.startswith("5"))

    def _read_detail(self, error: JsonObject) -> str:
        message = read_text_field(error, "message") or read_text_field(error, "detail")
        return self._clean_text(" ".join(part for part in (message, read_upstream(error)) if part))

    def _clean_text(self, text: str) -> str:
        return fit_to_line(text, self.secret)


def find_direct_cause(error: Exception) -> Exception:
    """The error of the connection that an SDK's error was raised from; the error itself where there is none."""
    return error.__cause__ if isinstance(error.__cause__, Exception) else error


def _classify_status(status: int | None) -> _Kind:
    if status is None or status >= 500:
        return _KINDS.get(status or 500, _Kind.SERVER)
    return _KINDS.get(status, _Kind.BAD_REQUEST)


def _walk_causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        if isinstance(seen, BaseExceptionGroup):
            yield from (cause for inner in seen.exceptions for cause in _walk_causes(inner))
        seen = seen.__cause__ or seen.__context__


def _read_reason(error: BaseException) -> str:
    if isinstance(error, socket.gaierror):
        return "the name of the host is not known (is there a network?)"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused (does the server run?)"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return ""


class Proxy(Struct, frozen=True):
    """A proxy without name and password, and the environment variable that names it."""

    address: str
    variable: str


def find_proxy(address: str) -> Proxy | None:
    """The proxy through which this address is reached, or None where it is reached directly."""
    target = urlsplit(address)
    known = getproxies()
    scheme = next((scheme for scheme in (target.scheme, "all") if known.get(scheme)), None)
    if scheme is None or not target.hostname:
        return None
    if proxy_bypass(target.hostname) or _is_in_network(target.hostname, known.get("no", "")):
        return None
    given = known[scheme]
    parts = urlsplit(given if "://" in given else f"http://{given}")
    return Proxy(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", f"{scheme.upper()}_PROXY")


def _is_in_network(host: str, no_proxy: str) -> bool:
    """Whether a host is an address that NO_PROXY names, or in a network of it, with or without brackets."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return any(address in network for entry in no_proxy.split(",") if (network := _read_network(entry)))


def _read_network(entry: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(entry.strip().replace("[", "").replace("]", ""), strict=False)
    except ValueError:
        return None
