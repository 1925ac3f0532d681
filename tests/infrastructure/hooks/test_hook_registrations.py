import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from quorum.application.calls.hook_chain import HookMatcher, HookRegistration
from quorum.domain.calls.hook_points import Continue, HookPoint, OnHookError, Skip
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.program_tables import HookTable
from quorum.infrastructure.hooks.claude_dialect import ClaudeCommandHook
from quorum.infrastructure.hooks.command_hook import CommandHook
from quorum.infrastructure.hooks.registrations import build_hook_registrations, locate_hooks_folder
from tests.support.hook_drafts import a_call_draft

_BLOCKER = "quorum.hooks.tool_blocker:ToolBlocker"


class Home:
    """A home folder with hooks of the person's own, and a workspace with a stranger's."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.environ = {"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
        own = locate_hooks_folder(self.environ)
        assert own is not None
        self.own = own
        self.own.mkdir(parents=True)

    def register(self, *tables: dict[str, object]) -> tuple[HookRegistration, ...]:
        return build_hook_registrations(
            msgspec.convert(list(tables), list[HookTable]), workspace=self.workspace, environ=self.environ
        )

    def refusal(self, *tables: dict[str, object]) -> str:
        with pytest.raises(ConfigError) as caught:
            self.register(*tables)
        return str(caught.value)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    path, modules = list(sys.path), set(sys.modules)
    yield Home(tmp_path)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def _python(named: str, **keys: object) -> dict[str, object]:
    return {"event": "before_tool_call", "python": named, **keys}


def test_every_key_of_a_table_reaches_its_place(home: Home):
    (registration,) = home.register(
        {
            "event": ["before_tool_call", "after_tool_call"],
            "command": ["true"],
            "name": "gate",
            "tools": ["write_*"],
            "risk": "high",
            "paths": ["*/src/*"],
            "priority": -3,
            "timeout_secs": 2,
            "on_error": "open",
        }
    )

    assert isinstance(registration.hook, CommandHook)
    assert registration.name == "gate"
    assert registration.points == {HookPoint.BEFORE_TOOL_CALL, HookPoint.AFTER_TOOL_CALL}
    assert registration.matcher == HookMatcher(tools=("write_*",), risk=RiskLevel.HIGH, paths=("*/src/*",))
    assert (registration.priority, registration.timeout_secs) == (-3, 2.0)
    assert registration.on_error is OnHookError.OPEN


@pytest.mark.requirement("C04")
def test_hooks_stand_in_the_order_of_the_settings_without_those_switched_off(home: Home):
    names = [
        registration.name
        for registration in home.register(
            {"event": "on_turn_end", "command": ["/bin/true"]},
            {"event": "on_turn_end", "command": ["false"], "enabled": False},
            {"event": "on_turn_end", "command": ["true", "again"]},
            _python(_BLOCKER, settings={"tools": []}),
        )
    ]

    assert names == ["true", "true-2", "ToolBlocker"]


def test_two_hooks_cannot_be_given_one_name(home: Home):
    table = {"event": "on_turn_end", "command": ["true"], "name": "same"}

    assert home.refusal(table, table) == (
        'hooks[1].name is "same", and so is that of hooks[0]; give it another'
    )


@pytest.mark.parametrize("program", ["./check", "scripts/check", "../check", ""])
def test_a_program_from_whatever_folder_is_open_is_refused(home: Home, program: str):
    refusal = home.refusal({"event": "on_turn_end", "command": [program, "x"]})

    assert refusal.startswith(f'hooks[0].command starts with "{program}", which would be looked for in')


async def test_a_program_in_the_home_folder_can_be_named_by_a_tilde(home: Home):
    script = home.own / "skip"
    script.write_text("#!/bin/sh\necho no >&2\nexit 2\n")
    script.chmod(0o700)
    command = f"~/{script.relative_to(home.environ['HOME'])}"

    (registration,) = home.register({"event": "before_tool_call", "command": [command]})

    assert await registration.hook.answer(a_call_draft()) == Skip("no")


def test_a_word_with_a_nul_character_is_refused(home: Home):
    assert "hooks[0].command holds a NUL character" in home.refusal(
        {"event": "on_turn_end", "command": ["true", "a\0b"]}
    )


async def test_a_class_on_the_import_path_is_made_with_its_settings(home: Home):
    (registration,) = home.register(_python(_BLOCKER, settings={"tools": ["write_*"], "reason": "no writing"}))

    assert await registration.hook.answer(a_call_draft("write_file")) == Skip("no writing")
    assert await registration.hook.answer(a_call_draft("read_file")) == Continue()


async def test_a_class_in_the_persons_own_folder_is_found_with_its_neighbours(home: Home):
    (home.own / "own_words.py").write_text("REASON = 'as I say'")
    (home.own / "own_gate.py").write_text(
        "from own_words import REASON\nfrom quorum.domain.calls.hook_points import Skip\n"
        "class Gate:\n    def before_tool_call(self, call):\n        return Skip(REASON)\n"
    )

    (registration,) = home.register(_python("own_gate:Gate"))

    assert await registration.hook.answer(a_call_draft()) == Skip("as I say")


@pytest.mark.parametrize("spelling", ["workspace", ""])
def test_nothing_is_loaded_from_the_workspace(home: Home, monkeypatch: pytest.MonkeyPatch, spelling: str):
    (home.workspace / "evil_gate.py").write_text("open('executed', 'w')\nclass Gate:\n    pass\n")
    monkeypatch.chdir(home.workspace)
    monkeypatch.syspath_prepend(str(home.workspace) if spelling else "")

    refusal = home.refusal(_python("evil_gate:Gate"))

    assert refusal == (
        "hooks[0].python: the module evil_gate is in the workspace, from which no hook is loaded; "
        f"put it into {home.own}"
    )
    assert not (home.workspace / "executed").exists()


def test_a_package_of_the_workspace_is_refused_too(home: Home, monkeypatch: pytest.MonkeyPatch):
    (home.workspace / "evil_package/inner").mkdir(parents=True)
    (home.workspace / "evil_package/inner/gate.py").write_text("raise SystemExit('executed')")
    monkeypatch.syspath_prepend(str(home.workspace))

    assert "is in the workspace" in home.refusal(_python("evil_package.inner.gate:Gate"))


def test_without_being_on_the_import_path_the_workspace_does_not_exist(home: Home):
    (home.workspace / "evil_gate.py").write_text("raise SystemExit('executed')")

    assert home.refusal(_python("evil_gate:Gate")) == (
        "hooks[0].python: there is no module evil_gate, neither on the import path "
        f"nor in {home.own}; put it there"
    )


@pytest.mark.parametrize(
    ("source", "keys", "sentence"),
    [
        ("1 / 0", {}, "hooks[0].python: the module broken cannot be loaded: ZeroDivisionError"),
        ("x = ", {}, "hooks[0].python: the module broken cannot be loaded: SyntaxError"),
        (
            "import sys; sys.exit('bye')",
            {},
            "hooks[0].python: the module broken cannot be loaded: SystemExit: bye",
        ),
        ("import not_there", {}, "hooks[0].python: the module broken needs not_there, which is not there"),
        (
            "class Gat:\n  def on_turn_end(self, m): ...",
            {},
            "hooks[0].python: the module broken has no class Gate; it has Gat",
        ),
        ("Gate = 5", {}, "hooks[0].python: the module broken has no class Gate"),
        (
            "class Gate:\n  def before_tool_calls(self, c): ...",
            {},
            "hooks[0].event is before_tool_call, but Gate has no such method; it needs one of on_message_send",
        ),
        (
            "from quorum.api import Hook\nclass Gate(Hook):\n  async def on_turn_end(self, m): ...",
            {},
            "hooks[0].event is before_tool_call, but Gate has no such method; it has on_turn_end",
        ),
        (
            "class Gate:\n  def __init__(self, limit): ...\n  def before_tool_call(self, c): ...",
            {},
            "hooks[0].settings do not fit Gate: missing a required argument: 'limit'",
        ),
        (
            "class Gate:\n  def before_tool_call(self, c): ...",
            {"limit": 1},
            "hooks[0].settings do not fit Gate: got an unexpected keyword argument 'limit'",
        ),
        (
            "class Gate:\n  def __init__(self): raise OSError('full')\n  def before_tool_call(self, c): ...",
            {},
            "hooks[0]: Gate cannot be made: OSError: full",
        ),
    ],
)
def test_a_class_that_cannot_be_used_is_reported_with_its_place(
    home: Home, source: str, keys: dict[str, object], sentence: str
):
    (home.own / "broken.py").write_text(source)

    assert home.refusal(_python("broken:Gate", settings=keys)).startswith(sentence)


@pytest.mark.parametrize("layer", ["domain", "application", "infrastructure", "tui"])
async def test_a_package_of_ones_own_may_have_the_name_of_a_layer(home: Home, layer: str):
    (home.own / layer).mkdir()
    (home.own / layer / "__init__.py").write_text("REASON = 'closed'\n")
    (home.own / layer / "hooks.py").write_text(
        f"from {layer} import REASON\nfrom quorum.api import Skip\n"
        "class Watch:\n  def before_tool_call(self, call): return Skip(REASON)\n"
    )

    (registration,) = home.register(_python(f"{layer}.hooks:Watch"))

    assert await registration.hook.answer(a_call_draft()) == Skip("closed")


def test_a_shipped_hook_is_found_by_its_former_name(home: Home):
    former = "infrastructure.hooks.examples.tool_blocker:ToolBlocker"

    before, after = home.register(
        _python(former, name="before", settings={"tools": []}), _python(_BLOCKER, settings={"tools": []})
    )

    assert type(vars(before.hook)["_inner"]) is type(vars(after.hook)["_inner"])


def test_a_package_of_ones_own_cannot_be_called_quorum(home: Home):
    assert "quorum itself has this name" in home.refusal(_python("quorum.gates:Gate"))


@pytest.mark.parametrize("event", ["on_session_start", "on_session_end", "on_notification"])
def test_a_hook_that_can_hold_back_nothing_cannot_be_closed(home: Home, event: str):
    refusal = home.refusal({"event": event, "command": ["true"], "on_error": "closed"})

    assert f'hooks[0].on_error is "closed", but nothing can be held back at {event}' in refusal


def test_a_hook_of_claude_code_knows_its_points_and_its_matcher(home: Home):
    known = {"event": "on_session_start", "command": ["true"], "dialect": "claude"}
    for matcher in ("", "*", "Bash|Edit"):
        assert isinstance(home.register(known | {"matcher": matcher})[0].hook, ClaudeCommandHook)

    assert "event is after_tool_call, which dialect does not know" in home.refusal(
        {"event": ["on_session_start", "after_tool_call"], "command": ["true"], "dialect": "claude"}
    )
    assert "hooks[0].matcher cannot be used: it is no regular expression" in home.refusal(
        known | {"matcher": "Bash("}
    )
