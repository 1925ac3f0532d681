"""How a prompt names issues and pull requests: `#12`, `owner/repo#3`, or their address."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

# Inside of code a number sign means something else.
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}"
_REFERENCE = re.compile(
    rf"https://(?P<host>[A-Za-z0-9.-]{{1,253}})/(?P<place>{_NAME})/(?:issues|pull)/(?P<linked>\d{{1,9}})\b"
    rf"|(?<![\w/&#.-])(?P<repository>{_NAME})?#(?P<number>\d{{1,9}})"
    rf"(?:(?:-|–|—|\.\.\.?)#?(?P<last>\d{{1,9}}))?(?![\w#-])"
)
_COLOUR_LENGTHS = (6, 8)
MOST_IN_RANGE = 100


class Reference(Struct, frozen=True, kw_only=True):
    """An issue or a pull request. `repository` is "owner/name", empty for that of the working directory; `host`
    is empty for github.com."""

    number: int
    repository: str = ""
    host: str = ""

    @property
    def label(self) -> str:
        """As it is usually written."""
        place = f"{self.host}/{self.repository}" if self.host else self.repository
        return f"{place}#{self.number}"


def find_references(text: str) -> Iterator[Reference]:
    """What a text refers to, in its order. What stands in code is none, nor is a colour such as #336699.

    A range such as `#21-23` refers to each of its numbers, and to the first MOST_IN_RANGE where it is longer.
    """
    for found in _REFERENCE.finditer(_CODE.sub(lambda code: " " * len(code[0]), text)):
        if found["linked"] is not None:
            host = "" if found["host"] == "github.com" else found["host"]
            yield Reference(number=int(found["linked"]), repository=found["place"], host=host)
        elif found["last"] is not None:
            first, last = int(found["number"]), int(found["last"])
            for number in range(first, min(last + 1, first + MOST_IN_RANGE)):
                yield Reference(number=number, repository=found["repository"] or "")
        elif found["repository"] or len(found["number"]) not in _COLOUR_LENGTHS:
            yield Reference(number=int(found["number"]), repository=found["repository"] or "")


def find_repository(git_config: str) -> str:
    """The "owner/name" on github.com that the remote `origin` of a git configuration names; else empty."""
    section = re.search(r'^\s*\[remote "origin"\]\s*$(?P<body>.*?)(?=^\s*\[|\Z)', git_config, re.M | re.S)
    url = re.search(r"^\s*url\s*=\s*(\S+)\s*$", section["body"], re.M) if section is not None else None
    place = (
        re.fullmatch(
            rf"(?:https://(?:[^@/\s]*@)?github\.com/|(?:ssh://)?git@github\.com[:/])(?P<name>{_NAME}?)(?:\.git)?/?",
            url[1],
        )
        if url is not None
        else None
    )
    return place["name"] if place is not None else ""
