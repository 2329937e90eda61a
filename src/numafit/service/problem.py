"""An answer that is no answer: what went wrong, in the shape of RFC 9457."""

from http import HTTPStatus

import msgspec

from numafit.errors import InputError, NumafitError, StartError

MEDIA_TYPE = "application/problem+json"


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """`title` is the same for all problems of one `type`; `detail` is the sentence about this one."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"
    instance: str = ""
    source: str = ""
    """The file or part of the request that is wrong."""
    line: int = 0
    column: int = 0
    field: str = ""
    cure: str = ""


class ProblemError(Exception):
    """Ends the handling of a request with this problem."""

    def __init__(self, problem: Problem, headers: dict[str, str] | None = None) -> None:
        self.problem = problem
        self.headers = headers or {}
        super().__init__(problem.detail)


def problem(status: int, detail: str, *, cure: str = "", field: str = "") -> Problem:
    return Problem(HTTPStatus(status).phrase, status, detail, field=field, cure=cure)


def refused(status: int, detail: str, *, cure: str = "", headers: dict[str, str] | None = None) -> ProblemError:
    return ProblemError(problem(status, detail, cure=cure), headers)


def problem_of(error: NumafitError) -> Problem:
    """Bad input is 422: the request was understood, and what it holds makes no sense."""
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    if isinstance(error, InputError):
        return Problem(
            "Bad input",
            status,
            str(error),
            source=error.source,
            line=error.line or 0,
            column=error.column or 0,
            field=error.field,
            cure=error.cure,
        )
    detail = error.message if isinstance(error, StartError) else str(error)
    return Problem("The kubelet refuses", status, detail)
