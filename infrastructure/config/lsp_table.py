"""The settings of language servers: `[lsp.NAME]`, and which files belong to which language."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct, field

from quorum.infrastructure.config.about import About

_ANY_NAME = r"\A.+\Z"

# The names of languages in the protocol, with the patterns of their files.
LANGUAGE_FILES: Mapping[str, tuple[str, ...]] = {
    "python": ("*.py", "*.pyi"),
    "typescript": ("*.ts", "*.mts", "*.cts"),
    "typescriptreact": ("*.tsx",),
    "javascript": ("*.js", "*.mjs", "*.cjs"),
    "javascriptreact": ("*.jsx",),
    "rust": ("*.rs",),
    "go": ("*.go",),
    "c": ("*.c", "*.h"),
    "cpp": ("*.cc", "*.cpp", "*.cxx", "*.hh", "*.hpp", "*.hxx"),
    "csharp": ("*.cs",),
    "java": ("*.java",),
    "kotlin": ("*.kt", "*.kts"),
    "scala": ("*.scala", "*.sc"),
    "swift": ("*.swift",),
    "ruby": ("*.rb",),
    "php": ("*.php",),
    "lua": ("*.lua",),
    "zig": ("*.zig",),
    "elixir": ("*.ex", "*.exs"),
    "erlang": ("*.erl", "*.hrl"),
    "haskell": ("*.hs",),
    "ocaml": ("*.ml", "*.mli"),
    "dart": ("*.dart",),
    "shellscript": ("*.sh", "*.bash"),
    "html": ("*.html", "*.htm"),
    "css": ("*.css",),
    "scss": ("*.scss",),
    "json": ("*.json",),
    "yaml": ("*.yaml", "*.yml"),
    "toml": ("*.toml",),
    "markdown": ("*.md",),
    "vue": ("*.vue",),
    "svelte": ("*.svelte",),
}


def find_unfit_language_server(table: Mapping[str, object]) -> str | None:
    """What is wrong with a server as a whole: it must be told which files are its own."""
    languages = table.get("languages")
    if not isinstance(languages, list | tuple) or not languages:
        return 'needs languages, for example languages = ["python"]'
    unknown = next((each for each in languages if each not in LANGUAGE_FILES), None)
    if unknown is not None and not table.get("files"):
        return f'has the language "{unknown}", whose files are not known here: name them in files = ["*.EXT"]'
    return None


class LanguageServerTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One language server."""

    command: Annotated[
        tuple[str, ...],
        Meta(min_length=1),
        About(
            description="The program of the server and its arguments, with which it speaks the Language Server "
            "Protocol on its standard input and output. It runs without a shell in the workspace, which it can "
            "only read, in the sandbox where there is one, without network.",
            expected='a list of a program and its arguments, for example ["pyright-langserver", "--stdio"]',
        ),
    ]
    languages: Annotated[
        tuple[str, ...],
        About(
            description="The languages that it serves, by their names in the protocol, such as python, "
            "typescript, typescriptreact, rust, go, cpp.",
            expected='a list of languages, for example ["python"]',
        ),
    ] = ()
    files: Annotated[
        tuple[str, ...],
        About(
            description="The files that it serves: patterns of paths relative to the workspace; * also matches "
            "/. Empty: those that are usual for its languages. A file of no known language has the first one.",
            expected='a list of patterns, for example ["*.py"]',
        ),
    ] = ()
    options: Annotated[
        Mapping[str, object],
        About(
            description="What it gets as its initializationOptions.",
            expected="a value",
            names=_ANY_NAME,
            names_expected="no line breaks",
        ),
    ] = field(default_factory=dict)
    settings: Annotated[
        Mapping[str, object],
        About(
            description="Its own settings, which it asks for by section, such as "
            '{ python = { analysis = { typeCheckingMode = "strict" } } }.',
            expected="a value",
            names=_ANY_NAME,
            names_expected="no line breaks",
        ),
    ] = field(default_factory=dict)
    diagnostics: Annotated[
        bool,
        About(
            description="Whether the model reads with the result of an edit what the server finds new in it.",
        ),
    ] = True
    wait_secs: Annotated[
        float,
        Meta(ge=0, le=60),
        About(
            description="Seconds that the result of an edit waits for its diagnostics; what comes later is "
            "told with the next result.",
        ),
    ] = 3.0
    start_timeout_secs: Annotated[
        float,
        Meta(gt=0, le=600),
        About(description="Seconds after which the start of the server fails."),
    ] = 30.0
    timeout_secs: Annotated[
        float,
        Meta(gt=0, le=600),
        About(description="Seconds after which a question to it fails."),
    ] = 30.0
    enabled: Annotated[bool, About(description="false: it is off.")] = True
