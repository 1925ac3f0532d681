"""The settings `[agents.NAME]`: agents of other vendors that `quorum agent` starts."""

from typing import Annotated

from msgspec import Meta, Struct

from quorum.infrastructure.config.about import About, ProjectRule

_VARIABLE = r"\A[A-Za-z_][A-Za-z0-9_]*\Z"


class AgentProgramTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How an agent is started."""

    command: Annotated[
        tuple[str, ...],
        About(
            description="The program and its arguments with which it speaks the Agent Client Protocol, run "
            "without a shell in the workspace, with your rights. Empty: the usual "
            "one of claude, codex, copilot, gemini, kimi, opencode and vibe.",
            project=ProjectRule.NEVER,
            expected='a list of a program and its arguments, for example ["gemini", "--acp"]',
        ),
    ] = ()
    pass_env: Annotated[
        tuple[Annotated[str, Meta(pattern=_VARIABLE)], ...],
        About(
            description="Names of environment variables that the program gets although they look like secrets, "
            'for example ["ANTHROPIC_API_KEY"].',
            project=ProjectRule.OWN,
            expected="a list of names of environment variables",
        ),
    ] = ()
    sandbox: Annotated[
        bool,
        About(
            description="Run it in the sandbox of commands, with the network, its own folders and those of "
            "tools.run_command.sandbox_readable and sandbox_writable; where there is no sandbox, not at all.",
            project=ProjectRule.NEVER,
        ),
    ] = False
    timeout_secs: Annotated[
        float,
        Meta(gt=0, le=86_400),
        About(
            description="Seconds without a word of the agent after which it is ended, the time of open reviews "
            "not counted.",
            project=ProjectRule.NEVER,
        ),
    ] = 600.0
