"""Looks at an AI agent from outside, with the library: is it well, and what does it speak?

usage: visit.py AGENT_ADDRESS NODE_URL
Prints one JSON object: its health, and its protocols by name with what the library makes of their
manifests, which are fetched by digest. Handlers outside of any protocol have one that is not published.
"""

import asyncio
import json
import logging
import sys
from enum import Enum

logging.disable(logging.CRITICAL)

import requests
from uagents import Model
from uagents.communication import send_sync_message
from uagents.resolver import RulesBasedResolver
from uagents_core.identity import Identity
from uagents_core.protocol import ProtocolSpecification


class HealthCheck(Model):
    pass


class HealthStatus(str, Enum):
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"


class AgentHealth(Model):
    agent_name: str
    status: HealthStatus


address, url = sys.argv[1:]


def fetch(path):
    reply = requests.get(f"{url}/v1/almanac/{path}", timeout=20)
    if reply.status_code == 404:
        return None
    reply.raise_for_status()
    return reply.json()


async def health():
    resolver = RulesBasedResolver({address: f"{url}/submit"})
    answer = await send_sync_message(
        address, HealthCheck(), AgentHealth, sender=Identity.from_seed("inspector", 0), resolver=resolver
    )
    return {"AgentName": answer.agent_name, "Status": answer.status.value}


manifests, unpublished = {}, 0
for digest in fetch(f"agents/{address}")["protocols"]:
    manifest = fetch(f"manifests/{digest}")
    if manifest is None:
        unpublished += 1
        continue
    made = ProtocolSpecification.compute_digest(manifest)
    manifests["{name}:{version}".format(**manifest["metadata"])] = {
        "Verified": made == digest == manifest["metadata"]["digest"],
        "Models": [model["schema"]["title"] for model in manifest["models"]],
    }
print(json.dumps({"Health": asyncio.run(health()), "Manifests": manifests, "Unpublished": unpublished}))
