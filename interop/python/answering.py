"""An agent of the real library with the handlers of requests_test.go.

    answering.py PORT ALMANAC
"""
import sys
from typing import Optional

from uagents import Agent, Context, Model

port, almanac = int(sys.argv[1]), sys.argv[2]


class Ping(Model):
    text: str


class Pong(Model):
    text: str


class Open(Model):
    n: int


class Silent(Model):
    a: Optional[str] = None


class RestIn(Model):
    name: str
    count: int = 1


class RestOut(Model):
    greeting: str
    total: int


agent = Agent(name="both", seed="requests to both", port=port, endpoint=[f"http://127.0.0.1:{port}/submit"], agentverse=almanac)


@agent.on_message(Ping, replies={Pong})
async def ping(ctx: Context, sender: str, msg: Ping):
    await ctx.send(sender, Pong(text="pong:" + msg.text))


@agent.on_message(Open, replies={Pong}, allow_unverified=True)
async def unsigned(ctx: Context, sender: str, msg: Open):
    await ctx.send(sender, Pong(text=f"open:{msg.n}"))


@agent.on_message(Silent)
async def silent(ctx: Context, sender: str, msg: Silent):
    pass


@agent.on_rest_get("/rest/get", RestOut)
async def get(ctx: Context):
    return {"greeting": "hi", "total": 3}


@agent.on_rest_post("/rest/post", RestIn, RestOut)
async def post(ctx: Context, request: RestIn):
    return RestOut(greeting="hello " + request.name, total=request.count)


agent.run()
