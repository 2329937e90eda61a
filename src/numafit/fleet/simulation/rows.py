"""Rows of CSV with their lines. One that cannot be read is told, and those behind it are read."""

import csv
import io
from collections.abc import Iterator, Mapping

from numafit.errors import InputError


class CsvRows:
    """Each row comes with the line in which it begins; its cells by their columns, or what is wrong with it."""

    def __init__(self, text: str, source: str) -> None:
        """Raises InputError where the columns cannot be read."""
        self._source = source
        # Spreadsheets begin a file with a mark.
        self._reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")))
        first = next(self._cells(), (1, []))[1]
        if isinstance(first, InputError):
            raise first
        self.columns = tuple(first)

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, str] | InputError]]:
        for line, cells in self._cells():
            if isinstance(cells, InputError):
                yield line, cells
            elif len(cells) == len(self.columns):
                yield line, dict(zip(self.columns, cells, strict=True))
            else:
                last = self._reader.line_num
                cure = f"the row goes on to line {last}: is a quote not closed?" if last > line else ""
                said = f"{len(self.columns)} fields are needed here"
                yield line, InputError(said, source=self._source, line=line, cure=cure)

    def _cells(self) -> Iterator[tuple[int, list[str] | InputError]]:
        while True:
            line = self._reader.line_num + 1
            try:
                cells = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield line, self._unreadable(error, line)
                continue
            if cells:
                yield line, cells

    def _unreadable(self, error: csv.Error, line: int) -> InputError:
        if "limit" in str(error):
            said = f"a field has more than {csv.field_size_limit()} characters"
            return InputError(said, source=self._source, line=line, cure="is a quote not closed?")
        said = "a carriage return stands inside this row"
        return InputError(said, source=self._source, line=line, cure="end lines as Unix or Windows does")
