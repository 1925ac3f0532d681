#!/usr/bin/env bash
# npm documents the setting `location=global` as the same as `--global`, which for `npx` should change nothing but which
# settings count: it puts packages into a cache of its own in any case. The guess was that `npx` runs a package as
# always. With npm 11 the first run of a package that is not yet in that cache fails instead, as a file of the cache is
# missing, and each later run of that package fails as well, without the setting, too, until the cache is emptied.
# A program that sets the variable to keep settings of a project away (quorum did) so breaks servers that are started by
# `npx`. With `--prefix` and a folder without settings, it runs. quorum gives runners of npm a folder of their own.
# This runs a small public package in a home and a cache of its own, and fails once npm behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" npm@11.19.1 >/dev/null 2>&1
export HOME=$work/home npm_config_update_notifier=false
mkdir -p "$HOME" "$work/project" "$work/empty"
cd "$work/project"
npx=$work/node_modules/.bin/npx

try() {
  local what=$1 code=0
  shift
  "$@" -y semver@7.7.2 1.2.3 >"$work/out" 2>"$work/err" </dev/null || code=$?
  echo "npm $("$work/node_modules/.bin/npm" --version), $what: exit $code, $(tail -n 1 "$work/out")$(grep -o 'code E[A-Z]*' "$work/err" || true)"
}

{
  try "location=global" env npm_config_location=global "$npx"
  try "without it, the same cache" "$npx"
  rm -rf "$HOME/.npm/_npx"
  try "without it, an empty cache" "$npx"
  rm -rf "$HOME/.npm/_npx"
  try "--prefix" "$npx" --prefix "$work/empty"
} | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
npm 11.19.1, location=global: exit 254, code ENOENT
npm 11.19.1, without it, the same cache: exit 254, code ENOENT
npm 11.19.1, without it, an empty cache: exit 0, 1.2.3
npm 11.19.1, --prefix: exit 0, 1.2.3
SEEN
