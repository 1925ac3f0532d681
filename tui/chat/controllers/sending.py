"""What becomes of what the person sends: prompts, slash and `!` commands, lines to remember, steering."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from quorum.tui.agent.turns import MARK, QueuedTask, Turns, TypedCommand, parse_memory, parse_user_command
from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.chat.controllers.memory import MemoryController
from quorum.tui.chat.controllers.writing import WritingController
from quorum.tui.keys.keyed_app import does_enter_steer, offers_server_first
from quorum.tui.keys.slash_commands import NotACommand, find_action, is_command, waits_for_session
from quorum.tui.prompt_box.history import REFUSAL, Recall, escape_command, is_leaving, is_prompt
from quorum.tui.prompt_box.prompt import Prompt
from quorum.tui.transcript.layout.view import TranscriptView

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession
    from quorum.tui.chat.welcome import Welcome


_RUNS_AT_ONCE = "enter runs this in your shell, and nobody reviews it · !! keeps it from the model"
_ADDS_LINE = "enter adds this line to AGENTS.md, if you approve · a space before # sends it"
_WHAT_ENTER_DOES = (_RUNS_AT_ONCE, _ADDS_LINE)


class SendController:
    """Puts prompts in line, steers the running turn, resumes turns and runs `!` commands.

    What was sent takes the `welcome` off the screen and is remembered in `recall`. `is_asking`: a question to
    the person is open. `use_server` offers the server on a port, and sends the prompt after the answer.
    """

    def __init__(
        self,
        host: ChatHost,
        current: CurrentSession,
        turns: Turns,
        *,
        prompt: Prompt,
        recall: Recall,
        transcript: TranscriptView,
        welcome: Welcome,
        resume: Callable[[str], None],
        use_server: Callable[[int, str], None],
        is_asking: Callable[[], bool],
    ) -> None:
        self._host, self._current, self._turns = host, current, turns
        self._prompt, self._recall, self._transcript, self._welcome = prompt, recall, transcript, welcome
        self._is_asking, self._resume = is_asking, resume
        self._use_server = use_server
        self._has_offered = False

    # -- prompts ------------------------------------------------------------------------------------------

    def submit(self, text: str, *, is_typed: bool = False) -> None:
        """Remember a prompt and put it in line; in a session that takes none it stays where it is."""
        session = self._current.session
        if session is not None and session.refusal:
            self._prompt.give_back(text)
            self._host.refuse(session.refusal)
            return
        self._welcome.display = False
        self.remember(escape_command(text))
        if not self._turns.running:  # what waits stands above the prompt, and disturbs nobody who reads
            self._transcript.action_scroll_end()
        self._turns.submit(text, is_typed=is_typed)

    def send_prompt(self, text: str, *, is_typed: bool = False) -> None:
        """Enter with a prompt: steer the running turn with it where the person wants that, else put it in line.

        What may be a custom command needs a turn of its own, and what cannot be said into the turn is queued.
        Where no model would read the first prompt, a server of models that the welcome names is offered first.
        """
        app = self._host.app
        if self._welcome.servers and not self._has_offered and is_prompt(text) and offers_server_first(app):
            self._has_offered = True
            self.remember(escape_command(text))
            self._use_server(self._welcome.servers[0], text)
            return
        is_steering = does_enter_steer(self._host.app) and is_prompt(text) and not text.startswith("/")
        if is_steering and self._turns.running and not self._turns.steer(text):
            self.remember(escape_command(text))
        else:
            self.submit(text, is_typed=is_typed)

    async def submit_command(self, text: str, otherwise: str) -> None:
        """Put a custom command in line; what is none stays where it was typed, and `otherwise` is said."""
        session = self._current.session
        if session is not None and await session.agent.custom_commands.is_known(text):
            self.submit(text)
            return
        self._prompt.put_before(text)
        self._host.refuse(otherwise if session is not None else f"still starting; {otherwise}")

    def remember(self, text: str) -> None:
        """Have Up bring this back."""
        try:
            self._recall.history.add(text)
        except OSError as error:
            self._host.say(f"this prompt could not be added to the history: {error}")

    # -- turns --------------------------------------------------------------------------------------------

    def action_steer(self, text: str = "") -> None:
        """Say this, or the prompt that waits last, into the running turn; where none runs, it is a prompt."""
        if text and not is_prompt(text):
            self._host.refuse(REFUSAL)
        elif text and not self._turns.running:
            self.submit(text)
        elif problem := self._turns.steer(text):
            if text:
                self._prompt.give_back(text)
            self._host.refuse(problem)
        elif text:
            self.remember(escape_command(text))

    def send_nothing(self) -> None:
        """Enter with nothing typed: send the prompt that waits last into the running turn, or continue.

        Where Enter steers, what was said into the turn last is queued instead, if no request has carried it.
        """
        if does_enter_steer(self._host.app) and self._turns.queue_last_message():
            return
        if self._turns.running and self._turns.prompts:
            self._host.refuse(self._turns.steer())
        elif self._turns.does_enter_continue:
            self.action_retry()
        elif name := self._welcome.resumable:
            self._resume(name)
        elif self._welcome.servers:
            self._use_server(self._welcome.servers[0], "")

    def choose_server(self, typed: str) -> bool:
        """Choose a local server of the welcome by its number; False where the text is none of theirs."""
        number = int(typed) if typed.isascii() and typed.isdecimal() and len(typed) == 1 else 0
        if is_offered := 1 <= number <= len(self._welcome.servers):
            self._use_server(self._welcome.servers[number - 1], "")
        return is_offered

    def action_retry(self) -> None:
        """Resume a turn that failed, was interrupted or reached a limit, where it stopped."""
        if (session := self._current.require_session("continue")) is not None:
            self._host.refuse(session.refusal or self._turns.retry())

    def action_write_instructions(self, focus: str = "") -> None:
        """Have the model write or improve AGENTS.md; like any prompt it may wait for the session."""
        self.submit(f"/init {focus}".strip())

    def action_compact(self, focus: str = "") -> None:
        """Let a summary take the place of the conversation so far."""
        if self._current.get_writable("compact it") is None:
            self._return_typed(f"/compact {focus}" if focus.strip() else "")
            return

        async def compact(agent: AgentSession) -> None:
            from quorum.domain.errors import ConversationError

            try:
                self._host.say(await agent.context.compact(focus))
            except ConversationError as nothing_gained:
                self._host.refuse(str(nothing_gained))
            except asyncio.CancelledError:
                self._host.say("interrupted: the conversation stays as it was")
                raise

        self._turns.submit(QueuedTask("compacting", compact))

    def _return_typed(self, typed: str) -> None:
        """Put a command back into the prompt that cannot be carried out; empty for one without a text."""
        if typed:
            self._prompt.put_before(typed)

    # -- `!` commands ------------------------------------------------------------------------------------

    def run_user_command(self, own: TypedCommand, typed: str) -> None:
        """Run a command that the person typed; where it cannot be, it stays where it was `typed`.

        Nothing else leads here: neither prompts that wait, nor what models say, nor what came by the command
        line or from another program, but for one that has shown the token of the remote control.
        """
        if problem := self._explain_refusal(own):
            self._prompt.put_before(typed)
            self._host.refuse(problem)
            return
        if (session := self._current.require_session("run it")) is None:
            self._prompt.put_before(typed)
            return
        self._welcome.display = False
        self.remember(typed)
        self._transcript.action_scroll_end()
        self._turns.own.run(session.agent, own)

    def tell_what_enter_does(self) -> None:
        """Say that Enter runs a command or adds a line to a file, so that neither is taken for a prompt."""
        hint = ""
        if self._prompt.text.startswith(MARK):
            hint = _RUNS_AT_ONCE
        elif parse_memory(self._prompt.whole_text) is not None:
            hint = _ADDS_LINE
        # Why one could not be run is worth more; the key that sent one may have come by long before.
        if self._host.notice in _WHAT_ENTER_DOES or (hint and not self._host.notice):
            self._host.say(hint)

    def _explain_refusal(self, own: TypedCommand) -> str:
        if not own.command:
            return f"type a command after the {MARK}"
        if self._is_asking():
            return "answer the question first"
        session = self._current.session
        return session.refusal if session is not None else ""


async def _do_nothing(_agent: AgentSession) -> None:
    """The turns of the prompts before are over."""


class SubmitController:
    """Tells them apart by how they begin, and passes each on. `run_action` runs what a slash command names.

    What only a session can do waits until `current` has one, and so does all that is sent after it. `held` is
    what waits here.
    """

    def __init__(
        self,
        host: ChatHost,
        current: CurrentSession,
        turns: Turns,
        prompt: Prompt,
        *,
        sending: SendController,
        memory: MemoryController,
        writing: WritingController,
        run_action: Callable[[str], Awaitable[object]],
    ) -> None:
        self._host, self._current, self._turns = host, current, turns
        self._prompt, self._sending, self._memory, self._writing = prompt, sending, memory, writing
        self._run_action = run_action
        self._held: list[tuple[str, bool]] = []
        self._is_submitting_held = False

    @property
    def held(self) -> tuple[str, ...]:
        return tuple(typed for typed, _ in self._held)

    @property
    def held_prompts(self) -> tuple[tuple[str, bool], ...]:
        """The same, each with whether the person typed it by hand."""
        return tuple(self._held)

    async def submit(self, typed: str, *, is_typed: bool = False) -> None:
        """Do what this text asks for; `is_typed`: the person typed it by hand."""
        if (self._is_holding or self._current.session is None) and self._waits(typed):
            self._held.append((typed, is_typed))
            self._host.say("runs once the session is ready")
        else:
            await self._carry_out(typed, is_typed=is_typed)
        self._prompt.keep_unsent()

    async def submit_held(self) -> None:
        """The session is there, or the one before continues: do what was typed meanwhile, in order, after the
        turns of the prompts before it. Where it cannot be done, or those turns failed, it comes back, and so
        does what stands behind one that is refused."""
        session = self._current.session
        if not self._held or session is None or self._is_submitting_held:
            return
        self._is_submitting_held = True
        try:
            may_begin = not session.refusal
            if may_begin and self._turns.prompts:
                may_begin = await self._turns.perform(QueuedTask("starting", _do_nothing))
            if not may_begin:
                self.return_held()
                self._host.refuse(session.refusal)
            refusals = self._host.refusals
            while self._held and session is self._current.session:
                typed, is_typed = self._held.pop(0)
                self._prompt.keep_soon()
                await self._carry_out(typed, is_typed=is_typed)
                if not await self._host.wait_for_changes() or refusals != self._host.refusals:
                    break
        finally:
            self._is_submitting_held = False
            self.return_held()

    def take_back(self) -> str | None:
        """Remove and return what came last; None where nothing waits."""
        typed = self._held.pop()[0] if self._held else None
        self._prompt.keep_soon()
        return typed

    def return_held(self) -> bool:
        """Put what waits back to where it can be edited; whether there was any."""
        held, self._held = self.held, []
        if held:
            self._prompt.put_before("\n".join(held))
        return bool(held)

    @property
    def _is_holding(self) -> bool:
        return bool(self._held) or self._is_submitting_held

    def _waits(self, typed: str) -> bool:
        if is_leaving(typed) or parse_memory(typed) is not None:
            return False
        if is_command(typed):
            return waits_for_session(typed)
        if (own := parse_user_command(typed)) is not None:
            return bool(own.command)
        return self._is_holding or self._writing.mentions_attachments(typed)

    async def _carry_out(self, typed: str, *, is_typed: bool) -> None:
        if is_leaving(typed):
            await self._run_action("app.end_of_input")
        elif self._sending.choose_server(typed):
            return
        elif is_command(typed):
            await self._submit_command(typed)
        elif (own := parse_user_command(typed)) is not None:
            self._sending.run_user_command(own, typed)
        elif (line := parse_memory(typed)) is not None:
            self._memory.add_line(line, typed)
        elif (text := await self._writing.with_attachments(typed)) is not None:
            self._sending.send_prompt(text, is_typed=is_typed and text == typed)

    async def _submit_command(self, typed: str) -> None:
        self._sending.remember(typed)
        try:
            names = [command.name for command in self._prompt.known.list_custom_commands()]
            action = find_action(typed, names)
        except NotACommand as problem:
            await self._sending.submit_command(typed, str(problem))
        else:
            await self._run_action(action)
