"""Credentials that another program hands out: the `exec` of a kubeconfig, as cloud providers use it.

The program prints an ExecCredential with a token, or with a certificate and its key. What it says to people goes
through to standard error, and it may ask them on a terminal.
"""

import base64
import os
import subprocess
import sys
import threading

import msgspec
from lightkube.config.models import Cluster, NameValue, UserExec

from numafit.errors import InputError

GROUP = "client.authentication.k8s.io/"
VERSIONS = ("v1", "v1beta1", "v1alpha1")
SECONDS = 120.0
"""For a program that cannot ask anybody; where it can, a person ends it."""
LARGEST = 1 << 20
"""Bytes of what it prints."""


class ExecPlugin(UserExec, omit_defaults=True):
    env: list[NameValue] | None = None
    provideClusterInfo: bool = False
    interactiveMode: str | None = None


class Credential(msgspec.Struct, frozen=True):
    token: str | None = None
    clientCertificateData: str | None = None
    clientKeyData: str | None = None


class ExecCredential(msgspec.Struct, frozen=True):
    status: Credential
    apiVersion: str = ""


def credential(plugin: ExecPlugin, cluster: Cluster) -> Credential:
    """Runs the program. Raises InputError where it hands out nothing."""
    group, _, version = plugin.apiVersion.rpartition("/")
    if f"{group}/" != GROUP or version not in VERSIONS:
        cure = f"known are {', '.join(GROUP + each for each in VERSIONS)}"
        raise InputError(f"credentials of {plugin.apiVersion} are not known", source=plugin.command, cure=cure)
    output = _output(plugin, cluster)
    try:
        found = msgspec.json.decode(output, type=ExecCredential)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise InputError("prints no ExecCredential", source=plugin.command, cure="run it by hand to see why") from None
    if found.apiVersion != plugin.apiVersion:
        why = f"answers in {found.apiVersion or 'no version'}, and the kubeconfig asks for {plugin.apiVersion}"
        raise InputError(why, source=plugin.command, cure="make both the same in the kubeconfig")
    status = found.status
    if not status.token and not (status.clientCertificateData and status.clientKeyData):
        raise InputError("hands out neither a token nor a certificate", source=plugin.command)
    return status


def encoded(pem: str | None) -> str | None:
    """As a kubeconfig holds it."""
    return base64.b64encode(pem.encode()).decode() if pem else None


def _output(plugin: ExecPlugin, cluster: Cluster) -> bytes:
    environment = {**os.environ, **{each.name: each.value for each in plugin.env or ()}}
    interactive = plugin.interactiveMode != "Never" and sys.stdin is not None and sys.stdin.isatty()
    environment["KUBERNETES_EXEC_INFO"] = _info(plugin, cluster, interactive=interactive)
    try:
        process = subprocess.Popen(
            [plugin.command, *(plugin.args or ())],
            env=environment,
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
    except (OSError, ValueError) as error:
        hint = " ".join((plugin.installHint or "").split())
        cure = hint or "the kubeconfig names it for its credentials; is it installed, and on the PATH?"
        why = f"cannot be run: {getattr(error, 'strerror', None) or error}"
        raise InputError(why, source=plugin.command, cure=cure) from None
    output = _first_bytes(process, None if interactive else SECONDS)
    if output is None:
        why = f"hands out no credentials within {SECONDS:g} s"
        raise InputError(why, source=plugin.command, cure="run it by hand to see what it waits for")
    if len(output) > LARGEST:
        raise InputError("prints no ExecCredential", source=plugin.command, cure="run it by hand to see why")
    if process.returncode:
        why = f"hands out no credentials, it ended with status {process.returncode}"
        raise InputError(why, source=plugin.command, cure="log in again; what it says stands above")
    return output


def _first_bytes(process: "subprocess.Popen[bytes]", seconds: float | None) -> bytes | None:
    """What it prints until its end, or one byte too many; None where it takes longer. Then it runs no more."""
    found: list[bytes] = []

    def read() -> None:
        if process.stdout is not None:
            with process.stdout as output:
                found.append(output.read(LARGEST + 1))

    # A thread, since another program that it started may keep its output open after its end.
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(seconds)
    output = found[0] if found else None
    if output is not None and len(output) <= LARGEST:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            output = None
    if process.poll() is None:
        process.kill()
        process.wait()
    return output


def _info(plugin: ExecPlugin, cluster: Cluster, *, interactive: bool) -> str:
    spec: dict[str, object] = {"interactive": interactive}
    if plugin.provideClusterInfo:
        told = {"server": cluster.server, "certificate-authority-data": cluster.certificate_auth_data}
        spec["cluster"] = {name: value for name, value in told.items() if value}
    info = {"kind": "ExecCredential", "apiVersion": plugin.apiVersion, "spec": spec}
    return msgspec.json.encode(info).decode()
