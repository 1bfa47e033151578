# SPDX-License-Identifier: Apache-2.0
"""How the OpenAPI schema comes from the code: strict bodies, and the problems that every operation may answer with."""

from __future__ import annotations

from http import HTTPStatus
from inspect import cleandoc
from typing import Any

from drf_spectacular.drainage import has_override
from drf_spectacular.openapi import AutoSchema

from mlhub.core.api.names import MARK, PATTERN, collection_of
from mlhub.core.api.operations import METHODS
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.problems import CONTENT_TYPE

PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "An error (RFC 9457). Some carry further members, which are facts of the error's code.",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string", "description": "A URI reference that ends with the code."},
        "title": {"type": "string", "description": "The kind of error, for people."},
        "status": {"type": "integer", "description": "The HTTP status of the answer."},
        "code": {"type": "string", "description": "The kind of error, for programs; it never changes."},
        "detail": {"type": "string", "description": "What is wrong in this very request, for people."},
        "remedy": {"type": "string", "description": "What to do about it."},
        "errors": {
            "type": "array",
            "description": "Each field of the body, or parameter of the query, that is wrong.",
            "items": {"$ref": "#/components/schemas/FieldProblem"},
        },
        "id": {"type": "string", "description": "Of an unexpected error: the id under which the log has its cause."},
    },
    "additionalProperties": True,
}
FIELD_PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "One field that is wrong.",
    "required": ["field", "message"],
    "properties": {
        "field": {"type": "string", "description": "Its path, such as hyperparameters.width or jobs.0.priority."},
        "message": {"type": "string", "description": "What is wrong with it."},
        "remedy": {"type": "string", "description": "What to do about it."},
    },
}
MEANINGS = {
    400: "The request cannot be read: malformed JSON, or a query parameter that the route does not know.",
    401: "No user is signed in, or the token is unknown, revoked or expired.",
    403: "The caller may not do this, or the CSRF token is missing.",
    404: "There is no such object that the caller may see.",
    406: "The answer has another media type than the header Accept takes.",
    409: "The object's present state does not admit this, its version is stale, or several have the name.",
    410: "The attempt has ended; nothing it sends is stored any more.",
    413: "The body is too large.",
    415: "The body has another media type than the operation takes.",
    416: "The file ends before the byte range that the header Range asks for.",
    422: "A field or parameter is wrong or unknown; `errors` names each.",
    429: "Too many requests, or attempts to sign in; Retry-After says when to try again.",
    500: "An unexpected error; `id` names its entry in the platform's log.",
    503: "A part of the platform cannot be reached; Retry-After says when to try again.",
}
FILE = "application/octet-stream"
EVERYWHERE = (400, 404, 422, 429, 500, 503)
RETRIED = (429, 503)
RATE_LIMIT_HEADERS = {
    "RateLimit-Policy": 'The limits that count, such as "reads-user";q=2400;w=60: requests (q) in seconds (w).',
    "RateLimit": 'What is left of each, such as "reads-user";r=17;t=60: requests (r); seconds until all are back (t).',
}


class StrictAutoSchema(AutoSchema):
    """Bodies read by a StrictSerializer admit no further properties; addresses take names where AddressedView does."""

    def _get_parameters(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = super()._get_parameters()
        collection = collection_of(self.path_regex)
        if collection is None:
            return found
        view: Any = self.view  # an AddressedView
        is_id = self.method in view.takes_ids_alone
        own = next(one for one in found if (one["name"], one["in"]) == ("id", "path"))
        own["schema"] = {"type": "string", **({"format": "uuid"} if is_id else {"pattern": PATTERN})}
        if not is_id:
            found += [
                {
                    "in": "query",
                    "name": name,
                    "schema": {"type": "string", "maxLength": 100},
                    "description": f"Where the address has a name: of which {name}, by id or name.",
                }
                for name in collection.within
            ]
        return sorted(found, key=lambda parameter: str(parameter["name"]))

    def _map_serializer(self, serializer: Any, direction: Any, bypass_extensions: bool = False) -> Any:
        schema = super()._map_serializer(serializer, direction, bypass_extensions)
        if direction == "request" and isinstance(serializer, StrictSerializer):
            schema["additionalProperties"] = False
        if not _has_own_description(serializer):
            schema.pop("description", None)
        return schema

    def get_description(self) -> str:  # type: ignore[override]
        """Of the method, or of its own view: what a base class is for says nothing about the operation."""
        view, method = type(self.view), getattr(self.view, self.method.lower(), None)
        return cleandoc(getattr(method, "__doc__", None) or vars(view).get("__doc__") or "")


def _has_own_description(serializer: Any) -> bool:
    """Whether what is said of its class is said of it: a docstring of a base class is not."""
    return bool(vars(type(serializer)).get("__doc__")) or has_override(serializer, "description")


def add_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's postprocessing hook: the components, and on each operation the errors that it may give."""
    components = result["components"]
    components["schemas"] |= {"Problem": PROBLEM, "FieldProblem": FIELD_PROBLEM}
    components["schemas"] = dict(sorted(components["schemas"].items()))
    components["responses"] = {_name(status): _response(status) for status in MEANINGS}
    for path, item in result["paths"].items():
        for method in METHODS:
            if method in item:
                _describe_path(path, item[method])
                _add_to(item[method], _statuses(path, method, item[method]))
    return result


def _describe_path(path: str, operation: dict[str, Any]) -> None:
    """Describes path parameters by the segment before them: of /runs/{id}, "The id of one of the runs."."""
    segments = path.split("/")
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            collection = segments[segments.index(f"{{{parameter['name']}}}") - 1]
            parameter["description"] = f"The {parameter['name']} of one of the {collection.replace('-', ' ')}"
            parameter["description"] += (
                f", or its name behind `{MARK}`." if parameter["schema"].get("pattern") == PATTERN else "."
            )


def _takes_name(parameter: dict[str, Any]) -> bool:
    return parameter["schema"].get("pattern") == PATTERN


def _add_to(operation: dict[str, Any], statuses: list[int]) -> None:
    responses = operation["responses"]
    if 416 in statuses:
        responses["206"] = {**responses["200"], "description": "The byte range that the header Range asks for."}
        responses["304"] = {"description": "The file still has the entity tag of the header If-None-Match."}
    for status in statuses:
        responses.setdefault(str(status), {"$ref": f"#/components/responses/{_name(status)}"})
    operation["responses"] = dict(sorted(responses.items()))


def _statuses(path: str, method: str, operation: dict[str, Any]) -> list[int]:
    found = [*EVERYWHERE, 401, 403]
    if "requestBody" in operation:
        found += [413, 415]
    if method != "get" or any(_takes_name(parameter) for parameter in operation.get("parameters", ())):
        found.append(409)
    if FILE in operation["responses"].get("200", {}).get("content", {}):
        found.append(416)
    if any("application/json" in r.get("content", {}) for r in operation["responses"].values()):
        found.append(406)
    if "/ingest/" in path:
        found.append(410)
    return found


def _name(status: int) -> str:
    return "".join(word for word in HTTPStatus(status).phrase.replace("-", " ").split())


def _response(status: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "description": MEANINGS[status],
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if status in RETRIED:
        description = "Seconds until it is worth trying again."
        found["headers"] = {"Retry-After": {"description": description, "schema": {"type": "integer"}}}
    if status == 429:
        found["headers"] |= {
            name: {"description": text, "schema": {"type": "string"}} for name, text in RATE_LIMIT_HEADERS.items()
        }
    return found
