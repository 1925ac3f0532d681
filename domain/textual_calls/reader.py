"""Finds the calls that a model writes into the text of its answer.

`TextualCallReader` reads those in the outermost text while the answer arrives.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.text.pattern import compile_once
from quorum.domain.textual_calls.families import RESULTS, Family, PlainBlock
from quorum.domain.textual_calls.forms import (
    Form,
    NamedForm,
    ReadCalls,
    TextualCall,
    Tools,
    Unfinished,
)
from quorum.domain.textual_calls.surroundings import CallPlace, asks_leave

_LONGEST = 1_000_000
_MOST_FAILURES = 100
_MOST_RESULTS = 5
_MOST_CALLS = 50
_WINDOW = 300
_TAIL = 240
# so much made up is read at most, in case it turns out to be thinking
_MOST_MADE_UP = 20_000
# and so much behind another call, as answers have several that make up all, and thinking few
_MOST_BEHIND_CALL = 4_000
# so much must follow a call before it is taken for whole: the rest of its closing mark may come
_MARGIN = 80
# a text is looked at in such pieces, as finding what opens costs as much as there is behind it
_PIECE = 500

_THINKING = PlainBlock(
    re.compile(r"<(?:seed:)?think(?:ing)?>|◁think▷|\[THINK\]"),
    re.compile(r"</(?:seed:)?think(?:ing)?>|◁/think▷|\[/THINK\]"),
)
# results of tools, examples and comments: what stands in them is shown, whoever wrote it
_TAGS_OF_SHOWN = (
    *(
        "reasoning",
        "thought",
        "reflection",
        "scratchpad",
        "example",
        "quote",
        "blockquote",
        "pre",
        "code",
        "details",
        "summary",
        "li",
        "kbd",
        "samp",
    ),
    *("figure", "figcaption", "template", "textarea", "xmp"),
)
_SHOWN_TAGS = f"(?:{'|'.join(_TAGS_OF_SHOWN)})s?"
# the same, where they begin a line and no words follow in it
_CONTAINERS = "output|result|stdout|stderr|observation|transcript|log|file|document|content|snippet|sample"
# and in a text of LaTeX
_VERBATIM = r"(?:[Vv]erbatim|lstlisting|minted|quot(?:e|ation)|alltt)\*?"
_SHOWN = tuple(
    PlainBlock(
        re.compile(opening),
        re.compile(closing),
        is_thought=False,
        begins_in_prompt=False,
        keeps_marks=True,
        begins_line=_CONTAINERS in opening,
    )
    for opening, closing in (
        (r"<tool_(?:response|result|output)s?>", r"</tool_(?:response|result|output)s?>"),
        (r"<function_results?>", r"</function_results?>"),
        (r"\[TOOL_RESULTS\]", r"\[/TOOL_RESULTS\]"),
        (rf"<(?P<shown>{_SHOWN_TAGS})\b[^<>\n]{{0,80}}>", rf"</{_SHOWN_TAGS}>"),
        (rf"<(?:{_CONTAINERS})s?\b[^<>\n]{{0,200}}>(?=[ \t]*(?:\n|[^\s\w]))", rf"</(?:{_CONTAINERS})s?>"),
        (r"<!--", r"-->"),
        (rf"\\begin\{{{_VERBATIM}\}}", rf"\\end\{{{_VERBATIM}\}}"),
    )
)
_FENCE = re.compile(r"`{3,}|~{3,}")
# what the end of a fence may begin with, at the end of a text
_FENCE_BEGUN = r"(?:(?<!`)`++|(?<!~)~++)[^\S\n]*+\Z"
_FENCE_PREFIX = r"[ \t]*(?:>[ \t]?|[-*+][ \t]+|\d{1,3}[.)][ \t]+)*"
_FENCE_MARKS = "`~"
_STARTS = (
    *(
        "<think",
        "<seed:think",
        "</think",
        "</seed:think",
        "◁",
        "```",
        "~~~",
        "[TOOL_RESULTS]",
        "[THINK",
        "[/THINK",
        "<!--",
    ),
    *("<tool_r", "<tool_o", "<function_result", "\\begin{"),
    *(f"<{name}" for name in (*_TAGS_OF_SHOWN, *_CONTAINERS.split("|"))),
)
# the mark that ends a turn, which some servers leave in the text
_TURN_END = (
    r"(?:<\|(?:im_end|e\w{1,3}_id|eo[tm]|end(?:_?of_?text)?|END_OF_TURN_TOKEN)\|>|</s>|<eos>|"
    r"<end_of_turn>)\s*+\Z"
)
# the mark that begins the model's turn, which some servers leave, too
_TURN_START = (
    r"\s*+(?:<\|im_start\|>assistant|<\|(?:start_header_id|header_start)\|>assistant<\|(?:end_header_id|header_end)\|>|"
    r"<\|start_of_role\|>assistant<\|end_of_role\|>)\s*+"
)
# a tag that a sentence speaks of
_NAMED_TAG = r"<[^<>\n]{1,80}>[ \t]+[a-z]+[ \t,.]"
# what stands behind a call in a frame, in lines of its own
_BEHIND = r"[ \t]*+\n\s*+(?P<said>(?![a-z<`{\[])\S[^\0]{0,79})"
_DONE = (
    r"(?:listed|read|written|created|made|deleted|removed|emptied|updated|changed|modified|edited|replaced|added|saved|"
    r"stored|moved|renamed|copied|found|searched|opened|shown|displayed|printed|installed|built|fixed|run|ran|executed|"
    r"completed|finished|started|stopped|tested|checked|loaded|fetched|downloaded|retrieved|wrote|saw|got|looked|passed|"
    r"failed|committed|applied|set|empty|done|gelistet|gelesen|geschrieben|erstellt|angelegt|gelöscht|geändert|"
    r"ausgeführt|gefunden|gespeichert)\b"
)
# words that tell what a call led to, as if it had been made
_TOLD = (
    r"(?i)\W*(?:(?:the |die |das )?(?:tool |command |function )?"
    r"(?:outputs?|results?|responses?|observations?|stdout|ausgabe|ergebnis)(?: is| was)?\W*(?:$|:|\n)|"
    r"(?:i|we)(?:['’]ve| have| had)? (?:now |just |already |successfully )*"
    rf"(?:{_DONE}|can (?:now )?see\b|see\b)|(?:ich habe|wir haben)\b[^.\n]*{_DONE}|"
    r"(?:now,? |great[,!] )?(?:the|all|it|there|no|\d+|die|der|das|alle|es)\b[^.:\n]*?(?:"
    rf"\b(?:was|were|has|have|had|been|is|are|wurden?|ist|sind)\b[^.:\n]*?\b{_DONE}|"
    r"\b(?:contains?|contained|holds?|shows?|returned|printed|succeeded|passed|failed|ran|enthält|zeigt)\b)|"
    r"(?:done|fertig)\b)"
)
# words that put it off, or speak of how calls are written: it was not made, or is shown
_EXPLAINED = (
    r"(?i)\b(?:would|could|should|might|may|will|shall|must|if|when|where|once|until|before|unless|whether|please|"
    r"confirm|not|never|cannot|replace|note|warning|example|e\.g|means?|format|syntax|schema|template|placeholder|"
    r"call|calls|json|argument|arguments|parameter|parameters|field|fields|key|keys|object|payload|snippet|"
    r"tools?(?! (?:outputs?|results?|responses?)\b)|names?|inputs?|values?|clients?|servers?|models?|docs|"
    r"documentation|used|uses|you|your|yours|yourself|way|by the|by a|so far|short|above|below|requested|asked|"
    r"nicht|nie|wenn|falls|bevor|bitte|würde|könnte|kann|aufruf)\b|n['’]t\b|\?"
)


class Words(Struct, frozen=True):
    """A piece of the answer's text."""

    text: str


class ThoughtPiece(Struct, frozen=True):
    """A piece of thinking that stands in the answer's text."""

    text: str


class ThinkingEnded(Struct, frozen=True):
    """All that came before was thinking: its beginning stood in the prompt, and only its end in the answer."""


class CallBegun(Struct, frozen=True):
    """A call of this tool is being written."""

    name: str


class ResultBegun(Struct, frozen=True):
    """Behind its calls the answer goes on with a result, which no tool gave: nothing counts from here on."""


Piece: TypeAlias = Words | ThoughtPiece | ThinkingEnded | CallBegun | TextualCall | ResultBegun


class TextualCallReader:
    """Takes the pieces of an answer's text and gives what they hold, as soon as it can be told apart.

    Nothing is read from code fences, code in a line, quotations, examples and thinking, nor behind the start
    of a result that follows a call. A call that is not finished when the answer ends is text; where a limit cut
    it off, its arguments are the "{" that no reader of JSON accepts. `unread` tells that a call was begun and
    could not be read.

    `begins_in_thought`: whether the answer begins with thinking whose beginning stands in the prompt; None
    where that is not known. A call and its result may be part of it: the answer goes on behind them, to where
    the thinking ends, if it does; where it is not known, only to some way behind another call, as one has
    that makes up all.
    """

    def __init__(self, family: Family, tools: Tools, *, begins_in_thought: bool | None = None) -> None:
        self.begins_in_thought = begins_in_thought
        self._is_made_up = False
        self._family = family
        self._tools = tools
        self._starts = (*family.starts, *_STARTS)
        self._longest_start = max(map(len, self._starts))
        self._firsts = frozenset(start[0] for start in self._starts)
        blocks = (_THINKING, *family.blocks, *_SHOWN)
        self._marks: tuple[Form | PlainBlock, ...] = (
            *(form for form in family.forms if not form.is_alone),
            *blocks,
            PlainBlock(_FENCE, _FENCE),
            *(PlainBlock(block.closing, block.closing) for block in blocks if block.begins_in_prompt),
        )
        self._coming: list[str] = []  # the last of them comes first
        self._arrived: list[str] = []
        self._length = 0  # of what is pending and has arrived
        self._pending = ""
        self._from = 0
        self._retry_at = 0
        self._tail = ""
        self._block: PlainBlock | None = None
        self._fence = ""
        self._begun = ""
        self._has_words = False
        self._is_not_alone = False
        self._row_calls = self._known_calls = 0  # those behind a call in its row, and those that were looked at
        self._failures = 0
        self._result_starts = (*family.results, *RESULTS)
        results = re.compile("|".join(map(re.escape, self._result_starts)))
        self._result = PlainBlock(results, results, begins_line=True)
        self._has_calls = False
        self._is_over = False
        self.unread = False

    def feed(self, text: str) -> Iterator[Piece]:
        if not self._is_over:
            self._put_back(text)
        while self._coming:
            self._arrived.append(self._coming.pop())
            self._length += len(self._arrived[-1])
            if self._length >= self._retry_at:
                self._collect()
                yield from self._advance(is_whole=False)
                self._length = len(self._pending)
                # what is held for long is looked at again when it has grown by a part of it
                self._retry_at = max(self._retry_at, self._length + (self._length - _WINDOW) // 8)

    def finish(self, *, is_cut: bool) -> Iterator[Piece]:
        """Take the end of the text, which a limit cut off if `is_cut`."""
        while True:
            yield from self.feed("")
            self._collect()
            yield from self._advance(is_whole=True, is_cut=is_cut)
            self._length = len(self._pending)
            if not self._coming:
                return

    def _put_back(self, text: str) -> None:
        """Let this come, before what is to come."""
        self._coming += [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)][::-1]

    def _collect(self) -> None:
        self._pending += "".join(self._arrived)
        self._arrived.clear()

    def _advance(self, *, is_whole: bool, is_cut: bool = False) -> Iterator[Piece]:
        while self._pending:
            if self._is_made_up or self._block is not None or self._fence:
                pass_on = self._pass_made_up if self._is_made_up else self._pass_block
                has_ended = yield from pass_on(is_whole=is_whole)
                if not has_ended:
                    return
                continue
            if not self._has_words and not self._is_not_alone and self._may_be_alone():
                if (followed := self._read_before_result(is_whole=is_whole)) is not None:
                    yield from followed.calls
                    self._pending = self._pending[followed.end :]
                    self._is_made_up = True
                    continue
                if not is_whole and len(self._pending) < _LONGEST:
                    return
                reading = None if is_cut else self._read_alone(self._pending)
                if reading is not None:
                    self._pending = ""
                    yield from reading.calls
                    return
                self._is_not_alone = True
                self._reread()
                return
            opened = self._find_opening()
            safe = len(self._pending) if is_whole else self._find_safe_end()
            if opened is not None and not is_whole and self._may_lengthen(*opened):
                safe = min(safe, opened[1].start())
                opened = None
            if opened is None or opened[1].start() > safe:
                yield from self._flush(safe)
                return
            has_advanced = yield from self._open(*opened, is_whole=is_whole, is_cut=is_cut)
            if not has_advanced:
                return

    def _open(
        self, mark: Form | PlainBlock, match: re.Match[str], *, is_whole: bool, is_cut: bool
    ) -> Generator[Piece, None, bool]:
        """Take what begins here. Returns False where more of the text is needed for that."""
        if mark is self._result:
            yield from self._flush(match.start())
            self._is_made_up = True
            return True
        if isinstance(mark, PlainBlock):
            yield from self._flush(match.start())
            yield from self._enter(mark, match)
            return True
        outcome = mark.read(self._pending, match, self._tools, is_whole=is_whole and not is_cut)
        # what stands behind may say that it is only shown
        row_end = self._find_row_end(mark, outcome, is_whole=is_whole) if isinstance(outcome, ReadCalls) else 0
        words, goes_on = self._get_words_behind(row_end or 0)
        least = _MARGIN if goes_on else _TAIL
        is_followed = is_whole or (row_end is not None and len(self._pending) - row_end > least)
        match outcome:
            case ReadCalls(_, end) if is_followed and (
                asks_leave(words, is_all=not goes_on) or self._is_mentioned(mark, match.start(), end)
            ):
                self._begun, self._known_calls = "", 0
                self._from, self._retry_at = end, 0
                self._reread()
            case ReadCalls(calls, end) if is_followed:
                yield from self._flush(match.start())
                self._pending, self._begun = self._pending[end - match.start() :], ""
                self._known_calls = self._known_calls - 1 if self._known_calls else self._row_calls
                self._expect_result()
                self._reread()
                yield from calls
            case Unfinished(name) if is_whole and name:
                yield from self._flush(match.start())
                yield TextualCall(name, "{", self._pending)
                self._pending = ""
            case ReadCalls() | Unfinished() if not is_whole and len(self._pending) < _LONGEST:
                name = outcome.name if isinstance(outcome, Unfinished) else outcome.calls[0].name
                yield from self._flush(match.start())
                self._retry_at = len(self._pending) + max(8, len(self._pending) // 8)
                if name and not self._begun:
                    self._begun = name
                    yield CallBegun(name)
                return False
            case _ if (fence := _FENCE.match(self._pending, match.start())) is not None:
                yield from self._flush(match.start())
                yield from self._enter(PlainBlock(_FENCE, _FENCE), fence)
            case _:
                self._pass_over(match)
        return True

    def _find_row_end(self, form: Form, first: ReadCalls, *, is_whole: bool) -> int | None:
        """Where the calls end that stand one behind the other from here; None where the last is not whole."""
        end = first.end
        if self._known_calls:
            return end
        self._row_calls = 0
        while self._row_calls < _MOST_CALLS:
            text = self._pending
            begin = len(text) - len(text[end:].lstrip())
            opened = form.opening.match(text, begin)
            if opened is None:
                break
            outcome = form.read(text, opened, self._tools, is_whole=is_whole)
            if not isinstance(outcome, ReadCalls):
                return None if isinstance(outcome, Unfinished) and not is_whole else end
            end = outcome.end
            self._row_calls += 1
        return end

    def _is_mentioned(self, form: Form, at: int, end: int) -> bool:
        place = CallPlace(line=self._get_line(at), before=self._get_before(at))
        behind = self._pending[end : end + _TAIL]
        is_explained = self._pending.startswith("```", at) and behind.lstrip()[:1] not in ("", "`", "<")
        return is_explained or place.is_mentioned(behind, form.opening)

    def _get_words_behind(self, row_end: int) -> tuple[str, bool]:
        """The words behind calls that end here, and whether the answer goes on behind them."""
        behind = self._pending[row_end : row_end + _TAIL + 1]
        starts = (*self._family.starts, *self._result_starts)
        ends = min((at for start in starts if (at := behind.find(start)) >= 0), default=len(behind))
        return compile_once(_TURN_END).sub("", behind[: min(ends, _TAIL)]), min(ends, _TAIL) < len(behind)

    def _reread(self) -> None:
        """Look at what is pending in pieces again."""
        text, self._pending, self._retry_at = self._pending, "", 0
        self._put_back(text)

    def _expect_result(self) -> None:
        """Look for the beginning of a result behind a call, which ends its line."""
        self._tail += "\n"
        if not self._has_calls:
            self._has_calls = True
            self._marks = (self._result, *self._marks)
            self._starts = (*self._result_starts, *self._starts)
            self._longest_start = max(map(len, self._starts))
            self._firsts = frozenset(start[0] for start in self._starts)

    def _pass_made_up(self, *, is_whole: bool) -> Generator[Piece, None, bool]:
        """Hold what follows a call as if it had been made, until it is known for thinking, as the call is then.
        Returns whether the answer goes on."""
        closings = [block.closing for block in (_THINKING, *self._family.blocks) if block.begins_in_prompt]
        ends = [match for each in closings if (match := each.search(self._pending)) is not None]
        calls = [self._pending.find(start, 1) for start in ("<tool_call>", *self._family.starts)]
        second = min((place for place in calls if place > 0), default=len(self._pending))
        makes_up_all = self.begins_in_thought is None and len(self._pending) - second > _MOST_BEHIND_CALL
        if self.begins_in_thought is False or (not ends and (is_whole or makes_up_all)):
            yield self._end()
            return False
        if not ends and len(self._pending) <= _MOST_MADE_UP:
            self._retry_at = len(self._pending) + max(40, len(self._pending) // 16)
            return False
        closed = min(ends, key=lambda match: match.start(), default=None)
        thought = self._pending[: closed.start()] if closed is not None else self._pending
        self._pending = self._pending[closed.end() :] if closed is not None else ""
        self._is_made_up = False
        yield Words(thought)
        yield self._end_thinking()
        if closed is None:  # whether that was thinking or not, nothing that may be is run
            yield self._end()
        return closed is not None

    def _end_thinking(self) -> ThinkingEnded:
        self._has_words, self._is_not_alone, self._tail = False, False, ""
        self._from = self._retry_at = 0
        self.begins_in_thought = False
        return ThinkingEnded()

    def _end(self) -> ResultBegun:
        """Take nothing more of the answer."""
        self._is_over = True
        self._pending = ""
        self._coming.clear()
        self._arrived.clear()
        return ResultBegun()

    def _may_lengthen(self, mark: Form | PlainBlock, match: re.Match[str]) -> bool:
        """Whether more of this mark may come: its line break; or more of a fence, which may begin a result."""
        if not isinstance(mark, PlainBlock):
            return False
        if mark.opening is not _FENCE:
            longer = mark.opening.match(f"{match[0]}\n") if match.end() == len(self._pending) else None
            return longer is not None and longer.end() > len(match[0])
        begun = self._pending[match.start() :]
        starts = (*self._family.starts, *(self._result_starts if self._has_calls else ()))
        return any(start.startswith(begun) for start in starts) or match.end() == len(self._pending)

    def _pass_over(self, match: re.Match[str]) -> None:
        """Take an opening that opens no call for text."""
        is_named = compile_once(_NAMED_TAG).match(self._pending, match.start()) is not None
        self.unread = self.unread or not (is_named and self._get_line(match.start()).strip())
        self._begun = ""
        self._from, self._retry_at = match.start() + 1, 0
        self._failures += 1
        if self._failures == _MOST_FAILURES:
            self._marks = ()  # no answer begins so many calls: the rest of it is text
        self._reread()

    def _find_opening(self) -> tuple[Form | PlainBlock, re.Match[str]] | None:
        """The first mark in what is pending that is not quoted."""
        begin = self._from
        found = [(mark, mark.opening.search(self._pending, begin)) for mark in self._marks]
        while True:
            found = [
                (mark, match if match.start() >= begin else mark.opening.search(self._pending, begin))
                for mark, match in found
                if match is not None
            ]
            matches = [(mark, match) for mark, match in found if match is not None]
            if not matches:
                return None
            mark, match = min(matches, key=lambda each: each[1].start())
            line = self._get_line(match.start())
            begin = match.end() if match.end() > match.start() else match.end() + 1
            if isinstance(mark, PlainBlock) and mark.opening is _FENCE:
                if compile_once(_FENCE_PREFIX).fullmatch(line):
                    return mark, match
            elif not self._is_quoted(match.start(), line, mark):
                return mark, match
            else:
                self._from = begin

    def _enter(self, block: PlainBlock, match: re.Match[str]) -> Iterator[Piece]:
        """Begin a block whose opening is the first of what is pending."""
        length = match.end() - match.start()
        if block.opening is _FENCE:
            self._fence = match[0]
            yield from self._flush(length)
            return
        if block.keeps_marks:
            yield from self._flush(length)
        else:
            self._pending = self._pending[length:]
        if block.opening is block.closing:  # the end of a block that began in the prompt
            yield self._end_thinking()
            return
        if block.begins_in_prompt:
            self.begins_in_thought = False
        shown = match.groupdict().get("shown")  # what holds others ends with its own tag
        self._block = replace(block, closing=re.compile(f"</{shown}>")) if shown else block

    def _pass_block(self, *, is_whole: bool) -> Generator[Piece, None, bool]:
        """Give what is in the block. Returns whether that has ended."""
        if self._fence:
            end = self._find_fence_end(is_whole=is_whole)
            yield from self._flush(end if end is not None else self._find_last_line(is_whole=is_whole))
            if end is not None:
                self._fence = ""
            return end is not None
        assert self._block is not None
        closed = self._block.closing.search(self._pending)
        ends = closed.end() if closed and self._block.keeps_marks else closed.start() if closed else None
        until = ends if ends is not None else len(self._pending) if is_whole else self._find_block_end()
        text, self._pending = self._pending[:until], self._pending[closed.end() if closed else until :]
        if text:
            yield ThoughtPiece(text) if self._block.is_thought else Words(text)
            self._has_words = self._has_words or not self._block.is_thought
        if closed is not None:
            self._block = None
        return closed is not None

    def _find_block_end(self) -> int:
        """Up to where it is certain that the block has not ended."""
        window = self._pending[-_WINDOW // 10 :]
        at = min((each for mark in "<[◁-" if (each := window.find(mark)) >= 0), default=len(window))
        return len(self._pending) - len(window) + at

    def _find_fence_end(self, *, is_whole: bool) -> int | None:
        for match in _FENCE.finditer(self._pending):
            if match[0][0] != self._fence[0] or len(match[0]) < len(self._fence):
                continue
            if not compile_once(_FENCE_PREFIX).fullmatch(self._get_line(match.start())):
                continue
            newline = self._pending.find("\n", match.end())
            if not self._pending[match.end() : newline if newline >= 0 else None].strip():
                return match.end() if newline >= 0 or is_whole else None
        return None

    def _find_last_line(self, *, is_whole: bool) -> int:
        if is_whole:
            return len(self._pending)
        begun = compile_once(_FENCE_BEGUN).search(self._pending)
        may_close = begun is not None and compile_once(_FENCE_PREFIX).fullmatch(self._get_line(begun.start()))
        return begun.start() if begun is not None and may_close else len(self._pending)

    def _may_be_alone(self) -> bool:
        """Whether what has come may be a call that nothing marks."""
        text = _strip_turn_start(self._pending).lstrip()
        probe = text[:_WINDOW]
        if any(isinstance(form, NamedForm) and form.is_alone for form in self._family.forms) and any(
            name.startswith(text) or text == f"{name}\n" for name in self._tools
        ):
            return True
        return any(
            form.is_alone and (form.opening.match(probe) or (len(text) < _MARGIN and text[:1] in "`{[<"))
            for form in self._family.forms
        )

    def _read_before_result(self, *, is_whole: bool) -> ReadCalls | None:
        """The call, or calls, that are all of the answer before what begins a result, up to there.

        Words behind a call in a frame begin one, too, where they tell what it led to, as a model does
        that makes results up. Any others may say that the call is only shown.
        """
        for begun in islice(self._result.opening.finditer(self._pending), _MOST_RESULTS):
            if (reading := self._read_alone(self._pending[: begun.start()])) is not None:
                return ReadCalls(reading.calls, begun.start())
        return self._read_framed(is_whole=is_whole) if self._family.is_framed else None

    def _read_framed(self, *, is_whole: bool) -> ReadCalls | None:
        text = _strip_turn_start(self._pending).lstrip("\n")
        for form in self._family.forms:
            opened = form.opening.match(text) if form.is_alone else None
            if opened is None or not opened[0].startswith(("`", "<")):
                continue
            outcome = form.read(text, opened, self._tools, is_whole=False)
            if not isinstance(outcome, ReadCalls):
                continue
            call = text[: outcome.end].rstrip()
            behind = compile_once(_BEHIND).match(text, len(call)) if call.endswith(("`", ">")) else None
            if behind is None or (len(behind["said"]) < _MARGIN and not is_whole):
                continue
            said = behind["said"]
            if compile_once(_TOLD).match(said) and not compile_once(_EXPLAINED).search(said):
                return ReadCalls(outcome.calls, len(self._pending) - len(text) + outcome.end)
        return None

    def _read_alone(self, answer: str) -> ReadCalls | None:
        """The call, or calls, that are all of the answer."""
        text = _strip_turn_start(compile_once(_TURN_END).sub("", answer)).strip().rstrip(";")
        for form in self._family.forms:
            if form.is_alone and (calls := self._read_row(form, text)):
                return ReadCalls(calls, len(text))
        return None

    def _read_row(self, form: Form, text: str) -> tuple[TextualCall, ...]:
        """The calls in this form that are all of a text, one behind the other; none where more stands there."""
        calls: list[TextualCall] = []
        while text and len(calls) < _MOST_CALLS:
            opened = form.opening.match(text)
            outcome = None if opened is None else form.read(text, opened, self._tools, is_whole=True)
            if not isinstance(outcome, ReadCalls) or not outcome.end:
                return ()
            calls += outcome.calls
            text = text[outcome.end :].strip()
        return () if text else tuple(calls)

    def _is_quoted(self, at: int, line: str, mark: Form | PlainBlock) -> bool:
        """Whether what begins here, behind this much of its line, is shown, not said."""
        place = CallPlace(line=line, before=(self._tail + self._pending[:at])[-_TAIL:])
        if place.is_in_quotation:
            return True
        if isinstance(mark, PlainBlock):
            return mark.begins_line and bool(line.strip())
        return place.is_behind_words(mark) or place.is_introduced

    def _get_line(self, at: int) -> str:
        """What stands before this place in its line."""
        return self._get_before(at).rpartition("\n")[2]

    def _get_before(self, at: int) -> str:
        """What stands before this place: no more of it than tells its line."""
        before = self._pending[max(0, at - _TAIL) : at]
        return before if len(before) == _TAIL else (self._tail + before)[-_TAIL:]

    def _find_safe_end(self) -> int:
        """Up to where no mark can have begun."""
        text = self._pending
        for at in range(max(self._from, len(text) - _WINDOW), len(text)):
            if text[at] not in self._firsts or not self._may_begin(at):
                continue
            if text[at] not in _FENCE_MARKS:
                return at
            is_first = text[at - 1 : at] != text[at]
            if is_first and compile_once(_FENCE_PREFIX).fullmatch(self._get_line(at)):
                return at
        return len(text)

    def _may_begin(self, at: int) -> bool:
        """Whether what stands here is a start, or the beginning of one."""
        if self._pending.startswith(self._starts, at):
            return True
        rest = self._pending[at : at + self._longest_start]
        return any(start.startswith(rest) for start in self._starts)

    def _flush(self, end: int) -> Iterator[Piece]:
        text, self._pending = self._pending[:end], self._pending[end:]
        self._from = max(0, self._from - end)
        self._retry_at = 0
        if text:
            self._tail = (self._tail + text)[-_TAIL:]
            self._has_words = self._has_words or bool(text.strip())
            yield Words(text)


def _strip_turn_start(text: str) -> str:
    begun = compile_once(_TURN_START).match(text)
    return text[begun.end() :] if begun else text
