"""What goes wrong between numafit and an API server: one sentence for each, with what to do."""

import base64
import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path

import httpx2
import msgspec

from numafit.cluster.kube.access import Access
from numafit.cluster.kube.expiry import certificate_end, token_end
from numafit.errors import ApiServerError, DisruptionBudgetError

EXPIRED, NOT_YET, NAMES_OTHERS = 10, 9, (62, 64)
"""Codes of OpenSSL for a certificate that is not accepted."""
TLS_WANTED = b"Client sent an HTTP request to an HTTPS server"
"""What Go's server answers."""
BUDGET = "DisruptionBudget"
"""The reason of a refusal that another pod or some time may end."""
WEB_PAGE = "a web page came instead of an answer of an API server"
IN_BETWEEN = (
    "a proxy or a login page stands in between: look at `server` in the kubeconfig, at HTTPS_PROXY and NO_PROXY"
)


class StatusCause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""


class StatusDetails(msgspec.Struct, frozen=True):
    causes: tuple[StatusCause, ...] = ()


class Status(msgspec.Struct, frozen=True):
    """What an API server says when it refuses."""

    message: str = ""
    details: StatusDetails = StatusDetails()


def no_answer(error: Exception, access: Access, seconds: float) -> ApiServerError:
    """`error` is one of httpx2, or what it stands on."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _distrusted(cause, access)
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return _broken_tls(cause, access)
        if isinstance(cause, socket.gaierror):
            return _failed(access, "its name is not known here", "is the VPN on, and `server` right in the kubeconfig?")
    if isinstance(error, httpx2.ProxyError):
        return _failed(access, f"the proxy refuses: {error}", "look at HTTPS_PROXY, NO_PROXY and `proxy-url`")
    if isinstance(error, httpx2.ConnectTimeout):
        return _failed(access, f"nobody answers within {seconds:g} s", "is the VPN on, and does a firewall let you in?")
    if isinstance(error, httpx2.TimeoutException):
        return _failed(access, f"no answer within {seconds:g} s", "the API server is busy or stuck: try again")
    if isinstance(error, httpx2.ConnectError):
        why = next((cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror), str(error))
        return _failed(access, f"cannot be reached: {why}", "is the cluster up, and `server` right in the kubeconfig?")
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return _failed(access, "is no address of an API server", "`server` begins with https:// in a kubeconfig")
    what = f"the connection broke: {error or type(error).__name__}"
    return _failed(access, what, "try again; where it stays so, a proxy in between may be to blame")


def caused(error: Exception, cause: Exception) -> Exception:
    """With what it stands on, for `no_answer`."""
    error.__cause__ = cause
    return error


def refused(response: httpx2.Response, access: Access) -> ApiServerError:
    """The answer has a status of 300 or more, or is none of an API server."""
    status = response.status_code
    said = _said(response)
    if status == HTTPStatus.UNAUTHORIZED:
        return _unknown_user(access)
    if status == HTTPStatus.FORBIDDEN and said:
        cure = "ask for that right: the page of this command in docs/ tells the role with all that is needed"
        return _failed(access, said, cure, status)
    if status == HTTPStatus.NOT_FOUND:
        return _failed(access, said or "there is nothing of that kind", "", status)
    budget = _budget(response) if status == HTTPStatus.TOO_MANY_REQUESTS else ""
    if budget:
        return DisruptionBudgetError(budget, source=access.cluster.server, status=status)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return _failed(access, "the API server lets nobody in: too many requests", "try again in a minute", status)
    if said:
        why = f"the API server answers with status {status}: {said}"
        return _failed(access, why, "try again, or look at its log" if status >= 500 else "", status)
    if TLS_WANTED in response.content:
        return _failed(access, "it speaks TLS only", "`server` begins with https:// in its kubeconfig")
    if 300 <= status < 400 or _is_page(response):
        return _failed(access, f"{WEB_PAGE} (status {status})", IN_BETWEEN)
    return _failed(access, f"what answers with status {status} is no API server", IN_BETWEEN)


def no_json(response: httpx2.Response, access: Access) -> ApiServerError:
    return _failed(access, WEB_PAGE if _is_page(response) else "the answer is no JSON", IN_BETWEEN)


def endless(why: str, access: Access) -> ApiServerError:
    return _failed(access, why, "is `server` in the kubeconfig an API server?")


def _failed(access: Access, why: str, cure: str, status: int = 0) -> ApiServerError:
    return ApiServerError(why, source=access.cluster.server, cure=cure, status=status)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _distrusted(error: ssl.SSLCertVerificationError, access: Access) -> ApiServerError:
    if error.verify_code == EXPIRED:
        return _failed(access, "its certificate has expired", "its administrator must renew it; is your clock right?")
    if error.verify_code == NOT_YET:
        return _failed(access, "its certificate is not valid yet", "is your clock right?")
    if error.verify_code in NAMES_OTHERS:
        cure = "use a name that the certificate holds as `server`, or set `tls-server-name` in the kubeconfig"
        return _failed(access, f"its certificate is for other names: {error.verify_message}", cure)
    cure = "`certificate-authority` in the kubeconfig is not the one of this cluster: fetch the kubeconfig again"
    return _failed(access, f"its certificate is not trusted: {error.verify_message}", cure)


def _broken_tls(error: ssl.SSLError, access: Access) -> ApiServerError:
    reason = (error.reason or str(error)).lower().replace("_", " ")
    if "wrong version number" in reason or "http request" in reason:
        return _failed(access, "does not speak TLS", "should `server` begin with http:// in the kubeconfig?")
    if "alert" in reason:
        return _failed(
            access, f"your certificate is refused: {reason}", _expired(access) or "log in to the cluster again"
        )
    return _failed(access, f"TLS fails: {reason}", IN_BETWEEN)


def _unknown_user(access: Access) -> ApiServerError:
    who = f"the credentials of user {access.user_name}" if access.user_name else "your credentials"
    user = access.user
    none = not (
        user.token or user.token_file or user.exec or user.username or user.client_cert or user.client_cert_data
    )
    if none:
        why, cure = (
            "the API server wants to know who asks",
            "the kubeconfig holds no credentials: log in to the cluster",
        )
    else:
        why, cure = f"{who} are not accepted", _expired(access) or "log in to the cluster again"
    return _failed(access, why, cure, HTTPStatus.UNAUTHORIZED)


def _expired(access: Access) -> str:
    """What is known to be over; empty where nothing is."""
    ends = {"client certificate": certificate_end(_pem(access)), "token": token_end(_token(access))}
    for what, end in ends.items():
        if end is not None and end < datetime.now(UTC):
            return f"the {what} has expired, on {end:%Y-%m-%d at %H:%M} UTC: log in to the cluster again"
    return ""


def _pem(access: Access) -> str:
    user = access.user
    try:
        if user.client_cert_data:
            return base64.b64decode(user.client_cert_data).decode()
        return Path(user.client_cert).read_text() if user.client_cert else ""
    except (ValueError, OSError):
        return ""


def _token(access: Access) -> str:
    try:
        return Path(access.user.token_file).read_text() if access.user.token_file else access.user.token or ""
    except (ValueError, OSError):
        return ""


def _said(response: httpx2.Response) -> str:
    """In the words of the API server; empty where it did not say anything of its own."""
    return " ".join(_status(response).message.split())


def _status(response: httpx2.Response) -> Status:
    try:
        return msgspec.json.decode(response.content, type=Status)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return Status()


def _budget(response: httpx2.Response) -> str:
    """Which PodDisruptionBudget keeps a pod from being evicted; empty where none does."""
    causes = [cause.message for cause in _status(response).details.causes if cause.reason == BUDGET]
    return " ".join("; ".join(causes).split())


def _is_page(response: httpx2.Response) -> bool:
    return "html" in response.headers.get("content-type", "") or response.content.lstrip()[:1] == b"<"
