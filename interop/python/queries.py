"""Asks an agent many times at once from one identity, as send_sync_message does.

usage: queries.py AGENT_ADDRESS SUBMIT_URL COUNT SIGNED
Prints one JSON object: how many got their own answer, and the first that did not.
"""

import asyncio
import json
import sys

from uagents import Model
from uagents.communication import send_sync_message
from uagents.resolver import RulesBasedResolver
from uagents_core.identity import Identity, generate_user_address

address, url, count, signed = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "signed"


class Ping(Model):
    text: str


class Pong(Model):
    text: str


async def main():
    sender = Identity.generate() if signed else generate_user_address()
    resolver = RulesBasedResolver({address: url})
    gate = asyncio.Semaphore(100)

    async def query(i):
        async with gate:
            answer = await send_sync_message(address, Ping(text=str(i)), response_type=Pong, sender=sender, resolver=resolver, timeout=60)
            if not signed and hasattr(answer, "decode_payload"):  # users get the envelope
                answer = Pong.parse_raw(answer.decode_payload())
            return answer if not isinstance(answer, Pong) or answer.text != f"pong:{i}" else None

    wrong = [w for w in await asyncio.gather(*(query(i) for i in range(count))) if w is not None]
    print(json.dumps({"right": count - len(wrong), "wrong": str(wrong[:1])}), flush=True)


asyncio.run(main())
