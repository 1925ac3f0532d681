"""`quorum run` at its limits, against scripted servers: spend caps, and models that stand in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.headless_run import configure, configure_for, environment, run
from tests.support.sse_server import Refuse, Say, ScriptedCall, SseServer

READ = Say(calls=[ScriptedCall(id="a", name="list_directory", arguments='{"path": "."}')], stop="tool_use")
OTHERS = [
    Say(
        calls=[ScriptedCall(id="b", name="glob_search", arguments=f'{{"pattern": "*.{end}"}}')], stop="tool_use"
    )
    for end in ("py", "md")
]
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
        server.script = [READ, *OTHERS, Say(pieces=["done"])]
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
async def test_reviewers_are_asked_only_as_far_as_all_of_them_fit_under_the_cap(tmp_path: Path) -> None:
    reviewers = [f"local/r{number}" for number in range(12)]
    write = ScriptedCall(id="w", name="write_file", arguments='{"path": "a.txt", "content": "x"}')
    async with SseServer("openai-chat") as server:
        configure_for(tmp_path, server)
        written = (tmp_path / "config" / "quorum" / "quorum.toml").read_text(encoding="utf-8")
        configure(tmp_path, written.replace("[models]", f"[models]\nreview = {reviewers}"))
        server.script = [Say(calls=[write], stop="tool_use")] + [Say(pieces=["no ballot"])] * 40
        ended = await run(
            *("--mode", "quorum", "--max-tokens", "6500", "--output", "stream-json", "go"),
            cwd=tmp_path,
            env=environment(tmp_path),
        )

    votes = [event for event in ended.events if event["type"] == "vote_cast"]
    refused = [vote for vote in votes if vote["reason"].startswith("not asked: this session has used")]
    asked = {body["model"] for body in server.bodies} - {"scripted"}
    assert len(votes) == len(reviewers)
    assert 0 < len(asked) < len(reviewers)
    assert len(refused) >= len(reviewers) - len(asked)
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.long
@pytest.mark.parametrize("amount", ["0", "-1", "many", "1e999", "nan"])
async def test_an_amount_that_is_none_is_refused(tmp_path: Path, amount: str) -> None:
    ended = await run(f"--max-cost-usd={amount}", "go", cwd=tmp_path, env=environment(tmp_path))

    assert ended.code == 2
    assert "not an amount above 0" in ended.err


# ------------------------------------------------------------------ models that stand in


def with_fallback(home: Path, first: SseServer, second: SseServer, *, fallback: str = "spare/other") -> None:
    configure(
        home,
        f'[models]\ndecision = "local/scripted"\ndecision_fallback = ["{fallback}"]\n'
        f'[providers.local]\ntype = "{first.dialect}"\nbase_url = "{first.base_url}"\nmax_retries = 0\n'
        f'[providers.spare]\ntype = "{second.dialect}"\nbase_url = "{second.base_url}"\nmax_retries = 0\n',
    )


@pytest.mark.long
async def test_an_outage_in_the_middle_of_a_session_has_the_next_model_go_on_visibly(tmp_path: Path) -> None:
    async with SseServer("anthropic") as first, SseServer("openai-chat") as second:
        with_fallback(tmp_path, first, second)
        first.script = [READ, Refuse(status=529, message="overloaded")]
        second.script = [Say(pieces=["went on"])]
        ended = await run("--output", "stream-json", "go", cwd=tmp_path, env=environment(tmp_path))

    assert ended.code == 0
    (fell,) = [event for event in ended.events if event["type"] == "model_fell_back"]
    assert (fell["model"], fell["instead_of"]) == ("spare/other", "local/scripted")
    assert "local/scripted does not answer" in ended.err
    assert "spare/other stands in for the rest of this turn" in ended.err
    assert ended.events[-1]["text"] == "went on"
    assert ended.events[-1]["fallback_models"] == ["spare/other"]
    models = [event["model"] for event in ended.events if event["type"] == "usage_counted"]
    assert models == ["local/scripted", "spare/other"]
    assert second.bodies[0]["messages"][-1]["role"] == "tool"


@pytest.mark.long
async def test_the_next_prompt_of_the_session_asks_the_first_model_again(tmp_path: Path) -> None:
    async with SseServer("anthropic") as first, SseServer("openai-chat") as second:
        with_fallback(tmp_path, first, second)
        env = environment(tmp_path)
        first.script = [Refuse(status=503, message="down"), Say(pieces=["two"])]
        second.script = [Say(pieces=["one"])]
        one = await run("--output", "json", "go", cwd=tmp_path, env=env)
        two = await run("--continue", "--output", "json", "more", cwd=tmp_path, env=env)

    assert (one.report["text"], two.report["text"]) == ("one", "two")
    assert [message["role"] for message in first.bodies[-1]["messages"]] == ["user", "assistant", "user"]


@pytest.mark.long
async def test_a_fallback_of_a_provider_that_does_not_exist_is_refused_with_the_nearest(tmp_path: Path) -> None:
    async with SseServer("anthropic") as first, SseServer("openai-chat") as second:
        with_fallback(tmp_path, first, second, fallback="spar/other")
        ended = await run("go", cwd=tmp_path, env=environment(tmp_path))

    assert ended.code == 2
    assert '"spar/other" in models.decision_fallback' in ended.err
    assert "did you mean spare/other?" in ended.err


@pytest.mark.long
async def test_a_fallback_without_a_key_is_reported_at_the_start(tmp_path: Path) -> None:
    async with SseServer("anthropic") as first, SseServer("openai-chat") as second:
        with_fallback(tmp_path, first, second, fallback="openai/gpt-5.4")
        first.script = [Say(pieces=["fine"])]
        ended = await run("go", cwd=tmp_path, env=environment(tmp_path))

    assert ended.code == 0
    assert "openai/gpt-5.4 in models.decision_fallback cannot stand in:" in ended.err


# ------------------------------------------------------------------ answers that are none


@pytest.mark.long
async def test_a_cut_call_and_a_call_written_as_text_are_reported_on_stderr_and_in_the_stream(
    tmp_path: Path,
) -> None:
    half = ScriptedCall(id="w", name="write_file", arguments='{"path": "a.txt", "content": "lo')
    leaked = '```json\n{"name": "read_file", "arguments": {"path": "a"}}\n```'
    async with SseServer("openai-chat") as server:
        configure_for(tmp_path, server)
        server.script = [Say(calls=[half], stop="length"), Say(pieces=[leaked]), READ, Say(pieces=["done"])]
        ended = await run("--output", "stream-json", "go", cwd=tmp_path, env=environment(tmp_path))

    kinds = [event["type"] for event in ended.events]
    assert (ended.code, ended.events[-1]["text"], len(ended.events[-1]["calls"])) == (0, "done", 1)
    assert kinds.count("request_repeated") == kinds.count("call_leaked") == 1
    assert kinds.count("usage_counted") == 4
    assert "cut off in the middle of a call" in ended.err
    assert "a call of read_file written as text" in ended.err
    assert server.bodies[1]["max_tokens"] == 16_384


@pytest.mark.long
async def test_two_answers_without_words_fail_the_run_and_say_so_on_stderr_and_in_the_report(
    tmp_path: Path,
) -> None:
    async with SseServer("openai-chat") as server:
        configure_for(tmp_path, server)
        server.script = [READ, Say(reasoning="I should look"), Say(pieces=[" "])]
        ended = await run("--output", "json", "go", cwd=tmp_path, env=environment(tmp_path))
        server.script = [Say(), Say(pieces=["here"])]
        again = await run("--output", "json", "ask", cwd=tmp_path, env=environment(tmp_path))

    assert (ended.code, ended.report["status"]) == (1, "failed")
    assert "the model gave no answer, also when asked again" in ended.report["error"]
    assert ended.report["error"] in ended.err
    assert "it held reasoning alone" in ended.err
    assert (again.code, again.report["text"]) == (0, "here")
