# SPDX-License-Identifier: Apache-2.0
"""An authority of a site's own, which no machine trusts by itself, and a server's certificate from it."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class SiteAuthority:
    """certificate: its own, in PEM; chain: certificate and key of the server at 127.0.0.1 and localhost."""

    certificate: Path
    chain: Path

    def for_server(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.chain)
        return context


def site_authority(folder: Path) -> SiteAuthority:
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name, name = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in ("Site CA", "server"))
    now = dt.datetime.now(dt.UTC)

    def certificate(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return x509.CertificateBuilder(
            issuer_name=ca_name,
            subject_name=subject,
            public_key=public,
            serial_number=x509.random_serial_number(),
            not_valid_before=now - dt.timedelta(days=1),
            not_valid_after=now + dt.timedelta(days=1),
        )

    own = certificate(ca_name, ca_key.public_key()).add_extension(x509.BasicConstraints(True, None), critical=True)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    leaf = certificate(name, key.public_key()).add_extension(x509.SubjectAlternativeName(names), critical=False)
    files = SiteAuthority(folder / "authority.pem", folder / "server.pem")
    files.certificate.write_bytes(own.sign(ca_key, hashes.SHA256()).public_bytes(Encoding.PEM))
    files.chain.write_bytes(
        leaf.sign(ca_key, hashes.SHA256()).public_bytes(Encoding.PEM)
        + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    return files
