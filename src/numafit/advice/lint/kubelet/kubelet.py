"""All findings about one kubelet: what keeps it from starting, then what it does other than meant.

A value that is only written wrong hides whatever comes after it. So the text is looked at as it stands, and once more
with such values corrected.
"""

from msgspec.structs import replace

from numafit.advice.inspection.places import DocumentPart, FlagFile
from numafit.advice.inspection.text import KubeletText
from numafit.advice.lint.findings import Edit, Finding, edited, finding
from numafit.advice.lint.kubelet.spelling import case_edits, quote_edits
from numafit.advice.lint.kubelet.start import REFUSED, Checked, check_start
from numafit.advice.lint.kubelet.surprises import advice, flag_advice
from numafit.document import Path, read_documents
from numafit.errors import InputError
from numafit.machine.model import Machine
from numafit.settings.read.arguments import arguments_of_env
from numafit.settings.versions import KubeVersion


def lint_kubelet(text: KubeletText, version: KubeVersion, machine: Machine | None) -> Checked:
    """The findings with edits that cure them; the rest of the answer is that of the corrected text."""
    first = check_start(text, version, machine)
    quotes = list(quote_edits(text, version))
    found = [*_quoted(quotes, first)]
    places = {edit.place for _, edit in quotes}
    unquoted = [each for each in first.findings if each.code != "NF101" or each.place not in places]
    text = corrected(text, [edit for _, edit in quotes])
    second = check_start(text, version, machine) if quotes else first
    cases = list(case_edits(text))
    last = check_start(corrected(text, cases), version, machine) if cases else second
    for each in (*unquoted, *second.findings, *last.findings):
        if all(
            (known.code, known.place.line, known.message) != (each.code, each.place.line, each.message)
            for known in found
        ):
            found.append(_with_edit(each, cases))
    found += _unseen(cases, found)
    config = last.config
    if last.config_flag:
        message = f"--config names {last.config_flag}, which was not given: only the flags were looked at"
        place = text.flag_place("config") or text.place()
        found.append(finding("NF003", place, message, "name that file too"))
        found += flag_advice(text, config, version) if config else ()
    elif config is not None:
        found += advice(text, config, version, machine, last.doubts)
    return replace(last, findings=tuple(found))


def corrected(text: KubeletText, edits: list[Edit]) -> KubeletText:
    """The text with these edits made; places stay right but for the columns behind an edit."""
    part, flags = text.part, text.flags
    if part is not None and edits:
        moved = [
            replace(edit, place=edit.place._replace(line=edit.place.line - part.shift.line,
                                                    column=edit.place.column - part.shift.column))
            for edit in edits
        ]  # fmt: skip
        part = _reread(part, edited(part.text, moved))
    if flags is not None and edits:
        own = [edit for edit in edits if edit.place.source == flags.source]
        changed = edited(flags.text, own)
        try:
            flags = FlagFile(flags.source, changed, arguments_of_env(changed, flags.source))
        except InputError:
            flags = text.flags
    return KubeletText(part, flags, text.drop_ins)


def _reread(part: DocumentPart, text: str) -> DocumentPart:
    index = 0
    try:
        before = read_documents(part.text, part.document.source)
        index = next((i for i, each in enumerate(before) if each.place(()) == part.document.place(())), 0)
        document = read_documents(text, part.document.source)[index]
    except (InputError, IndexError):
        return part
    return DocumentPart(document, part.path, text=text, shift=part.shift, fixed=part.fixed)


def _quoted(quotes: list[tuple[Path, Edit]], checked: Checked) -> list[Finding]:
    refusals = {each.place: each.message for each in checked.findings if each.code == "NF101"}
    found = []
    for path, edit in quotes:
        why = refusals.get(edit.place, f"{REFUSED}: a text is expected there")
        message = f"{path[-1]}: {edit.old} has no quotes; {why}"
        found.append(finding("NF106", edit.place, message, f"write {edit.new}", edit))
    return found


def _unseen(cases: list[Edit], found: list[Finding]) -> list[Finding]:
    """Names of policies that the kubelet would refuse only after something else."""
    return [
        finding("NF105", edit.place, f'"{edit.old}" is no policy or scope, {edit.new} is', f"write {edit.new}", edit)
        for edit in cases
        if all(each.edit != edit for each in found)
    ]


def _with_edit(each: Finding, edits: list[Edit]) -> Finding:
    for edit in edits:
        if each.code == "NF105" and each.place.line == edit.place.line and each.place.source == edit.place.source:
            return replace(each, edit=edit, cure=f"write {edit.new}: case matters")
    return each
