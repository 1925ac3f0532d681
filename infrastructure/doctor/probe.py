"""Cheap requests to each provider, all at the same time: does it answer, how fast, and does it call tools.

To see what a model and its server do with tools, one is offered, then one call is forced.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from msgspec import Struct

from quorum.application.conversation_session import ConversationSession
from quorum.domain.calls.tool import ToolParser
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import LlmResponse, Usage
from quorum.domain.errors import ConfigError, ProviderError, ProviderErrorKind
from quorum.domain.replacing import replace
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.json_text import count_json_bytes
from quorum.domain.text.json_value import JsonObject
from quorum.domain.textual_calls.forms import list_argument_schemas
from quorum.domain.textual_calls.leaked_call import find_leaked_call
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.model_choice import StoredKey, find_no_stored_key
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.doctor.finding import Finding, FindingState, fail, report_ok, warn
from quorum.infrastructure.managed_policy import open_registry
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.provider_types import get_traits

_NAME = "read_file"
_PROMPT = f"Call the tool {_NAME} with the path README.md. Say nothing else."
_TOOL: JsonObject = {
    "name": _NAME,
    # long enough that a server which leaves it out counts plainly fewer tokens
    "description": (
        "Read a text file of the project and return its lines with their numbers. A path is relative to the "
        "working directory. A long file is returned in part; ask for the rest with offset and limit. The file "
        "is not changed by this, and nothing is returned for one that does not exist but an error that says so."
    ),
    "input_schema": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The path of the file, for example src/app.py."},
            "offset": {"type": "integer", "description": "The number of the first line to return, from 1."},
            "limit": {"type": "integer", "description": "How many lines to return at most."},
        },
        "required": ["path"],
    },
}
_TOOL_TOKENS = count_json_bytes(_TOOL) // 4
_DROPPED = 0.3  # below this part of the tokens that the tool should take, it was not in the prompt


class ToolUse(Struct, frozen=True):
    """What came of offering a tool. `counted` and `expected` are tokens of the prompt; 0 where not known."""

    made_call: bool
    parser: ToolParser | None
    counted: int
    expected: int
    fills_forms: bool
    window: int | None

    @property
    def was_dropped(self) -> bool:
        """Whether the server left the tool out of what the model read."""
        without = self.expected - _TOOL_TOKENS
        return self.expected > 0 and 0 < self.counted < without + _DROPPED * _TOOL_TOKENS


async def probe_tools(model: str, gateway: ProviderRegistry, words: int) -> ToolUse:
    """Offer a tool, then force a call of it. `words` are the tokens of a short prompt without tools.

    Raises ProviderError where tools are refused.
    """
    response = await gateway.open_session(model, Conversation(), "").send_with_tools(
        _PROMPT, (_TOOL,), on_event=lambda _event: None
    )
    leaked = find_leaked_call(response.text_content(), list_argument_schemas((_TOOL,)))
    return ToolUse(
        made_call=response.has_tool_calls(),
        parser=leaked.parser if leaked is not None else None,
        counted=_count_prompt(response),
        expected=words + _TOOL_TOKENS if words else 0,
        fills_forms=await _fills_forms(model, gateway),
        window=await gateway.find_window(model, is_known=False),
    )


async def _fills_forms(model: str, gateway: ProviderRegistry) -> bool:
    session = gateway.open_session(model, Conversation(), "")
    try:
        response = await session.send_with_tools(
            _PROMPT, (_TOOL,), tool_choice=("tool", _NAME), on_event=lambda _event: None
        )
    except ProviderError:
        return False
    return response.has_tool_calls()


def _count_prompt(response: LlmResponse) -> int:
    return response.usage.context - response.usage.output


def report_tools(about: str, provider: str, chosen: ToolParser, use: ToolUse) -> Finding:
    """What there is to say of it. `chosen` is the parser in the settings."""
    window = f"; window {format_amount(use.window, 'token')}" if use.window is not None else ""
    forms = "" if use.fills_forms else "; answers in fields, as of reviewers, could not be had"
    if use.made_call:
        return report_ok("tools", f"{about}: calls tools{forms}{window}")
    if use.parser and use.parser == chosen:
        return report_ok(
            "tools", f'{about}: writes calls as text, which tool_parser = "{chosen}" reads{forms}{window}'
        )
    if use.parser is not None:
        remedy = (
            f'set [providers.{provider}] tool_parser = "{use.parser}", or have the server read them'
            if use.parser
            else "have the server read them, or choose another model (docs/local-models.md)"
        )
        return warn("tools", f"{about}: writes calls as text, and none of them runs{forms}{window}", remedy)
    if use.was_dropped:
        counts = f"it counted {use.counted} of some {use.expected} tokens"
        text = f"{about}: the server drops tools: {counts}{forms}{window}"
        return warn("tools", text, "start it with a chat template that has tools, or choose another model")
    return warn(
        "tools",
        f"{about}: called no tool when asked to{forms}{window}",
        "a larger model may do better (docs/local-models.md)",
    )


LIMIT_SECS = 30.0
_PROBE_PROMPT = "Reply with: ok"
_MOST_TOKENS = 256  # models that reason spend some hundred before their first word
_SECRET_NAME = re.compile(r"(KEY|KEY_ID|TOKEN|SECRET|PASSWORD|CREDENTIALS)\Z", re.IGNORECASE)
_SHORTEST_SECRET = 6  # of what only looks like one


class Question(Struct, frozen=True):
    """Whom to ask. A model is asked for a word; a provider without one, for the list of its models."""

    provider: str
    model: str | None = None
    roles: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """Who is asked, as a sentence begins."""
        return f"{self.model} ({', '.join(self.roles)})" if self.model else self.provider


def plan_questions(models: Mapping[str, tuple[str, ...]], ready: Sequence[str]) -> tuple[Question, ...]:
    """What to ask of the ready providers: every model that has roles once, then the providers without one."""
    asked = [
        Question(model.partition("/")[0], model, roles)
        for model, roles in models.items()
        if model.partition("/")[0] in ready
    ]
    used = {question.provider for question in asked}
    return (*asked, *(Question(provider) for provider in ready if provider not in used))


async def probe(
    asked: Sequence[Question],
    loaded: LoadedSettings,
    environ: Mapping[str, str],
    *,
    limit_secs: float = LIMIT_SECS,
    stored_key: StoredKey = find_no_stored_key,
) -> list[Finding]:
    """Ask all at the same time, each once and for at most `limit_secs`. No finding tells a key."""
    tables = loaded.settings.providers
    gateway = open_registry(
        loaded, environ, stored_key, adjust=lambda settings: _limit_settings(settings, limit_secs)
    )
    hide = _build_hide(tables, environ, [_read_stored_key(one.provider, stored_key) for one in asked])
    try:
        findings = await asyncio.gather(
            *(_ask(one, tables[one.provider], gateway, limit_secs) for one in asked)
        )
    finally:
        await gateway.aclose()
    return [replace(finding, text=hide(finding.text)) for group in findings for finding in group]


def _limit_settings(settings: ProviderSettings, limit_secs: float) -> ProviderSettings:
    return replace(
        settings,
        max_retries=0,
        max_output_tokens=min(settings.max_output_tokens or _MOST_TOKENS, _MOST_TOKENS),
        timeout_secs=min(settings.timeout_secs, limit_secs),
        tool_parser="",  # what the server does by itself is asked
    )


async def _ask(
    question: Question, table: ProviderTable, gateway: ProviderRegistry, limit_secs: float
) -> list[Finding]:
    # what is loaded first is not the provider's time
    await asyncio.to_thread(gateway.warm_up, question.model or f"{question.provider}/any")
    try:
        async with asyncio.timeout(limit_secs):
            if question.model is None:
                return [report_ok("request", f"{question.about}: {await _ask_for_listing(question, gateway)}")]
            answered, usage = await _ask_for_word(question, question.model, gateway)
        if table.type != "openai-chat" or answered.state is not FindingState.OK:
            return [answered]
        return [answered, await _ask_about_tools(question, question.model, table, gateway, usage, limit_secs)]
    except TimeoutError:
        error = ProviderError(f"no answer within {limit_secs:g} s", kind=ProviderErrorKind.TIMEOUT)
    except ProviderError as failure:
        error = failure
    tell = fail if question.roles else warn
    is_named = question.model is None and str(error).startswith(question.provider)
    text = str(error) if is_named else f"{question.about}: {error}"
    return [tell("request", text, _describe_remedy(question, error.kind, table))]


async def _ask_for_word(question: Question, model: str, gateway: ProviderRegistry) -> tuple[Finding, Usage]:
    started = time.monotonic()
    # An answer that breaks off is what is looked for, so none is continued.
    response = await ConversationSession(gateway.open_exchange(model), Conversation()).send(_PROBE_PROMPT)
    took = f"in {format_duration(time.monotonic() - started)}, {_format_tokens(response.usage)}"
    if response.lack is None:
        return report_ok("request", f"{question.about}: answered {took}"), response.usage
    text = f"{question.about}: answered nothing {took}: {response.lack}"
    return warn("request", text, "see whether the server has the model's own chat template"), response.usage


async def _ask_about_tools(
    question: Question,
    model: str,
    table: ProviderTable,
    gateway: ProviderRegistry,
    usage: Usage,
    limit_secs: float,
) -> Finding:
    try:
        async with asyncio.timeout(limit_secs):
            use = await probe_tools(model, gateway, usage.context - usage.output)
    except TimeoutError:
        return warn("tools", f"{question.about}: no answer to a request with a tool within {limit_secs:g} s")
    except ProviderError as error:
        return warn(
            "tools",
            f"{question.about}: refuses a request with a tool: {error}",
            "start the server with a chat template that has tools, or choose another model",
        )
    return report_tools(question.about, question.provider, table.tool_parser, use)


async def _ask_for_listing(question: Question, gateway: ProviderRegistry) -> str:
    started = time.monotonic()
    models = await gateway.list_models(question.provider)
    count = format_amount(len(models), "model")
    return f"listed {count} in {format_duration(time.monotonic() - started)}; no role uses it"


def _format_tokens(usage: Usage) -> str:
    if not usage.context:
        return "and did not say how many tokens that took"
    return f"with {usage.context - usage.output} tokens in and {usage.output} out"


def _describe_remedy(question: Question, kind: ProviderErrorKind, settings: ProviderTable) -> str:
    table = f"[providers.{question.provider}]"
    match kind:
        case ProviderErrorKind.CONFIGURATION:
            return f"correct {table}, or what it takes from the environment"
        case ProviderErrorKind.CONNECTION:
            return f"start the server, correct base_url of {table}, or see to the network"
        case ProviderErrorKind.TIMEOUT:
            return f"try again; if it stays so, see to the server, or raise timeout_secs of {table}"
        case ProviderErrorKind.AUTHENTICATION:
            return _explain_credentials(table, settings)
        case ProviderErrorKind.PERMISSION:
            return "see to it that the account may use the model and has credit"
        case ProviderErrorKind.NOT_FOUND if question.model:
            roles = " and ".join(f"models.{role}" for role in question.roles)
            return f"correct {roles}, or base_url of {table}"
        case ProviderErrorKind.NOT_FOUND:
            return f"to ask one of its models: quorum doctor --probe -m {question.provider}/NAME"
        case ProviderErrorKind.BAD_REQUEST | ProviderErrorKind.DAMAGED_STREAM:
            return f"see whether type and base_url of {table} fit the server (docs/providers.md)"
        case ProviderErrorKind.TOO_LONG:
            return "see how long a request the server takes: a single word was too long for it"
        case ProviderErrorKind.RATE_LIMIT | ProviderErrorKind.OVERLOADED | ProviderErrorKind.SERVER:
            return "try again later"
        case never:
            assert_never(never)


def _explain_credentials(table: str, settings: ProviderTable) -> str:
    if (program := get_traits(settings.type).program) is not None:
        return f"sign in with {program.sign_in}"
    if settings.client in ("bedrock", "vertex"):
        return "see to the credentials that the cloud's own tools use"
    return f"put a valid key into the variable that api_key_env of {table} names"


def _read_stored_key(provider: str, stored_key: StoredKey) -> str:
    try:
        return stored_key(provider) or ""
    except ConfigError:  # asking will say so
        return ""


def _build_hide(
    tables: Mapping[str, ProviderTable], environ: Mapping[str, str], stored: Sequence[str]
) -> Callable[[str], str]:
    """Replaces every key and every header's value that can be known of, whoever repeats it."""
    keys = {environ.get(table.api_key_env, "").strip() for table in tables.values() if table.api_key_env}
    likely = {value for table in tables.values() for value in table.headers.values()}
    likely |= {value.strip() for name, value in environ.items() if _SECRET_NAME.search(name)}
    secrets = keys | set(stored) | {value for value in likely if len(value) >= _SHORTEST_SECRET}
    longest_first = sorted(secrets - {""}, key=len, reverse=True)

    def hide(text: str) -> str:
        for secret in longest_first:
            text = text.replace(secret, "…")
        return text

    return hide
