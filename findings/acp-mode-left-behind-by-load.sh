#!/usr/bin/env bash
# A person sets a session of an agent to the mode in which nothing is changed, and closes the editor. The next day it loads
# the session by `session/load`. The guess was that the mode is part of what is loaded. OpenCode, Copilot CLI and Claude's
# adapter are in it as before. With Codex's adapter and Qwen Code the conversation is back and the mode is not: they are in
# the one in which new sessions begin, and say so in the answer to the request alone. A client that shows the mode which it
# had set shows another than is in force, and the agent may change files again. quorum asks for the mode of a session each
# time it continues one, and says where an agent does not offer it any more.
# This sets a mode and loads the session in another process of each agent, with a model on loopback, and fails once one of
# them behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work" || true' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @agentclientprotocol/codex-acp@2.6.0 opencode-ai@1.18.33 \
  @agentclientprotocol/claude-agent-acp@0.101.0 @github/copilot@1.0.102 @qwen-code/qwen-code@0.15.10 >/dev/null 2>&1

cat > "$work/ask.py" <<'PY'
import json, os, signal, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

work = sys.argv[1]
USAGE = {"input_tokens": 1, "output_tokens": 1, "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def answer_messages():
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": USAGE}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "done"}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": USAGE}
    yield {"type": "message_stop"}


def answer_responses():
    said = [{"type": "output_text", "text": "done"}]
    item = {"type": "message", "role": "assistant", "id": "m", "content": said}
    yield {"type": "response.created", "response": {"id": "r"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {"id": "r", "usage": USAGE}}


def answer_chat():
    for delta, reason in (({"role": "assistant", "content": "done"}, None), ({}, "stop")):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}


ANSWERS = {"messages": answer_messages, "responses": answer_responses, "completions": answer_chat}


class Model(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.answer("application/json", "")

    def do_GET(self):
        self.answer("application/json", json.dumps({"data": [], "models": []}))

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        events = ANSWERS[self.path.split("?")[0].rsplit("/", 1)[-1]]()
        named = ((f"event: {each['type']}\n" if "type" in each else "", json.dumps(each)) for each in events)
        self.answer("text/event-stream", "".join(f"{name}data: {data}\n\n" for name, data in named))

    def answer(self, kind, text):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


class Agent:
    def __init__(self, words, settings, folder):
        self.process = subprocess.Popen(
            [f"{work}/node_modules/.bin/{words[0]}", *words[1:]], cwd=folder, text=True, env=settings,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        self.count = 0
        self.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})

    def request(self, method, params):
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("id") == self.count and "method" not in told:
                return told["result"]
        raise SystemExit("the agent has ended")

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)


def read_mode(told):
    options = {each["id"]: each["currentValue"] for each in told["configOptions"]}
    return options["mode"].rpartition("#")[2]  # Copilot CLI names modes by addresses


def try_one(name, words, mode="plan", **settings):
    folder, home = f"{work}/{name}/project", f"{work}/{name}/home"
    for each in (folder, f"{home}/.config/opencode", f"{home}/.codex"):
        os.makedirs(each)
    with open(f"{home}/.config/opencode/opencode.json", "w") as file:
        made = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url, "apiKey": "none"}, "models": {"m": {}}}
        json.dump({"model": "own/m", "provider": {"own": made}}, file)
    with open(f"{home}/.codex/config.toml", "w") as file:
        file.write('model = "gpt-5.5"\nmodel_provider = "own"\n[model_providers.own]\nname = "own"\n')
        file.write(f'wire_api = "responses"\nbase_url = "{url}"\n')
    settings |= {"PATH": os.environ["PATH"], "HOME": home, "TERM": "dumb"}
    place = {"cwd": folder, "mcpServers": []}
    agent = Agent(words, settings, folder)
    opened = agent.request("session/new", place)
    session, options = {"sessionId": opened["sessionId"]}, {each["id"]: each for each in opened["configOptions"]}
    value = next(each["value"] for each in options["mode"]["options"] if each["value"].rpartition("#")[2] == mode)
    chosen = read_mode(agent.request("session/set_config_option", {**session, "configId": "mode", "value": value}))
    agent.request("session/prompt", {**session, "prompt": [{"type": "text", "text": "Say done."}]})
    agent.end()
    again = Agent(words, settings, folder)
    loaded = again.request("session/load", {**session, **place})
    print(f"{name}: begins in {read_mode(opened)}, is set to {chosen}, is loaded in {read_mode(loaded)}")
    again.end()


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_address[1]}"
try_one("opencode-ai 1.18.33", ["opencode", "acp"], OPENCODE_DISABLE_AUTOUPDATE="1", OPENCODE_DISABLE_MODELS_FETCH="1")
try_one("copilot 1.0.102", ["copilot", "--acp", "--disable-builtin-mcps"], COPILOT_OFFLINE="true", COPILOT_AUTO_UPDATE="false",
        COPILOT_MODEL="m", COPILOT_PROVIDER_TYPE="anthropic", COPILOT_PROVIDER_BASE_URL=url, COPILOT_PROVIDER_API_KEY="none")
try_one("codex-acp 2.6.0", ["codex-acp"], "read-only")
try_one("claude-agent-acp 0.101.0", ["claude-agent-acp"], ANTHROPIC_API_KEY="none", ANTHROPIC_BASE_URL=url,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")
try_one("qwen-code 0.15.10", ["qwen", "--acp"], OPENAI_API_KEY="none", OPENAI_BASE_URL=url, OPENAI_MODEL="m")
PY

timeout 280 python3 "$work/ask.py" "$work" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
opencode-ai 1.18.33: begins in build, is set to plan, is loaded in plan
copilot 1.0.102: begins in agent, is set to plan, is loaded in plan
codex-acp 2.6.0: begins in agent, is set to read-only, is loaded in agent
claude-agent-acp 0.101.0: begins in auto, is set to plan, is loaded in plan
qwen-code 0.15.10: begins in default, is set to plan, is loaded in default
SEEN
