import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.errors import AttachmentError
from quorum.infrastructure.attachment_files import read_header
from tests.support.pictures import gif, jpeg, png, webp

WHOLE = {
    "png": png(7, 5),
    "gif": gif(300, 20),
    "jpeg": jpeg(640, 480),
    "webp lossy": webp(320, 200, b"VP8 "),
    "webp lossless": webp(320, 200, b"VP8L"),
    "webp extended": webp(5000, 2, b"VP8X"),
}


@pytest.mark.parametrize(
    ("kind", "header"),
    [
        ("png", ("image/png", 7, 5)),
        ("gif", ("image/gif", 300, 20)),
        ("jpeg", ("image/jpeg", 640, 480)),
        ("webp lossy", ("image/webp", 320, 200)),
        ("webp lossless", ("image/webp", 320, 200)),
        ("webp extended", ("image/webp", 5000, 2)),
    ],
)
def test_the_bytes_tell_what_an_image_is_and_how_large(kind, header):
    assert tuple(read_header(WHOLE[kind])) == header


def test_tables_padding_and_thumbnails_before_the_frame_of_a_jpeg_are_passed_over():
    thumbnail = jpeg(16, 16)
    exif = b"\xff\xe1" + struct.pack(">H", 2 + len(thumbnail)) + thumbnail
    tables = b"\xff\xc4\x00\x03\x01" + b"\xff\xff\xff\xdb\x00\x02"

    assert read_header(jpeg(640, 480, before=exif + tables))[1:] == (640, 480)


@pytest.mark.parametrize("kind", WHOLE)
def test_an_image_cut_within_its_header_is_refused_wherever_it_is_cut(kind):
    content = WHOLE[kind]
    needed = (
        33 if kind == "png" else 10 if kind == "gif" else content.find(b"\xff\xc2") + 9 if kind == "jpeg" else 0
    )
    needed = needed or {"webp lossy": 30, "webp lossless": 25, "webp extended": 30}[kind]
    for length in range(needed):
        with pytest.raises(AttachmentError):
            read_header(content[:length])
    read_header(content[:needed])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%PDF-1.7",
        png(7, 5).replace(struct.pack(">I", 7), struct.pack(">I", 9), 1),  # its checksum no longer fits
        gif(0, 5),
        jpeg(640, 0),
        jpeg(1, 1, before=b"nonsense"),
        jpeg(1, 1, before=b"\xff\xda\x00\x02"),
        jpeg(1, 1, before=b"\xff\xe0\x00\x00"),
        webp(3, 3, b"VP8 ").replace(b"\x9d\x01\x2a", b"\0\0\0"),
        webp(3, 3, b"VP8L").replace(b"\x2f", b"\0"),
        b"RIFF\0\0\0\0WEBPALPH" + bytes(20),
    ],
)
def test_anything_else_and_a_damaged_header_are_refused_with_a_sentence(content):
    with pytest.raises(AttachmentError, match=r"^its? "):
        read_header(content)


@given(st.sampled_from(sorted(WHOLE)), st.binary(max_size=40), st.integers(0, 30))
def test_no_bytes_make_it_fail_in_any_other_way(kind, noise, place):
    content = WHOLE[kind][:place] + noise
    try:
        header = read_header(content)
    except AttachmentError:
        return
    assert header.width > 0
    assert header.height > 0


@pytest.mark.parametrize(
    "filling", [b"\xff", b"\xff\x01", b"\xff\xe0\x00\x02"], ids=["padding", "marks", "parts"]
)
def test_a_frame_is_not_looked_for_without_end(filling):
    with pytest.raises(AttachmentError, match="damaged"):
        read_header(jpeg(640, 480, before=filling * 20_000))
