"""What the person plainly asks for, read from a message that they typed, and from nothing else.

A guard that can be talked out of its objections is useless, so little is read: a short message in English that
says in the imperative what to do and to what. A message that refuses, reports, asks, quotes or looks pasted is
no plain request, and the objection stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.review.request_wording import (
    holds_only_plain_words,
    list_kinds_of_files,
    list_stages,
    restate,
)
from quorum.domain.text.pattern import compile_once

_COMMON = frozenset(
    {
        *("file", "files", "folder", "folders", "directory", "all", "the", "src", "tests", "test", "json"),
        *("txt", "home", "user", "users", "lib", "usr", "var", "com", "org"),
    }
)
"""Parts of many names, which tell nothing about one."""
_SHORTEST = 3
_SPELLINGS = {
    ".": ("current", "this", "here"),
    ".venv": ("virtual", "virtualenv", "venv"),
    "venv": ("virtual", "virtualenv"),
    "/tmp": ("temp", "tmp", "temporary"),
    "*~": ("~", "backup", "backups", "emacs", "editor"),
}


def normalize_name(name: str) -> str:
    """A name as names are compared: in small letters, without `./` in front and a slash behind."""
    return _strip_name(name).casefold()


def _strip_name(name: str) -> str:
    return name.removeprefix("./").rstrip("/") or name


def list_spellings(name: str) -> frozenset[str]:
    """The words by which a person may name it as a whole."""
    normal = normalize_name(name)
    found = {normal, *_SPELLINGS.get(normal, ())}
    if ending := re.fullmatch(r"\*\.(\w+)", normal):
        found |= {ending[1], f".{ending[1]}", *list_kinds_of_files(ending[1])}
    if variable := re.fullmatch(r"\$\{?(\w+)\}?", normal):
        found.add(f"${variable[1]}")
    if hidden := re.fullmatch(r"~/(\.(\w+))", normal):
        found |= {hidden[1], hidden[2]}
    if "/systemd/" in f"{normal}/":
        found.add("service")
    return frozenset(found)


def split_name(name: str) -> frozenset[str]:
    """The parts of a name that tell something about it."""
    parts = re.split(r"[/._:@=-]+", name.casefold())
    return frozenset(part for part in parts if len(part) >= _SHORTEST) - _COMMON


def is_open(name: str) -> bool:
    """Whether it stands for whatever is there: a pattern, or the folder that the command runs in."""
    return name in (".", "./") or re.search(r"[*?\[]", name) is not None


_LONGEST = 400  # characters; pasted pages are longer
_MOST_BREAKS = 2


class Effect(StrEnum):
    """What a person can plainly ask for although a guard objects to it."""

    DELETE = "delete"
    EMPTY = "empty"
    DISCARD = "discard"
    OVERWRITE = "overwrite"
    REWRITE = "rewrite"
    UPDATE = "update"
    END = "end"
    CHANGE_RIGHTS = "change rights"
    ELEVATE = "elevate"
    PUBLISH = "publish"
    INSTALL = "install"
    LOAD = "load"
    TAKE_AWAY = "take away"
    GO_BACK = "go back"
    SCALE = "scale"


class Asked(StrEnum):
    """How plainly a request asks for what a guard found.

    NOT: not at all. EFFECT: for such an effect, and where targets have names, on one of these. TARGETS: for the
    effect on each target by its name, without any limit.
    """

    NOT = "not"
    EFFECT = "effect"
    TARGETS = "targets"


class RequestTerms(Struct, frozen=True, kw_only=True):
    """What a request must hold to ask for what a guard found: the effect and the `names` of its targets.

    `nouns` is a pattern of what stands for targets without a name, such as stashes; with `needs_noun` it must
    stand beside names too. `kinds` are words for targets that only a selection finds, such as "files"; they
    never say which. `kind` is a pattern of the words for what the names are, where that is known and no file;
    with `needs_kind` a request must say it. `limits`: the ages and sizes that a selection is limited to, as
    tests of find, and that they are empty. `left_out`: the names that a selection leaves out.
    `is_fed`: a find or another command selects the targets, by `names`.
    `is_exact`: the names say all that is touched. `are_files`: the targets are files and folders.
    `stages`: those that the call names, such as production.
    `needs_all`: one sentence must hold each name, and a noun if there are any. `calls`: the call itself, which
    asks for it where the person says to run it.
    """

    effect: Effect
    names: frozenset[str] = frozenset()
    nouns: str = ""
    needs_noun: bool = False
    kinds: str = ""
    kind: str = ""
    needs_kind: bool = False
    limits: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    is_fed: bool = False
    is_exact: bool = True
    are_files: bool = False
    stages: frozenset[str] = frozenset()
    needs_all: bool = False
    calls: frozenset[str] = frozenset()


_DELETES = (
    r"delet(?:e|es|ing)|remov(?:e|es)|eras(?:e|es)|unlinks?|prunes?|trash|throws? (?:away|out)|"
    r"gets? rid of|cleans?(?: up)?|clears?|wipes?|purges?|drops?|flush|empty|shreds?|overwrites?|recreate|rm|"
    r"(?:take|tear) (?:\S+ ){0,4}down|nukes?|destroys?|truncates?|blows? away|(?:throw|blow) (?:\S+ ){1,4}away"
)
_VERBS: dict[Effect, str] = {
    Effect.DELETE: _DELETES,
    Effect.EMPTY: r"empty|empties|truncates?|clears?|creates?",
    Effect.DISCARD: r"discards?|throws? away|reverts?|resets?|undo|restores?|put (?:\S+ ){1,4}back|drops?|"
    r"clears?|cleans?|remov(?:e|es)|delet(?:e|es)|gets? rid of|give me a (?:pristine|clean)",
    Effect.OVERWRITE: r"force[- ]push|push --force|overwrite",
    Effect.REWRITE: r"rewrite",
    Effect.UPDATE: r"set|update|reset",
    Effect.END: r"kill|stop|end|terminate|quit|shut down",
    Effect.CHANGE_RIGHTS: r"chmod|chown|chgrp|changes?|set|make|give|hand over",
    Effect.ELEVATE: r"(?:you (?:may|can|have to|need to) )?(?:use |with )?(?:sudo|as root)",
    Effect.PUBLISH: r"publish|upload|release|create|merge|push|deploy|roll out|ship",
    Effect.INSTALL: r"add|append|put|install|schedule|use|enable|make|create|set up|write",
    Effect.LOAD: r"stress|load",
    Effect.TAKE_AWAY: rf"{_DELETES}|terminate|decommission|deprovision|revoke|cancel|evict|expunge|uninstall|"
    r"suspend|unpublish|kick|ban|obliterate",
    Effect.GO_BACK: r"roll (?:\S+ ){0,4}back|rollback|revert|downgrade|undo|reset|migrate (?:\S+ ){0,4}down",
    Effect.SCALE: r"scale|stop|shut down|resize",
}
_RUN = r"(?:run|execute|call|invoke|start|use)\s+(?:the )?[\"'`“]?"
# Where an instruction begins: at the start, behind a mark or "and", or behind a polite opening.
_OPENING = (
    r"(?:^|[.;:!,\u2013\u2014]\s+|\s-\s|\b(?:and|then|please|now|also|just)\s+|"
    r"\b(?:can|could|will|would) you\s+|\bhelp me\s+(?:to\s+)?|"
    r"\b(?:i|we) (?:want|need|would like|'d like)(?: you)? to\s+|\blet'?s\s+)"
    r"(?:(?:please|then|now|also|just|simply|recursively|forcibly|force|permanently|completely)[\s,]+)*"
)
# A refusal may be about this very call. "I do not need it" is none.
_REFUSAL = (
    r"(?i)\b(?:(?:do not|don['’]?t)(?! (?:need|use|belong|match|have|contain|exist)\b)|"
    r"never(?! (?:existed|pushed|used|needed|committed|been)\b)|"
    r"(?:must|should|may|can|could|would)(?: not|n['’]?t|not)|hands off|"
    r"without (?:deleting|removing|touching|rewriting|changing|losing|overwriting)|keep|"
    r"leave|preserve|avoid|careful|dry[- ]run|stop (?:deleting|removing))\b"
)
_REPORT = (
    r"(?i)\b(?:sa(?:ys?|id)|tells?|told me|writes?|wrote|written|reads?|reports?|prints?|printed|suggests?|"
    r"recommends?|claims?|error|warning|message|output|instructions?|according|documentation|readme|explain|describe|means|meaning|"
    r"command|script|example|would|should)\b"
)
_LIMIT = (
    r"(?i)\b(?:not|no|except|but|only|unless|instead|rather|if|when|whether|once|until|before|after|in case|"
    r"skip|ignore|older|newer|oldest|newest|modified|changed|larger|smaller|bigger|empty|first|last|more than|"
    r"less than|at least|at most|whose|contain(?:s|ing)?|size|some|unnecessary|unneeded|useless|"
    r"everything(?! (?:in|inside|within|under|below)\b)|anything)\b|n['’]t\b"
)
# An age or a size as a limit: whether it is a lower one, the number, and the unit.
_MEASURE = (
    r"(?i)(?:\b(?:that|which|and)\s+)?(?:\b(?:are|were|is|was|have|has)\s+)?(?:\b(?:been\s+)?(?:modified|changed)\s+)?"
    r"\b(?:(?P<more>older than|(?:larger|bigger|greater|more) than|over"
    r"|not (?:been )?(?:modified|changed|touched) (?:in|within|for|since) (?:the )?(?:last|past))"
    r"|(?P<less>newer than|(?:smaller|less) than|under|(?:in|within) the (?:last|past)))"
    r"\s+(?P<number>\d{1,6})\s*(?P<unit>minutes?|hours?|days?|weeks?|kb?|mb?|gb?|[kmg]ib)\b"
    r"(?:\s+(?:old|ago|in size)\b)?"
)
NO_BYTES = "-empty"
"""The limit of a selection to files that are empty."""
_NO_BYTES = r"(?i)\b(?:empty|zero[- ]bytes?|0[- ]bytes?)\b"
_UNITS = {"h": ("-mmin", 60), "d": ("-mtime", 1), "w": ("-mtime", 7)}
_SIZES = {"k": "k", "m": "M", "g": "G"}
# What something is to be taken out of: names in a list or in settings are no files.
_PLACE = (
    r"(?i)\b(?:from|out of|in|inside|within|on|at)(?:\s+(?:and|or)\s+(?:below|under|beneath))?\s+"
    r"(?:(?:the|this|that|these|my|our|your|its|all|current)\s+)*"
    r"((?:\S+\s*){1,2})"
)
_KNOWN_PLACES = frozenset(
    {
        *(
            "here",
            "there",
            "folder",
            "folders",
            "directory",
            "directories",
            "project",
            "repo",
            "repository",
            "git",
        ),
        *(
            "workspace",
            "disk",
            "root",
            "scratch",
            "tree",
            "database",
            "db",
            "docker",
            "cluster",
            "machine",
            "parallel",
        ),
        *(
            "case",
            "remote",
            "origin",
            "total",
            "place",
            "system",
            "computer",
            "branch",
            "namespace",
            "it",
            "them",
        ),
    }
)
# What may stand between a verb and the name of its object, and behind that name: anything else may be what is
# meant, and the name only say where it is or of what kind.
_JOINING = frozenset({",", "&", "and", "or", "plus", "then", "also", "both", "either", "as", "well"})
_BEFORE_NAME = frozenset(
    {
        *("the", "this", "that", "these", "those", "my", "our", "your", "its", "a", "all", "every", "each"),
        *(
            "entire",
            "whole",
            "complete",
            "remote",
            "local",
            "called",
            "named",
            "of",
            "rid",
            "out",
            "away",
            "up",
        ),
        *("generated", "existing", "down", "off", "please", "now", "just", "force", "to", "at", "with", "by"),
        *(
            "an",
            "empty",
            "everything",
            "group",
            "owner",
            "ownership",
            "mode",
            "permissions",
            "rights",
            "belong",
        ),
    }
)
_KINDS_OF_FILES = frozenset(
    {
        *("file", "files", "folder", "folders", "directory", "directories", "dir", "dirs", "subfolder", "tree"),
        *("path", "paths", "link", "symlink", "archive", "artifact", "artifacts", "output", "item", "items"),
    }
)
_KINDS_OF_OTHERS = frozenset(
    {
        *(
            "branch",
            "branches",
            "tag",
            "tags",
            "stash",
            "stashes",
            "commit",
            "commits",
            "database",
            "databases",
        ),
        *("table", "tables", "container", "containers", "image"),
        *("images", "volume", "volumes", "network", "networks", "process", "processes", "pid", "pids", "job"),
        *("jobs", "service", "services", "server", "servers", "pod", "pods", "deployment", "namespace"),
        *("release", "package", "app", "application", "environment", "cache", "worktree", "repository", "repo"),
        *(
            "user",
            "users",
            "group",
            "rows",
            "records",
            "row",
            "record",
            "entries",
            "data",
            "contents",
            "content",
        ),
        *("db", "cluster", "daemon", "instance", "instances", "session", "sessions", "key", "keys", "secret"),
    }
)
_HOLDERS = frozenset({"group", "owner", "user", "of"})
"""They may stand between those who get rights and what they get them for."""
_AFTER_NAME = frozenset(
    {
        *(".", ";", ":", "!", "?", ")", "from", "in", "on", "at", "under", "inside", "within", "below", "here"),
        *("there", "away", "out", "down", "up", "back", "please", "now", "too", "again", "completely", "fully"),
        *(
            "recursively",
            "permanently",
            "entirely",
            "forcibly",
            "immediately",
            "which",
            "that",
            "so",
            "because",
        ),
        *("since", "for", "with", "by", "using", "via", "to", "into", "who", "they", "it", "we", "i", "as"),
        *("belong", "belongs", "readable", "writable", "executable"),
        *("altogether", "today", "first", "directly", "properly", "quickly", "is", "are", "was", "were", "has"),
    }
)
# Their object stands between them and their other part.
_PARTED_VERBS = frozenset({"throw", "throws", "take", "tear", "blow", "put"})
_PRONOUNS = frozenset({"it", "them", "these", "those", "this", "that", "both", "all"})
_TOKEN = (
    r"\"[^\"]*\"|`[^`]*`|“[^”]*”|«[^»]*»|(?<![\w])'[^']*'(?!\w)|['’]\w+|[^\s\"'`“”«»’,;:!?()\[\]]+|[,;:!?()]"
)
_PASTED = r"```|~~~|https?://|(?m:^\s*(?:[>|#$%*+•]|-\s|\d+[.)]\s))|<[a-zA-Z/!]|(?:^|\s)@\S"
_QUOTED = r"\"[^\"]*\"|`[^`]*`|“[^”]*”|«[^»]*»|(?<![\w])'[^']*'(?!\w)"
_QUOTES = "\"'`“”«»"
_WORD = rf"[^\s{_QUOTES},;:!?()\[\]]+"
_SENTENCE_END = r"(?<=[.!?])\s+"
_POLITE_QUESTION = r"(?i)(?:please )?(?:can|could|will|would) you\b"
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})


class PlainRequest(Struct, frozen=True, dict=True):
    """One message as the person typed it; an empty one asks for nothing."""

    text: str

    def judge(self, terms: RequestTerms) -> Asked:
        """How plainly it asks for this effect on these targets. Takes microseconds."""
        if not self._is_own:
            return Asked.NOT
        if any(map(self._asks_to_run, terms.calls)):
            return Asked.EFFECT
        if not any(map(_compile_instruction(terms.effect).search, self._sentences)):
            return Asked.NOT
        if self._is_about_another_stage(terms):
            return Asked.NOT
        if terms.needs_all:
            return Asked.EFFECT if self._holds_all(terms) else Asked.NOT
        if terms.needs_kind and not self._says_kind(terms):
            return Asked.NOT
        if terms.is_exact and self._says_stages(terms) and self._restate(terms)._names_each(terms):
            return Asked.TARGETS
        return Asked.EFFECT if self._is_about(terms) else Asked.NOT

    def _is_about_another_stage(self, terms: RequestTerms) -> bool:
        """Whether it names a stage, and none that the call names."""
        stages = list_stages(self.text) if terms.stages else frozenset()
        return bool(stages) and stages.isdisjoint(terms.stages)

    def _says_stages(self, terms: RequestTerms) -> bool:
        """Whether it names no other stage than the call, but one where nothing is lost, and production too."""
        stages = list_stages(self.text)
        return stages - {"development"} <= terms.stages and "production" not in terms.stages - stages

    def _asks_to_run(self, call: str) -> bool:
        """Whether it says to run this, and nothing that limits or goes on from it."""
        pattern = rf"{_OPENING}{_RUN}{re.escape(call)}[\"'`”]?(?=[.,;!?]?(?:\s|$))"
        found = re.search(pattern, self.text, re.IGNORECASE)
        return found is not None and not compile_once(_LIMIT).search(self.text.replace(call, " "))

    def _holds_all(self, terms: RequestTerms) -> bool:
        """Whether one sentence with such an instruction holds each name, and a noun where these are known."""
        if not (terms.names or terms.nouns) or compile_once(_LIMIT).search(self._unquoted):
            return False
        instruction = _compile_instruction(terms.effect)
        return any(
            instruction.search(each) is not None and PlainRequest(each)._says(terms)
            for each in compile_once(_SENTENCE_END).split(self.text)
        )

    def _says(self, terms: RequestTerms) -> bool:
        said = self._words | {part for word in self._words for part in word.split("/")}
        is_all = not said.isdisjoint(("all", "every", "everything", "each"))
        return (not terms.nouns or self._has(terms.nouns)) and all(
            is_all if name == "all" else name in said for name in map(normalize_name, terms.names)
        )

    def _restate(self, terms: RequestTerms) -> PlainRequest:
        """The same request with names of files said as the command says them."""
        text = restate(self.text, terms.names, terms.left_out) if terms.are_files else self.text
        return self if text == self.text else PlainRequest(text)

    def _names_each(self, terms: RequestTerms) -> bool:
        """Whether it names each target, and nothing beside: else it may ask for less."""
        text, limits = self._take_limits(terms)
        if compile_once(_LIMIT).search(text) or not self._holds_only(terms.names, text):
            return False
        stages = frozenset(word for word in self._words if list_stages(word) & terms.stages)
        places = terms.names if terms.are_files else terms.names | stages
        if not self._is_about_known_places(places, is_limited=bool(limits)):
            return False
        if terms.needs_noun and not self._has(terms.nouns):
            return False
        names = terms.names
        if terms.is_fed and compile_once(_PLACE).search(self._without_measures(terms)) is None:
            names -= {"."}  # where no place is named it is this one
        if terms.are_files and not self._selects_no_fewer(terms, limits):
            return False
        if names and names != {"."}:
            return all(map(self._spells, names)) and self._has_as_objects(replace(terms, names=names))
        return self._has(terms.nouns) or (bool(limits) and self._has(terms.kinds))

    def _take_limits(self, terms: RequestTerms) -> tuple[str, frozenset[str]]:
        """The text without the limits that the selection keeps to as well, and these limits."""
        kept: set[str] = set()

        def drop(found: re.Match[str]) -> str:
            tests = _list_tests(found) & terms.limits
            kept.update(tests)
            return " " if tests else found[0]

        text = compile_once(_MEASURE).sub(drop, self._unquoted)
        if NO_BYTES in terms.limits and (shorter := compile_once(_NO_BYTES).sub(" ", text)) != text:
            kept.add(NO_BYTES)
            text = shorter
        if terms.effect is Effect.EMPTY:  # then the word says what is to become of them
            text = re.sub(r"(?i)\bempty\b", " ", text)
        return text, frozenset(kept)

    def _without_measures(self, terms: RequestTerms) -> str:
        return compile_once(_MEASURE).sub(" ", self.text) if terms.limits else self.text

    def _selects_no_fewer(self, terms: RequestTerms, limits: frozenset[str]) -> bool:
        """Whether, where what is selected has no names of its own, the request says nothing else of it."""
        if not (terms.is_fed or any(map(is_open, terms.names))):
            return True
        known = frozenset().union(*map(list_spellings, terms.names))
        text = self._without_measures(terms)
        if NO_BYTES in limits:
            text = compile_once(_NO_BYTES).sub(" ", text)
        instruction = _compile_instruction(terms.effect)
        return all(
            holds_only_plain_words(instruction.sub(" ", each), known)
            for each in compile_once(_SENTENCE_END).split(text)
            if instruction.search(each)
        )

    def _has_as_objects(self, terms: RequestTerms) -> bool:
        """Whether the verb is about the targets, and not about what is in them or named after them."""
        text = self._without_measures(terms)
        tokens = [(found.start(), _normalize_token(found[0])) for found in compile_once(_TOKEN).finditer(text)]
        words = [word for _, word in tokens]
        starts: set[int] = set()
        for found in _compile_instruction(terms.effect).finditer(text):
            starts.add(sum(at < found.end() for at, _ in tokens))
            inside = (i for i, (at, _) in enumerate(tokens) if found.start() <= at < found.end())
            starts |= {i + 1 for i in inside if words[i] in _PARTED_VERBS}
        spellings = [list_spellings(name) for name in terms.names]
        names = frozenset().union(*spellings)
        kinds = _KINDS_OF_FILES if terms.are_files else _KINDS_OF_FILES | _KINDS_OF_OTHERS
        if terms.effect is Effect.CHANGE_RIGHTS:
            kinds |= _HOLDERS
        if terms.kind:
            kinds = frozenset(word for word in words if re.fullmatch(terms.kind, word))
        if terms.is_fed or not terms.are_files:
            pronouns = _PRONOUNS - names
            if any(word in pronouns for start in starts for word in words[start : start + 1]):
                return True
        is_selection = bool(terms.limits) or terms.is_fed
        objects = names | kinds if is_selection else names
        named = [
            i for i in range(len(words)) if words[i] in objects and _is_object(i, words, starts, names, kinds)
        ]
        if is_selection:  # some of the names are places in which what is named otherwise is looked for
            return bool(named)
        return all(any(words[i] in each for i in named) for each in spellings)

    def _is_about_known_places(self, names: frozenset[str], *, is_limited: bool = False) -> bool:
        """Whether all that it speaks of as a place is one that holds files, or is in a name."""
        known = frozenset().union(_KNOWN_PLACES, map(normalize_name, names), *map(split_name, names))
        text = compile_once(_MEASURE).sub(" ", self.text) if is_limited else self.text
        places = (
            map(normalize_name, compile_once(_WORD).findall(found[1]))
            for found in compile_once(_PLACE).finditer(text)
        )
        return all(
            any(word.rstrip(".") in known or not split_name(word).isdisjoint(known) for word in words)
            for words in places
        )

    def _holds_only(self, names: frozenset[str], text: str) -> bool:
        known = {normalize_name(name) for name in names}
        numbers = " ".join(known)
        return all(quoted in known for quoted in self._quotations) and all(
            number in numbers for number in re.findall(r"\d+", text)
        )

    def _is_about(self, terms: RequestTerms) -> bool:
        """Whether it is about such targets: one of the names, or a word for what has none. Places outside of
        the workspace must each be named."""
        if terms.needs_noun and not self._has(terms.nouns):
            return False
        if not all(map(self._has_place, terms.names)):
            return False
        if plain := [] if terms.is_fed else [name for name in terms.names if not is_open(name)]:
            return any(map(self._has_part, plain)) and all(
                self._has_name(name) for name in terms.names if is_open(name)
            )
        return (
            self._has(terms.nouns)
            or (self._has(terms.kinds) and (terms.is_fed or self._is_about_known_places(terms.names)))
            or any(self._has_name(name) for name in terms.names if name != ".")
        )

    def _has(self, words: str) -> bool:
        return bool(words) and re.search(rf"\b(?:{words})\b", self.text, re.IGNORECASE) is not None

    def _has_name(self, name: str) -> bool:
        return not self._words.isdisjoint(list_spellings(name))

    def _spells(self, name: str) -> bool:
        """Whether it has the name letter by letter: names that differ in case are names of two things. Other
        words stand for what is in the workspace alone, and is written in small letters."""
        is_known = name == name.casefold() and not name.startswith(("/", "~"))
        others = list_spellings(name) - {normalize_name(name)} if is_known else frozenset()
        return _strip_name(name) in self._spelled or not self._words.isdisjoint(others)

    def _says_kind(self, terms: RequestTerms) -> bool:
        """Whether it says what the names are, in another word than these names."""
        names = frozenset().union(*map(list_spellings, terms.names))
        return any(re.fullmatch(terms.kind, word) for word in self._words - names)

    def _has_part(self, name: str) -> bool:
        return self._has_name(name) or not self._parts.isdisjoint(split_name(name))

    def _has_place(self, name: str) -> bool:
        if not name.startswith(("/", "~", "..", "$")) or self._has_name(name):
            return True
        is_below_home = name.startswith("~/") and "home" in self._words
        return is_below_home and self._has_part(name.rstrip("/").rpartition("/")[2])

    @cached_property
    def _is_own(self) -> bool:
        """Whether nothing speaks against it as a whole: it is short, all of it is seen, nothing in it refuses,
        and nothing in it stands there as the word of somebody else."""
        text = self.text.strip()
        return (
            0 < len(text) <= _LONGEST
            and text.count("\n") <= _MOST_BREAKS
            and not any(unicodedata.category(each) in _UNSEEN for each in text if each != "\n")
            and not any(compile_once(pattern).search(text) for pattern in (_PASTED, _REFUSAL))
            and not compile_once(_REPORT).search(self._unquoted)
        )

    @cached_property
    def _unquoted(self) -> str:
        return " ".join(compile_once(_QUOTED).sub(" _ ", self.text).split())

    @cached_property
    def _sentences(self) -> tuple[str, ...]:
        """Its sentences without what stands in quotes, and without questions that are no polite requests."""
        found = compile_once(_SENTENCE_END).split(self._unquoted)
        return tuple(
            each for each in found if not each.endswith("?") or compile_once(_POLITE_QUESTION).match(each)
        )

    @cached_property
    def _quotations(self) -> tuple[str, ...]:
        return tuple(
            normalize_name(each[0].strip(_QUOTES)) for each in compile_once(_QUOTED).finditer(self.text)
        )

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(map(normalize_name, self._spelled))

    @cached_property
    def _spelled(self) -> frozenset[str]:
        words = (word.rstrip(".") or word for word in compile_once(_WORD).findall(self.text))
        quoted = (each[0].strip(_QUOTES) for each in compile_once(_QUOTED).finditer(self.text))
        return frozenset(map(_strip_name, (*words, *quoted)))

    @cached_property
    def _parts(self) -> frozenset[str]:
        names = (name for word in self._words for name in word.split("/"))
        return frozenset(each for name in names for each in (name, name.partition(".")[0]))


NO_REQUEST = PlainRequest("")


def _list_tests(measure: re.Match[str]) -> frozenset[str]:
    """The tests of find that keep to an age or a size."""
    sign = "+" if measure["more"] else "-"
    number, unit = int(measure["number"]), measure["unit"].lower()
    if unit.startswith("min"):
        return frozenset({f"-mmin {sign}{number}"})
    if size := _SIZES.get(unit[0]):
        return frozenset({f"-size {sign}{number}{size}"})
    test, factor = _UNITS[unit[0]]
    found = {f"{test} {sign}{number * factor}"}
    if unit[0] == "h" and number % 24 == 0:
        found.add(f"-mtime {sign}{number // 24}")
    return frozenset(found)


def _normalize_token(token: str) -> str:
    if token[:1] in _QUOTES and token[-1:] in _QUOTES and len(token) > 1:
        return normalize_name(token.strip(_QUOTES))
    return normalize_name(token.rstrip(".") or token)


def _is_object(
    place: int, words: Sequence[str], starts: Collection[int], names: Collection[str], kinds: Collection[str]
) -> bool:
    """Whether nothing stands between this name and a verb, or behind it, that may be meant in its place."""
    after = next((word for word in words[place + 1 :] if word not in kinds), ".")
    if not (after in _AFTER_NAME or after in _JOINING or (after in names and not after.isalpha())):
        return False
    for at in range(place, -1, -1):
        if at in starts:
            return True
        word = words[at - 1] if at else ""
        if word in names and word.isalpha() and words[at] in names and words[at].isalpha():
            return False  # one name of two words, or the first of them says which
        if word in names or word in kinds or word in _JOINING or word in _BEFORE_NAME:
            continue
        if word in _KINDS_OF_OTHERS and words[at] in _JOINING:  # something beside it
            continue
        if not (word == "in" and at > 1 and words[at - 2] == "everything"):
            return False
    return False


@lru_cache(maxsize=len(Effect))
def _compile_instruction(effect: Effect) -> re.Pattern[str]:
    return re.compile(rf"{_OPENING}(?:{_VERBS[effect]})\b", re.IGNORECASE)
