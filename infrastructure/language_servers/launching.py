"""How a language server is started: in the sandbox, where it reads the workspace and writes nowhere in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.domain.shell.sandbox import SandboxOn
from quorum.infrastructure.execution.commands.sealing import find_declared_program
from quorum.infrastructure.execution.sandbox.confinement import Launch
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.language_servers.channel import LanguageServerFailed


class ServerProgram(Struct, frozen=True, kw_only=True):
    """The program of a server, with its arguments and environment, and where it runs."""

    command: Sequence[str]
    environment: Mapping[str, str]
    workspace: Path
    sandbox: Sandbox

    def prepare(self) -> tuple[Launch, Mapping[str, str]]:
        """What to start, and its environment. Blocks. Raises LanguageServerFailed where there is no such
        program, or no sandbox though the settings require one."""
        name, *words = self.command
        sandbox = self.sandbox
        try:
            is_confined = isinstance(sandbox.detect_state(), SandboxOn)
            argv, environment = find_declared_program(
                name, words, self.environment, cwd=self.workspace, is_confined=is_confined
            )
            if is_confined:
                launch = sandbox.wrap(argv, self.workspace, environment, network=False, is_read_only=True)
                return launch, environment
            sandbox.confine()  # raises where the settings require a sandbox
        except ToolError as error:
            raise LanguageServerFailed(str(error)) from error
        return Launch(argv=argv), environment
