"""What a run tells of its tokens and of their cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.headless_run import configure_for, environment, run
from tests.support.sse_server import Say, ScriptedCall, SseServer

# Each scripted answer of this dialect uses 7 tokens of input, 5 from the cache, 3 into it, and 11 of output.
DIALECT = "anthropic"
ONE_ANSWER_USD = (7 * 2 + 11 * 10 + 5 * 0.1 + 3 * 2.5) / 1_000_000
PRICES = """
[prices."local/scripted"]
input = 2
output = 10
cache_read = 0.1
cache_write = 2.5
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def price_it(home: Path) -> None:
    with (home / "config/quorum/quorum.toml").open("a", encoding="utf-8") as file:
        file.write(PRICES)


@pytest.mark.long
async def test_the_report_and_each_request_tell_their_cost_where_the_price_is_known(
    home: Path, tmp_path: Path
) -> None:
    async with SseServer(DIALECT) as server:
        configure_for(home, server)
        price_it(home)
        server.script = [
            Say(calls=(ScriptedCall("c1", "list_directory", '{"path": "."}'),), stop="tool_use"),
            Say(pieces=("done",)),
        ]

        ended = await run("--output", "stream-json", "go", cwd=tmp_path, env=environment(home))

    events = [line["cost_usd"] for line in ended.events if line["type"] == "usage_counted"]
    assert events == [pytest.approx(ONE_ANSWER_USD)] * 2
    assert ended.events[-1]["usage"]["cost_usd"] == pytest.approx(2 * ONE_ANSWER_USD)


@pytest.mark.long
async def test_the_report_has_tokens_only_where_no_price_is_known(home: Path, tmp_path: Path) -> None:
    async with SseServer(DIALECT) as server:
        configure_for(home, server)
        server.script = [Say(pieces=("done",))]

        ended = await run("--output", "json", "go", cwd=tmp_path, env=environment(home))

    assert ended.report["usage"] == {
        "input": 7,
        "output": 11,
        "cache_read": 5,
        "cache_write": 3,
        "reasoning": 0,
    }


@pytest.mark.long
async def test_a_vendors_name_in_front_of_another_server_brings_no_price(home: Path, tmp_path: Path) -> None:
    async with SseServer(DIALECT) as server:
        server.script = [Say(pieces=("done",))]
        env = environment(home, ANTHROPIC_BASE_URL=server.base_url, ANTHROPIC_API_KEY="k")

        ended = await run("--output", "json", "-m", "anthropic/claude-sonnet-5-5", "go", cwd=tmp_path, env=env)

    assert ended.report["text"] == "done"
    assert "cost_usd" not in ended.report["usage"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("priced", "line"),
    [
        (True, "quorum: 15 tokens in (5 from the cache), 11 out, $0.0001\n"),
        (False, "quorum: 15 tokens in (5 from the cache), 11 out\n"),
    ],
)
async def test_asked_to_be_verbose_the_text_output_ends_with_tokens_and_cost(
    home: Path, tmp_path: Path, priced: bool, line: str
) -> None:
    async with SseServer(DIALECT) as server:
        configure_for(home, server)
        if priced:
            price_it(home)
        server.script = [Say(pieces=("done",))]

        ended = await run("-v", "go", cwd=tmp_path, env=environment(home))

    assert ended.err.endswith(line)
    assert ended.out == "done\n"
