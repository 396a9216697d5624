"""Plays sequences of messages through the real QuotaProtocol, one JSON object per line.

A question has limits and access lists by message, and steps {at, sender, message}; the answer has
what each step gets (null when it is handled) and what the storage holds in the end.
"""

import asyncio
import json
import sys
import time

from uagents import Model
from uagents.protocol.quota import AccessControlList, QuotaProtocol, RateLimit


class First(Model):
    text: str


class Second(Model):
    text: str


class Storage(dict):
    def set(self, key, value):
        self[key] = json.loads(json.dumps(value))  # as a file would keep it


class Context:
    def __init__(self):
        self.said = None

    async def send(self, _sender, message):
        self.said = message.error


def play(question):
    storage = Storage()
    protocol = QuotaProtocol(storage, name="quota", version="0.1.0")
    handlers = {}
    for model in (First, Second):
        rule = question["rules"][model.__name__]

        async def handle(_ctx, _sender, _msg):
            return None

        handle.__name__ = model.__name__
        limit = RateLimit(**rule["limit"]) if rule["limit"] else None
        access = AccessControlList(**rule["access"]) if rule["access"] else None
        handlers[model.__name__] = (model, protocol.wrap(handle, limit, access))
    said = []
    for step in question["steps"]:
        time.time = lambda at=step["at"]: at
        model, handler = handlers[step["message"]]
        context = Context()
        asyncio.run(handler(context, step["sender"], model(text="")))
        said.append(context.said)
    return {"said": said, "storage": storage}


for line in sys.stdin:
    print(json.dumps(play(json.loads(line))), flush=True)
