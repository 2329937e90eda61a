"""The OpenAPI document (3.1), made from the table of operations and the types that they encode and decode."""

from typing import Any

import msgspec

from numafit import __version__
from numafit.service.api.operations import JSON, OPERATIONS, Operation, json_types
from numafit.service.problem import MEDIA_TYPE, Problem

PATH = "/api/v1/openapi.json"
COMPONENTS = "#/components/schemas/{name}"
EVERYWHERE = (401, 403, 421, 500)
"""Problems that any request may meet."""

SchemaJson = dict[str, Any]


def document() -> SchemaJson:
    types = [*json_types(), Problem]
    schemas, components = msgspec.json.schema_components(types, ref_template=COMPONENTS)
    by_type = list(zip(types, schemas, strict=True))
    paths: dict[str, SchemaJson] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "numafit",
            "version": __version__,
            "summary": "What a kubelet decides about CPUs, memory and devices, and why.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": msgspec.to_builtins(components),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        # Without a token unless the agent listens beyond this machine.
        "security": [{}, {"token": []}],
    }


def _operation(operation: Operation, by_type: list[tuple[Any, SchemaJson]]) -> SchemaJson:
    found: SchemaJson = {
        "operationId": f"{operation.method.lower()}_{operation.handler}",
        "summary": operation.summary,
        "responses": {
            str(operation.status): {"description": "OK", "content": _content(operation.answer, by_type)},
            **{str(status): _problem(by_type) for status in sorted({*operation.problems, *EVERYWHERE})},
        },
    }
    if operation.parameters:
        found["parameters"] = [
            {
                "name": parameter.name,
                "in": parameter.place,
                "required": parameter.place == "path",
                "schema": parameter.schema,
                "description": parameter.help,
            }
            for parameter in operation.parameters
        ]
    if operation.body is not None:
        found["requestBody"] = {"required": True, "content": _content(operation.body, by_type)}
    return found


def _content(kind: Any, by_type: list[tuple[Any, SchemaJson]]) -> SchemaJson:
    if isinstance(kind, str):
        return {kind: {"schema": {"type": "string"}}}
    if isinstance(kind, tuple):
        return {media_type: {"schema": {"type": "string"}} for media_type in kind}
    return {JSON: {"schema": _schema(kind, by_type)}}


def _problem(by_type: list[tuple[Any, SchemaJson]]) -> SchemaJson:
    return {"description": "A problem", "content": {MEDIA_TYPE: {"schema": _schema(Problem, by_type)}}}


def _schema(kind: Any, by_type: list[tuple[Any, SchemaJson]]) -> SchemaJson:
    return next(schema for own, schema in by_type if own is kind or own == kind)
