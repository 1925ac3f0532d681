"""Uses of programs that change who may do what on a machine, what runs there, and what is known of it."""

from __future__ import annotations

from quorum.domain.review.hazards.harmful_use import HarmfulUse
from quorum.domain.review.plain_request import Effect, RequestTerms

# The letter is looked for once: else a long word of such letters would be gone through for each of them.
_RECURSIVE = r"-(?=[a-zA-Z]*?[rR])[a-zA-Z]+|--recursive"
_RIGHTS = RequestTerms(effect=Effect.CHANGE_RIGHTS)
_INSTALLED = RequestTerms(effect=Effect.INSTALL)
_LOAD = RequestTerms(effect=Effect.LOAD, nouns="machine|computer|cpus?|memory|load")
_OPEN_RIGHTS = RequestTerms(effect=Effect.CHANGE_RIGHTS, nouns="everybody|everyone|777|world", needs_noun=True)
_ELEVATED = RequestTerms(effect=Effect.ELEVATE, names=frozenset({"sudo"}))
_PUSHED = RequestTerms(effect=Effect.PUBLISH, nouns="image|registry")
_OWN_MACHINE = r"--help|(docker://)?(localhost|127\.0\.0\.1)(:\d+)?/.*"
_ENDED = RequestTerms(effect=Effect.END)
MACHINE_USES = (
    HarmfulUse("chmod|chown|chgrp", _RECURSIVE, "changes the rights of whole folders", request=_RIGHTS),
    HarmfulUse("chmod", r"0?777|a\+rwx|o\+w|a\+w", "lets everybody change the file", request=_OPEN_RIGHTS),
    HarmfulUse(
        "chmod", r"[2467][0-7]{3}|[ugoa]*\+[rwx]*s[rwx]*", "lets others run it with the rights of its owner"
    ),
    HarmfulUse("setcap", "", "gives a program rights of the system"),
    HarmfulUse(
        "killall|pkill|xkill|skill",
        "",
        "ends processes by name",
        "-l|--list|-0|--help|--version",
        request=_ENDED,
    ),
    HarmfulUse("fuser", "-k|-.*k", "ends processes"),
    HarmfulUse("shutdown|reboot|halt|poweroff", "", "stops the machine"),
    HarmfulUse("init|telinit", "0|6", "stops the machine"),
    HarmfulUse("sudo|doas|su|pkexec|runas", "", "acts as another user", "--version|--help", request=_ELEVATED),
    HarmfulUse(
        "useradd|adduser|usermod|groupadd|groupmod|chpasswd|vipw|visudo|gpasswd",
        "",
        "changes who may use the machine",
    ),
    HarmfulUse("userdel|deluser|groupdel|delgroup", "", "deletes users"),
    HarmfulUse("passwd", "", "changes who may use the machine", "-S|--status"),
    HarmfulUse("dscl", "-create|-append|-passwd|-delete", "changes who may use the machine"),
    HarmfulUse("crontab", "-r", "deletes scheduled jobs"),
    HarmfulUse("systemctl", "stop|disable|mask|kill|isolate|poweroff|reboot|halt", "stops services"),
    HarmfulUse("service", "stop", "stops services"),
    HarmfulUse("initctl|rc-service", "stop", "stops services"),
    HarmfulUse("launchctl", "unload|remove|bootout|disable", "stops services"),
    HarmfulUse(
        "docker|podman|nerdctl",
        r"--privileged(=true)?|--pid=host|/:/.*|.*docker\.sock.*|--cap-add=(ALL|SYS_ADMIN)",
        "gives a container rights over the machine",
    ),
    HarmfulUse("ufw", "disable|reset", "opens the firewall"),
    HarmfulUse("iptables|ip6tables", "-F|--flush|-X", "opens the firewall"),
    HarmfulUse("iptables|ip6tables -P", "ACCEPT", "opens the firewall"),
    HarmfulUse("nft", "flush|delete", "opens the firewall"),
    HarmfulUse("pfctl", "-d|-F", "opens the firewall"),
    HarmfulUse("firewall-cmd", "--panic-off|--remove-.*|--set-default-zone=trusted", "opens the firewall"),
    HarmfulUse("netsh", "off", "opens the firewall"),
    HarmfulUse("setenforce", "0|(?i:permissive)", "switches a protection of the system off"),
    HarmfulUse("auditctl", "-D|-e|-d", "switches the log of the system off"),
    HarmfulUse("apparmor_parser", "-R|--remove", "switches a protection of the system off"),
    HarmfulUse("aa-disable|aa-teardown|aa-complain", "", "switches a protection of the system off"),
    HarmfulUse("spctl", "--master-disable|--global-disable", "switches a protection of the system off"),
    HarmfulUse("csrutil", "disable", "switches a protection of the system off"),
    HarmfulUse("sysctl", r"-w|--write|[a-z_.0-9]+=.*", "changes the running system"),
    HarmfulUse("swapoff", "", "changes the running system"),
    HarmfulUse(
        "insmod|modprobe|rmmod|kldload|kextload",
        "",
        "changes the running system",
        "-n|--dry-run|--show-depends",
    ),
    HarmfulUse("chattr", r"[+=-][a-zA-Z]+", "hinders or allows later changes of files"),
    HarmfulUse("journalctl", "--vacuum-.*|--rotate|--flush", "deletes logs"),
    HarmfulUse("wevtutil", "cl|clear-log", "deletes logs"),
    HarmfulUse("log", "erase", "deletes logs"),
    HarmfulUse("history", "-c|-[a-z]*c[a-z]*|-d|-w", "deletes the history of commands"),
    HarmfulUse("unset", "HISTFILE|HISTSIZE|HISTFILESIZE", "switches the history of commands off"),
    HarmfulUse(
        "systemctl",
        "enable|link|preset|--now|daemon-reload",
        "lets something run on its own",
        guard="persistence",
        request=_INSTALLED,
    ),
    HarmfulUse(
        "systemd-run|at|batch",
        "",
        "lets something run on its own",
        r"-l|--help|--version|-q",
        guard="persistence",
    ),
    HarmfulUse(
        "launchctl", "load|bootstrap|submit|enable", "lets something run on its own", guard="persistence"
    ),
    HarmfulUse(
        "update-rc.d|chkconfig|rc-update|update-initramfs",
        "",
        "lets something run on its own",
        "--list|show",
        guard="persistence",
    ),
    HarmfulUse("schtasks|reg", "(?i)/create|add", "lets something run on its own", guard="persistence"),
    HarmfulUse("ssh-copy-id", "", "lets a key in to another machine", guard="persistence"),
    HarmfulUse(
        "git config",
        r"(?i)core\.(hookspath|fsmonitor|sshcommand|editor|pager)|credential\.helper|alias\..*|init\.templatedir",
        "has git run something later",
        r"--get.*|--list|-l|--unset.*",
        guard="persistence",
        request=_INSTALLED,
    ),
    HarmfulUse(
        "security", "find-(generic|internet)-password|dump-keychain|export", "reads credentials", guard="secret"
    ),
    HarmfulUse("gpg|gpg2", "--export-secret-(sub)?keys", "reads credentials", guard="secret"),
    HarmfulUse("gh auth", "token", "reads credentials", guard="secret"),
    HarmfulUse("git credential", "fill", "reads credentials", guard="secret"),
    HarmfulUse("secret-tool", "lookup|search", "reads credentials", guard="secret"),
    HarmfulUse("vault", "read|token", "reads credentials", guard="secret"),
    HarmfulUse("unshadow|mimipenguin|secretsdump.py|keyctl", "", "reads credentials", guard="secret"),
    HarmfulUse("getent", "g?shadow", "reads credentials", guard="secret"),
    HarmfulUse("gcore|procdump", "", "reads the memory of a process", guard="secret"),
    HarmfulUse("apt-key", "add|adv", "trusts packages of somebody else", guard="network"),
    HarmfulUse(
        "add-apt-repository", "", "trusts packages of somebody else", "-r|--remove|-L|--list", guard="network"
    ),
    HarmfulUse(
        "pip|pip3|uv|pipx",
        r"--trusted-host(=.*)?|(-i|--(extra-)?index-url|--index)(=.*)?|(git\+)?http://.*",
        "takes packages from elsewhere",
        guard="network",
    ),
    HarmfulUse(
        "docker|podman|nerdctl|buildah|crane push",
        "",
        "sends an image to another machine",
        _OWN_MACHINE,
        guard="network",
        request=_PUSHED,
    ),
    HarmfulUse(
        "docker|podman|nerdctl|docker-compose image|manifest|compose|buildx|build|builder",
        "push|--push",
        "sends an image to another machine",
        _OWN_MACHINE,
        guard="network",
        request=_PUSHED,
    ),
    HarmfulUse("docker-compose", "push", "sends an image to another machine", guard="network", request=_PUSHED),
    HarmfulUse(
        "skopeo copy|sync", "docker://.*", "sends an image to another machine", guard="network", request=_PUSHED
    ),
    HarmfulUse("pwsh|powershell", r"(?i)[-/]e(c|n\w*)?", "runs code that is hidden in data", guard="network"),
    HarmfulUse("pip|pip3", r"https?://.*", "takes packages from elsewhere", guard="network"),
    HarmfulUse(
        "pip|pip3 config set", r".*(index-url|trusted-host)", "takes packages from elsewhere", guard="network"
    ),
    HarmfulUse(
        "npm|pnpm|yarn",
        r"https?://.*|--registry(=.*)?|registry(=.*)?|strict-ssl(=false)?",
        "takes packages from elsewhere",
        guard="network",
    ),
    HarmfulUse("ssh", r"-[a-zA-Z]*R.*", "lets another machine in", guard="network"),
    HarmfulUse(
        "ngrok|cloudflared|localtunnel|lt|bore|frpc|chisel",
        "",
        "lets another machine in",
        "--help|--version|version",
        guard="network",
    ),
    HarmfulUse(
        "tcpdump|tshark|dumpcap|ngrep", "", "reads what others send", "-D|--version|--help|-r", guard="secret"
    ),
    HarmfulUse(
        "xwd|scrot|screencapture|gnome-screenshot|grim", "", "takes a picture of the screen", guard="secret"
    ),
    HarmfulUse("xinput|showkey|logkeys|evtest", "", "reads what is typed", "list|--list", guard="secret"),
    HarmfulUse("xclip|xsel|wl-paste|pbpaste", "-o|-out|--output|-b", "reads the clipboard", guard="secret"),
    HarmfulUse("stress|stress-ng|xmrig|minerd|cpuminer", "", "takes all of the machine", request=_LOAD),
)
