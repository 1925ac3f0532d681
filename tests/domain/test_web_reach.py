"""Which addresses a model may read unasked: those that somebody else than the model wrote."""

import pytest

from quorum.domain.calls.access import Access
from quorum.domain.calls.tool import RiskLevel, ToolResultMessage
from quorum.domain.review.decision import decide
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, Rule, Subject
from quorum.domain.review.web_reach import WebSources, find_web_doubt

SEARCHED = (
    ToolResultMessage(
        tool_use_id="1",
        tool_name="web_search",
        output="1. Found\nhttps://found.example.org/a?id=8f14e45fceea167a5a36dedd4bea2543\nwords",
    ),
    ToolResultMessage(
        tool_use_id="2",
        tool_name="web_fetch",
        output="[next](https://docs.example.org/k/8f14e45fceea167a5a36) [x](https://other.example.net/a)",
    ),
    ToolResultMessage(tool_use_id="3", tool_name="read_file", output="https://file.example.net/a"),
)
SOURCES = WebSources.of(
    [
        "Read https://Docs.example.org/3/library. and python.org, not setup.py, with https://example.com/?q=a1b2c3d4e5f6g7"
    ],
    SEARCHED,
    ["https://approved.example.net/x"],
)


def doubt(url: str) -> str:
    return find_web_doubt("web_fetch", {"url": url}, SOURCES)


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.example.org/3/library",
        "https://docs.example.org/3/library/asyncio-task.html#coroutines",
        "https://docs.example.org/api/ConcurrentHashMap?page=2",
        "https://python.org/downloads/",
        "https://docs.example.org/3.12/library/base64.html?v=2",
        "https://docs.example.org/2024/05/questions/12345678",
        "https://example.com/?q=a1b2c3d4e5f6g7",
        "https://found.example.org/a?id=8f14e45fceea167a5a36dedd4bea2543",
        "https://docs.example.org/k/8f14e45fceea167a5a36",
        "https://approved.example.net/y",
    ],
)
def test_what_the_person_or_a_search_named_is_known(url: str) -> None:
    assert doubt(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "https://other.example.net/a",
        "https://file.example.net/a",
        "https://setup.py/",
        "https://found.example.org/b",
        "https://found.example.org/a?id=8f14e45fceea167a",
        "https://secret.docs.example.org/",
        "https://docs.example.org:8443/3/library",
        "https://docs.example.org@other.example.net/",
        "https://other.example.net\\@docs.example.org/",
        "https://[docs.example.org/",
    ],
)
def test_a_host_that_nobody_named_is_not(url: str) -> None:
    assert doubt(url)


@pytest.mark.parametrize(
    "end",
    [
        "?d=QVBJX1RPS0VOPXE3Wms",
        "/8f14e45fceea167a5a36dedd4bea2543",
        "/a%38f14e45fceea167a5a36",
        "/68756e/7465/7232/2e61/62c3",
        "/4929-1234-5678-9012",
        "/\u0445\u0443\u043d\u04422\u0441\u0435\u043a\u0440\u0435\u04421234",
        "/" + "word-" * 40,
        "?q=" + "some+words+" * 6,
    ],
)
def test_an_address_of_a_known_host_that_carries_data_is_not(end: str) -> None:
    assert "carry out" in doubt(f"https://docs.example.org{end}")


def test_a_search_for_data_is_asked_about_unless_the_person_wrote_it() -> None:
    assert find_web_doubt("web_search", {"query": "asyncio task groups python 3.12"}, SOURCES) == ""
    assert find_web_doubt("web_search", {"query": "error QVBJX1RPS0VOPXE3Wms"}, SOURCES)
    said = WebSources(said=("look for error QVBJX1RPS0VOPXE3Wms",))
    assert find_web_doubt("web_search", {"query": "error QVBJX1RPS0VOPXE3Wms"}, said) == ""


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO, Mode.READ_ONLY])
def test_it_is_asked_about_in_every_mode_unless_a_rule_allows_it(mode: Mode) -> None:
    subject = Subject(
        tool="web_fetch", risk=RiskLevel.LOW, access=Access(), arguments={"url": "https://a.example.net/x"}
    )
    rule = Rule.parse("web_fetch(url=https://a.example.net/*)", Answer.ALLOW, "yours")
    paths = PathPolicy(roots=("/work",))

    asked = decide(subject, mode=mode, paths=paths, web_doubt="nobody named it")
    allowed = decide(subject, mode=mode, paths=paths, web_doubt="nobody named it", rules=[rule])

    assert (asked.answer, asked.reasons) == (Answer.ASK, ("nobody named it",))
    assert allowed.answer is Answer.ALLOW
