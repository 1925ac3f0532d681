from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from domain.calls.execution import ToolExecutionContext
from domain.conversation.session_kind import SessionKind
from domain.errors import ConfigError
from domain.events.masking import SecretMask
from domain.plan.phase import FAIL_TASK
from domain.review.mode import Mode
from domain.shell.sandbox import SandboxOn
from domain.subagents.subagent_task import Asker
from domain.text.json_value import JsonObject
from infrastructure.config.loading import load_settings
from infrastructure.container import Container
from infrastructure.injection import providers
from tests.support.built_in_tools import list_built_in_tools
from tests.support.fake_ports import FakePerson, FakeTool, RecordingObserver
from tests.support.records import no_record


def a_container(root: Path, form: SessionKind = SessionKind.AGENT, **overrides: object) -> Container:
    loaded = load_settings(
        cwd=root,
        environ={"HOME": str(root)},
        overrides={key.replace("__", "."): value for key, value in overrides.items()},
    )
    return Container(
        record=no_record(form=form),
        mask=SecretMask(),
        settings=loaded.settings,
        models=("offline/offline",),
        root=root,
        environ={"HOME": str(root)},
        approver=FakePerson(),
        observer=RecordingObserver(),
    )


NOT_THERE_BY_ITSELF = {"ledger", "contents", "owner_review", "plan_changes", "final_review", "wanted_tools"}
OF_SOME_SESSIONS = {"load_skill", "fail_task", "web_fetch", "web_search"}


def test_every_provider_can_be_called(tmp_path: Path) -> None:
    container = a_container(tmp_path)
    container.check_dependencies()

    for name, provider in container.providers.items():
        assert isinstance(provider, providers.Provider)
        assert (provider() is not None) or name in NOT_THERE_BY_ITSELF | OF_SOME_SESSIONS


def test_the_agent_is_one_object_and_so_is_its_conversation(tmp_path: Path) -> None:
    container = a_container(tmp_path)

    assert container.agent() is container.agent()
    assert container.conversation() is container.conversation()


def test_the_tools_are_those_of_the_settings(tmp_path: Path) -> None:
    everything = a_container(tmp_path).tools()
    few = a_container(tmp_path, tools__enabled=["read_file", "grep_search"], tools__disabled=["grep_search"])

    assert set(everything) == {
        "read_file",
        "list_directory",
        "glob_search",
        "grep_search",
        "write_file",
        "edit_file",
        "apply_patch",
        "run_command",
        "jobs",
        "update_plan",
        "create_plan",
        "update_task",
        "run_task",
        "inspect",
        "task",
    }
    assert set(few.tools()) == {"read_file"}


def test_unknown_tools_of_an_untrusted_project_file_are_ignored_with_a_notice(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    user = home / ".config" / "quorum" / "quorum.toml"
    for folder in (project / ".git", user.parent):
        folder.mkdir(parents=True)
    user.write_text('[tools]\ndisabled = ["run_command"]\n')
    (project / "quorum.toml").write_text(
        '[tools]\nenabled = ["read_file", "read_fil", "web_fetch", "run_command"]\ndisabled = ["gone"]\n'
    )
    loaded = load_settings(cwd=project, environ={"HOME": str(home)})
    container = a_container(tmp_path)
    container.settings.override(loaded.settings)
    container.covered.override(providers.Object(loaded.covered))

    assert set(container.tools()) == {"read_file"}
    notices = container.visible_record().notices
    assert len(notices) == 3
    assert 'tools.enabled names "read_fil", and there is no such tool; did you mean read_file?' in notices[0]
    assert notices[1].startswith('tools.enabled names "web_fetch", which is off')
    assert notices[2].startswith('tools.disabled names "gone"')
    assert all(notice.endswith("is not trusted, so this is ignored") for notice in notices)


def test_unknown_tools_of_the_persons_own_file_are_an_error_beside_those_of_a_project(tmp_path: Path) -> None:
    container = a_container(tmp_path, tools__disabled=["gone", "strange"])
    container.covered.override(providers.Object({"tools.disabled": ("gone",)}))

    with pytest.raises(ConfigError, match=r'tools\.disabled names "gone"'):
        container.tools()


def test_who_only_asks_has_tools_that_look_and_reads_so(tmp_path: Path) -> None:
    asked = a_container(tmp_path, form=SessionKind.ASK)

    tools = {"read_file", "list_directory", "glob_search", "grep_search", "update_plan", "inspect", "task"}
    assert set(asked.tools()) == tools
    assert {tool["name"] for tool in asked.tool_set().list_schemas()} == tools
    assert "change nothing" in asked.system_prompt().text
    assert "change nothing" not in a_container(tmp_path).system_prompt().text


def test_who_only_asks_is_given_no_more_by_the_settings(tmp_path: Path) -> None:
    asked = a_container(tmp_path, form=SessionKind.ASK, tools__enabled=["read_file", "run_command"])

    assert set(asked.tools()) == {"read_file"}


@pytest.mark.requirement("D11")
def test_inspect_is_there_exactly_where_there_is_a_store(tmp_path: Path) -> None:
    assert "inspect" in a_container(tmp_path).tools()
    assert "inspect" not in a_container(tmp_path, tools__output__store=False).tools()


def test_a_tool_that_does_not_exist_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    container = a_container(tmp_path, tools__disabled=["run_comand"])

    with pytest.raises(ConfigError, match=r"run_comand.*did you mean run_command"):
        container.tools()


def test_settings_that_were_named_in_the_workspace_are_protected_there(tmp_path: Path) -> None:
    container = a_container(tmp_path)
    named = tmp_path / "ci" / "agent[1].toml"
    container.config_files.override((named, Path("/elsewhere/quorum.toml")))

    paths = container.paths()

    assert paths.is_protected(str(named))
    assert not paths.is_sensitive(str(named))
    assert not paths.is_protected(str(tmp_path / "ci" / "agent1.toml"))
    assert not paths.is_protected(str(tmp_path / "agent.toml"))


class StandIn:
    """Stands for any adapter while a session is built: it has every method, and none of them does anything."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_arguments, **_options: self

    def __iter__(self) -> Iterator[object]:
        return iter(())


def uses(session: object, wanted: object) -> bool:
    """Whether an object is held somewhere in a session."""
    waiting, seen = [session], {id(session)}
    while waiting:
        for held in gc.get_referents(waiting.pop()):
            if held is wanted:
                return True
            if id(held) not in seen and not isinstance(held, ModuleType | type):
                seen.add(id(held))
                waiting.append(held)
    return False


def a_container_with_the_tool(name: str, root: Path) -> Container:
    """A session with a use for this tool: `fail_task` is for a subagent alone, all others come together."""
    skill = root / ".agents/skills/notes/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: notes\ndescription: Notes.\n---\nNotes.\n")
    web = {"fetch": True, "search": "searxng", "search_url": "http://localhost:8888"}
    container = a_container(root, **{f"tools__web__{key}": value for key, value in web.items()})
    if name == FAIL_TASK:
        container.owner_review.override(providers.Object(a_container(root).review()))
        container.asker.override(providers.Object(Asker(plan_task="a")))
    return container


def test_the_tools_that_are_replaced_are_all_there_are(tmp_path: Path) -> None:
    tools = a_container_with_the_tool(FAIL_TASK, tmp_path / "subagent").tools()
    tools |= a_container_with_the_tool("inspect", tmp_path / "session").tools()

    assert set(tools) == list_built_in_tools()


@pytest.mark.long(after=1)
@pytest.mark.parametrize("name", sorted(list_built_in_tools()))
def test_each_built_in_tool_can_be_replaced_by_name(name: str, tmp_path: Path) -> None:
    container = a_container_with_the_tool(name, tmp_path)
    before = container.tools()[name]

    async def do_nothing(_arguments: JsonObject, _context: ToolExecutionContext) -> str:
        return "done"

    replacement = FakeTool(name, do_nothing)
    container.reset_singletons()
    container.providers[name].override(replacement)

    assert before is not replacement
    assert container.tools()[name] is replacement
    assert uses(container.agent(), replacement)


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "gateway",
        "store",
        "files",
        "attachment_files",
        "orphan_finder",
        "keeper",
        "user_shell",
        "ledger",
        "contents",
    ],
)
def test_each_adapter_can_be_replaced_by_name(name: str, tmp_path: Path) -> None:
    container = a_container(tmp_path)
    replacement = StandIn()
    container.providers[name].override(replacement)

    assert uses(container.agent(), replacement)


async def test_which_modes_there_are_is_asked_of_the_one_sandbox_of_the_session(tmp_path: Path) -> None:
    container = a_container(tmp_path)

    why = await container.review().find_refusal(Mode.SANDBOXED)

    assert container.sandbox().known is not None
    assert (why is None) is isinstance(container.sandbox().known, SandboxOn)


def test_a_lens_for_a_model_that_does_not_review_is_a_notice(tmp_path: Path) -> None:
    user = tmp_path / "home" / ".config" / "quorum" / "quorum.toml"
    user.parent.mkdir(parents=True)
    user.write_text('models.review = ["x/a"]\n[quorum]\nlenses = { "x/a" = "scope", "x/b" = "safety" }\n')
    loaded = load_settings(cwd=tmp_path, environ={"HOME": str(tmp_path / "home")})
    container = a_container(tmp_path)
    container.settings.override(loaded.settings)

    (notice,) = container.visible_record().notices
    assert notice == "quorum.lenses names x/b, which does not review; did you mean x/a?"
