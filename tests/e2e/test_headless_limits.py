"""`quorum run` at its spend caps, against a scripted server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.headless_run import configure, configure_for, environment, run
from tests.support.sse_server import Say, ScriptedCall, SseServer

READ = Say(calls=[ScriptedCall(id="a", name="list_directory", arguments='{"path": "."}')], stop="tool_use")
PRICE = """
[prices."local/scripted"]
input = {0}
output = {0}
cache_read = {0}
cache_write = {0}
"""


def priced(home: Path, server: SseServer, price: int) -> None:
    configure_for(home, server)
    written = (home / "config" / "quorum" / "quorum.toml").read_text(encoding="utf-8")
    configure(home, written + PRICE.format(price))


@pytest.mark.long
async def test_a_cap_of_one_cent_stops_the_run_before_the_request_that_would_exceed_it(tmp_path: Path) -> None:
    async with SseServer("openai-chat") as server:
        priced(tmp_path, server, 1)  # a prompt of some thousand tokens costs less than a cent
        server.script = [READ] * 3 + [Say(pieces=["done"])]
        cheap = await run(
            "--max-cost-usd", "0.01", "--output", "json", "go", cwd=tmp_path, env=environment(tmp_path)
        )
        asked = len(server.bodies)

    assert cheap.report["status"] == "completed"
    assert asked == 4

    async with SseServer("openai-chat") as server:
        priced(tmp_path, server, 10)  # and here more than one
        dear = await run(
            "--max-cost-usd", "0.01", "--output", "json", "go", cwd=tmp_path, env=environment(tmp_path)
        )
        asked = len(server.bodies)

    assert (dear.code, asked) == (5, 0)
    assert (dear.report["status"], dear.report["stop_reason"]) == ("limit", "max_cost_usd")
    assert "more than agent.max_cost_usd = $0.0100" in dear.report["error"]
    assert dear.report["error"] in dear.err


async def test_without_a_price_the_run_says_at_its_start_that_the_cap_cannot_be_kept_and_stops(
    tmp_path: Path,
) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(tmp_path, server)
        ended = await run("--max-cost-usd", "1", "go", cwd=tmp_path, env=environment(tmp_path))
        asked = len(server.bodies)

    assert (ended.code, asked) == (5, 0)
    assert ended.err.count("no price is known for local/scripted") == 2  # at the start, and as the ending
    assert '[prices."local/scripted"]' in ended.err
    assert "stopped at a limit (max_cost_usd)" in ended.err


@pytest.mark.long
async def test_a_resumed_session_counts_what_it_spent_before(tmp_path: Path) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(tmp_path, server)
        env = environment(tmp_path)
        server.script = [Say(pieces=["one"])] * 2
        first = await run("--output", "json", "go", cwd=tmp_path, env=env)
        spent = sum(first.report["usage"][part] for part in ("input", "output", "cache_read", "cache_write"))
        again = await run(
            "--continue", "--max-tokens", str(spent), "--output", "json", "more", cwd=tmp_path, env=env
        )

    assert first.code == 0
    assert again.code == 5
    assert f"has used {spent} tokens" in again.report["error"]


@pytest.mark.long
@pytest.mark.parametrize("amount", ["0", "-1", "many", "1e999", "nan"])
async def test_an_amount_that_is_none_is_refused(tmp_path: Path, amount: str) -> None:
    ended = await run(f"--max-cost-usd={amount}", "go", cwd=tmp_path, env=environment(tmp_path))

    assert ended.code == 2
    assert "not an amount above 0" in ended.err
