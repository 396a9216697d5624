"""An agent that asks another as the library does, one question per line of its answers.

Settings as for the programs of peers/, and PEER_ADDRESS. For each question it prints an event
`answer` with its name, the model that came back and its body, and the text of the status.
"""

import peerlog

import os

from uagents import Agent, Context, Model
from uagents_core.models import ErrorMessage

PEER = os.environ["PEER_ADDRESS"]
PORT = peerlog.port(8005)


class Ping(Model):
    text: str


class Pong(Model):
    text: str


class Note(Model):
    text: str


agent = Agent(name="asker", seed="asker", port=PORT, endpoint=peerlog.endpoint(PORT), agentverse=peerlog.AGENTVERSE)


@agent.on_event("startup")
async def on_start(ctx: Context):
    peerlog.started(agent, PORT)


async def ask(ctx: Context, name: str, message: Model, sync: bool):
    answer, status = await ctx.send_and_receive(PEER, message, response_type={Pong, ErrorMessage}, sync=sync)
    body = peerlog.body(answer) if answer else None
    peerlog.emit("answer", name=name, model=type(answer).__name__, body=body, text=status.detail, status=status.status.value)


# An interval is a context of its own each time, and so is its session.
@agent.on_interval(period=0.2)
async def questions(ctx: Context):
    step = ctx.storage.get("step") or 0
    ctx.storage.set("step", step + 1)
    if step == 0:
        await ask(ctx, "async", Ping(text="a"), sync=False)
    elif step == 1:
        await ask(ctx, "sync", Ping(text="s"), sync=True)
    elif step == 2:
        await ask(ctx, "async refused", Note(text="a"), sync=False)
    elif step == 3:
        await ask(ctx, "sync refused", Note(text="s"), sync=True)


if __name__ == "__main__":
    peerlog.run(agent)
