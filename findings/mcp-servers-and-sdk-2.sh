#!/usr/bin/env bash
# Two MCP servers whose requirements admit version 2 of the Python SDK (`mcp>=1.27.0`, `mcp[cli]>=1.6.0`), and which an
# installer therefore puts beside it, end at their start there: they register their handlers by decorators of the
# server object, which version 2 has no more. With the last SDK of version 1 both greet. A client sees no more than a
# process that ends with exit code 1, so quorum shows the error at the end of what it printed. This sends one valid
# greeting to each, without quorum, and fails once they behave in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

greet() { # command…
  {
    echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"finding","version":"1"}}}'
    sleep 20 & wait_for=$!
    while kill -0 $wait_for 2>/dev/null && [ ! -s "$work/out" ] && [ ! -e "$work/over" ]; do sleep 0.2; done
    kill $wait_for 2>/dev/null || true
  } | { "$@" >"$work/out" 2>"$work/err" || true; touch "$work/over"; }
  if [ -s "$work/out" ]; then
    python3 -c 'import json,sys; print("greets as", json.loads(sys.stdin.readline())["result"]["serverInfo"]["name"])' <"$work/out"
  else
    tail -n 1 "$work/err"
  fi
  rm -f "$work/out" "$work/err" "$work/over"
}

for sdk in 2.3.0 1.30.0; do
  python3 -m venv "$work/$sdk"
  "$work/$sdk/bin/pip" -q install "mcp==$sdk" mcp-server-sqlite==2025.4.25 arxiv-mcp-server==0.6.1 2>/dev/null
  echo "mcp $sdk, mcp-server-sqlite 2025.4.25: $(greet "$work/$sdk/bin/mcp-server-sqlite" --db-path "$work/notes.db")"
  echo "mcp $sdk, arxiv-mcp-server 0.6.1: $(greet "$work/$sdk/bin/arxiv-mcp-server" --storage-path "$work/papers")"
done | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
mcp 2.3.0, mcp-server-sqlite 2025.4.25: AttributeError: 'Server' object has no attribute 'list_resources'
mcp 2.3.0, arxiv-mcp-server 0.6.1: AttributeError: 'Server' object has no attribute 'list_prompts'
mcp 1.30.0, mcp-server-sqlite 2025.4.25: greets as sqlite
mcp 1.30.0, arxiv-mcp-server 0.6.1: greets as arxiv-mcp-server
SEEN
