"""The extra `kubernetes`: whoever lacks a package of it is told which one, and how to get it."""

from collections.abc import Iterator
from contextlib import contextmanager

from numafit.errors import InputError

PACKAGES = {
    "cryptography": "cryptography",
    "google": "protobuf",
    "grpc": "grpcio",
    "httpx2": "httpx2",
    "lightkube": "lightkube",
}
"""As they are imported -> as they are installed."""


@contextmanager
def kubernetes_extra(purpose: str) -> Iterator[None]:
    """Around imports that need it; `purpose` begins the sentence."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = PACKAGES.get((error.name or "").partition(".")[0])
        if package is None:
            raise
        why = f"{purpose} the Python package {package} is needed, which is not installed"
        cure = "install numafit with it, in its checkout: pipx install --force '.[kubernetes]'"
        raise InputError(why, cure=cure) from None
