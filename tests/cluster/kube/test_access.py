"""Which server, and as whom: as kubectl would find it."""

import os
from pathlib import Path

import pytest

from numafit.cluster.kube.access import access
from numafit.cluster.kube.credentials import tls_context
from numafit.cluster.up.certificates import Authority
from numafit.errors import InputError

ONE = """
current-context: one
clusters: [{name: c, cluster: {server: "https://one", certificate-authority: pki/ca.crt}}]
users: [{name: u, user: {tokenFile: token, exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/login}}}]
contexts: [{name: one, context: {cluster: c, user: u}}, {name: lost, context: {cluster: gone}}]
"""
TWO = """
current-context: two
clusters: [{name: c, cluster: {server: "https://other"}}, {name: d, cluster: {server: "https://two"}}]
contexts: [{name: two, context: {cluster: d, user: u}}]
"""


def written(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "config"
    path.write_text(text)
    return path


def test_paths_are_relative_to_the_file_that_they_stand_in(tmp_path: Path) -> None:
    found = access(written(tmp_path / "a", ONE), None)
    assert found.cluster.certificate_auth == str(tmp_path / "a/pki/ca.crt")
    assert found.user.token_file == str(tmp_path / "a/token")
    assert found.user.exec is not None
    assert found.user.exec.command == str(tmp_path / "a/bin/login")


def test_of_several_files_the_first_that_says_something_counts(tmp_path: Path) -> None:
    """Missing ones are passed over, as kubectl does with KUBECONFIG."""
    paths = [tmp_path / "none", written(tmp_path / "a", ONE), written(tmp_path / "b", TWO)]
    environment = {"KUBECONFIG": os.pathsep.join(map(str, paths))}
    assert access(None, None, environment).cluster.server == "https://one"
    two = access(None, "two", environment)
    assert (two.cluster.server, two.user_name) == ("https://two", "u")
    assert two.user.token_file == str(tmp_path / "a/token")


def test_a_pod_asks_as_its_service_account_where_there_is_no_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "token").write_text("t")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    found = access(None, None, environment, tmp_path)
    assert found.cluster.server == "https://[fd00::1]:6443"
    assert found.user.token_file == str(tmp_path / "token")
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube/config").write_text(ONE)
    assert access(None, None, environment, tmp_path).cluster.server == "https://one"


def test_a_pod_may_have_no_home_and_nothing_that_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user without a name, and a root file system that is read-only."""

    def nobody(user: int) -> None:
        raise KeyError(user)

    def no_place(*_: object, **__: object) -> None:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", nobody)
    monkeypatch.setattr("tempfile.mkdtemp", no_place)
    (tmp_path / "token").write_text("t")
    Authority(tmp_path)
    found = access(None, None, {"KUBERNETES_SERVICE_HOST": "a", "KUBERNETES_SERVICE_PORT": "1"}, tmp_path)
    assert tls_context(found, found.user).get_ca_certs()


@pytest.mark.parametrize(
    ("text", "context", "sentence"),
    [
        (ONE, "onn", "there is no context onn (did you mean one?)"),
        (ONE, "production", "there is no context production (there are one, lost)"),
        (ONE, "lost", "the context lost names a cluster gone that is not there"),
        ("{}", None, "no context is chosen (log in to a cluster so that kubectl works"),
        ("contexts: [{name: a, context: {cluster: c}}]", None, "no context is chosen (name one with --context: a)"),
        ("clusters: [{name: 3}]", None, "is no kubeconfig: "),
        ("[1", None, ":2:1: not YAML"),
    ],
)
def test_a_kubeconfig_that_names_no_cluster_is_told_in_one_sentence(
    text: str, context: str | None, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as error:
        access(written(tmp_path, text), context)
    assert sentence in str(error.value)
    assert str(tmp_path / "config") in str(error.value)


def test_without_any_cluster_the_first_steps_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(InputError) as error:
        access(None, None, {})
    assert str(error.value) == (
        f"no cluster is known: there is no kubeconfig at {tmp_path}/.kube/config, and this is no pod of a cluster "
        "(log in to a cluster so that kubectl works, or name a file with --kubeconfig)"
    )
    with pytest.raises(InputError, match="cannot be read: No such file"):
        access(tmp_path / "none", None, {})
