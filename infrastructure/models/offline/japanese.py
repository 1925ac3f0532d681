"""The main requests in Japanese, where the verb stands last: a.py と b.py を読んで、src で TODO を検索して。"""

from __future__ import annotations

import re

from quorum.infrastructure.models.offline.looking import escape_regex
from quorum.infrastructure.models.offline.requests import Request
from quorum.infrastructure.models.offline.scanning import Scanner, strip_quotes

_PLEASE = r"(?:て|で|する|る|む)?(?:ください|下さい|ね)?"
_END = re.compile(
    rf"を\s*(?:(?P<read>読ん|読|見せ|表示し|表示)|(?P<find>検索し|検索|探し)|(?P<run>実行し|実行))"
    rf"{_PLEASE}(?=[\s、。,;]|\Z)|に\s*(?P<edit>置換し|置換|置き換え|変更し|変更){_PLEASE}(?=[\s、。,;]|\Z)"
)
_FILES = re.compile(r"\s*(?:[、,]|と|及び|および)\s*")
_PLACE = re.compile(r"\s*(?:の中で|の中から|内で|内から|で|から)\s*")
_OF = re.compile(r"\s*の(?:中の)?\s*")
_OBJECT = re.compile(r"\s*を\s*")
_LONGEST = 2_000


def parse_requests(scanner: Scanner) -> list[Request] | None:
    """The requests of the Japanese clause that begins here, stepping over it; None if none does."""
    line_end = scanner.text.find("\n", scanner.pos, scanner.pos + _LONGEST)
    line_end = min(len(scanner.text), scanner.pos + _LONGEST) if line_end == -1 else line_end
    end = next(scanner.find_unquoted(_END, line_end), None)
    if end is None:
        return None
    said = scanner.text[scanner.pos : end.start()].strip()
    match end.lastgroup:
        case "read":
            found = [
                Request("read_file", {"path": path}) for path in map(_strip_quotes, _split_parts(said, _FILES))
            ]
        case "find":
            found = _parse_finding(_split_parts(said, _PLACE))
        case "run":
            found = [Request("run_command", {"command": strip_quotes(said)})]
        case _:
            found = _parse_editing(said)
    if not found or not all(all(request.arguments.values()) for request in found):
        return None
    scanner.pos = end.end()
    return found


def _parse_finding(parts: list[str]) -> list[Request]:
    match parts:
        case [wanted]:
            return [Request("grep_search", {"pattern": escape_regex(strip_quotes(wanted)), "path": "."})]
        case [place, wanted]:
            return [
                Request(
                    "grep_search", {"pattern": escape_regex(strip_quotes(wanted)), "path": _strip_quotes(place)}
                )
            ]
        case _:
            return []


def _parse_editing(said: str) -> list[Request]:
    path, change = _split_once(said, _OF)
    old, new = map(strip_quotes, _split_once(change, _OBJECT))
    if old == new:
        return []
    return [Request("edit_file", {"path": _strip_quotes(path), "old_text": old, "new_text": new})]


def _strip_quotes(text: str) -> str:
    """The name, freed of its quotes; empty for words that are not one name."""
    name = strip_quotes(text)
    return "" if name == text.strip() and any(map(str.isspace, name)) else name


def _split_once(text: str, mark: re.Pattern[str]) -> tuple[str, str]:
    """The two sides of the first unquoted mark; the second is empty without one."""
    found = next(Scanner(text).find_unquoted(mark, len(text)), None)
    if found is None:
        return text, ""
    return text[: found.start()], text[found.end() :]


def _split_parts(text: str, mark: re.Pattern[str]) -> list[str]:
    cuts = [0]
    for found in Scanner(text).find_unquoted(mark, len(text)):
        cuts += found.span()
    cuts.append(len(text))
    return [text[start:end] for start, end in zip(cuts[::2], cuts[1::2], strict=True)]
