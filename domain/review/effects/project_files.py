"""Files of a project that programs take by themselves: whoever puts one there has them do what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache

from quorum.domain.review.effects.program_effects import INPUTS, UsedProgram
from quorum.domain.review.effects.side_effect import EffectKind
from quorum.domain.review.hazards.invocation import list_recipes

_SCRIPTS_OF_NODE = "package.json .npmrc .yarnrc.yml .pnpmfile.cjs"
_CONFIG_OF_NODE = "*.config.js *.config.ts *.config.mjs *.config.cjs *.config.mts .eslintrc.js .eslintrc.cjs"
_PYTHON = "setup.py pyproject.toml setup.cfg"
_IMAGES = "Dockerfile Containerfile docker-compose.y*ml compose.y*ml docker-compose.override.y*ml"
_MODULES = "*.tf *.tofu terragrunt.hcl"

# From the manuals of the programs as of 2024.
_TAKEN = {
    "make gmake": "Makefile makefile GNUmakefile *.mk",
    "just": "justfile Justfile .justfile",
    "task go-task": "Taskfile.y*ml",
    "ninja": "build.ninja",
    "ant": "build.xml",
    "rake": "Rakefile *.rake",
    "gradle gradlew": "*.gradle *.gradle.kts gradle.properties gradle-wrapper.properties",
    "mvn mvnw": "pom.xml extensions.xml maven.config jvm.config",
    "sbt": "build.sbt plugins.sbt",
    "cmake ctest": "CMakeLists.txt CMakePresets.json *.cmake",
    "meson": "meson.build",
    "scons": "SConstruct SConscript",
    "bazel bazelisk buck2": "BUILD BUILD.bazel WORKSPACE WORKSPACE.bazel MODULE.bazel *.bzl .bazelrc",
    "npm npx pnpm yarn bun": f"{_SCRIPTS_OF_NODE} {_CONFIG_OF_NODE}",
    "vite vitest webpack rollup eslint jest next nuxt playwright cypress astro gulp grunt": (
        f"{_CONFIG_OF_NODE} gulpfile.js Gruntfile.js"
    ),
    "pytest": "conftest.py test_*.py *_test.py pytest.ini",
    "tox nox": "tox.ini noxfile.py",
    "pip pip3 uv poetry hatch pdm": _PYTHON,
    "invoke inv fab": "tasks.py fabfile.py",
    "snakemake": "Snakefile *.smk",
    "sphinx-build": "conf.py",
    "bundle": "Gemfile",
    "rspec": "*_spec.rb spec_helper.rb .rspec",
    "composer": "composer.json",
    "cargo": "Cargo.toml build.rs main.rs",
    "go run": "*.go",
    "go test": "*.go",
    "go generate": "*.go",
    "mix": "mix.exs config.exs",
    "rebar3": "rebar.config",
    "stack cabal": "*.cabal Setup.hs package.yaml",
    "dune": "dune",
    "docker podman nerdctl docker-compose podman-compose": _IMAGES,
    "vagrant": "Vagrantfile",
    "terraform tofu terragrunt": _MODULES,
    "tilt": "Tiltfile",
    "skaffold": "skaffold.yaml",
    "earthly": "Earthfile",
    "helmfile": "helmfile.yaml",
    "serverless sls": "serverless.y*ml",
    "cdk": "cdk.json",
    "ansible ansible-playbook": "ansible.cfg",
    "fastlane": "Fastfile",
    "pod": "Podfile",
    "brew bundle": "Brewfile",
    "conda env": "environment.yml",
    "mamba env": "environment.yml",
    "pre-commit": ".pre-commit-config.yaml",
}
_TAKE_BY_COMMAND = frozenset({"go", "brew", "conda", "mamba"})


@cache
def _index_programs() -> dict[str, tuple[str, ...]]:
    """What a program takes, by its name, or by that and its first word."""
    found: dict[str, tuple[str, ...]] = {}
    for key, patterns in _TAKEN.items():
        names = key.split()
        has_command = names[0] in _TAKE_BY_COMMAND
        found.update(dict.fromkeys([key] if has_command else names, tuple(patterns.split())))
    return found


def _find_patterns(used: UsedProgram) -> tuple[str, ...]:
    known = _index_programs()
    if (found := known.get(used.name)) is not None:
        return found
    is_told = used.name in _TAKE_BY_COMMAND and bool(used.run.arguments)
    return known.get(f"{used.name} {used.run.arguments[0]}", ()) if is_told else ()


def list_taken(used: UsedProgram) -> Iterator[str]:
    """Those of the files that the command has put somewhere which this program takes unasked."""
    patterns = _find_patterns(used)
    for path in used.scope.reducer.list_files() if patterns else ():
        if any(fnmatchcase(path.rpartition("/")[2], pattern) for pattern in patterns):
            yield path


_BUILDERS = frozenset(
    {
        *("make", "gmake", "npm", "pnpm", "yarn", "pip", "pip3", "cargo", "go", "mvn", "gradle", "cmake"),
        *("bundle", "composer", "docker", "rake", "ant", "tox", "poetry", "meson", "ninja"),
    }
)
"""What builds a tree that was fetched as a whole."""
_MAKES = frozenset({"make", "gmake", "just"})
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=(\S+\s.*)", re.DOTALL)
"""A variable that recipes run, or hand to what they run."""


_COMPILERS = frozenset({"gcc", "g++", "cc", "c++", "clang", "clang++"})
_STAGES = {"-c": ".o", "-S": ".s"}
_PRINTED = frozenset({"-E", "-M", "-MM", "--version", "-v", "-dumpmachine", "-fsyntax-only"})


def compile_sources(used: UsedProgram) -> None:
    """Take the files that a compiler names itself where it is not told how."""
    if used.name not in _COMPILERS or used.words.find("-o") or not _PRINTED.isdisjoint(used.run.arguments):
        return
    ending = next((each for option, each in _STAGES.items() if option in used.run.arguments), None)
    for path in used.operands if ending else ():
        name = path.rpartition("/")[2].rpartition(".")[0]
        used.scope.reducer.write_file(f"{name}{ending}", used.read(path))
    if ending is None and used.operands:
        used.scope.reducer.write_file("a.out", used.read(*used.operands))


def do_project(used: UsedProgram) -> None:
    """Take a program that does what files of the project say, or what it is given in their place."""
    compile_sources(used)
    is_builder = used.name in _BUILDERS
    if not (is_builder or _find_patterns(used)):
        return
    reducer, words = used.scope.reducer, used.run.arguments
    if is_builder:
        does = f"runs {used.name}, which does what files of the project say"
        used.scope.add(EffectKind.UNKNOWN, does)
    if {"--version", "--help", "version"}.intersection(words):
        return
    given = tuple(used.run.find_values("-f", "--file", "--makefile", "--justfile", "-c", "--config"))
    if INPUTS.intersection(given):
        reducer.run_data(used.piped)
    for word in words if used.name in _MAKES else ():
        if value := _ASSIGNED.match(word):
            reducer.run_shell(value[1], through=used.name)
    for path in (*list_taken(used), *given):
        if (file := reducer.find_file(path)) is not None:
            reducer.run_data(file.data)
            for recipe in list_recipes(file.text or "") if used.name in _MAKES else ():
                reducer.run_shell(recipe, through=used.name)
    if is_builder and reducer.fetched_tree:
        reducer.run_data((reducer.fetched_tree,))
    if is_builder and any(word.startswith("<(") for word in words):
        reducer.run_data(used.substituted)
