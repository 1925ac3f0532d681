#!/usr/bin/env bash
# Supabase's MCP server greets without a network, in the protocol of 2025 and in that of 2026, and says that it has tools.
# Yet it lists none: its feature `docs`, on unless others are chosen, asks an address of its own while the tools are
# listed, and where that cannot be reached the whole list is one error that names neither the feature nor the address.
# With `--features=database` the same server lists its tools at once. A client that takes a greeting for a server that
# is up has one without tools; quorum waits for the list before it counts a server as running, and shows the error.
# This sends valid requests to the server alone, with both addresses at a closed port of this machine, and fails once it
# behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @supabase/mcp-server-supabase@0.13.0 >/dev/null 2>&1

cat > "$work/ask.py" <<'PY'
import json, subprocess, sys

protocol, *command = sys.argv[1:]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def send(method, params, id_=None):
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id_ is None else {"id": id_})
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()
    return None if id_ is None else json.loads(server.stdout.readline())


client, none = {"name": "finding", "version": "1"}, {}
if protocol == "2025-06-18":
    greeting = send("initialize", {"protocolVersion": protocol, "capabilities": none, "clientInfo": client}, 1)
    send("notifications/initialized", none)
    params = {}
else:
    names = {"protocolVersion": protocol, "clientInfo": client, "clientCapabilities": none}
    params = {"_meta": {f"io.modelcontextprotocol/{name}": value for name, value in names.items()}}
    greeting = send("server/discover", params, 1)
listed = send("tools/list", params, 2)
what = f"{len(listed['result']['tools'])} tools" if "result" in listed else f"error {listed['error']}"
features = command[-1] if "features" in command[-1] else "as it comes"
has_tools = "tools" in greeting["result"]["capabilities"]
print(f"0.13.0, protocol {protocol}, {features}: "
      f"greets, {'with' if has_tools else 'without'} tools; tools/list: {what}")
server.stdin.close()
server.wait()
PY

for more in "" --features=docs --features=database; do
  for protocol in 2025-06-18 2026-07-28; do
    python3 "$work/ask.py" $protocol "$work/node_modules/.bin/mcp-server-supabase" --access-token=none \
      --api-url=http://127.0.0.1:9 --content-api-url=http://127.0.0.1:9 $more
  done
done | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
0.13.0, protocol 2025-06-18, as it comes: greets, with tools; tools/list: error {'code': -32603, 'message': 'fetch failed'}
0.13.0, protocol 2026-07-28, as it comes: greets, with tools; tools/list: error {'code': -32603, 'message': 'fetch failed'}
0.13.0, protocol 2025-06-18, --features=docs: greets, with tools; tools/list: error {'code': -32603, 'message': 'fetch failed'}
0.13.0, protocol 2026-07-28, --features=docs: greets, with tools; tools/list: error {'code': -32603, 'message': 'fetch failed'}
0.13.0, protocol 2025-06-18, --features=database: greets, with tools; tools/list: 5 tools
0.13.0, protocol 2026-07-28, --features=database: greets, with tools; tools/list: 5 tools
SEEN
