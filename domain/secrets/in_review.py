"""What may be hidden from the person who approves a call: what looks random, and acts as nothing else.

Whoever made a file of the workspace, and whoever told the model what to say, can have any word taken for a
secret. A person who approves a call must be able to read its options, paths, hosts, programs and names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from quorum.domain.secrets.forms import looks_random
from quorum.domain.secrets.patterns import SecretSpan

_WORD = re.compile(r"[A-Za-z0-9][^\s|&;<>`$(){}'\",:=\\]{15,}(?:={1,2}(?=[\s|&;<>`)}'\",]|\Z))?+")
_MOST_BEFORE = 200
_COMMAND_STARTS = ("|", "&", ";", "$(", "`")
_IN_PATHS = "/\\~"
# What runs the file or program that its first operand names, perhaps behind options without a value.
_RUNS_OPERAND = re.compile(
    r"(?:^|[\s|&;(`/'\"])(?:(?:ba|da|z|k|fi)?sh|python[\d.]*|node|deno|bun|perl|ruby|php|lua|Rscript|source|\.|exec"
    r"|env|sudo|doas|time|nohup|nice|timeout|setsid|xargs|command)"
    r"(?:[ \t]+-[A-Za-z]{1,3}|[ \t]+[\d.]+[smhd]?)*\Z"
)


def find_hideable_parts(text: str, span: SecretSpan) -> Iterator[SecretSpan]:
    """The parts of a span that may be hidden: all of it where it is one random word, else its random words,
    such as the lines of a private key, between which anybody may have put something else."""
    for word in _WORD.finditer(text, span.start, span.end):
        part = SecretSpan(word.start(), word.end(), span.word)
        if looks_random(word[0]) and not _acts_as_name(text, part):
            yield part


def _acts_as_name(text: str, span: SecretSpan) -> bool:
    """Whether what stands around a word makes it a part of a path or a host, the name of a variable, or the
    program of a command, however random it looks."""
    before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
    if (before and before in f"{_IN_PATHS}@.") or (after and after in f"{_IN_PATHS}:="):
        return True
    if after == "@":
        return before != ":"  # the password of an address
    if after == ".":
        return text[span.end + 1 : span.end + 2].isalnum()
    line = text[text.rfind("\n", 0, span.start) + 1 : span.start].rstrip(" \t")
    if not line:
        return after in (" ", "\t")
    return line.endswith(_COMMAND_STARTS) or _RUNS_OPERAND.search(line[-_MOST_BEFORE:]) is not None
