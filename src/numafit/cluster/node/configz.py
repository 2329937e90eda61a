"""What a running kubelet says of its own configuration: asked for at the kubelet itself, else through the API server.

A kubelet of 1.33 or later wants no more than the right to get nodes/configz for it. The API server knows no such right:
through it nodes/proxy is needed, which is nearly that of root.
"""

import asyncio
import ssl
from http import HTTPStatus
from pathlib import Path

import httpx2
import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.credentials import authorization, handed_out, tls_context
from numafit.cluster.kube.objects import NODES
from numafit.errors import ApiServerError, InputError

CONFIGZ = "configz"
RIGHT_SINCE = 33
"""The minor from which nodes/configz will do."""
SECONDS = 5.0
CERTIFICATES = ("pki/kubelet-server-current.pem", "pki/kubelet.crt")
"""In the kubelet's folder: what it shows to those who ask it. Most often no authority has signed it."""
LOOPBACK = "127.0.0.1"
"""Where a kubelet answers that listens there only."""


class KubeletAddress(msgspec.Struct, frozen=True):
    hosts: tuple[str, ...]
    port: int


async def asked_configz(api: KubeApi, name: str, address: KubeletAddress | None, folder: Path, minor: int) -> str:
    """Raises ApiServerError with both reasons."""
    reasons = []
    places = () if address is None else tuple(f"{host}:{address.port}" for host in (*address.hosts, LOOPBACK))
    for place in places:
        try:
            return await asyncio.to_thread(_of_kubelet, api, place, folder)
        except httpx2.HTTPStatusError as error:
            status = error.response.status_code
            right = "nodes/configz" if minor >= RIGHT_SINCE else "nodes/proxy"
            forbidden = f"the right is lacking to get {right}"
            reasons.append(forbidden if status == HTTPStatus.FORBIDDEN else f"the kubelet answers {status}")
            break
        except (httpx2.HTTPError, OSError, InputError) as error:
            reasons.append(f"the kubelet at {place} does not answer: {error}")
    try:
        return (await api.get(f"{NODES}/{name}/proxy/{CONFIGZ}")).decode("utf-8", "replace")
    except ApiServerError as error:
        forbidden = "the right is lacking to get nodes/proxy"
        reasons.append(forbidden if error.status == HTTPStatus.FORBIDDEN else error.message)
        raise ApiServerError("; ".join(reasons), source=CONFIGZ, status=error.status) from None


def _of_kubelet(api: KubeApi, address: str, folder: Path) -> str:
    user = handed_out(api.access)
    shown = authorization(api.access, user)
    headers = {"Authorization": shown} if shown else {}
    with httpx2.Client(verify=_context(api, folder), timeout=SECONDS, trust_env=False) as client:
        answer = client.get(f"https://{address}/{CONFIGZ}", headers=headers)
        answer.raise_for_status()
        return answer.text


def _context(api: KubeApi, folder: Path) -> ssl.SSLContext:
    """Trusts what lies in the kubelet's own folder, beside the cluster's authority: a token is shown to nobody else.

    What a kubelet signed itself names its host, and not the address.
    """
    context = tls_context(api.access, handed_out(api.access))
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    for name in CERTIFICATES:
        if (folder / name).is_file():
            context.load_verify_locations(cafile=str(folder / name))
    return context
