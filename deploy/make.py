"""Writes the parts of deploy/ that the code defines: rights and objects of the chart, the Kustomize base, what the
image installs. `./dev deploy` calls it, `./dev deploy check` with `--check`: then it writes nothing, and says what is
not current.

Rights are defined once, beside the code that uses them (`manifest.py` of each room). The chart reads them as plain YAML
from its folder `files`, so that they can be read and reviewed without Python.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from numafit import __version__
from numafit.cli.commands import numafit
from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.guard.manifest import guard_manifest
from numafit.cluster.live.words import GUARD
from numafit.cluster.node.manifest import manifest as agent_manifest
from numafit.cluster.orders.words import ORDERS
from numafit.cluster.view.rights import page_account

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "numafit"
RIGHTS = CHART / "files" / "rights"
BASE = DEPLOY / "kustomize" / "base"
DEFINITION = ROOT / "src" / "numafit" / "cluster" / "topology" / "nodetopologies.yaml"
NAMESPACE = "numafit"
PLACEHOLDER = "namespace-of-the-release"
"""The chart puts the release's namespace here; no object has it in any other meaning."""
IMAGE = "numafit"
"""Of the Kustomize base: an overlay gives this name a registry and a tag."""
WORKLOADS = ("DaemonSet", "Deployment", "Job", "Service", "PodDisruptionBudget")
MADE = "# Made by `./dev deploy` from the code. Do not edit.\n"

Json = dict[str, Any]


def made() -> dict[Path, str]:
    """File -> content."""
    return {
        CHART / "files" / DEFINITION.name: MADE + DEFINITION.read_text(),
        RIGHTS / "node-agent.yaml": rights(agent_variants()),
        RIGHTS / "place.yaml": rights(place_variants()),
        RIGHTS / "guard.yaml": rights(guard_variants()),
        RIGHTS / "page.yaml": rights({"page": page_account(PLACEHOLDER)}),
        CHART / "Chart.yaml": chart_with_version(),
        **kustomize_base(),
        DEPLOY / "requirements.lock": locked(runtime_packages()),
        DEPLOY / "build-requirements.lock": locked({"hatchling"}),
    }


# Rights


def agent_variants() -> dict[str, str]:
    """Name of a variant, as the chart's template puts it together -> manifest."""
    return {
        "-".join(("agent", *(["topology"] if more else []), *(["switch"] if orders else []))): agent_manifest(
            PLACEHOLDER, IMAGE, resource_topology=more, orders=orders
        )
        for more in (False, True)
        for orders in ("", ORDERS)
    }


def place_variants() -> dict[str, str]:
    """With the guard beside it, or without; with the policy for Jobs, for all namespaces or for those that want it."""
    chosen = ((), ("jobs",), ("opt-in", "jobs"))
    return {
        "-".join(("guard", guard, *own)): printed(
            "place", PLACEHOLDER, f"--guard={guard}", *(f"--{word}" for word in own)
        )
        for guard in ("off", "dry-run", "on")
        for own in chosen
    }


def printed(command: str, namespace: str, *options: str) -> str:
    """What a command prints as its manifest."""
    words = [command, "--manifest", f"--image={IMAGE}", f"--namespace={namespace}", *options]
    done = CliRunner().invoke(numafit, words, catch_exceptions=False)
    if done.exit_code:
        sys.exit(f"numafit {' '.join(words)}: {done.output}")
    return done.stdout


def guard_variants() -> dict[str, str]:
    webhook = WebhookOptions(PLACEHOLDER, GUARD)
    words = ("opt-in", "jobs", "webhook")
    chosen = [own for count in range(len(words) + 1) for own in combinations(words, count)]
    acting = {
        "-".join(("enforce", *own)): guard_manifest(
            PLACEHOLDER,
            IMAGE,
            enforce=True,
            opt_in="opt-in" in own,
            jobs="jobs" in own,
            webhook=webhook if "webhook" in own else None,
        )
        for own in chosen
    }
    return {"dry-run": guard_manifest(PLACEHOLDER, IMAGE), **acting}


def rights(variants: Mapping[str, str]) -> str:
    """What is no workload and no definition, which the chart has templates for: each object once, with the variants
    that have it."""
    left_out = (*WORKLOADS, "Namespace", "CustomResourceDefinition")
    found: list[Json] = []
    for name, text in variants.items():
        for own in objects(text):
            same = [each for each in found if each["object"] == own]
            if same:
                same[0]["variants"].append(name)
            elif own["kind"] not in left_out:
                found.append({"variants": [name], "object": own})
    return MADE + text_of(found)


def objects(manifest: str) -> list[Json]:
    return [each for each in yaml.safe_load_all(manifest) if each]


def only(found: list[Json], kind: str) -> Json:
    (own,) = (each for each in found if each["kind"] == kind)
    return own


class Plain(yaml.SafeDumper):
    """Without anchors: a reader should find all rules of an object in it."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def text_of(content: object) -> str:
    return yaml.dump(content, Dumper=Plain, sort_keys=False, width=118)


# The Kustomize base


def kustomize_base() -> dict[Path, str]:
    """What `--manifest` of the commands prints, with what a chart adds to it: network policies."""
    parts = {
        "node-agent": objects(printed("node-agent", NAMESPACE)),
        # The loop guard is beside it, and only tells.
        "place": objects(printed("place", NAMESPACE)),
    }
    namespace = only(parts["node-agent"], "Namespace")
    shared = ("Namespace", "CustomResourceDefinition")
    files = {
        "namespace.yaml": [namespace],
        **{f"{name}.yaml": [each for each in own if each["kind"] not in shared] for name, own in parts.items()},
        "network-policies.yaml": [network_policy(name, own) for name, own in parts.items()],
    }
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [DEFINITION.name, *files],
    }
    texts = {BASE / name: MADE + "---\n".join(map(text_of, own)) for name, own in files.items()}
    texts[BASE / DEFINITION.name] = MADE + DEFINITION.read_text()
    return {**texts, BASE / "kustomization.yaml": MADE + text_of(kustomization)}


def network_policy(name: str, own: list[Json]) -> Json:
    """Nobody reaches its pods but at the ports that they name. What they may reach is not limited: where the API
    server is, only a cluster knows."""
    (workload,) = (each for each in own if each["kind"] in ("DaemonSet", "Deployment"))
    template = workload["spec"]["template"]
    ports = [port["name"] for each in template["spec"]["containers"] for port in each["ports"]]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": workload["metadata"]["name"], "namespace": workload["metadata"]["namespace"]},
        "spec": {
            "podSelector": workload["spec"]["selector"],
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"protocol": "TCP", "port": port} for port in ports]}],
        },
    }


# The image


def runtime_packages() -> set[str]:
    """What pyproject.toml asks for, with the extra that a cluster needs; not the tools of development."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["kubernetes"]]
    return {re.split(r"[<>=!~;\[ ]", each, maxsplit=1)[0].lower() for each in asked}


def locked(wanted: set[str]) -> str:
    """These packages and all that they need, as requirements.lock pins them, with their hashes."""
    pins = dict(read_lock((ROOT / "requirements.lock").read_text()))
    needed: dict[str, set[str]] = {}
    for name, text in pins.items():
        for user in users(text):
            needed.setdefault(user, set()).add(name)
    found: set[str] = set()
    queue = sorted(wanted)
    while queue:
        name = queue.pop()
        if name not in found:
            found.add(name)
            queue += sorted(needed.get(name, ()))
    if lacking := found - pins.keys():
        sys.exit(f"requirements.lock does not pin {', '.join(sorted(lacking))}: run ./dev lock")
    return MADE + "".join(text for name, text in pins.items() if name in found)


def read_lock(text: str) -> Iterator[tuple[str, str]]:
    """(name, its lines) of each pin."""
    for own in re.split(r"^(?=\S)", text, flags=re.MULTILINE):
        if own.strip():
            yield own.partition("==")[0], own


def users(pin: str) -> set[str]:
    """The packages for which it is there: those in the comment below a pin."""
    _, _, comment = pin.partition("# via")
    return {line.strip(" #") for line in comment.splitlines() if line.strip(" #")}


# The chart


def chart_with_version() -> str:
    """The chart goes with the program, and has its version."""
    text = (CHART / "Chart.yaml").read_text()
    text = re.sub(r"^version: .*$", f"version: {__version__}", text, flags=re.MULTILINE)
    return re.sub(r"^appVersion: .*$", f'appVersion: "{__version__}"', text, flags=re.MULTILINE)


def main(arguments: list[str]) -> int:
    check = arguments == ["--check"]
    if arguments and not check:
        sys.exit("deploy takes no arguments but `check`")
    stale = [path for path, text in made().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)}: is not what ./dev deploy makes", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made()[path])
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
