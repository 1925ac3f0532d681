"""What a server says its answer is, and what text that makes of the bytes."""

from __future__ import annotations

import codecs
import re
from email.message import Message

from msgspec import Struct

from quorum.infrastructure.files.encoding import SAMPLE_BYTES, detect, is_binary, read_byte_order_mark

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
