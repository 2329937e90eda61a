"""The MutatingWebhookConfiguration: which pods the API server asks about, and what happens where nobody answers.

It fails open: no answer within a second, or none that can be read, and the pod is created as it was. Asked again where
another webhook changed the pod after us (`IfNeeded`): one that adds a container may make a pod need what it did not
need before, and to be asked twice changes nothing. It belongs to our namespace and goes with it.
"""

import base64
from http import HTTPStatus

import msgspec

from numafit.cluster.admission.counts import AdmissionCounts
from numafit.cluster.admission.options import PATH, SYSTEM_NAMESPACE, OtherQuestion, WebhookOptions
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.live.words import DISABLED, ENABLED
from numafit.errors import ApiServerError

GROUP, PLURAL, KIND = "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"
API_VERSION = f"{GROUP}/v1"
MANAGER = "numafit-webhook"
TIMEOUT_SECONDS = 1
SERVICE_PORT = 443
NAME_LABEL = "kubernetes.io/metadata.name"
"""The API server puts it on each namespace."""


def webhook_name(options: WebhookOptions) -> str:
    """It has to have two dots."""
    return f"{options.name}.webhook.numafit.io"


def configuration(options: WebhookOptions, bundle: bytes, namespace_uid: str = "") -> ObjectJson:
    """`bundle`: the authorities to trust, as PEM."""
    metadata: ObjectJson = {"name": options.name}
    if namespace_uid:
        owner = {"apiVersion": "v1", "kind": "Namespace", "name": options.namespace, "uid": namespace_uid}
        metadata["ownerReferences"] = [owner]
    first = OtherQuestion(PATH, options.label, options.opt_in, options.conditions)
    webhooks = [_webhook(options, bundle, webhook_name(options), first)]
    for own in options.also:
        name = f"{own.path.strip('/')}.{webhook_name(options)}"
        webhooks.append(_webhook(options, bundle, name, own))
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "webhooks": webhooks}


def _webhook(options: WebhookOptions, bundle: bytes, name: str, asked: OtherQuestion) -> ObjectJson:
    client: ObjectJson = {"caBundle": base64.b64encode(bundle).decode()}
    if options.url:
        client["url"] = options.url.rstrip("/") + asked.path
    else:
        service = {"namespace": options.namespace, "name": options.name, "path": asked.path, "port": SERVICE_PORT}
        client["service"] = service
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client,
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "reinvocationPolicy": "IfNeeded",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_SECONDS,
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
                "scope": "Namespaced",
            }
        ],
        "namespaceSelector": namespace_selector(options.namespace, asked.label, opt_in=asked.opt_in),
        "objectSelector": {},
        "matchConditions": [{"name": own.name, "expression": own.expression} for own in asked.conditions],
    }


def namespace_selector(namespace: str, label: str, *, opt_in: bool) -> ObjectJson:
    """`namespace`: our own."""
    never = list(dict.fromkeys((SYSTEM_NAMESPACE, namespace)))
    chosen = {"operator": "In", "values": [ENABLED]} if opt_in else {"operator": "NotIn", "values": [DISABLED]}
    return {
        "matchExpressions": [
            {"key": NAME_LABEL, "operator": "NotIn", "values": never},
            {"key": label, **chosen},
        ]
    }


class ConfigurationKeeper:
    """Of one webhook. All raise ApiServerError."""

    def __init__(self, api: KubeApi, options: WebhookOptions, counts: AdmissionCounts) -> None:
        self._api, self._options, self._counts = api, options, counts
        self._path = f"/apis/{API_VERSION}/{PLURAL}/{options.name}"
        self._namespace_uid: str | None = None

    async def look(self) -> bytes:
        """The authorities that the API server trusts there; empty where there is no configuration."""
        return trusted(await self._present(), webhook_name(self._options))

    async def kept(self, bundle: bytes) -> bytes:
        """As `look`, after it was put right where it was not."""
        found = await self._present()
        if found is None:
            # It went with our namespace, perhaps: one of the same name has another UID.
            self._namespace_uid = None
        wanted = configuration(self._options, bundle, await self._owner())
        if found is None or not holds(found, wanted):
            content = msgspec.json.encode(wanted)
            found = _object(await self._api.apply(self._path, content, MANAGER, force=True))
            self._counts.applied += 1
        return trusted(found, webhook_name(self._options))

    async def remove(self) -> None:
        try:
            await self._api.delete(self._path)
        except ApiServerError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    async def _present(self) -> ObjectJson | None:
        try:
            return _object(await self._api.get(self._path))
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def _owner(self) -> str:
        """The UID of our namespace; empty where we may not look at it, and the configuration has no owner then."""
        if self._namespace_uid is None:
            try:
                found = _object(await self._api.get(f"/api/v1/namespaces/{self._options.namespace}"))
                self._namespace_uid = str(found["metadata"]["uid"])
            except ApiServerError as error:
                if error.status not in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
                    raise
                return ""
        return self._namespace_uid


def holds(found: object, wanted: object) -> bool:
    """Whether all that is wanted is there; the API server adds what is not said."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            holds(found.get(name), value) or (value == {} and found.get(name) is None) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(holds(*pair) for pair in zip(found, wanted, strict=True))
        )
    return found == wanted


def trusted(found: ObjectJson | None, name: str) -> bytes:
    for webhook in (found or {}).get("webhooks") or ():
        if webhook.get("name") == name:
            try:
                return base64.b64decode(webhook["clientConfig"]["caBundle"])
            except (KeyError, TypeError, ValueError):
                return b""
    return b""


def _object(data: bytes) -> ObjectJson:
    try:
        return msgspec.json.decode(data, type=ObjectJson)
    except msgspec.MsgspecError as error:
        raise ApiServerError(f"this is no object: {error}") from None
