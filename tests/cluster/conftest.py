from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.api_server import PASSWORD, ApiServer, kubeconfig, serving


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """Plain HTTP; it lets in whoever brings the token."""
    with serving(ApiServer()) as found:
        found.token = PASSWORD
        yield found


@pytest.fixture
def config(server: ApiServer, tmp_path: Path) -> Path:
    return kubeconfig(tmp_path, server.url)
