# SPDX-License-Identifier: Apache-2.0
"""Policies by name or as module:Class, for people who run commands. The platform's API takes registered names only."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from scheduler.policies.registry import POLICIES, PolicyClass, make_policy, policy_class
from scheduler.policies.toolkit.policy import Policy


def load_policy(name: str, parameters: Mapping[str, Any]) -> Policy:
    """Returns the policy of that name, or of a module:Class that Python can import, with these parameters.

    Raises ValueError that names the policy: it is unknown, cannot be loaded, or has other parameters.
    """
    return make_policy(load_policy_class(name), name, parameters)


def load_policy_class(name: str) -> PolicyClass:
    """Returns the class that load_policy() makes policies of. Raises ValueError for an unknown one."""
    module_name, separator, class_name = name.partition(":")
    if not separator:
        return policy_class(name)
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except ImportError as error:
        raise ValueError(f"policy {name!r}: {error}; run the command in the folder of the module") from error
    except AttributeError:
        raise ValueError(f"policy {name!r}: module {module_name!r} has no class {class_name!r}") from None
    except ValueError as error:
        raise ValueError(f"policy {name!r}: write it as module:Class, as in my_policy:Shortest") from error
    if not isinstance(found, type) or not callable(getattr(found, "propose", None)):
        raise ValueError(f"policy {name!r}: {class_name} is no class with a method propose(view, *, budget, memory)")
    own_name = getattr(found, "name", None)
    if not isinstance(own_name, str) or not own_name or own_name in POLICIES:
        raise ValueError(f"policy {name!r}: give {class_name} a field `name: str` with a name that no other policy has")
    loaded: PolicyClass = found
    return loaded
