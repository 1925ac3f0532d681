"""A tool that imports from `quorum.api` alone returns JSON; the model gets its structure and opens parts."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from quorum.api import (
    JsonObject,
    JsonValue,
    RiskLevel,
    Stored,
    Structured,
    ToolDefinition,
    ToolExecutionContext,
    ToolOutput,
)
from quorum.application.calls.outputs import Outputs
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.store.blobs.file_store import FileBlobStore
from quorum.infrastructure.tools.builtin.inspect import Inspect
from tests.infrastructure.tools.calling import a_context

ROWS: list[JsonValue] = [{"name": f"row {number}", "size": number} for number in range(200)]


class ListRows:
    """A tool as a plug-in writes it."""

    definition = ToolDefinition(name="list_rows", description="Lists", parameters=(), risk=RiskLevel.LOW)

    def __init__(self, output: ToolOutput) -> None:
        self._output = output

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> ToolOutput:
        return self._output


async def keep_and_inspect(folder: Path, output: ToolOutput, selector: str) -> tuple[str, str]:
    """What the conversation gets of the tool's output, and what `inspect` shows of it."""
    outputs = Outputs(store := FileBlobStore(folder), OutputLimits())
    tool = ListRows(output)
    kept = await outputs.keep(await tool.execute({}, a_context()), tool.definition)
    (blob_id,) = re.findall(r"\[blob:([0-9a-f-]+)\]", kept.text)
    inspect = Inspect(store, outputs.refers_to)
    shown = await inspect.execute({"blob_id": blob_id, "selector": selector}, a_context())
    return kept.text, str(getattr(shown, "text", shown))


@pytest.mark.requirement("D01")
@pytest.mark.requirement("D05")
@pytest.mark.requirement("D12")
@pytest.mark.requirement("D13")
@pytest.mark.parametrize("output", [Structured(ROWS), Stored(Structured(ROWS))])
async def test_an_array_is_summed_up_by_its_schema_and_opened_by_its_entries(
    tmp_path: Path, output: ToolOutput
) -> None:
    kept, shown = await keep_and_inspect(tmp_path, output, "slice:150..151")

    assert "json_array | 200 entries\n── schema ──\nname: string\nsize: number\n── head ──" in kept
    assert '"name":"row 150"' in shown


@pytest.mark.requirement("D06")
async def test_an_object_is_summed_up_by_its_keys_and_opened_by_one(tmp_path: Path) -> None:
    kept, shown = await keep_and_inspect(tmp_path, Structured({"total": 200, "rows": ROWS}), "key:rows.7.size")

    assert "json_object | 2 keys\n── keys ──\ntotal: number\nrows: array (200 entries)" in kept
    assert shown.endswith("7")


def test_short_json_stays_in_the_conversation(tmp_path: Path) -> None:
    outputs = Outputs(FileBlobStore(tmp_path), OutputLimits())

    kept = asyncio.run(outputs.keep(Structured({"a": 1}), None))

    assert (kept.text, kept.blob_id) == ('{\n  "a": 1\n}', None)
