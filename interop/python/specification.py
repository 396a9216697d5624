"""What open-aea makes of protocol specifications, one JSON text on each line.

The generator looks for formatters and protoc when it is made; none of the texts
asked for here goes through them.
"""
import json
import os
import sys
import tempfile

from aea.protocols.generator import base

base.check_prerequisites = lambda: None
base.get_protoc_version = lambda: ""


def read(text, folder):
    path = os.path.join(folder, "specification.yaml")
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    generator = base.ProtocolGenerator(path, project_dir=folder)
    for module in (
        generator._message_class_str,
        generator._dialogue_class_str,
        generator._serialization_class_str,
        generator._custom_types_module_str,
    ):
        compile(module(), "generated", "exec")
    spec = generator.protocol_specification
    dialogue = dict(spec.dialogue_config)
    if dialogue:
        dialogue["reply"] = [list(pair) for pair in dialogue["reply"].items()]
        dialogue["roles"] = list(dialogue["roles"])
    return {
        "name": spec.name,
        "author": spec.author,
        "version": spec.version,
        "description": spec.description,
        "license": spec.license,
        "aea_version": spec.aea_version,
        "id": str(spec.protocol_specification_id),
        "acts": [
            [name, [list(pair) for pair in act.args.items()]]
            for name, act in spec.speech_acts.read_all()
        ],
        "types": [list(pair) for pair in (spec.protobuf_snippets or {}).items()],
        "dialogue": dialogue,
        "proto": generator._protocol_buffer_schema_str(),
    }


with tempfile.TemporaryDirectory() as folder:
    for line in sys.stdin:
        try:
            answer = {"read": read(json.loads(line), folder)}
        except Exception as e:  # pylint: disable=broad-except
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)
