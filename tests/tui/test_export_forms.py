"""The forms of an export: nothing that a model, a tool or a file wrote is read as markup or acts."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from quorum.application.export.formats import render_export, render_markdown, render_page, render_plain
from quorum.application.export.narration import build_account
from quorum.application.export.session_json import render_json
from quorum.domain.text.printable import make_printable
from tests.support.examples import examples
from tests.support.past_sessions import START_MS, a_summary, a_turn, an_eventful_session, records_of

HOSTILE = [
    "<script>alert(1)</script>",
    "</pre></details><img src=x onerror=alert(1)>",
    "```\n# forged\n```",
    "````` tick ``",
    "`",
    "a ` b `` c",
    "\x1b[31mred\x1b]52;c;eA==\x07",
    "\u202eltr\u2066",
    "# heading\n> quote\n- item\n| a | b |",
    "[link](javascript:alert(1)) <b>&amp;",
    "\ud800 lone \x7f \x9b31m \u2028",
    "   ",
    "\n\n",
    "x\r\ny\rz\tw",
]
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(alphabet=st.sampled_from("`~#<>&\"'\\\n\r\t \x1b\x07\u202e\u2028-+*_ab[]()!|")),
)
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "dl", "dt", "dd", "section", "pre", "p"),
    *("details", "summary", "code", "span", "ul", "li"),
}


def same(text: str) -> str:
    return text


def bad_controls(text: str) -> set[str]:
    return {char for char in text if char != "\n" and make_printable(char) != char}


class Reader(HTMLParser):
    """Collects which tags and attributes a page has, and whether each closes the one before it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[str, str]] = set()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {(tag, name) for name, _ in attrs} or {(tag, "")}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.texts.append(data)


@pytest.mark.long
@examples(150)
@given(text=texts, name=texts)
def test_a_page_has_only_our_own_tags_and_every_text_is_escaped(text: str, name: str) -> None:
    shown = render_page(build_account(a_summary(title=text), an_eventful_session(text, name), same))

    reader = Reader()
    reader.feed(shown)
    reader.close()
    assert reader.open == []
    assert {tag for tag, _ in reader.seen} == TAGS
    assert {attribute for _, attribute in reader.seen} <= {
        "",
        "class",
        "lang",
        "charset",
        "name",
        "content",
    } | {"http-equiv"}
    assert not bad_controls(shown)
    assert make_printable(text).strip() in "".join(reader.texts)


@pytest.mark.long
@examples(150)
@given(text=texts, name=texts)
def test_markdown_reads_nothing_of_what_it_quotes(text: str, name: str) -> None:
    text += "\nx"  # what is blank is left out
    shown = render_markdown(build_account(a_summary(title=text), an_eventful_session(text, name), same))
    harmless = render_markdown(build_account(a_summary(title="x"), an_eventful_session("x", "x"), same))

    assert not bad_controls(shown)
    assert outline(shown) == outline(harmless)


def outline(text: str) -> list[str]:
    """The structure that a reader of Markdown sees, without what stands in code."""
    kinds = []
    for token in MarkdownIt("commonmark").parse(text):
        kinds.append(f"{token.type} {token.info} {token.level}")
        for child in token.children or ():
            kinds.append(child.type if child.type != "text" else f"text {child.content}")
    return kinds


@pytest.mark.long
@examples(100)
@given(text=texts, name=texts)
def test_plain_text_and_json_hold_nothing_that_acts_on_a_terminal(text: str, name: str) -> None:
    records = an_eventful_session(text, name)

    shown = render_plain(build_account(a_summary(title=text), records, same))
    data = render_json(a_summary(title=text), records, same)

    assert not bad_controls(shown)
    assert data.isascii()
    assert not bad_controls(data)
    assert json.loads(data)["session"]["title"] == text


def test_json_holds_every_record_with_its_event() -> None:
    data = json.loads(render_export("json", a_summary(), records_of([*a_turn("hello", "hi"), None]), same))

    assert (data["type"], data["v"], data["session"]["id"]) == ("quorum_session", 1, a_summary().id)
    assert [record["seq"] for record in data["records"]] == [0, 1, 2, 3, 4]
    assert data["records"][0] == {
        "seq": 0,
        "at_ms": START_MS,
        "redacted": False,
        "event": {"type": "turn_started", "v": 1, "prompt": "hello", "command": None},
    }
    assert data["records"][4]["event"] is None


@pytest.mark.parametrize("form", ["md", "json", "html", "canonical"])
def test_no_form_holds_what_the_mask_hides(form: str) -> None:
    records = an_eventful_session("S3CRET")

    shown = render_export(
        form, a_summary(title="S3CRET"), records, lambda text: text.replace("S3CRET", "[hidden]")
    )  # type: ignore[arg-type]

    assert "S3CRET" not in shown
    assert "[hidden]" in shown


def test_a_page_loads_nothing_and_runs_nothing() -> None:
    shown = render_page(build_account(a_summary(), an_eventful_session("x"), same))

    assert "default-src 'none'" in shown
    assert not re.search(r"<script|https?://|url\(|@import|\bon\w+=|src=|href=", shown)


def test_a_page_colours_a_diff_and_folds_the_calls() -> None:
    shown = render_page(build_account(a_summary(), an_eventful_session("a<b"), same))

    assert '<span class="plus">+a&lt;b</span>' in shown
    assert '<span class="plus">+++' not in shown, "the name of a file is no line that was added"
    assert "<details><summary><code>edit_file</code> · ok · 250 ms" in shown
    assert '<section class="back">' in shown


def test_markdown_is_readable() -> None:
    shown = render_markdown(build_account(a_summary(), records_of(a_turn("say `hi`", "```\nhi\n```")), same))

    assert shown == (
        "# `fix the typo`\n"
        "\n"
        "- Session: `0199a1b2-0000-7000-8000-000000000001`\n"
        "- Folder: `/home/ada/project`\n"
        "- Model: `offline/offline`\n"
        "- Began: `2026-09-21 14:13:20 UTC`\n"
        "- Last used: `2026-09-21 14:14:20 UTC`\n"
        "- Turns: `2`\n"
        "- Tokens: `10 in, 5 out`\n"
        "- Cost: `$0.0025`\n"
        "- Records: `4 records`\n"
        "\n"
        "## Turn 1 · 2026-09-21 14:13:20 UTC\n"
        "\n"
        "```\n"
        "say `hi`\n"
        "```\n"
        "\n"
        "### The answer of `fake/model`\n"
        "\n"
        "````markdown\n"
        "```\n"
        "hi\n"
        "```\n"
        "````\n"
    )


def test_plain_text_cuts_long_outputs_and_says_so() -> None:
    text = "\n".join(f"line {number}" for number in range(40))

    shown = render_plain(build_account(a_summary(), an_eventful_session(text), same))

    after = shown.split("  output:\n", 1)[1].splitlines()
    assert after[:12] == [f"    line {number}" for number in range(12)]
    assert after[12] == "    … 28 more lines"


def test_plain_text_is_readable() -> None:
    shown = render_plain(build_account(a_summary(), an_eventful_session("x"), same))

    assert shown.startswith("fix the typo\n\nSession:           0199a1b2-0000-7000-8000-000000000001\n")
    assert "\n── Turn 1 · 2026-09-21 14:13:21 UTC\n> x\n" in shown
    assert "\n● edit_file · ok · 250 ms · approved by a person\n  · put to review: x (packet sha256 " in shown
    assert "\n── Turn 2 · 2026-09-21 14:13:46 UTC · taken back later\n> x\n" in shown
