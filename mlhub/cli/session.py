# SPDX-License-Identifier: Apache-2.0
"""What every command has: the options before it, the output, and a connection to the platform once one is needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import typer

from mlhub.cli import credentials
from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.output import Format, Output
from mlhub.client.api import Api

PATIENCE_S = 20.0  # people wait at a terminal; a platform that restarts is back by then


@dataclass
class Session:
    """url, token: None when the options were not given. project: a name or an id, "" when not given."""

    form: Format = Format.TABLE
    url: str | None = None
    token: str | None = None
    project: str = ""

    @cached_property
    def output(self) -> Output:
        return Output(self.form)

    @cached_property
    def api(self) -> Api:
        """Raises CommandError without a stored sign-in."""
        found = credentials.find(self.url, self.token)
        if not found.token:
            raise CommandError(
                f"You are not signed in at {found.url}.",
                remedy=f"Run `mlhub login {found.url}`, or set {credentials.URL} and {credentials.TOKEN}.",
                code=CommandStatus.NOT_SIGNED_IN,
            )
        return Api(found.url, found.token, patience_s=PATIENCE_S)


def session_of(context: typer.Context) -> Session:
    return cast("Session", context.obj)
