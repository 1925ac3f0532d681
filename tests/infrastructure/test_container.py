from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ConfigError
from quorum.domain.events.masking import SecretMask
from quorum.domain.plan.plan import FAIL_TASK
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.shell.sandbox import SandboxOn
from quorum.domain.subagent_task import Asker
from quorum.infrastructure.composition.decisions import SubagentTerms
from quorum.infrastructure.composition.session import SessionParts
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.container import Container, build_container, providers
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.trust_decisions import open_trust_decisions
from tests.support.built_in_tools import list_built_in_tools
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.records import no_record
from tests.support.session_parts import change_inputs


def a_container(root: Path, form: SessionKind = SessionKind.AGENT, **overrides: object) -> Container:
    loaded = load_settings(
        cwd=root,
        environ={"HOME": str(root)},
        overrides={key.replace("__", "."): value for key, value in overrides.items()},
    )
    return build_container(
        SessionInputs(
            record=no_record(form=form),
            mask=SecretMask(),
            loaded=loaded,
            asked=AskedModels(models=("offline/offline",)),
            root=root,
            environ={"HOME": str(root)},
            approver=FakePerson(),
            observer=RecordingObserver(),
            trust=open_trust_decisions({"HOME": str(root)}),
        )
    )


def test_every_provider_can_be_called(tmp_path: Path) -> None:
    container = a_container(tmp_path)
    container.check_dependencies()

    for name, provider in container.providers.items():
        assert isinstance(provider, providers.Provider)
        assert provider() is not None, name


def test_the_agent_is_one_object_and_so_is_its_conversation(tmp_path: Path) -> None:
    container = a_container(tmp_path)

    assert container.agent() is container.agent()
    assert container.parts().core.conversation is container.parts().core.conversation


def test_the_tools_are_those_of_the_settings(tmp_path: Path) -> None:
    everything = a_container(tmp_path).tools()
    few = a_container(
        tmp_path, tools__enabled=["read_file", "grep_search"], tools__disabled=["grep_search"]
    ).tools()

    assert set(everything) == {
        "read_file",
        "list_directory",
        "glob_search",
        "grep_search",
        "write_file",
        "edit_file",
        "apply_patch",
        "ask_person",
        "propose_checks",
        "run_command",
        "jobs",
        "update_plan",
        "create_plan",
        "update_task",
        "run_task",
        "inspect",
        "task",
    }
    assert set(few) == {"read_file"}


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
    change_inputs(container, loaded=loaded)

    assert set(container.tools()) == {"read_file"}
    notices = container.record().notices
    assert len(notices) == 3
    assert 'tools.enabled names "read_fil", and there is no such tool; did you mean read_file?' in notices[0]
    assert notices[1].startswith('tools.enabled names "web_fetch", which is off')
    assert notices[2].startswith('tools.disabled names "gone"')
    assert all(notice.endswith("is not trusted, so this is ignored") for notice in notices)


def test_unknown_tools_of_the_persons_own_file_are_an_error_beside_those_of_a_project(tmp_path: Path) -> None:
    container = a_container(tmp_path, tools__disabled=["gone", "strange"])
    change_inputs(container, loaded=replace(container.inputs().loaded, covered={"tools.disabled": ("gone",)}))

    with pytest.raises(ConfigError, match=r'tools\.disabled names "gone"'):
        container.tools()


def test_who_only_asks_has_tools_that_look_and_reads_so(tmp_path: Path) -> None:
    asked = a_container(tmp_path, form=SessionKind.ASK)

    tools = {"read_file", "list_directory", "glob_search", "grep_search", "update_plan", "inspect", "task"}
    tools |= {"ask_person"}
    assert set(asked.tools()) == tools
    assert {tool["name"] for tool in asked.parts().calls.tool_set.list_schemas()} == tools
    assert "change nothing" in asked.parts().models.system_prompt.text
    assert "change nothing" not in a_container(tmp_path).parts().models.system_prompt.text


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
    files = (named, Path("/elsewhere/quorum.toml"))
    change_inputs(container, loaded=replace(container.inputs().loaded, files=files))

    paths = container.parts().shared.paths

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


def test_the_tools_of_sessions_and_subagents_are_all_there_are(tmp_path: Path) -> None:
    skill = tmp_path / ".agents/skills/notes/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: notes\ndescription: Notes.\n---\nNotes.\n")
    web = {"fetch": True, "search": "searxng", "search_url": "http://localhost:8888"}
    overrides = {f"tools__web__{key}": value for key, value in web.items()}
    overrides |= {"mcp__servers": {"db": {"command": ["db"]}}}
    overrides |= {"lsp": {"checker": {"command": ["checker"], "languages": ["python"]}}}
    session = a_container(tmp_path, **overrides).parts()
    terms = SubagentTerms(owner=session.reviews, asker=Asker(plan_task="a"))
    subagent = SessionParts(given=session.given, open_subagents=session.open_subagents, terms=terms)

    assert set(session.calls.tools) | set(subagent.calls.tools) == list_built_in_tools()
    assert FAIL_TASK not in session.calls.tools
    assert "code_lookup" in subagent.calls.tools


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
    change_inputs(container, loaded=loaded)

    (notice,) = container.record().notices
    assert notice == "quorum.lenses names x/b, which does not review; did you mean x/a?"
