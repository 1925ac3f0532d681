"""Servers that ask, keep silent, crash, print noise and lie: what is wrong is said once, and work goes on."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from quorum.domain.errors import ConfigError, ToolError
from quorum.domain.replacing import replace
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.language_servers.channel import LanguageServerFailed
from quorum.infrastructure.language_servers.lookups import Lookup
from tests.infrastructure.commands.command_bench import alive_with, eventually
from tests.infrastructure.language_servers.lsp_bench import LspBench, a_bench
from tests.support.liveness import is_alive

BROKEN = "x = BROKEN\n"


async def test_a_server_is_started_by_its_first_use_and_ended_with_the_session(tmp_path: Path) -> None:
    async with a_bench(tmp_path) as bench:
        assert not bench.server.is_running
        assert not bench.log.exists()
        bench.write("a.py", "total = 1\n")

        assert await bench.ask(Lookup.DEFINITION, "a.py", "total") == "a.py:1:total = 1\n[1 place in 1 file]"

        assert bench.server.is_running
        process = bench.list_told()[0]["started"]
        assert is_alive(process)
    assert not is_alive(process)
    assert [bool(bench.list_told(method)) for method in ("shutdown", "exit")] == [True, True]


async def test_its_status_says_whether_it_runs_and_counts_what_it_found(tmp_path: Path) -> None:
    async with a_bench(tmp_path) as bench:
        [before] = bench.servers.list_statuses()
        await bench.edit("a.py", "new BROKEN\n")
        [after] = bench.servers.list_statuses()

        assert (before.state, before.errors, before.problem) == ("not started", 0, "")
        assert (after.state, after.errors, after.warnings) == ("running", 1, 0)
        assert (after.name, after.languages) == ("odd", ("python",))


async def test_a_server_is_started_anew_by_its_name(tmp_path: Path) -> None:
    async with a_bench(tmp_path) as bench:
        assert await bench.servers.restart("other") is None
        for _ in range(2):
            status = await bench.servers.restart("odd")
            assert status is not None
            assert (status.state, status.problem) == ("running", "")

        first, second = (each["started"] for each in bench.list_told() if "started" in each)
        assert not is_alive(first)
        assert is_alive(second)


async def test_a_server_that_cannot_start_is_shown_as_failed_with_the_reason(tmp_path: Path) -> None:
    async with a_bench(tmp_path, command=("/no/such/server",)) as bench:
        status = await bench.servers.restart("odd")

        assert status is not None
        assert status.state == "failed"
        assert "/no/such/server" in status.problem


async def test_an_edit_tells_what_it_broke_and_not_what_was_broken_before(tmp_path: Path) -> None:
    async with a_bench(tmp_path) as bench:
        bench.write("a.py", "old BROKEN\n")

        assert await bench.edit("a.py", "\nold BROKEN\nnew BROKEN\nonly a HINT\n") == [
            "a.py:3: error: it is broken: new BROKEN (odd E1)"
        ]
        assert await bench.edit("a.py", "new BROKEN\n") == []
        assert await bench.edit("b.py", BROKEN) == ["b.py:1: error: it is broken: x = BROKEN (odd E1)"]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("manners", [{"pull": True}, {"versions": True}, {"versions": "stale"}])
async def test_so_it_is_where_it_is_asked_or_names_versions(tmp_path: Path, manners: dict[str, Any]) -> None:
    async with a_bench(tmp_path, manners=manners) as bench:
        bench.write("a.py", "old BROKEN\n")

        assert await bench.edit("a.py", "old BROKEN\nnew BROKEN\n") == [
            "a.py:2: error: it is broken: new BROKEN (odd E1)"
        ]


async def test_what_comes_too_late_is_told_with_the_next_result(tmp_path: Path) -> None:
    held = tmp_path / "go-on"
    async with a_bench(tmp_path, manners={"hold_back": str(held)}, wait_secs=0.1) as bench:
        bench.write("a.py", "\n")
        assert await bench.edit("a.py", BROKEN) == []
        assert await bench.edit("a.py", f"{BROKEN}y = BROKEN\n") == []
        held.touch()

        assert await bench.collect() == []
        found: list[str] = []
        while len(found) < 2:
            found += await bench.collect(is_last=True)

        assert found == [
            f"a.py:{n}: error: it is broken: {c} = BROKEN (odd E1)" for n, c in ((1, "x"), (2, "y"))
        ]
        assert await bench.collect() == []


async def test_many_findings_are_told_in_part(tmp_path: Path) -> None:
    async with a_bench(tmp_path) as bench:
        path = str(bench.write("a.py", "\n"))
        await bench.servers.before_edits([path])
        bench.write("a.py", "".join(f"{chr(97 + n % 26) * (n + 1)} BROKEN\n" for n in range(60)))
        bench.servers.note_edits([path])
        (report,) = await bench.servers.collect(is_last=False)

        assert report.new == 60
        assert 0 < len(report.lines) <= 20


async def test_noise_on_standard_output_is_passed_over(tmp_path: Path) -> None:
    manners = {"raw": "Welcome to odd!\nContent-Length: soon\n", "noise": "debug: sending\n"}
    async with a_bench(tmp_path, manners=manners) as bench:
        assert await bench.edit("a.py", BROKEN) == ["a.py:1: error: it is broken: x = BROKEN (odd E1)"]


async def test_control_characters_of_a_server_act_on_nothing(tmp_path: Path) -> None:
    manners = {"message": "\x1b[31mred\x1b]0;title\x07 \u202e\nline\x00 ", "hover": "\x1b[2J\x9b\u202e *x*"}
    async with a_bench(tmp_path, manners=manners) as bench:
        (line,) = await bench.edit("a.py", BROKEN)
        hover = await bench.ask(Lookup.HOVER, "a.py", "x")

    assert line.startswith("a.py:1: error: red")
    assert line.isprintable()
    assert hover.isprintable()
    assert "*x*" in hover


@pytest.mark.long(after=1)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "ebcdic"])
async def test_positions_go_out_in_the_encoding_of_the_server(tmp_path: Path, encoding: str) -> None:
    async with a_bench(tmp_path, manners={"encoding": encoding}) as bench:
        bench.write("a.py", "😀é total\n")
        await bench.ask(Lookup.DEFINITION, "a.py", "total")

        (asked,) = [told["asked"] for told in bench.list_told() if "asked" in told]
        assert asked["character"] == {"utf-8": 7, "utf-32": 3}.get(encoding, 4)


async def test_what_a_server_asks_is_answered_and_edits_are_refused(tmp_path: Path) -> None:
    asks = [
        ["workspace/configuration", {"items": [{"section": "a.b"}, {"section": "a.none"}, {}]}],
        ["client/registerCapability", {"registrations": [{"id": "1", "method": "workspace/other"}]}],
        ["window/workDoneProgress/create", {"token": 1}],
        ["workspace/applyEdit", {"edit": {"changes": {}}}],
        ["workspace/workspaceFolders", None],
        ["workspace/diagnostic/refresh", None],
        ["window/showDocument", {"uri": "https://example.com"}],
        ["client/made/up", {}],
    ]
    async with a_bench(tmp_path, manners={"asks": asks}, settings={"a": {"b": 7}}) as bench:
        await bench.server.ensure()
        await eventually(lambda: len([told for told in bench.list_told() if "id" in told]) == len(asks))

        answers = {told["id"]: told for told in bench.list_told() if "id" in told}
        assert answers["q0"]["result"] == [7, None, {"a": {"b": 7}}]
        assert [answers[f"q{number}"]["result"] for number in (1, 2, 5)] == [None, None, None]
        assert answers["q3"]["result"]["applied"] is False
        assert answers["q4"]["result"][0]["uri"] == f"file://{bench.root}"
        assert answers["q6"]["result"] == {"success": False}
        assert answers["q7"]["error"]["code"] == -32601


async def test_a_server_that_crashes_over_an_edit_is_said_with_the_file(tmp_path: Path) -> None:
    async with a_bench(tmp_path, manners={"crash_on": "textDocument/didChange"}) as bench:
        path = str(bench.write("a.py", "x = 1\n"))
        await bench.servers.before_edits([path])
        bench.write("a.py", BROKEN)
        bench.servers.note_edits([path])

        (report,) = await bench.servers.collect(is_last=True)

        assert report.failure == "it ended with exit code 3: odd server: out of luck"
        assert report.files == ("a.py",)


async def test_a_server_that_crashes_is_started_again_later_and_it_is_said_once(tmp_path: Path) -> None:
    async with a_bench(tmp_path, manners={"crash_on": "textDocument/didOpen"}) as bench:
        bench.write("a.py", "\n")

        (failure,) = await bench.edit("a.py", BROKEN)

        assert failure == "it ended with exit code 3: odd server: out of luck"
        assert await bench.edit("a.py", f"{BROKEN}\n") == []
        assert await bench.edit("a.py", BROKEN) == []
        with pytest.raises(ToolError, match="out of luck"):
            await bench.ask(Lookup.HOVER, "a.py", "x")
        assert len([told for told in bench.list_told() if "started" in told]) == 1


@pytest.mark.long
async def test_a_server_that_crashes_each_time_is_said_once_and_once_more_when_it_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorum.infrastructure.language_servers.server._RETRY_SECS", (0.0, 0.0, 0.0))
    async with a_bench(tmp_path, manners={"crash_on": "textDocument/didOpen"}) as bench:
        bench.write("a.py", "\n")

        said = [await bench.edit("a.py", f"{BROKEN}{number}") for number in range(7)]

        problem = "it ended with exit code 3: odd server: out of luck"
        given_up = f"{problem}; it failed 4 times and is not started again"
        assert [each for each in said if each] == [[problem], [given_up]]


@pytest.mark.long
async def test_after_its_pause_it_runs_again_with_what_files_hold_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorum.infrastructure.language_servers.server._RETRY_SECS", (0.0, 0.0, 0.0))
    async with a_bench(tmp_path, manners={"crash_on": "textDocument/hover"}) as bench:
        assert await bench.edit("a.py", BROKEN) == ["a.py:1: error: it is broken: x = BROKEN (odd E1)"]
        with pytest.raises(ToolError, match="exit code 3"):
            await bench.ask(Lookup.HOVER, "a.py", "x")

        assert await bench.edit("a.py", f"{BROKEN}y = BROKEN\n") == [
            "a.py:2: error: it is broken: y = BROKEN (odd E1)"
        ]
        for _ in range(3):
            with pytest.raises(ToolError, match="exit code 3"):
                await bench.ask(Lookup.HOVER, "a.py", "x")
        with pytest.raises(ToolError, match="it failed 4 times and is not started again"):
            await bench.ask(Lookup.HOVER, "a.py", "x")


async def test_a_server_that_does_not_answer_costs_its_time_limit_and_no_more(tmp_path: Path) -> None:
    async with a_bench(tmp_path, manners={"silent_on": ["textDocument/hover"]}, timeout_secs=0.2) as bench:
        bench.write("a.py", "x = 1\n")

        with pytest.raises(ToolError, match=r"odd: it did not answer textDocument/hover within 0.2 s"):
            await bench.ask(Lookup.HOVER, "a.py", "x")

        await eventually(lambda: len(bench.list_told("$/cancelRequest")) == 1)
        bench.server.table = replace(bench.server.table, timeout_secs=60.0)
        assert "1 place" in await bench.ask(Lookup.DEFINITION, "a.py", "x")


async def test_a_server_that_never_greets_fails_to_start_and_is_ended(tmp_path: Path) -> None:
    async with a_bench(
        tmp_path, manners={"silent_on": ["initialize", "shutdown"]}, start_timeout_secs=0.5
    ) as bench:
        with pytest.raises(LanguageServerFailed, match=r"did not answer initialize within 0\.5 s"):
            await bench.server.ensure()

        assert alive_with(str(bench.log)) == []


async def test_a_question_in_the_midst_of_a_change_is_asked_again(tmp_path: Path) -> None:
    async with a_bench(tmp_path, manners={"refuses": {"textDocument/definition": -32801}}) as bench:
        bench.write("a.py", "x = 1\n")

        assert "1 place" in await bench.ask(Lookup.DEFINITION, "a.py", "x")


async def test_a_refusal_is_told_with_its_reason(tmp_path: Path) -> None:
    async with a_bench(tmp_path, manners={"refuses": {"textDocument/definition": -32603}}) as bench:
        bench.write("a.py", "x = 1\n")

        with pytest.raises(ToolError, match="odd: it refused: no"):
            await bench.ask(Lookup.DEFINITION, "a.py", "x")


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with a_bench(tmp_path, command=("no-such-language-server",)) as bench:
        (failure,) = await bench.edit("a.py", BROKEN)

    assert "no-such-language-server" in failure


def test_a_program_of_the_opened_folder_is_refused_when_the_session_begins(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'lsp\.odd\.command starts with "bin/server"'):
        LspBench(tmp_path, command=("bin/server",))


async def test_a_message_without_end_ends_the_server(tmp_path: Path) -> None:
    async with a_bench(tmp_path, manners={"raw": "Content-Length: 999999999\r\n\r\n"}) as bench:
        with pytest.raises(LanguageServerFailed, match="announced a message of 999,999,999 bytes"):
            await bench.server.ensure()


async def test_cancelling_a_lookup_leaves_the_start_to_others(tmp_path: Path) -> None:
    async with a_bench(tmp_path) as bench:
        bench.write("a.py", "x = 1\n")
        asking = asyncio.create_task(bench.ask(Lookup.DEFINITION, "a.py", "x"))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

        assert "1 place" in await bench.ask(Lookup.DEFINITION, "a.py", "x")
        assert len([told for told in bench.list_told() if "started" in told]) <= 2


async def test_a_server_of_another_workspace_is_started_anew(tmp_path: Path) -> None:
    async with a_bench(tmp_path) as bench:
        bench.write("a.py", "x = 1\n")
        await bench.ask(Lookup.DEFINITION, "a.py", "x")
        bench.servers.renew()

        assert "1 place" in await bench.ask(Lookup.DEFINITION, "a.py", "x")
        assert len([told for told in bench.list_told() if "started" in told]) == 2


async def test_questions_at_once_start_it_anew_once(tmp_path: Path) -> None:
    async with a_bench(tmp_path) as bench:
        bench.write("a.py", "x = 1\n")
        await bench.ask(Lookup.DEFINITION, "a.py", "x")
        bench.servers.renew()

        found = await asyncio.gather(*(bench.ask(Lookup.DEFINITION, "a.py", "x") for _ in range(4)))

        assert all("1 place" in each for each in found)
        assert len([told for told in bench.list_told() if "started" in told]) == 2


async def test_changes_of_others_reach_the_server_before_a_question(tmp_path: Path) -> None:
    watch = {
        "id": "w",
        "method": "workspace/didChangeWatchedFiles",
        "registerOptions": {
            "watchers": [
                {"globPattern": "**/*.cfg"},
                {"globPattern": {"baseUri": f"file://{tmp_path}/project/sub", "pattern": "*.ini"}},
            ]
        },
    }
    asks = [["client/registerCapability", {"registrations": [watch]}]]
    async with a_bench(tmp_path, manners={"asks": asks}) as bench:
        bench.write("a.py", "x = 1\n")
        bench.write("gone.py")
        bench.write("there.cfg")
        await bench.ask(Lookup.DEFINITION, "a.py", "x")
        await eventually(lambda: any("id" in told for told in bench.list_told()))
        await bench.ask(Lookup.DEFINITION, "a.py", "x")
        bench.write("a.py", "changed = 2\nx = 1\n")
        bench.write("new.py")
        bench.write("sub/project.cfg")
        bench.write("sub/a.ini")
        bench.write("b.ini")
        bench.write("notes.txt")
        (bench.root / "gone.py").unlink()

        assert await bench.ask(Lookup.DEFINITION, "a.py", "x") == "a.py:2:x = 1\n[1 place in 1 file]"

        (told,) = bench.list_told("workspace/didChangeWatchedFiles")
        changes = {each["uri"].rpartition("/project/")[2]: each["type"] for each in told["params"]["changes"]}
        assert changes == {"a.py": 2, "new.py": 1, "sub/project.cfg": 1, "sub/a.ini": 1, "gone.py": 3}


async def test_a_file_that_goes_while_files_are_listed_takes_no_other_with_it(tmp_path: Path) -> None:
    async with a_bench(tmp_path) as bench:
        for name in ("a.py", "b.py", "c.py", "sub/d.py"):
            bench.write(name)

        def is_wanted(relative: str) -> bool:
            if relative == "b.py":
                (bench.root / relative).unlink()
            return True

        states = bench.server.sources.list_states(is_wanted, Stop())

        assert [Path(path).name for path in states or ()] == ["a.py", "c.py", "d.py"]


async def test_it_gets_no_secret_of_the_environment(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MY_API_KEY": "sk-123", "PLAIN": "1"}
    async with a_bench(tmp_path, environ=environ) as bench:
        await bench.server.ensure()

        seen = bench.list_told()[0]["environment"]
        assert "PLAIN" in seen
        assert "MY_API_KEY" not in seen


async def test_a_file_whose_language_no_server_knows_is_an_error_that_names_them(tmp_path: Path) -> None:
    async with a_bench(tmp_path) as bench:
        bench.write("a.rs")

        with pytest.raises(ToolError, match=r"no language server serves a\.rs; there is: odd"):
            await bench.ask(Lookup.SYMBOLS, "a.rs")


async def test_what_an_edit_breaks_in_other_files_that_were_looked_at_is_told(tmp_path: Path) -> None:
    provider = {"interFileDependencies": True}
    async with a_bench(tmp_path, manners={"pull": True, "provider": provider}) as bench:
        bench.write("b.py", "import a\n")
        await bench.ask(Lookup.SYMBOLS, "b.py")

        assert await bench.edit("a.py", "BREAKS ALL\n") == ["b.py:1: error: it is broken: import a (odd E1)"]


async def test_a_file_is_known_by_its_own_name_whatever_link_led_to_it(tmp_path: Path) -> None:
    async with a_bench(tmp_path) as bench:
        bench.write("src/a.py", "old BROKEN\n")
        (bench.root / "link").symlink_to("src")

        assert await bench.edit("link/a.py", "old BROKEN\nnew BROKEN\n") == [
            "src/a.py:2: error: it is broken: new BROKEN (odd E1)"
        ]


async def test_a_question_beside_an_edit_hides_nothing_of_what_the_edit_broke(tmp_path: Path) -> None:
    held = tmp_path / "go-on"
    async with a_bench(tmp_path, manners={"hold_back": str(held)}, wait_secs=0.0) as bench:
        bench.write("a.py", "x = 1\n")
        assert await bench.edit("a.py", f"{BROKEN}") == []
        await eventually(lambda: len(bench.list_told("textDocument/didOpen")) == 1)
        asking = asyncio.create_task(bench.ask(Lookup.SYMBOLS, "a.py"))
        await asyncio.sleep(0)
        held.touch()
        await asking

        found: list[str] = []
        while not found:
            await asyncio.sleep(0)
            found = await bench.collect(is_last=True)
        assert found == ["a.py:1: error: it is broken: x = BROKEN (odd E1)"]


async def test_an_answer_given_before_the_project_was_read_is_asked_for_again(tmp_path: Path) -> None:
    async with a_bench(tmp_path, manners={"reads_first": True}) as bench:
        bench.write("a.py", "x = 1\n")

        assert "1 place" in await bench.ask(Lookup.DEFINITION, "a.py", "x")


async def test_a_server_that_says_nothing_keeps_no_edit_for_longer_than_its_time(
    tmp_path: Path,
) -> None:
    async with a_bench(tmp_path, manners={"says_nothing": True}, wait_secs=0.1) as bench:
        assert await bench.edit("a.py", BROKEN) == []
        assert await bench.edit("a.py", f"{BROKEN}\n") == []


async def test_a_folder_that_is_added_is_one_of_the_servers_from_then_on(tmp_path: Path) -> None:
    more = tmp_path / "library"
    more.mkdir()
    (more / "b.py").write_text("x = 1\n")
    async with a_bench(tmp_path) as bench:
        bench.write("a.py", "x = 1\n")
        await bench.ask(Lookup.DEFINITION, "a.py", "x")
        bench.workspace.folders.replace_added([str(more)])

        assert "1 place" in await bench.ask(Lookup.DEFINITION, str(more / "b.py"), "x")
        greetings = bench.list_told("initialize")
        assert [len(each["params"]["workspaceFolders"]) for each in greetings] == [1, 2]
