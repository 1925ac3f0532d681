"""What the person does while a turn runs, and beside it: what they say into it, and commands of their own."""

from __future__ import annotations

from textual import on
from textual.widgets import Static, TextArea

from domain.text.printable import printable
from tui.agent.user_commands import MARK, TypedCommand
from tui.chat.actions.base import ChatActions
from tui.prompt_box.prompt import Prompt
from tui.prompt_box.prompt_text import REFUSAL, as_prompt, is_prompt

_OWN = "-own-command"
_RUNS_AT_ONCE = "enter runs this in your shell, and nobody reviews it · !! keeps it from the model"
_MOST_LINES = 4
_LONGEST = 500


class WaitingLines(Static):
    """What was sent and has not begun: first what goes into the running turn, then the prompts that wait."""

    DEFAULT_CSS = """
    WaitingLines {
        height: auto;
        padding: 0 1;
        color: $text-muted;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        display: none;
    }
    """

    def show(self, undelivered: tuple[str, ...], prompts: tuple[str, ...]) -> None:
        """Show these, a line each, as many as have room."""
        lines = [
            *(f"↪ goes in next: {text}" for text in undelivered),
            *(f"⧗ waits: {text}" for text in prompts),
        ]
        if len(lines) > _MOST_LINES:
            lines[_MOST_LINES - 1 :] = [f"… {len(lines) - _MOST_LINES + 1} more"]
        self.display = bool(lines)
        text = "\n".join(printable(line[:_LONGEST], newlines=False) for line in lines)
        if text != self.content:  # each update has the whole screen laid out again
            self.update(text)


class WorkingActions(ChatActions):
    """The part of the chat that does not wait for a turn's end."""

    asking: bool
    _waiting_lines: WaitingLines
    _welcome: Static
    _held_commands: list[tuple[TypedCommand, str]]

    def action_steer(self, text: str = "") -> None:
        """Say this, or the prompt that waits last, into the running turn; where none runs, it is a prompt."""
        if text and not is_prompt(text):
            self.say(REFUSAL)
        elif text and not self.turns.running:
            self.submit(text)
        elif problem := self.turns.steer(text):
            if text:
                self.give_back(text)
            self.say(problem)
        elif text:
            self._remember(as_prompt(text))

    @on(Prompt.SentNothing)
    def _steer_with_enter(self, message: Prompt.SentNothing) -> None:
        message.stop()
        if self.turns.running and self.turns.prompts:
            self.say(self.turns.steer())

    def run_user_command(self, own: TypedCommand, typed: str) -> None:
        """Run a command that the person typed; where it cannot be, it stays where it was `typed`.

        Nothing else leads here: neither prompts that wait, nor what models say, nor what came by the command
        line or from another program, but for one that has shown the token of the remote control.
        """
        if problem := self._why_not(own):
            self.prompt.put(typed)
            self.say(problem)
            return
        if self.session is None:
            self._held_commands.append((own, typed))
            self.say("runs once the session is there")
            return
        self._welcome.display = False
        self._remember(typed)
        self.transcript.action_scroll_end()
        self.turns.own.run(self.session.agent, own)

    def run_held_commands(self) -> None:
        """The session is there: run what was typed before, or give it back where it cannot be run."""
        held, self._held_commands = self._held_commands, []
        for own, typed in held:
            if problem := self._why_not(own):
                self.put_before(typed)
                self.say(problem)
            else:
                self.run_user_command(own, typed)

    def _why_not(self, own: TypedCommand) -> str:
        if not own.command:
            return f"type a command after the {MARK}"
        if self.asking:
            return "answer the question first"
        return self.session.refusal if self.session is not None else ""

    @on(TextArea.Changed, "#prompt")
    def _tell_what_enter_does(self) -> None:
        """A command must not be taken for a prompt, nor a prompt for a command."""
        is_own = self.prompt.text.startswith(MARK)
        self.set_class(is_own, _OWN)
        if is_own and not self.notice:  # why one could not be run is worth more
            self.say(_RUNS_AT_ONCE)
        elif not is_own and self.notice == _RUNS_AT_ONCE:  # the key that sent it may have come by long before
            self.say("")

    @property
    def notice(self) -> str:
        """The remark in the status bar; empty where there is none."""
        raise NotImplementedError

    def submit(self, text: str) -> None:
        """Remember a prompt and put it in line."""
        raise NotImplementedError

    def _remember(self, text: str) -> None:
        raise NotImplementedError
