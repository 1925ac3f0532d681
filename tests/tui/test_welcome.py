"""The welcome: where it works, what can be asked, the ways to a model, and the last session."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quorum.domain.mcp.offers import ServerState, ServerStatus
from quorum.domain.replacing import replace
from quorum.domain.sessions.session_summary import SessionSummary
from quorum.tui.chat import welcome
from quorum.tui.chat.welcome import Welcome, find_local_servers, suggest_prompts, suggest_requests
from quorum.tui.keys.choices import describe_reviews
from tests.support.app_stage import on_stage
from tests.support.fake_agent import FakeAgent


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def project(folder: Path) -> Path:
    for name in ("src", "tests", ".git"):
        (folder / name).mkdir(parents=True)
    (folder / "README.md").write_text("read me")
    (folder / "src" / "small.py").write_text("x")
    (folder / "src" / "core.py").write_text("x" * 99)
    return folder


def test_prompts_fit_what_is_in_the_folder(tmp_path):
    assert suggest_prompts(project(tmp_path / "app")) == (
        "what does this project do, and where does it start?",
        "explain src/core.py",
        "run the tests with pytest and explain what fails",
    )
    assert suggest_prompts(tmp_path / "gone") == ()


@pytest.mark.parametrize(
    "others",
    [
        ("docs/conf.py", "setup.py", "src/app/setup.py"),
        ("Examples/big.ts", "scripts/all.js", "vendor/a/b.go", "gulpfile.js", "src/a.min.js", "src/a.d.ts"),
        ("src/app/test_main.py", "tests/deep/test_all.py", "noxfile.py", "benchmarks/run.py"),
    ],
)
def test_a_file_of_the_project_itself_is_proposed_though_others_are_larger(tmp_path, others):
    for name, size in (("src/app/main.py", 9), *((other, 999) for other in others)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x" * size)

    assert "explain src/app/main.py" in suggest_prompts(tmp_path)


def test_names_of_files_in_prompts_are_safe_to_draw(tmp_path):
    (tmp_path / "a\x1b[2J.py").write_text("x")
    prompts = suggest_prompts(tmp_path)
    assert any("a␛[2J.py" in prompt for prompt in prompts), prompts
    assert all(prompt.isprintable() for prompt in prompts)


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "big.py").write_text("x" * 999)
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "link").symlink_to(tmp_path / "other")
    assert suggest_prompts(tmp_path / "app") == ()


async def test_a_local_server_is_found_on_its_port_and_nothing_is_sent_to_it(monkeypatch):
    received: list[bytes] = []
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read())
        writer.close()
        done.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    closed = await asyncio.start_server(serve, "127.0.0.1", 0)
    gone = closed.sockets[0].getsockname()[1]
    closed.close()
    await closed.wait_closed()
    monkeypatch.setattr(welcome, "LOCAL_SERVERS", {port: "Ollama", gone: "vLLM"})

    assert await find_local_servers() == (port,)
    await done.wait()
    assert received == [b""]
    server.close()


def test_what_is_offered_without_a_model_is_there_to_be_read(tmp_path):
    folder = project(tmp_path / "app")
    (folder / ".git").mkdir(exist_ok=True)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "README.md").write_text("notes")
    (tmp_path / "empty").mkdir()

    assert suggest_requests(folder) == ("read src/core.py", "find TODO", "run pytest")
    assert suggest_requests(tmp_path / "notes") == ("read README.md",)
    for folder in (tmp_path / "empty", tmp_path / "gone"):
        assert suggest_requests(folder) == (
            "list the files here",
            "write notes.txt: my first note",
            "run git init",
        )


async def test_without_a_model_the_three_ways_on_and_a_found_server_are_named(tmp_path, monkeypatch):
    async def found() -> tuple[int, ...]:
        return (11434,)

    monkeypatch.setattr(welcome, "find_local_servers", found)
    async with on_stage(tmp_path, size=(80, 24), model="offline/offline") as stage:
        await stage.shows("No model yet: three ways to go on")
        await stage.shows("export ANTHROPIC_API_KEY=… or OPENAI_API_KEY=…  then start again")
        await stage.shows("Ollama on 127.0.0.1:11434: Enter uses it")
        await stage.shows("quorum --demo")


async def test_a_screen_reader_hears_that_there_is_no_model_before_the_ways_to_one(tmp_path):
    async with on_stage(tmp_path, size=(80, 24), model="offline/offline") as stage:
        stage.app.screen_reader = True
        await stage.send("/new")
        await stage.until(lambda: len(stage.agents) == 2)
        await stage.shows("No model yet: three ways to go on")
        text = stage.text()

        assert text.index("works without a model") < text.index("No model yet") < text.index("export ANTHROPIC")


async def test_with_a_model_nobody_looks_for_servers_and_the_block_begins_at_a_third(tmp_path, monkeypatch):
    async def never() -> tuple[int, ...]:
        raise AssertionError("nobody needs one")

    monkeypatch.setattr(welcome, "find_local_servers", never)
    async with on_stage(project(tmp_path / "app"), size=(120, 40)) as stage:
        await stage.shows("› explain src/core.py")
        assert "No model yet" not in stage.text()
        assert 10 <= stage.app.chat.status.welcome.region.y <= 14
        assert "context" not in stage.text().splitlines()[-1]


async def test_tab_takes_the_prompts_that_are_offered_one_after_the_other_and_sends_none(tmp_path):
    async with on_stage(project(tmp_path / "app"), size=(80, 24)) as stage:
        await stage.shows("tab takes one · @ names a file")
        for expected in (
            *suggest_prompts(tmp_path / "app"),
            "what does this project do, and where does it start?",
        ):
            await stage.pilot.press("tab")
            assert stage.prompt.text == expected

        stage.prompt.replace_text("mine")
        await stage.pilot.press("tab")

        assert stage.prompt.text == "mine"
        assert stage.agent.prompts == []


async def test_once_something_was_sent_tab_takes_nothing_any_more(tmp_path):
    async with on_stage(project(tmp_path / "app"), size=(80, 24)) as stage:
        await stage.shows("tab takes one")
        await stage.send("go")
        await stage.pilot.press("tab")

        assert stage.prompt.text == ""


async def test_the_folder_is_cut_only_where_the_screen_is_narrower(tmp_path):
    folder = project(tmp_path / "a-folder-with-a-long-name" / "and-another-one-inside-of-it")
    async with on_stage(folder, size=(200, 50)) as stage:
        await stage.shows(f"quorum · {folder}")
        await stage.pilot.resize_terminal(80, 24)
        await stage.shows("quorum · …")
        await stage.shows("inside-of-it")


@pytest.mark.parametrize("size", [(80, 24), (60, 15)])
async def test_the_last_line_of_the_welcome_is_seen_on_a_low_screen(tmp_path, size):
    async with on_stage(tmp_path, size=size, model="offline/offline") as stage:
        await stage.shows("shows all keys")
        await stage.shows("quorum --demo")


async def test_enter_with_nothing_typed_resumes_the_last_session_of_the_folder(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.shows("shows all keys")
        block, wanted = stage.app.chat.status.welcome, []
        stage.app.chat.sending._resume = wanted.append
        await stage.pilot.press("enter")
        block._last = SessionSummary(
            id="s-1",
            title="fix wrap_text",
            cwd=str(tmp_path),
            model="m/1",
            started_ms=1,
            updated_ms=1,
            turns=1,
            records=9,
        )
        block._draw()
        await stage.shows("Enter resumes: fix wrap_text")
        await stage.pilot.press("enter")
        assert wanted == ["s-1"]
        await stage.send("hello")
        await stage.until(lambda: stage.agent.prompts == ["hello"])
        await stage.pilot.press("enter")
        assert wanted == ["s-1"]


BROKEN = ServerStatus(name="git", target="gone", state=ServerState.FAILED, problem="there is no \x1bprogram")


async def test_a_server_of_tools_that_does_not_start_is_named_before_the_first_prompt(tmp_path):
    def prepare(agent: FakeAgent) -> None:
        agent.tool_servers.servers = (BROKEN,)

    async with on_stage(tmp_path, size=(80, 24), prepare=prepare) as stage:
        await stage.shows("MCP server git is not running: there is no")
        await stage.shows("/mcp shows why")
        stage.agent.tool_servers.servers = (replace(BROKEN, state=ServerState.RUNNING, problem=""),)
        await stage.until(lambda: "not running" not in stage.text())


async def test_a_turn_says_which_server_of_tools_it_waits_for(tmp_path):
    held = asyncio.Event()

    async def scene(_agent: FakeAgent) -> None:
        await held.wait()

    async with on_stage(tmp_path, scene, size=(80, 24)) as stage:
        stage.agent.tool_servers.servers = (replace(BROKEN, state=ServerState.STARTING, problem=""),)
        await stage.send("go")
        await stage.shows("waiting for MCP server git")
        held.set()


@pytest.mark.parametrize(("folder", "sentence"), [("/", "root of the file system"), ("~", "home directory")])
def test_a_warning_is_given_where_the_workspace_is_no_project(folder, sentence):
    (warning,) = welcome._list_warnings(Path(folder).expanduser())
    assert sentence in warning
    assert welcome._list_warnings(Path("/src/app")) == []


def test_nothing_is_resumed_before_anything_is_known(tmp_path):
    assert Welcome(tmp_path).resumable == ""


@pytest.mark.parametrize(
    ("label", "sandbox", "says"),
    [
        ("ask", "sandbox on", "You review edits and commands first, unless a rule allows them."),
        ("accept-edits", "sandbox on", "You review commands first"),
        ("quorum", "sandbox on", "Models vote on edits and commands"),
        ("sandboxed", "sandbox on", "commands in the sandbox do, too"),
        ("sandboxed", "sandbox off", "You review commands first"),
        ("read-only", "sandbox on", "do not run"),
        ("auto", "sandbox on", "You review only what guards, rules and protected paths ask about."),
        ("auto, ensemble", "sandbox off", "with all your rights"),
        ("plan", "sandbox on", "before you approve a plan"),
        ("looks only", "sandbox on", "Nothing is changed."),
    ],
)
def test_what_is_reviewed_is_said_for_the_mode_and_the_sandbox(label, sandbox, says):
    assert says in describe_reviews(label, sandbox)


async def test_the_start_screen_says_what_the_mode_means_and_says_it_anew_for_another(tmp_path):
    async with on_stage(tmp_path, size=(160, 40)) as stage:
        await stage.shows("You review edits and commands first")
        await stage.send("/mode auto")
        await stage.shows("AUTO: only exceptions are asked")

        assert "You review edits and commands first" not in stage.text()


async def test_the_tour_is_named_by_its_path_where_the_name_does_not_lead_to_it(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "quorum"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(program)])
    async with on_stage(tmp_path, model="offline/offline") as stage:
        await stage.shows("bin/quorum --demo")
