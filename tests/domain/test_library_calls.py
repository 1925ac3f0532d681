"""Calls in code of other languages, as the shell commands that do the same."""

from __future__ import annotations

import pytest

from quorum.domain.review.hazards.library_calls import LIBRARY_CALLS, read_library_calls


@pytest.mark.parametrize(
    ("program", "code", "alike"),
    [
        ("node", 'const d = "a"; fs.rmSync(d + "/b", {recursive: true})', "rm -r a/b"),
        ("node", 'fs.readFileSync(path.join(os.homedir(), ".netrc"))', "cat ~/.netrc"),
        ("node", "fs.chmodSync(`${dir}/run`, 0o755)", "chmod 0755 $x/run"),
        ("nodejs", "// don't\nfs.renameSync(\n  'a',\n  'b'\n)", "mv a b"),
        ("deno", "await Deno.remove(name)", "rm -r $x"),
        ("perl", 'my @old = qw(a b); unlink @old if 1; rename "c", "d"', "rm a b\nmv c d"),
        ("perl", 'open(my $h, ">>", "$ENV{HOME}/.profile")', "echo >> ~/.profile"),
        ("perl5.36", 'open F, "<data.csv"', "cat data.csv"),
        ("perl", 'open(P, "-|", "git", "push")', "git push"),
        ("perl", 'open P, "git push|"', "git push"),
        ("ruby", 'place = File.join(Dir.home, "x"); puts IO.read place', "cat ~/x"),
        ("ruby", 'FileUtils.rm_rf "#{ENV["HOME"]}/x"', "rm -r ~/x"),
        ("php", '$p = "a"; $p .= "/b"; unlink($p . ".txt");', "rm -r a/b.txt"),
        ("lua5.4", 'local n = os.getenv("HOME") .. "/x" os.remove(n)', "rm ~/x"),
        ("Rscript", 'd <- file.path("a", "b"); unlink(d, recursive = TRUE)', "rm -r a/b"),
        ("julia", 'rm(joinpath(homedir(), "x"); recursive=true)', "rm -r ~/x"),
        ("elixir", 'File.cp!(Path.join("a", "b"), "c")', "cp -r a/b c"),
    ],
)
def test_a_call_is_read_as_the_command_that_does_the_same(program: str, code: str, alike: str) -> None:
    assert read_library_calls(code, program).alike == alike


@pytest.mark.parametrize(
    ("program", "code", "started"),
    [
        ("node", 'const w = ["push", "-f"]; cp.spawnSync("git", w)', "git push -f"),
        ("node", 'let c = "git push"; c += " -f"; execSync(c, {stdio: "inherit"})', "git push -f"),
        ("perl", "@w = ('git', 'push'); system @w", "git push"),
        ("ruby", "words = %w[git push]; system(*words)", "git push"),
        ("lua", 'local w = {"git", "push"} os.execute(table.concat(w, " "))', "git push"),
        ("elixir", 'System.cmd("git", ["push"])', "git push"),
        ("php", "shell_exec('git push');", "git push"),
        ("Rscript", "system2('git', c('push', '-f'))", "git push -f"),
        ("php", "exec('git push', $lines, $code);", "git push"),
        ("node", "cp.exec('git push', (error, out) => console.log(out))", "git push"),
        ("node", "cp.execFile('git', ['push'], done)", "git push $x"),
    ],
)
def test_words_of_a_command_are_put_together(program: str, code: str, started: str) -> None:
    assert read_library_calls(code, program).started == (started,)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("node", "const rm = /rm/; rm.test('a')"),
        ("node", "// fs.rmSync('a')\nseen.delete('a')"),
        ("ruby", "puts 'File.delete(1)'"),
        ("awk", "{ print }"),
        ("python3", "import os; os.remove('a')"),
    ],
)
def test_what_is_no_call_of_a_library_is_none(program: str, code: str) -> None:
    calls = read_library_calls(code, program)
    assert (calls.alike, calls.started) == ("", ())


def test_each_function_stands_once_in_a_language() -> None:
    names = [
        (language, name)
        for row in LIBRARY_CALLS
        for language in row.languages.split()
        for name in row.names.split()
    ]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("part", ["rm(", "unlink $a ", "qw(", "unlink('a'+", "/*", "#{", "a=[", '"$', "open '"])
@pytest.mark.parametrize("program", ["node", "perl", "lua"])
def test_hostile_code_is_read_in_time_that_grows_with_its_length(program: str, part: str) -> None:
    assert read_library_calls(f"unlink {part * 500}", program).rest
    assert len(read_library_calls(f"unlink {part * 1_500}", program).started) <= 40
