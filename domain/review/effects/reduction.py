"""A shell text as the effects that it has: what it reads, writes and sends, and which data get where.

Nothing is run and no file is looked at. What cannot be told is unknown, and says which part it is.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence

from quorum.domain.review.effects.code_effects import reduce_code
from quorum.domain.review.effects.places import (
    find_host,
    find_secret,
    is_local,
    is_program_folder,
    starts_by_itself,
)
from quorum.domain.review.effects.python_effects import reduce_python
from quorum.domain.review.effects.script_reduction import ScriptReduction
from quorum.domain.review.effects.side_effect import (
    NO_DATA,
    VARIABLES_OF,
    Data,
    DataKind,
    Datum,
    EffectKind,
    SideEffect,
    find_kept,
    find_kind,
)
from quorum.domain.review.effects.surroundings import Output, WrittenText
from quorum.domain.review.hazards.places import belongs_to_system, governs_agents, is_device
from quorum.domain.shell.script import ReadScript

_MOST_TURNS = 4
_DEEPEST = 6
_MOST_TEXTS = 60
_LONGEST_PATH = 1_024
_MOST_COMMANDS = 1_000
_SHELL_CELL = re.compile(r"\s*%%(?:bash|sh|script)\b.*")
_SHELL_LINE = re.compile(r"(?m)^[ \t]*(?:!+|%(?:sx|sh|system)[ \t])[ \t]*(.+)")
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/?")
_ENDLESS = re.compile(r"/dev/(zero|u?random|full)")


def reduce_command(
    text: str,
    read_script: ReadScript,
    roots: Sequence[str] = (),
    *,
    judges_files: bool = False,
    folder: str = "",
) -> tuple[SideEffect, ...]:
    """The effects of a shell text, each once. `roots` are the folders of the workspace; it runs in `folder`.

    `judges_files`: also what the texts that it puts into files will do when somebody runs them.
    """
    reducer = Reducer(read_script, roots, judges_files=judges_files)
    reducer.folder = folder
    shown = reducer.run_shell(text)
    reducer.reveal(shown)
    return tuple(reducer.effects)


def reduce_program_text(text: str, language: str, read_script: ReadScript) -> tuple[SideEffect, ...]:
    """The effects of code in a file, by the name of its language."""
    reducer = Reducer(read_script)
    if language == "python":
        reduce_python(text, reducer)  # a part of a file may be no whole code: then nothing is told of it
    else:
        reduce_code(text, reducer, program=language)
    return tuple(reducer.effects)


def reduce_run_code(text: str, read_script: ReadScript) -> tuple[SideEffect, ...]:
    """The effects of code that a tool runs: it is Python if it can be read as such, with lines for the shell as
    notebooks have them."""
    reducer = Reducer(read_script, is_seen_elsewhere=False)
    if cell := _SHELL_CELL.match(text):
        reducer.reveal(reducer.run_shell(text[cell.end() :]))
        return tuple(reducer.effects)
    reducer.reveal(reducer.run_shell("\n".join(_SHELL_LINE.findall(text))))
    text = _SHELL_LINE.sub("", text)
    shown = reduce_python(text, reducer)
    reducer.reveal(reduce_code(text, reducer) if shown is None else shown)
    return tuple(reducer.effects)


class Reducer:
    """Collects the effects of texts that run each other, and what they put into files."""

    def __init__(
        self,
        read_script: ReadScript,
        roots: Sequence[str] = (),
        *,
        is_seen_elsewhere: bool = True,
        judges_files: bool = False,
    ) -> None:
        """`is_seen_elsewhere`: guards look at the words of the outermost text themselves."""
        self.roots = roots
        self.effects: dict[SideEffect, None] = {}
        self.fetched_tree: Datum | None = None
        self.folder = ""
        self._folder_before = ""
        self._pushed: list[str] = []
        self._read_script = read_script
        self._judges_files = judges_files
        self._files: dict[str, WrittenText] = {}
        self._texts = 0
        self._depth = 0
        self._seen_depth = 1 if is_seen_elsewhere else 0

    # ---------------------------------------------------------------- effects

    def add(self, effect: SideEffect) -> None:
        """Take an effect."""
        self.effects.setdefault(effect)

    def send(self, data: Data, host: str) -> None:
        """Take the effects of data sent to a host, unless that is this machine."""
        if is_local(host):
            return
        if kept := find_kept(data):
            self.add(SideEffect(EffectKind.SEND, f"sends {kept.describe()} to {find_host(host)}", host))
        if find_kind(data, DataKind.ENDLESS):
            self.add(SideEffect(EffectKind.ATTACK, f"floods {find_host(host)}", host))

    def run_data(self, data: Iterable[Datum]) -> None:
        """Take the effects of data that are run as code."""
        data = frozenset(data)
        if not data:
            return
        if fetched := find_kind(data, DataKind.FETCHED):
            self.add(
                SideEffect(
                    EffectKind.RUN_FETCHED,
                    f"runs what it fetches from {find_host(fetched.origin)}",
                    fetched.origin,
                )
            )
        if decoded := find_kind(data, DataKind.DECODED):
            self.add(
                SideEffect(
                    EffectKind.RUN_HIDDEN, f"runs code that is hidden from the reader by {decoded.origin}"
                )
            )

    def reveal(self, data: Data) -> None:
        """Take the effects of data that are shown."""
        if secret := find_kind(data, DataKind.SECRET):
            self.add(SideEffect(EffectKind.REVEAL, f"shows {secret.describe()}", secret.origin))
        for each in data:
            if each.kind is DataKind.ENVIRONMENT and each.origin.startswith(VARIABLES_OF):
                self.add(SideEffect(EffectKind.REVEAL, f"shows {each.origin}"))

    # ---------------------------------------------------------------- files

    def change_folder(self, program: str, path: str) -> None:
        """Take paths that follow as relative to another folder, as `cd`, `pushd` or `popd` change it."""
        before = self.folder
        if program == "popd":
            self.folder = self._pushed.pop() if self._pushed else self.folder
        elif path == "-":
            self.folder = self._folder_before
        else:
            if program == "pushd":
                self._pushed.append(before)
            self.folder = self._place(path)
        self._folder_before = before

    def read_file(self, path: str) -> Data:
        """The data that a file holds."""
        if found := self._files.get(_shorten(path)):
            self.add(SideEffect(EffectKind.READ, f"reads {path}", path))
            return found.data
        if secret := find_secret(path) or (self.folder and find_secret(self._place(path))):
            return frozenset({Datum(DataKind.SECRET, secret)})
        if "://" in path and not is_local(path):
            self.add(SideEffect(EffectKind.CONNECT, f"connects to {find_host(path)}", path))
            return frozenset({Datum(DataKind.FETCHED, path)})
        if _ENDLESS.fullmatch(path):
            return frozenset({Datum(DataKind.ENDLESS, path)})
        if socket := _SOCKET.match(path):
            self.add(SideEffect(EffectKind.CONNECT, f"connects to {socket[1]}", socket[1]))
            return frozenset({Datum(DataKind.FETCHED, path)})
        self.add(SideEffect(EffectKind.READ, f"reads {path}", path))
        read = frozenset({Datum(DataKind.FILE, path)})
        if self.fetched_tree and not path.startswith(("/", "~", "..")):
            read |= {self.fetched_tree}
        return read

    def write_file(self, path: str, data: Data, text: str | None = None) -> None:
        """Take the effects of data put into a file."""
        if found := _SOCKET.match(path):
            self.add(SideEffect(EffectKind.CONNECT, f"connects to {found[1]}", found[1]))
            self.send(data, found[1])
            return
        self.add(SideEffect(EffectKind.WRITE, f"writes {path}", path))
        if starts_by_itself(self._place(path)):
            self.add(
                SideEffect(
                    EffectKind.PERSIST,
                    f"writes {path}, which runs, or lets somebody in, without being asked",
                    path,
                )
            )
        if governs_agents(self._place(path)):
            does = f"changes the settings or records that hold an agent to asking: {path}"
            self.add(SideEffect(EffectKind.PERSIST, does, path))
        is_far = path.startswith(("/", "~", "$HOME")) or ".." in path
        secret = find_kind(data, DataKind.SECRET)
        if len(path) < _LONGEST_PATH and (path == "/" or is_device(path) or belongs_to_system(path)):
            self.add(SideEffect(EffectKind.ALTER, f"writes to the system's own files: {path}", path))
        if secret and (is_far or secret.origin.startswith(("/", "~", "$"))) and path != "/dev/null":
            self.add(SideEffect(EffectKind.REVEAL, f"copies {secret.describe()} to {path}", path))
        if (fetched := find_kind(data, DataKind.FETCHED)) and is_program_folder(path):
            self.add(
                SideEffect(
                    EffectKind.RUN_FETCHED,
                    f"puts what it fetches from {find_host(fetched.origin)} among the programs: {path}",
                    path,
                )
            )
        if endless := find_kind(data, DataKind.ENDLESS):
            self.add(SideEffect(EffectKind.EXHAUST, f"goes through {endless.origin}, which has no end"))
        if text:
            self.judge_text(path, text)
        known = self._files.get(_shorten(path))
        self._files[_shorten(path)] = WrittenText(data | (known.data if known else NO_DATA), text)

    def judge_text(self, path: str, text: str) -> None:
        """Take what a text has others do that is put into a file."""
        if not self._judges_files:
            return
        # Most commands put no text into a file, and its tables take some milliseconds to compile.
        from quorum.domain.review.effects.file_contents import GRAVE_IN_FILES, judge_contents, list_commands

        self.effects.update(dict.fromkeys(judge_contents(path, text)))
        if self._depth > 2:
            return
        for command in list_commands(path, text):
            written = Reducer(self._read_script, self.roots, judges_files=True)
            written._depth, written._seen_depth, written._texts = self._depth + 1, self._depth + 2, self._texts
            written.reveal(written.run_shell(command))
            self._texts = written._texts
            for effect in written.effects:
                if effect.kind in GRAVE_IN_FILES:
                    self.add(SideEffect(effect.kind, f"adds code to {path} that {effect.does}", effect.place))

    def _place(self, path: str) -> str:
        return path if path.startswith(("/", "~", "$")) else posixpath.join(self.folder, path)

    def take_text(self, path: str) -> str | None:
        """The text of a file, if it is known; once, since a text may run itself."""
        file = self._files.get(_shorten(path))
        if file is None or file.text is None:
            return None
        self._files[_shorten(path)] = WrittenText(file.data, None)
        return file.text

    def find_file(self, path: str) -> WrittenText | None:
        """What this text has put into a file."""
        return self._files.get(_shorten(path)) if self._files else None

    def list_files(self) -> Sequence[str]:
        """The files that this text has put something into."""
        return tuple(self._files)

    # ---------------------------------------------------------------- texts

    def run_shell(self, text: str, incoming: Data = NO_DATA, through: str = "") -> Data:
        """Take the effects of a shell text that `through` starts, and return what it prints."""
        return self.run_text(text, incoming, through).data

    def run_text(self, text: str, incoming: Data = NO_DATA, through: str = "") -> Output:
        """The same, with what is known of the text that it prints."""
        self._texts += 1
        if not text.strip():
            return Output()
        if self._depth > _DEEPEST or self._texts > _MOST_TEXTS:
            self.add(SideEffect(EffectKind.UNKNOWN, "runs texts that run texts, too many to be reduced"))
            return Output(incoming)
        if through and re.fullmatch(
            r"(exec\s+)?(/\S*/)?(ba|z|da|k|c|a)?sh(\s+-[ilp]+)*(\s+[0-9<>&]+)*", text.strip()
        ):
            self.add(SideEffect(EffectKind.ELEVATE, f"starts a shell through {through}"))
        self._depth += 1
        script = self._read_script(text)
        if script.problem is not None:
            self.add(SideEffect(EffectKind.UNKNOWN, f"cannot be read as a whole: {script.problem}"))
        part = ScriptReduction(self, incoming, is_seen_elsewhere=self._depth == self._seen_depth)
        commands = script.commands[:_MOST_COMMANDS]
        part.judge_loop(commands)
        is_repeated = any(
            each.in_loop or each.function or each.words[:1] in (("mkfifo",), ("mknod",)) for each in commands
        )
        values = max((len(each.assignments) for each in commands if each.in_loop), default=0)
        # What a loop holds reaches what stands in front of it, and each of its words is one of its turns.
        for turn in range(max(2, min(values, _MOST_TURNS)) if is_repeated else 1):
            part.turn = turn
            for command in commands:
                part.reduce(command)
        self._depth -= 1
        return Output(part.output, "\n".join(part.texts) if part.texts is not None else None)


def _shorten(path: str) -> str:
    while path.startswith("./"):
        path = path[2:]
    return path
