"""An order for the agent of a node: one ConfigMap, with what is wanted and what has come of it."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated

import msgspec

from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.orders.words import (
    APPROVED,
    CHOICES,
    CONFIG,
    DIGEST,
    KEPT,
    MESSAGE,
    ORDERS,
    PLAN,
    PLANNED,
    REFUSED,
    SAME,
    STATUS,
    STEPS,
    UNDO,
)
from numafit.cluster.switch.drain import DrainChoice
from numafit.cluster.switch.journal import JournalEntry
from numafit.cluster.switch.plan import SwitchPlan
from numafit.cluster.switch.words import SwitchAnswer
from numafit.errors import InputError

WishedSeconds = Annotated[float, msgspec.Meta(ge=0)]


class SwitchWish(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Beside the configuration."""

    changes: tuple[str, ...] = ()
    """Instead of a configuration: fields of the present one, as FIELD=VALUE."""
    keep_pods: bool = False
    force: bool = False
    delete_emptydir_data: bool = False
    drain_timeout: WishedSeconds = 600.0
    ready_timeout: WishedSeconds = 120.0
    settle: WishedSeconds = 10.0

    @property
    def choice(self) -> DrainChoice:
        return DrainChoice(self.force, self.delete_emptydir_data)


class OrderMap(msgspec.Struct, frozen=True):
    """The ConfigMap."""

    metadata: ObjectMeta
    data: Mapping[str, str] = {}

    def said(self, key: str) -> str:
        return self.data.get(key, "")

    @property
    def status(self) -> str:
        return self.said(STATUS)

    @property
    def undo(self) -> bool:
        return self.said(UNDO) == "true"

    @property
    def moves(self) -> bool:
        """The plan that stands in it is approved, or all is to be undone: it waits for nobody."""
        return self.undo or (bool(self.said(DIGEST)) and self.said(APPROVED) == self.said(DIGEST))

    def wish(self) -> SwitchWish:
        try:
            wish = msgspec.json.decode(self.said(CHOICES) or "{}", type=SwitchWish)
        except msgspec.MsgspecError as error:
            raise InputError(str(error), source=f"{self.metadata.name}: {CHOICES}") from None
        if bool(self.said(CONFIG)) == bool(wish.changes):
            what = "has two" if wish.changes else "has no"
            raise InputError(f"the order {what} configurations", source=self.metadata.name, cure="give one")
        return wish

    def answer(self) -> SwitchAnswer:
        """As `-o json` of the command tells it. Raises InputError where an agent of another release says it."""
        outcome = PLANNED if self.status == SAME else self.status
        try:
            plan = msgspec.json.decode(self.said(PLAN), type=SwitchPlan) if self.said(PLAN) else None
            steps = msgspec.json.decode(self.said(STEPS) or "[]", type=tuple[JournalEntry, ...])
        except msgspec.MsgspecError as error:
            cure = "use the numafit that the agent is of"
            raise InputError(
                f"what the agent says is not known here: {error}", source=self.metadata.name, cure=cure
            ) from None
        refusals = plan.refusals if plan is not None and plan.refusals else ()
        if self.status == REFUSED and not refusals:
            refusals = (self.said(MESSAGE),)
        return SwitchAnswer(outcome, plan, refusals, steps, self.said(KEPT))


def order_name(node: str) -> str:
    return f"{ORDERS}{node}"


def orders_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def digest_of(uid: str, *parts: object) -> str:
    """Of a plan and all that it was made from, for one order."""
    return sha256(msgspec.json.encode((uid, parts))).hexdigest()
