"""How a webhook is reached."""

import pytest

from numafit.cluster.admission.options import WebhookOptions
from numafit.errors import InputError


def test_by_a_service_or_by_an_address() -> None:
    assert WebhookOptions("ns", "name").hosts == ("name.ns.svc",)
    assert WebhookOptions(url="https://10.0.0.7:9443").hosts == ("10.0.0.7",)
    assert WebhookOptions(url="https://[fd00::7]:9443/").hosts == ("fd00::7",)
    assert WebhookOptions(url="https://place.example.com").hosts == ("place.example.com",)


@pytest.mark.parametrize(
    "url", ["http://a:1", "a:1", "https://", "https://a:x", "https://a:0", "https://a?b", "https://me@a", "https://[a"]
)
def test_an_address_that_is_none_is_said(url: str) -> None:
    with pytest.raises(InputError, match="no address of a webhook"):
        _ = WebhookOptions(url=url).hosts
