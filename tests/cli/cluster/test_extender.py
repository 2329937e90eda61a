"""`numafit extender`: what it needs, and what it says where that lacks. Answering is tested elsewhere."""

from pathlib import Path

import pytest

from numafit.__main__ import main


@pytest.fixture
def access(tmp_path: Path) -> Path:
    """Of a server that is never asked."""
    path = tmp_path / "kubeconfig"
    content = {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    path.write_text(str(content).replace("'", '"'))
    return path


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--offer=0"], "--offer: neither a number from 1 to 10000 nor all: 0"),
        (["--offer=some"], "--offer: neither a number from 1 to 10000 nor all: some"),
        (["--certificate=a", "--key=b"], "--client-ca: is missing; the three files go together"),
        (["--address=0.0.0.0"], "without certificates it answers on loopback only, and not on 0.0.0.0"),
        (["--certificate=a", "--key=b", "--client-ca=c"], "a: cannot be read: No such file"),
        (["--address=localhost.invalid"], "loopback only"),
    ],
)
def test_what_does_not_go_is_told(
    words: list[str], sentence: str, access: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["extender", f"--kubeconfig={access}", *words]) == 2
    assert sentence in capsys.readouterr().err
