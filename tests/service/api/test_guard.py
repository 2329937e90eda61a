"""Who is let in, and what every answer carries."""

import asyncio
import base64

import httpx
import pytest

from numafit.service.api import access, guard
from numafit.service.api.guard import HEADERS, Rules, token_of
from tests.service.agents import client_of, demo_agent

TOKEN = "0123456789abcdef"


def get(path: str, rules: Rules | None = None, **headers: str) -> httpx.Response:
    async def run() -> httpx.Response:
        async with client_of(demo_agent(rules)) as client:
            return await client.get(path, headers={name.replace("_", "-"): text for name, text in headers.items()})

    return asyncio.run(run())


@pytest.mark.parametrize("host", ["localhost", "localhost:8470", "127.0.0.1:1", "[::1]:8470", "LOCALHOST"])
def test_an_agent_answers_to_its_own_names(host: str) -> None:
    """Those of loopback, with any port."""
    assert get("/healthz", host=host).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8470", "10.0.0.1", ""]
)
def test_another_name_is_refused(host: str) -> None:
    """A page of a foreign name that was made to point at this machine (DNS rebinding) gets nothing."""
    response = get("/api/v1/ledger", host=host)
    assert response.status_code == 421
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost", 200),
        ("http://localhost:3000", 403),
        ("http://evil.example", 403),
        ("null", 403),
        ("https://localhost", 403),
        ("ftp://localhost", 403),
        ("http://localhost/", 403),
    ],
)
def test_pages_of_other_origins_are_not_answered(origin: str, status: int) -> None:
    """Another port or another scheme of the same machine is another origin, too."""
    assert get("/api/v1/ledger", origin=origin).status_code == status


def test_behind_a_proxy_with_tls_the_own_page_is_answered() -> None:
    rules = Rules("0.0.0.0", TOKEN)
    headers = {"authorization": f"Bearer {TOKEN}", "host": "10.1.2.3"}
    assert get("/api/v1/ledger", rules, origin="https://10.1.2.3", **headers).status_code == 200
    assert get("/api/v1/ledger", rules, origin="https://10.1.2.3:8470", **headers).status_code == 403


@pytest.mark.parametrize("path", ["/", "/api/v1/ledger", "/nothing", "/metrics", "/api/docs"])
def test_every_answer_carries_the_headers_of_safety(path: str) -> None:
    """Also problems; no script but the page's own may run."""
    headers = get(path).headers
    assert {name.decode(): headers.get(name.decode()) for name, _ in HEADERS} == {
        name.decode(): value.decode() for name, value in HEADERS
    }
    assert "unsafe" not in headers["content-security-policy"]


def test_beyond_loopback_only_the_token_opens() -> None:
    """As bearer token, or as a password that a browser asks for; health is told to everybody."""
    rules = Rules("0.0.0.0", TOKEN)
    password = base64.b64encode(f"me:{TOKEN}".encode()).decode()
    refused = get("/api/v1/ledger", rules)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Basic")
    assert get("/api/v1/ledger", rules, authorization="Bearer wrong-token-of-some-length").status_code == 401
    assert get("/api/v1/ledger", rules, authorization=f"Bearer {TOKEN}").status_code == 200
    assert get("/api/v1/ledger", rules, authorization=f"Basic {password}").status_code == 200
    assert get("/healthz", rules).status_code == 200


def test_a_token_protects_reads_on_loopback_too() -> None:
    """`--token-file` says that requests must bring it."""
    assert get("/api/v1/ledger", Rules(token=TOKEN)).status_code == 401
    assert get("/", Rules(token=TOKEN)).status_code == 401
    assert get("/healthz", Rules(token=TOKEN)).status_code == 200
    assert get("/api/v1/ledger", Rules(token=TOKEN), authorization=f"Bearer {TOKEN}").status_code == 200


def test_guessing_tokens_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """While wrong ones wait for their answers, one more is sent away; the right one opens at once."""
    monkeypatch.setattr(access, "LATE_SECONDS", 3.0)
    monkeypatch.setattr(access, "MOST_LATE", 4)

    async def run() -> tuple[int, int, list[int]]:
        agent = demo_agent(Rules(token=TOKEN))
        async with client_of(agent) as client:
            wrong = {"Authorization": "Bearer wrong-token-of-some-length"}
            guesses = [asyncio.create_task(client.get("/api/v1/ledger", headers=wrong)) for _ in range(4)]
            while agent.app.guesses.late < 4:
                await asyncio.sleep(0.01)
            more = (await client.get("/api/v1/ledger", headers=wrong)).status_code
            right = {"Authorization": f"Bearer {TOKEN}"}
            opened = (await client.get("/api/v1/ledger", headers=right)).status_code
            return more, opened, [(await guess).status_code for guess in guesses]

    assert asyncio.run(run()) == (429, 200, [401] * 4)


@pytest.mark.parametrize("rules", [Rules(), Rules(access_log=True)])
def test_requests_are_logged_where_that_is_wanted(rules: Rules, capsys: pytest.CaptureFixture[str]) -> None:
    """On one line each, whatever the path holds."""
    get("/api/v1/decisions?limit=2", rules)
    get("/no%0Athing", rules)
    lines = capsys.readouterr().err.splitlines()
    words = [" ".join(line.split()[1:5]) for line in lines]
    known = ["127.0.0.1 GET /api/v1/decisions 200", "127.0.0.1 GET /no?thing 404"]
    assert words == (known if rules.access_log else [])


def test_beyond_loopback_addresses_are_own_names() -> None:
    """A name can be made to point anywhere, an address cannot."""
    rules = Rules("0.0.0.0", TOKEN)
    assert get("/healthz", rules, host="10.1.2.3:8470").status_code == 200
    assert get("/healthz", rules, host="evil.example").status_code == 421


@pytest.mark.parametrize("text", ["", "Bearer", "Basic !!!", "Basic YQ==", "Digest x", "Basic /w=="])
def test_what_is_no_token_is_empty(text: str) -> None:
    """Odd headers are no error, and no token."""
    assert token_of(text) == ""


def test_leases_are_not_taken_by_tcp() -> None:
    """Unless that was allowed, and then with the token only."""

    async def run() -> list[int]:
        found = []
        for rules in (Rules(), Rules(token=TOKEN, allow_writes=True)):
            async with client_of(demo_agent(rules)) as client:
                found.append((await client.post("/api/v1/leases", json={"cpus": 1, "seconds": 5})).status_code)
                # A simulation has no leases: whoever gets so far may write.
                bearer = {"Authorization": f"Bearer {TOKEN}"}
                answer = await client.post("/api/v1/leases", json={"cpus": 1, "seconds": 5}, headers=bearer)
                found.append(answer.status_code)
        return found

    assert asyncio.run(run()) == [403, 403, 401, 409]


def test_the_names_of_this_machine_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that does not answer must not hold up requests; who asks by a wrong name learns it at once."""
    asked: list[str] = []
    monkeypatch.setattr(guard.socket, "getfqdn", lambda: asked.append("") or "Box.example")
    rules = Rules("0.0.0.0", TOKEN)

    async def run() -> list[int]:
        async with client_of(demo_agent(rules)) as client:
            names = ("box.example:8470", "evil.example", "evil.example", "10.0.0.1")
            return [(await client.get("/healthz", headers={"Host": name})).status_code for name in names]

    assert asyncio.run(run()) == [200, 421, 421, 200]
    assert len(asked) == 1
