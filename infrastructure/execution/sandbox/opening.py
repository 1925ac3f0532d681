"""Opens the sandbox of a session, and says which modes it allows."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Rule, collect_hosts
from quorum.domain.review.rule_offers import GitApproval
from quorum.domain.shell.network_hosts import HostList, sort_entries
from quorum.domain.shell.sandbox import SandboxOn
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.policy_table import NO_POLICY, ManagedPolicy
from quorum.infrastructure.config.tools_table import NetworkChoice, RunCommandTable
from quorum.infrastructure.execution.network.command_secrets import CommandSecrets
from quorum.infrastructure.execution.sandbox import session_tmp
from quorum.infrastructure.execution.sandbox.identity_store import IdentityStore
from quorum.infrastructure.execution.sandbox.new_protected_paths import UnfinishedCommands
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.execution.sandbox.session_tmp import SessionTmp
from quorum.infrastructure.files.swept_folder import remove_abandoned_folders


def build_sandbox(  # noqa: PLR0913 - what holds a command meets here
    table: RunCommandTable,
    policy: PathPolicy,
    environ: Mapping[str, str],
    *,
    own: Sequence[Path],
    get_mode: Callable[[], Mode],
    links: Sequence[str] = (),
    root: Path = Path(),
    session_id: str = "",
    git_approvals: Collection[GitApproval] = (),
    check_layer: Callable[[], None] | None = None,
    list_rules: Callable[[], Sequence[Rule]] = tuple,
    learn: Callable[[str, str], object] = lambda _name, _value: None,
) -> Sandbox:
    """What commands are held to while `get_mode` is in force. `own` is hidden from them; `links` are those of
    worktrees. `git_approvals` are those recorded; one of this very session and workspace, `session_id` and
    `root`, holds again. `list_rules` are those in force, which may speak of hosts. In a layer commands may
    write to `.git` as well, and to nothing beside what it holds. `learn` is told the secrets of commands.
    """
    shared = locate_shared_tmp(environ)
    opened = table.sandbox_writable
    is_layered = check_layer is not None
    return Sandbox(
        choice=table.sandbox,
        policy=policy,
        environ=environ,
        own=own,
        readable=(*table.sandbox_readable, *opened) if is_layered else table.sandbox_readable,
        writable=() if is_layered else opened,
        links=links,
        network=_decide_network(table.network, get_mode),
        list_hosts=None if table.network in ("off", "on") else partial(_list_hosts, table.network, list_rules),
        tmp=SessionTmp(shared) if shared is not None else None,
        # Those of other sessions know the workspace's files, whose numbers differ in a layer.
        identities=None if is_layered else open_identity_store(environ),
        unfinished=_keep_unfinished_commands(policy, environ, session_id),
        is_git_open=os.path.realpath(root) == str(root)  # no link leads to another workspace than approved
        and GitApproval(session_id=session_id, workspace=str(root)) in git_approvals,
        check_layer=check_layer,
        secrets=CommandSecrets(table.secrets, environ, learn),
    )


def _keep_unfinished_commands(
    policy: PathPolicy, environ: Mapping[str, str], session_id: str
) -> UnfinishedCommands | None:
    state = locate_state_folder(environ)
    if state is None or not session_id:
        return None
    return UnfinishedCommands(state / "unfinished-commands" / session_id, policy)


def locate_shared_tmp(environ: Mapping[str, str]) -> Path | None:
    """Where the folders lie that the commands of sessions share as `/tmp`; None where there is no home."""
    state = locate_state_folder(environ)
    return state / "sandbox" if state is not None else None


def open_identity_store(environ: Mapping[str, str]) -> IdentityStore | None:
    """What keeps the identities of guarded files for all sessions; None where there is no home."""
    state = locate_state_folder(environ)
    return IdentityStore(state / "guarded-files") if state is not None else None


def remove_abandoned(environ: Mapping[str, str]) -> None:
    """Remove what sessions that are gone have left. What fails costs no more than disk, and is tried again."""
    remove_abandoned_folders()
    with suppress(OSError):
        if (shared := locate_shared_tmp(environ)) is not None:
            session_tmp.remove_abandoned(shared)
        if (identities := open_identity_store(environ)) is not None:
            identities.remove_abandoned()


def build_mode_check(
    sandbox: Sandbox, policy: ManagedPolicy = NO_POLICY, reviewers: Sequence[str] = ()
) -> Callable[[Mode], Awaitable[str | None]]:
    """Tells why a mode cannot be had here: by the managed policy, for want of a sandbox, or for the layer that
    this process works in, or does not."""

    async def find_refusal(mode: Mode) -> str | None:
        if (why := policy.explain_mode_refusal(mode, reviewers)) is not None:
            return why
        if sandbox.is_in_layer and not mode.traits.needs_layer and mode is not Mode.READ_ONLY:
            return f"this quorum works in a layer, for the mode {Mode.STAGED}: /unstage leaves it for {mode}"
        if mode.traits.needs_layer and not sandbox.is_in_layer:
            return (
                f"the mode {mode} needs a layer over the workspace, in which the app and quorum run can begin "
                f"with --mode {mode} or /stage"
            )
        if not mode.traits.needs_sandbox:
            return None
        state = await sandbox.find_state()
        if isinstance(state, SandboxOn):
            broken = await asyncio.to_thread(sandbox.list_broken)
            remedy = "choose another mode, and tell of it (SECURITY.md)"
            return f"the sandbox does not hold here: {', '.join(broken)}; {remedy}" if broken else None
        return f"the mode {mode} needs a sandbox, and {state.why}: {state.remedy}"

    return find_refusal


def _list_hosts(choice: NetworkChoice, list_rules: Callable[[], Sequence[Rule]]) -> HostList:
    """The hosts that commands without network reach: rules come with those of the settings."""
    ranges = () if isinstance(choice, str) else sort_entries(choice)[1]
    return replace(collect_hosts(list_rules()), ranges=ranges)


def _decide_network(choice: NetworkChoice, get_mode: Callable[[], Mode]) -> Callable[[], bool]:
    """Whether a command reaches the network: not where nobody looks at it, unless the settings say so."""
    return lambda: choice == "on" or (choice == "auto" and get_mode().traits.network)
