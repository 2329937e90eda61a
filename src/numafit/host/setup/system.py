"""What `numafit host setup` does to this system, one small deed each. All of them need root."""

import grp
import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from numafit.errors import InputError, NumafitError
from numafit.host.book.opening import open_plain

SYSTEMD = Path("run/systemd/system")
"""There while systemd is the first process."""
_SECONDS = 60


class SetupError(NumafitError):
    """A step failed; those before it stay, and a second call goes on from there."""


class System:
    def __init__(self, root: Path = Path("/")) -> None:
        """`root`: another folder than `/` is a system that does not run, as tests make them."""
        self.root = root

    @property
    def has_systemd(self) -> bool:
        return (self.root / SYSTEMD).is_dir()

    # Users and groups

    def group(self, name: str) -> int | None:
        try:
            return grp.getgrnam(name).gr_gid
        except KeyError:
            return None

    def make_group(self, name: str) -> None:
        self.call(["groupadd", "--system", name])

    def delete_group(self, name: str) -> None:
        self.call(["groupdel", name])

    def is_member(self, user: str, group: str) -> bool:
        try:
            entry = pwd.getpwnam(user)
        except KeyError:
            cure = "`getent passwd` lists them"
            raise InputError(f"there is no user {user[:40]}", source="--user", cure=cure) from None
        number = self.group(group)
        return number is not None and number in os.getgrouplist(user, entry.pw_gid)

    def add_member(self, user: str, group: str) -> None:
        self.call(["usermod", "--append", "--groups", group, user])

    # Files

    def has_rights(self, path: Path, mode: int, group: int | None) -> bool:
        try:
            found = path.lstat()
        except OSError:
            return False
        return group is not None and (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (0, group, mode)

    def set_rights(self, path: Path, mode: int, group: int) -> None:
        try:
            handle = open_plain(path, os.O_RDONLY)
            try:
                os.fchown(handle, 0, group)
                # After chown, which takes setgid away.
                os.fchmod(handle, mode)
            finally:
                os.close(handle)
        except OSError as error:
            raise SetupError(f"{path}: its rights cannot be changed: {error.strerror or error}") from None

    def make_folder(self, path: Path) -> None:
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SetupError(f"{path}: cannot be made: {error.strerror}") from None

    def read(self, path: Path) -> str:
        """Empty where there is no such file."""
        try:
            return path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise SetupError(f"{path}: cannot be read: {error.strerror}") from None

    def write(self, path: Path, text: str, mode: int = 0o644) -> None:
        """It appears whole or not at all."""
        place = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
                file.write(text)
                os.fchmod(file.fileno(), mode)
            os.rename(place, path)
        except OSError as error:
            raise SetupError(f"{path}: cannot be written: {error.strerror}") from None

    def remove(self, path: Path) -> None:
        """A file, or a folder with all that is in it; also the folder of drop-ins that is empty then."""
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            if path.parent.suffix == ".d" and not os.listdir(path.parent):
                path.parent.rmdir()
        except OSError as error:
            raise SetupError(f"{path}: cannot be removed: {error.strerror}") from None

    # Programs

    def systemctl(self, *words: str) -> str:
        return self.call(["systemctl", *words])

    def asked(self, *words: str) -> str:
        """What systemctl answers to a question; empty where it does not answer."""
        try:
            return self.systemctl(*words).strip()
        except SetupError:
            return ""

    def call(self, words: Sequence[str]) -> str:
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except FileNotFoundError:
            raise SetupError(f"{words[0]} is not installed, which has to do: {' '.join(words)}") from None
        except (OSError, subprocess.SubprocessError) as error:
            raise SetupError(f"{' '.join(words)}: {error}") from None
        if done.returncode:
            said = " ".join(done.stderr.split()) or f"it ended with {done.returncode}"
            raise SetupError(f"{' '.join(words)}: {said}")
        return done.stdout
