# Words that the jobs share. Waits end after about two minutes.
until_true() {
    for _ in $(seq 1200); do
        if "$@" > /dev/null 2>&1; then return 0; fi
        sleep 0.1
    done
    echo "waited in vain for: $*" >&2
    return 1
}

# hold MARK OPTIONS...: a job that stays until the file MARK is gone. What comes after it would mean nothing without.
hold() {
    mark=$1
    shift
    numafit run -q "$@" -- sh -c 'touch "$0"; while [ -e "$0" ]; do sleep 0.1; done' "$mark" &
    until_true test -e "$mark" || exit 1
}

gone() { ! test -e "$1"; }
ended() { ! kill -0 "$1"; }
# Whether a process may run on CPU 0 again.
widened() { cpus_of "$1" | grep -q '^0-'; }
cpus_of() { sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$1/status"; }
