"""Commands that change the settings, rules and records by which an agent is held to asking."""

from __future__ import annotations

import pytest

from quorum.domain.review.effects.reduction import reduce_command
from quorum.domain.review.effects.side_effect import EffectKind
from quorum.infrastructure.execution.shell.script import read_script


def _persists(command: str) -> bool:
    return any(each.kind is EffectKind.PERSIST for each in reduce_command(command, read_script))


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/a/b/ ~/.config/quorum/quorum.toml",
        "sed -i -e s/a/b/ $HOME/.config/quorum/quorum.toml",
        "sed -i s/a/b/ $XDG_CONFIG_HOME/quorum/quorum.toml",
        'sed -i s/a/b/ "${XDG_CONFIG_HOME:-$HOME/.config}/quorum/permissions.toml"',
        "perl -pi -e s/a/b/ /home/me/.config/quorum/quorum.toml",
        "cd ~/.config && sed -i s/a/b/ quorum/quorum.toml",
        "cd && cd .config/quorum && echo x >> permissions.toml",
        "cp p.toml ~/.config/quorum/permissions.toml",
        "mv p.toml ~/.config/quorum/",
        "mv ~/.config/quorum ~/elsewhere",
        "ln -sf /w/p.toml ~/.config/quorum/permissions.toml",
        "cat p.toml | tee ~/.config/quorum/permissions.toml",
        "cp x $XDG_STATE_HOME/quorum/ledger.sqlite",
        "echo x > ~/.local/state/quorum/trust.json",
        "python3 -c \"open('/home/me/.config/quorum/quorum.toml', 'a').write('x')\"",
        "sed -i s/a/b/ ~/.claude/settings.json",
        "sed -i.bak s/a/b/ ~/.codex/config.toml",
        "cd ~ && echo x >> .bashrc",
    ],
)
def test_a_change_of_what_holds_an_agent_to_asking_is_told(command: str) -> None:
    assert _persists(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat ~/.config/quorum/quorum.toml",
        "cp ~/.config/quorum/quorum.toml copy.toml",
        "sed -i s/a/b/ src/x.py",
        "cd src && sed -i s/a/b/ config.toml",
        "echo x > $XDG_CONFIG_HOME/other/settings.toml",
        "cd ~/.local/share/quorum/worktrees/a && echo x > notes.md",
    ],
)
def test_reading_them_and_writing_elsewhere_is_no_change_of_them(command: str) -> None:
    assert not _persists(command)
