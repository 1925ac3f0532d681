"""What a PDF says of itself: its pages, as far as they can be counted, and that it is encrypted."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.errors import AttachmentError
from quorum.infrastructure.attachment_files import count_pages, is_pdf
from tests.support.examples import examples
from tests.support.papers import pdf


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("pages", [1, 12, 101])
def test_pages_are_counted_also_where_they_are_packed(pages: int, is_packed: bool) -> None:
    assert count_pages(pdf(pages, is_packed=is_packed)) == pages


def test_pages_of_an_earlier_version_in_the_file_do_not_count_twice() -> None:
    assert count_pages(pdf(3) + pdf(3)) == 3


def test_entries_of_an_outline_are_no_pages() -> None:
    assert count_pages(pdf(2).replace(b"%%EOF", b"<< /Type /Outlines /Count 40 >>\n%%EOF")) == 2


def test_where_nothing_can_be_counted_the_pages_are_not_known() -> None:
    assert count_pages(b"%PDF-1.7\nnothing that is known") == 0


@pytest.mark.parametrize("trailer", ["/Encrypt 5 0 R", "/Encrypt << /Filter /Standard >>"])
def test_an_encrypted_one_is_refused_with_the_remedy(trailer: str) -> None:
    with pytest.raises(AttachmentError, match=r"encrypted.*save it without a password"):
        count_pages(pdf(trailer=trailer))


@pytest.mark.long
def test_what_would_unpack_to_gigabytes_is_unpacked_up_to_a_bound() -> None:
    page = b" /Type /Page "
    bomb = zlib.compress(page + b"0" * 30_000_000 + page)
    packed = b"1 0 obj << /Type /ObjStm /Filter /FlateDecode >>\nstream\n" + bomb + b"\nendstream\n"

    # of each no more than four megabytes, where its first page is, and of all sixty-four
    assert count_pages(b"%PDF-1.7\n" + packed) == 1
    assert count_pages(b"%PDF-1.7\n" + packed * 200) == 16


@pytest.mark.long
def test_a_file_with_many_beginnings_of_streams_is_read() -> None:
    assert count_pages(b"%PDF-1.7\n" + b"/Type /ObjStm " * 100_000) == 0


@given(st.binary(max_size=300))
@examples(200)
def test_whatever_follows_the_mark_the_answer_is_a_number_or_a_refusal(rest: bytes) -> None:
    content = b"%PDF-1.7\n" + rest + b"/Type /ObjStm stream\n" + rest

    assert is_pdf(content)
    assert count_pages(content) >= 0
