"""The examples of docs/permissions.md, decided as they would be in a run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from quorum.domain.events.masking import SecretMask
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.container import Container, build_container
from quorum.infrastructure.permissions.in_force import try_call
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.trust_decisions import open_trust_decisions
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.records import no_record

_PAGE = Path(__file__).parents[3] / "docs" / "permissions.md"
_BLOCK = re.compile(r"^(\d+)\. .*?```rules\n(.*?)```", re.MULTILINE | re.DOTALL)
_CHECK = re.compile(r"(?P<tool>\w+) (?P<arguments>\{.*\}) +-> (?P<answer>allow|ask|deny)")
_RULE = re.compile(r"(?P<answer>allow|ask|deny) (?P<rule>.+)")


@dataclass(frozen=True)
class _Example:
    number: str
    rules: tuple[tuple[str, str], ...]
    checks: tuple[tuple[str, str, str], ...]


def _examples() -> list[_Example]:
    found = []
    for number, block in _BLOCK.findall(_PAGE.read_text(encoding="utf-8")):
        rules, checks = [], []
        for line in filter(None, map(str.strip, block.splitlines())):
            if check := _CHECK.fullmatch(line):
                checks.append((check["tool"], check["arguments"], check["answer"]))
            else:
                rule = _RULE.fullmatch(line)
                assert rule is not None, line
                rules.append((rule["answer"], rule["rule"]))
        found.append(_Example(number, tuple(rules), tuple(checks)))
    return found


def _container(root: Path, home: Path, example: _Example) -> Container:
    lists = {
        answer: [text for given, text in example.rules if given == answer]
        for answer in ("allow", "ask", "deny")
    }
    lists["allow"].insert(0, "run_command(read-only)")
    loaded = load_settings(
        cwd=root,
        environ={"HOME": str(home)},
        overrides={
            "tools.web.fetch": True,
            **{f"permissions.{answer}": rules for answer, rules in lists.items()},
        },
    )
    return build_container(
        SessionInputs(
            record=no_record(),
            mask=SecretMask(),
            loaded=loaded,
            asked=AskedModels(models=("offline/offline",)),
            root=root,
            environ={"HOME": str(home)},
            approver=FakePerson(),
            observer=RecordingObserver(),
            trust=open_trust_decisions({"HOME": str(home)}),
        )
    )


def test_the_page_has_ten_examples() -> None:
    assert [example.number for example in _examples()] == [str(number) for number in range(1, 11)]
    assert all(example.checks for example in _examples())


@pytest.mark.parametrize("example", _examples(), ids=lambda example: example.number)
async def test_an_example_of_the_page_is_decided_as_it_says(example: _Example, tmp_path: Path) -> None:
    root, home = tmp_path / "project", tmp_path / "home"
    for name in ("src/main.py", "secrets/key", ".env"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n", encoding="utf-8")
    home.mkdir()
    container = _container(root, home, example)

    for tool, arguments, wanted in example.checks:
        answer, account = await try_call(
            tool,
            arguments,
            tools=container.tools(),
            schema=container.parts().calls.schema,
            review=container.review(),
            rules=container.rules().rules,
            roots=container.parts().shared.paths.roots,
        )
        assert answer == wanted, account
