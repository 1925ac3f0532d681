"""What the provider adapters cost: `.venv/bin/python benchmarks/adapters.py [RUNS]`.

The same stream from the same loopback server, read by our adapter and by the bare SDK that it is built on: as
raw events, and with the SDK's own helper where it has one. Each reading happens in a process of its own, after
a short stream that warms it up; the processes alternate. Prints CPU milliseconds per 1,000 deltas, medians of
RUNS, and the ratio to the raw events of the same run: for deltas as fast as they go, and for 500 a second,
where most of the cost is that of waking up. `--one CASE PORT DELTAS PER_SECOND` runs one reading.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import Delta, StreamEvent
from quorum.infrastructure.models.anthropic.client import AnthropicMessages
from quorum.infrastructure.models.clouds.endpoint import Endpoint
from quorum.infrastructure.models.openai_chat.client import OpenAiChat
from quorum.infrastructure.models.openai_responses.client import OpenAiResponses
from quorum.infrastructure.models.shared.api_client import ApiClient, ApiRequest, ProviderSettings
from quorum.infrastructure.provider_types import find_public_service

PACES = ((10_000, 0), (1_000, 500))
WARM_UP = 300
WORDS = ("so ", "the ", "file ", "reads ", "naïvely, ", "and ", "returns\n")


def messages_events(deltas: int) -> Iterator[dict[str, Any]]:
    """An answer of Anthropic Messages."""
    usage = {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 0}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    yield {"type": "message_start", "message": {**start, "stop_reason": None, "usage": usage}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for number in range(deltas):
        delta = {"type": "text_delta", "text": WORDS[number % len(WORDS)]}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": deltas}}
    yield {"type": "message_stop"}


def chat_events(deltas: int) -> Iterator[dict[str, Any]]:
    """An answer of Chat Completions."""
    common = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "m",
        "service_tier": "default",
        "system_fingerprint": "fp_1",
    }
    for number in range(deltas):
        delta = {"content": WORDS[number % len(WORDS)]}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        yield {**common, "choices": [choice], "usage": None}
    yield {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": None}
    usage = {"prompt_tokens": 9, "completion_tokens": deltas, "total_tokens": deltas + 9}
    yield {**common, "choices": [], "usage": usage}


def responses_events(deltas: int) -> Iterator[dict[str, Any]]:
    """An answer of Responses."""
    place = {"item_id": "msg_1", "output_index": 0}
    response = {"id": "resp_1", "object": "response", "created_at": 1700000000, "model": "m", "tools": []}
    response |= {"parallel_tool_calls": True, "tool_choice": "auto", "output": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant"}
    text = "".join(WORDS[number % len(WORDS)] for number in range(deltas))
    content = [{"type": "output_text", "text": text, "annotations": []}]
    whole = {**item, "status": "completed", "content": content}
    yield {"type": "response.created", "response": {**response, "status": "in_progress"}}
    yield {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {**item, "status": "in_progress", "content": []},
    }
    for number in range(deltas):
        delta = {"delta": WORDS[number % len(WORDS)], "logprobs": [], "obfuscation": "Qk3hT0aB"}
        yield {"type": "response.output_text.delta", **place, "content_index": 0, **delta}
    yield {"type": "response.output_item.done", "output_index": 0, "item": whole}
    yield {"type": "response.completed", "response": {**response, "status": "completed", "output": [whole]}}


def framed(path: str, deltas: int) -> Iterator[bytes]:
    """The events of the API at that path as they travel, each in a chunk of its own."""
    if path.endswith("/chat/completions"):
        lines = [f"data: {json.dumps(event)}\n\n" for event in chat_events(deltas)] + ["data: [DONE]\n\n"]
    else:
        events = messages_events(deltas) if path.endswith("/messages") else responses_events(deltas)
        lines = [
            f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
            for number, event in enumerate(events)
        ]
    for line in lines:
        data = line.encode()
        yield b"%x\r\n%s\r\n" % (len(data), data)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection; the name of the model tells how many deltas are wanted."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(head.partition("content-length:")[2].partition("\r\n")[0])
            deltas, pace = map(int, json.loads(await reader.readexactly(length))["model"].split("-"))
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            started = time.perf_counter()
            for number, chunk in enumerate(framed(head.split()[1], deltas)):
                writer.write(chunk)
                if pace:
                    await asyncio.sleep(max(0.0, started + number / pace - time.perf_counter()))
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def ours(client: Callable[[int], ApiClient]) -> Callable[[int], Callable[[str], Awaitable[int]]]:
    """Reads through our adapter."""

    def prepared(port: int) -> Callable[[str], Awaitable[int]]:
        adapter = client(port)

        async def read(model: str) -> int:
            texts: list[str] = []

            def handle(event: StreamEvent) -> None:
                if isinstance(event, Delta):
                    texts.append(event.text)

            messages = (UserMessage("go"),)
            request = ApiRequest(model=model, system="", messages=messages, tools=(), tool_choice="auto")
            response = await adapter.exchange(request, handle)
            assert response.text_content() == "".join(texts)
            return len(texts)

        return read

    return prepared


def settings(port: int, path: str = "") -> ProviderSettings:
    return ProviderSettings(type="anthropic", base_url=f"http://127.0.0.1:{port}{path}", api_key_env="KEY")


def open_anthropic_client(port: int) -> ApiClient:
    return AnthropicMessages(Endpoint.of("a", settings(port), {"KEY": "k"}, find_public_service("anthropic")))


def open_chat_client(port: int) -> ApiClient:
    return OpenAiChat(Endpoint.of("c", settings(port, "/v1"), {"KEY": "k"}, find_public_service("openai")))


def open_responses_client(port: int) -> ApiClient:
    return OpenAiResponses(Endpoint.of("r", settings(port, "/v1"), {"KEY": "k"}, find_public_service("openai")))


MESSAGES: list[Any] = [{"role": "user", "content": "go"}]


def anthropic_raw(port: int) -> Callable[[str], Awaitable[int]]:
    from anthropic import AsyncAnthropic

    client = AsyncAnthropic(api_key="k", base_url=f"http://127.0.0.1:{port}")

    async def read(model: str) -> int:
        texts = []
        stream = await client.messages.create(model=model, max_tokens=9, messages=MESSAGES, stream=True)
        async for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                texts.append(event.delta.text)
        return len(texts)

    return read


def anthropic_helper(port: int) -> Callable[[str], Awaitable[int]]:
    from anthropic import AsyncAnthropic

    client = AsyncAnthropic(api_key="k", base_url=f"http://127.0.0.1:{port}")

    async def read(model: str) -> int:
        async with client.messages.stream(model=model, max_tokens=9, messages=MESSAGES) as stream:
            texts = [text async for text in stream.text_stream]
            await stream.get_final_message()
        return len(texts)

    return read


def chat_raw(port: int) -> Callable[[str], Awaitable[int]]:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(api_key="k", base_url=f"http://127.0.0.1:{port}/v1")

    async def read(model: str) -> int:
        texts = []
        async for chunk in await client.chat.completions.create(model=model, messages=MESSAGES, stream=True):
            texts += [choice.delta.content for choice in chunk.choices if choice.delta.content]
        return len(texts)

    return read


def responses_raw(port: int) -> Callable[[str], Awaitable[int]]:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(api_key="k", base_url=f"http://127.0.0.1:{port}/v1")

    async def read(model: str) -> int:
        texts = []
        async for event in await client.responses.create(model=model, input="go", stream=True):
            if event.type == "response.output_text.delta":
                texts.append(event.delta)
        return len(texts)

    return read


CASES: dict[str, dict[str, Callable[[int], Callable[[str], Awaitable[int]]]]] = {
    "anthropic": {
        "SDK raw": anthropic_raw,
        "SDK helper": anthropic_helper,
        "ours": ours(open_anthropic_client),
    },
    "openai": {"SDK raw": responses_raw, "ours": ours(open_responses_client)},
    "openai-chat": {"SDK raw": chat_raw, "ours": ours(open_chat_client)},
}


async def one(case: str, port: int, deltas: int, pace: int) -> None:
    """Read one stream and print the CPU seconds it took."""
    api, reader = case.split("/")
    read = CASES[api][reader](port)
    await read(f"{WARM_UP}-0")
    began = time.process_time()
    count = await read(f"{deltas}-{pace}")
    spent = time.process_time() - began
    assert count == deltas, count
    print(spent)


async def cpu_secs(case: str, port: int, deltas: int, pace: int) -> float:
    """CPU seconds of one reading in a process of its own."""
    arguments = ("--one", case, str(port), str(deltas), str(pace))
    child = await asyncio.create_subprocess_exec(
        sys.executable, __file__, *arguments, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await child.communicate()
    if child.returncode:
        raise SystemExit(f"{case} failed")
    return float(output)


async def measure(runs: int) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for deltas, pace in PACES:
        figures: dict[str, list[float]] = {f"{api}/{name}": [] for api in CASES for name in CASES[api]}
        for _ in range(runs):
            for case, taken in figures.items():
                taken.append(await cpu_secs(case, port, deltas, pace))
        print(f"{deltas} deltas, {f'{pace} a second' if pace else 'as fast as they go'}")
        print(f"  {'':14}{'':12}{'CPU per 1,000':>15}{'ratio':>9}")
        for api in CASES:
            raw = statistics.median(figures[f"{api}/SDK raw"])
            for name in CASES[api]:
                spent = statistics.median(figures[f"{api}/{name}"])
                per_thousand = spent / deltas * 1e6
                print(f"  {api:14}{name:12}{per_thousand:>12.1f} ms{spent / raw:>9.2f}", flush=True)
    server.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        asyncio.run(one(sys.argv[2], *map(int, sys.argv[3:6])))
    else:
        asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
