"""The certificate that a webhook shows to the API server, and the authority that signed it: made, read, judged by age.

Each certificate has an authority of its own, whose key is thrown away once it has signed: nobody can sign another one,
and what somebody might steal is good for this one server.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = 90 * 86400.0
"""Seconds."""
SKEW = 86400.0
"""Seconds by which it is good earlier than it was made: clocks differ."""
RENEWED_AT = 2 / 3
"""Of its life."""
OVERLAP = 86400.0
"""Seconds for which the one before stays known beside a new one."""
MOST_NAMES = 20


class ServerCertificate(msgspec.Struct, frozen=True):
    """All three as PEM."""

    authority: bytes
    certificate: bytes
    key: bytes
    begin: float
    end: float
    """Seconds since 1970."""
    names: tuple[str, ...]
    """Host names and addresses."""

    @property
    def renewal(self) -> float:
        """From when on there should be another one."""
        return self.begin + (self.end - self.begin) * RENEWED_AT

    def is_good(self, now: float) -> bool:
        return self.begin <= now < self.end


def made_certificate(names: Iterable[str], now: float, life: float = LIFE) -> ServerCertificate:
    shown = tuple(dict.fromkeys(names))
    begin, end = datetime.fromtimestamp(int(now - SKEW), UTC), datetime.fromtimestamp(int(now + life), UTC)
    signer, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"numafit {x509.random_serial_number():x}"[:60])])
    # A common name has at most 64 characters; who checks looks at the alternative names.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "numafit")])
    authority = (
        _builder(issuer, issuer, signer.public_key(), begin, end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
    certificate = (
        _builder(subject, issuer, key.public_key(), begin, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in shown]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return ServerCertificate(_pem(authority), _pem(certificate), secret, begin.timestamp(), end.timestamp(), shown)


def read_certificate(authority: bytes, certificate: bytes, key: bytes) -> ServerCertificate | None:
    """None where one of them cannot be read, or they do not belong together."""
    try:
        signer, own = x509.load_pem_x509_certificate(authority), x509.load_pem_x509_certificate(certificate)
        secret = serialization.load_pem_private_key(key, None)
        own.verify_directly_issued_by(signer)
        if secret.public_key() != own.public_key():
            return None
        names = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm, x509.ExtensionNotFound):
        return None
    shown = (
        *names.get_values_for_type(x509.DNSName),
        *(str(address) for address in names.get_values_for_type(x509.IPAddress)),
    )
    begin = max(signer.not_valid_before_utc, own.not_valid_before_utc)
    end = min(signer.not_valid_after_utc, own.not_valid_after_utc)
    return ServerCertificate(authority, certificate, key, begin.timestamp(), end.timestamp(), shown)


def due(found: Sequence[ServerCertificate], names: Sequence[str], now: float) -> tuple[ServerCertificate, ...]:
    """Those that there should be, the newest first, at most two; `found` itself where nothing is due.

    A new one takes the names of the one before, too: two replicas that are reached by different names would else
    make one after the other.
    """
    good = sorted((own for own in found if own.is_good(now)), key=lambda own: own.begin, reverse=True)[:2]
    newest = good[0] if good else None
    if newest is None or now >= newest.renewal or not set(names) <= set(newest.names):
        before = newest.names if newest is not None else ()
        return (made_certificate([*names, *before][: max(MOST_NAMES, len(names))], now), *good[:1])
    if len(good) > 1 and now - newest.begin - SKEW > OVERLAP:
        good = good[:1]
    return tuple(good)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, begin: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(max(end, begin + timedelta(seconds=1)))
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
