"""Credentials that another program hands out: the `exec` of a kubeconfig, as cloud providers use it.

The program prints an ExecCredential with a token, or with a certificate and its key. What it says to people goes
through to standard error, and it may ask them on a terminal.
"""

import base64
import os
import subprocess
import sys

import msgspec
from lightkube.config.models import Cluster, NameValue, UserExec

from numafit.errors import InputError

GROUP = "client.authentication.k8s.io/"
VERSIONS = ("v1", "v1beta1", "v1alpha1")


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
    except msgspec.MsgspecError:
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
        done = subprocess.run(
            [plugin.command, *(plugin.args or ())],
            env=environment,
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        hint = " ".join((plugin.installHint or "").split())
        cure = hint or "the kubeconfig names it for its credentials; is it installed, and on the PATH?"
        raise InputError(f"cannot be run: {error.strerror or error}", source=plugin.command, cure=cure) from None
    if done.returncode:
        why = f"hands out no credentials, it ended with status {done.returncode}"
        raise InputError(why, source=plugin.command, cure="log in again; what it says stands above")
    return done.stdout


def _info(plugin: ExecPlugin, cluster: Cluster, *, interactive: bool) -> str:
    spec: dict[str, object] = {"interactive": interactive}
    if plugin.provideClusterInfo:
        told = {"server": cluster.server, "certificate-authority-data": cluster.certificate_auth_data}
        spec["cluster"] = {name: value for name, value in told.items() if value}
    info = {"kind": "ExecCredential", "apiVersion": plugin.apiVersion, "spec": spec}
    return msgspec.json.encode(info).decode()
