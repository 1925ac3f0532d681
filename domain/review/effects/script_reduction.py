"""One script as effects: its commands in order, and what its variables and streams hold."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct, field

from quorum.domain.replacing import replace
from quorum.domain.review.effects.handed_files import (
    HANDS_ON,
    find_engine_elsewhere,
    list_handed_secrets,
    list_mounted_secrets,
)
from quorum.domain.review.effects.interpreter_reduction import InterpreterReduction
from quorum.domain.review.effects.places import find_host, find_secret, is_grave, is_local, is_record
from quorum.domain.review.effects.program_effects import SHELL, SUBSTITUTION, VARIABLE, WHOLE_SUBSTITUTION
from quorum.domain.review.effects.program_reduction import ProgramReduction
from quorum.domain.review.effects.side_effect import (
    NO_DATA,
    VARIABLES_OF,
    Data,
    DataKind,
    Datum,
    EffectKind,
    SideEffect,
    find_kind,
)
from quorum.domain.review.effects.surroundings import CommandReduction, Output
from quorum.domain.review.effects.word_judgement import judge_program_name, judge_words
from quorum.domain.review.hazards.invocation import (
    Invocation,
    find_handed_values,
    find_listed_words,
    hold_own_words,
    is_assignment,
    list_texts_in_options,
    unwrap,
)
from quorum.domain.review.hazards.places import find_new_temporary
from quorum.domain.review.hazards.started_programs import enter_started, list_found
from quorum.domain.review.hazards.starters import STARTERS
from quorum.domain.secrets.patterns import is_secret_name
from quorum.domain.shell.command_line import Redirect
from quorum.domain.shell.script import ScriptCommand

_MOST_STARTED = 12
_LONGEST_WORD = 4_096
_PLAIN_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_WRITES_TO = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_OVERWRITES = frozenset({">", ">|", "&>"})
_OF_SEVERAL_FILES = re.compile(r"""[*?]|^"?\$(?:\{\w+\}|\w+)"?$""")  # a pattern, or what a loop goes over
_BRACES = re.compile(r"([\w./~*?-]*)\{([\w./~*-]*(?:,[\w./~*-]*)+)\}([\w./~*?-]*)")
_ROW = re.compile(r"([\w./~*?-]*)\{(\d{1,4})\.\.(\d{1,4})\}([\w./~*?-]*)")
_READ_INTO_VARIABLES = (("read",), ("mapfile",), ("readarray",))
_DESCRIPTOR = re.compile(r"\d+|-")
_UNCHECKED = frozenset(
    {
        ("NODE_TLS_REJECT_UNAUTHORIZED", "0"),
        ("GIT_SSL_NO_VERIFY", "1"),
        ("GIT_SSL_NO_VERIFY", "true"),
        ("PYTHONHTTPSVERIFY", "0"),
        ("CURL_CA_BUNDLE", ""),
        ("REQUESTS_CA_BUNDLE", ""),
        ("GONOSUMDB", "*"),
        ("GONOSUMCHECK", "1"),
        ("GOFLAGS", "-insecure"),
        ("GOSUMDB", "off"),
        ("DOCKER_CONTENT_TRUST", "0"),
        ("SSL_VERIFY", "false"),
    }
)
_COMMAND_VARIABLE = re.compile(
    r"\w*(PAGER|EDITOR|VISUAL|LESSOPEN|LESSCLOSE|BROWSER|_COMMAND|_CMD|ASKPASS|OPENER|PROMPT)|AUTOM4TE"
)
_FILLS_IN = frozenset({"xargs", "parallel"})
_INCOMING = "$(cat)"
"""The word that stands for what comes in."""
_CONTAINERS = frozenset({"docker", "podman", "docker-compose", "podman-compose", "kubectl", "oc"})
_CLOUDS = frozenset({"heroku", "flyctl", "fly", "railway", "render", "cf", "dokku", "eb"})
_HANDS_SECRETS = frozenset(
    {
        *(
            "aws-vault",
            "chamber",
            "op",
            "doppler",
            "infisical",
            "envchain",
            "dotenv",
            "dotenvx",
            "teller",
            "phase",
        ),
        *("saml2aws", "summon", "envconsul"),
    }
)
"""They run a program with the credentials that they keep in its variables."""
_FEEDS = frozenset({"xargs", "parallel", "exec", "command", "builtin", "sudo", "doas"})
_ASKS = frozenset(
    {"curl", "wget", "nc", "ncat", "ping", "http", "dig", "nslookup", "telnet", "ab", "hping3", "ssh"}
)


_NO_OUTPUT = Output()


class ScriptReduction(Struct):
    """One script: what its variables and streams hold, and what is left to print in the end.

    `is_seen_elsewhere`: the guards look at the words of these commands themselves. `engine` is where containers
    are built and run, as a variable says. `turn`: which of its words a loop is at.
    """

    reducer: CommandReduction
    incoming: Data
    is_seen_elsewhere: bool = False
    turn: int = 0
    output: Data = NO_DATA
    texts: list[str] | None = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    held: dict[str, Data] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    remotes: set[str] = field(default_factory=set)
    engine: str = ""
    _streams: dict[int, Output] = field(default_factory=dict)

    @property
    def _code(self) -> InterpreterReduction:
        return InterpreterReduction(self)

    @property
    def _programs(self) -> ProgramReduction:
        return ProgramReduction(self)

    def add(self, kind: EffectKind, does: str, place: str = "") -> None:
        """Take an effect."""
        self.reducer.add(SideEffect(kind, does, place))

    def read(self, path: str, substituted: Data) -> Data:
        """The data of a word that names a file."""
        if path in ("", "-", "/dev/null", "/dev/stdin"):
            return NO_DATA
        if SUBSTITUTION.search(path):
            self.add(EffectKind.READ, f"reads what {path} names", path)
            if path.startswith(("/", "~")) and (secret := find_secret(path)):
                return substituted | {Datum(DataKind.SECRET, secret)}
            return substituted or frozenset({Datum(DataKind.FILE, "a file that it finds")})
        if path.startswith("$") and (held := self.find_data(path, substituted)):
            self.add(EffectKind.READ, f"reads what {path} names", path)
            return held
        return self.reducer.read_file(path)

    def call_function(self, arguments: Sequence[str], substituted: Data) -> None:
        """Take the arguments of a function: what they hold reaches its body."""
        for number, word in enumerate(arguments, 1):
            data = self.find_data(word, substituted)
            for name in (str(number), "@", "*"):
                self.held[name] = self.held.get(name, NO_DATA) | data
            if "$" not in word:
                self.values.setdefault(str(number), word)

    def fetches(self, path: str) -> bool:
        """Whether a file holds what came from the network."""
        file = self.reducer.find_file(path)
        return file is not None and find_kind(file.data, DataKind.FETCHED) is not None

    def reduce(self, command: ScriptCommand) -> None:
        """Take the effects of one command."""
        if command.function:
            self.functions.add(command.function)
            if command.function in ("sudo", "su", "ssh", "passwd", "gpg"):
                self.add(EffectKind.DISGUISE, f"puts a function in place of {command.function}")
        read = [self._streams.get(stream, _NO_OUTPUT) for stream in command.reads]
        streamed = NO_DATA.union(*[each.data for each in read]) if read else NO_DATA
        names = tuple([name for each in read for name in each.names]) if read else ()
        words = self._resolve_command(command, read)
        is_substituted = (
            bool(read) and SUBSTITUTION.search(" ".join((*command.words, *command.assignments))) is not None
        )
        piped = streamed if not is_substituted or len(read) > 1 or not command.words else NO_DATA
        substituted = streamed if is_substituted else NO_DATA
        redirects = tuple(
            [Redirect(each.operator, self._resolve(each.target, read)) for each in command.redirects]
        )
        text = command.text
        if text is None and len(read) == 1 and not is_substituted:
            text = read[0].text
        if command.text is not None:
            piped |= self.find_data(command.text, streamed)
        for redirect in redirects:
            if redirect.operator == "<":
                piped |= self.read(redirect.target, streamed)
                held = self.reducer.find_file(redirect.target)
                text = held.text if held else text
        if not command.reads and not any(each.operator == "<" for each in redirects) and command.text is None:
            piped |= self.incoming
        self._assign(command, words, substituted, piped, read)
        while words and "=" in words[0] and is_assignment(words[0]):
            words = words[1:]
        if not words and not command.assignments:  # what a loop or a group reads
            self.incoming |= piped
        output = Output(piped if not words and command.writes is not None else NO_DATA)
        if words:
            whole = Invocation(
                program=words[0].rpartition("/")[2],
                arguments=words[1:],
                redirects=redirects,
                text=text,
                in_loop=command.in_loop,
            )
            if "/" in words[0]:
                self._code.run_file(words[0], piped)
            self._judge_program_word(command.words[0], words[0], substituted)
            output = self._run_all(whole, piped, substituted, names)
        overwritten = [
            resolved.target
            for given, resolved in zip(command.redirects, redirects, strict=True)
            if resolved.operator in _OVERWRITES and _OF_SEVERAL_FILES.search(given.target)
        ]
        self._emit(output, redirects, command.writes, overwritten)

    def _emit(
        self, output: Output, redirects: Sequence[Redirect], writes: int | None, overwritten: Sequence[str]
    ) -> None:
        targets = [
            each.target
            for each in redirects
            if each.operator in _WRITES_TO
            and not _DESCRIPTOR.fullmatch(each.target)
            and not each.target.startswith(">(")
        ]
        for target, operator in ((each.target, each.operator) for each in redirects if each.target in targets):
            text = output.text
            if operator == ">>" and (known := self.reducer.find_file(target)) is not None:
                text = None if None in (known.text, text) else f"{known.text}\n{text}"
            self.reducer.write_file(target, output.data, text)
            judge_program_name(self, target)
            if target in overwritten and re.search(r"(^|/)[*?]+[^/]*$", target):
                self.add(EffectKind.HARM, f"overwrites whatever fits {target}", target)
            if operator in _OVERWRITES and is_record(target):
                self.add(EffectKind.DISABLE, f"overwrites the record {target}", target)
        if targets:
            return
        if writes is not None:
            streamed = self._streams.get(writes)
            both = (
                output.text
                if streamed is None
                else f"{streamed.text}\n{output.text}"
                if None not in (streamed.text, output.text)
                else None
            )
            self._streams[writes] = Output(
                output.data | (streamed.data if streamed else NO_DATA),
                both,
                (*(streamed.names if streamed else ()), *output.names)[:40],
            )
        else:
            self.output |= output.data
            if self.texts is not None and output.text is not None:
                self.texts.append(output.text)

    def _resolve_command(self, command: ScriptCommand, read: Sequence[Output]) -> tuple[str, ...]:
        known = self.values
        if handed := find_handed_values(command):
            self.values = {**known, **handed}
        words = self._resolve_words(command.words, read)
        self.values = known
        return words

    def _resolve_words(self, given: Sequence[str], read: Sequence[Output]) -> tuple[str, ...]:
        """The words with what is known of their variables; what the shell takes apart is taken apart."""
        whole = " ".join(given)
        if not ("$" in whole or "`" in whole or "{" in whole):
            return tuple(given)
        words: list[str] = []
        for place, word in enumerate(given):
            resolved = self._resolve(word, read) if "$" in word or "`" in word else word
            if (listed := find_listed_words(word, self.values)) is not None:
                words += listed
            elif "IFS" in word or (place == 0 and word[:1] in ("$", "`")):
                words += resolved.split()
            elif place == 0 and word[:1] == "{" and word[-1:] == "}":
                words += word[1:-1].split(",")
            else:
                words += _expand_braces(resolved) if place and "{" in resolved else (resolved,)
        return tuple(words)

    def _resolve(self, word: str, read: Sequence[Output]) -> str:
        is_printed = len(read) == 1 and read[0].text is not None and word[:1] in ("$", "`")
        if is_printed and WHOLE_SUBSTITUTION.fullmatch(word):
            return (read[0].text or "").strip()[:_LONGEST_WORD]
        if "$" not in word:
            return word
        if "IFS" in word:
            word = word.replace("${IFS}", " ").replace("$IFS", " ")
        if not self.values:
            return word
        return _PLAIN_VARIABLE.sub(lambda found: self.values.get(found[1] or found[2], found[0]), word)[
            :_LONGEST_WORD
        ]

    def _assign(
        self,
        command: ScriptCommand,
        words: tuple[str, ...],
        data: Data,
        piped: Data,
        read: Sequence[Output],
    ) -> None:
        if words[:1] in _READ_INTO_VARIABLES:
            for name in words[1:]:
                self.held[name] = self.held.get(name, NO_DATA) | data | piped
        if (own := hold_own_words(words)) is not None:
            self.values["@"] = self.values["*"] = own
        if not command.assignments:
            return
        if not words or words[0] in ("export", "local", "declare", "typeset", "readonly"):
            chosen: dict[str, str] = {}
            for place, assignment in enumerate(command.assignments):
                name, _, value = assignment.partition("=")
                resolved = self._resolve(value, read)
                held = self.find_data(resolved, data)
                if held:
                    self.held[name.rstrip("+")] = self.held.get(name.rstrip("+"), NO_DATA) | held
                if made := find_new_temporary(resolved):
                    self.values[name] = made
                elif SUBSTITUTION.search(resolved) or held:
                    self.values.pop(name, None)
                elif name not in chosen or (place == self.turn if self.turn else is_grave(resolved)):
                    chosen[name] = self.values.get(name[:-1], "") + resolved if name.endswith("+") else resolved
                    self.values[name.rstrip("+")] = chosen[name]
        for assignment in command.assignments:
            self._judge_assignment(assignment, words[:1])

    def _judge_assignment(self, assignment: str, program: tuple[str, ...]) -> None:
        name, _, value = assignment.partition("=")
        is_of_program = name in ("HOME", "XDG_CONFIG_HOME") and program in (("curl",), ("wget",))
        if (is_of_program or name in ("CURL_HOME", "WGETRC")) and value not in ("", "/dev/null"):
            does = f"takes addresses and files to send from a configuration that is not shown: {assignment}"
            self.add(EffectKind.SEND, does, value)
        if name == "PATH" and re.match(r"\"?(/tmp|/var/tmp|/dev/shm|\.(?=:|/)|\$\(pwd\):|\$PWD:)", value):
            self.add(EffectKind.DISGUISE, f"has programs looked for in {value.partition(':')[0]} first")
        elif name == "DOCKER_HOST":
            self.engine = value.strip("'\"")
        elif _COMMAND_VARIABLE.fullmatch(name) and " " in value:
            self.reducer.run_shell(value.strip("'\""), through=name)
        elif (name, value.strip("'\"")) in _UNCHECKED:
            self.add(EffectKind.DISABLE, f"switches the check of other machines off: {assignment}")
        elif (
            name.lower() in ("http_proxy", "https_proxy", "all_proxy")
            and value
            and not is_local(value.strip("'\""))
        ):
            self.add(
                EffectKind.SEND, f"sends what programs ask the network for through {find_host(value)}", value
            )
        elif name in (
            "NODE_OPTIONS",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "RUBYOPT",
            "GIT_SSH_COMMAND",
            "ENV",
            "JAVA_TOOL_OPTIONS",
            "GCONV_PATH",
            "LD_LIBRARY_PATH",
        ) and re.search(r"/tmp|/dev/shm|https?:|(--require|-r|-e|-M|-javaagent)\b", value):
            self.add(EffectKind.DISGUISE, f"has other programs load something by {name}")

    def find_data(self, word: str, substituted: Data) -> Data:
        """What a word holds beside its own letters."""
        data = substituted if SUBSTITUTION.search(word) else NO_DATA
        if "$" not in word:
            return data
        for found in VARIABLE.finditer(word):
            name = found[1] or found[2]
            data |= self.held.get(name, NO_DATA)
            if is_secret_name(name) and name not in self.values:
                data |= {Datum(DataKind.SECRET, f"${name}")}
        return data

    def _judge_program_word(self, written: str, resolved: str, substituted: Data) -> None:
        if not ("$" in written or "`" in written or "(" in written):
            return
        if decoded := find_kind(self.find_data(written, substituted), DataKind.DECODED):
            self.reducer.run_data(frozenset({decoded}))
        elif (
            len(re.findall(r"\$\{?\w+|\$'|\$@|\$\*", written)) > 1
            and not SUBSTITUTION.search(written)
            and "/" not in written
        ):
            self.add(EffectKind.DISGUISE, f"puts the name of a program together: {written}")
        if fetched := find_kind(self.find_data(written, substituted), DataKind.FETCHED):
            self.reducer.run_data(frozenset({fetched}))
        if "$" in resolved and "/" not in resolved:
            self.add(EffectKind.UNKNOWN, f"runs a program that is not known: {written}")

    def _run_all(self, whole: Invocation, piped: Data, substituted: Data, names: tuple[str, ...]) -> Output:
        output = Output()
        self._judge_starter(whole)
        for number, run in enumerate(unwrap(enter_started(whole))):
            if number == _MOST_STARTED:
                break
            starter = run.wrappers[-1] if run.wrappers else whole.program if number else ""
            if run.program in ("cd", "pushd", "popd"):
                folders = (word for word in run.arguments if word == "-" or not word.startswith("-"))
                self.reducer.change_folder(run.program, next(folders, "~"))
            if starter:
                run = replace(run, arguments=self._fill_in(run, starter, whole, names))
                self._judge_started_shell(run, starter)
                for path in (word for word in whole.arguments[:8] if word.endswith(f"/{run.program}")):
                    self._code.run_file(path, piped)
            for text in list_texts_in_options(run):
                self.reducer.run_shell(text, through=run.program)
                if run.program in _CLOUDS | _HANDS_SECRETS and text.strip() in ("env", "printenv"):
                    self.add(EffectKind.REVEAL, f"shows {VARIABLES_OF} what {run.program} runs")
            if starter in _FILLS_IN:  # what comes in are words, not the input of what it starts
                output = Output()
                substituted |= piped
                piped = piped if SHELL.fullmatch(run.program) else NO_DATA
            given = self._programs.run(run, piped, substituted)
            if _shows_variables_of_others(whole, run):
                of_others = Datum(DataKind.ENVIRONMENT, f"{VARIABLES_OF} what {whole.program} runs")
                given = replace(given, data=given.data | {of_others})
            if starter in ("timeout", "gtimeout"):
                given = replace(
                    given, data=frozenset(each for each in given.data if each.kind is not DataKind.ENDLESS)
                )
            output = (
                given
                if not starter
                else Output(output.data | given.data, given.text, given.names or output.names)
            )
        return output

    def _judge_starter(self, whole: Invocation) -> None:
        """Take what a program does by itself that only starts another."""
        if whole.program in HANDS_ON:
            self._hand_on(whole)
        elif whole.program in STARTERS and SHELL.fullmatch("".join(whole.arguments[-1:]).rpartition("/")[2]):
            judge_words(self, whole)

    def _hand_on(self, whole: Invocation) -> None:
        for secret in list_mounted_secrets(whole):
            self.add(EffectKind.REVEAL, f"lets a container see what is in {secret}", secret)
        if host := find_engine_elsewhere(whole, self.engine):
            self.reducer.send(frozenset({Datum(DataKind.FILE, "the files of the folder")}), host)
        for secret, place in list_handed_secrets(whole, self.engine):
            self.add(EffectKind.SEND, f"sends what is in {secret} to {place}", place)

    def _judge_started_shell(self, run: Invocation, starter: str) -> None:
        """A shell that gets nothing to run is one to type into."""
        is_bare = all(re.fullmatch(r"-[ilp]+|\{\}", word) for word in run.arguments)
        if SHELL.fullmatch(run.program) and is_bare and run.text is None and starter not in _FEEDS:
            self.add(EffectKind.ELEVATE, f"starts a shell through {starter}")

    def judge_loop(self, commands: Sequence[ScriptCommand]) -> None:
        """A loop without an end that starts programs or asks other machines."""
        if not any(each.in_loop for each in commands):
            return
        inner = [each.words for each in commands if each.in_loop and each.words]
        endless = [each.words for each in commands if each.is_endless and each.words]
        heads = {words[0] for words in endless}
        if endless and not heads & {
            "sleep",
            "read",
            "break",
            "exit",
            "wait",
            "inotifywait",
            "timeout",
            "return",
        }:
            hosts = [words for words in endless if words[0] in _ASKS and not any(map(is_local, words))]
            if hosts:
                self.add(EffectKind.ATTACK, f"asks another machine again and again: {' '.join(hosts[0])[:60]}")
            elif heads - {"true", ":", "echo", "printf", "[", "[["}:
                self.add(EffectKind.EXHAUST, "goes on without an end")
        for words in inner:
            if words[0] in (
                "ping",
                "nc",
                "ncat",
                "telnet",
                "fping",
                "nslookup",
                "host",
                "dig",
                "arping",
                "ssh",
                "hping3",
            ) and any(
                re.search(r"\d\.\$\{?\w+\}?$|^\$\{?\w*(ip|host|port)\w*\}?$", word) for word in words[1:]
            ):
                self.add(EffectKind.ATTACK, "goes through the addresses or ports of other machines")

    def _fill_in(
        self, run: Invocation, starter: str, whole: Invocation, names: tuple[str, ...]
    ) -> tuple[str, ...]:
        """The arguments with what find or a pipe puts there."""
        if starter in ("find", "gfind", "bfs"):
            found = list_found(whole)
            return tuple(
                each for word in run.arguments for each in (found if word == "{}" and found else (word,))
            )
        if starter in _FILLS_IN:
            sign = next(whole.find_values("-I", "--replace"), "{}")
            filled: tuple[str, ...] = ()
            for word in run.arguments:
                filled += (
                    tuple(word.replace(sign, name) for name in names or (_INCOMING,))
                    if sign in word
                    else (word,)
                )
            return filled if filled != run.arguments else (*run.arguments, *(names or (_INCOMING,)))
        return run.arguments


def _shows_variables_of_others(whole: Invocation, run: Invocation) -> bool:
    """Whether all variables are listed of what runs already, in a place that keeps its credentials in them."""
    if run.program not in ("env", "printenv"):
        return False
    if whole.program in _CLOUDS:  # whose own options may stand behind it
        return run.arguments[:1] == () or run.arguments[0].startswith("-")
    if whole.program in _HANDS_SECRETS:
        return not run.arguments
    is_given = "exec" in whole.arguments or any(word.startswith("--env-file") for word in whole.arguments)
    return whole.program in _CONTAINERS and is_given and not run.arguments


def _expand_braces(word: str) -> Sequence[str]:
    """The words that braces with commas, or with the ends of a row of numbers, stand for; quotes, within which
    they stand for none, are gone here."""
    if (row := _ROW.fullmatch(word)) is not None:
        first, last = sorted((int(row[2]), int(row[3])))
        is_short = last - first < _MOST_STARTED
        return [f"{row[1]}{each}{row[4]}" for each in (range(first, last + 1) if is_short else "*")]
    found = _BRACES.fullmatch(word)
    if found is None or not (found[1] or found[3]):
        return (word,)
    return [f"{found[1]}{each}{found[3]}" for each in found[2].split(",")][:_MOST_STARTED]
