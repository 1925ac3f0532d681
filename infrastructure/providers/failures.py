"""What can go wrong with a provider, each in one sentence and one ProviderError."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx2

from domain.errors import ProviderError, ProviderErrorKind
from domain.json_value import JsonObject, JsonValue
from infrastructure.providers.error_bodies import error_in, is_final, one_line, plain_text, status_in
from infrastructure.providers.json_fields import object_of, text_of
from infrastructure.providers.retry import retry_after_of

_Kind = ProviderErrorKind
_KINDS: Mapping[int, _Kind] = {
    401: _Kind.AUTHENTICATION,
    402: _Kind.PERMISSION,
    403: _Kind.PERMISSION,
    404: _Kind.NOT_FOUND,
    408: _Kind.TIMEOUT,
    409: _Kind.SERVER,
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
    _Kind.RATE_LIMIT: "rate limited the request",
    _Kind.OVERLOADED: "is overloaded",
    _Kind.SERVER: "failed on its side",
    _Kind.DAMAGED_STREAM: "sent a damaged answer",
}
_RETRYABLE = frozenset({_Kind.TIMEOUT, _Kind.RATE_LIMIT, _Kind.OVERLOADED, _Kind.SERVER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """Words the failures of one provider. `secret` is the key, which never appears in a sentence."""

    provider: str
    address: str
    key_env: str | None
    secret: str
    timeout_secs: float

    def refused(self, response: httpx2.Response) -> ProviderError:
        """An HTTP status other than success. The body must have been read."""
        status = response.status_code
        error = error_in(response.content)
        wish = response.headers.get("x-should-retry")
        return self._said(
            status,
            self._detail(error) or self._shown(plain_text(response.content)),
            final=is_final(error) or wish == "false",
            http_status=status,
            request_id=response.headers.get("request-id") or response.headers.get("x-request-id"),
            retry_after=retry_after_of(response.headers),
        )

    def reported(self, error: JsonValue, *, started: bool) -> ProviderError:
        """An error that the provider reported inside a stream that had begun with success."""
        known = error if isinstance(error, Mapping) else {"message": error}
        status = status_in(known)
        return self._said(status, self._detail(known), final=is_final(known), partial=started)

    def unreachable(self, error: Exception, *, started: bool) -> ProviderError:
        """A failure of the connection, before or after the answer began."""
        if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            text = f"no connection to {self.address} could be made in time"
            return ProviderError(text, kind=_Kind.TIMEOUT, retryable=True)
        if isinstance(error, httpx2.TimeoutException):
            text = f"{self.provider} sent nothing for {self.timeout_secs:g} s"
            return ProviderError(text, kind=_Kind.TIMEOUT, retryable=not started, partial=started)
        if isinstance(error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError | httpx2.InvalidURL):
            text = f"{self.provider} cannot be asked at {self.address}: {self._shown(str(error))}"
            return ProviderError(text, kind=_Kind.CONFIGURATION)
        if started or isinstance(error, httpx2.DecodingError):
            return self.damaged("the stream broke off before the answer was complete", started=started)
        if isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.WriteError):
            text = f"{self.address} closed the connection without an answer"
            return ProviderError(text, kind=_Kind.CONNECTION, retryable=True)
        return self._not_connected(error)

    def damaged(self, what: str, *, started: bool) -> ProviderError:
        """An answer that cannot be trusted to be whole."""
        text = f"{self.provider}: {self._shown(what)}"
        return ProviderError(text, kind=_Kind.DAMAGED_STREAM, retryable=not started, partial=started)

    def no_stream(self, content_type: str, body: bytes) -> ProviderError:
        """A successful answer that is no event stream, though one was asked for."""
        error = error_in(body)
        if error:
            return self.reported(error, started=False)
        text = (
            f"{self.address} answered with {self._shown(content_type) or 'something'} where a stream of events "
            f"was asked for; check base_url of provider {self.provider}"
        )
        return ProviderError(text, kind=_Kind.BAD_REQUEST)

    def unusable(self, error: Exception) -> ProviderError:
        """The SDK would not send the request at all."""
        text = f"{self.provider} cannot be asked: {self._shown(str(error))}"
        return ProviderError(text, kind=_Kind.CONFIGURATION)

    def bad_environment(self, error: Exception) -> ProviderError:
        """The proxies or certificates that the environment names cannot be used."""
        text = (
            f"{self.provider} cannot be asked: {self._shown(str(error))}; check the environment variables "
            "HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
        )
        return ProviderError(text, kind=_Kind.CONFIGURATION)

    def _said(
        self,
        status: int | None,
        detail: str,
        *,
        final: bool,
        partial: bool = False,
        http_status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> ProviderError:
        kind = _kind_of(status)
        number = f" ({status})" if status is not None else ""
        remedy = ""
        if kind is _Kind.AUTHENTICATION and self.key_env:
            remedy = f"; set {self.key_env} to a valid key"
        return ProviderError(
            f"{self.provider} {_SAYS[kind]}{number}: {detail or 'it gave no reason'}{remedy}",
            kind=kind,
            retryable=kind in _RETRYABLE and not final and not partial,
            status=http_status,
            request_id=request_id,
            retry_after=retry_after,
            partial=partial,
        )

    def _not_connected(self, error: Exception) -> ProviderError:
        causes = list(_causes(error))
        certificate = next((c for c in causes if isinstance(c, ssl.SSLCertVerificationError)), None)
        if certificate is not None:
            why = self._shown(certificate.verify_message)
            text = f"the certificate of {self.address} is not trusted: {why}"
            return ProviderError(text, kind=_Kind.CONNECTION)
        reason = next((r for c in causes if (r := _reason(c))), self._shown(str(error)))
        text = f"cannot connect to {self.address}: {reason or type(error).__name__}"
        return ProviderError(text, kind=_Kind.CONNECTION, retryable=True)

    def _detail(self, error: JsonObject) -> str:
        message = text_of(error, "message") or text_of(error, "detail")
        upstream = text_of(object_of(error, "metadata"), "raw")
        return self._shown(" ".join(part for part in (message, upstream) if part))

    def _shown(self, text: str) -> str:
        if self.secret:
            text = text.replace(self.secret, "…")
        return one_line(text)


def _kind_of(status: int | None) -> _Kind:
    if status is None or status >= 500:
        return _KINDS.get(status or 500, _Kind.SERVER)
    return _KINDS.get(status, _Kind.BAD_REQUEST)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        if isinstance(seen, BaseExceptionGroup):
            yield from (cause for inner in seen.exceptions for cause in _causes(inner))
        seen = seen.__cause__ or seen.__context__


def _reason(error: BaseException) -> str:
    if isinstance(error, socket.gaierror):
        return "the name of the host is not known"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return ""
