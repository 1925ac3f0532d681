"""How the bytes of a file are text: encoding, byte order mark, or not text at all."""

from __future__ import annotations

import codecs

from msgspec import Struct

SAMPLE_BYTES = 256 * 1024
_BINARY_SAMPLE = 8192
_PRINTABLE_ASCII = bytes(range(0x20, 0x7F)) + b"\t\n\r\f\x1b\b"
# Of so many bytes of a text one may be invalid.
_LEAST_PRINTABLE = 20
# The longer marks first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What source files are met in. A free guess takes short texts for EBCDIC and the like.
_GUESSES = [
    "cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256",
    "cp932", "euc_jp", "gb18030", "big5", "cp949",
]  # fmt: skip
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "ZIP"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"(\xb5/\xfd", "Zstandard"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"\x7fELF", "an ELF program"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"\xca\xfe\xba\xbe", "a Java class or Mach-O program"),
    (b"\x00asm", "WebAssembly"),
    (b"MZ", "a Windows program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"OggS", "Ogg"),
    (b"RIFF", "RIFF (WebP, WAV, AVI)"),
)


_IMAGES = frozenset({"PNG", "JPEG", "GIF"})


class Encoding(Struct, frozen=True):
    """A codec, and the byte order mark that the file begins with. `guessed`: only likelihood speaks for it.

    `is_broken`: some bytes are none of it. In a text they are surrogates, by which they come back as they are.
    """

    codec: str
    mark: bytes = b""
    guessed: bool = False
    is_broken: bool = False

    @property
    def label(self) -> str:
        """The encoding in words."""
        label = self.codec + (" with a byte order mark" if self.mark else "")
        return f"{label}, some bytes of which are invalid" if self.is_broken else label

    @property
    def _errors(self) -> str:
        return "surrogateescape" if self.is_broken else "strict"

    def decode(self, content: bytes) -> str:
        """The text without the mark. Raises UnicodeDecodeError."""
        return content[len(self.mark) :].decode(self.codec, self._errors)

    def show(self, content: bytes) -> str:
        """The text to read: invalid bytes are written as \\xff. Raises UnicodeDecodeError."""
        errors = "backslashreplace" if self.is_broken else "strict"
        return content[len(self.mark) :].decode(self.codec, errors)

    def encode(self, text: str) -> bytes:
        """The bytes of a text, mark included. Raises UnicodeEncodeError."""
        return self.mark + text.encode(self.codec, self._errors)


UTF_8 = Encoding("utf-8")
_BROKEN_UTF_8 = Encoding("utf-8", is_broken=True)


def detect(sample: bytes, *, complete: bool) -> Encoding | None:
    """The encoding of a file that begins with, or if `complete` is, the sample; None if it is binary."""
    is_ascii = sample.isascii()
    if not is_ascii and (marked := read_byte_order_mark(sample)) is not None:
        return marked
    if is_binary(sample) or detect_binary_kind(sample) == "PDF":
        return None
    if is_ascii:
        return UTF_8
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=complete)
    except UnicodeDecodeError:
        return _detect_broken(sample, complete=complete) or _guess(sample) or _accept_few_broken(sample)
    return UTF_8


def _detect_broken(sample: bytes, *, complete: bool) -> Encoding | None:
    """UTF-8 where more of its longer characters are whole than broken: no other encoding looks so by chance."""
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(sample, final=complete)
    broken = sum("\udc80" <= each <= "\udcff" for each in text)
    whole = sum(not each.isascii() for each in text) - broken
    return _BROKEN_UTF_8 if whole > broken else None


def _accept_few_broken(sample: bytes) -> Encoding | None:
    """UTF-8 for what is ASCII without controls but for a few bytes."""
    if detect_binary_kind(sample):
        return None
    odd = len(sample.translate(None, _PRINTABLE_ASCII))
    return _BROKEN_UTF_8 if odd * _LEAST_PRINTABLE <= len(sample) else None


def read_byte_order_mark(head: bytes) -> Encoding | None:
    """The encoding that a byte order mark at the beginning tells, or None."""
    return next((Encoding(codec, mark) for mark, codec in _MARKS if head.startswith(mark)), None)


def is_binary(content: bytes) -> bool:
    """The cheap test of searches: no text that is not marked as such holds NUL bytes near its beginning."""
    return b"\0" in content[:_BINARY_SAMPLE]


def detect_binary_kind(head: bytes) -> str | None:
    """What a binary file looks like by its first bytes, or None."""
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)


def is_image(head: bytes) -> bool:
    """Whether the content begins as an image does that models take."""
    return detect_binary_kind(head) in _IMAGES or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


def _guess(sample: bytes) -> Encoding | None:
    if detect_binary_kind(sample):
        return None
    import charset_normalizer  # costs some 10 ms, and few files need it

    matches = charset_normalizer.from_bytes(sample[:SAMPLE_BYTES], cp_isolation=_GUESSES)
    best = matches.best()
    if best is None:
        return None
    # Western and Central European text often fits both equally well; the more common one is then meant.
    equals = (match for match in matches if match.chaos <= best.chaos)
    western = any("cp1252" in match.could_be_from_charset for match in equals)
    return Encoding("cp1252" if western else best.encoding, guessed=True)
