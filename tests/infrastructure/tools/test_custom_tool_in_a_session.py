from __future__ import annotations

from pathlib import Path

import pytest

from quorum.application.calls.tool_runtime import BatchResult, ToolBatch
from quorum.domain.events.event import CallProgressed
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.questions import Reject
from quorum.domain.text.json_value import JsonValue
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.container import build_container
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.trust_decisions import open_trust_decisions
from tests.support.builders import a_call, a_context
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.records import no_record

_SETTINGS = """
[tools.custom.append]
description = "Adds a line to a file"
command = ["sh", "append.sh", "{file}", "{line}"]

[tools.custom.append.parameters.file]
type = "path"
description = "The file"
required = true

[tools.custom.append.parameters.line]
description = "The line"
"""


class Session:
    def __init__(self, root: Path, person: FakePerson) -> None:
        (root / "own.toml").write_text(_SETTINGS)
        (root / "append.sh").write_text('echo working >&2\necho "$2" >> "$1"\ncat "$1"\n')
        self.observer = RecordingObserver()
        self.container = build_container(
            SessionInputs(
                record=no_record(),
                mask=SecretMask(),
                loaded=load_settings(cwd=root, environ={"HOME": str(root)}, config_file=root / "own.toml"),
                asked=AskedModels(models=("offline/offline",)),
                root=root,
                environ={},
                approver=person,
                observer=self.observer,
                trust=open_trust_decisions({}),
            )
        )

    async def call(self, **arguments: JsonValue) -> BatchResult:
        call = a_call("append", arguments)
        return await self.container.parts().calls.runtime.run(
            ToolBatch(id="batch-1", calls=((a_context(), call),))
        )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


async def test_a_call_is_reviewed_as_it_will_run_and_gives_what_the_program_prints(root: Path):
    person = FakePerson()
    session = Session(root, person)

    result = await session.call(file="notes.txt", line="$(id) {file}")

    assert [(r.output, r.is_error) for r in result.results] == [("$(id) {file}\n", False)]
    seal = person.requests[0].packet.seal
    assert [Path(file.path).name for file in seal.files] == ["append.sh"]
    assert seal.unsealed is not None
    assert seal.unsealed.endswith("append.sh notes.txt '$(id) {file}'")
    progress = [event.text for event in session.observer.of(CallProgressed)]  # type: ignore[attr-defined]
    assert "working" in progress[-1]


async def test_a_rejected_call_runs_nothing(root: Path):
    session = Session(root, FakePerson(lambda _request: Reject("no")))

    result = await session.call(file="notes.txt", line="x")

    assert result.results[0].is_rejected
    assert not (root / "notes.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"line": "x"}, "'file' is a required property"),
        ({"file": "a", "line": "x", "other": 1}, "'other' was unexpected"),
        ({"file": "a", "line": {}}, "line: {} is not of type 'string'"),
        ({"file": "a", "line": "-n"}, 'line may not begin with "-"'),
        ({"file": "../a", "line": "x"}, "outside the workspace"),
    ],
)
async def test_arguments_that_do_not_fit_are_errors_that_name_the_field_and_nobody_is_asked(
    root: Path, arguments: dict[str, JsonValue], expected: str
):
    person = FakePerson()

    result = await Session(root, person).call(**arguments)

    assert result.results[0].is_error
    assert expected in result.results[0].output
    assert person.requests == []
