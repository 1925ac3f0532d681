"""`quorum permissions`: what would be answered about a call, the rules, and the removal of a saved one."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from application.review.non_interactive_approver import NonInteractiveApprover
from domain.errors import ConfigError
from infrastructure.bootstrap import build_unused
from infrastructure.container import Container
from infrastructure.permissions.in_force import open_rule_file
from infrastructure.permissions.trial import find_saved_rule, render_rule_list, try_call
from quorum.errors import complain
from quorum.headless.printer import Unobserved
from quorum.options import Options
from quorum.settings import load

CHECK_CODES = {"allow": 0, "deny": 1, "ask": 3}
"""The exit code of `quorum permissions check` for each answer."""


def print_permissions(options: Options, root: Path) -> int:
    """Do what is asked about the rules; the exit code. Raises ConfigError."""
    # Without a project's file that cannot be read the rules can be looked at, but no answer about a call holds.
    loaded = load(options, root, needs_project=options.action == "check")
    complain(loaded.warnings)
    container = build_unused(loaded, root, approver=NonInteractiveApprover(), observer=Unobserved())
    complain(container.saved_rules().warnings)
    file = open_rule_file(os.environ)
    saved = file.read_rules() if file is not None else ()
    match options.action:
        case "check":
            return asyncio.run(_check_call(options, container))
        case "list":
            print(render_rule_list(container.rules().rules, saved))
        case _:
            if file is None:
                raise ConfigError("there is no home folder, and so there are no saved rules")
            chosen = find_saved_rule(options.number, saved)
            asyncio.run(file.remove(chosen.saved))
            print(f"removed {chosen.saved.rule.id}")
    return 0


async def _check_call(options: Options, container: Container) -> int:
    complain(container.parts().calls.choice.notices)
    answer, account = await try_call(
        options.tool,
        options.arguments,
        tools=container.tools(),
        schema=container.parts().calls.schema,
        review=container.review(),
        rules=container.rules().rules,
        roots=container.parts().shared.paths.roots,
    )
    print(account)
    return CHECK_CODES[answer.value]
