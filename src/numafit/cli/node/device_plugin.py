"""`numafit device-plugin`: devices of this node, offered to its kubelet."""

import re
from collections.abc import Sequence
from pathlib import Path

import click

from numafit.cli.files import read_text
from numafit.cli.options.extra import kubernetes_extra
from numafit.cli.options.machine import complete_machine, resolve_machine
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import answer, this_screen
from numafit.cli.warning import warn
from numafit.cluster.device.listing import offers_record, offers_text
from numafit.cluster.device.socket import PLUGINS, ROOT
from numafit.cluster.device.source.described import DescribedDevices
from numafit.cluster.device.source.file import MOST_REPLICAS, ListedDevices
from numafit.cluster.device.source.nvidia import (
    ENVVAR,
    ID_STRATEGIES,
    LIST_STRATEGIES,
    UUID,
    NvidiaGpus,
    NvidiaOptions,
)
from numafit.cluster.device.source.pci import PciDevices, PciFilter
from numafit.cluster.device.source.source import DeviceSource
from numafit.errors import InputError
from numafit.host.this_machine import live_machine
from numafit.machine.read.sysfs.tree import live_tree
from numafit.show.json import json_text

_CLASS = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2}){1,3})")
_VENDOR = re.compile(r"(?:0x)?([0-9a-fA-F]{4})(?::([0-9a-fA-F]{4}))?")


@click.command(
    "device-plugin",
    epilog="""\b
Examples:
  numafit device-plugin devices.yaml
  numafit device-plugin --pci-class 0108 --pci-driver vfio-pci --resource example.com/nvme
  numafit device-plugin --nvidia --pass-device-specs --device-list-strategy cdi-cri
  numafit device-plugin --nvidia --replicas 4
  numafit device-plugin --machine dgx-h100 --dry-run -o json""",
)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--machine", "spec", metavar="SPEC", shell_complete=complete_machine, help="Play the devices of a machine."
)
@click.option("--pci-class", metavar="HEX", help="PCI devices of this class, like 0302; its first digits will do.")
@click.option("--pci-vendor", metavar="HEX", help="PCI devices of this vendor, like 10de, or of one product 10de:2330.")
@click.option("--pci-driver", metavar="NAME", help="PCI devices that this driver has, like vfio-pci.")
@click.option("--resource", metavar="NAME", help="With --pci-…: what pods ask for, like example.com/fpga.")
@click.option("--nvidia", is_flag=True, help="NVIDIA's GPUs, as nvidia.com/gpu; not those that MIG cuts into slices.")
@click.option(
    "--device-list-strategy",
    "list_strategies",
    multiple=True,
    metavar="NAME",
    help=f"With --nvidia: how a container is told its GPUs: {', '.join(LIST_STRATEGIES)}; may be repeated.",
)
@click.option("--device-id-strategy", type=OneOf(ID_STRATEGIES), help="With --nvidia: what GPUs are called there.")
@click.option("--pass-device-specs", is_flag=True, help="With --nvidia: hand out the device files, too.")
@click.option(
    "--fail-on-init-error", type=bool, metavar="BOOLEAN", help="With --nvidia: false waits for a driver; default true."
)
@click.option("--replicas", type=click.IntRange(1, MOST_REPLICAS), help="List each device so often, to share it.")
@click.option(
    "--kubelet-dir",
    type=click.Path(path_type=Path),
    default=ROOT,
    show_default=True,
    help=f"The kubelet's root; its sockets are in {PLUGINS} there.",
)
@click.option(
    "--interval", type=click.FloatRange(0.05, 3600), default=5, show_default=True, help="Seconds to look again."
)
@click.option("--dry-run", is_flag=True, help="Print what would be offered, and end.")
@click.option("-o", "output", type=OneOf(["text", "json"]), help="With --dry-run: text or json.")
def device_plugin(
    file: Path | None,
    spec: str | None,
    pci_class: str | None,
    pci_vendor: str | None,
    pci_driver: str | None,
    resource: str | None,
    nvidia: bool,
    list_strategies: Sequence[str],
    device_id_strategy: str | None,
    pass_device_specs: bool,
    fail_on_init_error: bool | None,
    replicas: int | None,
    kubelet_dir: Path,
    interval: float,
    dry_run: bool,
    output: str | None,
) -> None:
    """Offer devices of this node to its kubelet, by its device plugin interface v1beta1, until told to stop.

    Devices come from a FILE that lists them, from the PCI bus, or from NVIDIA's driver; --machine plays those of a
    description, for tests. Pods get sets that belong together by NUMA node and links. For GPUs in production NVIDIA's
    own plugin is the better choice. Exit status: 0 told to stop, 2 it could not begin.
    """
    pci = {"--pci-class": pci_class, "--pci-vendor": pci_vendor, "--pci-driver": pci_driver}
    of_nvidia = {
        "--device-list-strategy": list_strategies,
        "--device-id-strategy": device_id_strategy,
        "--pass-device-specs": pass_device_specs,
        "--fail-on-init-error": None if fail_on_init_error is None else str(fail_on_init_error),
    }
    chosen = [
        name
        for name, value in (("FILE", file), ("--machine", spec), ("--pci-…", any(pci.values())), ("--nvidia", nvidia))
        if value
    ]
    if len(chosen) != 1:
        cure = "name one of FILE, --machine, --pci-class, --pci-vendor, --pci-driver and --nvidia"
        raise InputError(
            "it is not said which devices" if not chosen else f"{' and '.join(chosen)} do not go together", cure=cure
        )
    for name, value in of_nvidia.items():
        if value not in (None, False, ()) and not nvidia:
            raise InputError("goes with --nvidia only", source=name)
    if resource and chosen != ["--pci-…"]:
        raise InputError("goes with --pci-class, --pci-vendor or --pci-driver only", source="--resource")
    if output and not dry_run:
        raise InputError("goes with --dry-run only", source="-o")
    source: DeviceSource
    if file is not None:
        if replicas is not None:
            raise InputError("does not go with a FILE", source="--replicas", cure="write replicas in it")
        source = ListedDevices(file, read_text)
    elif spec is not None:
        described = spec
        source = DescribedDevices(lambda: resolve_machine((described,)).machine, replicas or 1)
    elif nvidia:
        source = _nvidia(
            tuple(list_strategies),
            device_id_strategy,
            pass_device_specs,
            fail_on_init_error is not False,
            replicas or 1,
        )
    else:
        source = _pci(pci_class, pci_vendor, pci_driver, resource, replicas or 1)
    if dry_run:
        _print(source, output or "text")
        return
    _serve(source, kubelet_dir / PLUGINS, interval)


def _print(source: DeviceSource, output: str) -> None:
    offers = source.read()
    if output == "json":
        click.echo(json_text(offers_record(offers)))
        return
    screen = this_screen()
    answer(offers_text(offers, screen), screen)


def _serve(source: DeviceSource, folder: Path, interval: float) -> None:
    with kubernetes_extra("to speak with a kubelet"):
        from numafit.cluster.device.service import serve_devices
    serve_devices(source, folder, interval, warn)


def _pci(
    pci_class: str | None, pci_vendor: str | None, driver: str | None, resource: str | None, replicas: int
) -> DeviceSource:
    if resource is None:
        raise InputError("it is not said what pods ask for", cure="name it with --resource example.com/fpga")
    found = _CLASS.fullmatch(pci_class or "00")
    if found is None:
        raise InputError(f'"{pci_class}" is not a PCI class', source="--pci-class", cure="write it like 0302")
    maker = _VENDOR.fullmatch(pci_vendor or "0000")
    if maker is None:
        raise InputError(f'"{pci_vendor}" is not a vendor', source="--pci-vendor", cure="write it like 10de")
    wanted = PciFilter(
        found[1] if pci_class else None,
        int(maker[1], 16) if pci_vendor else None,
        int(maker[2], 16) if maker[2] else None,
        driver,
    )
    return PciDevices(live_tree(), resource, wanted, replicas)


def _nvidia(strategies: tuple[str, ...], ids: str | None, specs: bool, fail: bool, replicas: int) -> DeviceSource:
    # NVIDIA's plugin takes several with commas between them.
    named = tuple(word for text in strategies for word in text.split(","))
    for word in named:
        if word not in LIST_STRATEGIES:
            cure = f"there are {', '.join(LIST_STRATEGIES)}"
            raise InputError(f'there is no "{word[:40]}"', source="--device-list-strategy", cure=cure)
    options = NvidiaOptions(named or (ENVVAR,), ids or UUID, specs, fail)
    return NvidiaGpus(options, live_machine, replicas)
