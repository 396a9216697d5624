"""Answers questions about the installed uagents-core, one JSON object per line.

The Go tests ask it what the real library makes of a model, a payload, a protocol or an envelope.
"""

import importlib.util
import json
import sys
import typing
import warnings
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, Dict, List, Literal, Optional, Set, Tuple, Union
from uuid import UUID

from pydantic.v1 import UUID4, AnyUrl, HttpUrl, condecimal, confloat, conint, conlist, constr, parse_raw_as
from pydantic.v1.color import Color as Color_
from uagents_core.envelope import Envelope
from uagents_core.identity import Identity
from uagents_core.models import Field, Model
from uagents_core.protocol import ProtocolSpecification

warnings.simplefilter("ignore")  # pydantic warns of fields that it leaves out of schemas
known = {}  # classes by name, over all questions


def model(q):
    """Defines classes from source text and describes the last one."""
    for forget in typing._cleanups:  # else Union[int, str] may come back as an older Union[str, int]
        forget()
    space = dict(globals())
    exec(q["source"], space)
    for name in q["names"]:
        known[name] = space[name]
    return describe(known[q["names"][-1]])


def describe(cls):
    return {
        "digest": Model.build_schema_digest(cls),
        "sorted": cls.schema_json(indent=None, sort_keys=True),
        "schema": cls.schema_json(),
    }


def models_of(q):
    """Describes all models of a file, in order."""
    loader = importlib.util.spec_from_file_location("models", q["path"])
    module = importlib.util.module_from_spec(loader)
    sys.modules["models"] = module
    loader.loader.exec_module(module)
    found = {n: c for n, c in vars(module).items() if isinstance(c, type) and issubclass(c, Model) and c is not Model}
    return {"models": [{"name": name, **describe(cls)} for name, cls in found.items() if name.isidentifier()]}


def parse(q):
    """Reads payloads into a class and writes them again."""
    return {"results": [attempt(lambda: known[q["name"]].parse_raw(text).json()) for text in q["texts"]]}


def titles(q):
    """Titles as pydantic makes them from the names of fields."""
    return {"titles": [name.title().replace("_", " ") for name in q["names"]]}


def protocol(q):
    spec = ProtocolSpecification(
        name=q["name"],
        version=q["version"],
        interactions={known[k]: {known[r] for r in v} for k, v in q["interactions"].items()},
        roles={k: {known[m] for m in v} for k, v in q["roles"].items()} if q["roles"] else None,
    )
    return {"manifests": {role: spec.manifest(role or None) for role in ["", *(q["roles"] or {})]}}


def sign(q):
    """Makes a signed envelope as a Python agent would."""
    identity = Identity.from_seed(q["seed"], 0)
    envelope = Envelope(version=1, sender=identity.address, **q["fields"])
    envelope.encode_payload(q["payload"])
    envelope.sign(identity)
    return {"envelope": envelope.model_dump_json()}


def verify(q):
    envelope = Envelope.model_validate(json.loads(q["envelope"]))
    return {"verified": attempt(envelope.verify), "payload": envelope.decode_payload(), "json": envelope.model_dump_json()}


def attempt(call):
    try:
        return {"ok": True, "result": call()}
    except Exception as error:  # whatever it is, it is the answer
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}


for line in sys.stdin:
    question = json.loads(line)
    answer = attempt(lambda: globals()[question["op"]](question))
    print(json.dumps(answer), flush=True)
