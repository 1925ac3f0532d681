"""Secrets that terminal sequences take apart, and that would be whole where the sequences are taken out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.events.masking import MaskedText, SecretMask
from quorum.domain.text.printable import SeenText, make_printable
from tests.support.examples import examples

KEY = "ghp" + "_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
KNOWN = "correct-horse-battery-staple"
RAW = ["\x1b[0m", "\x9b1;31m", "\x1b]8;;https://x.org\x1b\\", "\x1b]0;a title\x07", "\x1b(B", "\x1bM"]
IN_JSON = [json.dumps(sequence)[1:-1] for sequence in RAW]
IN_JSON_TWICE = [json.dumps(sequence)[1:-1] for sequence in IN_JSON]
SEQUENCES = [*RAW, "z\x08", *IN_JSON, *IN_JSON_TWICE, "\\u001B[1m", "\\u009B1m"]


def _mask() -> SecretMask:
    mask = SecretMask()
    mask.learn("PASSPHRASE", KNOWN)
    return mask


def _seen(text: str) -> str:
    return SeenText(text).text


@pytest.mark.parametrize("sequence", SEQUENCES, ids=ascii)
@pytest.mark.parametrize("secret", [KEY, KNOWN])
def test_a_secret_with_a_sequence_at_any_place_is_hidden(secret: str, sequence: str) -> None:
    for at in range(1, len(secret)):
        text = f"it is {secret[:at]}{sequence}{secret[at:]} here"

        shown = _mask().mask_text(text)

        assert secret not in _seen(shown)
        assert (shown[:6], shown[-5:]) == ("it is ", " here")
        assert "[secret:" in shown


def test_a_secret_with_a_sequence_behind_each_letter_is_hidden_in_texts_and_data() -> None:
    text = "".join(f"{letter}\x1b[0m" for letter in KEY)

    assert _mask().mask_text(f"a {text} b") == "a [secret:github-token]\x1b[0m b"
    assert KNOWN not in _seen(str(_mask().mask_known("".join(f"{letter}\x1b[1m" for letter in KNOWN))))
    assert _mask().mask_json({"a": [text]}) == {"a": ["[secret:github-token]\x1b[0m"]}


@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("sequence", SEQUENCES, ids=ascii)
def test_a_secret_that_arrives_in_pieces_with_sequences_in_it_is_never_shown(sequence: str, size: int) -> None:
    text = "it is " + "".join(f"{KEY[at : at + 5]}{sequence}" for at in range(0, len(KEY), 5)) + " and more\n"
    stream = MaskedText(_mask())

    shown = "".join(stream.push(text[at : at + size]) for at in range(0, len(text), size)) + stream.flush()

    assert KEY not in _seen(shown)
    assert "[secret:github-token]" in shown


def test_sequences_around_other_words_stay() -> None:
    text = "\x1b[1mbold\x1b[0m and \x1b[31mred"

    assert _mask().mask_text(text) is text


@examples(200)
@given(
    parts=st.lists(st.tuples(st.integers(1, len(KEY)), st.sampled_from(RAW)), min_size=1, max_size=6),
    secret=st.sampled_from([KEY, KNOWN]),
    is_ascii=st.booleans(),
    size=st.integers(1, 60),
)
def test_a_secret_that_sequences_take_apart_is_hidden_in_json_which_stays_json(
    parts: list[tuple[int, str]], secret: str, is_ascii: bool, size: int
) -> None:
    text = secret
    for at, sequence in sorted(parts, reverse=True):
        text = text[:at] + sequence + text[at:]
    written = json.dumps({"a": f"it is {text} here", "b": "\n\t\\é"}, ensure_ascii=is_ascii)
    stream = MaskedText(_mask())

    shown = _mask().mask_text(written)
    streamed = "".join(stream.push(written[at : at + size]) for at in range(0, len(written), size))

    assert secret not in _seen(json.loads(shown)["a"])
    assert json.loads(shown)["b"] == "\n\t\\é"
    assert secret not in _seen(streamed + stream.flush())


def test_escapes_around_other_words_stay() -> None:
    text = json.dumps({"a": "\x1b[1mbold\x1b[0m", "b": "C:\\\\u001 \\\\b"})

    assert _mask().mask_text(text) is text


PIECES = st.sampled_from(
    ["\x1b", "[", "0", "m", "]", "\x07", "\\", "\x9b", "\x9d", "(", "B", "a", "M", "\n", " "]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_what_is_seen_is_what_is_drawn(text: str) -> None:
    assert make_printable(_seen(text)) == make_printable(text, strip_ansi=True)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_each_character_that_is_seen_is_found_again_in_the_whole_text(text: str) -> None:
    seen = SeenText(text)

    assert "".join(text[seen.locate(at)] for at in range(len(seen.text))) == seen.text


@pytest.mark.long
@pytest.mark.parametrize("sequences", [5, 60])
@pytest.mark.parametrize("sequence", ["\x1b[0m", "\\u001b[0m", "\x1b]8;;https://example.org/a/b/c\x07"])
def test_a_secret_is_hidden_in_a_stream_that_many_sequences_take_apart(sequence: str, sequences: int) -> None:
    for cut in range(1, 5):
        text = f"it is {KNOWN[:cut]}{sequence * sequences}{KNOWN[cut:]} here"
        stream = MaskedText(_mask())

        streamed = "".join(map(stream.push, text)) + stream.flush()

        assert KNOWN not in _seen(streamed)
