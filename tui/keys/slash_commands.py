"""The slash commands: what each is, what a typed one stands for, and which one a mistyped one meant.

Each command is an action, so that keys and palette share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quorum.tui.keys.choices import (
    LAYOUT_MEANINGS,
    LAYOUTS,
    MODE_MEANINGS,
    MODES,
    SCOPE_MEANINGS,
    SCOPES,
    STRATEGIES,
    STRATEGY_MEANINGS,
)


class Command(NamedTuple):
    """One command, with all there is to know of it; what it does is the method `action_NAME` of its `action`.

    `takes` names its argument and the words it may be, and `meanings` says what each of them means; `counts`:
    it may take a number; `names`: it may take whatever is called so; `free`: any words, called so. `sample` is
    such an argument, for the help.
    `takes_file`: it is the name of a file; `sends`: it is sent as a prompt; `is_prompt`: the whole command
    is one, which the model reads as a longer text. `aliases` are other names, which no list shows; nor does
    one show a command that is not `is_listed`. `hint` is what stands after a custom command, in its own words.
    `is_free`: a remote client needs no approval for it. `waits`: with its argument it is carried out once the
    session is there, as prompts are. `takes_lines`: its argument may have several lines.
    """

    name: str
    does: str
    action: str
    takes: tuple[str, tuple[str, ...]] | None = None
    meanings: tuple[str, ...] = ()
    counts: bool = False
    names: str = ""
    free: str = ""
    sample: str = ""
    takes_file: bool = False
    sends: bool = False
    is_prompt: bool = False
    aliases: tuple[str, ...] = ()
    hint: str = ""
    is_free: bool = False
    waits: bool = False
    is_listed: bool = True
    takes_lines: bool = False

    @property
    def usage(self) -> str:
        """How it is typed."""
        if self.hint:
            return f"/{self.name} {self.hint}"
        if self.takes:
            return f"/{self.name} {self.takes[0]}"
        named = "N" if self.counts else self.names or self.free
        argument = f"[{named}]" if named else ""
        return f"/{self.name} {argument}".strip()

    @property
    def example(self) -> str:
        """How it may be typed."""
        named = self.takes[1][-1] if self.takes else "2" if self.counts else self.names or self.free
        return f"/{self.name} {self.sample or named}".strip()


COMMANDS = (
    Command(
        "help",
        "Show keys and commands, or one command",
        "app.show_help",
        names="COMMAND",
        sample="/mode",
        is_free=True,
    ),
    Command(
        "mode",
        f"{', '.join(MODES[:-1])} or {MODES[-1]}",
        "set_mode",
        ("MODE", MODES),
        MODE_MEANINGS,
        waits=True,
    ),
    Command(
        "stage",
        "Change your files only once you have reviewed the effects; /unstage ends it",
        "stage",
        waits=True,
    ),
    Command("unstage", "Work in your folder itself again", "unstage", waits=True, is_listed=False),
    Command(
        "solo",
        "One model answers, with its tools",
        "choose_solo",
        free="PROMPT",
        sends=True,
        waits=True,
        is_free=True,
        is_listed=False,
    ),
    Command(
        "ensemble",
        "Several models answer, and score each other's answers; again: one does",
        "choose_ensemble",
        free="PROMPT",
        sample="queue or cron for the nightly import?",
        sends=True,
        waits=True,
        is_free=True,
    ),
    Command(
        "strategy",
        "How an ensemble answers: quorum or debate",
        "choose_strategy",
        ("STRATEGY", STRATEGIES),
        STRATEGY_MEANINGS,
        is_free=True,
        waits=True,
    ),
    Command(
        "scope",
        "How far it goes: full, fast or plan-only",
        "choose_scope",
        ("SCOPE", SCOPES),
        SCOPE_MEANINGS,
        waits=True,
        is_listed=False,
    ),
    Command(
        "fast",
        "Carry plans out without other models looking at them; again: they look",
        "choose_fast",
        free="PROMPT",
        sample="add a retry limit",
        sends=True,
        waits=True,
    ),
    Command(
        "plan",
        "Have a plan made first, which you approve; again: none; drop withdraws it",
        "plan",
        free="PROMPT|drop",
        sample="add a retry limit",
        sends=True,
        waits=True,
    ),
    Command(
        "goal",
        "Work until the checks of a goal pass; alone: how it stands; off ends it",
        "goal",
        free="TEXT ! COMMAND|off",
        sample="all tests pass ! pytest -q",
        waits=True,
        takes_lines=True,
    ),
    Command(
        "model",
        "Choose the model and its reasoning effort",
        "choose_model",
        names="PROVIDER/MODEL EFFORT",
        sample="anthropic/claude-sonnet-5-5 high",
        is_free=True,
        waits=True,
    ),
    Command("retry", "Continue a turn that failed, was interrupted or reached a limit", "retry", is_free=True),
    Command(
        "steer",
        "Send text, or the queued prompt, into the running turn",
        "steer",
        free="WORDS",
        sends=True,
        waits=True,
        is_free=True,
    ),
    Command("new", "Start a new session", "new_session", is_free=True),
    Command("resume", "Resume another session", "resume_session", is_free=True),
    Command(
        "rename",
        "Give this session another title in lists",
        "rename_session",
        free="TITLE",
        sample="flaky tests",
        is_free=True,
    ),
    Command("fork", "Continue in a copy of this session", "fork_session", is_free=True),
    Command("undo", "Undo the last turn; shows the changes first", "undo", is_free=True),
    Command("rewind", "Undo back to a turn: conversation, files or both", "rewind", is_free=True),
    Command("redo", "Redo the last undo; shows the changes first", "redo", is_free=True),
    Command(
        "image",
        "Attach an image or PDF from a file, or an image from the clipboard",
        "attach_image",
        free="FILE",
        sample="screenshot.png",
        takes_file=True,
        is_free=True,
    ),
    Command(
        "compact",
        "Replace the conversation with a summary",
        "compact",
        free="FOCUS",
        sample="the failing test",
        is_free=True,
        waits=True,
    ),
    Command(
        "init",
        "Have the model look at the project and write or improve AGENTS.md",
        "write_instructions",
        free="FOCUS",
        sample="how the tests are run",
        sends=True,
        waits=True,
        is_prompt=True,
        is_free=True,
    ),
    Command(
        "export",
        "Write the session to a file: .md, .html or .json",
        "export",
        free="FILE",
        sample="session.md",
        takes_file=True,
        is_free=True,
    ),
    Command(
        "add-dir",
        "Add a folder to the workspace of this session, or list those added",
        "add_dir",
        free="DIR",
        sample="../library",
        takes_file=True,
        waits=True,
    ),
    Command("diff", "What this session changed; undo one file", "show_diff", is_free=True),
    Command("effects", "Review what waits to be applied to your files", "show_effects", is_free=True),
    Command(
        "board", "What waits for you, what runs and what ended, everywhere", "app.show_board", is_free=True
    ),
    Command("inbox", "Decisions that wait in any session", "show_inbox", is_free=True),
    Command("status", "All that holds in this session", "show_status", is_free=True),
    Command("cost", "Tokens and cost of this session", "show_cost", is_free=True),
    Command("context", "What fills the context window", "show_context", is_free=True),
    Command("read-calls", "Have calls that the model writes as text read", "read_calls"),
    Command("skills", "Skills that the model may load", "show_skills", is_free=True),
    Command("agents", "Agents to which the model may give tasks", "show_agents", is_free=True),
    Command(
        "mcp",
        "MCP servers: state, tools and login",
        "show_mcp",
        free="restart|login NAME",
        sample="login issues",
        is_free=True,
    ),
    Command(
        "lsp",
        "Language servers: state, problems and restart",
        "show_language_servers",
        free="restart NAME",
        sample="restart python",
        is_free=True,
    ),
    Command("permissions", "Permission rules: list, add, remove, test", "show_permissions", is_free=True),
    Command(
        "config",
        "Show settings, or set one; also /settings",
        "show_config",
        free="KEY [VALUE]",
        sample="tui.theme quorum",
        aliases=("settings",),
        is_free=True,
    ),
    Command(
        "worktree",
        "Open a tab with a git worktree of its own; diff, merge or drop one",
        "app.worktree",
        free="NAME|diff|merge|drop",
        sample="retry-limit",
    ),
    Command(
        "agent",
        "Have another agent work in a new tab; in one: its modes and models",
        "app.agent",
        free="NAME PROMPT|mode NAME|model NAME",
        sample="claude fix the failing test",
        sends=True,
    ),
    Command(
        "ask",
        "Ask in a new tab with read-only tools",
        "app.ask",
        free="QUESTION",
        sample="where is the retry limit set?",
        sends=True,
        is_free=True,
    ),
    Command(
        "discuss",
        "Have several models discuss a question, in a new tab",
        "app.discuss",
        free="QUESTION",
        sample="queue or cron for the nightly import?",
        sends=True,
        is_free=True,
    ),
    Command(
        "debate",
        "Have models object to the answer of one of them, in a new tab",
        "app.debate",
        free="QUESTION",
        sample="may we drop the nightly lock?",
        sends=True,
        is_free=True,
    ),
    Command(
        "review",
        "Have several models review a change, in a new tab",
        "app.review",
        free="RANGE|#N",
        sample="main...HEAD",
        sends=True,
        is_free=True,
    ),
    Command("findings", "Findings of the latest code review; open their places", "show_findings", is_free=True),
    Command(
        "tab",
        "Open a new session in a tab, and say this there",
        "app.new_tab",
        free="PROMPT",
        sample="--projected write the tests for it",
        sends=True,
        is_free=True,
    ),
    Command(
        "result",
        "Take over the answers of tabs opened from this one, or hand over its own",
        "app.result",
        counts=True,
        is_free=True,
    ),
    Command("close", "Close this tab; its session can be resumed", "app.close_tab", is_free=True),
    Command("find", "Find text in the transcript", "find", free="TEXT", is_free=True),
    Command(
        "copy",
        "Copy the latest or Nth latest of these",
        "copy",
        free="answer|code|output|prompt N",
        is_free=True,
    ),
    Command("clear", "Clear the screen; the conversation continues", "clear_transcript", is_free=True),
    Command("fold", "Open or close all details", "app.toggle_fold", is_free=True),
    Command("timeline", "Timeline of turns, answers and calls", "show_timeline", is_free=True),
    Command("jobs", "List and stop background commands", "show_jobs", is_free=True),
    Command(
        "output",
        "Open the latest output of a command, or the Nth latest",
        "open_output",
        counts=True,
        is_free=True,
    ),
    Command("theme", "Choose the theme", "app.change_theme", names="NAME", sample="nord", is_free=True),
    Command(
        "layout", "Choose the layout", "app.set_layout", ("LAYOUT", LAYOUTS), LAYOUT_MEANINGS, is_free=True
    ),
    Command("quit", "Leave; also /exit and /q", "app.quit", aliases=("exit", "q"), is_free=True),
)


RESERVED_NAMES = frozenset(name for command in COMMANDS for name in (command.name, *command.aliases))
"""The names that no custom command can take."""

PROMPT_COMMANDS = frozenset(command.name for command in COMMANDS if command.is_prompt)
"""The names of those that are sent to the model as they are typed."""

_MOST_DIGITS = 9


class NotACommand(ValueError):
    """What was typed is no command; the text says so and names the one that was meant."""


def list_actions() -> list[tuple[str, str, str]]:
    """Title, meaning and action of every command, once for each word it takes."""
    return [
        (f"/{c.name} {word}".strip(), c.does, f"{c.action}({word!r})" if word else c.action)
        for c in COMMANDS
        if c.is_listed
        for word in (c.takes[1] if c.takes else ("",))
    ]


def is_command(text: str) -> bool:
    """Whether a prompt is meant as a command: one line, unless the command takes several, and its first word no
    path."""
    word = text.rstrip().partition(" ")[0]
    if not word.startswith("/") or "/" in word[1:]:
        return False
    command = find_command(word[1:])
    return "\n" not in text.rstrip() or (command is not None and command.takes_lines)


def find_command(name: str, among: Sequence[Command] = COMMANDS) -> Command | None:
    """The command of this name, or of which it is another one."""
    return next((each for each in among if name in (each.name, *each.aliases)), None)


def find_prompt(text: str) -> str:
    """The prompt that a command sends, as `/steer PROMPT` does; empty where it sends none."""
    word, _, argument = text.strip()[1:].partition(" ")
    command = find_command(word)
    return argument.strip() if command is not None and command.sends else ""


def waits_for_session(text: str) -> bool:
    """Whether a command is carried out by the session alone, and so may be typed before that is there."""
    word, _, argument = text.strip()[1:].partition(" ")
    command = find_command(word)
    return command is None or (command.waits and bool(argument.strip()))


def is_built_in(text: str) -> bool:
    """Whether a prompt is one of these commands that is no prompt itself, rightly used or not."""
    word = text.strip()[1:].partition(" ")[0]
    return is_command(text) and word in RESERVED_NAMES and word not in PROMPT_COMMANDS


def find_action(text: str, others: Sequence[str] = ()) -> str:
    """The action that a typed command stands for. Raises NotACommand, which may name one of the `others`."""
    word, _, argument = text.strip()[1:].partition(" ")
    argument = argument.strip()
    if (command := find_command(word)) is None:
        raise NotACommand(f"there is no command /{word}; {suggest_command(word, others)}")
    if command.counts and argument:
        if not argument.isdecimal() or len(argument) > _MOST_DIGITS or int(argument) < 1:
            raise NotACommand(f"/{word} takes a number from 1 on, 1 being the latest")
        return f"{command.action}({int(argument)})"
    if (command.names or command.free) and argument:
        return f"{command.action}({argument!r})"
    if command.takes is None:
        if argument:
            raise NotACommand(f"/{word} takes nothing after it")
        return command.action
    if argument not in command.takes[1]:
        raise NotACommand(f"/{word} needs one of {', '.join(command.takes[1])}")
    return f"{command.action}({argument!r})"


_MEANINGS: tuple[tuple[str, str], ...] = (
    ("/quit", "bye leave end"),
    ("/new", "reset restart newchat fresh"),
    ("/resume", "sessions history chat continue load switch"),
    ("/rename", "title name"),
    ("/fork", "branch duplicate"),
    ("/undo", "revert restore rollback"),
    ("/rewind", "checkpoint checkpoints back"),
    ("/retry", "again"),
    ("/compact", "summarize summary compress shorten shrink"),
    ("/context", "window memory-usage"),
    ("/cost", "usage stats tokens price money budget spend spending bill"),
    ("/status", "about info whoami session version"),
    ("/model", "models effort thinking reasoning provider llm"),
    ("/mode", "modes chat-mode approval-mode permission-mode"),
    ("/mode ask", "manual careful"),
    ("/mode accept-edits", "accept-edits auto-edit acceptedits"),
    ("/mode sandboxed", "sandbox sandboxed"),
    ("/mode read-only", "read-only readonly"),
    ("/mode auto", "auto yolo full-auto dangerously-skip-permissions"),
    ("/mode quorum", "quorum vote"),
    ("/stage", "staged layer transaction overlay"),
    ("/effects", "apply accept-changes pending-changes"),
    ("/goal", "goals loop ralph until-done checks"),
    ("/plan", "plan-mode plan-only architect"),
    ("/permissions", "approvals approve allow allowed-tools rules"),
    ("/config", "preferences prefs options set statusline output-style privacy-settings"),
    ("/config keys", "keybindings rebind"),
    ("/config tui.editing vim", "vim vi"),
    ("/help", "commands shortcuts keys hotkeys docs ?"),
    ("/theme", "themes color colors dark light"),
    ("/fold", "details verbose expand collapse"),
    ("/find", "search grep"),
    ("/copy", "yank clipboard"),
    ("/export", "save download dump"),
    ("/image", "paste attach screenshot picture pdf"),
    ("/add-dir", "directory dir folder cd workspace"),
    ("/diff", "changes changed gitdiff git-diff"),
    ("/review", "security-review code-review"),
    ("/ask", "btw question"),
    ("/ensemble", "panel models-vote multi"),
    ("/discuss", "brainstorm"),
    ("/tab", "newtab new-tab"),
    ("/jobs", "bashes tasks ps shells background bg processes"),
    ("/agents", "subagents"),
    ("/agent", "claude codex gemini copilot opencode kimi vibe acp"),
    ("/skills", "skill plugin plugins extensions"),
    ("/mcp", "servers tools-servers"),
    ("/lsp", "language-servers diagnostics"),
    ("/timeline", "log todos trace"),
    ("/inbox", "waiting decisions"),
    ("/init", "agents.md claude.md"),
)
"""Commands, and words for them: what other agents call them, and what people do."""

_ANSWERS: tuple[tuple[str, str], ...] = (
    (
        "`quorum keys set anthropic` in a shell keeps an API key; /mcp login NAME logs in to an MCP server",
        "login signin auth api-key apikey key connect",
    ),
    ("`quorum keys list` in a shell lists API keys, and `quorum keys remove` removes one", "logout signout"),
    ("`quorum config trust` in a shell trusts the settings of this project", "trust"),
    ("`quorum import` in a shell takes over settings of other agents", "import migrate"),
    ("`quorum doctor` in a shell checks the installation", "doctor debug health"),
    ("`quorum config show` in a shell shows the hooks, and `quorum hooks test` tries one", "hooks"),
    ("`quorum share latest` in a shell writes a page that checks itself; /export writes a plain file", "share"),
    (
        "`quorum pr` in a shell describes the branch for a pull request; /review reviews a change",
        "pr pr-comments pull-request",
    ),
    ("# and a space before a line add it to AGENTS.md", "memory remember note"),
    ("! before a command runs it in your shell", "run bash shell sh terminal exec test lint ls pwd git"),
    ("@ before a path attaches a file", "mention file files add read-file"),
    ("esc stops the turn", "stop cancel abort interrupt"),
    ("say it in a prompt: the model does it, and you review the command", "commit push"),
    ("ctrl+g opens the prompt in your editor", "editor"),
)
"""Sentences, and the words that they answer: what is done here without a slash command."""

_LEAST_LETTERS = 3
_LONGEST = 80  # letters that are compared


def suggest_command(word: str, others: Sequence[str] = ()) -> str:
    """What to do in place of an unknown command: the one that was meant, one of the `others` included, or a
    sentence where it takes none."""
    word = word.lower()
    answers = dict(_list_answers())
    names = {name: f"did you mean /{name}?" for name in others}
    names |= {name: f"did you mean /{each.name}?" for each in COMMANDS for name in (each.name, *each.aliases)}
    return (
        answers.get(word)
        or _find_mistyped(word, {**answers, **names})
        or _find_described(word)
        or "/ alone lists them"
    )


def find_synonym(word: str) -> str:
    """The name of the command that a whole word stands for, if it needs nothing more; else empty."""
    meant = dict(_list_answers()).get(word.lower(), "")
    name = meant.removeprefix("did you mean /").removesuffix("?")
    return name if any(each.name == name and each.takes is None for each in COMMANDS) else ""


def _list_answers() -> Iterator[tuple[str, str]]:
    for command, words in _MEANINGS:
        yield from ((word, f"did you mean {command}?") for word in words.split())
    for sentence, words in _ANSWERS:
        yield from ((word, sentence) for word in words.split())


def _find_mistyped(word: str, answers: dict[str, str]) -> str:
    """The answer of the word that is misspelt; else of one that begins as it does. A command comes before a
    synonym."""
    from quorum.domain.text.fuzzy import count_edits, is_misspelt

    typed = word[:_LONGEST]
    edits = {each: count_edits(typed, each.lower()) for each in answers if len(each) >= _LEAST_LETTERS}
    near = [each for each in edits if is_misspelt(typed, each.lower())]
    near = near or [each for each in edits if len(word) >= _LEAST_LETTERS and _has_same_beginning(word, each)]
    best = min(near, key=lambda each: (edits[each], f"/{each}?" not in answers[each]), default=None)
    return answers[best] if best is not None else ""


def _find_described(word: str) -> str:
    """The only command whose description has the word, or begins one with it."""
    if len(word) < _LEAST_LETTERS:
        return ""
    found = [
        each.name
        for each in COMMANDS
        if each.is_listed and any(each_word.startswith(word) for each_word in each.does.lower().split())
    ]
    return f"did you mean {' or '.join(f'/{name}' for name in found)}?" if 1 <= len(found) <= 2 else ""


def _has_same_beginning(one: str, other: str) -> bool:
    return one.startswith(other.lower()) or other.lower().startswith(one)


GROUPS: tuple[tuple[str, str], ...] = (
    ("Work", "plan ensemble strategy fast goal mode stage model image steer retry compact init"),
    ("Undo", "undo rewind redo diff effects"),
    ("Ask", "ask discuss debate review findings"),
    ("Look", "status context cost timeline board jobs inbox find copy output export fold clear"),
    ("Sessions", "new resume rename fork tab agent worktree result close"),
    ("Set up", "permissions config mcp lsp skills agents add-dir read-calls"),
    ("App", "help theme layout quit"),
)
"""The title of each group, and its commands in the order in which they are listed."""

_LAST = GROUPS[-1][0]


def list_groups() -> Iterator[tuple[str, tuple[Command, ...]]]:
    """The title of each group and its commands. The last one has those, too, that no group names."""
    listed = {command.name: command for command in COMMANDS if command.is_listed}
    grouped = {name for _, names in GROUPS for name in names.split()}
    for title, names in GROUPS:
        own = tuple(listed[name] for name in names.split())
        others = tuple(each for name, each in listed.items() if name not in grouped) if title == _LAST else ()
        yield title, (*own, *others)


LEAVE, DROP = "off", "drop"
PLAN_WORDS = frozenset({LEAVE, DROP})
