"""How the families of models whose textual calls can be read write them."""

from __future__ import annotations

import re

from msgspec import Struct

from quorum.domain.calls.tool import ToolParser
from quorum.domain.textual_calls.forms import (
    KEY,
    BareObjectForm,
    Form,
    JsonForm,
    MentioningForm,
    NamedForm,
    NestedForm,
    PythonForm,
    TaggedForm,
)


class PlainBlock(Struct, frozen=True):
    """A stretch of an answer in which nothing is a call: thinking, or text that an answer says is text.

    Where it may begin in the prompt, its end alone tells that all before it belongs to it. `keeps_marks`: what
    it begins and ends with is text, too. `begins_line`: nothing may stand before it in its line.
    """

    opening: re.Pattern[str]
    closing: re.Pattern[str]
    is_thought: bool = True
    begins_in_prompt: bool = True
    keeps_marks: bool = False
    begins_line: bool = False


class Family(Struct, frozen=True):
    """How a family writes: its forms, its blocks, and `starts`, the texts that an opening can begin with.

    `results`: what begins the result of a tool in its template, or the turn that brings one. `is_framed`:
    a frame around a call is all that tells it, and words may follow.
    """

    forms: tuple[Form, ...]
    starts: tuple[str, ...] = ()
    blocks: tuple[PlainBlock, ...] = ()
    results: tuple[str, ...] = ()
    is_framed: bool = False


_OBJECT = r"\s*+(?=\[?\s*+\{)"
_NAME = r"(?P<name>[^\s<>\[\]{}()\"'`|｜=,:]{1,100})"
_PLAIN_NAME = r"(?P<name>[\w.:/-]{1,100})"
_BARE_JSON = r"(?=\[?\s*+\{)"
# the whole name of a tag that holds a call: in a longer one, such as <example_call>, other words may deny it
_CALL_WORD = r"(?i:(?:tool|function)s?[ _.:-]?calls?|tools?[ _.:-]?uses?|tools?|functions?|calls?)"
_CALL_TAG = rf"(?P<tag>{_CALL_WORD})>"

# the equals sign before a name, as models also write it: with a space, a quote or the word "name"
_IS = r"(?:\s*+|\s++name\s*+)=\s*+\"?"

_TOOL_CALL_TAGS = JsonForm(
    re.compile(rf"<(?:longcat_)?tool_call>\s*+(?:```(?:json)?)?{_OBJECT}"),
    re.compile(r"\s*+(?:```\s*+)?</(?:longcat_)?tool_call>"),
)
_FUNCTION_TAGS = TaggedForm(
    re.compile(rf"(?:<(?:\w+:)?tool_call>\s*+){{0,2}}<function{_IS}{_NAME}\"?\s*+>(?!\s*+\{{)"),
    parameter=rf"<parameter{_IS}{KEY}\"?\s*+>",
    parameter_end="</parameter>",
    closing=r"</function>(?:\s*+</(?:\w+:)?tool_call>)?|</(?:\w+:)?tool_call>",
    newlines=True,
)
_FUNCTION_JSON = NamedForm(
    re.compile(rf"(?:<tool_call>\s*+)?<function={_NAME}>\s*+(?=\{{)"),
    re.compile(r"\s*+</function>(?:\s*+</tool_call>)?"),
)
_INVOKE = TaggedForm(
    re.compile(rf"(?:<(?:minimax:tool_call|function_calls)>\s*+)?<invoke name=[\"']?{_NAME}[\"']?\s*+/?>"),
    parameter=rf"<parameter name=[\"']?{KEY}[\"']?>",
    parameter_end="</parameter>",
    closing=r"</invoke>(?:\s*+</(?:minimax:tool_call|function_calls)>)?",
)

# The tags of GLM, as LongCat and Hunyuan also write them: with a first word, or a number of the checkpoint
_LONGCAT, _MARKED = "(?:longcat_)?", r"(?::\w{1,20})?"
_GLM_CALL = f"{_LONGCAT}tool_call{_MARKED}"

# The tokens of DeepSeek, as servers also write them: with another bar, and an underscore or a space between.
_BAR, _GAP = "[｜|]", r"[▁_\s]"


def _token(*words: str) -> str:
    return f"<{_BAR}{_GAP.join(words)}{_BAR}>"


_DSML = rf"{_BAR}DSML{_BAR}\s?"
_DSML_SECTION = rf"<{_DSML}(?:function_calls|tool_calls|calls)>\s*+"
_DSML_END = rf"(?:\s*+</{_DSML}(?:function_calls|tool_calls|calls)>)?"

# what stands before each tag of MiniMax M3
_M3 = r"\]<\]minimax\[>\[\s?"

_START = r"(?:<\|start\|>\w*)?"
_MESSAGE = r"(?:(?!\bto=)[^<>\n]){0,40}(?:<\|constrain\|>[^<>\n]{0,20})?<\|message\|>"
_TO = rf"\s?\bto=(?:functions\.)?{_PLAIN_NAME}[^<>\n]{{0,20}}"
_CALL_END = re.compile(r"\s*+<\|(?:call|end|return)\|>")
_CHANNEL_END = re.compile(r"<\|(?:end|return|call)\|>|(?=<\|start\|>)")

# what begins a result in texts of any family: models mix what they have seen
RESULTS = (
    *(
        f"<{what}_{word}>"
        for what in ("tool", "function")
        for word in ("response", "result", "results", "output")
    ),
    *("<tool_outputs>", "<|im_start|>", "<|tool_response|>", "Observation:", "**Observation:**"),
)

_FAMILIES: dict[ToolParser, Family] = {
    "hermes": Family((_TOOL_CALL_TAGS,), ("<tool_call>", "<longcat_tool_call>")),
    "qwen-coder": Family(
        (_FUNCTION_TAGS, _FUNCTION_JSON, _TOOL_CALL_TAGS),
        ("<tool_call>", "<function", "<seed:tool_call>"),
        results=("<seed:bos>tool",),
    ),
    "llama": Family(
        (
            JsonForm(
                re.compile(rf"<\|python_(?:tag|start)\|>{_OBJECT}"),
                re.compile(r"\s*+<\|(?:e\w+_id|python_end)\|>"),
            ),
            PythonForm(
                re.compile(r"<\|python_(?:tag|start)\|>\s*+(?=[\[\w])"), re.compile(r"\s*+<\|python_end\|>")
            ),
            _FUNCTION_JSON,
            JsonForm(re.compile(_BARE_JSON), re.compile(r"\s*+<\|e\w+_id\|>"), is_alone=True),
            PythonForm(re.compile(r"(?=\[\s*+[\w.]+\()"), is_alone=True),
        ),
        ("<|python_tag|>", "<|python_start|>", "<function="),
        results=("<|start_header_id|>", "<|header_start|>"),
    ),
    "mistral": Family(
        (
            JsonForm(re.compile(rf"\[TOOL_CALLS\]{_OBJECT}")),
            NamedForm(
                re.compile(
                    rf"\[TOOL_CALLS\]\s*+{_PLAIN_NAME}(?:\[CALL_ID\][\w-]*)?\s*+(?:\[ARGS\])?\s*+(?=\{{)"
                )
            ),
        ),
        ("[TOOL_CALLS]",),
        results=("[TOOL_RESULTS]", "[TOOL_CONTENT]", "[INST]"),
    ),
    "deepseek": Family(
        (
            NamedForm(
                re.compile(
                    rf"(?:{_token('tool', 'calls', 'begin')}\s*+)?{_token('tool', 'call', 'begin')}\s*+"
                    rf"(?:function\s*+{_token('tool', 'sep')})?\s*+{_PLAIN_NAME}\s*+"
                    rf"(?:{_token('tool', 'sep')})?\s*+(?:```(?:json)?\s*+)?(?=\{{)"
                ),
                re.compile(
                    rf"\s*+(?:```)?\s*+{_token('tool', 'call', 'end')}"
                    rf"(?:\s*+{_token('tool', 'calls', 'end')})?"
                ),
            ),
            NamedForm(
                re.compile(rf"(?:{_DSML_SECTION})?<{_DSML}invoke name=\"{_NAME}\"\s*+>\s*+(?=\{{)"),
                re.compile(rf"\s*+</{_DSML}invoke>{_DSML_END}"),
            ),
            TaggedForm(
                re.compile(
                    rf"(?:{_DSML_SECTION})?<{_DSML}invoke name=\"{_NAME}\"\s*+(?:/>{_DSML_END}|>(?!\s*+\{{))"
                ),
                parameter=rf"<{_DSML}parameter name=\"{KEY}\"(?:\s+string=\"(?P<kind>\w+)\")?>",
                parameter_end=rf"</{_DSML}parameter>",
                closing=rf"</{_DSML}invoke>{_DSML_END}",
            ),
        ),
        ("<｜", "<|tool", "<|DSML"),
        results=("<｜tool▁output", "<|tool_output", "<｜User｜>", "<|User|>"),
    ),
    "glm": Family(
        (
            TaggedForm(
                re.compile(
                    rf"(?:<tool_calls{_MARKED}>\s*+)?<{_GLM_CALL}>\s*+{_NAME}\s*+(?=<{_LONGCAT}arg_key{_MARKED}>|</{_GLM_CALL}>)"
                ),
                parameter=rf"<{_LONGCAT}arg_key{_MARKED}>{KEY}</{_LONGCAT}arg_key{_MARKED}>\s*+<{_LONGCAT}arg_value{_MARKED}>",
                parameter_end=rf"</{_LONGCAT}arg_value{_MARKED}>",
                closing=rf"</{_GLM_CALL}>(?:\s*+</tool_calls{_MARKED}>)?",
            ),
            _TOOL_CALL_TAGS,
        ),
        ("<tool_call", "<longcat_tool_call>"),
        results=("<|observation|>", "<|user|>"),
    ),
    "kimi": Family(
        (
            NamedForm(
                re.compile(
                    r"(?:<\|tool_calls?_section_begin\|>\s*+)?<\|tool_call_begin\|>\s*+(?:functions\.)?"
                    r"(?P<name>[^\s<>:{}]{1,100})(?::\d+)?\s*+<\|tool_call_argument_begin\|>\s*+(?=\{|<\|tool_call_end)"
                ),
                re.compile(r"\s*+<\|tool_call_end\|>(?:\s*+<\|tool_calls?_section_end\|>)?"),
            ),
            TaggedForm(
                re.compile(
                    r"(?:<\|open\|>tools<\|sep\|>\s*+)?<\|open\|>call tool=\"(?P<name>[^\"\n]{1,100})\""
                    r"(?: index=\"\d+\")?<\|sep\|>"
                ),
                parameter=rf"<\|open\|>argument key=\"{KEY}\"(?: type=\"(?P<kind>\w+)\")?<\|sep\|>",
                parameter_end=r"<\|close\|>argument<\|sep\|>",
                closing=r"<\|close\|>call<\|sep\|>(?:\s*+<\|close\|>(?:tools|message)<\|sep\|>)*",
            ),
        ),
        ("<|tool_call", "<|open|>", "<|close|>think"),
        (
            PlainBlock(re.compile(r"<\|open\|>think<\|sep\|>"), re.compile(r"<\|close\|>think<\|sep\|>")),
            PlainBlock(
                re.compile(r"<\|open\|>response<\|sep\|>"),
                re.compile(r"<\|close\|>response<\|sep\|>"),
                is_thought=False,
                begins_in_prompt=False,
            ),
        ),
        results=("<|im_system|>tool", "<|im_user|>", "## Return of "),
    ),
    "granite": Family(
        (
            JsonForm(
                re.compile(rf"(?:<\|tool_call\|>|<tool_call>|<function_call>){_OBJECT}"),
                re.compile(r"\s*+(?:</tool_call>|</function_call>|<\|end_of_text\|>)"),
            ),
        ),
        ("<|tool_call|>", "<tool_call>", "<function_call>"),
        results=("<|start_of_role|>",),
    ),
    "gpt-oss": Family(
        (
            NamedForm(re.compile(rf"{_START}{_TO}<\|channel\|>{_MESSAGE}\s*+"), _CALL_END, needs_offer=True),
            NamedForm(re.compile(rf"{_START}<\|channel\|>\w+{_TO}{_MESSAGE}\s*+"), _CALL_END, needs_offer=True),
            NamedForm(
                # from servers that leave the tokens out
                re.compile(
                    r"(?:assistant)?(?:commentary|analysis) to=functions\."
                    rf"{_PLAIN_NAME}\s*+(?:json|code)?\s*+(?=\{{)"
                ),
                needs_offer=True,
            ),
        ),
        (
            "<|start|>",
            "<|channel|>",
            " to=",
            "to=",
            "assistantc",
            "assistanta",
            "commentary to=",
            "analysis to=",
        ),
        (
            PlainBlock(
                re.compile(rf"{_START}<\|channel\|>analysis{_MESSAGE}"),
                _CHANNEL_END,
                begins_in_prompt=False,
            ),
            PlainBlock(
                re.compile(rf"{_START}<\|channel\|>(?:final|commentary){_MESSAGE}"),
                _CHANNEL_END,
                is_thought=False,
                begins_in_prompt=False,
            ),
        ),
        results=("<|start|>functions.", "<|start|>user"),
    ),
    "functionary": Family(
        (
            NamedForm(re.compile(rf"{_PLAIN_NAME}\n\s*+(?=\{{)"), is_alone=True, needs_offer=True),
            NamedForm(
                re.compile(rf">>>{_PLAIN_NAME}\n\s*+(?=\{{)"),
                re.compile(r"\s*+<\|eot_id\|>"),
                begins_line=True,
                may_follow=".!?:",
                needs_offer=True,
            ),
            NamedForm(
                re.compile(
                    rf"(?:<\|from\|>\s*+assistant\s*+)?<\|recipient\|>\s*+{_PLAIN_NAME}\s*+<\|content\|>\s*+(?=\{{)"
                ),
                re.compile(r"\s*+<\|(?:stop|eot_id)\|>"),
            ),
            _FUNCTION_JSON,
        ),
        (">>>", "<|from|>", "<|recipient|>", "<function="),
        results=("<|start_header_id|>", "<|from|>user"),
    ),
    "gemma": Family(
        (
            BareObjectForm(
                re.compile(r"<\|tool_call>\s*+call:(?P<name>[^\s{}<>]{1,100})\s*+\{"),
                '<|"|>',
                re.compile(r"\s*+<tool_call\|>"),
            ),
            BareObjectForm(
                re.compile(r"<start_function_call>\s*+call:(?P<name>[^\s{}<>]{1,100})\s*+\{"),
                "<escape>",
                re.compile(r"\s*+<end_function_call>"),
            ),
            PythonForm(re.compile(r"```tool_code\n"), re.compile(r"\s*+```"), begins_line=True),
        ),
        ("<|tool_call>", "<start_function_call>", "<|channel>", "<channel|>", "```tool_code\n"),
        (PlainBlock(re.compile(r"<\|channel>thought\n?"), re.compile(r"<channel\|>")),),
        results=(
            "```tool_output",
            "<|tool_response>",
            "<start_function_response>",
            "<start_of_turn>",
            "<|turn>",
        ),
    ),
    "minimax": Family(
        (
            _INVOKE,
            NestedForm(
                re.compile(rf"(?:{_M3}<tool_call>\s*+)?{_M3}<invoke name=\"{_NAME}\">"),
                re.compile(rf"\s*+{_M3}<(?P<end>/?)(?P<tag>[^<>\n]{{1,200}}?)>"),
                re.compile(rf"\s*+{_M3}</invoke>(?:\s*+{_M3}</tool_call>)?"),
            ),
            JsonForm(re.compile(rf"<tool_calls>{_OBJECT}"), re.compile(r"\s*+</tool_calls>")),
        ),
        ("<minimax:tool_call>", "<function_calls>", "<invoke ", "<tool_calls>", "]<]minimax"),
        results=("]~b]tool", "]~b]user", "<response>"),
    ),
    "command": Family(
        (
            JsonForm(re.compile(rf"<\|START_ACTION\|>{_OBJECT}"), re.compile(r"\s*+<\|END_ACTION\|>")),
            JsonForm(re.compile(rf"Action:\s*+```json{_OBJECT}"), re.compile(r"\s*+```"), begins_line=True),
        ),
        ("<|START_", "<|END_THINKING", "Action:"),
        (PlainBlock(re.compile(r"<\|START_THINKING\|>"), re.compile(r"<\|END_THINKING\|>")),),
        results=("<|START_TOOL_RESULT|>", "<|START_OF_TURN_TOKEN|>", "<results>"),
    ),
    "lfm2": Family(
        (
            JsonForm(re.compile(rf"<\|tool_call_start\|>{_OBJECT}"), re.compile(r"\s*+<\|tool_call_end\|>")),
            PythonForm(
                re.compile(r"<\|tool_call_start\|>\s*+(?=[\[\w])"), re.compile(r"\s*+<\|tool_call_end\|>")
            ),
        ),
        ("<|tool_call_start|>",),
        results=("<|tool_response_start|>",),
    ),
    "internlm": Family(
        (
            JsonForm(
                re.compile(rf"<\|action_start\|>\s*+<\|plugin\|>{_OBJECT}"),
                re.compile(r"\s*+<\|action_end\|>"),
            ),
        ),
        ("<|action_start|>",),
        results=("[UNUSED_TOKEN_146]",),
    ),
    "phi": Family(
        (
            JsonForm(
                re.compile(rf"(?:<\|tool_call\|>|functools(?=\s*+\[)){_OBJECT}"),
                re.compile(r"\s*+<\|/tool_call\|>"),
            ),
        ),
        ("<|tool_call|>", "functools"),
        results=("<|tool|>", "<|user|>"),
    ),
    "nemotron": Family(
        (
            JsonForm(
                re.compile(rf"<(?:TOOLCALL|tool_calls)>{_OBJECT}"),
                re.compile(r"\s*+</(?:TOOLCALL|tool_calls)>"),
            ),
        ),
        ("<TOOLCALL>", "<tool_calls>"),
        results=("<TOOL_RESPONSE>", "<TOOLRESULT", "<extra_id_1>"),
    ),
    "json": Family(
        (
            _TOOL_CALL_TAGS,
            JsonForm(
                re.compile(
                    rf"(?:```(?:(?i:json|xml)|{_CALL_WORD})?[ \t]*\n\s*+)?(?:<{_CALL_TAG}\s*+)?{_BARE_JSON}"
                ),
                re.compile(rf"\s*+(?:</{_CALL_TAG}\s*+(?:```)?|```)"),
                is_alone=True,
            ),
        ),
        ("<tool_call>",),
        results=("```output", "```tool_output", "```result"),
        is_framed=True,
    ),
}


_CALL_TOKEN = r"(?:tool|function)s?[_▁ ](?:calls?|uses?|prefix|suffix)(?:[_▁ :]\w{1,10})?"
OTHER_FAMILY = Family(
    (
        # between two tokens, or in a tag that says no more than that it is a call
        MentioningForm(
            re.compile(rf"<{_BAR}(?!/){_CALL_TOKEN}{_BAR}>"),
            re.compile(rf"<{_BAR}/?{_CALL_TOKEN}{_BAR}>\s*+\Z"),
        ),
        MentioningForm(re.compile(rf"<{_CALL_WORD}>(?!\s*+[\[{{])"), re.compile(rf"</{_CALL_WORD}>\s*+\Z")),
        # in a tag that has the name of the tool, as agents ask for it in their prompts
        MentioningForm(
            re.compile(r"<(?P<name>[\w-]{1,100})>(?=\s*+<[\w-]{1,100}>)"),
            re.compile(r"</(?P<name>[\w-]{1,100})>\s*+\Z"),
        ),
        # and as ReAct writes
        MentioningForm(
            re.compile(r"Action:[ \t]*(?P<name>[\w-]{1,100})[ \t]*\n\s*+Action Input:\s*+(?=\{)"),
            re.compile(r"\}\s*+\Z"),
            begins_line=True,
        ),
    ),
    ("<", "Action:"),
)
"""How models of no family above write: it is seen that their answers end in a call, and which tool it is of."""


def get_family(parser: ToolParser) -> Family:
    """How the family of this name writes its calls."""
    return _FAMILIES[parser]
