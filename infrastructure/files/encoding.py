"""How the bytes of a file are text: encoding, byte order mark, or not text at all."""

from __future__ import annotations

import codecs

from domain.lazy_dataclass import dataclass

SAMPLE_BYTES = 256 * 1024
_BINARY_SAMPLE = 8192
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


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec, and the byte order mark that the file begins with. `guessed`: only likelihood speaks for it."""

    codec: str
    mark: bytes = b""
    guessed: bool = False

    @property
    def label(self) -> str:
        """The encoding in words."""
        return self.codec + (" with a byte order mark" if self.mark else "")

    def decode(self, content: bytes) -> str:
        """The text without the mark. Raises UnicodeDecodeError."""
        return content[len(self.mark) :].decode(self.codec)

    def encode(self, text: str) -> bytes:
        """The bytes of a text, mark included. Raises UnicodeEncodeError."""
        return self.mark + text.encode(self.codec)


UTF_8 = Encoding("utf-8")


def detect(sample: bytes, *, complete: bool) -> Encoding | None:
    """The encoding of a file that begins with, or if `complete` is, the sample; None if it is binary."""
    marked = read_byte_order_mark(sample)
    if marked is not None:
        return marked
    if is_binary(sample) or detect_binary_kind(sample) == "PDF":
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=complete)
    except UnicodeDecodeError:
        return _guess(sample)
    return UTF_8


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
