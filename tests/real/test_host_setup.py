"""`numafit host setup` by a real root, and real users after it: in a mount namespace of its own, where /etc and
/var/lib are copies, so that nothing of this host is changed.
"""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from numafit.host.book.folder import NOT_SHARED
from tests.host.children import opened_up
from tests.real.numafit import environment, lacking, python

pytestmark = pytest.mark.real

BEFORE = """
set -eu
mkdir -p /var/lib
mount --make-rprivate /
copy=$(mktemp -d)
mount -t tmpfs -o mode=755 tmpfs $copy
mkdir $copy/etc $copy/lib
for name in passwd group shadow gshadow login.defs nsswitch.conf ld.so.cache alternatives subuid subgid; do
    if [ -e /etc/$name ]; then cp -a /etc/$name $copy/etc/; fi
done
mount --bind $copy/etc /etc
mount --bind $copy/lib /var/lib
mkdir -p /etc/default
for user in ann bob eve; do useradd --create-home --base-dir $copy --shell /bin/sh $user; done
root() { "$PYTHON" -m numafit "$@"; }
become() { user=$1; shift; HOME=$copy/$user setpriv --reuid $user --regid $user --init-groups "$@"; }
as() { user=$1; shift; become $user "$PYTHON" -m numafit "$@"; }
until_there() { for _ in $(seq 600); do test -e $1 && return; sleep 0.1; done; echo "no $1" >&2; exit 9; }
gone() { if "$@" > /dev/null 2>&1; then echo "still there: $*" >&2; exit 9; fi; }
"""


@pytest.fixture(scope="module")
def interpreter() -> str:
    found = "" if lacking() else python()
    if not found:
        pytest.skip(lacking() or "no interpreter that an ordinary user may run has numafit's packages")
    missing = [name for name in ("useradd", "groupadd", "setpriv", "flock") if not shutil.which(name)]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}")
    return found


def played(script: str, interpreter: str, tmp_path: Path) -> list[str]:
    """The lines that a script says, in a namespace where it may change /etc."""
    variables = {**environment(), "PYTHON": interpreter, "OUT": str(opened_up(tmp_path)), "COLUMNS": "200"}
    variables.pop("XDG_STATE_HOME", None)
    tmp_path.chmod(0o777)
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", BEFORE + script],
        env=variables,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_setup_makes_one_ledger_for_its_group(interpreter: str, tmp_path: Path) -> None:
    """Each step is told; a second time there is nothing to do. Members see each other's leases and not each other's
    command lines; a stranger can open none of the files; `--undo` leaves nothing."""
    script = """
    root host setup --dry-run --user ann > $OUT/plan
    test ! -e /var/lib/numafit
    gone getent group numafit
    root host setup --user ann --user bob > $OUT/first
    root host setup --user ann --user bob > $OUT/second
    stat -c '%a %U:%G %n' /var/lib/numafit /var/lib/numafit/*
    as ann run -q --cpus 1 -- sh -c ': secret; touch $0; while [ -e $0 ]; do sleep 0.05; done' $OUT/runs &
    until_there $OUT/runs
    echo "ann: $(as ann ps | grep -c secret), root: $(root ps | grep -c secret), bob: $(as bob ps | grep -c secret)"
    echo "bob sees: $(as bob ps | tail -n 1 | awk '{print $2}')"
    as bob cancel $(as bob ps -o json | sed -n 's/.*"id": "\\(.*\\)",/\\1/p') 2>&1 || echo "status $?"
    for file in /var/lib/numafit /var/lib/numafit/leases.lock /var/lib/numafit/leases.db; do
        become eve flock --nonblock $file true 2> $OUT/eve || echo "eve cannot lock $file"
    done
    as eve run --cpus 1 -- true 2>&1 || echo "status $?"
    rm $OUT/runs
    wait
    as bob history -n 1 | tail -n 1 | grep -c secret || true
    as ann history -n 1 | tail -n 1 | grep -c secret
    root host setup --undo > $OUT/undo
    test ! -e /var/lib/numafit
    gone getent group numafit
    """
    lines = played(script, interpreter, tmp_path)
    plan, first, second, undo = (
        (tmp_path / name).read_text().splitlines() for name in ("plan", "first", "second", "undo")
    )
    assert plan[:2] == ["group numafit: would be made", "user ann in it: would be added"]
    assert first[:4] == [
        "group numafit: made",
        "user ann in it: added",
        "user bob in it: added",
        "folder /var/lib/numafit for root and the group alone: made",
    ]
    assert {line.rpartition(": ")[2] for line in second if ": " in line and "systemd" not in line} == {
        "as it should be"
    }
    folder = "root:numafit /var/lib/numafit"
    files = ("leases.bell", "leases.db", "leases.db-journal", "leases.lock", "leases.watch")
    assert sorted(lines[:10]) == [
        f"3770 {folder}",
        f"3770 {folder}/commands",
        f"600 {folder}/leases.db-wal",
        f"600 {folder}/setup.json",
        f"644 {folder}/host.yaml",
        *(f"660 {folder}/{name}" for name in files),
    ]
    lines = lines[4:]
    assert lines[6:8] == ["ann: 1, root: 1, bob: 0", "bob sees: ann"]
    assert lines[8].startswith("numafit: the lease ")
    assert lines[8].endswith(" belongs to ann (root can cancel it)")
    assert lines[9] == "status 2"
    assert lines[10:13] == [
        "eve cannot lock /var/lib/numafit",
        "eve cannot lock /var/lib/numafit/leases.lock",
        "eve cannot lock /var/lib/numafit/leases.db",
    ]
    assert lines[13].startswith("numafit: /var/lib/numafit: this host has a ledger that user ")
    assert "(join the group numafit and log in again; " in lines[13]
    assert lines[14:] == ["status 2", "0", "1"]
    assert undo[-2:] == ["/var/lib/numafit: removed", "group numafit: removed"]


def test_quotas_hold_real_users(interpreter: str, tmp_path: Path) -> None:
    """A user, a group of users together, and root, who has none."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two CPUs are needed")
    rules = "quotas: {users: {ann: {cpus: 1, priority: 5, time: 1h}}, groups: {students: {cpus: 1}}}"
    script = f"""
    root host setup --user ann --user bob > $OUT/setup
    groupadd students
    usermod --append --groups students ann
    usermod --append --groups students bob
    echo {shlex.quote(rules)} > /var/lib/numafit/host.yaml
    as ann run --cpus 2 -- true 2>&1 || echo "status $?"
    as bob run --priority 1 -- true 2>&1 || echo "status $?"
    as ann run -q --priority 5 --cpus 1 -- sh -c 'touch $0; while [ -e $0 ]; do sleep 0.05; done' $OUT/runs &
    until_there $OUT/runs
    as ann ps -o json | grep -c '"seconds": 3600.0'
    as bob run --cpus 1 -- true 2>&1 || echo "status $?"
    root run -q --cpus 1 -- echo "root runs"
    rm $OUT/runs
    wait
    as bob run -q --cpus 1 -- echo "bob runs"
    """
    lines = played(script, interpreter, tmp_path)
    assert lines == [
        "numafit: ann may hold 1 CPU by quota, holds none now, and 2 CPUs would be too much (ask for less)",
        "status 2",
        "numafit: --priority: bob may ask for 0 at most (root may ask for more)",
        "status 2",
        "1",
        "numafit: no lease for 1 CPU: the group students may hold 1 CPU by quota, its members hold 1 CPU now, "
        "and 1 CPU would be too much (--wait waits for it)",
        "status 75",
        "root runs",
        "bob runs",
    ]


def test_without_setup_each_user_is_told_that_he_is_alone(interpreter: str, tmp_path: Path) -> None:
    """By one line; looking makes nothing, and his own ledger is closed to others."""
    script = """
    as ann ps 2>&1
    find $copy/ann -name '*numafit*'
    as ann run --cpus 1 -- echo ran 2>&1 | grep -v 'bound by'
    find $copy/ann -path '*numafit/*' -printf '%m %f\\n' | sort
    """
    lines = played(script, interpreter, tmp_path)
    alone = f"numafit: {NOT_SHARED}"
    assert lines == [
        alone,
        "No leases: nobody holds anything.",
        alone,
        "ran",
        "600 leases.db",
        "600 leases.lock",
        f"700 {os.uname().nodename}",
    ]
