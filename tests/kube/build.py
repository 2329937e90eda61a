"""The programs of Kubernetes and etcd, and ours for the outside of a kubelet: built once with Go, and kept."""

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from tests.packages import program

RELEASE, OLDER = "v1.36.4", "v1.34.4"
"""Of the cluster, and of another kubelet that may join it."""
HELM = "helm-v3.21.4"
"""By itself: a change of it builds nothing else again. Its modules of Kubernetes are those of the cluster, which are
compiled already."""
RIVAL = "scheduler-plugins-v0.34.7"
"""A scheduler of the older release with the plugin NodeResourceTopologyMatch; only for the comparison, and only built
when it is asked for. Of its newer releases no module can be had."""
JOBSET, LWS = "jobset-v0.12.0", "lws-v0.9.0"
"""Controllers that are no part of Kubernetes, against its modules that are compiled already. Of the newest one of the
second no module can be had."""
SOURCES = Path(__file__).with_name("programs")
BUILD_SECONDS = 3600.0
CURE = "run `python -m tests.kube`"

OFFLINE = ("dial tcp", "no such host", "i/o timeout", "connection refused", "TLS handshake timeout", "GOPROXY=off")
"""How Go words that it cannot fetch a module."""

FLAGS = ("-trimpath", "-buildvcs=false", "-mod=readonly")
_VERSION = "k8s.io/component-base/version"


class Program(NamedTuple):
    name: str
    module: str
    """The folder of its go.mod under `programs`."""
    package: str


KUBELET = "k8s.io/kubernetes/cmd/kubelet"
PROGRAMS = (
    Program("cri", "cri", "."),
    Program("kubelet", "kubernetes", KUBELET),
    Program("etcd", "kubernetes", "go.etcd.io/etcd/server/v3"),
    Program("kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
    Program("kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
    Program("kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    Program("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl"),
)
RELEASES = {
    RELEASE: PROGRAMS,
    OLDER: (Program("kubelet", "kubelet-1.34", KUBELET),),
    HELM: (Program("helm", "helm", "helm.sh/helm/v3/cmd/helm"),),
    RIVAL: (Program("kube-scheduler", "scheduler-plugins", "."),),
    JOBSET: (Program("jobset", "controllers", "sigs.k8s.io/jobset"),),
    LWS: (Program("lws", "controllers", "sigs.k8s.io/lws/cmd"),),
}
OBJECTS = {JOBSET: ("sigs.k8s.io/jobset", "config/components"), LWS: ("sigs.k8s.io/lws", "config")}
"""Release -> its module, and the folder in there that has `OBJECT_FOLDERS`, which are kept beside the program."""
OBJECT_FOLDERS = ("crd", "webhook")
KUBELETS = tuple(release for release, own in RELEASES.items() if any(program.name == "kubelet" for program in own))
"""The releases of which there is a kubelet."""


def flags(release: str) -> tuple[str, ...]:
    """Without the version in it a component takes itself for v0.0.0, and others refuse it."""
    if release == HELM:
        # Without a cluster it takes this release of Kubernetes for granted.
        major, minor, _ = RELEASE.removeprefix("v").split(".")
        helm = "helm.sh/helm/v3"
        known = "".join(
            f" -X {helm}/{package}.k8sVersionMajor={major} -X {helm}/{package}.k8sVersionMinor={minor}"
            for package in ("pkg/chartutil", "pkg/lint/rules")
        )
        version = release.removeprefix("helm-")
        return (*FLAGS, f"-ldflags=-s -w -X {helm}/internal/version.version={version}{known}")
    # A program that is not one of Kubernetes names the release whose modules it is made of.
    version = OLDER if release == RIVAL else RELEASE if release in OBJECTS else release
    linked = f"-s -w -X {_VERSION}.gitVersion={version} -X {_VERSION}.gitTreeState=clean"
    return (*FLAGS, f"-ldflags={linked}")


def cache() -> Path:
    own = os.environ.get("NUMAFIT_KUBE_CACHE")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numafit" / "kube"


def digest(release: str = RELEASE) -> str:
    """Of all that the programs are made of: another recipe is another folder."""
    programs = RELEASES[release]
    content = hashlib.sha256(repr((programs, flags(release), *OBJECTS.get(release, ()))).encode())
    for module in sorted({own.module for own in programs}):
        for path in sorted((SOURCES / module).iterdir()):
            content.update(f"{module}/{path.name}\n".encode() + path.read_bytes())
    return content.hexdigest()[:16]


def binaries(release: str = RELEASE) -> Path:
    """The folder of the programs, whether they are built or not."""
    return cache() / digest(release) / "bin"


def build(release: str = RELEASE, tell: Callable[[str], None] = lambda _: None, seconds: float = BUILD_SECONDS) -> Path:
    """The folder of the programs, built if they are not there. Of several processes one builds, the others wait.

    What a build that was killed, or had too little time, has finished is not built again; Go's own cache has most of
    the rest.
    """
    end = time.monotonic() + seconds
    folder = binaries(release)
    if folder.exists():
        return folder
    target = folder.parent
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        if not _is_locked(lock):
            tell("another process builds the programs: waiting for it")
            while not _is_locked(lock):
                if time.monotonic() > end:
                    raise RuntimeError(f"another process has built the programs for {seconds:.0f} s, and is not done")
                time.sleep(1)
        if not folder.exists():
            _build(release, target, tell, end)
    return folder


def _is_locked(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _build(release: str, target: Path, tell: Callable[[str], None], end: float) -> None:
    go = program("go")
    if not go:
        raise RuntimeError("Go is not installed, and the programs of Kubernetes are built with it")
    unfinished = target.with_suffix(".building")
    (unfinished / "bin").mkdir(parents=True, exist_ok=True)
    programs = RELEASES[release]
    for number, own in enumerate(programs, 1):
        path = unfinished / "bin" / own.name
        if path.exists():
            continue
        began = time.monotonic()
        new = path.with_suffix(".new")
        command = [go, "build", *flags(release), "-o", str(new), own.package]
        said, _ = _said_by_go(command, SOURCES / own.module, end)
        if said is None:
            done = f"{number - 1} of {len(programs)} programs are built and kept"
            raise RuntimeError(f"there was no time to build {own.name}; {done}, and the next build goes on there")
        if said:
            offline = next((words for words in OFFLINE if words in said), "")
            why = "no Go module proxy answers (GOPROXY names one): " if offline else ""
            raise RuntimeError(f"{own.name} cannot be built: {why}{said[-2000:]}")
        new.replace(path)
        tell(f"{number} of {len(programs)}: {own.name}, {time.monotonic() - began:.0f} s")
    if release in OBJECTS:
        _keep_objects(go, release, unfinished, end)
    unfinished.replace(target)


def _keep_objects(go: str, release: str, target: Path, end: float) -> None:
    """The definitions of a controller's objects and its webhooks, as its module has them."""
    module, within = OBJECTS[release]
    command = [go, "list", "-m", "-f", "{{.Dir}}", module]
    said, printed = _said_by_go(command, SOURCES / RELEASES[release][0].module, end)
    if said != "":
        raise RuntimeError(f"the folder of {module} cannot be found: {said}")
    source = Path(printed.strip()) / within
    for path in (path for folder in OBJECT_FOLDERS for path in sorted((source / folder).rglob("*.yaml"))):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())


def _said_by_go(command: Sequence[str], folder: Path, end: float) -> tuple[str | None, str]:
    """Its complaint, empty when it succeeded and None when it had to be ended; what it printed. It ends with its
    compilers."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            printed, said = process.communicate(timeout=max(end - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return ((said.strip() or f"status {process.returncode}") if process.returncode else ""), printed


def missing() -> str:
    """One sentence on what this machine lacks for a cluster; empty when it can be started."""
    if sys.platform != "linux":
        return f"the cluster needs Linux, and this is {sys.platform}"
    if not binaries().exists():
        if not program("go"):
            return "the programs of Kubernetes are not built, and there is no Go to build them with"
        return f"the programs of Kubernetes are not built: {CURE}"
    lacking = [name for name in ("openssl", "unshare", "nsenter") if not shutil.which(name)]
    return f"the cluster needs {' and '.join(lacking)}" if lacking else ""


def missing_for_kubelets(release: str = RELEASE) -> str:
    """What a real kubelet needs beside a cluster."""
    if lacking := missing():
        return lacking
    if not binaries(release).exists():
        return f"the kubelet {release} is not built: {CURE} --release {release}"
    return "" if os.geteuid() == 0 else "only root can start a kubelet"


def missing_for_helm() -> str:
    """What the chart's tests need; they need no cluster."""
    if binaries(HELM).exists():
        return ""
    if not program("go"):
        return "helm is not built, and there is no Go to build it with"
    return f"helm is not built: {CURE} --release {HELM}"


def missing_for_controller(release: str) -> str:
    """What a controller that is no part of Kubernetes needs beside a cluster."""
    if lacking := missing():
        return lacking
    return "" if binaries(release).exists() else f"{release} is not built: {CURE} --release {release}"


def missing_for_rival() -> str:
    """What the comparison with scheduler-plugins needs beside a cluster."""
    if lacking := missing():
        return lacking
    return "" if binaries(RIVAL).exists() else f"the rival's scheduler is not built: {CURE} --release {RIVAL}"
