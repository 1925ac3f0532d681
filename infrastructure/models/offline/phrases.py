"""The requests that the offline model understands, in English and the main ones in Japanese.

In Japanese the verb stands last: a.py と b.py を読んで、src で TODO を検索して。
"""

from __future__ import annotations

import re

from quorum.infrastructure.models.offline.requests import (
    COURTESY,
    Misread,
    Request,
    Scanner,
    Verb,
    looks_like_path,
    read_name,
    read_names,
    require_names,
    strip_quotes,
)

_REPLACE_EXAMPLE = 'For example: replace "old text" with "new text" in a.py.'
_WRITE_EXAMPLE = "For example: write notes.txt: the text, or a fenced block after the colon."
_ALL = re.compile(
    r"\s*+(?:all|every)(?:\s++(?:occurrences?|instances?)?\s*+(?:of\s++)?)(?!(?:with|by|to)\s)", re.IGNORECASE
)
_BY = {
    "replace": re.compile(r"(?<=[\s\"'`”」])(?:with|by)(?=[\s\"'`“「])", re.IGNORECASE),
    "change": re.compile(r"(?<=[\s\"'`”」])(?:to|into)(?=[\s\"'`“「])", re.IGNORECASE),
}
_IN = re.compile(r"(?<=[\s\"'`”」])in(?=\s)", re.IGNORECASE)
_TO = re.compile(r"\s++(?:in)?to(?=\s)", re.IGNORECASE)
_A_FILE = re.compile(r"\s*+(?:(?:the|a|new|to|file)\s++)*+(?:(?:named|called)\s++)?", re.IGNORECASE)
_INTRODUCED = re.compile(
    r"\s*+(?::|(?:with|containing)(?![\w./-])(?:\s++(?:the\s++)?(?:contents?|text)(?![\w./-]))?:?)",
    re.IGNORECASE,
)
_PATH = re.compile(r"[^\s,;:、。]++")
_BLANKS = re.compile(r"[ \t]*+\n?")


def replace(scanner: Scanner, phrase: str) -> list[Request]:
    """replace [all] OLD with NEW in FILE, FILE; change OLD to NEW in FILE"""
    end = scanner.find_clause_end()
    everywhere = scanner.skip(_ALL)
    start = scanner.pos
    by = next(scanner.find_unquoted(_BY[phrase], end), None)
    if by is None:
        raise Misread(f"Say what to replace, with what, and in which file. {_REPLACE_EXAMPLE}")
    scanner.pos = by.end()
    places = list(scanner.find_unquoted(_IN, end))
    if not places:
        raise Misread(f"Say in which file to replace it. {_REPLACE_EXAMPLE}")
    old = strip_quotes(scanner.text[start : by.start()])
    new = strip_quotes(scanner.text[by.end() : places[-1].start()])
    if not old or old == new:
        raise Misread(f"There is nothing to replace. {_REPLACE_EXAMPLE}")
    scanner.pos = places[-1].end()
    scanner.skip_spaces()
    paths = require_names(scanner, f"Name the file. {_REPLACE_EXAMPLE}")
    change: dict[str, str | bool] = {
        "old_text": old,
        "new_text": new,
        **({"replace_all": True} if everywhere else {}),
    }
    return [Request("edit_file", {"path": path, **change}) for path in paths]


def write(scanner: Scanner) -> list[Request]:
    """write FILE: CONTENT, write FILE with "CONTENT", write "CONTENT" to FILE"""
    scanner.skip_spaces()
    first = scanner.read_quoted()
    if first is not None and scanner.skip(_TO):
        if path := read_name(scanner):
            return [_build_writing(path, first)]
        raise Misread(f"Name the file. {_WRITE_EXAMPLE}")
    path = first if first is not None else _find_path(scanner)
    if not path or not scanner.skip(_INTRODUCED):
        raise Misread(f"Say which file to write, and what. {_WRITE_EXAMPLE}")
    content = _find_content(scanner)
    if content is None:
        raise Misread(f"Say what to write. {_WRITE_EXAMPLE}")
    return [_build_writing(path, content)]


def _find_path(scanner: Scanner) -> str | None:
    start = scanner.pos
    scanner.skip(_A_FILE)
    before = scanner.text[start : scanner.pos].casefold()
    if (inner := scanner.read_quoted()) is not None:
        return inner
    if (found := _PATH.match(scanner.text, scanner.pos)) is None:
        return None
    scanner.pos = found.end()
    # "create a function with two arguments" is prose, "create a file notes with hello" is not.
    is_prose = before.strip() and "file" not in before and not scanner.text.startswith(":", scanner.pos)
    return None if is_prose and not looks_like_path(found.group()) else found.group()


def _find_content(scanner: Scanner) -> str | None:
    """A fenced block, one quoted text that ends the request, or the rest and a newline; None without any."""
    if (fenced := scanner.read_fence()) is not None:
        return fenced
    scanner.skip(_BLANKS)
    start = scanner.pos
    inner = scanner.read_quoted()
    if inner is not None and scanner.at_request_end:
        return inner
    scanner.pos = len(scanner.text)
    rest = scanner.text[start:].rstrip()
    return rest + "\n" if rest else None


def _build_writing(path: str, content: str) -> Request:
    arguments: dict[str, str | bool] = {"path": path, "content": content}
    if "/" in path.strip("/"):
        arguments["create_dirs"] = True
    return Request("write_file", arguments)


_EVERYTHING = re.compile(
    r"\s*+(?:(?:all|the|folders?|files?|everything|here)(?:\s++|(?=[,;、。.!?]|$)))*+(?:in\s++|under\s++)?",
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?<=\s)(?:in|under|inside|within)(?=\s)", re.IGNORECASE)
_OPERAND = r"(?=\s+(?!(?:in|under|inside|within)\s)\S)\s++"
_ABOUT_FILES = re.compile(
    rf"\s*+(?:(?:all|the|any|every|me)\s++)*+files?(?:\s++(?:named|called|matching|like))?{_OPERAND}",
    re.IGNORECASE,
)
_ABOUT_TEXT = re.compile(
    rf"\s*+(?:(?:for|me|all|any|every|the|text|string|word|occurrences\s++of|usages\s++of|uses\s++of"
    rf"|lines\s++(?:with|containing)){_OPERAND})*+",
    re.IGNORECASE,
)
_SPECIAL = re.compile(r"([\\.^$*+?()\[\]{}|])")


def read(scanner: Scanner) -> list[Request]:
    """read FILE, FILE and FILE"""
    found = require_names(scanner, "Name the files to read, for example: read a.py and b.py.")
    return [Request("read_file", {"path": path}) for path in found]


def list_folders(scanner: Scanner) -> list[Request]:
    """list [FOLDER, FOLDER]; without a folder, the working directory"""
    scanner.skip(_EVERYTHING)
    found = read_names(scanner, folders=True) or ["."]
    return [Request("list_directory", {"path": path}) for path in found]


def find(scanner: Scanner, verb: Verb) -> list[Request]:
    """find TEXT [in PLACE], find files GLOB [in FOLDER and below], grep REGEX [in PLACE]"""
    about_files = scanner.skip(_ABOUT_FILES) or verb is Verb.GLOB
    if not about_files:
        scanner.skip(_ABOUT_TEXT)
    scanner.skip_spaces()
    wanted, quoted = _read_operand(scanner)
    if verb is Verb.GREP and not quoted and len(words := wanted.split()) == 2 and looks_like_path(words[1]):
        return [Request("grep_search", {"pattern": words[0], "path": words[1]})]
    places = _read_places(scanner)
    if about_files or (verb is Verb.FIND and not quoted and _is_glob(wanted)):
        pattern = wanted if verb is Verb.GLOB or "/" in wanted else f"**/{wanted}"
        return [_build_glob(pattern, place) for place in places] or [
            Request("glob_search", {"pattern": pattern})
        ]
    pattern = wanted if verb is Verb.GREP else _build_expression(wanted, quoted=quoted)
    return [Request("grep_search", {"pattern": pattern, "path": place}) for place in places or ["."]]


def _read_operand(scanner: Scanner) -> tuple[str, bool]:
    """What to look for: one quoted text, or all up to the last unquoted "in", or to the end of the clause."""
    if (inner := scanner.read_quoted()) is not None:
        if not inner:
            raise Misread("There is nothing between the quotes to look for.")
        return inner, True
    start, end = scanner.pos, scanner.find_clause_end()
    places = list(scanner.find_unquoted(_PLACE, end))
    scanner.pos = places[-1].start() if places else end
    wanted = scanner.text[start : scanner.pos].strip()
    if not places:
        wanted = wanted.rstrip(".!?") or wanted
    if not wanted:
        raise Misread("Say what to look for, for example: find TODO in src.")
    return wanted, False


def _read_places(scanner: Scanner) -> list[str]:
    scanner.skip_spaces()
    if not scanner.skip(_PLACE):
        return []
    return require_names(scanner, "Name the file or folder to search in.", folders=True)


def _is_glob(word: str) -> bool:
    return "*" in word and not any(c.isspace() for c in word) and ("." in word or "/" in word)


def _build_glob(pattern: str, folder: str) -> Request:
    return Request("glob_search", {"pattern": pattern, "base_dir": folder})


def _build_expression(text: str, *, quoted: bool) -> str:
    """What the search tool takes for it: bare /text/ is an expression already, all else is meant literally."""
    if not quoted and len(text) > 2 and text.startswith("/") and text.endswith("/"):
        return text[1:-1]
    return escape_regex(text)


def escape_regex(text: str) -> str:
    """Plain text as a regular expression that matches exactly it."""
    return _SPECIAL.sub(r"\\\1", text)


_THE_COMMAND = re.compile(r"\s*+(?:(?:(?:the|this)\s++)?command(?=[\s:`]))?\s*+:?[ \t]*+", re.IGNORECASE)
_NO_COMMAND = frozenset(["all", "it", "my", "that", "the", "them", "these", "this", "those"])
_RUNNING_IN = re.compile(r"\s++in(?=\s)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[^\W_])\.\Z")
_COLON = re.compile(r"\s*+:[ \t]*+")
_BULLET = re.compile(r"\s*+(?:[-*•]|\d{1,3}[.)])?\s*+")


def run(scanner: Scanner) -> list[Request]:
    """run COMMAND, run `COMMAND` [in FOLDER], run: and a fenced block"""
    scanner.skip(_THE_COMMAND)
    arguments = {"command": _read_delimited(scanner) or _strip_quotes(scanner)}
    words = arguments["command"].split()
    if not words or words[0].casefold() in _NO_COMMAND:
        raise Misread("Name the command itself, for example: run `pytest -q`.")
    if scanner.skip(_RUNNING_IN):
        if (folder := read_name(scanner)) is None:
            raise Misread("Name the folder to run the command in.")
        arguments["working_dir"] = folder
    return [Request("run_command", arguments)]


def _read_delimited(scanner: Scanner) -> str | None:
    """A command in a fenced block or in backticks, or one quoted text that is all of the request."""
    if (fenced := scanner.read_fence()) is not None:
        return fenced.strip("\n")
    start = scanner.pos
    is_code = scanner.text.startswith("`", start)
    inner = scanner.read_quoted()
    if inner is None:
        return None
    if is_code or scanner.at_request_end:
        return inner
    scanner.pos = start
    return None


def _strip_quotes(scanner: Scanner) -> str:
    start = scanner.pos
    scanner.pos = scanner.find_clause_end(command=True)
    command = COURTESY.sub("", scanner.text[start : scanner.pos].strip()).rstrip(" ,")
    return _SENTENCE_END.sub("", command)


def plan(scanner: Scanner) -> list[Request]:
    """plan: STEP; STEP; STEP on one line, or one step on each line below, up to an empty line"""
    if not scanner.skip(_COLON):
        raise Misread("Steps follow a colon, for example: plan: read the code; fix the test; run it.")
    line_end = _find(scanner.text, "\n", scanner.pos)
    line = scanner.text[scanner.pos : line_end]
    if line.strip():
        steps, scanner.pos = line.split(";"), line_end
    else:
        block_end = _find(scanner.text, "\n\n", line_end + 1)
        steps, scanner.pos = scanner.text[line_end:block_end].split("\n"), block_end
    items = [
        {"text": text, "status": "pending"}
        for step in steps
        if (text := _BULLET.sub("", step, count=1).strip())
    ]
    if not items:
        raise Misread("A plan needs at least one step after the colon.")
    return [Request("update_plan", {"items": items})]


def _find(text: str, mark: str, start: int) -> int:
    found = text.find(mark, start)
    return len(text) if found == -1 else found


_PLEASE = r"(?:て|で|する|る|む)?(?:ください|下さい|ね)?"
_END = re.compile(
    rf"を\s*(?:(?P<read>読ん|読|見せ|表示し|表示)|(?P<find>検索し|検索|探し)|(?P<run>実行し|実行))"
    rf"{_PLEASE}(?=[\s、。,;]|\Z)|に\s*(?P<edit>置換し|置換|置き換え|変更し|変更){_PLEASE}(?=[\s、。,;]|\Z)"
)
_FILES = re.compile(r"\s*(?:[、,]|と|及び|および)\s*")
_JAPANESE_PLACE = re.compile(r"\s*(?:の中で|の中から|内で|内から|で|から)\s*")
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
                Request("read_file", {"path": path})
                for path in map(_strip_japanese_quotes, _split_parts(said, _FILES))
            ]
        case "find":
            found = _parse_finding(_split_parts(said, _JAPANESE_PLACE))
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
                    "grep_search",
                    {"pattern": escape_regex(strip_quotes(wanted)), "path": _strip_japanese_quotes(place)},
                )
            ]
        case _:
            return []


def _parse_editing(said: str) -> list[Request]:
    path, change = _split_once(said, _OF)
    old, new = map(strip_quotes, _split_once(change, _OBJECT))
    if old == new:
        return []
    return [Request("edit_file", {"path": _strip_japanese_quotes(path), "old_text": old, "new_text": new})]


def _strip_japanese_quotes(text: str) -> str:
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
