"""Keeps secrets in results from the model."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from quorum.api import Continue, HookAnswer, ResultDraft

# Keys by their well-known beginnings, private keys whole, and what stands behind a telling name.
PATTERNS = (
    r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}",
    r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bgl(?:pat|ptt)-[A-Za-z0-9_-]{16,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bAIza[A-Za-z0-9_-]{35}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+",
    r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----",
    r"(?i)\b[A-Z0-9_.-]*(?:api_?key|secret|token|passw(?:or)?d|passphrase)[\"']?\s*[:=]\s*[\"']?"
    r"([^\s\"',;]{6,})",
)


class SecretMasker:
    """Replaces what looks like a secret in every result by `mask`, before the model or a record sees it.

    `patterns` are expressions of RE2, in addition to PATTERNS. Where one has a group, the group is
    replaced, else the whole match. Plain function: it runs in a thread. Raises ValueError for a pattern that
    is no expression.
    """

    def __init__(self, patterns: Sequence[str] = (), mask: str = "[masked]") -> None:
        try:
            self._patterns = [re2.compile(pattern) for pattern in (*PATTERNS, *patterns)]
        except re2.error as error:
            raise ValueError(f"patterns holds what is no expression of RE2: {error.args[0]}") from error
        self._mask = mask

    def after_tool_call(self, result: ResultDraft) -> HookAnswer:
        spans = [
            match.span(1 if pattern.groups and match.group(1) is not None else 0)
            for pattern in self._patterns
            for match in pattern.finditer(result.output)
        ]
        result.output = _without(result.output, spans, self._mask)
        return Continue()


def _without(text: str, spans: Sequence[tuple[int, int]], mask: str) -> str:
    """The text with each span replaced; spans that overlap are one."""
    pieces: list[str] = []
    end = 0
    for start, stop in sorted(spans):
        if start >= end:
            pieces += [text[end:start], mask]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])
