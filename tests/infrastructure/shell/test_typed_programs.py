"""Which programs run what is typed into them."""

from __future__ import annotations

import pytest

from quorum.domain.review.hazards.typed_programs import find_typed_program
from quorum.infrastructure.execution.shell.script import read_script


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("sh", "sh"),
        ("bash -i", "bash"),
        ("exec bash --norc", "bash"),
        ("cd src && env -i zsh", "zsh"),
        ("timeout 5 python3.12 -u", "python3.12"),
        ("python3 -i tool.py", "python3"),
        ("python -m pdb tool.py", "python"),
        ("uv run python", "python"),
        ("node", "node"),
        ("psql app", "psql"),
        ("sqlite3 app.db", "sqlite3"),
        ("ssh build", "ssh"),
        ("docker exec -it web bash", "docker"),
        ("docker run -ti alpine", "docker"),
        ("sudo -i", "sudo"),
        ("su - app", "su"),
        ("less notes.txt", "less"),
        ("vim notes.txt", "vim"),
        ("cat | sh", "sh"),
        ("cat - | xargs rm", "xargs"),
        ("read line; $line", "read"),
        ('while read -r line; do eval "$line"; done', "read"),
        ("xargs -n1 touch", "xargs"),
        ("gdb ./app", "gdb"),
        ("mysql -u root app", "mysql"),
        ("perl -d tool.pl", "perl"),
        ("awk '{ system($0) }'", "awk"),
        ("sh /dev/stdin", "sh"),
        (". /dev/stdin", "."),
        ('eval "$(cat)"', "eval"),
        ('bash -c "$(cat)"', "bash"),
        ("docker compose exec web sh", "sh"),
        ("rails console", "rails"),
        ("python manage.py shell", "python"),
    ],
)
def test_a_program_that_takes_commands_from_its_input_is_found(command: str, program: str) -> None:
    assert find_typed_program(read_script(command)) == program


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "cat notes.txt",
        "bash build.sh",
        "sh -c 'make test'",
        "bash -lc 'make test'",
        "python3 tool.py --all",
        "python3 -m pytest -q",
        "python3 -c 'print(1)'",
        "python3 --version",
        "node build.js",
        "psql -c 'select 1' app",
        "sqlite3 app.db 'select 1'",
        "sqlite3 app.db < schema.sql",
        "ssh build uptime",
        "git ls-files | xargs grep -n x",
        "python3 - <<'END'\nprint(1)\nEND",
        'git log --oneline | while read -r line; do echo "$line"; done',
        "docker run --rm alpine ls",
        "npm test",
        "ls shell",
        "mysql -e 'select 1' app",
        "perl -pe 's/a/b/' notes.txt",
        "awk '{ print $1 }' notes.txt",
        "make",
        "sudo apt-get install x",
    ],
)
def test_a_program_that_is_told_what_to_do_is_none(command: str) -> None:
    assert find_typed_program(read_script(command)) is None
