"""The last run of tests that a session saw, and whether an answer speaks of one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct


class SeenTestRun(Struct, frozen=True, kw_only=True):
    """The last command that is known to have run tests. `edited` are the files that changed since it began;
    `is_unsure`: something ran after the last of these changes that may have run tests, too."""

    command: str
    exit_code: int
    edited: tuple[str, ...] = ()
    is_unsure: bool = False

    @property
    def predates_edit(self) -> bool:
        """Whether no tests can have run since the last change of a file."""
        return bool(self.edited) and not self.is_unsure


_TESTS = r"(?:unit |integration |regression )?(?:tests?|test suite|test cases?|specs|pytest|unittests?)"
_RESULT = (
    r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|(?:is|are|all|stay|were) (?:now )?green|fail(?:s|ed|ing)?|"
    r"(?:is|are) (?:now )?(?:ok|fine|red))"
)
_CLAIM = re.compile(
    rf"\b{_TESTS}\b[^.!?\n]{{0,60}}\b{_RESULT}\b"
    rf"|\b(?:passes|passed|passing|green)\b[^.!?\n]{{0,40}}\b{_TESTS}\b"
    r"|\b[0-9][0-9,]* (?:passed|failed|passing|failing)\b"
    rf"|\b(?:ran|verified with|confirmed (?:by|with)) (?:all |the |all the )?{_TESTS}\b",
    re.IGNORECASE,
)
_NO_CLAIM = re.compile(
    r"\b(?:should|would|will|may|might|could|must|to make|make sure|ensure|until|once|if|whether|not run|"
    r"did not run|have not|haven't|didn't)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CODE_BLOCK = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)


def claims_tests(answer: str) -> bool:
    """Whether an answer says how tests went, outside of its blocks of code. A wish, a condition and a doubt are
    no claim."""
    prose = _CODE_BLOCK.sub("\n", answer)
    sentences: Sequence[str] = _SENTENCE.split(prose)
    return any(_CLAIM.search(each) and not _NO_CLAIM.search(each) for each in sentences)
