from __future__ import annotations

import base64
from textwrap import wrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.events.masking import SecretMask
from quorum.domain.secrets import known
from quorum.domain.secrets.known import list_forms
from tests.support.examples import examples

SECRETS = (
    "hunter2hunter2",
    "12345678",
    "pässwörter-und-mehr",
    "postgres://me:s3cr3t-w0rd@db/x",
    "lost\ufffdcharacter",
)
SEQUENCES = ("", "\x1b[0m", "\x9b1m", "a\x08", "\\u001b[0m", "\x1b]8;;x\x1b\\")
NOISE = st.binary(max_size=20) | st.sampled_from(
    [b"\xc2\x90", b"\\u009", b"\xc3\xa9", b"\n", b"\0", b"postgres://"]
)


def a_mask() -> SecretMask:
    mask = SecretMask()
    for number, secret in enumerate(SECRETS):
        mask.learn(f"SECRET_{number}", secret)
    return mask


def hides(mask: SecretMask, content: bytes) -> bool:
    text = content.decode("utf-8", "replace")
    return mask.mask_known(text) is not text


@examples(400)
@given(
    before=NOISE,
    after=NOISE,
    form=st.sampled_from([form for secret in SECRETS for form in list_forms(secret, encoded=True)]),
    cut=st.integers(0, 30),
    sequence=st.sampled_from(SEQUENCES),
)
def test_whatever_would_be_hidden_of_a_text_is_suspected_in_its_bytes(
    before: bytes, after: bytes, form: str, cut: int, sequence: str
) -> None:
    mask = a_mask()
    content = before + f"{form[:cut]}{sequence}{form[cut:]}".encode() + after

    assert mask.may_hold_known(content) or not hides(mask, content)


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("secret", [*SECRETS[:4], "x" * 8])
def test_a_known_value_is_suspected_wherever_it_begins(secret: str, before: int) -> None:
    mask = a_mask()
    mask.learn("eight", "x" * 8)

    content = b"." * before + secret.encode()
    assert hides(mask, content)
    assert mask.may_hold_known(content)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_known_value_over_the_end_of_a_line_is_suspected_wherever_the_line_ends(end: str) -> None:
    mask = SecretMask()
    mask.learn("LONG", secret := "correct-horse-battery-staple-and-more")

    for before in range(64):
        encoded = base64.b64encode(bytes(before) + secret.encode() + bytes(64)).decode()
        content = "".join(line + end for line in wrap(encoded, 64)).encode()
        assert hides(mask, content)
        assert mask.may_hold_known(content)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_known_value_that_a_sequence_takes_apart_is_suspected(sequence: str) -> None:
    mask = SecretMask()
    mask.learn("SHORT", secret := "correct-horse")

    for cut in range(1, len(secret)):
        content = f"{secret[:cut]}{sequence}{secret[cut:]}".encode()
        assert hides(mask, content)
        assert mask.may_hold_known(content)


def test_bytes_that_are_no_text_are_suspected_where_a_value_holds_what_replaces_them() -> None:
    mask = a_mask()

    content = b"lost\xffcharacter"
    assert hides(mask, content)
    assert mask.may_hold_known(content)


def test_ordinary_contents_are_not_suspected() -> None:
    mask = SecretMask()
    for secret in SECRETS[:4]:
        mask.learn("SECRET", secret)

    for content in (b"", b"abc", b"def main():\n    return 'something'\n" * 90, "süß · ©\n".encode() * 90):
        assert not mask.may_hold_known(content)


def test_where_nothing_is_known_nothing_is_suspected() -> None:
    assert not SecretMask().may_hold_known(b"x" * 4096 + b"\n")


@examples(400)
@given(
    st.lists(
        st.text("abZ09+/_-", min_size=56, max_size=80)
        | st.sampled_from(["\n", "\r\n", "\r", "=", "é", "\ud800", " ", "short"]),
        max_size=12,
    ).map("".join)
)
def test_a_text_in_which_no_line_may_be_full_holds_no_block_that_a_program_wrapped(text: str) -> None:
    assert known._may_be_wrapped(text) or not [*known._find_wrapped_blocks(text)]
