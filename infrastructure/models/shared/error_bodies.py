"""What the errors of providers mean, and what follows from them for later requests.

The body of an error tells its kind. Models that refused an effort, a forced call or a tool are remembered, and
are not sent it again.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import assert_never

from quorum.domain.conversation.effort import Effort
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.json_fields import read_count_field, read_object_field, read_text_field
from quorum.infrastructure.provider_types import ProviderType

_OPENAI = tuple(Effort)
_ANTHROPIC = tuple(effort for effort in Effort if effort is not Effort.MINIMAL)
_COPILOT = tuple(effort for effort in _ANTHROPIC if effort is not Effort.NONE)
_NAMES_OF_THE_FIELDS = ("effort", "adaptive", "outputconfig", "thinkingtype", "supportthinking")


def list_efforts(type: ProviderType) -> tuple[Effort, ...]:
    """The efforts that an API has names for, the least first; none where its models do not reason."""
    match type:
        case "anthropic":
            return _ANTHROPIC
        case "openai" | "openai-chat" | "codex":
            return _OPENAI
        case "copilot" | "claude-cli":
            return _COPILOT
        case "acp" | "offline":
            return ()
        case _:
            assert_never(type)


class RefusedEfforts:
    """The efforts that models of one provider refuse. Which they are is found out by asking."""

    def __init__(self) -> None:
        self._refused: set[tuple[str, Effort]] = set()

    def fit_request(self, request: ApiRequest) -> ApiRequest:
        """The request as its model takes it, as far as that is known."""
        is_refused = (request.model, request.effort) in self._refused
        return replace(request, effort=Effort.DEFAULT) if is_refused else request

    def learn(self, request: ApiRequest, error: ProviderError) -> str:
        """Why this request was refused for its effort, in a sentence; empty where that is not the reason."""
        if error.partial or error.retryable or request.effort is Effort.DEFAULT:
            return ""
        words = "".join(letter for letter in str(error).lower() if letter.isalnum())
        if not any(name in words for name in _NAMES_OF_THE_FIELDS):
            return ""
        self._refused.add((request.model, request.effort))
        return f"{request.model} is asked without the effort {request.effort.value}: {error}"


_REFUSALS = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.NOT_FOUND})


class FreeModels:
    """The models of one provider that may only be offered a tool, never made to call it.

    Many that think refuse to be forced, and some local servers do not know how. What they answer when they
    are free is as good where they call the tool all the same, and whoever asked sees whether they did.
    """

    def __init__(self) -> None:
        self._models: set[str] = set()

    def fit_request(self, request: ApiRequest) -> ApiRequest:
        """The request as its model takes it, as far as that is known."""
        is_free = request.model in self._models and _forces(request)
        return replace(request, tool_choice="auto") if is_free else request

    def learn(self, request: ApiRequest, error: ProviderError) -> bool:
        """Whether this request was refused because it forces a tool, so that it is worth sending freely."""
        if error.partial or error.kind not in _REFUSALS or not _forces(request):
            return False
        words = str(error).lower().replace("_", "").replace(" ", "")
        if "toolchoice" not in words:
            return False
        self._models.add(request.model)
        return True


def _forces(request: ApiRequest) -> bool:
    return not isinstance(request.tool_choice, str)


_REFUSED_TOOLS_REFUSALS = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.SERVER})
# Where in the body it is, as Anthropic, OpenAI, Google and servers that use pydantic word it. Google puts
# all functions into one tool.
_PLACE = (
    r"(?i)function_?declarations\[(?P<declared>\d+)\]|\btools\.(?P<counted>\d+)\.member\b"
    r"|(?:\btools(?:\.|/|\[(?!\d+\]\.function_?declarations)|['\"],\s*|\s*->\s*)|\btool #?(?=\d+ function\b))"
    r"(?P<place>\d+)"
)
# Where no place is told, but the name of a tool: what the refusal of a definition speaks of, and that of a call
# does not.
_OF_DEFINITION = r"(?i)schema|function_?declaration|function name|tool name|function\.(?:name|parameters)"
_OF_CALL = r"(?i)\bmessages?[.\[]|\btool_(?:use|calls?|result)|\bduplicate|\bunique\b"
# A refusal of these is one of what quorum adds to any tool.
_OF_ALL = r"(?i)cache_?control|\btools\.\d+(\.custom)?\.\w+: extra inputs"
# Where so many are refused, what is refused is not a matter of single tools.
_MOST = 16


class RefusedTools:
    """The tools that models of one provider refuse."""

    def __init__(self) -> None:
        self._refused: dict[str, set[str]] = {}

    def fit_request(self, request: ApiRequest) -> ApiRequest:
        """The request without the tools that its model refuses, as far as that is known."""
        if not (refused := self._refused.get(request.model)):
            return request
        return replace(request, tools=tuple(each for each in request.tools if _encode(each) not in refused))

    def learn(self, request: ApiRequest, error: ProviderError) -> str:
        """The name of the tool for which this request was refused; empty where it is not for one that it can go
        without. `request` is the one that was sent: the place of a tool that an error names is that in it."""
        if error.partial or error.kind not in _REFUSED_TOOLS_REFUSALS:
            return ""
        tool = _find_tool(request, str(error))
        refused = self._refused.setdefault(request.model, set())
        if tool is None or len(refused) >= _MOST:
            return ""
        name = str(tool.get("name"))
        if request.tool_choice == ("tool", name):
            return ""
        refused.add(_encode(tool))
        return name


# What refusals speak of that are about the schemas of tools and tell of none: Moonshot, llama.cpp, Ollama,
# xgrammar and others behind vLLM and SGLang, Cerebras, Fireworks, Mistral, Volcano, and Google, which gives no
# reason at times.
_OF_SCHEMAS = (
    r"(?is)\bjson[ _-]?schemas?\b|\A(?=.*\bschemas?\b).*\b(?:tool|func|param|propert|keyword|type|defin|refer"
    r"|field|in ?valid|un ?supported|un ?recogni|not supported|incomplete)"
    r"|\bgrammars?\b|xgrammar|llguidance|\bstructural[ _]tags?\b"
    r"|\b(?:guided|constrained)[ _](?:decoding|generation)\b"
    r"|\b(?:input_?schema|function_?declarations?|tool_?spec)\b|\binvalid function format\b"
    r"|\b(?:tools?|functions?)\W{1,5}(?:(?:\d+|custom|functions?)\W{1,5})*"
    r"(?:parameters?|schemas?|definitions?)\b"
    r"|\b(?:additional_?properties|any_?of|one_?of|all_?of|pattern_?properties|property_?names|unevaluated\w+"
    r"|prefix_?items|exclusive_?m(?:in|ax)imum|unique_?items|multiple_?of|dependent\w+"
    r"|m(?:in|ax)_?(?:items|length|properties|contains))\b"
    r"|\$(?:ref|defs|schema|id|anchor|dynamicref)\b|\bunimplemented keys?\b|\btoo many states\b"
    r"|\bnesting depth\b|\bpattern must start with\b"
    r"|\bgo struct field \S*(?:tool|function|parameters|propert)|\brequest contains an invalid argument\b"
    r"|(?:工具|函数|tools?|functions?).{0,12}(?:参数|定义|格式|schema)"
)
_OF_MESSAGES = (
    r"(?i)\bmessages?[.\[]|\btool[ _](?:use|calls?|results?|choice)\b|\bduplicate|\bunique\b"
    r"|\bunexpected tokens?\b"
)
# what else of a request has a schema, a format or parameters, and what is refused together with the tools
_OF_OTHER_PARTS = (
    r"(?i)\bresponse[_ ]?(?:format|(?:json_?)?schema)\b|\btext\.format\b|\boutput_?(?:config|format)\b"
    r"|\b(?:contents?|inputs?)\W?[\[.]\W?\d|\bimage_url\b"
    r"|\b(?:process|decode|read|invalid|input|unsupported)\W+(?:\w+\W+)?(?:images?|audio|videos?|pdfs?)\b"
    r"|\bparallel_tool|\bstream_options\b|\b(?:invalid|incorrect|missing|wrong)\W+(?:api|access)[ _-]?key\b"
    r"|\bcontext (?:length|window|size)\b|\bcontent(?: \w+)? policy\b|\burl sche(?:me|ma)\b"
    r"|\b(?:budget|quota|credits?)\b.{0,40}\b(?:exceeded|spent|exhausted|insufficient)\b"
    r"|--enable-auto-tool-choice|--tool-call-parser|\bfunction calling is not supported"
    r"|\btools?\W{1,3}(?:parameters?\W+)?(?:(?:is|are)\W+)?(?:not|un)\W?supported\b"
)
# an argument of a tool may have the name of such a part
_OF_ARGUMENT = r"\bproperties[./]\w+"
_STILL_REFUSED = (
    "{error}; so it does with the tools in their plainest form: turn off the MCP servers or the tools that "
    "they come from (/mcp, tools.disabled), or choose another model"
)


class PlainSchemas:
    """The models that are sent the schemas of tools in plain form, as they have refused others without saying
    which tool they are of."""

    def __init__(self) -> None:
        self._models: set[str] = set()

    def fit_request(self, request: ApiRequest) -> ApiRequest:
        """The request as its model takes it, as far as that is known."""
        return _make_plain(request) if request.model in self._models else request

    def take_over(self, model: str, *, is_known: bool) -> None:
        """Send this model plain ones where it is known that it refused others, in another process as well."""
        if is_known:
            self._models.add(model)

    def learn(self, request: ApiRequest, error: ProviderError) -> bool:
        """Whether this request was refused for schemas, of no single tool, and can be sent with plain ones."""
        if not _speaks_of_schemas(request, error) or _is_plain(request):
            return False
        self._models.add(request.model)
        return True

    def give_up(self, request: ApiRequest, error: ProviderError) -> ProviderError | None:
        """The error to end with where plain schemas were refused as well; others are tried again later."""
        if (
            request.model not in self._models
            or not _speaks_of_schemas(request, error)
            or not _is_plain(request)
        ):
            return None
        self._models.discard(request.model)
        text = _STILL_REFUSED.format(error=error)
        return ProviderError(text, kind=error.kind, status=error.status, request_id=error.request_id)


def _speaks_of_schemas(request: ApiRequest, error: ProviderError) -> bool:
    if error.partial or error.kind not in _REFUSED_TOOLS_REFUSALS or not request.tools:
        return False
    text = str(error)
    parts = compile_once(_OF_ARGUMENT).sub("", text)
    if compile_once(_OF_OTHER_PARTS).search(parts) or any(
        compile_once(each).search(text) for each in (_OF_MESSAGES, _OF_ALL)
    ):
        return False
    places = set(_list_places(text))
    if len(places) > 1:
        return True  # what so many have is no matter of single tools
    return (
        not places and _find_tool(request, text) is None and compile_once(_OF_SCHEMAS).search(text) is not None
    )


def _is_plain(request: ApiRequest) -> bool:
    return _make_plain(request).tools == request.tools


def _make_plain(request: ApiRequest) -> ApiRequest:
    from quorum.infrastructure.models.shared.plain_schemas import make_tools_plain  # few models need it

    return make_tools_plain(request)


def _list_places(text: str) -> Iterator[int]:
    for found in compile_once(_PLACE).finditer(text):
        yield int(counted) - 1 if (counted := found["counted"]) else int(found["declared"] or found["place"])


def _find_tool(request: ApiRequest, text: str) -> JsonObject | None:
    if compile_once(_OF_ALL).search(text):
        return None
    if (place := next(_list_places(text), None)) is not None:
        return request.tools[place] if 0 <= place < len(request.tools) else None
    if compile_once(_OF_DEFINITION).search(text) is None or compile_once(_OF_CALL).search(text):
        return None
    named = [each for each in request.tools if _is_named(str(each.get("name", "")), text)]
    return named[0] if len(named) == 1 else None


def _is_named(name: str, text: str) -> bool:
    """Whether the text names this tool: one word, which may be meant as such, does in quotes alone."""
    marks = ("", "") if "_" in name else ("['\"`]", "['\"`]")
    return (
        bool(name)
        and re.search(rf"(?<![\w.-]){marks[0]}{re.escape(name)}{marks[1]}(?![\w-])", text) is not None
    )


def _encode(tool: JsonObject) -> str:
    return json.dumps(tool, sort_keys=True)


_LONGEST_DETAIL = 300
_LONGEST_SEARCHED = 4_000
_STATUS_OF_TYPE: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    # codes, where an error has no better type; the request is at fault and stays so
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    "invalid_prompt": 400,
    "content_filter": 400,
    "invalid_api_key": 401,
    "model_not_found": 404,
    "insufficient_quota": 429,
    "too_many_requests": 429,
    "engine_overloaded_error": 529,
    # as servers in Python name them, after the classes of OpenAI's SDK
    "BadRequestError": 400,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "UnprocessableEntityError": 422,
    "RateLimitError": 429,
    "InternalServerError": 500,
    "ServiceUnavailableError": 503,
    # what Amazon reports inside a stream
    "validationException": 400,
    "throttlingException": 429,
    "internalServerException": 500,
    "modelStreamErrorException": 500,
    "serviceUnavailableException": 503,
    "modelTimeoutException": 504,
}
# Amazon says 403 to whom it does not know and to who may not, which have different remedies
_UNKNOWN_TO_AMAZON = frozenset(
    {
        "ExpiredTokenException",
        "IncompleteSignatureException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    }
)
_STATUS_OF_MINIMAX: Mapping[int, int] = {
    1002: 429,
    1004: 401,
    1008: 402,
    1026: 400,  # the prompt is not proper
    1027: 400,  # the answer is not
    1039: 429,
    2013: 400,
    2049: 401,
}
_TOO_LONG_CODES = frozenset(
    {
        "context_length_exceeded",  # OpenAI, Azure and many after them
        "exceed_context_size_error",  # llama.cpp
        "request_too_large",  # Anthropic, where the whole request is
        "model_max_prompt_tokens_exceeded",  # GitHub Copilot
    }
)
# one request alone is more than a minute's allowance, which waiting does not mend: OpenAI and Groq
_LARGER_THAN_RATE = r"(?is)request too large.{0,300}?limit (?P<limit>\d+), requested (?P<asked>\d+)"
# How it is said where there is no such code, by Anthropic (in two ways), Bedrock, OpenAI (in two), vLLM, xAI,
# llama.cpp, LM Studio, Google, Groq, Moonshot, MiniMax, Ollama and GitHub Copilot.
_TOO_LONG = (
    r"(?i)prompt is too long|exceed context limit|input is too long|maximum context length"
    r"|exceeds the context window|context[ _]length[ _]exceeded|maximum prompt length"
    r"|exceeds? .{0,30}context (size|length)"
    r"|greater than the context length|input token count.{0,40}exceeds|reduce the length of the messages"
    r"|max_(?:completion_)?tokens must be at least 1, got -\d"  # vLLM, for what the prompt leaves
    r"|expected maxLength: \d{5,}, actual: \d"  # Bedrock, in characters
    r"|exceeded model token limit|context window exceeds|exceeded max context|prompt token count.{0,40}exceeds"
)
# The same in words that a limit of the answer or of a field could use as well: vLLM, SGLang, llama.cpp and its
# binding for Python, LM Studio, LiteLLM and Cloudflare.
_TOO_LONG_OR_ELSE = (
    r"(?i)\bexceed(?:s|ed|ing)?\b.{0,40}\bcontext[ _]?(?:size|length|window|limit)"
    r"|context[ _]?(?:size|length|window|limit)(?:\b.{0,20}\b)?exceeded"
    r"|\b(?:longer|larger|greater|more) than\b.{0,30}\bcontext[ _]?(?:size|length|window|limit)"
    r"|\btoo (?:long|large|big) (?:to fit|for)\b.{0,40}\b(?:model|context)\b"
    r"|\breduce the length of the (?:input|prompt)\b|\bkeep the first \d{1,9} tokens\b"
)
# Words of a request's length in no known wording, and of what else has tokens, a context or a length.
_OF_LENGTH = (
    r"(?is)(?<![a-z])(?:tokens|[ck]ontext[eo]?|length|token[ _-]?(?:count|limit|budget))(?![a-z])"
    r"|\bmax_(?:seq|model)_len\b"
    r"|\btoo (?:long|large|big)\b|\bn_ctx\b|\bkv[ _-]cache\b|\bmax(?:imum)? (?:input|prompt|message|sequence)"
    r"|\b(?:input|prompt|request|conversation|history|messages)\b.{0,60}\bexceed"
    r"|context_?(?:window|length|size|limit)|(?:输入|提示|请求|消息).{0,8}长度"
    r"|上下文|超长|过长|token ?数|コンテキスト長|長すぎ|トークン数"
)
# The most that may be answered, which is what a refusal speaks of where it is the subject: a request may also
# have more tokens than "the maximum tokens" of its model.
_OF_ANSWER = (
    r"(?i)\bmax_(?:completion_|output_|new_)?tokens\b|\bbudget_tokens\b|\bnum_predict\b|\bmax_gen_len\b"
    r"|\bmax(?:imum)?[ -]?tokens? (?:(?:that )?you |(?:value|parameter|setting|to)\b|must |should |can ?not "
    r"|may |exceeds? |is |are |too |above |over |(?:are |is )?requested )"
    r"|\b(?:output|completion|response|answer|reply|generation|thinking|reasoning)[ _-]"
    r"(?:tokens?|length|limit|budget)\b"
    r"|\bgenerat(?:es?|ed|ing)\b|\bcompletion of \d"
    r"|\bmaximum (?:output|answer|response)\b|\bper (?:answer|response|reply)\b"
    r"|输出.{0,4}长度|最大输出"
)
# Amazon's frame around every refusal of a field speaks of an input, too.
_OF_REQUEST = (
    r"(?i)(?<!malformed )(?<!reformat your )"
    r"\b(?:inputs?|prompts?|context|messages|conversation|history|request (?:has|holds|contains|with|is|was))\b"
    r"|输入|上下文"
)
_OF_ELSE = (
    r"(?i)\bper[ -](?:second|minute|hour|day|month)\b|\brate.?limit|\b[rt]pm\b|\bquota\b"
    r"|\bcredits?\b|\bbalance\b|\bbilling\b"
    r"|\bstring.{0,20}too long|\bmaximum length \d{1,4}\b|\bat most \d{1,4} (?:characters|items)"
    r"|\blength (?:is|of) \d{1,3}\b|\(max(?:imum)? \d{1,3}\)|\bcontext (?:deadline|(?:was )?cancel)"
    r"|\btools[.\[]|\bimages?\b(?! and text)|\btool[_ ]call|\bcontent-length\b"
    r"|\binputs? (?:are not permitted|should be)\b|\bunexpected tokens?\b|\bschema is too\b"
    r"|\bfail(?:ed|ure)? to parse (?:input at|tool)\b|\barguments too long\b|'[\w.]{1,40}' length\b"
)
# Refusals that are about who asks, about what for, or about how often, whatever else their words mention.
_NOT_OF_LENGTH = frozenset({401, 402, 403, 404, 408, 429, 503, 504, 529})
_LOADING = (
    r"(?i)\bloading (?:the )?model\b|\bmodel\b[^.]{0,80}\b(?:is|being) (?:still |currently )?load(?:ing|ed)\b"
    r"|\bmodel\b[^.]{0,80}\bnot (?:yet )?(?:ready|loaded)\b|\bmodel\b[^.]{0,80}\bwarming up\b"
)
_OF_KEY = (
    r"(?i)\b(?:invalid|incorrect|wrong|expired|missing|no) api[ _-]?key\b"
    r"|\bapi[ _-]?key (?:is |has )?(?:not valid|invalid|incorrect|expired|missing|not found)\b"
)
_OF_PAYMENT = (
    r"(?i)\binsufficient (?:account )?(?:balance|credits?|funds|quota)\b|\bno (?:remaining |more )?credits\b"
    r"|\bcheck your (?:plan|billing)\b|\bbilling details\b|\brecharge\b"
    r"|\baccount (?:is|was|has been) suspended\b|余额不足|欠费|请充值"
)
PASSING = frozenset({425, 429, 500, 502, 503, 504})
"""The statuses with which a server may say that it loads the model."""

# what was sent is at fault: OpenAI has a dozen such codes for images
_OF_INPUT = r"(?:invalid|unsupported|empty)_|(?:\w+_)?image(?:_|\Z)"

_FINAL_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})


def fit_to_line(text: str, secret: str | None = None) -> str:
    """Foreign text made fit for a sentence: one line, shortened, control characters written out, no secret."""
    flat = " ".join((text.replace(secret, "…") if secret else text).split())
    short = flat if len(flat) <= _LONGEST_DETAIL else flat[: _LONGEST_DETAIL - 1] + "…"
    return "".join(_escape_control(char) for char in short)


def _escape_control(char: str) -> str:
    return f"\\u{ord(char):04x}" if unicodedata.category(char)[0] == "C" else char


def is_final(error: JsonObject) -> bool:
    """Whether waiting cannot help: the account is empty, not the minute's allowance."""
    return read_text_field(error, "code") in _FINAL_CODES or read_text_field(error, "type") in _FINAL_CODES


def is_too_long(error: JsonObject, status: int | None, text: str = "") -> bool:
    """Whether a request was refused because it is longer than the model, or the server, takes.

    `text` is the body of the answer where that holds no error that can be taken apart.
    """
    if {read_text_field(error, "code"), read_text_field(error, "type")} & _TOO_LONG_CODES:
        return True
    words = (
        read_text_field(error, "message"),
        read_text_field(error, "detail"),
        read_upstream(error),
        "" if error else text,
    )
    return speaks_of_length(status, " ".join(words))


def speaks_of_length(status: int | None, text: str) -> bool:
    """Whether the words of a refusal are about the length of the request."""
    text = text[:_LONGEST_SEARCHED]
    if (told := compile_once(_LARGER_THAN_RATE).search(text)) is not None:
        return int(told["asked"]) > int(told["limit"])
    if status in _NOT_OF_LENGTH:
        return False
    return compile_once(_TOO_LONG).search(text) is not None or (
        compile_once(_TOO_LONG_OR_ELSE).search(text) is not None and _is_of_request(text)
    )


def speaks_of_loading(error: JsonObject, status: int | None, text: str) -> bool:
    """Whether the server says that it loads the model, so that it can be asked again later."""
    if status not in PASSING:
        return False
    words = (read_text_field(error, "message"), read_text_field(error, "detail"), "" if error else text)
    return compile_once(_LOADING).search(" ".join(words)[:_LONGEST_SEARCHED]) is not None


def speaks_of_key(error: JsonObject, status: int | None, text: str) -> bool:
    """Whether a refusal that has no status of its own for it is about the key."""
    return status in (400, 403) and compile_once(_OF_KEY).search(_read_words(error, text)) is not None


def speaks_of_payment(error: JsonObject, text: str) -> bool:
    """Whether it takes a payment, and no wait, to be served."""
    return compile_once(_OF_PAYMENT).search(_read_words(error, text)) is not None


def _read_words(error: JsonObject, text: str) -> str:
    told = (read_text_field(error, key) for key in ("message", "detail", "type"))
    return " ".join((*told, "" if error else text))[:_LONGEST_SEARCHED]


def may_speak_of_length(error: JsonObject, status: int | None, text: str) -> bool:
    """Whether the words of a refusal could be about the length of the request, in no wording that is known.

    Limits of the answer, of requests or tokens per time, and of single fields are not.
    """
    told = [read_text_field(error, key) for key in ("message", "detail", "details", "code", "type")]
    words = " ".join([*told, read_upstream(error), "" if error else text])[:_LONGEST_SEARCHED]
    if status in _NOT_OF_LENGTH or compile_once(_OF_LENGTH).search(words) is None:
        return False
    return _is_of_request(words)


def _is_of_request(words: str) -> bool:
    """Whether words of a length are not those of a limit of the answer, of a rate or of a single field."""
    if compile_once(_OF_ELSE).search(words):
        return False
    return not compile_once(_OF_ANSWER).search(words) or compile_once(_OF_REQUEST).search(words) is not None


def find_status(error: JsonObject) -> int | None:
    """The HTTP status that an error inside a stream stands for, or None."""
    for key in ("status_code", "code", "status"):
        number = read_count_field(error, key)
        if number is None and re.fullmatch(r"[45]\d\d", told := read_text_field(error, key)):
            number = int(told)  # LiteLLM and Azure
        if number is not None and 400 <= number <= 599:
            return number
    code = read_text_field(error, "code")
    known = _STATUS_OF_TYPE.get(read_text_field(error, "type"), _STATUS_OF_TYPE.get(code))
    return 400 if known is None and compile_once(_OF_INPUT).match(code) else known


def is_stranger_to_amazon(error_type: str) -> bool:
    """Whether Amazon's header `x-amzn-errortype` says that it does not know who asks."""
    return error_type.partition(":")[0] in _UNKNOWN_TO_AMAZON


def speaks_of_model(error: JsonObject, text: str) -> bool:
    """Whether what was not found is the model, and not the address, as far as the answer tells."""
    code = read_text_field(error, "code").lower()
    words = (read_text_field(error, "message") or read_text_field(error, "detail") or text).lower()
    return any(word in where for word in ("model", "deployment") for where in (code, words))


def find_error(body: bytes) -> JsonObject:
    """The part of a JSON body that describes an error; empty where there is none."""
    try:
        value: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, Mapping):
        return {}
    inner = value.get("error") or find_minimax_error(value) or None
    if isinstance(inner, Mapping):
        further = inner.get("error")
        return further if isinstance(further, Mapping) and not read_text_field(inner, "message") else inner
    if isinstance(inner, str):
        return {"message": inner}
    if said := read_text_field(value, "Message"):  # Amazon's gateway, in front of Bedrock
        return {"message": said}
    return value if read_text_field(value, "message") or read_text_field(value, "detail") else {}


def read_upstream(error: JsonObject) -> str:
    """What a gateway passes on of the error of the provider behind it."""
    raw = read_object_field(error, "metadata").get("raw")
    text = raw if isinstance(raw, str) else json.dumps(raw) if raw else ""
    said = find_error(text.encode())
    return read_text_field(said, "message") or read_text_field(said, "detail") or text


def find_minimax_error(answer: JsonObject) -> JsonObject:
    """The error that MiniMax reports beside an empty answer, with success as the HTTP status; or nothing."""
    said = read_object_field(answer, "base_resp")
    code = read_count_field(said, "status_code")
    if not code:
        return {}
    message = f"{read_text_field(said, 'status_msg') or 'it gave no reason'} ({code})"
    return {"message": message, "status": _STATUS_OF_MINIMAX.get(code, 500)}


def read_plain_text(body: bytes) -> str:
    """A body that describes no error in a known way, as far as it is fit to be shown; empty where it says
    nothing, as `{}` does."""
    text = body[:4000].decode("utf-8", "replace").strip()
    return (
        "an HTML page"
        if text.startswith("<")
        else text
        if re.search(r"[^\W_]", compile_once(_HOLLOW).sub("", text))
        else ""
    )


_HOLLOW = r'"(?:[^"\\\s]|\\.)*"\s*:|\bnull\b'
