"""Asks from outside of any agent, as programs with the library do.

usage: client.py query AGENT_ADDRESS SUBMIT_URL   signed and unsigned questions on a connection
       client.py rest URL                         typed HTTP routes
Prints one JSON object: what came back, by the name of the question.
"""

import asyncio
import json
import logging
import sys
from datetime import datetime
from uuid import UUID

logging.disable(logging.CRITICAL)

import aiohttp
from uagents import Model
from uagents.communication import send_sync_message
from uagents.resolver import RulesBasedResolver
from uagents_core.envelope import Envelope
from uagents_core.identity import Identity, generate_user_address


class Ping(Model):
    text: str


class Pong(Model):
    text: str


class Note(Model):
    text: str


class Order(Model):
    item: str
    count: int = 1


class Receipt(Model):
    id: UUID
    at: datetime
    lines: list[str]


def said(answer):
    if isinstance(answer, Envelope):
        return {"kind": "envelope", "body": json.loads(answer.decode_payload()), "verified": answer.verify()}
    if isinstance(answer, Model):
        return {"kind": type(answer).__name__, "body": json.loads(answer.json())}
    if isinstance(answer, str):
        return {"kind": "text", "body": json.loads(answer)}
    return {"kind": "status", "body": {"detail": answer.detail}}


async def query(address, url):
    resolver = RulesBasedResolver({address: url})
    me, user = Identity.from_seed("client", 0), generate_user_address()

    async def ask(message, sender, response=None):
        return said(await send_sync_message(address, message, response_type=response, sender=sender, resolver=resolver))

    return {
        "signed": await ask(Ping(text="x"), me, Pong),
        "signed, to a handler for signed ones": await ask(Note(text="x"), me),
        "user": await ask(Ping(text="x"), user),
        "user, to a handler for signed ones": await ask(Note(text="x"), user),
    }


async def rest(url):
    async with aiohttp.ClientSession() as http:

        async def call(method, path, model=None, body=None):
            async with http.request(method, url + path, data=body) as response:
                text = await response.text()
                if model is None or response.status != 200:
                    return {"status": response.status, "body": json.loads(text)}
                # parsed by the library's own model: all types must fit
                return {"status": 200, "body": json.loads(model.parse_raw(text).json())}

        return {
            "get": await call("GET", "/latest", Receipt),
            "post": await call("POST", "/order", Receipt, Order(item="pear", count=3).json()),
            "default": await call("POST", "/order", Receipt, '{"item": "pear"}'),
            "missing": await call("POST", "/order", body="{}"),
            "no body": await call("POST", "/order"),
            "elsewhere": await call("GET", "/nothing"),
        }


print(json.dumps(asyncio.run({"query": query, "rest": rest}[sys.argv[1]](*sys.argv[2:]))), flush=True)
