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


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("node", 'let f = "/tmp/x"; names.forEach(f => fs.rmSync(f))'),
        ("node", 'let d = name; if (late) d = "/tmp/x"; fs.rmSync(d)'),
        ("node", 'let d = "/tmp/x"; function f() { fs.rmSync(d) } d = name; f()'),
        ("node", 'let d = "/tmp/x"; function f(d) { fs.rmSync(d) } f(name)'),
        ("node", 'let d = "/tmp/x"; [d] = names; fs.rmSync(d)'),
        ("node", 'let d = "/tmp/x"; d &&= name; fs.rmSync(d)'),
        ("node", 'let d = "/tmp/x"; for (d of names) fs.rmSync(`${d}/y`)'),
        ("node", 'let d = ["/tmp/x"]; d[0] = name; fs.rmSync(d[0])'),
        ("node", 'fs.rmSync("/tmp/x" && name)'),
        ("node", 'const d = "/tmp/x".replace("/tmp/x", name); fs.rmSync(d)'),
        ("perl", '$d = "/tmp/x"; for $d (@names) { unlink $d }'),
        ("perl", '$d = "/tmp/x"; $d =~ s/x/y/; unlink $d'),
        ("perl", '@d = ("/tmp/x"); push @d, $name; unlink @d'),
        ("perl", "unlink " + '"/tmp/x", ' * 40 + "$name"),
        ("ruby", 'd = "/tmp/x"; names.each { |d| File.delete d }'),
        ("ruby", 'd = "/tmp/x"; d.replace name; File.delete d'),
        ("ruby", 'd, e = "/tmp/x", 1; d, e = names; File.delete d'),
        ("php", '$d = "/tmp/x"; foreach ($names as $d) unlink($d);'),
        ("lua", 'local d = "/tmp/x" for _, d in pairs(names) do os.remove(d) end'),
        ("julia", 'd = "/tmp/x"; for d in names; rm(d); end'),
        ("elixir", 'd = "/tmp/x"; Enum.each(names, fn d -> File.rm! d end)'),
        ("Rscript", 'd <- "/tmp/x"; sapply(names, function(d) unlink(d))'),
    ],
)
def test_a_name_that_may_stand_for_something_else_is_not_followed(program: str, code: str) -> None:
    assert "$x" in read_library_calls(code, program).alike


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("node", 'const d = "/tmp/x"; if (fs.existsSync(d)) { fs.rmSync(d, {force: true}) } console.log(d)'),
        ("perl", 'my $d = "/tmp/x"; mkdir $d; print $d; unlink $d or die "no $d";'),
        ("ruby", 'd = "/tmp/x"; Dir.mkdir(d) unless Dir.exist?(d); puts d; FileUtils.rm_rf(d)'),
        ("php", '$d = "/tmp/x"; if (file_exists($d)) { unlink($d); } echo $d;'),
        ("lua", 'local d = "/tmp/x" print(d) os.remove(d)'),
        ("Rscript", 'd <- "/tmp/x"; if (file.exists(d)) unlink(d)'),
    ],
)
def test_a_name_that_is_only_read_is_followed(program: str, code: str) -> None:
    assert read_library_calls(code, program).alike.split()[-1] == "/tmp/x"


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("deno", 'new Deno.Command("git", {args: ["push", "-f"]}).output()'),
        ("node", 'spawnSync("sh", ["-c", read("git push -f")])'),
    ],
)
def test_code_that_starts_what_is_not_all_known_is_judged_by_all_its_words(program: str, code: str) -> None:
    assert read_library_calls(code, program).rest == code


def test_what_is_pasted_into_a_command_is_words_of_it() -> None:
    assert read_library_calls('system2("git", "push -f")', "Rscript").started == ("git push -f",)
