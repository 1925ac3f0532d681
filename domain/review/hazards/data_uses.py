"""Uses of programs that lose data, or change what others see."""

from __future__ import annotations

from quorum.domain.review.hazards.harmful_use import HarmfulUse
from quorum.domain.review.plain_request import Effect, RequestTerms

# The letter is looked for once: else a long word of such letters would be gone through for each of them.
_RECURSIVE = r"-(?=[a-zA-Z]*?[rR])[a-zA-Z]+|--recursive"
_FORCED = r"-(?=[a-zA-Z]*?f)[a-zA-Z]+|--force(=.*)?"
_BELOW = r"(?!\S*\.\.)[\w@+][\w@+./-]*"
"""A path below the current folder: writing there is what a redirect does."""
_DRY = r"-n|--dry-run(=.*)?|--help|--version|-h"
_CLOUD = r"(delete|terminate|destroy|purge|remove|deregister)(-.*)?|rb|rm"
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
_DELETED_DATABASE = RequestTerms(effect=Effect.DELETE, nouns="databases?|db", needs_noun=True)
_FLUSHED = RequestTerms(effect=Effect.DELETE, nouns="redis|valkey")
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
    HarmfulUse("git reflog", "expire|delete", "removes the way back to lost commits"),
    HarmfulUse("git filter-branch", "", "rewrites history"),
    HarmfulUse("git filter-repo", "", "rewrites history", request=RequestTerms(effect=Effect.REWRITE)),
    HarmfulUse("git update-ref", "-d", "deletes references"),
    HarmfulUse("git gc", "--prune.*", "removes the way back to lost commits"),
    HarmfulUse("find", r"-delete", "deletes what it finds", request=_DELETION),
    HarmfulUse("rsync", "--delete.*|--remove-source-files|--del", "deletes files", "-n|--dry-run"),
    HarmfulUse("rclone", "delete|deletefile|purge|sync|rmdirs|cleanup", "deletes files", "--dry-run"),
    HarmfulUse("tar", "--remove-files", "deletes the files that it packs"),
    HarmfulUse("dd", rf"of=(?!/dev/(null|stdout)$|{_BELOW}$).*", "overwrites files or devices"),
    HarmfulUse("mkfs|mke2fs|mkswap|newfs", "", "formats a device"),
    HarmfulUse("shred", "", "destroys data", "--help|--version", request=_DELETION),
    HarmfulUse(
        "wipefs|sgdisk|blkdiscard|badblocks",
        "",
        "destroys data on a device",
        "-n|--no-act|--help|--version",
    ),
    HarmfulUse(
        "fdisk|parted|sfdisk|cfdisk", "", "changes the partitions of a device", r"-l|--list|--help|--version"
    ),
    HarmfulUse("lvremove|vgremove|pvremove|vgreduce|lvreduce", "", "deletes a volume"),
    HarmfulUse("zpool|zfs", "destroy|rollback|labelclear", "deletes a file system"),
    HarmfulUse("btrfs", "delete", "deletes a file system"),
    HarmfulUse("cryptsetup", "luksFormat|luksErase|erase", "destroys data on a device"),
    HarmfulUse("mdadm", "--zero-superblock|--stop", "takes a volume apart"),
    HarmfulUse("diskutil", "erase.*|partitionDisk|zeroDisk|secureErase|delete.*", "destroys data on a device"),
    HarmfulUse("truncate", "", "cuts files off", "0|-s0|--size=0|--help|--version"),
    HarmfulUse("truncate", "0|-s0|--size=0", "empties files", request=RequestTerms(effect=Effect.EMPTY)),
    HarmfulUse(
        "docker|podman|nerdctl", "prune|rm|rmi|kill", "deletes containers or images", request=_CONTAINERS
    ),
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
        "--dry-run.*",
        request=_DELETION,
    ),
    HarmfulUse(
        "helm", "delete|uninstall|rollback", "deletes what runs in a cluster", "--dry-run.*", request=_DELETION
    ),
    HarmfulUse("terraform|tofu|pulumi", "destroy|apply|up", "changes infrastructure"),
    HarmfulUse(
        "aws|gcloud|gsutil|az|doctl|heroku|fly|flyctl|s3cmd|mc",
        _CLOUD,
        "deletes what is kept in a cloud",
        "--dryrun|--dry-run",
    ),
    HarmfulUse("heroku", "pg:reset|apps:destroy|addons:destroy", "deletes what is kept in a cloud"),
    HarmfulUse(
        "npm|pnpm|yarn|cargo|gem|poetry|uv",
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
    HarmfulUse("dropdb", "", "deletes a database", "--help|--version", request=_DELETED_DATABASE),
    HarmfulUse("dropuser", "", "deletes who may use a database", "--help|--version"),
    HarmfulUse("mysqladmin", "drop", "deletes a database"),
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
    HarmfulUse("alembic", "downgrade", "can delete data of a database"),
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
    HarmfulUse(
        "sequelize|knex|typeorm|drizzle-kit|supabase",
        "db:drop|schema:drop|drop|reset|migrate:rollback",
        "deletes a database",
    ),
)
