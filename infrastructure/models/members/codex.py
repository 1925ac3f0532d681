"""Codex as `codex exec`, which reads one prompt and writes lines of JSON.

Its app server would stay for all questions, but starts the MCP servers and hooks of the person's settings; this
command can leave the settings out.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.response import Usage
from quorum.domain.text.json_text import make_encoder
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.execution.commands.process import SupervisedProcess
from quorum.infrastructure.models.members.dialect import OWN_MODEL, MemberAnswer, MemberTask
from quorum.infrastructure.models.members.failures import MemberFailures
from quorum.infrastructure.models.members.process import MemberProcess
from quorum.infrastructure.models.shared.json_fields import (
    parse_foreign_json,
    read_count_field,
    read_object_field,
    read_text_field,
)

_JSON = make_encoder()
_OPTIONS = (
    "exec",
    *("--json", "--ephemeral", "--ignore-user-config", "--ignore-rules", "--skip-git-repo-check"),
    *("--sandbox", "read-only"),
    *("--color", "never"),
)
# What would offer tools to the model, or say more to it than it is asked. Those that a version does not know it
# reports and passes over.
_FEATURES_OFF = (
    "apps", "browser_use", "computer_use", "goals", "hooks", "image_generation", "memories", "multi_agent",
    "plugins", "shell_tool", "skill_search", "sleep_tool", "tool_suggest", "unified_exec", "view_image",
)  # fmt: skip
_SETTINGS = (
    'approval_policy="never"',
    'web_search="disabled"',
    "include_apps_instructions=false",
    "include_environment_context=false",
    "include_permissions_instructions=false",
    "project_doc_max_bytes=0",
    "skills.bundled.enabled=false",
    *(f"features.{name}=false" for name in _FEATURES_OFF),
)
_VERSION = re.compile(r"\d+\.\d+\S*")
_VERSION_SECS = 5
# As ProviderProgram.sets has it log. A plan is words, as `todo_list` is.
_LOGGED_CALL = re.compile(
    r"\bcodex_core::(?:stream_events_utils: ToolCall: (?P<tool>(?!update_plan\b)\S+)|tools::router: error=)"
)
_WORDS = frozenset({"agent_message", "reasoning", "error", "todo_list"})  # all else is something that it does


class CodexExec:
    """Implements `MemberDialect`."""

    def __init__(self, failures: MemberFailures) -> None:
        self._failures = failures
        self._versions: dict[tuple[int, int], asyncio.Task[str]] = {}

    def list_words(self, words: Sequence[str], task: MemberTask, folder: Path) -> Sequence[str]:
        """The system text and the schema lie in files, of which the settings hold the paths."""
        system = folder / "system.txt"
        system.write_text(task.system, encoding="utf-8", errors="replace")
        settings = [*_SETTINGS, f"model_instructions_file={_JSON.encode(str(system))}"]
        if task.effort is not Effort.DEFAULT:
            settings.append(f'model_reasoning_effort="{task.effort.value}"')
        chosen = ("--model", task.model) if task.model != OWN_MODEL else ()
        form: tuple[str, ...] = ()
        if task.schema is not None:
            schema = folder / "schema.json"
            schema.write_text(_JSON.encode(make_strict(task.schema)), encoding="utf-8")
            form = ("--output-schema", str(schema))
        assigned = (word for setting in settings for word in ("-c", setting))
        return (*words, *_OPTIONS, *chosen, *form, *assigned, "-")

    def find_call(self, line: str) -> str:
        """Its messages tell of no call to a tool that it does not offer: it has its model try again, without
        end. Its log does."""
        found = _LOGGED_CALL.search(line)
        return (found["tool"] or "a tool") if found else ""

    async def make_ready(self, process: MemberProcess, task: MemberTask) -> None:
        """It waits for the end of its input once it is started."""

    async def ask(
        self, process: MemberProcess, task: MemberTask, prompt: str, on_text: Callable[[str], None]
    ) -> MemberAnswer:
        """Ask, and tell the text when it is whole. Raises ProviderError."""
        version = self._begin_version(process)
        try:
            answer = await self._ask(process, task, prompt)
            await asyncio.wait({version}, timeout=_VERSION_SECS)
        except BaseException:
            version.cancel()
            raise
        if version.done() and not version.cancelled():
            process.note_version(version.result())
        on_text(answer.text)
        return answer

    async def _ask(self, process: MemberProcess, task: MemberTask, prompt: str) -> MemberAnswer:
        await process.write(prompt)
        process.close_input()
        text, trouble = "", ""
        while True:
            event = await process.read_message()
            match event.get("type"):
                case "item.started" | "item.updated" | "item.completed":
                    item = read_object_field(event, "item")
                    kind = read_text_field(item, "type")
                    if kind not in _WORDS:
                        raise self._failures.explain_call(read_text_field(item, "command") or kind or "a tool")
                    if kind == "agent_message":
                        process.note_progress()
                        text = read_text_field(item, "text")  # the last one is the answer
                case "error":
                    trouble = read_text_field(event, "message")
                    process.note_trouble(trouble)
                case "turn.failed":
                    said = read_text_field(read_object_field(event, "error"), "message")
                    raise self._failures.explain_reported(said or trouble)
                case "turn.completed":
                    break
        if task.schema is not None:
            text = drop_nulls(text, task.schema)
        return MemberAnswer(text=text, usage=_read_usage(read_object_field(event, "usage")))

    def _begin_version(self, process: MemberProcess) -> asyncio.Task[str]:
        """Its version, which its events do not tell: asked beside the question, once until it is updated."""
        try:
            status = os.stat(process.launch.words[0])
        except OSError:  # it is being updated, for example
            state = (0, 0)
        else:
            state = (status.st_ino, status.st_mtime_ns)
        found = self._versions.get(state)
        if found is None or found.cancelled():
            self._versions[state] = found = asyncio.create_task(_read_version(process))
        return found


async def _read_version(process: MemberProcess) -> str:
    printed = bytearray()
    with suppress(OSError):
        asked = SupervisedProcess(
            (*process.launch.words, "--version"),
            cwd=process.folder,
            environment=process.launch.environ,
            timeout_secs=_VERSION_SECS,
            on_output=printed.extend,
            grace_secs=0,
        )
        await asked.wait()
    found = _VERSION.search(printed.decode("utf-8", "replace"))  # amid what a wrapper may print
    return found[0] if found else ""


def _read_usage(usage: JsonObject) -> Usage:
    read = read_count_field(usage, "cached_input_tokens") or 0
    written = read_count_field(usage, "cache_write_input_tokens") or 0
    return Usage(
        input=max(0, (read_count_field(usage, "input_tokens") or 0) - read - written),
        output=read_count_field(usage, "output_tokens") or 0,
        cache_read=read,
        cache_write=written,
        reasoning=read_count_field(usage, "reasoning_output_tokens") or 0,
    )


def make_strict(schema: JsonValue) -> JsonValue:
    """The schema as its API demands it: each object names all of its fields as required and allows no others. A
    field that may be left out may be null instead."""
    if isinstance(schema, list | tuple):
        return [make_strict(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    fields = schema.get("properties")
    if not isinstance(fields, Mapping):
        return {name: make_strict(value) if name == "items" else value for name, value in schema.items()}
    required = _list_required(schema)
    strict = {
        name: make_strict(field) if name in required else {"anyOf": [make_strict(field), {"type": "null"}]}
        for name, field in fields.items()
    }
    return {**schema, "properties": strict, "required": list(fields), "additionalProperties": False}


def drop_nulls(text: str, schema: JsonObject) -> str:
    """The answer without the nulls that stand for fields which were left out."""
    try:
        return _JSON.encode(_drop_nulls(parse_foreign_json(text), schema))
    except ValueError:  # whoever reads the answer says what is wrong with it
        return text


def _drop_nulls(value: JsonValue, schema: JsonValue) -> JsonValue:
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, list):
        return [_drop_nulls(each, schema.get("items")) for each in value]
    fields = schema.get("properties")
    if not isinstance(value, Mapping) or not isinstance(fields, Mapping):
        return value
    required = _list_required(schema)
    return {
        name: _drop_nulls(each, fields.get(name))
        for name, each in value.items()
        if each is not None or name in required
    }


def _list_required(schema: JsonObject) -> Sequence[JsonValue]:
    required = schema.get("required")
    return required if isinstance(required, list | tuple) else ()
