"""What the programs are told."""

from pathlib import Path

from numafit.cluster.up.flags import Endpoints, api_server_flags, client_flags, controller_manager_flags, etcd_flags

ENDS = Endpoints(1001, 1002, 1003)
PAIR = Path("/s/a.crt"), Path("/s/a.key")


def test_everybody_listens_on_loopback_or_not_at_all() -> None:
    etcd = etcd_flags(ENDS, Path("/s/etcd"), PAIR[0], PAIR, durable=True)
    assert {"--listen-client-urls=https://127.0.0.1:1001", "--client-cert-auth"} <= set(etcd)
    assert {"--listen-peer-urls=https://127.0.0.1:1002", "--peer-client-cert-auth"} <= set(etcd)
    server = api_server_flags(ENDS, PAIR[0], PAIR, PAIR)
    assert {"--bind-address=127.0.0.1", "--secure-port=1003", "--authorization-mode=Node,RBAC"} <= set(server)
    for flags in (client_flags(Path("/s/k")), controller_manager_flags(Path("/s/k"), *PAIR[:1], PAIR)):
        assert {"--kubeconfig=/s/k", "--secure-port=0"} <= set(flags)
    assert ENDS.server == "https://127.0.0.1:1003"


def test_only_what_is_kept_reaches_the_disk() -> None:
    kept, passing = (etcd_flags(ENDS, Path("/s/etcd"), PAIR[0], PAIR, durable=durable) for durable in (True, False))
    assert set(passing) - set(kept) == {"--unsafe-no-fsync"}
