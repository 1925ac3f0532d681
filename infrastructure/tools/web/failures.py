"""Sentences for what goes wrong on the way to a server."""

from __future__ import annotations

import os
import ssl

import httpx2

from domain.errors import ToolError


def failure(error: httpx2.HTTPError, place: str) -> ToolError:
    """The error that tells why `place`, a host, did not answer."""
    reason = _innermost(error)
    match error:
        case httpx2.ConnectTimeout():
            text = f"{place} did not accept a connection in time"
        case httpx2.ConnectError() if isinstance(reason, ssl.SSLCertVerificationError):
            text = f"the certificate of {place} is not valid: {reason.verify_message.rstrip('.')}"
        case httpx2.ConnectError() if isinstance(reason, ssl.SSLError):
            text = f"no secure connection to {place}: {reason.reason or reason}"
        case httpx2.ConnectError():
            number = reason.errno if isinstance(reason, OSError) else None
            text = f"{place} cannot be reached: {os.strerror(number) if number else reason}"
        case httpx2.DecodingError():
            text = f"what {place} sent is damaged: it cannot be decompressed"
        case httpx2.TimeoutException():
            text = f"{place} did not answer in time"
        case _:
            text = f"the connection to {place} broke: {reason or type(error).__name__}"
    return ToolError(text)


def _innermost(error: BaseException) -> BaseException:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error
