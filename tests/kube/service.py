"""A service manager for one kubelet: commands that stop and start it from a shell, and end when that is done."""

import shlex
import threading
from pathlib import Path

from tests.kube.kubelet import KubeletNode

PAUSE = 0.02


class KubeletService:
    """The kernel ends a kubelet with the thread that started it, so that one lives as long as this does."""

    def __init__(self, node: KubeletNode, folder: Path) -> None:
        self.node, self.folder = node, folder
        folder.mkdir()
        self.done: list[str] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def command(self, word: str) -> str:
        """`stop` or `start`."""
        script = self.folder / f"{word}.sh"
        own = shlex.quote(str(self.folder))
        script.write_text(
            f"ask=$(mktemp {own}/ask.XXXXXX)\necho {word} > $ask\nmv $ask $ask.go\n"
            f"while [ ! -e $ask.done ]; do sleep 0.05; done\n"
        )
        return f"sh {shlex.quote(str(script))}"

    def _serve(self) -> None:
        while not self._ended.wait(PAUSE):
            for path in sorted(self.folder.glob("*.go")):
                word = path.read_text().strip()
                path.unlink()
                if word == "stop":
                    self.node.stop()
                elif self.node.ended:
                    self.node.begin()
                self.done.append(word)
                path.with_suffix(".done").touch()

    def close(self) -> None:
        self.node.stop()
        self._ended.set()
        self._thread.join()
