"""What code in Perl, Ruby, JavaScript, PHP, awk and the like would do, by the calls that stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from quorum.domain.review.hazards.database import list_deleted_data
from quorum.domain.review.hazards.files import list_written_places
from quorum.domain.review.hazards.places import holds_credentials
from quorum.domain.review.hazards.python_code import NestedShell
from quorum.domain.review.objection import Objection

_TEXT = r"""(?P<quote>["'`])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)"""
_QUOTED = re.compile(_TEXT, re.DOTALL)
_MOST_WORDS = 20
_RUNS_SHELL = re.compile(
    rf"\b(?:system|exec|spawn|popen|shell_exec|passthru|execSync|spawnSync|exec\w*|os\.execute|getline)\s*\(?\s*{_TEXT}",
    re.DOTALL,
)
_BACKTICKS = re.compile(
    r"`((?:\\.|[^`\\])*)`|%x[\{\[(]([^}\])]*)[}\])]|\bqx[\{\[(/]([^}\])/]*)[}\])/]", re.DOTALL
)
_AWK_COMMAND = re.compile(r'"([^"]*)"\s*\|\s*getline|\|\s*"([^"]*)"')
_DELETES = re.compile(
    r"\b(unlink(Sync)?|rmtree|rm_rf?|rmSync|rmdirSync|rmdir|remove_tree|rimraf|remove_entry(_secure)?"
    r"|fs(\.promises)?\.rm|File\.delete|Dir\.(rmdir|delete)|FileUtils\.(rm|remove)\w*|os\.remove|del_tree"
    r"|Remove-Item|removeSync|emptyDirSync|del_dir_r|deleteDir|deleteRecursively|deleteDirectory|removeItem"
    r"|delete-(directory|file)|file(\s+|\.|:)(delete|remove)|Deno\.remove|Sys\.(remove|rmdir))\b"
    r"|\brm\(.{0,200}?\brecursive\b|(?i:(?:^|(?<=[;{|(&\n]))[ \t]{0,20}"
    r"(ri|rm|del|erase|rd|rmdir)\s[^;|\n]{0,200}(?<=\s)-(r|fo)\w*)"
)
# Calls that start programs in languages where the words of a command stand in texts of their own.
_STARTS = re.compile(
    r"\b(call-process|start-process|shell-command|make-process|os:cmd|open_port|system\*?|Sys\.command"
    r"|Unix\.(system|exec\w*|open_process\w*)|System\.(cmd|shell)|do shell script|Process(Builder)?\b"
    r"|getRuntime|run\b|Deno\.(run|Command)|callCommand|callProcess|readProcess|primitive-fork-exec|run-program|subprocess)"
    r"|\.execute\(|\.!"
)
_BARE_COMMAND = re.compile(r"\bexec\s+([^\s\"'`(\[{=][^;\n\]]*)")  # Tcl
_ENDS = re.compile(r"\b(Process\.kill|process\.kill|posix_kill|kill\s+['\"]?(9|KILL|TERM))")
_OPENED = re.compile(
    rf"\b(?:open|readFile\w*|(?:write|append)File\w*|File\.\w+|IO\.\w+|file_\w+_contents|fopen)\s*\(?\s*{_TEXT}"
)
_WRITES = re.compile(
    r"\b(writeFile\w*|appendFile\w*|File\.write|IO\.write|file_put_contents)|['\"](w|a|w\+|a\+|>|>>)['\"]"
)
_DECODES = re.compile(
    r"(?i)\b(b64decode|decode64|base64_decode|atob|unpack|decode_base64|FromBase64String|unhexlify)\b"
)
_RUNS_CODE = re.compile(r"\b(eval|exec|instance_eval|Invoke-Expression|iex|Function)\b")
_SOCKET = re.compile(
    r"\b(TCPSocket|fsockopen|IO::Socket|net\.(Socket|connect)|socket\s*\(|TCPClient|/inet/tcp)"
)
_SHELL = re.compile(r"(/bin/(ba|z|da)?sh|cmd\.exe|\bexec\b|child_process)")


def _list_started(text: str) -> Iterator[str]:
    """The shell texts, and the commands, that calls in the code start."""
    for run in _RUNS_SHELL.finditer(text):
        yield run["text"].strip("`")
    for pattern in (_BACKTICKS, _AWK_COMMAND, _BARE_COMMAND):
        for run in pattern.finditer(text):
            yield next(filter(None, run.groups()), "")
    if _STARTS.search(text):
        words = [found["text"] for found in _QUOTED.finditer(text)][:_MOST_WORDS]
        yield from (*words, " ".join(words))


def list_effects_of_code(text: str) -> Iterator[Objection | NestedShell]:
    yield from map(NestedShell, _list_started(text))
    if deletion := _DELETES.search(text):
        yield Objection("destructive", f"{deletion[0].strip()}: it deletes files")
    if end := _ENDS.search(text):
        yield Objection("destructive", f"{end[0]}: it ends processes")
    if _DECODES.search(text) and _RUNS_CODE.search(text):
        yield Objection("network", "it runs code that is hidden in data")
    if _SOCKET.search(text) and _SHELL.search(text):
        yield Objection("network", "it gives another machine a shell")
    writes = _WRITES.search(text)
    for opened in _OPENED.finditer(text):
        if holds_credentials(opened["text"]):
            yield Objection("secret", f"it reads {opened['text']}, which holds credentials")
        if writes:
            yield from list_written_places((opened["text"],))
    yield from list_deleted_data((text,))
