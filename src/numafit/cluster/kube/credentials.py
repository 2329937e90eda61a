"""What is shown to an API server: a certificate or a token, and whom to trust there."""

import base64
import ssl
from pathlib import Path
from tempfile import TemporaryDirectory

from lightkube.config.client_adapter import verify_cluster
from lightkube.core.exceptions import ConfigError
from msgspec.structs import replace

from numafit import __version__
from numafit.cluster.kube.access import Access, ClusterEntry, UserEntry
from numafit.cluster.kube.plugin import credential, encoded
from numafit.errors import InputError


def handed_out(access: Access) -> UserEntry:
    """The user with what a program hands out now, where a kubeconfig names one. Raises InputError."""
    user = access.user
    if user.exec is None or user.token or user.token_file:
        return user
    handed = credential(user.exec, access.cluster)
    certificate, key = encoded(handed.clientCertificateData), encoded(handed.clientKeyData)
    user = replace(user, exec=None, token=handed.token)
    return replace(user, client_cert_data=certificate, client_key_data=key) if certificate else user


def tls_context(access: Access, user: UserEntry) -> ssl.SSLContext:
    """Raises InputError where a file cannot be used."""
    cluster = access.cluster
    try:
        context = _context(cluster, user)
    except OSError as error:
        # ssl.SSLError is one of them.
        file = error.filename or cluster.certificate_auth or user.client_cert
        why = f"a certificate or key cannot be used: {error.strerror or error}"
        raise InputError(why, source=file or access.place, cure="fetch the kubeconfig again") from None
    except (ValueError, TypeError, ConfigError) as error:
        raise InputError(f"cannot be used: {error}", source=access.place) from None
    # Certificates of clusters are often made without what this asks for, and kubectl does not ask.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    return context


def _context(cluster: ClusterEntry, user: UserEntry) -> ssl.SSLContext:
    """What stands in the kubeconfig itself lies in files for as long as it is read, and no longer. Inside a pod nothing
    does, and there may be no place where it could be written."""
    inside = (cluster.certificate_auth_data, user.client_cert_data, user.client_key_data)
    if inside == (None, None, None):
        return verify_cluster(cluster, user, lambda name: name)
    with TemporaryDirectory(prefix="numafit-") as folder:

        def file(name: str, data: str | None, given: str | None) -> str | None:
            if data is None:
                return given
            path = Path(folder, name)
            path.write_bytes(base64.b64decode(data))
            return str(path)

        cluster = replace(
            cluster,
            certificate_auth=file("ca", cluster.certificate_auth_data, cluster.certificate_auth),
            certificate_auth_data=None,
        )
        user = replace(
            user,
            client_cert=file("certificate", user.client_cert_data, user.client_cert),
            client_key=file("key", user.client_key_data, user.client_key),
            client_cert_data=None,
            client_key_data=None,
        )
        return verify_cluster(cluster, user, lambda name: name)


def authorization(access: Access, user: UserEntry) -> str:
    """The header of that name; empty where a certificate speaks for itself. A file with a token is read each time: it
    is replaced before the token ends."""
    if user.token_file is not None:
        try:
            return f"Bearer {Path(user.token_file).read_text().strip()}"
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise InputError(f"the token cannot be read: {why}", source=user.token_file) from None
    if user.token is not None:
        return f"Bearer {user.token}"
    if user.username and user.password:
        return f"Basic {base64.b64encode(f'{user.username}:{user.password}'.encode()).decode()}"
    if user.auth_provider:
        cure = "log in again with a kubectl of 1.26 or later: it writes `exec` instead"
        raise InputError("`auth-provider` is not supported", source=access.place, cure=cure)
    return ""


def headers_of(access: Access) -> list[tuple[str, str]]:
    """Of every request: who asks, and in whose name."""
    user = access.user
    headers = [("User-Agent", f"numafit/{__version__}")]
    if user.acts_as:
        headers.append(("Impersonate-User", user.acts_as))
        headers += [("Impersonate-Group", group) for group in user.acts_as_groups or ()]
    return headers
