"""X.509 certificates by Ed25519 in the standard library alone: enough for a gang to know its own by TLS.

A member signs one certificate when it starts, so speed does not matter. Sources: RFC 8032 (Ed25519), RFC 8410 (its
certificates and keys), RFC 5280 (X.509), X.690 (DER).
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, PRIME) % PRIME
_BASE_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
_BASE_Y = 4 * pow(5, -1, PRIME) % PRIME
ED25519 = bytes.fromhex("06032b6570")  # 1.3.101.112
_COMMON_NAME = bytes.fromhex("0603550403")
_BASIC_CONSTRAINTS, _KEY_USAGE = bytes.fromhex("0603551d13"), bytes.fromhex("0603551d0f")
_TRUE = b"\x01\x01\xff"
_FROM, _UNTIL = b"20200101000000Z", b"99991231235959Z"  # a gang's certificates live as long as its secret

Point = tuple[int, int, int, int]  # x·z, y·z, z, x·y·z
_BASE: Point = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % PRIME)


@dataclass(frozen=True)
class Key:
    """A private key: 32 random bytes."""

    seed: bytes

    @property
    def public(self) -> bytes:
        return _compressed(_times(self._scalar(), _BASE))

    def sign(self, message: bytes) -> bytes:
        """64 bytes; the same for the same message."""
        scalar, public = self._scalar(), self.public
        nonce = _number(hashlib.sha512(self._expanded()[32:] + message).digest()) % ORDER
        commitment = _compressed(_times(nonce, _BASE))
        challenge = _number(hashlib.sha512(commitment + public + message).digest()) % ORDER
        return commitment + ((nonce + challenge * scalar) % ORDER).to_bytes(32, "little")

    def pem(self) -> str:
        """PKCS #8."""
        content = _sequence(_integer(0), _sequence(ED25519), _tagged(0x04, _tagged(0x04, self.seed)))
        return _pem("PRIVATE KEY", content)

    def _expanded(self) -> bytes:
        return hashlib.sha512(self.seed).digest()

    def _scalar(self) -> int:
        low = bytearray(self._expanded()[:32])
        low[0] &= 248
        low[31] = (low[31] & 127) | 64
        return _number(low)


def certificate(name: str, public: bytes, *, issuer: str, signer: Key, is_authority: bool = False) -> str:
    """PEM. The same arguments give the same authority's certificate; leaves differ by their serial numbers."""
    constraints = _sequence(_TRUE) if is_authority else _sequence()
    usage = b"\x03\x02\x02\x04" if is_authority else b"\x03\x02\x07\x80"  # signs certificates; signs
    extensions = _sequence(
        _sequence(_BASIC_CONSTRAINTS, _TRUE, _tagged(0x04, constraints)),
        _sequence(_KEY_USAGE, _TRUE, _tagged(0x04, usage)),
    )
    content = _sequence(
        _tagged(0xA0, _integer(2)),
        _integer(1 if is_authority else secrets.randbits(63)),
        _sequence(ED25519),
        _name(issuer),
        _sequence(_tagged(0x18, _FROM), _tagged(0x18, _UNTIL)),
        _name(name),
        _sequence(_sequence(ED25519), _bits(public)),
        _tagged(0xA3, extensions),
    )
    return _pem("CERTIFICATE", _sequence(content, _sequence(ED25519), _bits(signer.sign(content))))


def _name(name: str) -> bytes:
    return _sequence(_tagged(0x31, _sequence(_COMMON_NAME, _tagged(0x0C, name.encode()))))


def _tagged(tag: int, content: bytes) -> bytes:
    if len(content) < 128:
        return bytes([tag, len(content)]) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([tag, 128 | len(length)]) + length + content


def _sequence(*parts: bytes) -> bytes:
    return _tagged(0x30, b"".join(parts))


def _integer(value: int) -> bytes:
    return _tagged(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _bits(content: bytes) -> bytes:
    return _tagged(0x03, b"\x00" + content)


def _pem(what: str, content: bytes) -> str:
    text = base64.encodebytes(content).decode()
    return f"-----BEGIN {what}-----\n{text}-----END {what}-----\n"


def _number(raw: bytes | bytearray) -> int:
    return int.from_bytes(raw, "little")


def _plus(p: Point, q: Point) -> Point:
    """On the twisted Edwards curve -x² + y² = 1 + d x² y², also for p = q."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % PRIME, (p[1] + p[0]) * (q[1] + q[0]) % PRIME
    c, d = 2 * p[3] * q[3] * D % PRIME, 2 * p[2] * q[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME)


def _times(scalar: int, point: Point) -> Point:
    total: Point = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = _plus(total, point)
        point, scalar = _plus(point, point), scalar >> 1
    return total


def _compressed(point: Point) -> bytes:
    inverse = pow(point[2], -1, PRIME)
    x, y = point[0] * inverse % PRIME, point[1] * inverse % PRIME
    return (y | (x & 1) << 255).to_bytes(32, "little")
