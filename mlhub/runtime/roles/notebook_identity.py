# SPDX-License-Identifier: Apache-2.0
"""Who may use a notebook's server: the platform's proxy, which sends the pod's token in a header of its own.

Jupyter's own token would be written into JupyterLab's page. Imported where JupyterLab is installed.
"""

from __future__ import annotations

import hmac
from typing import Any

from jupyter_server.auth.identity import IdentityProvider, User
from traitlets import default

from mlhub.wire.launch import NOTEBOOK_TOKEN_HEADER


class ProxyIdentityProvider(IdentityProvider):
    """The proxy has checked the person's session and right; cookies and addresses open nothing."""

    expected_token = ""  # set once, before the server is made

    @default("token")
    def _token_default(self) -> str:
        return ""

    def get_user(self, handler: Any) -> User | None:
        given = handler.request.headers.get(NOTEBOOK_TOKEN_HEADER, "")
        if not self.expected_token or not hmac.compare_digest(given.encode(), self.expected_token.encode()):
            return None
        handler._token_authenticated = True  # Jupyter's check of cookies against forged requests is the proxy's
        return User(username="person", name="Person", display_name="Person")

    @property
    def auth_enabled(self) -> bool:
        return True
