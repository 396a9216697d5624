"""A Python agent that asks the Go agent beside it, three times, and ends.

usage: partner.py AGENT_ADDRESS NODE_URL
"""

import os
import sys

from uagents import Agent, Context, Model

address, url = sys.argv[1], sys.argv[2]


class Shout(Model):
    text: str


class Echo(Model):
    text: str


agent = Agent(name="partner", seed="python partner", port=int(os.getenv("PORT", "8011")), agentverse=url,
              endpoint=f"http://127.0.0.1:{os.getenv('PORT', '8011')}/submit", enable_agent_inspector=False)
heard = 0


@agent.on_event("startup")
async def start(ctx: Context):
    for text in ("hello", "grüße", "bye"):
        await ctx.send(address, Shout(text=text))


@agent.on_message(Echo)
async def echo(ctx: Context, sender: str, msg: Echo):
    global heard
    print("heard", msg.text, flush=True)
    heard += 1
    if heard == 3:
        os.kill(os.getpid(), 2)


agent.run()
