#!/usr/bin/env bash
# An agent sends the pieces of its message in order and answers the prompt behind them. The guess was that a client made
# with an SDK of ACP handles them in that order, and all before its prompt returns. Both SDKs begin with each piece as it
# comes: where handling one waits for something, a file or a terminal, those behind it overtake it. Python's prompt at least
# returns when all are handled; TypeScript's returns while a piece still waits, so that the answer of the turn lacks it. A
# client that joins pieces as it gets to them has another text than the agent wrote; where nothing waits, all is as guessed,
# so tests rarely show it. A client has to queue what comes before it waits for anything. quorum, as a client of other
# agents, reads one message after the other, and is done with each before the next.
# This runs clients of both and a small agent, and fails once one of them behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install agent-client-protocol==0.12.1 2>/dev/null
npm install --silent --no-audit --no-fund --prefix "$work" @agentclientprotocol/sdk@2.4.0 >/dev/null 2>&1

cat > "$work/agent.py" <<'PY'
import json, sys


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "session/prompt":
        for word in ("one", "two", "three"):
            update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": word}}
            send({"method": "session/update", "params": {"sessionId": "s", "update": update}})
    results = {
        "initialize": {"protocolVersion": 1, "agentCapabilities": {}},
        "session/new": {"sessionId": "s"},
        "session/prompt": {"stopReason": "end_turn"},
    }
    send({"id": asked["id"], "result": results[asked["method"]]})
PY

cat > "$work/client.py" <<'PY'
import asyncio, sys
from importlib.metadata import version

import acp


class Client:
    def __init__(self, has_to_wait):
        self.handled, self.has_to_wait, self.is_last_there = [], has_to_wait, asyncio.Event()

    async def session_update(self, session_id, update, **_):
        if self.has_to_wait and update.content.text == "one":
            await self.is_last_there.wait()
        self.handled.append(update.content.text)
        if update.content.text == "three":
            self.is_last_there.set()

    def on_connect(self, _):
        pass


async def run(has_to_wait, what):
    client = Client(has_to_wait)
    async with acp.spawn_agent_process(client, sys.executable, sys.argv[1]) as (agent, _):
        await agent.initialize(protocol_version=1)
        session = await agent.new_session(cwd="/", mcp_servers=[])
        await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("count")])
        print(f"{what}: handled as prompt returns {client.handled}")


print("agent-client-protocol", version("agent-client-protocol"))
asyncio.run(asyncio.wait_for(run(False, "nothing waits"), 60))
asyncio.run(asyncio.wait_for(run(True, "the first one waits"), 60))
PY

cat > "$work/client.mjs" <<'JS'
import * as acp from '@agentclientprotocol/sdk'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'

const { agent, client: side } = acp.methods
const { version } = JSON.parse(readFileSync(new URL('node_modules/@agentclientprotocol/sdk/package.json', import.meta.url)))

async function run(hasToWait, what) {
  const handled = []
  let goOn
  const mayGoOn = new Promise(resolve => (goOn = resolve))
  const program = spawn('python3', [process.argv[2]], { stdio: ['pipe', 'pipe', 'inherit'] })
  const app = acp.client({ name: 'finding' }).onNotification(side.session.update, async ({ params }) => {
    const { text } = params.update.content
    if (hasToWait && text === 'one') await mayGoOn
    handled.push(text)
  })
  await app.connectWith(acp.ndJsonStream(Writable.toWeb(program.stdin), Readable.toWeb(program.stdout)), async there => {
    await there.request(agent.initialize, { protocolVersion: 1, clientCapabilities: {} })
    const { sessionId } = await there.request(agent.session.new, { cwd: '/', mcpServers: [] })
    await there.request(agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: 'count' }] })
    console.log(`${what}: handled as prompt returns [${handled.map(each => `'${each}'`).join(', ')}]`)
    goOn()
  })
  program.stdin.end()
}

console.log('@agentclientprotocol/sdk', version)
await run(false, 'nothing waits')
await run(true, 'the first one waits')
JS

{ "$work/venv/bin/python" "$work/client.py" "$work/agent.py"; timeout 60 node "$work/client.mjs" "$work/agent.py"; } | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
agent-client-protocol 0.12.1
nothing waits: handled as prompt returns ['one', 'two', 'three']
the first one waits: handled as prompt returns ['two', 'three', 'one']
@agentclientprotocol/sdk 2.4.0
nothing waits: handled as prompt returns ['one', 'two', 'three']
the first one waits: handled as prompt returns ['two', 'three']
SEEN
