"""A member of the group who means ill, on a host of many users: real users in a mount namespace of their own, after
`numafit host setup`. What he may do is nonsense in the ledger; files and processes of others are out of his reach.
"""

from pathlib import Path

import pytest

from tests.real.test_host_setup import interpreter, played

pytestmark = pytest.mark.real

__all__ = ["interpreter"]

SETUP = """
victim=
trap 'rm -f $OUT/held; kill $victim 2> /dev/null || true' EXIT
root host setup --user ann --user eve > $OUT/first
echo 'devices: [{resource: example.com/dev, id: dev0, numa: 0}]' > /var/lib/numafit/host.yaml
hold() { as $1 run -q --device example.com/dev=1 -- sh -c 'touch $0; while [ -e $0 ]; do sleep 0.05; done' $OUT/held & }
"""


def test_links_lead_nobody_to_files_of_his_own(interpreter: str, tmp_path: Path) -> None:
    """Neither where a member can put them, nor in the place of what root has made: root waits, watches over the queue,
    counts leases and sets up the host once more, and his file is as before."""
    script = """
    echo precious > $copy/file
    cd /var/lib/numafit
    for name in leases.db-journal leases.db-wal leases.bell leases.watch leases.lock leases.db host.yaml setup.json; do
        become eve ln -sfT $copy/file $name 2> /dev/null && echo "eve replaced $name"
        become eve rm -f $name 2> /dev/null && echo "eve removed $name"
    done
    for name in waiting-1-1 waiting-2-7 leases.db-shm commands/0; do become eve ln -sT $copy/file $name; done
    become eve mkfifo -m 666 waiting-3-9
    become eve sh -c 'for n in $(seq 2000); do echo x > waiting-$n-0; done'
    hold ann
    until_there $OUT/held
    root run -q --device example.com/dev=1 --wait -- echo "root had it" &
    for _ in $(seq 600); do root ps | grep -q '^waits since' && break; sleep 0.1; done
    rm $OUT/held
    wait
    root ps > /dev/null
    root host setup --user ann --user eve > $OUT/second
    cat $copy/file
    stat -c '%a %U:%G' $copy/file
    """
    assert played(SETUP + script, interpreter, tmp_path) == ["root had it", "precious", "644 root:root"]
    second = (tmp_path / "second").read_text().splitlines()
    assert {line.rpartition(": ")[2] for line in second if ": " in line and "systemd" not in line} == {
        "as it should be"
    }


FORGE = """
import json, os, sqlite3, sys
connection = sqlite3.connect("/var/lib/numafit/leases.db")
connection.execute("PRAGMA journal_mode=TRUNCATE")
[data] = connection.execute("SELECT data FROM leases").fetchone()
lease = json.loads(data)
mine, victim = lease["owners"][0], int(sys.argv[1])
start = int(open(f"/proc/{victim}/stat").read().rpartition(")")[2].split()[19])
gone = {**mine, "pid": 4194303, "start": 1}
# As if its time were over, and whoever watched over it were gone.
lease |= {"id": "deadbeef", "uid": 0, "user": "root", "exclusive": "", "devices": {}, "memory": [], "seconds": 0.001}
lease |= {"owners": [gone, {**mine, "pid": victim, "start": start}], "rung": "cgroup v2", "cgroup": sys.argv[2]}
connection.execute("INSERT INTO leases (id, data) VALUES (?, ?)", ("deadbeef", json.dumps(lease)))
connection.commit()
"""


def test_a_forged_lease_ends_and_moves_no_process_and_writes_no_file(interpreter: str, tmp_path: Path) -> None:
    """It names a process of root's that is no job, and a folder full of links for its cgroup. The sweep of root finds
    it overdue; the process goes on, on the CPUs that it had."""
    (tmp_path / "forge.py").write_text(FORGE)
    script = """
    echo precious > $copy/file
    trap_folder=$copy/eve/numafit/deadbeef
    become eve mkdir -p $trap_folder
    sleep 600 > /dev/null 2>&1 &
    victim=$!
    for name in cpuset.cpus cpuset.mems memory.max; do become eve ln -s $copy/file $trap_folder/$name; done
    become eve sh -c "echo $victim > $trap_folder/cgroup.procs"
    hold ann
    until_there $OUT/held
    become eve "$PYTHON" $OUT/forge.py $victim $trap_folder
    before=$(grep Cpus_allowed_list /proc/$victim/status)
    root host sweep 2>&1 | sed 's/ *(.*//'
    root ps > /dev/null
    root run -q --cpus 1 -- true
    test "$before" = "$(grep Cpus_allowed_list /proc/$victim/status)" && echo "not moved"
    kill -0 $victim && echo "it lives"
    kill $victim
    rm $OUT/held
    wait
    cat $copy/file
    root ps
    """
    assert played(SETUP + script, interpreter, tmp_path) == [
        "numafit: the time of lease deadbeef is over: its job is not ended: its processes cannot be reached from here",
        "not moved",
        "it lives",
        "precious",
        "No leases: nobody holds anything.",
    ]


def test_garbage_in_his_own_files_is_his_own(interpreter: str, tmp_path: Path) -> None:
    """A file of commands that is larger than memory, and one that tells of another's job."""
    script = """
    hold ann
    until_there $OUT/held
    lease=$(root ps -o json | sed -n 's/.*"id": "\\(.*\\)",/\\1/p' | head -n 1)
    own=/var/lib/numafit/commands/$(id -u eve)
    become eve truncate -s 64G $own
    become eve sh -c "printf '\\n[\\"$lease\\", \\"format disk\\"]\\n' >> $own"
    (ulimit -v 2000000; root ps -o json; root history -o json) > $OUT/told
    grep -c "touch" $OUT/told
    grep -c "format disk" $OUT/told || true
    rm $OUT/held
    wait
    """
    assert played(SETUP + script, interpreter, tmp_path) == ["2", "0"]


def test_one_who_is_stopped_with_the_lock_is_named(interpreter: str, tmp_path: Path) -> None:
    """Others are held up for as long as they are patient, here for a second, and then told whom root can end."""
    hasty = (
        "import sys; import numafit.host.book.store as store; store.PATIENCE = 1.0; "
        "from numafit.__main__ import main; sys.exit(main())"
    )
    (tmp_path / "hasty.py").write_text(hasty)
    script = """
    become eve flock --no-fork /var/lib/numafit/leases.lock sh -c 'echo $$ > $0; exec sleep 600' $OUT/holder &
    until_there $OUT/holder
    sleep 0.2
    holder=$(cat $OUT/holder)
    kill -STOP $holder
    become ann "$PYTHON" $OUT/hasty.py run -- echo ran 2>&1 | sed "s/ $holder / PID /" || true
    kill -KILL $holder
    wait
    as ann run -q -- echo ran
    """
    assert played(SETUP + script, interpreter, tmp_path) == [
        "numafit: /var/lib/numafit/leases.db: process PID (sleep, of eve, stopped) keeps it locked for 1 s (its user "
        "or root can end it; nothing was changed)",
        "ran",
    ]
