# SPDX-License-Identifier: Apache-2.0
"""An OpenID Connect provider for tests: strict with its client, and as dishonest as a test wants it to be.

It listens on this machine. Discovery, keys, tokens and userinfo are answered over HTTP; what its page does in a browser
is `visit`. Codes work once, and only with the verifier of their challenge and the client's secret.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT_ID, CLIENT_SECRET = "mlhub", "a secret with: signs/&"


@cache
def signing_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})


class OidcProvider:
    """person: the claims of who signs in. userinfo: what the userinfo endpoint says on top of sub.

    tamper: changes the claims of ID tokens. encode: makes the token of them, in place of an honest signature.
    published: the keys that it shows; key: the one that it signs with. metadata: changes of the discovery document.
    """

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.person: dict[str, Any] = {"sub": "1", "preferred_username": "ada", "groups": ["ml"]}
        self.userinfo: dict[str, Any] = {}
        self.tamper: Callable[[dict[str, Any]], Any] = lambda claims: None
        self.key = signing_key("one")
        self.published = [self.key]
        self.encode: Callable[[dict[str, Any]], str] = self._signed
        self.metadata: dict[str, Any] = {}
        self.grants: dict[str, dict[str, str]] = {}

    def visit(self, address: str) -> str:
        """The person agrees on the provider's page: the path and query to which their browser is sent."""
        query = dict(parse_qsl(urlsplit(address).query))
        assert (query["response_type"], query["client_id"]) == ("code", CLIENT_ID)
        assert query["code_challenge_method"] == "S256"
        assert "openid" in query["scope"].split()
        assert address.startswith(f"{self.issuer}/authorize?")
        code = secrets.token_urlsafe(16)
        self.grants[code] = query
        return urlsplit(query["redirect_uri"]).path + "?" + urlencode({"code": code, "state": query["state"]})

    def answer_get(self, path: str, authorization: str) -> tuple[int, dict[str, Any]]:
        if path == "/.well-known/openid-configuration":
            endpoints = {
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
            }
            return 200, {"issuer": self.issuer, **endpoints, **self.metadata}
        if path == "/keys":
            others = [{"kty": "oct", "kid": "x", "k": "eA"}, {"kty": "unheard-of", "kid": "y"}]
            return 200, {"keys": [key.as_dict(private=False) for key in self.published] + others}
        if path == "/userinfo" and authorization == "Bearer opens-userinfo":
            return 200, {"sub": self.person["sub"], **self.userinfo}
        return 404, {}

    def answer_token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        pair = ":".join(urlencode({"": each})[1:] for each in (CLIENT_ID, CLIENT_SECRET))
        if authorization != "Basic " + base64.b64encode(pair.encode()).decode():
            return 401, {"error": "invalid_client"}
        grant = self.grants.pop(form.get("code", ""), None)
        if grant is None:
            return 400, {"error": "invalid_grant", "error_description": "This code was used."}
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if challenge != grant["code_challenge"] or form.get("redirect_uri") != grant["redirect_uri"]:
            return 400, {"error": "invalid_grant", "error_description": "This is not who began."}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": grant["nonce"]}
        claims |= self.person
        self.tamper(claims)
        return 200, {"access_token": "opens-userinfo", "token_type": "Bearer", "id_token": self.encode(claims)}

    def _signed(self, claims: dict[str, Any]) -> str:
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)


@contextmanager
def running_provider() -> Iterator[OidcProvider]:
    """A provider at an address of its own."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(*provider.answer_get(self.path, self.headers.get("Authorization", "")))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._send(*provider.answer_token(form, self.headers.get("Authorization", "")))

        def _send(self, status: int, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    provider = OidcProvider(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
