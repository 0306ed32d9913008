"""botocore: Converse's request, against the service's model, enumerations and patterns included."""

import base64
import re

import botocore.loaders
import botocore.model
import botocore.validate

RUNTIME = botocore.model.ServiceModel(
    botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2"), "bedrock-runtime"
)
REQUEST = RUNTIME.operation_model("Converse").input_shape


def native(value, shape):
    """What travels as base64 is bytes within the SDK."""
    if getattr(shape, "is_document_type", False):
        return value
    if shape.type_name == "structure" and isinstance(value, dict):
        members = shape.members
        return {k: native(v, members[k]) if k in members else v for k, v in value.items()}
    if shape.type_name == "list" and isinstance(value, list):
        return [native(inner, shape.member) for inner in value]
    if shape.type_name == "map" and isinstance(value, dict):
        return {name: native(inner, shape.value) for name, inner in value.items()}
    if shape.type_name == "blob":
        return base64.b64decode(value, validate=True)
    return value


def strict(value, shape, place="$"):
    if getattr(shape, "is_document_type", False):
        return
    meta = shape.metadata
    if shape.type_name == "structure":
        for name, inner in value.items():
            if name not in shape.members:
                raise ValueError(f"{place}: unknown member {name}")
            strict(inner, shape.members[name], f"{place}.{name}")
        if getattr(shape, "is_tagged_union", False) and len(value) != 1:
            raise ValueError(f"{place}: one of {sorted(value)} only")
    elif shape.type_name == "list":
        for at, inner in enumerate(value):
            strict(inner, shape.member, f"{place}[{at}]")
    elif shape.type_name == "string":
        if shape.enum and value not in shape.enum:
            raise ValueError(f"{place}: {value!r} is none of {shape.enum}")
        if "pattern" in meta and not re.fullmatch(meta["pattern"], value):
            raise ValueError(f"{place}: {value!r} does not match {meta['pattern'][:120]}")
        if "max" in meta and len(value) > meta["max"]:
            raise ValueError(f"{place}: longer than {meta['max']}")


def check(document, shape):
    value = native(document, shape)
    report = botocore.validate.ParamValidator().validate(value, shape)
    if report.has_errors():
        raise ValueError(report.generate_report())
    strict(value, shape)


def history(document):
    if isinstance(document, list):
        document = {"messages": document}
    check({"modelId": "m", **document}, REQUEST)


def answers(items):
    history([{"role": "user", "content": items}])


def tools(tools):
    """Ordinary tools; Anthropic's own ride beside them, as that SDK has them."""
    specs = [tool for tool in tools if "toolSpec" in tool]
    check({"modelId": "m", "toolConfig": {"tools": specs}}, REQUEST)


KINDS = {"history": history, "answers": answers, "tools": tools}
