"""What a file has others do: its commands, where packages come from, which rights containers, workflows and
clouds give, and what agents no longer ask about.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from html import unescape

from quorum.domain.review.effects.places import is_local
from quorum.domain.review.effects.side_effect import EffectKind, SideEffect
from quorum.domain.review.hazards.starters import list_started_texts
from quorum.domain.review.hazards.taken_names import name_functions
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.pattern import compile_once

_LONGEST = 65_536  # characters of a text that is looked at
_ADDRESS = (
    r"[\"'(]?\s*(?P<address>(?:git\+|registry\+|sparse\+|vcs\+)?"
    r"(?P<scheme>https?|git|ssh|ftp)\\?:/{0,1}/[^\s\"'<>),;\]]+)"
)
_OF_APT = r"(^deb(-src)?\s+(\[[^\]]*\]\s*)?|^URIs:\s*|^baseurl\s*=\s*)"
# How each kind of file names where packages come from: npm 9, yarn 4, pip 23, uv 0.4, Poetry 1.8, Cargo 1.7x,
# Go 1.22, Maven 3.9, Gradle 8, Bundler 2.5, Composer 2.7, NuGet 6, conda 24, apt 2.6.
_SOURCES = (
    (r"\.npmrc|\.yarnrc(\.yml)?|bunfig\.toml", r"(registry|registryServer)[\"']?\s*[:=]\s*"),
    (
        r"pip\.(conf|ini)|\.pypirc|\.pydistutils\.cfg",
        r"(index-url|find-links|repository|index_url)\s*[=:]\s*",
    ),
    (
        r"(requirements|constraints)[\w./-]*\.(txt|in)",
        r"(^[ \t]*|--(extra-)?index-url[ =]|--find-links[ =]|^-[if] ?|@\s*)",
    ),
    (r"pyproject\.toml|uv\.toml|Pipfile|poetry\.toml", r"\b(url|index-url|extra-index-url|git)\s*=\s*\[?"),
    (r"environment\.ya?ml|\.condarc", r"^[ \t]*-[ \t]*"),
    (r"Cargo\.toml|\.cargo/config(\.toml)?", r"\b(git|registry|index|replace-with)\s*=\s*"),
    (
        r"pom\.xml|settings\.xml",
        r"<(?:plugin)?(?:repository|mirror)>(?:(?!</(?:plugin)?repository>).)*?<url>",
    ),
    (r"[\w.-]+\.gradle(\.kts)?", r"\burl\s*[=(]?\s*(uri\()?"),
    (r"gradle-wrapper\.properties|maven-wrapper\.properties", r"^(distributionUrl\s*=\s*)?"),
    (r"Gemfile|[\w.-]+\.gemspec", r"\b(source|git:|git\s*=>)\s*"),
    (r"composer\.json", r"\"url\"\s*:\s*"),
    (
        r"package\.json",
        r"\"(?!homepage|url|bugs|proxy|repository|funding|author|license|\$schema)[@\w./-]+\"\s*:\s*",
    ),
    (r"(?i:nuget\.config)", r"<add\b[^>]*\bvalue\s*=\s*"),
    (r"\.gitmodules", r"\burl\s*=\s*"),
    (r"sources\.list|[\w.-]+\.(list|sources|repo)", _OF_APT),
    (
        r"package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|Cargo\.lock"
        r"|Gemfile\.lock|composer\.lock",
        r"\b(resolved|tarball|registry|source|remote|url)[\"']?\s*[:=]?\s*",
    ),
)
_OF_PACKAGES = re.compile(
    "(?:.*/)?(?:{})".format("|".join(f"(?P<kind_{place}>{row[0]})" for place, row in enumerate(_SOURCES)))
)
_REPLACED_MODULE = re.compile(r"(?m)^[^\S\n]*(?:replace\s+)?\S+(?:\s+v\S+)?\s+=>\s+([\w-]+(?:\.[\w-]+)+)/\S*")
_KNOWN = re.compile(
    r"(?i)(?:.*\.)?(npmjs\.org|npmjs\.com|yarnpkg\.com|pypi\.org|pythonhosted\.org|pytorch\.org|crates\.io|github\.com"
    r"|githubusercontent\.com|gitlab\.com|bitbucket\.org|codeberg\.org|sr\.ht|golang\.org|gopkg\.in|maven\.apache\.org"
    r"|maven\.org|(maven|dl)\.google\.com|gradle\.org|sonatype\.(org|com)|spring\.io|jitpack\.io|rubygems\.org|packagist\.org"
    r"|nuget\.org|anaconda\.(org|com)|conda-forge\.org|debian\.org|ubuntu\.com|fedoraproject\.org|centos\.org"
    r"|kotlin(lang)?\.org|jetbrains\.(com|space)|apache\.org|eclipse\.org|nvidia\.com|jsr\.io|deno\.land|hex\.pm"
    r"|pub\.dev|hackage\.haskell\.org|cran\.r-project\.org)"
)
"""Where packages are commonly kept, and repositories of all people."""
_UNCHECKED = re.compile(
    r"(?im)^[^\S\n]*+(strict-ssl\s*=\s*false|trusted-host\s*=|enableStrictSsl:\s*false|\"?secure-http\"?\s*:\s*false"
    r"|.*\[[^][]*trusted=yes|gpgcheck\s*=\s*0|.*\ballowInsecureProtocol\s*=?\s*true|--trusted-host\s)"
)
_UNCHECKED_SCHEMES = frozenset({"http", "ftp", "git"})
"""Nobody checks who answers; lists of apt are signed instead."""
_SETTINGS = re.compile(r".*\.(ya?ml|json|jsonc|tf|hcl|toml|tpl|template|bicep)")
_CONTAINER_RIGHTS = re.compile(
    r"""(?im)privileged["']?\s*[:=]\s*["']?(true|yes|on)\b|host(PID|Network|IPC)["']?\s*[:=]\s*["']?true
    |^[^\S\n]*["']?hostPath["']?\s*[:=]
    |cap_add["']?\s*[:=][^:]{0,80}\b(SYS_ADMIN|SYS_MODULE|SYS_PTRACE|SYS_RAWIO|DAC_READ_SEARCH|ALL)\b
    |allowPrivilegeEscalation["']?\s*[:=]\s*["']?true|docker\.sock|^[^\S\n]*pid:\s*["']?host\b
    |(^[^\S\n]*-|\[|,)\s*["']?(/(etc|root|home|proc|sys|boot|var|usr)?/?|~/?(\.ssh|\.aws)?):/""",
    re.VERBOSE,
)
_RIGHTS = re.compile(
    r"""(?ix)\bcluster-admin\b | ^[ \t]*permissions:\s*write-all\b
    | ["']?Principal["']?\s*[:=]\s*(\{\s*["']?AWS["']?\s*[:=]\s*)?["']\*["']
    | ["']?Actions?["']?\s*[:=]\s*\[?\s*["']\*(:\*)?["'] | AdministratorAccess
    | \broles/(owner|editor)\b | \ballUsers\b""",
    re.MULTILINE,
)
_WIDE_ACTION = re.compile(r"(?i)\bactions?[\"']?\s*[:=]\s*\[?\s*[\"']\w+:\*[\"']")
_ALL_RESOURCES = re.compile(r"(?i)\bresources?[\"']?\s*[:=]\s*\[?\s*[\"']\*[\"']")
_COMMENT = re.compile(r"(?m)^[ \t]*(?:#|//|/\*|<!--|;).*")
_OF_DOCUMENTS = re.compile(
    r"(?i)(.*/)?(docs?|tests?|specs?|examples?)/.*|.*\.(md|rst)|(.*/)?(?!requirements|constraints)[^/]*\.txt"
    r"|(.*/)?test_[^/]*"
)
_SHOWN = re.compile(
    r"""(?ix)["']public-read(-write)?["'] | \bpublicly_?accessible["']?\s*[:=]\s*["']?true
    | \bblock_public_(acls|policy)["']?\s*[:=]\s*["']?false
    | \b(allow_blob_public_access|public_network_access_enabled)\s*=\s*true"""
)
_OPEN_TO_ALL = re.compile(r"0\.0\.0\.0/0|::/0")
_ALL_PORTS = re.compile(
    r"(?i)\b(ip_?)?protocol[\"']?\s*[:=]\s*[\"']?(-1|all)\b"
    r"|\bfrom_?port[\"']?\s*[:=]\s*[\"']?(0|22|23|445|3389|5432|3306|6379|27017)\b"
)
_INGRESS = re.compile(r"(?i)ingress|source_ranges|SecurityGroupIngress|inbound")
_WORKFLOW = re.compile(r"(.*/)?\.github/workflows/.*\.ya?ml")
_RUNS_STRANGERS = re.compile(r"(?s)pull_request_target.*github\.(event\.pull_request\.head|head_ref)")
_OF_AGENTS = re.compile(
    r"(.*/)?((AGENTS|CLAUDE|GEMINI|QWEN|WARP)(\.\w+)?\.md|\.(cursorrules|windsurfrules|clinerules|rules)|copilot-instructions\.md"
    r"|\.(claude|codex|gemini|cursor|quorum|opencode|qwen|continue|roo|kiro)/.*|(quorum|permissions)\.toml|opencode\.jsonc?|\.mcp\.json)"
)
_ASKS_NOBODY = re.compile(
    r"(?i)--dangerously-\S+|bypassPermissions|--yolo\b|danger-full-access"
    r"|(?<!command\": )(?<!command\":)\"(Bash|Shell|run_command)(\(\*?(:\*)?\))?\""
    r"|\"\*\"\s*:\s*\"allow\""
    r"|approval_policy\s*=\s*\"never\"|^[ \t]*mode\s*=\s*\"(auto|full-auto|yolo)\""
    r"|(never|not|don.t|without)\s+(ever\s+)?ask\w*\b.{0,40}\b(permission|approval|confirm\w*|before|first)\b"
    r"|auto[-_]?approve\"?\s*[:=]\s*\"?(true|\[\s*\"\*)",
    re.MULTILINE,
)
_OF_GIT = re.compile(r"(.*/)?(\.git/(.*/)?config(\.worktree)?|\.gitconfig|\.config/git/config)")
_RUN_BY_GIT = re.compile(
    r"(?im)^[^\S\n]*(?:\[[^\]\n]*\]\s*)?(?:\w+\s*=\s*!|(fsmonitor|hooksPath|sshCommand|askPass|gitProxy|external|textconv|clean|smudge|process|pager|editor"
    r"|uploadpack|receivepack|insteadOf|pushInsteadOf|proxy)\s*=\s*"
    r"(?!true\b|false\b|less\b|vim?\b|nano\b|code\b|git-lfs )\S)"
    r"|^[^\S\n]*\[include(?:if\b[^\]\n]*)?\]\s*path\s*="
)

GRAVE_IN_FILES = frozenset(
    {
        *(
            EffectKind.SEND,
            EffectKind.REVEAL,
            EffectKind.RUN_FETCHED,
            EffectKind.RUN_HIDDEN,
            EffectKind.PERSIST,
            EffectKind.ADMIT,
        ),
        *(EffectKind.ELEVATE, EffectKind.DISABLE, EffectKind.DISGUISE, EffectKind.EXHAUST, EffectKind.ATTACK),
    }
)
"""What a file that somebody runs later should not come to do unseen."""
_SHELL_FILE = re.compile(r".*\.(sh|bash|zsh|ksh|envrc)|(.*/)?(\.envrc|\.husky/.+|\.git/hooks/[^/]+|configure)")
_BUILD_FILE = re.compile(r"(.*/)?((GNU)?[Mm]akefile|.*\.mk|justfile)")
_IMAGE_FILE = re.compile(r"(.*/)?(Dockerfile|Containerfile)[^/]*|.*\.dockerfile")
_ANY_WORKFLOW = re.compile(
    r"(.*/)?(\.github/(workflows|actions)/|\.gitlab-ci|\.circleci/|azure-pipelines|bitbucket-pipelines|\.drone"
    r"|[Tt]askfile\.).*"
)
_LISTED = re.compile(r"(?m)^[ \t]*-[ \t]+(?![\w-]+:(?:\s|$))[\"']?([^\n]+?)[\"']?[ \t]*$")
"""What stands in lists, as most runners of workflows take commands."""
_SECRETS_OF_WORKFLOW = re.compile(r"\$\{\{[^}]*\bsecrets\b[^}]*\}\}")
_OF_JAVASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx")
_CODE_FILES = (
    *(".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".rb", ".php", ".pl", ".go", ".rs", ".java", ".kt"),
    *(
        ".c",
        ".cc",
        ".cpp",
        ".cs",
        ".lua",
        ".swift",
        ".scala",
        ".rake",
        ".gradle",
        ".gemspec",
        ".ex",
        ".exs",
        ".jl",
        *(".kts", ".groovy", ".sbt", ".cmake", ".bzl"),
        *("Rakefile", "Gemfile", "Podfile", "Fastfile", "Vagrantfile", "Jenkinsfile", "CMakeLists.txt"),
        *("noxfile.py", "tasks.py", "fabfile.py", "SConstruct", "wscript", "meson.build"),
    ),
)
_SHELL_ARGUMENT = re.compile(
    r"""(?:["']-l?c["']\W{1,12}(?:args?\W{1,6})?|\bsh\s+-l?c\s+)(["'])((?:\\.|(?!\1)[^\\])*)\1"""
)
"""A text that code in any language hands to a shell as the value of its option."""
_SHELL_CALL = re.compile(
    r"""\b(?:exec(?:Sync|ute)?|system|popen|shell_exec|passthru|sh|(?:c|ctx|context|connection)\.(?:run|local|sudo))
    (?:\s*\(\s*|[ ])(["'`])((?:\\.|(?!\1)[^\\\n])+)\1""",
    re.VERBOSE,
)
_SHELL_ELEMENT = re.compile(
    r"""-l?c(?:</arg(?:ument)?>\s*<arg(?:ument)?>|["']\s*/>\s*<arg\s+(?:value|line)=["'])([^<"']*)"""
)
_RUNS_REQUESTS = re.compile(
    r"""(?x)\b(?:exec(?:Sync|File)?|spawn(?:Sync)?|system|popen|shell_exec|passthru|proc_open|eval|check_output|run|Popen)
    \s*\(\s*[^()\n]{0,80}?(?:\b\w+\.(?:query|body|params)\b | \brequest\.(?:args|form|values|json|GET|POST)\b
    | \$_(?:GET|POST|REQUEST|COOKIE)\b | \bparams\[ | \.(?:FormValue|getParameter)\b)"""
)
"""Functions that start a program or run code, with what a request from elsewhere holds."""
_TELLS_OTHERS = re.compile(
    r"(?i).*\.(jsonc?|json5|code-workspace|ya?ml|toml|ini|cfg|conf|tf|hcl|nix|xml|iml|pom|properties|plist|service|timer|desktop)"
    r"|(.*/)?(\.[^/]+|Procfile[^/]*|crontab|config|Caddyfile|Earthfile|Tiltfile|BUILD|WORKSPACE)"
)
"""Files that tell programs what to do: in any of their values a command may stand."""
_REACHES_OUT = re.compile(
    r"""\b(?:curl|wget|fetch|iwr|irm|base64|base32|xxd|openssl|echo|printf|dig|env|printenv|cat|tar|gpg)\s[^|\n]{0,300}
    \|[^#\n]{0,200}?(?<![\w.-])(?:(?:ba|z|da|k)?sh|python[\d.]*|perl|node|ruby|php|iex|nc|ncat|curl|wget)(?=\s|["'`;&|)]|\Z)
    | (?:\$\(|`|<\()\s*(?:curl|wget)\b | /dev/(?:tcp|udp)/ | \bn(?:c|cat)\s+(?:-\w+\s+){0,9}[\w.-]{1,80}\s+\d
    | \b(?:curl|wget)\s[^\n]{0,300}\s(?:-d|--data\S*|-F|--form|-T|--upload-file|--post-(?:file|data))\b
    | \b(?:curl|wget)\s[^\n]{0,300}(?:&&|;)\s*(?:chmod|(?:ba|z)?sh|source|\.)\s | \bInvoke-Expression\b
    | >>\s{0,9}\S{0,80}(?:authorized_keys|rc|profile)\b""",
    re.VERBOSE,
)
"""What a command in such a value holds that is worth a look: most values are prose."""
_QUOTED = re.compile(r"\"((?:\\.|[^\"\\\n]){0,4000})\"|'((?:''|[^'\n]){0,4000})'")
_VALUE = re.compile(r"[ \t]*(?:-[ \t]+)?(?:[\w./ -]{1,60}(?::|=)[ \t]*)?[|>!]?[+-]?[ \t]*([^\s\"'{\[].*)")
_BLOCK = re.compile(
    r"(?m)^([ \t]*)(?:-[ \t]+)?[\w.-]+:[ \t]*[|>][+-]?[ \t]*\n((?:\1[ \t]+\S.*(?:\n|\Z)|[ \t]*\n)+)"
)
_MOST_VALUES = 40
_HINTS = ("curl", "wget", "|", "/dev/", "nc", ">>", "Invoke-")
_OPEN_FOLDERS = ("/tmp/", "/dev/shm/")
_NAMES_PROGRAM = re.compile(
    r"""(?ix)(?<![\w.-])([\w.-]{0,60}?(?:path|wrapper|interpreter|command|cmd|exec\w{0,10}|runner|linker|shell|program|binary|server|rustc|python))
    ["']?\s*[:=]+\s*[\[{]*\s*["']?((?:/tmp|/var/tmp|/dev/shm)/[^\s"',\]}]+)"""
)
"""A setting that has a program started from where anybody may put one."""
_RUNS_AS_URL = re.compile(r"(?m)^[^\S\n]*url\s*=\s*[\"']?(ext::\S.*)")
_BACKTICKED = re.compile(r"`([^`\n]+)`")
_SCRIPTED_BACKTICKS = (".rb", ".rake", ".gemspec", "Gemfile", "Rakefile", "Podfile", "Fastfile", "Vagrantfile")

# Django 5, Flask 3, Rails 7, Express 4, Spring 6, ASP.NET 8, Laravel 11, Docker, Kubernetes, pip, npm, cargo.
_PROTECTION = re.compile(
    r"""(?mx)CsrfViewMiddleware | \bcsrf_protect\b | \bCSRFProtect\( | \bSecurityMiddleware\b
    | @login_required\b
    | @permission_required\b | \bIsAuthenticated\b | \bprotect_from_forgery\b | before_action\s+:authenticate\w*
    | \bhelmet\(| \bcsurf\(| \brateLimit\( | @(PreAuthorize|Secured|RolesAllowed)\b | \[Authorize\b
    | \[ValidateAntiForgeryToken\] | ->middleware\(\s*['"]auth | \bjwt\.verify\( | \.is_relative_to\(
    | \bcommonpath\(
    | \bsecure_filename\( | \bfilepath\.IsLocal\( | \b(timingSafeEqual|compare_digest|fixed_time_compare)\b
    | \b(DOMPurify\.sanitize|bleach\.clean|html\.escape|htmlspecialchars|escapeHtml)\(
    | ^USER\s+(?!root\b|0\b)\S+ | --require-hashes\b | --frozen-lockfile\b | --ignore-scripts\b | --locked\b
    | \bsha(256|512)sum\s+(-c|--check)\b | \bgpgv?\s+(--batch\s+)?--verify\b | \bcosign\s+verify\b
    | \breadOnlyRootFilesystem:\s*true | \brunAsNonRoot:\s*true | \ballowPrivilegeEscalation:\s*false
    | ^[ \t]*set\s+-[a-z]*e[a-z]*\b"""
)


def find_lost_protection(path: str, before: str, after: str) -> SideEffect | None:
    """The protection that an edit takes out of a file without putting another of its kind there."""
    if _OF_DOCUMENTS.fullmatch(path):
        return None
    if _CHECKS.fullmatch(path) and (off := _find_check_switched_off(before[:_LONGEST], after[:_LONGEST])):
        return SideEffect(EffectKind.DISABLE, f"takes the force out of a check in {path}: {off}", path)
    gone = Counter(before[:_LONGEST].split("\n"))
    gone.subtract(after[:_LONGEST].split("\n"))
    lost = Counter(_list_protections("\n".join(gone.elements())))
    if not lost:
        return None
    come = (line for line, number in gone.items() for _ in range(-number))
    kept = Counter(_list_protections("\n".join(come)))
    found = next((each for each, number in lost.items() if kept[each] < number), "")
    return SideEffect(EffectKind.DISABLE, f"takes a protection out of {path}: {found}", path) if found else None


_CHECKS = re.compile(
    r"(.*/)?(\.github/workflows/.*|\.gitlab-ci[^/]*|\.circleci/.*|azure-pipelines[^/]*"
    r"|bitbucket-pipelines[^/]*|\.drone\.ya?ml|Jenkinsfile[^/]*|\.pre-commit-config\.yaml)"
)
_WITHOUT_FORCE = re.compile(
    r"""(?mix)\b(?:continue-on-error|continueOnError|allow_failure)["']?:[ ]*true\b
    | \bif:[ ]*["']?(?:\$\{\{[ ]*)?false\b
    | \bwhen:[ ]*never\b | \bcondition:[ ]*false\b | \bpull_request_target:
    | --exit-zero\b | --exit-code[ =]0\b | \bexit-code:[ ]*["']?0\b | --no-verify\b
    | \b(?:test\w*|lint\w*|audit|scan|check|verify|pytest|tox|nox|jest
      |vitest|rspec|clippy|mypy|ruff|eslint|semgrep|gitleaks|trivy|bandit|vet|tsc)
      \b[^\n]{0,200}\|\|[ ]*(?:true|:|exit[ ]0|echo\b)"""
)
_SCANS = re.compile(
    r"""(?ix)\b(codeql|trivy|grype|gitleaks|trufflehog|semgrep|snyk|dependency-review|scorecard|bandit|checkov|tfsec|osv-scanner
    |brakeman|gosec|govulncheck|detect-secrets|detect-private-key|zizmor|cosign|harden-runner
    |(?:npm|pnpm|yarn|cargo|pip|bundle|bundler|composer)[- ]audit)\b"""
)


def _find_check_switched_off(before: str, after: str) -> str:
    """What lets a check of changes fail unseen, or a scanner that is no longer there; "" for neither."""
    before, after = _COMMENT.sub("", before), _COMMENT.sub("", after)
    had = Counter(map(str.lower, _WITHOUT_FORCE.findall(before)))
    for found in _WITHOUT_FORCE.findall(after):
        if had[found.lower()] <= 0:
            return str(found.strip()[:60])
        had[found.lower()] -= 1
    left = {each.lower() for each in _SCANS.findall(after)}
    if gone := next((each for each in _SCANS.findall(before) if each.lower() not in left), ""):
        return f"{gone} is gone" if not left else ""
    return ""


def _list_protections(text: str) -> Iterator[str]:
    """Those in a text, each by its kind; what is a comment protects nothing."""
    for found in _PROTECTION.finditer(_COMMENT.sub("", text)):
        yield re.sub(r"^\s*(USER|set)\b.*", r"\1", found[0]).strip()


def judge_contents(path: str, text: str) -> Iterator[SideEffect]:
    """What a text in a file of this name has others do."""
    if len(text) > _LONGEST:
        text = text[:_LONGEST].rpartition("\n")[0]
    yield from _judge_sources(path, text)
    if _SETTINGS.fullmatch(path):
        yield from judge_rights(text)
    if _WORKFLOW.fullmatch(path) and _RUNS_STRANGERS.search(text):
        yield SideEffect(
            EffectKind.RUN_FETCHED, "runs changes of strangers with the rights of the repository", path
        )
    if path.endswith((*_CODE_FILES, ".py")) and (found := _RUNS_REQUESTS.search(text)):
        yield SideEffect(EffectKind.ADMIT, f"runs what a request says: {found[0][:60]}", path)
    if (
        path.endswith(_CODE_FILES)
        and not _OF_DOCUMENTS.fullmatch(path)
        and (to := _find_environment_sent(text))
    ):
        yield SideEffect(EffectKind.SEND, f"sends the variables of the environment to {to}", to)
    if _TELLS_OTHERS.fullmatch(path) and not _OF_DOCUMENTS.fullmatch(path):
        yield from _judge_settings(path, text)
    if _OF_AGENTS.fullmatch(path) and (found := _ASKS_NOBODY.search(text)):
        yield SideEffect(EffectKind.DISABLE, f"has agents ask nobody: {found[0].strip()[:60]}", path)
    if _OF_GIT.fullmatch(path) and (found := _RUN_BY_GIT.search(text)):
        yield SideEffect(
            EffectKind.PERSIST, f"has git run something, or go elsewhere: {found[0].strip()[:60]}", path
        )


_WHOLE_ENVIRONMENT = (
    r"(?:\bprocess\.env\b(?!\s*[.?\[\w])|\bos\.Environ\(\)|\bENV\b"
    r"(?=\.(?:to_|inspect|each|map|sort|select|as_json)|\s*[,)}\n])"
    r"|\bSystem\.getenv\(\s*\)|\bgetenv\(\s*\)|\$_ENV\b(?!\s*\[)|%ENV\b|\bDeno\.env\.toObject\(\)|\bBun\.env\b(?!\s*[.\[])"
    r"|\bEnvironment\.GetEnvironmentVariables\(\)|\benv::vars(?:_os)?\(\))"
)
_SENDING_CALL = re.compile(
    r"""(?x)(?:\b(?:fetch|axios|got|ky|needle|superagent)(?:\.\w{1,12})?\( | \bsendBeacon\(
    | \.(?:post|put|patch|Post|PostForm|PostAsync|PutAsync|post_form)[\s(]
    | \b(?:req|request|ws|socket|sock|client|conn)\.(?:write|end|send|emit|Write|body\s*=|set_form_data)[\s(]?
    | \bNewRequest(?:WithContext)?\(
    | \bfmt\.Fprint\w*\(\s*(?:conn|sock)\w* | \bcurl_setopt\w*\( | \bfile_get_contents\(\s*["']https?:
    | \bhttps?\.(?:get|request)\( | \bBodyPublishers\.ofString\()"""
)
_THIS_MACHINE = re.compile(r"\b(?:localhost|127\.0\.0\.1)\b")


def _find_environment_sent(text: str) -> str:
    """The machine to which code sends all variables, in the call itself or by a name that they were given."""
    if compile_once(_WHOLE_ENVIRONMENT).search(text) is None:
        return ""
    named = compile_once(
        rf"\b(\w{{1,60}})(?:,\s?\w{{1,60}})?\s{{0,3}}:?=(?!=)[^;\n]{{0,160}}?{_WHOLE_ENVIRONMENT}"
    ).findall(text)
    held = "|".join((_WHOLE_ENVIRONMENT, *(rf"(?<![\w.]){each}\b" for each in dict.fromkeys(named[:8]))))
    for call in _SENDING_CALL.finditer(text):
        sent = compile_once(r"[^;]{0,400}?(?=;|\n[ \t]*\n|\Z)").match(text, call.end())
        words = sent[0] if sent else text[call.end() : call.end() + 400]
        if compile_once(held).search(words) and not _THIS_MACHINE.search(words):
            host = _HOST_OF_ADDRESS.search(words)
            return host[1] if host else "another machine"
    return ""


_HOST_OF_ADDRESS = re.compile(r"https?://([\w.-]+)")


def _judge_settings(path: str, text: str) -> Iterator[SideEffect]:
    for found in _NAMES_PROGRAM.finditer(text) if any(each in text for each in _OPEN_FOLDERS) else ():
        does = f"has {found[1]} start {found[2]}, which anybody may have put there"
        yield SideEffect(EffectKind.PERSIST, does, path)
    if path.endswith(".gitmodules") and (run := _RUNS_AS_URL.search(text)):
        yield SideEffect(EffectKind.PERSIST, f"has git run something: {run[1][:60]}", path)


def _judge_sources(path: str, text: str) -> Iterator[SideEffect]:
    if path.rpartition("/")[2] == "go.mod":
        for found in _REPLACED_MODULE.finditer(text):
            if not _KNOWN.fullmatch(found[1]):
                yield SideEffect(EffectKind.RUN_FETCHED, f"takes packages from {found[1]}", found[1])
    if (named := _OF_PACKAGES.fullmatch(path)) is None:
        return
    before = _SOURCES[int((named.lastgroup or "").removeprefix("kind_"))][1]
    for found in compile_once(rf"(?im){before}{_ADDRESS}").finditer(text):
        authority = found["address"].partition("//")[2].partition("/")[0]
        host = re.split(r"[:?#]", authority.rpartition("@")[2], maxsplit=1)[0]
        if is_local(host) or "." not in host:
            continue
        is_checked = found["scheme"] not in _UNCHECKED_SCHEMES or before is _OF_APT
        if not (is_checked and _KNOWN.fullmatch(host)):
            yield SideEffect(EffectKind.RUN_FETCHED, f"takes packages from {host}", host)
    if off := _UNCHECKED.search(text):
        does = f"leaves out the checks of packages: {off[0].strip()[:60]}"
        yield SideEffect(EffectKind.DISABLE, does, path)


def judge_rights(text: str) -> Iterator[SideEffect]:
    """The rights that settings give to containers, to others and to everybody."""
    if found := _CONTAINER_RIGHTS.search(text):
        does = f"gives a container rights over the machine: {found[0].strip()[:60]}"
        yield SideEffect(EffectKind.ELEVATE, does)
    if found := _RIGHTS.search(text):
        yield SideEffect(EffectKind.ELEVATE, f"gives all rights: {found[0].strip()[:60]}")
    elif (wide := _WIDE_ACTION.search(text)) and _ALL_RESOURCES.search(text):
        yield SideEffect(EffectKind.ELEVATE, f"gives all rights: {wide[0].strip()[:60]}")
    if found := _SHOWN.search(text):
        yield SideEffect(EffectKind.ELEVATE, f"shows something to everybody: {found[0].strip()[:60]}")
    if _OPEN_TO_ALL.search(text) and _INGRESS.search(text) and (ports := _ALL_PORTS.search(text)):
        yield SideEffect(EffectKind.ADMIT, f"lets every machine in: {ports[0].strip()[:60]}")


def list_commands(path: str, text: str) -> Iterator[str]:
    """The shell texts in a file that programs run."""
    if _SHELL_FILE.fullmatch(path) or text.startswith("#!/bin/"):
        yield text
    elif _BUILD_FILE.fullmatch(path):
        yield "\n".join(
            line.strip().lstrip("@-+") for line in text.split("\n") if line.startswith(("\t", "  "))
        )
    elif _IMAGE_FILE.fullmatch(path):
        joined = re.sub(r"\\\n", " ", text)
        yield "\n".join(line[4:] for line in joined.split("\n") if line.startswith("RUN "))
    elif _ANY_WORKFLOW.fullmatch(path):
        lines = re.findall(
            r"(?m)^[ \t]*+(?:-[ \t]*+)?(?:run|script|cmds?):[ \t]*[|>]?-?[ \t]*(.*(?:\n[ \t]{8,}\S.*)*)", text
        )
        if "github/" not in path:
            lines += _LISTED.findall(text)
        yield "\n".join(_SECRETS_OF_WORKFLOW.sub("$GITHUB_TOKEN", line) for line in lines)
    elif path.rpartition("/")[2] in ("package.json", "composer.json"):
        yield from _list_scripts(text)
    elif path.endswith(_CODE_FILES):
        yield from _list_started_by_code(path, text)
    elif path.endswith((".xml", ".pom", ".iml")):
        yield from map(unescape, _SHELL_ELEMENT.findall(text))
        yield from map(unescape, _list_values(text))
    elif _TELLS_OTHERS.fullmatch(path) and not _OF_DOCUMENTS.fullmatch(path):
        yield from _list_values(text)
        yield from _list_servers(text)
    elif _OF_AGENTS.fullmatch(path):
        yield from _BACKTICKED.findall(text)[:_MOST_VALUES]
        yield from _list_servers(text)


def _list_servers(text: str) -> Iterator[str]:
    """The commands that settings name with a list of their words, or of which only that list is shown."""
    for block in _BLOCK_END.split(text):
        program = _SERVER_PROGRAM.search(block)
        for found in _WORDS_OF_SERVER.finditer(block):
            words = [each.replace('\\"', '"') for each in _QUOTED_WORD.findall(found[1])]
            if program is not None:
                yield shlex.join((program[1], *words))
            else:
                yield from list_started_texts("", words)


_BLOCK_END = re.compile(r"(?<!\$)\{|\},?[ \t]*\n|\}\s*[,}]|\n[ \t]*\[[\w.\"-]+\][ \t]*\n")
_WORDS_OF_SERVER = re.compile(
    r"\b(?:args|arguments|argv)[\"']?\s*[:=]\s*\[((?:[^\]\"]|\"(?:\\.|[^\"\\]){0,2000}\"){0,2000})"
)
_SERVER_PROGRAM = re.compile(r"\b(?:command|cmd|program|executable)[\"']?\s*[:=]\s*[\"']([^\"'\n]+)[\"']")
_QUOTED_WORD = re.compile(r"\"((?:\\.|[^\"\\])*)\"")


def _list_started_by_code(path: str, text: str) -> Iterator[str]:
    if path.endswith(_OF_JAVASCRIPT):
        text = name_functions(text)
    yield from (found[2].replace('\\"', '"') for found in _SHELL_ARGUMENT.finditer(text))
    yield from (found[2] for found in _SHELL_CALL.finditer(text))
    if path.endswith("Vagrantfile"):
        yield from _list_values(text)
    if path.endswith(_SCRIPTED_BACKTICKS):
        yield from _BACKTICKED.findall(text)[:_MOST_VALUES]


def _list_values(text: str) -> Iterator[str]:
    """The values in settings of any form that may be commands: what is quoted, or stands behind a name."""
    if not any(each in text for each in _HINTS) or _REACHES_OUT.search(text) is None:
        return
    found: dict[str, None] = {}
    for block in _BLOCK.finditer(text):
        if _REACHES_OUT.search(block[2]):
            found[block[2]] = None
    for line in text.splitlines():
        if _REACHES_OUT.search(line) is None or line.lstrip().startswith(("#", "//")):
            continue
        quoted = [double.replace('\\"', '"') or single for double, single in _QUOTED.findall(line)]
        if behind := _VALUE.match(line):
            quoted.append(behind[1])
        found.update(
            (each.lstrip("!").replace("\\n", "\n"), None) for each in quoted if _REACHES_OUT.search(each)
        )
    yield from [*found][:_MOST_VALUES]


def _list_scripts(text: str) -> Iterator[str]:
    """The commands of a package, from the whole file or from lines of it."""
    found: JsonValue = None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        yield from _list_values(text)
    scripts = found.get("scripts") if isinstance(found, dict) else None
    if isinstance(scripts, dict):
        for value in scripts.values():
            yield from (
                each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)
            )
