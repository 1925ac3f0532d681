from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from quorum.application.ports.tools import SealingTool
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ToolError
from quorum.domain.events.masking import SecretMask
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import Inline, Printed, Stored
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.container import Container, build_container
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.tools.json_schema import JsonSchema
from quorum.infrastructure.trust_decisions import open_trust_decisions
from tests.support.builders import a_context
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.records import no_record

# A call of each built-in in a folder with the file a.txt, which says "one".
_CALLS: Mapping[str, JsonObject] = {
    "read_file": {"path": "a.txt"},
    "list_directory": {"path": "."},
    "glob_search": {"pattern": "*.txt"},
    "grep_search": {"pattern": "one", "path": "."},
    "write_file": {"path": "b.txt", "content": "two"},
    "edit_file": {"path": "a.txt", "old_text": "one", "new_text": "two"},
    "apply_patch": {"patch": "*** Begin Patch\n*** Add File: c.txt\n+three\n*** End Patch"},
    "run_command": {"command": "true"},
    "jobs": {"action": "list"},
    "update_plan": {"items": [{"text": "read", "status": "done"}]},
    "create_plan": {"objective": "x", "reasoning": "", "tasks": [{"id": "a", "description": "b"}]},
    "update_task": {"id": "a", "status": "done"},
    "run_task": {"id": "a"},
    "inspect": {"blob_id": "none"},
    "web_fetch": {"url": "http://127.0.0.1/"},
    "web_search": {"query": "anything"},
    "task": {"prompt": "look around"},
    "ask_person": {"question": "Which?", "options": [{"label": "one"}, {"label": "two"}]},
    "propose_checks": {"commands": ["true"]},
}
_REFUSALS = {
    "update_task": "no plan is in force",
    "run_task": "no plan is in force",
    "ask_person": "nobody was asked this question",
    "propose_checks": "nobody was asked about these checks",
    "inspect": "this conversation has no stored output",
    "web_fetch": "127.0.0.1",
    "web_search": "127.0.0.1",
}


def a_container(root: Path) -> Container:
    """A session with every tool that can be switched on. Nothing listens at the address of its search."""
    on = {"fetch": True, "search": "searxng", "search_url": "http://127.0.0.1:1"}
    overrides = {f"tools.web.{key}": value for key, value in on.items()}
    environ = {"HOME": str(root), "XDG_STATE_HOME": str(root / "state")}
    return build_container(
        SessionInputs(
            record=no_record(),
            mask=SecretMask(),
            loaded=load_settings(cwd=root, environ=environ, overrides=overrides),
            asked=AskedModels(models=("offline/offline",)),
            root=root,
            environ=environ,
            approver=FakePerson(),
            observer=RecordingObserver(),
            trust=open_trust_decisions(environ),
        )
    )


def _names() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        return list(a_container(Path(folder)).tools())


@pytest.mark.long(after=2)
@pytest.mark.parametrize("name", _names())
@pytest.mark.requirement("A10")
async def test_every_registered_built_in_is_called_with_its_context(name: str, tmp_path: Path):
    (tmp_path / "a.txt").write_text("one")
    tools = a_container(tmp_path).tools()
    await tools["read_file"].execute(_CALLS["read_file"], a_context(0))  # an edit wants the file to be seen

    if name in _REFUSALS:
        with pytest.raises(ToolError, match=_REFUSALS[name]):
            await tools[name].execute(_CALLS[name], a_context(1))
    else:
        output = await tools[name].execute(_CALLS[name], a_context(1))
        assert isinstance(output, str | Inline | Printed | Stored)


@pytest.mark.parametrize("name", _names())
def test_every_risky_built_in_seals_by_itself(name: str, tmp_path: Path):
    tool = a_container(tmp_path).tools()[name]

    assert type(tool).__module__ != "quorum.infrastructure.tools.registration"
    assert isinstance(tool, SealingTool) or tool.definition.risk is RiskLevel.LOW


def test_the_example_of_an_error_is_a_valid_call_of_its_tool(tmp_path: Path) -> None:
    schema = JsonSchema()
    for tool in a_container(tmp_path).tools().values():
        example = json.loads(schema.give_example(tool.definition, {}))

        assert schema.find_problems(tool.definition, example) == (), (tool.definition.name, example)
