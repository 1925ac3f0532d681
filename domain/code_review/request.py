"""What a person asks to have reviewed, as text of a prompt and as a value."""

from __future__ import annotations

import re

from msgspec import Struct

_PULL = re.compile(r"(?:review\s+)?(?:pull request\s+|#)(\d{1,9})(?![\w.])", re.IGNORECASE)
_RANGE = re.compile(
    r"(?:review\s+)?([^\s.:~^?*\[\\-][^\s:?*\[\\]*?)?(\.\.\.?)([^\s.:?*\[\\-][^\s:?*\[\\]*)?(?=\s|$)",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"(?:review\s+)?the (?:uncommitted changes|(given diff))", re.IGNORECASE)


class CodeReviewRequest(Struct, frozen=True, kw_only=True):
    """What is to be reviewed: a pull request, a range of commits "A..B" or "A...B", or else what is not
    committed. `focus` is what to look at above all, in the person's words; `is_all`: also what was approved
    before; `is_given`: a diff that is handed over with the request.
    """

    pull_request: int | None = None
    commits: str = ""
    focus: str = ""
    is_all: bool = False
    is_given: bool = False

    @property
    def text(self) -> str:
        """The request as a prompt, from which `parse_request` makes it again."""
        if self.pull_request is not None:
            what = f"pull request {self.pull_request}"
        else:
            what = self.commits or ("the given diff" if self.is_given else "the uncommitted changes")
        return f"Review {what}{' --all' if self.is_all else ''}" + (f"\n\n{self.focus}" if self.focus else "")


def parse_request(text: str) -> CodeReviewRequest:
    """Read what a person says: `#12`, `main..HEAD`, or nothing, then what to look at above all."""
    said = text.strip()
    found = _PULL.match(said) or _RANGE.match(said) or _PLAIN.match(said)
    if found is not None and found.re is _RANGE and not (found[3] or (found[1] and found[2] == "..")):
        found = None  # dots that end a sentence
    rest = said[found.end() :].strip() if found is not None else said
    is_all = rest == "--all" or rest.startswith(("--all ", "--all\n"))
    focus = rest.removeprefix("--all").strip() if is_all else rest
    if found is not None and found.re is _PULL:
        return CodeReviewRequest(pull_request=int(found[1]), focus=focus, is_all=is_all)
    if found is not None and found.re is _RANGE:
        commits = f"{found[1] or 'HEAD'}{found[2]}{found[3] or 'HEAD'}"
        return CodeReviewRequest(commits=commits, focus=focus, is_all=is_all)
    is_given = found is not None and found[1] is not None
    return CodeReviewRequest(focus=focus, is_all=is_all, is_given=is_given)
