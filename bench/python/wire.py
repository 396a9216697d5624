"""CPU time per operation of uagents-core, one JSON object on stdout.

usage: wire.py ROUNDS ENVELOPE_JSON
"""

import json
import sys
import time

from uagents_core.contrib.protocols import chat
from uagents_core.envelope import Envelope
from uagents_core.identity import Identity
from uagents_core.models import Model

rounds, text = int(sys.argv[1]), sys.argv[2]
identity = Identity.from_seed("bench sender", 0)


def opened():
    Envelope.model_validate(json.loads(text)).verify()


def sealed():
    e = Envelope.model_validate_json(text)
    fresh = Envelope(version=1, sender=identity.address, target=e.target, session=e.session, schema_digest=e.schema_digest, expires=e.expires)
    fresh.encode_payload('{"text":"hello there, how are you today?","n":12345}')
    fresh.sign(identity)
    fresh.model_dump_json()


def forget():
    """Schemas are computed once in a process; here each call is the first."""
    chat.ChatMessage.__schema_cache__.clear()
    chat.ChatAcknowledgement.__schema_cache__.clear()


def schema_digest():
    forget()
    Model.build_schema_digest(chat.ChatMessage)


def manifest_digest():
    forget()
    assert chat.chat_protocol_spec.digest.startswith("proto:30a801ed")


def cpu(operation, count):
    operation()
    start = time.process_time()
    for _ in range(count):
        operation()
    return (time.process_time() - start) / count * 1e9


print(json.dumps({
    "open": cpu(opened, 60 * rounds),
    "seal": cpu(sealed, 200 * rounds),
    "schema digest": cpu(schema_digest, 100 * rounds),
    "manifest digest": cpu(manifest_digest, 100 * rounds),
}))
