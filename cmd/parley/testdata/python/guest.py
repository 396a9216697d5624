"""An agent that lets users chat, who do not sign.

Settings as for the programs of interop/peers. What it answers goes back on the connection: to "only
acknowledge" the acknowledgement, to everything else an answer.
"""

import peerlog

import os
from datetime import datetime
from uuid import uuid4

from uagents import Agent, Context, Protocol
from uagents_core.contrib.protocols.chat import (
    ChatAcknowledgement,
    ChatMessage,
    MetadataContent,
    TextContent,
    chat_protocol_spec,
)

PORT = peerlog.port(8007)
agent = Agent(
    name="host",
    port=PORT,
    seed=os.getenv("AGENT_SEED") or None,
    endpoint=[peerlog.endpoint(PORT)],
    agentverse=peerlog.AGENTVERSE,
)
chat = Protocol(spec=chat_protocol_spec)


@agent.on_event("startup")
async def on_start(ctx: Context):
    peerlog.started(agent, PORT)


@chat.on_message(ChatMessage, allow_unverified=True)
async def on_chat(ctx: Context, sender: str, msg: ChatMessage):
    text = "".join(c.text for c in msg.content if isinstance(c, TextContent))
    if not text:
        return
    if text != "only acknowledge":
        answer = ChatMessage(
            timestamp=datetime.utcnow(),
            msg_id=uuid4(),
            content=[
                TextContent(type="text", text=f"Hello {sender[:4]}, you said: {text}"),
                MetadataContent(type="metadata", metadata={"mood": "good", "colour": "green"}),
            ],
        )
        await peerlog.send(ctx, sender, answer)
        return
    ack = ChatAcknowledgement(timestamp=datetime.utcnow(), acknowledged_msg_id=msg.msg_id)
    await peerlog.send(ctx, sender, ack)


@chat.on_message(ChatAcknowledgement, allow_unverified=True)
async def on_ack(ctx: Context, sender: str, msg: ChatAcknowledgement):
    peerlog.acked(ctx, sender, msg)


agent.include(chat, publish_manifest=True)

if __name__ == "__main__":
    peerlog.run(agent)
