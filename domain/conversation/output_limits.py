"""How long answers and results may be: what known models write at most, and outputs cut to what fits."""

from __future__ import annotations

import re

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import ToolResults
from quorum.domain.replacing import replace

# The first that fits counts. A model that is not named here may take more or less: nobody can tell by its name.
_MOST_TOKENS = tuple(
    (re.compile(rf"(?:^|[/.]){pattern}(?![0-9])", re.IGNORECASE), most)
    for pattern, most in (
        (r"claude-3-(?:haiku|sonnet|opus)", 4_096),
        (r"claude-3[.-]5", 8_192),
        (r"claude-3[.-]7", 64_000),
        (r"claude-(?:opus|sonnet)-4[.-][6-9]", 128_000),
        (r"claude-(?:haiku|opus|sonnet)-4[.-]5", 64_000),
        (r"claude-opus-4(?:[.-][01])?(?![.-][2-9](?![0-9]))", 32_000),
        (r"claude-sonnet-4(?:[.-]0)?(?![.-][1-9](?![0-9]))", 64_000),
        (r"gpt-3\.5-turbo", 4_096),
        (r"gpt-4-turbo", 4_096),
        (r"gpt-4o-2024-05-13", 4_096),
        (r"gpt-4o", 16_384),
        (r"gpt-4\.1", 32_768),
        (r"gpt-5(?:\.\d+)?-chat", 16_384),
        (r"gpt-5(?:\.\d+)?(?!\.|\d|[a-z0-9.-]*-pro)", 128_000),
        (r"o1-mini", 65_536),
        (r"o1-preview", 32_768),
        (r"(?:o1|o3|o3-mini|o4-mini)(?=$|[:@]|-\d{4}|-high|-low)", 100_000),
    )
)


# an answer that was cut off gets this many times its tokens when it is asked for again
_LARGER = 4
LEAST_FOR_A_CALL = 16_384
LEAST_FOR_A_FORM = 4_096


def compute_larger_output(model: str, used: int, *, least: int) -> int:
    """How many tokens to ask for where an answer of so many was cut off: at least `least`, at most what
    the model gives."""
    larger = max(_LARGER * used, least)
    most = find_output_limit(model)
    return larger if most is None else min(larger, most)


def find_output_limit(model: str) -> int | None:
    """The most that one answer of this model may have; None for a model of which that is not known.

    `model` is its name, whatever stands before it: `claude-opus-4-1`, `openai/gpt-4.1`,
    `bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0`.
    """
    return next((most for pattern, most in _MOST_TOKENS if pattern.search(model)), None)


_CUT = "\n[… {count} characters left out: they do not fit the window of the model; ask for a smaller part …]\n"
_CUT_BYTES = 160  # what the sentence takes, with the frame of a result
_SHORTEST_OUTPUT = 400


def shorten_outputs(results: ToolResults, most: int) -> ToolResults:
    """The results with no more than some `most` bytes of output: the longest ones keep their ends alone."""
    sizes = sorted(len(each.output.encode(errors="surrogatepass")) for each in results.results)
    left, each_most = most, 0
    for count, size in zip(range(len(sizes), 0, -1), sizes, strict=True):
        each_most = left // count
        if size > each_most:
            break
        left -= size
    else:
        return results
    return ToolResults(tuple(_shorten(each, max(each_most, _SHORTEST_OUTPUT)) for each in results.results))


def _shorten(result: ToolResultMessage, most: int) -> ToolResultMessage:
    text = result.output
    size = len(text.encode(errors="surrogatepass"))
    if size <= most:
        return result
    kept = (most - _CUT_BYTES) * len(text) // size  # characters: they take several bytes in some scripts
    head, tail = kept * 2 // 3, kept // 3
    cut = _CUT.format(count=len(text) - head - tail)
    return replace(result, output=f"{text[:head]}{cut}{text[len(text) - tail :]}")
