#!/usr/bin/env bash
# Clients of MCP hold structured output against the schema that the list of tools gives for it, and a list may come in
# pages. The guess was that both hold together. The client of the TypeScript SDK, version 1, forgets the schemas of the
# pages before when it reads the next one: who reads all pages has checks for the tools of the last page alone. Its
# successor checks all. The Python SDK reads the list by itself where it has not been read, but only the first page: a tool
# of a later one is unchecked until the client has asked for that page. What does not fit is then passed on as if it did.
# quorum reads all pages and holds answers against the schemas that it has kept.
# This lists two pages of one tool each and calls both, and fails once one of the clients behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install mcp==2.3.0 2>/dev/null
npm install --silent --no-audit --no-fund --prefix "$work" @modelcontextprotocol/sdk@1.32.2 \
  @modelcontextprotocol/client@2.4.0 >/dev/null 2>&1

cat > "$work/server.py" <<'PY'
import json, sys

SCHEMA = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


def answer(method, params):
    if method == "initialize":
        served = {"name": "pages", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": served}
    if method == "tools/list":
        name, more = ("second", {}) if params.get("cursor") else ("first", {"nextCursor": "2"})
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}, "outputSchema": SCHEMA}], **more}
    if method == "tools/call":
        return {"content": [], "structuredContent": {"count": "many"}}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        told = answer(asked["method"], asked.get("params", {}))
        body = {"error": {"code": -32601, "message": "unknown method"}} if told is None else {"result": told}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **body}), flush=True)
PY

cat > "$work/ask.mjs" <<'JS'
const [name, module, server] = process.argv.slice(2)
const { Client } = await import(module === 'sdk' ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client')
const { StdioClientTransport } = await import(
  module === 'sdk' ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio'
)
const client = new Client({ name: 'finding', version: '1' })
await client.connect(new StdioClientTransport({ command: 'python3', args: [server] }))
let page = await client.listTools()
while (page.nextCursor) page = await client.listTools({ cursor: page.nextCursor })
for (const tool of ['first', 'second']) {
  const said = await client.callTool({ name: tool }).then(() => 'passed on', () => 'refused')
  console.log(`${name}, all pages read: output of the ${tool} page is ${said}`)
}
await client.close()
JS

cat > "$work/ask.py" <<'PY'
import asyncio, logging, sys
from importlib.metadata import version

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import PaginatedRequestParams

logging.disable()


async def main():
    async with (
        stdio_client(StdioServerParameters(command=sys.executable, args=[sys.argv[1]])) as (reader, writer),
        ClientSession(reader, writer) as session,
    ):
        await session.initialize()
        for read in ("no page read", "all pages read"):
            for tool in ("first", "second"):
                try:
                    await session.call_tool(tool)
                    said = "passed on"
                except RuntimeError:
                    said = "refused"
                print(f"mcp {version('mcp')}, {read}: output of the {tool} page is {said}")
            page = await session.list_tools()
            while page.next_cursor:
                page = await session.list_tools(params=PaginatedRequestParams(cursor=page.next_cursor))


asyncio.run(main())
PY

{
  for module in sdk client; do
    version=$(node -p "JSON.parse(fs.readFileSync('$work/node_modules/@modelcontextprotocol/$module/package.json')).version")
    node "$work/ask.mjs" "$module $version" $module "$work/server.py"
  done
  "$work/venv/bin/python" "$work/ask.py" "$work/server.py" 2>/dev/null
} | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
sdk 1.32.2, all pages read: output of the first page is passed on
sdk 1.32.2, all pages read: output of the second page is refused
client 2.4.0, all pages read: output of the first page is refused
client 2.4.0, all pages read: output of the second page is refused
mcp 2.3.0, no page read: output of the first page is refused
mcp 2.3.0, no page read: output of the second page is passed on
mcp 2.3.0, all pages read: output of the first page is refused
mcp 2.3.0, all pages read: output of the second page is refused
SEEN
