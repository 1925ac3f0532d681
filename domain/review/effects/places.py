"""Places that make an effect grave: secrets, what starts by itself, programs, histories, other machines."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache

from quorum.domain.review.hazards.places import (
    belongs_to_system,
    governs_agents,
    holds_credentials,
    is_log,
    normalize,
    runs_on_its_own,
)
from quorum.domain.review.path_policy import SENSITIVE, PathPolicy

_NAMES = PathPolicy(roots=(), sensitive=SENSITIVE)
_MORE_SECRETS = re.compile(
    r"""
      ~/\.(mozilla|config/(google-chrome|chromium|BraveSoftware|microsoft-edge|op|hub|doctl|linode-cli|heroku|rclone
           |sops|Bitwarden|keepassxc|Signal|Slack|filezilla)|thunderbird
           |electrum|bitcoin|ethereum|monero|local/share/kwalletd)(/|$)
    | ~?/Library/(Application\ Support/(Google|Firefox|com\.apple\.TCC|Bitwarden|Exodus|Slack)|Cookies|Messages
           |Mail|Safari|Group\ Containers)(/|$)
    | ~/\.(docker|kube|oci|bluemix|ansible/vault\S*|subversion/auth|m2/settings\S*\.xml
           |gradle/gradle\.properties|cargo/credentials\S*|gem/credentials|composer/auth\.json|config/(pip/pip\.conf|nix/nix\.conf)
           |terraform\.d/credentials\S*|ICEauthority|Xauthority|config/NetworkManager|lesshst|viminfo
           |recently-used\S*|node_repl_history|irb_history|rediscli_history|sqlite_history|mongo/\S+|sh_history|history
           |local/share/fish/fish_history
           |config/(Code|Cursor|discord|slack)/\S*)(/|$)
    | /etc/(NetworkManager/system-connections|wpa_supplicant|openvpn|wireguard|ipsec\.(secrets|d)
           |ppp/\w+-secrets|ssl/private|pki/tls/private|krb5\.keytab|sssd|kubernetes/(admin\.conf|pki)|rancher
           |security/opasswd)(/|$)
    | /etc/(gshadow|shadow|master\.passwd|spwd\.db)\S*$
    | /var/(lib/(sss/(secrets|db)|samba/private|mysql/mysql|AccountsService|kubelet/pods|cloud/instance)
           |backups/\S*shadow\S*
           |spool/mail|mail)(/|$)
    | /proc/([^/]+)/(environ|mem|maps|kcore|fd)$ | /proc/kcore$ | /dev/(k?mem|port|input/\S+)$
    | ~/\.(databrickscfg|snowsql/config|dbt/profiles\.yml|kaggle/kaggle\.json|huggingface/(token|stored_tokens)
           |cache/huggingface/(token|stored_tokens)|fly/config\.yml|wrangler/config\S*|vercel/auth\.json
           |netlify/config\.json
           |config/(glab-cli|netlify|containers/auth\.json|pypoetry/auth\.toml|helm/registry\S*|github-copilot|fly|openai|stripe
           |scw|hcloud|exoscale|acli|jira|sentry\S*|ngrok|argocd|circleci|turso|neonctl)|argocd/config|circleci/cli\.yml
           |ngrok2?/\S+
           |cloudflared/\S+|sentryclirc|s3cfg|passwd-s3fs|smbcredentials|dockercfg|nuget/NuGet\.Config|sbt/\.credentials
           |ivy2/\.credentials|hex/hex\.config|pub-cache/credentials\.json|local/share/(nuget|pypoetry/auth\S*|opencode/auth\.json)
           |msmtprc|fetchmailrc|mbsyncrc|offlineimaprc|getmail/\S+|config/(msmtp/config|isyncrc|neomutt/\S+|weechat/sec\.conf
           |flyctl/\S+|supabase/access-token|configstore/\S+|evolution/sources/\S+|aerc/accounts\.conf|himalaya/\S+)
           |irssi/config|weechat/sec\.conf|purple/accounts\.xml|davfs2/secrets|vnc/passwd|nuget/NuGet/NuGet\.Config
           |railway/config\.json|render/\S+|expo/state\.json|confluent/config\.json|supabase/access-token|wakatime\.cfg
           |local/share/(atuin/\S+|weechat/\S+|evolution/\S+)
           |claude/\.credentials\.json|codex/auth\.json|gemini/oauth_creds\.json|cdsapirc|pgadmin\S*
           |jupyter/\S*(token|cookie_secret)\S*|ipython/profile_\w+/history\.sqlite|mc/config\.json|minio/\S+|consul-token|nomad-token|step/secrets/\S+)(/|$)
    | /etc/(mysql/debian\.cnf|exim4/passwd\.client|postfix/sasl_passwd\S*|samba/smbpasswd|cloudflared
           |docker/key\.json|letsencrypt/(live|archive|accounts)|grafana/grafana\.ini|rundeck/\S*tokens\S*
           |freeradius/\S+/clients\.conf|vault\.d|consul\.d|pve/priv|shadow-maint|zabbix/\S*\.conf\.php|puppetlabs/\S*private_keys|salt/pki|chef/\S+\.pem)(/|$)
    | /(var/)?run/(secrets|credentials)(/|$) | /var/run/docker\.sock$ | /run/docker\.sock$
    | (.*/)?(tomcat-users\.xml|server\.keystore|sitemanager\.xml|recentservers\.xml|config\.inc\.php
           |service[-_]?account\S*\.json|client_secrets?\S*\.json|gcp-?key\S*\.json|application_default_credentials\.json|terraform\.tfstate(\.backup)?
           |\.authinfo(\.gpg)?|chezmoi\.toml|\.?vault[-_]pass(word)?(\.txt)?|hudson\.util\.Secret|initialAdminPassword|rclone\.conf|\.pgpass|\.netrc|\.git-credentials
           |kubeconfig(\.ya?ml)?|.*\.(jks|keystore|p12|pfx|ppk|kirbi|ccache)
           |wp-config\.php|\.htpasswd|shadow\.bak|id_(rsa|dsa|ecdsa|ed25519)\w*|.*\.kdbx?
           |\.\w+_history|Login\ Data\S*|Cookies|logins\.json|key[34]\.db|cookies\.sqlite
           |wallet\.dat|.*\.keychain(-db)?|NTDS\.dit|unattend\.xml
           |credentials\.(json|xml|db|ya?ml|ini|txt)|passwords?\.(txt|csv|xlsx?|docx?|json|db|ya?ml)
           |secrets?\.(json|ya?ml|txt|env|toml)|master\.key|token\.json|access_tokens?\.(db|json)|msal_token_cache\S*|azureProfile\.json)$
    """,
    re.VERBOSE,
)
_SHOWS_NOTHING = re.compile(
    r"(.*/)?(id_\w+\.pub|known_hosts|.*\.(example|sample|template|dist)|.*\.pub|"
    r".*cert(ificate)?s?[\w.-]*\.pem|ca[\w.-]*\.(pem|crt))$"
)
_METADATA = re.compile(
    r"(https?://)?(169\.254\.169\.254|169\.254\.170\.2|metadata\.google\.internal|"
    r"\[?fd00:ec2::254\]?|100\.100\.100\.200)\b"
)
_SAMPLES = (
    *("~/.ssh/id_rsa", "~/.aws/credentials", "~/.netrc", "~/.bash_history", "~/.gnupg/secring.gpg", "~/.env"),
    *("/etc/shadow", "/etc/gshadow", "/etc/ssh/ssh_host_rsa_key", "/proc/1/environ", "~/.docker/config.json"),
    *(
        "~/.kube/config",
        "~/.git-credentials",
        "~/.config/gcloud/credentials.db",
        "~/.mozilla/firefox/x.default/key4.db",
    ),
    "~/.mozilla/firefox/x.default/logins.json",
)
_STARTS_BY_ITSELF = re.compile(
    r"""
      ~/\.(\w*(rc|profile|login|logout)|bash_?\w*|z(shrc|shenv|profile|login|logout)|profile|kshrc|cshrc|tcshrc|login|xinitrc|xsession\w*|xprofile|pam_environment|emacs|Xresources
           |emacs\.d/init\.el|vimrc|vim/(plugin|autoload)/\S+|config/(nvim/\S+|fish/\S+|autostart/\S+|systemd/\S+
           |plasma-workspace/\S+|lxsession/\S+|hypr/\S+|i3/config|sway/config|openbox/autostart
           |git/(config|hooks/\S+)|environment\.d/\S+|upstart/\S+
           |pip/pip\.conf|ipython/profile_\w+/startup/\S+)
           |ipython/profile_\w+/startup/\S+|julia/config/startup\.jl|config/(irb|pry)/\S+|config/nushell/\S+
           |pythonrc(\.py)?|pdbrc|irbrc|rprofile|Rprofile|npmrc|yarnrc\S*|pypirc|pip/pip\.conf|cargo/config\S*|gradle/init\S*
           |gitconfig|hgrc|kde/Autostart/\S+|local/share/(systemd|autostart|dbus-1/services|applications)/\S+
           |ssh/(authorized_keys2?|rc|config|environment)
           |tmux\.conf|screenrc|lldbinit|gdbinit|inputrc|docker/config\.json|claude/\S+
           |config/Code/User/(settings|tasks)\.json)$
    | (.*/)?\.git/(hooks/[^/]+|config)$ | (.*/)?\.husky/\S+$ | (.*/)?(sitecustomize|usercustomize)\.py$
    | (.*/)?(site|dist)-packages/[^/]+\.pth$ | (.*/)?\.vscode/tasks\.json$ | (.*/)?\.envrc$
    | (.*/)?lib/systemd/system(-\w+)?/\S+$
    | (.*/)?[^/]+\.(service|timer|socket)$ | (.*/)?(LaunchAgents|LaunchDaemons|StartupItems|Login\ Items
           |PreferencePanes)/[^/]+$
    | /usr/local/etc/(rc\.d|cron\.d|periodic)/\S+$ | /etc/periodic/\S+$
    | (.*/)?authorized_keys2?$ | (.*/)?crontabs?/\S+$
    | (.*/)?wp-content/plugins/\S+\.php$
    """,
    re.VERBOSE,
)
_PROGRAM_FOLDER = re.compile(
    r"(/usr(/local)?|/opt/[^/]+|~/\.local|~)?/s?bin/[^/]*$|~/\.cargo/bin/|/usr/local/bin$|~/\.local/bin$|~/bin$"
)
_SYSTEM_PROGRAM = re.compile(r"/(usr/)?(local/)?s?bin/[\w.+-]+$")
_HISTORY = re.compile(
    r"(.*/)?(\.(bash|zsh|sh|ksh|fish)_?history|fish_history|HISTFILE|\$HISTFILE|"
    r"\$\{HISTFILE\})$|/(var/)?run/utmp$|.*/(wtmp|btmp|lastlog|auth\.log|syslog|secure|"
    r"audit\.log|history\.log)$|/dev/log$|.*system\.log$"
)
_WIDE = re.compile(
    r"/|~|/(etc|home|root|var|opt|srv|Users|mnt|media|proc|private|usr)?/?|/home/.*|~/?|"
    r"/root/.*|/Users/.*|/\*|~/\*"
)
_LOCAL = re.compile(
    r"(?i)([a-z+]+://)?([^/@]*@)?(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0|"
    r"host\.docker\.internal|[\w-]+\.(local|test|localhost))(:\d+)?([/?#].*)?$"
)
_HOST = re.compile(r"(?i)(?:[a-z][a-z0-9+.-]*:/+)?(?:[^/?#\\\s]*@)?([^/:?#\\\s]+)")


_LONGEST = 1_024
"""Characters of a path that is looked at: longer ones name no file of these."""


@lru_cache(maxsize=512)
def find_secret(word: str) -> str | None:
    """The path if a word names a file, or a pattern of files, that holds credentials or what was typed."""
    if len(word) > _LONGEST:
        return None
    path = normalize(word.strip("\"'"))
    if path.endswith("/*") and len(path) > 2:
        path = path[:-2]
    if not path or _SHOWS_NOTHING.match(path) or path.startswith("-") or (" " in path and path[:1] not in "/~"):
        return None
    if holds_credentials(path) or _MORE_SECRETS.match(path) or _METADATA.match(path):
        return word
    if (
        ("://" not in path and _NAMES.is_sensitive(path) and not path.endswith(".env"))
        or path in (".env",)
        or path.endswith("/.env")
    ):
        return word
    if any(each in path for each in "*?[") and path.strip("*./~?") not in (
        "",
        "etc",
        "home",
        "root",
        "proc",
        "var",
    ):
        parts = path.count("/")
        if any(sample.count("/") == parts and fnmatchcase(sample, path) for sample in _SAMPLES):
            return word
    return None


def starts_by_itself(word: str) -> bool:
    """Whether what stands at a path runs, or lets somebody in, without being asked for again."""
    path = normalize(word[:_LONGEST])
    return runs_on_its_own(path) or bool(_STARTS_BY_ITSELF.match(path))


def is_program_folder(word: str) -> bool:
    """Whether a path lies where the shell looks for programs."""
    return bool(_PROGRAM_FOLDER.match(normalize(word[:_LONGEST])))


def is_system_program(word: str) -> bool:
    """Whether a path is that of a program of the system."""
    return bool(_SYSTEM_PROGRAM.match(word))


def is_record(word: str) -> bool:
    """Whether a path holds what was done on the machine: logs and histories of commands."""
    path = word[:_LONGEST]
    return is_log(path) or bool(_HISTORY.match(normalize(path)))


def is_wide(word: str) -> bool:
    """Whether a search there goes beyond any one project."""
    return bool(_WIDE.fullmatch(normalize(word[:_LONGEST])))


def is_metadata(word: str) -> bool:
    """Whether an address is that of a cloud's service that gives out the machine's own credentials."""
    return bool(_METADATA.match(word))


def is_grave(path: str) -> bool:
    """Whether it matters much what is done to a path."""
    return bool(find_secret(path)) or starts_by_itself(path) or governs_agents(path) or belongs_to_system(path)


def is_local(address: str) -> bool:
    """Whether an address is that of this machine."""
    return bool(_LOCAL.match(address))


def find_host(address: str) -> str:
    """The host of an address, for the person to read."""
    found = _HOST.match(address)
    return found[1] if found else address
