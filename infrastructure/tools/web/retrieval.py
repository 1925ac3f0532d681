"""Gets one page: the request, the redirects it leads through, and its body within bounds, as text."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import ssl
from collections.abc import Callable
from email.message import Message

import httpx2
from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.infrastructure.address_guard import AddressGuard
from quorum.infrastructure.files.encoding import SAMPLE_BYTES, detect, is_binary, read_byte_order_mark
from quorum.infrastructure.http_client import HttpClient

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = frozenset(
    "application/" + name
    for name in (
        "ecmascript", "graphql", "javascript", "json", "json5", "ld+json", "sql", "toml", "x-httpd-php",
        "x-javascript", "x-ndjson", "x-php", "x-python", "x-sh", "x-tex", "x-toml", "x-yaml", "xml",
        "xml-dtd", "yaml",
    )
)  # fmt: skip
_LOOKS_LIKE_HTML = re.compile(
    rb"\s*(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_META = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([a-z0-9_:.-]+)", re.IGNORECASE)
_META_BYTES = 4096
# What is text on the web. Python knows more names, some of which are no encodings of text at all.
_CHARSET = re.compile(
    r"ascii|utf-(8|16|32)(-sig|-[lb]e)?|iso8859-\d+|cp(125\d|866|874|932|949|950)|koi8-[rtu]|mac-\w+|tis-620|"
    r"gb(k|2312|18030)|hz|big5(hkscs)?|euc[_-](jp|kr|jis_2004)|shift_jis\w*|iso2022_\w+|johab"
)


class MediaType(Struct, frozen=True):
    """A content type such as text/html, lower case, "" where the server named none; and the charset named."""

    name: str
    charset: str

    @classmethod
    def of(cls, header: str) -> MediaType:
        """The type that a Content-Type header names."""
        message = Message()
        message["content-type"] = header
        charset = message.get_param("charset") or ""
        return cls(header.partition(";")[0].strip().lower()[:100], charset if isinstance(charset, str) else "")

    @property
    def may_be_text(self) -> bool:
        """Whether such an answer is worth reading; one of no stated type is looked at."""
        return (
            not self.name or self.name.startswith("text/") or self.name in _TEXT | _HTML or self._is_xml_or_json
        )

    @property
    def _is_xml_or_json(self) -> bool:
        return self.name.endswith(("+json", "+xml", "+yaml"))

    def is_html(self, content: bytes) -> bool:
        """Whether the content is a page to be turned into readable text."""
        return self.name in _HTML or (not self.name and bool(_LOOKS_LIKE_HTML.match(content[:_META_BYTES])))


class DecodedText(Struct, frozen=True):
    """Text, the encoding it was read in, and what is to be said about that, or ""."""

    text: str
    charset: str
    note: str


def decode_text(content: bytes, media: MediaType, *, complete: bool) -> DecodedText | None:
    """The text of an answer; None where it is no text. A byte order mark counts most, then what the server
    says, then what the page says, then likelihood. What does not fit the encoding is replaced, and said."""
    if (mark := read_byte_order_mark(content)) is not None:
        return DecodedText(content[len(mark.mark) :].decode(mark.codec, "replace"), mark.codec, "")
    if is_binary(content):
        return None
    named = media.charset or (_find_charset_of_page(content) if media.is_html(content) else "")
    codec = _find_codec(named)
    if codec is not None and (text := _decode_strictly(content, codec, complete=complete)) is not None:
        return DecodedText(text, codec, "")
    found = detect(content[:SAMPLE_BYTES], complete=complete and len(content) <= SAMPLE_BYTES)
    if found is None and not named:
        return None
    codec = found.codec if found is not None else codec or "utf-8"
    note = f"said to be {named[:40]}, which does not fit; read as {codec}" if named else ""
    return DecodedText(content.decode(codec, "replace"), codec, note)


def _find_charset_of_page(content: bytes) -> str:
    found = _META.search(content[:_META_BYTES])
    return found[1].decode("ascii") if found else ""


def _find_codec(charset: str) -> str | None:
    try:
        name = codecs.lookup(charset.strip()).name
    except (LookupError, ValueError):
        return None
    if name in ("iso8859-1", "ascii"):
        return "cp1252" if name == "iso8859-1" else name  # what the web means by latin-1
    return name if _CHARSET.fullmatch(name) else None


def _decode_strictly(content: bytes, codec: str, *, complete: bool) -> str | None:
    """The text, or None where the bytes do not fit. Of incomplete content a cut last character is left off."""
    try:
        return codecs.getincrementaldecoder(codec)().decode(content, final=complete)
    except UnicodeDecodeError:
        return None


_LONGEST_ADDRESS = 4096
# Parsers disagree about these, so no address with them is taken.
_AMBIGUOUS = re.compile(r"[\x00-\x20\x7f\\]")

ACCEPTED_ENCODINGS = "gzip, deflate"
_DECODABLE = frozenset({"", "identity", "gzip", "deflate"})

_MOST_ADDRESSES = 4
_NO_REUSE = httpx2.Limits(max_keepalive_connections=0)

_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONNECT_SECS = 10.0
_HEADERS = {
    "User-Agent": "quorum (coding agent)",
    "Accept": "text/html, text/plain, application/json, text/*;q=0.9, */*;q=0.5",
    "Accept-Encoding": ACCEPTED_ENCODINGS,
    "Connection": "close",
}


class WebPage(Struct, frozen=True, kw_only=True):
    """What a server answered. `body` is None where its kind is not text; `size` is what the server stated."""

    url: httpx2.URL
    status: int
    reason: str
    media: MediaType
    redirects: int
    size: int | None
    body: Body | None


class Retrieval:
    """Gets pages from public addresses, within a time and a size."""

    def __init__(
        self,
        guard: AddressGuard,
        *,
        max_bytes: int,
        timeout_secs: float,
        certificates: ssl.SSLContext | bool = True,
    ) -> None:
        """`max_bytes` bounds the decompressed body, `timeout_secs` everything together."""
        self._guard = guard
        self._max_bytes = max_bytes
        self._timeout_secs = timeout_secs
        self._certificates = certificates

    async def fetch(self, url: httpx2.URL, tell: Callable[[str], None]) -> WebPage:
        """The page at an address, or at the one that it leads to. `tell` is called with each step.

        Raises ToolError where an address on the way may not be fetched or nothing usable came back.
        """
        transport = CheckedTransport(self._guard, self._certificates)
        timeout = httpx2.Timeout(self._timeout_secs, connect=min(_CONNECT_SECS, self._timeout_secs))
        client = HttpClient(transport=transport, timeout=timeout, headers=_HEADERS, trust_env=False)
        try:
            async with asyncio.timeout(self._timeout_secs), client:
                return await self._follow_redirects(client, url, tell)
        except TimeoutError as error:
            text = f"{normalise_host(url)} did not finish answering within {self._timeout_secs:g} s"
            raise ToolError(f"{text}; tools.web.timeout_secs sets the limit") from error

    async def _follow_redirects(
        self, client: httpx2.AsyncClient, url: httpx2.URL, tell: Callable[[str], None]
    ) -> WebPage:
        for redirects in range(_MOST_REDIRECTS + 1):
            tell(f"asking {url}")
            answer = await self._request(client, url, redirects)
            if isinstance(answer, WebPage):
                return answer
            url = answer
        raise ToolError(
            f"redirected more than {_MOST_REDIRECTS} times; fetch the last address itself if it is the right "
            f"one: {url}"
        )

    async def _request(
        self, client: httpx2.AsyncClient, url: httpx2.URL, redirects: int
    ) -> WebPage | httpx2.URL:
        """The page, or the address that the answer leads to."""
        try:
            async with client.stream("GET", url, follow_redirects=False) as response:
                if response.status_code in _REDIRECTS:
                    return _resolve_destination(response)
                return await self._read(response, redirects)
        except httpx2.HTTPError as error:
            raise build_failure(error, normalise_host(url)) from error

    async def _read(self, response: httpx2.Response, redirects: int) -> WebPage:
        stated = response.headers.get("content-length", "")
        media = MediaType.of(response.headers.get("content-type", ""))
        return WebPage(
            url=response.url,
            status=response.status_code,
            reason=response.reason_phrase,
            media=media,
            redirects=redirects,
            size=int(stated) if stated.isascii() and stated.isdigit() else None,
            body=await read_body(response, self._max_bytes) if media.may_be_text else None,
        )


def _resolve_destination(response: httpx2.Response) -> httpx2.URL:
    location = response.headers.get("location", "").strip()
    if not location:
        raise ToolError(f"{response.url} answered {response.status_code} without saying where to")
    try:
        return parse_web_address(location, response.url)
    except ToolError as error:
        raise ToolError(f"{response.url} leads to an address that is not followed: {error}") from error


class CheckedTransport(httpx2.AsyncBaseTransport):
    """Resolves and checks the host of each request, then connects to the checked address by its number.

    The name stays in the Host header, in SNI and in the check of the certificate. No connection is kept for
    another request, since two names may share an address. Proxies are not used: one would resolve the name
    anew, out of our sight.
    """

    def __init__(self, guard: AddressGuard, certificates: ssl.SSLContext | bool = True) -> None:
        """`certificates` says which certificates are trusted; True: those of this machine."""
        self._guard = guard
        self._inner = httpx2.AsyncHTTPTransport(verify=certificates, limits=_NO_REUSE)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response of the first checked address that takes the connection. Raises ToolError."""
        host = normalise_host(request.url)
        addresses = await self._guard.resolve(host, find_port(request.url))
        *others, last = addresses[:_MOST_ADDRESSES]
        for address in others:
            try:
                return await self._inner.handle_async_request(_replace_host(request, host, str(address)))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue  # the next address may answer; the last one's failure is the one reported
        return await self._inner.handle_async_request(_replace_host(request, host, str(last)))

    async def aclose(self) -> None:
        """Close what is open."""
        await self._inner.aclose()


def _replace_host(request: httpx2.Request, host: str, address: str) -> httpx2.Request:
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host.removesuffix(".")},
    )


class Body(Struct, frozen=True):
    """Decoded content. `cut`: there was more of it than was wanted."""

    content: bytes
    cut: bool


async def read_body(response: httpx2.Response, max_bytes: int) -> Body:
    """Read at most `max_bytes`, counted after decompression, and hang up on the rest.

    Raises ToolError for a compression that was not asked for, httpx2.HTTPError for a broken connection.
    """
    codings = response.headers.get("content-encoding", "").lower().split(",")
    if unknown := [coding.strip() for coding in codings if coding.strip() not in _DECODABLE]:
        raise ToolError(f"{response.url} is compressed with {unknown[0]!r:.60}, which was not asked for")
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > max_bytes:
            return Body(bytes(content[:max_bytes]), cut=True)
    return Body(bytes(content), cut=False)


def build_failure(error: httpx2.HTTPError, place: str) -> ToolError:
    """The error that tells why `place`, a host, did not answer."""
    reason = _find_innermost(error)
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


def _find_innermost(error: BaseException) -> BaseException:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def parse_web_address(text: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """The address that a text names, seen from `base` where it is relative; without its fragment.

    Raises ToolError for anything but http and https, and for credentials in it.
    """
    shown = text[:200]
    if len(text) > _LONGEST_ADDRESS:
        raise ToolError(f"{shown}… is too long for a web address; the limit is {_LONGEST_ADDRESS} characters")
    if _AMBIGUOUS.search(text):
        raise ToolError(f"{shown!r} holds blanks, control characters or backslashes; percent-encode them")
    try:
        url = (base.join(text) if base is not None else httpx2.URL(text)).copy_with(fragment=None)
    except (httpx2.InvalidURL, ValueError) as error:
        raise ToolError(f"{shown} is not a web address: {error}") from error
    if url.scheme not in ("http", "https"):
        raise ToolError(f"{shown} is not a web address; it must start with http:// or https://")
    if not url.raw_host:
        raise ToolError(f"{shown} names no host")
    if url.userinfo:
        raise ToolError("the address holds a user name or password; leave them out")
    if not 0 < find_port(url) < 65_536:
        raise ToolError(f"{shown} names a port that no server has; ports are 1 to 65535")
    return url


def normalise_host(url: httpx2.URL) -> str:
    """The host as it goes over the wire: lower case, IDNA-encoded, IPv6 without brackets."""
    return url.raw_host.decode("ascii")


def find_port(url: httpx2.URL) -> int:
    """The port, that of the scheme where none is named."""
    if url.port is not None:
        return url.port
    return 443 if url.scheme == "https" else 80
