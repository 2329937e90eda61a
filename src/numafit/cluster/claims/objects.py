"""ResourceClaims and ResourceSlices of `resource.k8s.io`, v1beta1 to v1, no more of them than is used."""

import msgspec

from numafit.cluster.kube.objects import ObjectMeta

GROUP = "resource.k8s.io"
VERSIONS = ("v1", "v1beta2", "v1beta1")
"""Since 1.34, 1.33 and 1.32; all of them tell the same of what is used here."""
CLAIM, SLICE = "ResourceClaim", "ResourceSlice"


class Consumer(msgspec.Struct, frozen=True):
    resource: str = ""
    name: str = ""
    uid: str = ""
    apiGroup: str = ""


class AllocatedDevice(msgspec.Struct, frozen=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    request: str = ""
    adminAccess: bool | None = None
    """It is looked at, and not taken."""


class AllocatedDevices(msgspec.Struct, frozen=True):
    results: tuple[AllocatedDevice, ...] | None = None


class ClaimAllocation(msgspec.Struct, frozen=True):
    devices: AllocatedDevices = AllocatedDevices()


class ClaimStatus(msgspec.Struct, frozen=True):
    allocation: ClaimAllocation | None = None
    reservedFor: tuple[Consumer, ...] | None = None


class ResourceClaim(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    status: ClaimStatus | None = None


class DeviceAttribute(msgspec.Struct, frozen=True):
    number: int | None = msgspec.field(default=None, name="int")
    string: str | None = None
    numbers: tuple[int, ...] | None = msgspec.field(default=None, name="ints")
    """The own NUMA node first, then near ones (from 1.37, behind a gate)."""


Attributes = dict[str, DeviceAttribute]


class BasicDevice(msgspec.Struct, frozen=True):
    attributes: Attributes | None = None


class SliceDevice(msgspec.Struct, frozen=True):
    name: str = ""
    attributes: Attributes | None = None
    basic: BasicDevice | None = None
    """In v1beta1 the attributes stand here."""

    @property
    def all_attributes(self) -> Attributes:
        return self.attributes or (self.basic.attributes if self.basic is not None else None) or {}


class SlicePool(msgspec.Struct, frozen=True):
    name: str = ""


class SliceSpec(msgspec.Struct, frozen=True):
    driver: str = ""
    pool: SlicePool = SlicePool()
    nodeName: str | None = None
    devices: tuple[SliceDevice, ...] | None = None


class ResourceSlice(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: SliceSpec
