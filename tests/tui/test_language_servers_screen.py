"""The screen of `/lsp`."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.calls.diagnostics import LanguageServerState, LanguageServerStatus
from quorum.tui.screens.accounts.offers_screens import LanguageServersScreen
from tests.support.app_stage import on_stage
from tests.support.fake_agent import FakeAgent

SERVERS = (
    LanguageServerStatus(
        name="python",
        command="pylsp --stdio",
        languages=("python",),
        state=LanguageServerState.RUNNING,
        version="pylsp 1.14",
        errors=1,
        warnings=2,
    ),
    LanguageServerStatus(
        name="go",
        command="gopls",
        languages=("go",),
        state=LanguageServerState.FAILED,
        problem="\x1b[31mno gopls here",
    ),
    LanguageServerStatus(
        name="rust", command="rust-analyzer", languages=("rust",), state=LanguageServerState.NOT_STARTED
    ),
)


def test_each_server_has_its_state_what_it_found_and_what_went_wrong() -> None:
    text = "\n".join(line.plain for line in LanguageServersScreen(SERVERS).build_lines(80))

    assert "python  running  pylsp 1.14\n  python: pylsp --stdio\n  1 error and 2 warnings" in text
    assert "go  failed\n" in text
    assert "no gopls here\n  /lsp restart go tries again" in text
    assert "rust  not started\n  rust: rust-analyzer\n  it starts with the first edit" in text
    assert "\x1b" not in text


def test_without_a_server_it_says_how_to_add_one() -> None:
    assert "names no language server" not in LanguageServersScreen(SERVERS).HEADING
    [line, *_] = LanguageServersScreen(()).build_lines(120)
    assert "A table [lsp.NAME]" in line.plain


def with_servers(agent: FakeAgent) -> None:
    agent.language_servers.servers = SERVERS


@pytest.mark.long
async def test_servers_are_shown_and_started_anew_by_their_name(tmp_path: Path) -> None:
    async with on_stage(tmp_path, prepare=with_servers) as stage:
        await stage.send("/lsp")
        await stage.shows("Language servers")
        await stage.shows("no gopls here")
        await stage.pilot.press("escape")

        await stage.send("/lsp restart python")
        await stage.shows("the language server python runs")
        await stage.send("/lsp restart go")
        await stage.shows("the language server go does not start")
        await stage.send("/lsp restart nothing")
        await stage.shows("there is no language server 'nothing'; there is: python, go, rust")
        await stage.send("/lsp stop")
        await stage.shows("/lsp restart NAME starts one of them anew")
