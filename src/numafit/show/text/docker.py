"""The review of a script: what each `docker run` line asks for, what is wrong with it, and what numafit would add."""

import shlex

from numafit.bits import cpuset_text, mask_of
from numafit.host.docker.plan import Review, WrittenRun, numafit_words


def review_text(one: Review, file: str) -> str:
    name = one.line.run.value("name") or one.line.run.image
    rows = [("as written", _written_text(one.written))]
    rows += [("wrong", fault) for fault in (*one.written.faults, *one.clashes)]
    if one.plan is not None:
        rows.append(("numafit adds", shlex.join(one.plan.added.flags)))
    else:
        rows.append(("refused", one.refused))
    rows.append(("run it as", one.line.shell_text(numafit_words(one.written, one.line.run))))
    width = max(len(title) for title, _ in rows)
    body = "\n".join(f"  {title.ljust(width)}  {text}" for title, text in rows)
    return f"{file}:{one.line.number}: {name}: {one.written.request.words()}\n{body}"


def _written_text(written: WrittenRun) -> str:
    cpus = cpuset_text(written.cpus) or written.unknown.get("cpuset-cpus", "")
    mems = cpuset_text(written.mems) or written.unknown.get("cpuset-mems", "")
    parts = [f"CPUs {cpus}" if cpus else "any CPUs", f"memory of node {mems}" if mems else "memory of any node"]
    for gpu in written.gpus:
        node = cpuset_text(mask_of(gpu.numa or ()))
        parts.append(f"{gpu.label or gpu.id}" + (f" (node {node})" if node else ""))
    return ", ".join(parts)
