#!/usr/bin/env bash
# A person allows a command over ACP and cancels the turn while it runs. The guess was that each agent then tells the call as
# `failed`, and tells the model with the next prompt that it was cancelled. All end the command and answer `cancelled`, but
# the call is `failed` for one of four (Claude Code), `completed` for two (OpenCode, Gemini CLI), and `pending` for ever for
# one (Copilot CLI). Gemini CLI leaves no word of it to the model: the next request holds the call without any result, as if
# the model itself had gone on. A client that takes `completed` for done shows and records a command as done that was cut
# off. quorum ends the call by itself when the person interrupts, and counts nothing that is told of it later.
# This runs the agents alone, with a model on loopback, and fails once one of them behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work" || true' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @google/gemini-cli@0.61.0 opencode-ai@1.18.33 @github/copilot@1.0.102 \
  @agentclientprotocol/claude-agent-acp@0.101.0 >/dev/null 2>&1

cat > "$work/ask.py" <<'PY'
import json, os, signal, subprocess, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

work = sys.argv[1]
COMMAND = {"command": "touch begun && timeout 60 tail -f /dev/null", "description": "wait"}
TOOLS = ("run_shell_command", "bash", "Bash")
RESULTS = ("functionResponse", '"role": "tool"', "tool_result")
asked = []


class Model(BaseHTTPRequestHandler):
    """Answers the first prompt with a call, in the form of the request, and the second with words."""

    def do_HEAD(self):
        self.answer("")

    def do_GET(self):
        self.answer(json.dumps({"data": [], "models": []}))

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        told = json.dumps(request.get("messages") or request.get("contents"))
        offered = json.dumps(request.get("tools") or [])
        tool = next((name for name in TOOLS if f'"name": "{name}"' in offered), None)
        if tool and "second prompt" in told:
            asked.append(told)
        calls = tool and "first prompt" in told and "second prompt" not in told
        if "enerateContent" in self.path:
            part = {"functionCall": {"name": tool, "args": COMMAND}} if calls else {"text": "done"}
            candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
            events = [{"candidates": [candidate], "usageMetadata": {"totalTokenCount": 1}}]
        elif self.path.split("?")[0].endswith("/messages"):
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
            if calls:
                block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(COMMAND)}
            usage = {"input_tokens": 1, "output_tokens": 1}
            message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
            ended = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
            events = [
                {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta}, {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": ended, "usage": usage}, {"type": "message_stop"},
            ]
        else:
            function = {"name": tool, "arguments": json.dumps(COMMAND)}
            call = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            choices = ((call if calls else {"content": "done"}, None), ({}, "tool_calls" if calls else "stop"))
            events = [{**chunk, "choices": [{"index": 0, "delta": d, "finish_reason": r}]} for d, r in choices]
        named = (f"event: {each['type']}\n" if "type" in each else "" for each in events)
        self.answer("".join(f"{name}data: {json.dumps(each)}\n\n" for name, each in zip(named, events)))

    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if "data: " in text else "application/json")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


class Agent:
    def __init__(self, words, settings, folder):
        self.process = subprocess.Popen(
            [f"{work}/node_modules/.bin/{words[0]}", *words[1:]], cwd=folder, text=True, stdin=subprocess.PIPE, env=settings,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        self.count, self.statuses = 0, ["none"]

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params, then=lambda: None):
        """Send it, do `then`, allow what is asked, and wait for the answer."""
        self.count += 1
        self.send({"id": self.count, "method": method, "params": params})
        threading.Thread(target=then, daemon=True).start()
        for line in self.process.stdout:
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("id") == self.count and "method" not in told:
                return told["result"]
            if told.get("method") == "session/request_permission":
                self.statuses.append(told["params"]["toolCall"].get("status") or self.statuses[-1])
                once = next(each["optionId"] for each in told["params"]["options"] if each["kind"] == "allow_once")
                self.send({"id": told["id"], "result": {"outcome": {"outcome": "selected", "optionId": once}}})
            elif told.get("method") == "session/update":
                self.statuses.append(told["params"]["update"].get("status") or self.statuses[-1])
        raise SystemExit("the agent has ended")


def try_one(name, words, mode=None, **settings):
    asked.clear()
    folder, home = f"{work}/{name}/project", f"{work}/{name}/home"
    os.makedirs(folder)
    os.makedirs(f"{home}/.config/opencode")
    with open(f"{home}/.config/opencode/opencode.json", "w") as file:
        made = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url, "apiKey": "none"}, "models": {"m": {}}}
        json.dump({"model": "own/m", "provider": {"own": made}, "permission": {"bash": "ask"}}, file)
    agent = Agent(words, {"PATH": os.environ["PATH"], "HOME": home, "TERM": "dumb", **settings}, folder)
    agent.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    session = {"sessionId": agent.request("session/new", {"cwd": folder, "mcpServers": []})["sessionId"]}
    if mode:
        agent.request("session/set_mode", {**session, "modeId": mode})

    def cancel():
        while not os.path.exists(f"{folder}/begun"):
            time.sleep(0.05)
        agent.send({"method": "session/cancel", "params": session})

    def prompt(words, then=lambda: None):
        return agent.request("session/prompt", {**session, "prompt": [{"type": "text", "text": words}]}, then)

    stop = prompt("first prompt", cancel)["stopReason"]
    prompt("second prompt")  # by then all has been told
    result = any(mark in asked[0] for mark in RESULTS)
    print(f"{name}: the turn is {stop}, the call {agent.statuses[-1]}, the model is told {'a' if result else 'no'} result")
    os.killpg(agent.process.pid, signal.SIGKILL)


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_address[1]}"
try_one("gemini-cli 0.61.0", ["gemini", "--acp", "--model", "gemini-2.5-flash"], GEMINI_API_KEY="none",
        GOOGLE_GEMINI_BASE_URL=url, GEMINI_CLI_TRUST_WORKSPACE="true")
try_one("opencode-ai 1.18.33", ["opencode", "acp"], OPENCODE_DISABLE_AUTOUPDATE="1", OPENCODE_DISABLE_MODELS_FETCH="1")
try_one("copilot 1.0.102", ["copilot", "--acp", "--disable-builtin-mcps"], COPILOT_OFFLINE="true", COPILOT_AUTO_UPDATE="false",
        COPILOT_MODEL="m", COPILOT_PROVIDER_TYPE="anthropic", COPILOT_PROVIDER_BASE_URL=url, COPILOT_PROVIDER_API_KEY="none")
try_one("claude-agent-acp 0.101.0", ["claude-agent-acp"], "default", ANTHROPIC_API_KEY="none", ANTHROPIC_BASE_URL=url,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")
PY

timeout 280 python3 "$work/ask.py" "$work" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
gemini-cli 0.61.0: the turn is cancelled, the call completed, the model is told no result
opencode-ai 1.18.33: the turn is cancelled, the call completed, the model is told a result
copilot 1.0.102: the turn is cancelled, the call pending, the model is told a result
claude-agent-acp 0.101.0: the turn is cancelled, the call failed, the model is told a result
SEEN
