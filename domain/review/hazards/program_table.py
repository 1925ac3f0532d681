"""Uses of programs that do harm by their words alone, looked up in tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, takewhile

from msgspec import Struct

from quorum.domain.review.hazards.invocation import REHEARSAL, HarmfulUse, Invocation
from quorum.domain.review.hazards.service_uses import CLOUD_USES, SERVICE_USES
from quorum.domain.review.hazards.started_programs import drop_started_words
from quorum.domain.review.hazards.starters import note_programs
from quorum.domain.review.hazards.system_uses import SYSTEM_USES
from quorum.domain.review.objection import Objection
from quorum.domain.review.plain_request import Effect, RequestTerms

# The letter is looked for once: else a long word of such letters would be gone through for each of them.
_RECURSIVE = r"-(?=[a-zA-Z]*?[rR])[a-zA-Z]+|--recursive"
_FORCED = r"-(?=[a-zA-Z]*?f)[a-zA-Z]+|--force(=.*)?"
_BELOW = r"(?!\S*\.\.)[\w@+][\w@+./-]*"
"""A path below the current folder: writing there is what a redirect does."""
_DRY = r"-n|--dry-run(=.*)?|--help|--version|-h"
_DEVICE = (
    r"(.*/)?(dev/.+|mapper/.+|(sd|vd|hd|xvd)[a-z]+\d*|(nvme|mmcblk|loop|md|dm-|r?disk)\d\w*)|.*[$`*?].*"
    r"|(PART)?(UUID|LABEL)=.*|(?!/(var/)?tmp/)[/~].*|(.*/)?\.\.(/.*)?"
)
"""A device, or what may be one: an image of a disk below this folder is made like any other file."""
_CLOUD = r"(delete|terminate|destroy|purge|remove|deregister)(-.*)?|rb|rm"
_NAME_AND_VALUE = 2
"""Operands: a name alone is read."""
_DELETION = RequestTerms(effect=Effect.DELETE)
_DISCARDED = RequestTerms(effect=Effect.DISCARD)
_DISCARDED_CHANGES = RequestTerms(
    effect=Effect.DISCARD, nouns=r"(?:uncommitted|unstaged|local|untracked|committed|commits?)\b.*"
)
_DISCARDED_STASHES = RequestTerms(effect=Effect.DISCARD, nouns="stash|stashes")
_OVERWRITTEN = RequestTerms(effect=Effect.OVERWRITE)
_CONTAINERS = RequestTerms(effect=Effect.DELETE, nouns="containers|images|volumes")
_PUBLISHED = RequestTerms(effect=Effect.PUBLISH, nouns="pypi|npm|crates.io|rubygems")
_RELEASED = RequestTerms(effect=Effect.PUBLISH, nouns="release")
_MERGED = RequestTerms(effect=Effect.PUBLISH, nouns="pull request|pr")
_DELETED_THERE = RequestTerms(effect=Effect.DELETE, nouns="remote|remotely|origin|upstream", needs_noun=True)
_DATABASE = "databases?|db"
_DELETED_DATABASE = RequestTerms(effect=Effect.DELETE, nouns=_DATABASE, kind=_DATABASE, needs_kind=True)
_FLUSHED = RequestTerms(effect=Effect.DELETE, nouns="redis|valkey")
_EMPTIED_TRASH = RequestTerms(effect=Effect.DELETE, nouns="trash|bin")
_REMOVES_ALL = "removes programs that are not named"
_LISTED = r"(\$x|\$\(.*|`.*|<\(.*|/dev/fd.*)"
_LOST_CONTAINERS = "deletes containers or images"
DATA_USES = (
    HarmfulUse("rm", _RECURSIVE, "deletes folders with all they hold", "--help|--version", request=_DELETION),
    HarmfulUse("rm", _FORCED, "deletes without asking", "--help|--version", request=_DELETION),
    HarmfulUse("srm|unlink", "", "deletes files", "--help|--version", request=_DELETION),
    HarmfulUse(
        "git push",
        r"-f|--force.*|--mirror|--prune|\+.*|:.+",
        "rewrites or deletes what others see",
        _DRY,
        request=_OVERWRITTEN,
    ),
    HarmfulUse("git push", "--delete|-d", "deletes what others see", _DRY, request=_DELETED_THERE),
    HarmfulUse(
        "git reset", "--hard|--merge|--keep", "throws uncommitted changes away", request=_DISCARDED_CHANGES
    ),
    HarmfulUse(
        "git clean",
        _FORCED,
        "deletes files that git does not know",
        r"-(?=[a-zA-Z]*?n)[a-zA-Z]+|--dry-run",
        request=_DISCARDED_CHANGES,
    ),
    HarmfulUse(
        "git checkout", r"--|-f|--force|\.", "throws uncommitted changes away", request=_DISCARDED_CHANGES
    ),
    HarmfulUse(
        "git switch",
        r"-f|--force|--discard-changes",
        "throws uncommitted changes away",
        request=_DISCARDED_CHANGES,
    ),
    HarmfulUse("git restore", r"-W|--worktree", "throws uncommitted changes away", request=_DISCARDED_CHANGES),
    HarmfulUse("git restore", "", "throws uncommitted changes away", "-S|--staged", request=_DISCARDED_CHANGES),
    HarmfulUse("git rm", "", "deletes files", f"--cached|{_DRY}", request=_DELETION),
    HarmfulUse("git worktree remove", _FORCED, "deletes a work tree with its changes", request=_DISCARDED),
    HarmfulUse("git submodule deinit", _FORCED, "throws changes of a submodule away"),
    HarmfulUse(
        "git branch", r"-D|-(?!-)[a-zA-Z]*[fM][a-zA-Z]*|--force", "deletes branches", request=_DISCARDED
    ),
    HarmfulUse("git tag", r"--delete|-d", "deletes tags", request=_DISCARDED),
    HarmfulUse("git stash", "drop|clear", "throws stashed changes away", request=_DISCARDED_STASHES),
    HarmfulUse(
        "svn|bzr|hg|darcs", "revert", "throws uncommitted changes away", _DRY, request=_DISCARDED_CHANGES
    ),
    HarmfulUse(
        "hg update|checkout|up|co", "-C|--clean", "throws uncommitted changes away", request=_DISCARDED_CHANGES
    ),
    HarmfulUse("hg|jj", "purge|strip|abandon|prune", "throws changes away", _DRY, request=_DISCARDED),
    HarmfulUse("svn delete|del|remove|rm", r"[\w+]+://.*|\^/.*", "deletes what others see"),
    HarmfulUse("svn", "--remove-unversioned|--remove-ignored", "deletes files that svn does not know"),
    HarmfulUse("git reflog", "expire|delete", "removes the way back to lost commits"),
    HarmfulUse("git filter-branch", "", "rewrites history"),
    HarmfulUse("git filter-repo", "", "rewrites history", request=RequestTerms(effect=Effect.REWRITE)),
    HarmfulUse("git update-ref", "-d", "deletes references"),
    HarmfulUse("git gc", "--prune.*", "removes the way back to lost commits"),
    HarmfulUse("find", r"-delete", "deletes what it finds", request=_DELETION),
    HarmfulUse(
        "rsync",
        "--delete.*|--remove-source-files|--del",
        "deletes files",
        REHEARSAL,
    ),
    HarmfulUse("rclone", "delete|deletefile|purge|sync|rmdirs|cleanup", "deletes files", "--dry-run"),
    HarmfulUse(
        "hdfs|hadoop dfs|fs",
        "-rm|-rmr|-rmdir|-expunge|-truncate",
        "deletes files of a cluster",
        "-help|-usage",
    ),
    HarmfulUse("hadoop distcp", "-delete|-overwrite", "deletes files of a cluster"),
    HarmfulUse("tar", "--remove-files", "deletes the files that it packs"),
    HarmfulUse("dd", rf"of=(?!/dev/(null|stdout)$|{_BELOW}$).*", "overwrites files or devices"),
    HarmfulUse("mkfs|mke2fs|mkswap|newfs", _DEVICE, "formats a device"),
    HarmfulUse(
        "trash-empty|trash-rm", "", "deletes what is in the trash", "--help|--dry-run", request=_EMPTIED_TRASH
    ),
    HarmfulUse("gio trash", "--empty", "deletes what is in the trash", request=_EMPTIED_TRASH),
    HarmfulUse(
        "pip|pip3|brew|npm|pnpm|snap|gem|cargo|flatpak|code|conda|mamba|pipx|uv|dotnet",
        r"uninstall-all",
        _REMOVES_ALL,
    ),
    HarmfulUse(
        "pip|pip3|uv|brew|npm|pnpm|snap|gem|cargo|flatpak|conda|mamba uninstall|remove|rm|un",
        rf"{_LISTED}|--all|-a[A-Zx]*",
        _REMOVES_ALL,
        r"--dry-run|--cask|--zap",
    ),
    HarmfulUse("uv pip|tool uninstall", rf"{_LISTED}|--all", _REMOVES_ALL, "--dry-run"),
    HarmfulUse("code|codium|cursor", rf"--uninstall-extension=?{_LISTED}|\$x", _REMOVES_ALL),
    HarmfulUse("shred", "", "destroys data", "--help|--version", request=_DELETION),
    HarmfulUse(
        "wipefs|sgdisk|blkdiscard|badblocks",
        "",
        "destroys data on a device",
        "-n|--no-act|--help|--version",
    ),
    HarmfulUse(
        "fdisk|parted|sfdisk|cfdisk",
        _DEVICE,
        "changes the partitions of a device",
        r"-l|--list|--help|--version|--dump",
    ),
    HarmfulUse("lvremove|vgremove|pvremove|vgreduce|lvreduce", "", "deletes a volume"),
    HarmfulUse("zpool|zfs", "destroy|rollback|labelclear", "deletes a file system"),
    HarmfulUse("btrfs", "delete", "deletes a file system"),
    HarmfulUse("cryptsetup", "luksFormat|luksErase|erase", "destroys data on a device"),
    HarmfulUse("mdadm", "--zero-superblock|--stop", "takes a volume apart"),
    HarmfulUse("diskutil", "erase.*|partitionDisk|zeroDisk|secureErase|delete.*", "destroys data on a device"),
    HarmfulUse("truncate", "", "cuts files off", "0|-s0|--size=0|--help|--version"),
    HarmfulUse("truncate", "0|-s0|--size=0", "empties files", request=RequestTerms(effect=Effect.EMPTY)),
    HarmfulUse("docker|podman|nerdctl rm|rmi|kill", "", _LOST_CONTAINERS, "--help", request=_CONTAINERS),
    HarmfulUse(
        "docker|podman|nerdctl "
        "container|volume|network|system|pod|secret|config|service|stack|context|node|plugin|compose|machine",
        "prune|rm|remove|rmi|kill",
        _LOST_CONTAINERS,
        "--help",
        request=_CONTAINERS,
    ),
    HarmfulUse(
        "docker|podman|nerdctl image|manifest rm|remove", "", _LOST_CONTAINERS, "--help", request=_CONTAINERS
    ),
    # Without it go only layers that bear no name; what was kept from builds is made again.
    HarmfulUse(
        "docker|podman|nerdctl image prune",
        "-[a-z]*a[a-z]*|--all(=true)?|--external",
        _LOST_CONTAINERS,
        "--help",
        request=_CONTAINERS,
    ),
    HarmfulUse("docker buildx rm", "", _LOST_CONTAINERS, "--help", request=_CONTAINERS),
    HarmfulUse(
        "docker|podman|nerdctl compose down",
        "-v|--volumes|--rmi(=.*)?",
        "deletes volumes or images",
        request=_CONTAINERS,
    ),
    HarmfulUse(
        "docker-compose|podman-compose down",
        "-v|--volumes|--rmi(=.*)?",
        "deletes volumes or images",
        request=_CONTAINERS,
    ),
    HarmfulUse(
        "kubectl|oc",
        "delete|drain|replace|--replicas=0",
        "deletes what runs in a cluster",
        "--dry-run.*|can-i",
        request=_DELETION,
    ),
    HarmfulUse(
        "helm", "delete|uninstall|rollback", "deletes what runs in a cluster", "--dry-run.*", request=_DELETION
    ),
    HarmfulUse("terraform|tofu|terragrunt|pulumi", "destroy|apply|up", "changes infrastructure", "-help|-h"),
    HarmfulUse(
        "aws|gcloud|gsutil|az|doctl|heroku|fly|flyctl|s3cmd|mc",
        _CLOUD,
        "deletes what is kept in a cloud",
        "--dryrun|--dry-run|--generate-cli-skeleton.*",
    ),
    HarmfulUse("heroku", "pg:reset|apps:destroy|addons:destroy", "deletes what is kept in a cloud"),
    HarmfulUse(
        "npm|pnpm|yarn|bun|cargo|gem|poetry|uv|pdm|hatch|flit|rye|maturin|lerna|changeset|vsce|ovsx|jsr",
        "publish|unpublish|yank",
        "publishes a package",
        "--dry-run",
        request=_PUBLISHED,
    ),
    HarmfulUse("twine", "upload", "publishes a package", request=_PUBLISHED),
    HarmfulUse("gh repo", "delete|archive", "deletes what others see"),
    HarmfulUse("gh release|issue|secret|variable|label|gist|run|cache", "delete", "deletes what others see"),
    HarmfulUse("gh pr", "merge", "changes what others see", request=_MERGED),
    HarmfulUse("gh release", "create|edit|upload", "changes what others see", request=_RELEASED),
    HarmfulUse("gh gist", "create", "shows files to others", guard="network"),
    HarmfulUse("gh repo", "--public|--visibility=public", "shows a repository to everybody", guard="network"),
    HarmfulUse("dotnet ef database drop", "", "deletes a database", "--dry-run", request=_DELETED_DATABASE),
    HarmfulUse("flyway", "clean", "deletes a database", request=_DELETED_DATABASE),
    HarmfulUse("liquibase", "drop-all|dropAll", "deletes a database", request=_DELETED_DATABASE),
    HarmfulUse("dropdb", "", "deletes a database", "--help|--version", request=_DELETED_DATABASE),
    HarmfulUse("dropuser", "", "deletes who may use a database", "--help|--version"),
    HarmfulUse("mysqladmin", "drop", "deletes a database"),
    HarmfulUse("redis-cli|valkey-cli", "(?i)del|unlink|getdel|xtrim|ltrim", "deletes keys of a database"),
    HarmfulUse("redis-cli", "(?i)flushall|flushdb", "deletes a database", request=_FLUSHED),
    HarmfulUse(
        "rails|rake|bundle|bin/rails",
        "db:(drop|reset|purge|schema:load|truncate_all|setup|migrate:reset)(:all)?",
        "deletes a database",
    ),
    HarmfulUse(
        "python|python3|django-admin|manage.py|poetry|uv|pipenv",
        "flush|reset_db|sqlflush",
        "deletes data of a database",
    ),
    HarmfulUse("alembic|flask|aerich|piccolo", "downgrade", "can delete data of a database", "--sql"),
    HarmfulUse(
        "prisma|npx|pnpm|yarn|bunx",
        "reset|--force-reset|db:drop|migrate:fresh|schema:drop",
        "deletes a database",
    ),
    HarmfulUse(
        "php|artisan|sail",
        "migrate:(fresh|reset|refresh)|db:wipe|doctrine:(database|schema):drop",
        "deletes a database",
    ),
    HarmfulUse("mix", r"(ecto|ash)\.(drop|reset|rollback)", "deletes data of a database"),
    HarmfulUse(
        "sequelize|knex|typeorm|drizzle-kit|supabase",
        "db:drop|schema:drop|drop|reset|migrate:rollback",
        "deletes a database",
    ),
)


# The letter is looked for once: else a long word of such letters would be gone through for each of them.
_RIGHTS = RequestTerms(effect=Effect.CHANGE_RIGHTS)
_INSTALLED = RequestTerms(effect=Effect.INSTALL)
_LOAD = RequestTerms(effect=Effect.LOAD, nouns="machine|computer|cpus?|memory|load")
_OPEN_RIGHTS = RequestTerms(effect=Effect.CHANGE_RIGHTS, nouns="everybody|everyone|777|world", needs_noun=True)
_ELEVATED = RequestTerms(effect=Effect.ELEVATE, names=frozenset({"sudo"}))
_PUSHED = RequestTerms(effect=Effect.PUBLISH, nouns="image|registry")
_OWN_MACHINE = r"--help|(docker://)?(localhost|127\.0\.0\.1)(:\d+)?/.*"
_ENDED = RequestTerms(effect=Effect.END)
SPECIAL_BITS = "lets others run it with the rights of its owner"
WHOLE_FOLDERS = "changes the rights of whole folders"
MACHINE_USES = (
    HarmfulUse(
        "scancel|qdel|bkill|condor_rm|llcancel|oardel",
        "",
        "ends jobs of a cluster",
        "--help|--version|-V",
        request=_ENDED,
    ),
    HarmfulUse("flux cancel", "", "ends jobs of a cluster", request=_ENDED),
    HarmfulUse("nomad job stop", "", "ends jobs of a cluster", request=_ENDED),
    HarmfulUse("chmod|chown|chgrp", _RECURSIVE, WHOLE_FOLDERS, request=_RIGHTS),
    HarmfulUse("chmod", r"0?777|a\+rwx|o\+w|a\+w", "lets everybody change the file", request=_OPEN_RIGHTS),
    HarmfulUse("chmod", r"0?[2467][0-7]{3}|[ugoa]*\+[rwx]*s[rwx]*", SPECIAL_BITS),
    HarmfulUse("setcap", "", "gives a program rights of the system"),
    HarmfulUse(
        "killall|pkill|xkill|skill",
        "",
        "ends processes by name",
        "-l|--list|-0|-(SIG)?(CONT|WINCH|URG|CHLD)|--help|--version",
        request=_ENDED,
    ),
    HarmfulUse(
        "killall|pkill|xkill|skill",
        r"-(SIG)?(HUP|INT|QUIT|KILL|TERM|ABRT|STOP|TSTP|USR[12]|ALRM|PIPE|[1-9]\d?)|-s.*|--signal.*",
        "ends processes by name",
        "-l|--list|--help|--version",
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
        "enable|link|preset|--now",
        "lets something run on its own",
        guard="persistence",
        request=_INSTALLED,
    ),
    HarmfulUse(
        "systemd-run|at|batch",
        "",
        "lets something run on its own",
        r"-l|--help|--version|-q|--scope",
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
        fewest=_NAME_AND_VALUE,
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
    HarmfulUse(
        "pwsh|powershell",
        r"(?is).*\b((Add|Set)-MpPreference|(Disable|New|Set)-NetFirewall(Profile|Rule)|Uninstall-WindowsFeature"
        r"|(Enable|New|Set)-LocalUser|Add-(LocalGroupMember|ADGroupMember)|Enable-PSRemoting|Clear-EventLog"
        r"|wevtutil(\.exe)?\s+cl|Set-ExecutionPolicy\s+(-\w+\s+)*(Bypass|Unrestricted))\b.*",
        "switches a protection off, or lets somebody in",
    ),
    HarmfulUse(
        "pwsh|powershell",
        r"(?is).*\b((New|Register|Set)-(ScheduledTask|ScheduledJob|Service)|CurrentVersion\\Run(Once)?)\b.*",
        "has something start by itself",
        guard="persistence",
    ),
    HarmfulUse(
        "pwsh|powershell",
        r"(?is).*\b(Format-Volume|(Clear|Initialize)-Disk|Remove-(Partition|VM|ADUser|LocalUser)"
        r"|(Restart|Stop)-Computer)\b.*",
        "deletes what cannot be brought back, or stops the machine",
    ),
    HarmfulUse(
        "az aks get-credentials",
        "--admin|-a",
        "takes the rights of a cluster's administrator",
        guard="secret",
    ),
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


class _Row(Struct, frozen=True):
    """A row of a table without its programs."""

    fewest: int

    words: tuple[frozenset[str], ...]
    needed: re.Pattern[str]
    unless: re.Pattern[str]
    does: str
    guard: str
    request: RequestTerms | None


def _index_by_program(uses: Iterable[HarmfulUse]) -> dict[str, tuple[_Row, ...]]:
    rows: dict[str, tuple[_Row, ...]] = {}
    for use in uses:
        names, *words = (frozenset(word.split("|")) for word in use.program.split())
        row = _Row(
            use.fewest,
            tuple(words),
            re.compile(use.needed),
            re.compile(use.unless),
            use.does,
            use.guard,
            use.request,
        )
        for name in names:
            rows[name] = (*rows.get(name, ()), row)
    return rows


_ROWS = _index_by_program((*DATA_USES, *MACHINE_USES))
_SYSTEM_ROWS = _index_by_program((*SYSTEM_USES, *SERVICE_USES, *CLOUD_USES))
note_programs((*_ROWS, *_SYSTEM_ROWS))
_VERSIONED = re.compile(r"(mkfs|python|pip)[.0-9][a-z0-9.]*")


_START_WHAT_FOLLOWS = frozenset(
    {
        *(
            "sudo",
            "doas",
            "su",
            "pkexec",
            "runas",
            "run0",
            "sg",
            "newgrp",
            "nsenter",
            "unshare",
            "setpriv",
            "capsh",
        ),
        *("runcon", "systemd-run", "systemd-nspawn", "torsocks", "torify", "proxychains"),
    }
)
"""Only options in front of the first word that is none are their own."""
_ADD_WORDS = frozenset({"xargs", "parallel"})
_ASKS_ABOUT_ITSELF = re.compile(r"(?:[a-z][a-z0-9-]* ){0,3}--help|--version")
"""Words that have a program tell how it is used. Behind a path or a value it may be too late to ask."""


def has_harmful_uses(program: str) -> bool:
    """Whether the tables have anything about a program."""
    return program in _ROWS or program in _SYSTEM_ROWS or _VERSIONED.fullmatch(program) is not None


def list_harmful_uses(run: Invocation) -> Iterator[Objection]:
    """What the tables have against a use of a program; the second is asked where the first has nothing, since a
    person may plainly ask for what is in the first.
    """
    found = None if run.program in _ROWS else _VERSIONED.fullmatch(run.program)
    name = found[1] if found else run.program
    listed = tuple(_match_rows(run, _ROWS.get(name, ())))
    yield from listed or _match_rows(run, _SYSTEM_ROWS.get(name, ()))


def names_use(run: Invocation) -> bool:
    """Whether the tables tell of this use of a program, be it for or against it."""
    arguments = drop_started_words(run)
    rows = (*_ROWS.get(run.program, ()), *_SYSTEM_ROWS.get(run.program, ()))
    return any(_begins(row, arguments) and (row.words or _needs(row, arguments)) for row in rows)


def _begins(row: _Row, arguments: Sequence[str]) -> bool:
    first = arguments[: len(row.words)]
    return len(first) == len(row.words) and all(
        word in allowed for word, allowed in zip(first, row.words, strict=True)
    )


def _needs(row: _Row, rest: Sequence[str]) -> bool:
    return not row.needed.pattern or any(map(row.needed.fullmatch, rest))


def _match_rows(run: Invocation, rows: Sequence[_Row]) -> Iterator[Objection]:
    if not rows:
        return
    arguments = drop_started_words(run)
    if _ASKS_ABOUT_ITSELF.fullmatch(" ".join(arguments)):
        rows = [row for row in rows if not (row.words or row.needed.pattern)] if arguments[1:] else ()
    if not _ADD_WORDS.isdisjoint(run.wrappers):
        arguments = (*arguments, "$x")
    own = None
    if run.program in _START_WHAT_FOLLOWS:
        own = tuple(takewhile(lambda word: word.startswith("-"), arguments))
    for row in rows:
        if not _begins(row, arguments):
            continue
        first, rest = arguments[: len(row.words)], arguments[len(row.words) :]
        if not _needs(row, rest):
            continue
        if row.unless.pattern and any(map(row.unless.fullmatch, own if own is not None else rest)):
            continue
        # behind the first operand, what begins like an option may be the value
        if row.fewest and len([*dropwhile(lambda word: word.startswith("-"), rest)]) < row.fewest:
            continue
        yield Objection(row.guard, f"{' '.join((run.program, *first))}: it {row.does}", row.request)
