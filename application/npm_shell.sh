#!/bin/sh
# npm starts this in place of a shell, for what `npx` has found. It takes the folders of the workspace from PATH that
# npm has put in front of all others, and what it was told for this start only.
folder=$(pwd -P)/
kept=
rest=$PATH:
while [ -n "$rest" ]; do
  entry=${rest%%:*}
  rest=${rest#*:}
  case $entry in
  */node_modules/.bin)
    case $folder in
    "${entry%node_modules/.bin}"*) continue ;;
    esac
    ;;
  esac
  kept=$kept${kept:+:}$entry
done
PATH=$kept
unset npm_config_script_shell npm_config_location
unset npm_config_prefix npm_config_local_prefix npm_config_global_prefix npm_config_globalconfig
exec /bin/sh "$@"
