#!/usr/bin/env bash
# An agent asks over ACP for permission and shows what the call does in a list of contents; a newer agent may show some of it
# in a form that the client's SDK does not know. The guess was that the SDKs then refuse the question, as they refuse a
# message of an unknown kind, so that the agent learns that nobody has read it. Python's and TypeScript's leave the entry out
# of the list instead and hand the rest on: of two changes the person sees one, a client cannot tell that there was more, and
# the agent takes the answer for an answer about both. A location or a kind of tool that they cannot read goes the same way;
# yet an *option* of an unknown kind, which a client could leave out, has the whole question refused.
# quorum reads such questions itself, and asks about a call in every mode if something of it is shown in an unknown form.
# This has clients of both asked by a small agent, and fails once one of them behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install agent-client-protocol==0.12.1 2>/dev/null
npm install --silent --no-audit --no-fund --prefix "$work" @agentclientprotocol/sdk@2.4.0 >/dev/null 2>&1

cat > "$work/agent.py" <<'PY'
"""Asks four questions in one prompt, and writes to its error output how each was answered."""
import json, sys

CHANGE = {"type": "diff", "path": "/a", "oldText": "old", "newText": "new"}
OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}, {"optionId": "no", "name": "No", "kind": "reject_once"}]
FOR_THE_SESSION = {"optionId": "all", "name": "For this session", "kind": "allow_session"}
QUESTIONS = {
    "two changes": ({"content": [CHANGE, {**CHANGE, "path": "/b"}]}, OPTIONS),
    "a change and a patch": ({"content": [CHANGE, {"type": "patch", "path": "/b", "patch": "@@"}]}, OPTIONS),
    "places by path and address": ({"content": [CHANGE], "locations": [{"path": "/a"}, {"uri": "file:///b"}]}, OPTIONS),
    "an option more": ({"content": [CHANGE]}, [*OPTIONS, FOR_THE_SESSION]),
}
RESULTS = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {}},
    "session/new": {"sessionId": "s"},
    "session/prompt": {"stopReason": "end_turn"},
}


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(what, call, options):
    call = {"toolCallId": "c", "title": "Edit", "kind": "edit", **call}
    send({"id": what, "method": "session/request_permission", "params": {"sessionId": "s", "toolCall": call, "options": options}})
    answer = next(told for told in map(json.loads, sys.stdin) if told.get("id") == what)
    said = answer["error"]["message"] if "error" in answer else answer["result"]["outcome"]["optionId"]
    print(f"  to the agent, {what}: {said}", file=sys.stderr, flush=True)


for line in sys.stdin:
    asked = json.loads(line)
    for what, question in QUESTIONS.items() if asked["method"] == "session/prompt" else ():
        ask(what, *question)
    send({"id": asked["id"], "result": RESULTS[asked["method"]]})
PY

cat > "$work/client.py" <<'PY'
import asyncio, logging, sys
from importlib.metadata import version

import acp
from acp import stdio

logging.disable()


class Client:
    async def request_permission(self, options, session_id, tool_call, **_):
        places = [place.path for place in tool_call.locations or ()]
        print("  sees changes of", [each.path for each in tool_call.content], "and the places", places, flush=True)
        return acp.RequestPermissionResponse(outcome={"outcome": "selected", "optionId": options[0].option_id})

    def on_connect(self, _):
        pass


async def run():
    print("agent-client-protocol", version("agent-client-protocol"), "for Python", flush=True)
    process = await asyncio.create_subprocess_exec(sys.executable, sys.argv[1], stdin=-1, stdout=-1)
    agent = acp.connect_to_agent(Client(), process.stdin, process.stdout)
    await agent.initialize(protocol_version=1)
    session = await agent.new_session(cwd="/", mcp_servers=[])
    await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("go")])
    process.stdin.close()
    await process.wait()


asyncio.run(asyncio.wait_for(run(), 120))
PY

cat > "$work/client.mjs" <<'JS'
import * as acp from '@agentclientprotocol/sdk'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'

const { version } = JSON.parse(readFileSync(new URL('node_modules/@agentclientprotocol/sdk/package.json', import.meta.url)))
console.log('@agentclientprotocol/sdk', version, 'for TypeScript')
const list = paths => '[' + paths.map(each => `'${each.path}'`).join(', ') + ']'
const program = spawn('python3', [process.argv[2]], { stdio: ['pipe', 'pipe', 'inherit'] })
const app = acp.client({ name: 'finding' }).onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
  const { content, locations } = params.toolCall
  console.log('  sees changes of', list(content), 'and the places', list(locations ?? []))
  return { outcome: { outcome: 'selected', optionId: params.options[0].optionId } }
})
const stream = acp.ndJsonStream(Writable.toWeb(program.stdin), Readable.toWeb(program.stdout))
await app.connectWith(stream, async agent => {
  await agent.request(acp.methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} })
  const { sessionId } = await agent.request(acp.methods.agent.session.new, { cwd: '/', mcpServers: [] })
  await agent.request(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: 'go' }] })
})
program.stdin.end()
JS

{
  timeout 150 "$work/venv/bin/python" "$work/client.py" "$work/agent.py"
  timeout 150 node "$work/client.mjs" "$work/agent.py"
} 2>&1 | grep -v "^Error handling request" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
agent-client-protocol 0.12.1 for Python
  sees changes of ['/a', '/b'] and the places []
  to the agent, two changes: yes
  sees changes of ['/a'] and the places []
  to the agent, a change and a patch: yes
  sees changes of ['/a'] and the places ['/a']
  to the agent, places by path and address: yes
  to the agent, an option more: Invalid params
@agentclientprotocol/sdk 2.4.0 for TypeScript
  sees changes of ['/a', '/b'] and the places []
  to the agent, two changes: yes
  sees changes of ['/a'] and the places []
  to the agent, a change and a patch: yes
  sees changes of ['/a'] and the places ['/a']
  to the agent, places by path and address: yes
  to the agent, an option more: Invalid params
SEEN
