"""An agent that chats in one of the three models, and streams in it.

Settings as for the programs of peers/, and PEER_ADDRESS and CHAT: printed (0.2.1 as the example
prints it), mended (the same with the literal of EndStreamContent corrected) or core (the library's
own 0.3.0). In one session it says something at once, then the same as a stream, each when the
answer to what it said before is whole. Events are those of peers/, and `done` at the end.
"""

import peerlog

import asyncio
import os
from datetime import datetime
from typing import Literal
from uuid import uuid4

from pydantic.v1 import UUID4
from uagents import Agent, Context, Model, Protocol

CHAT = os.getenv("CHAT", "core")
PEER = os.environ["PEER_ADDRESS"]
PORT = peerlog.port(8006)

if CHAT == "core":
    from uagents_core.contrib.protocols.chat import (
        ChatAcknowledgement,
        ChatMessage,
        EndStreamContent,
        StartStreamContent,
        TextContent,
        chat_protocol_spec,
    )

    protocol = Protocol(spec=chat_protocol_spec)
else:
    import chat_proto as printed
    from chat_proto import ChatAcknowledgement, StartStreamContent, TextContent

    if CHAT == "printed":
        from chat_proto import ChatMessage, EndStreamContent
    else:

        class EndStreamContent(Model):
            type: Literal["end-stream"]
            stream_id: UUID4

        class ChatMessage(Model):
            timestamp: datetime
            msg_id: UUID4
            content: list[
                printed.TextContent
                | printed.ResourceContent
                | printed.MetadataContent
                | printed.StartSessionContent
                | printed.EndSessionContent
                | printed.StartStreamContent
                | EndStreamContent
            ]

    protocol = Protocol(name="AgentChatProtcol" if CHAT == "printed" else "AgentChatProtocol", version="0.2.1")

END = "start-stream" if CHAT == "printed" else "end-stream"
agent = Agent(name="streamer", seed=f"streamer {CHAT}", port=PORT, endpoint=peerlog.endpoint(PORT), agentverse=peerlog.AGENTVERSE)
whole = asyncio.Event()
hearing = None


@agent.on_event("startup")
async def on_start(ctx: Context):
    peerlog.started(agent, PORT)


async def say(ctx: Context, *content):
    await peerlog.send(ctx, PEER, ChatMessage(timestamp=datetime.now(), msg_id=uuid4(), content=list(content)))


def text(words):
    return TextContent(type="text", text=words)


@agent.on_interval(period=3600.0)
async def talk(ctx: Context):
    await say(ctx, text("one two three four"))
    await asyncio.wait_for(whole.wait(), 40)
    whole.clear()
    stream = uuid4()
    await say(ctx, StartStreamContent(type="start-stream", stream_id=stream))
    for word in ("one ", "two ", "three ", "four"):
        await say(ctx, text(word))
    await say(ctx, EndStreamContent(type=END, stream_id=stream))
    await asyncio.wait_for(whole.wait(), 40)
    peerlog.emit("done")


@protocol.on_message(ChatMessage)
async def on_chat(ctx: Context, sender: str, msg: ChatMessage):
    global hearing
    peerlog.received(ctx, sender, msg)
    await peerlog.send(ctx, sender, ChatAcknowledgement(timestamp=datetime.now(), acknowledged_msg_id=msg.msg_id))
    for item in msg.content:
        stream = getattr(item, "stream_id", None)
        if stream and hearing is None:
            hearing = stream
        elif stream == hearing and stream:
            hearing = None
    if hearing is None:
        whole.set()


@protocol.on_message(ChatAcknowledgement)
async def on_ack(ctx: Context, sender: str, msg: ChatAcknowledgement):
    peerlog.acked(ctx, sender, msg)


agent.include(protocol, publish_manifest=True)

if __name__ == "__main__":
    peerlog.run(agent, "done")
