"""Until when a certificate or a token is good: an API server says only that it does not accept it."""

import base64
import binascii
import ssl
from datetime import UTC, datetime

import msgspec

SEQUENCE, UTC_TIME, GENERALIZED_TIME, VERSION = 0x30, 0x17, 0x18, 0xA0
_FORMS = {UTC_TIME: "%y%m%d%H%M%SZ", GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}


class _Claims(msgspec.Struct):
    exp: float


def certificate_end(pem: str) -> datetime | None:
    """Of the first certificate in it; None where that cannot be read."""
    try:
        begin = pem.index("-----BEGIN CERTIFICATE-----")
        end = pem.index("-----END CERTIFICATE-----", begin) + len("-----END CERTIFICATE-----")
        _, certificate, _ = _item(ssl.PEM_cert_to_DER_cert(pem[begin:end]))
        _, body, _ = _item(certificate)
        kind, _, rest = _item(body)
        if kind == VERSION:
            _, _, rest = _item(rest)
        # After the serial number: the algorithm, who signed it, from when to when.
        _, _, rest = _item(rest)
        _, _, rest = _item(rest)
        _, validity, _ = _item(rest)
        _, _, rest = _item(validity)
        kind, text, _ = _item(rest)
        return datetime.strptime(text.decode(), _FORMS[kind]).replace(tzinfo=UTC)
    except (ValueError, KeyError, IndexError):
        return None


def token_end(token: str) -> datetime | None:
    """Of a JSON web token, as service accounts and OpenID Connect have them; None for any other."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return datetime.fromtimestamp(msgspec.json.decode(claims, type=_Claims).exp, UTC)
    except (binascii.Error, msgspec.MsgspecError, ValueError, OverflowError, OSError):
        return None


def _item(data: bytes) -> tuple[int, bytes, bytes]:
    """The first item of DER: its kind, its content, and what comes after it."""
    length, begin = data[1], 2
    if length & 0x80:
        begin += length & 0x7F
        length = int.from_bytes(data[2:begin], "big")
    return data[0], data[begin : begin + length], data[begin + length :]
