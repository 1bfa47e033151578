# SPDX-License-Identifier: Apache-2.0
"""Evaluates the chart's ValidatingAdmissionPolicies as an API server does, as far as MLHub's requests need it.

An expression that raises refuses the request, as failurePolicy Fail demands. Not modelled: costs, audit annotations,
parameters, and the parts of the request that no policy of the chart reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import cel

Object = dict[str, Any]
CONTROL = "system:serviceaccount:mlhub:mlhub"


@dataclass(frozen=True)
class WriteRequest:
    """One write. namespace: the object that the request is in, None for kinds without namespaces. resource: plural."""

    operation: str
    resource: str
    object: Object | None = None
    before: Object | None = None
    namespace: Object | None = None
    group: str = ""
    subresource: str = ""
    user: str = CONTROL

    def variables(self) -> Object:
        named = self.object or self.before or {}
        request: Object = {
            "operation": self.operation,
            "resource": {"group": self.group, "version": "v1", "resource": self.resource},
            "name": named.get("metadata", {}).get("name", ""),
            "userInfo": {"username": self.user, "groups": ["system:serviceaccounts", "system:authenticated"]},
        }
        if self.subresource:  # like the server's, which leaves out what is empty
            request["subResource"] = self.subresource
        return {
            "request": request,
            "object": self.object,
            "oldObject": self.before,
            "namespaceObject": self.namespace,
        }


@dataclass(frozen=True)
class AdmissionPolicy:
    name: str
    rules: list[Object]
    conditions: list[Any]
    named: list[tuple[str, Any]] = field(repr=False)
    validations: list[tuple[Any, str]] = field(repr=False)

    @classmethod
    def of(cls, found: Object) -> AdmissionPolicy:
        """Compiles every expression. Raises ValueError where one has a wrong syntax."""
        spec = found["spec"]
        assert spec["failurePolicy"] == "Fail"
        return cls(
            found["metadata"]["name"],
            spec["matchConstraints"]["resourceRules"],
            [cel.compile(condition["expression"]) for condition in spec["matchConditions"]],
            [(variable["name"], cel.compile(variable["expression"])) for variable in spec["variables"]],
            [(cel.compile(one["expression"]), one["message"]) for one in spec["validations"]],
        )

    def refusals(self, asked: WriteRequest) -> list[str]:
        context = asked.variables()
        if not any(_matches(rule, asked) for rule in self.rules):
            return []
        if not all(condition.execute(context) is True for condition in self.conditions):
            return []
        context["variables"] = {}
        for name, program in self.named:
            try:
                context["variables"][name] = program.execute(context)
            except _ERRORS:
                continue  # who reads it fails, as with the server's lazy variables
        return [message for program, message in self.validations if not _holds(program, context)]


class AdmissionPolicies:
    """Those of a rendered chart that a binding puts in force."""

    def __init__(self, objects: Iterable[Object]) -> None:
        listed = list(objects)
        bound = {
            o["spec"]["policyName"]
            for o in listed
            if o["kind"] == "ValidatingAdmissionPolicyBinding" and "Deny" in o["spec"]["validationActions"]
        }
        found = [AdmissionPolicy.of(o) for o in listed if o["kind"] == "ValidatingAdmissionPolicy"]
        assert {policy.name for policy in found} == bound
        self.policies = found

    def refusals(self, asked: WriteRequest) -> list[str]:
        """Why the request is refused; empty when it is admitted."""
        return [message for policy in self.policies for message in policy.refusals(asked)]


_ERRORS = (ValueError, KeyError, TypeError, RuntimeError)


def _holds(program: Any, context: Mapping[str, Any]) -> bool:
    try:
        return program.execute(context) is True
    except _ERRORS:
        return False


def _matches(rule: Object, asked: WriteRequest) -> bool:
    resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    return (
        any(group in ("*", asked.group) for group in rule["apiGroups"])
        and any(one in ("*/*", resource) or (one == "*" and not asked.subresource) for one in rule["resources"])
        and any(one in ("*", asked.operation) for one in rule["operations"])
    )
