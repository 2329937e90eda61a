"""One recorded validation of a KubeletConfiguration: what becomes of it, in the form of the recordings."""

from collections.abc import Mapping

import msgspec

from numafit.golang.text import aggregate_text
from numafit.settings.config import config_of_file
from numafit.settings.gates import GateError, resolve_gates
from numafit.settings.read.decoder import DECODE_FAILED, DecodeError, decode_config
from numafit.settings.validation import GATE_PANIC, validate
from numafit.settings.versions import KubeVersion, behaviour_of


def config_case(spec: Mapping[str, object], gates: Mapping[str, bool], version: KubeVersion) -> dict[str, object]:
    """What becomes of a parsed KubeletConfiguration when `gates` were set before: the form of the recordings."""
    text = msgspec.json.encode(spec).decode()
    try:
        config = config_of_file(decode_config(spec, version, text=text, sort_keys=False).fields, version)
    except DecodeError as error:
        return {"decodeError": f"{DECODE_FAILED}{error}"}
    config = msgspec.structs.replace(config, feature_gates={**gates, **config.feature_gates})
    try:
        errors = validate(config, version, resolve_gates(version, config.feature_gates))
    except GateError as error:
        if behaviour_of(version).unknown_gate_panics:
            return {"panic": GATE_PANIC + str(error)}
        return {"featureGateError": str(error)}
    texts = [str(error) for error in errors]
    return {"error": aggregate_text(texts), "errors": texts} if texts else {"error": None}
