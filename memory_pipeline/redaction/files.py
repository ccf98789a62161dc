"""Text files of any kind: what of them would go, and copies without it. The originals are only read.

A file is read twice, a few MB of it in memory at a time: once to learn its secrets, once to replace them. A line that
is JSON is redacted string by string, and nothing else of it changes; every other text as it stands.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from memory_pipeline.errors import InputError
from memory_pipeline.redaction.json_strings import JsonString, json_strings, replaced
from memory_pipeline.redaction.redacted import TOKEN, Redacted
from memory_pipeline.redaction.redactor import Redactor
from memory_pipeline.redaction.session import SessionSecrets

_BLOCK = 1 << 20
_LONGEST_LINE = 64 << 20
_LINES_OF_A_KEY = 200
_PROBE = 8_192


@dataclass(slots=True)
class FileReport:
    """What was found in one file; ``skipped`` says why it was not read, ``lines`` are numbers from 1."""

    path: Path
    redactions: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    lines: list[int] = field(default_factory=list)
    skipped: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, and where its copy belongs below the folder of copies."""

    path: Path
    relative: Path


def sources(paths: Sequence[Path]) -> Iterator[Source]:
    """The files named and the files in the folders named, each once, in order; links to folders are not followed.

    Of a single folder the copies keep their places in it; of several paths each is kept under its own name.
    """
    seen: set[str] = set()
    for path in paths:
        if not path.is_dir():
            found = [Source(path, Path(path.name))]
        else:
            top = Path() if len(paths) == 1 else Path(path.resolve().name)
            found = [
                Source(Path(folder, name), top / Path(folder, name).relative_to(path))
                for folder, folders, names in os.walk(path)
                for name in (folders.sort() or sorted(names))
            ]
        for source in found:
            real = os.path.realpath(source.path)  # unlike resolve(), it takes links in a circle
            if real not in seen:
                seen.add(real)
                yield source


def check_out(paths: Sequence[Path], out: Path) -> None:
    """Raises InputError where copies in ``out`` would land among the originals, or two of them in one place."""
    target = out.resolve()
    for path in paths:
        folder = path.resolve() if path.is_dir() else path.resolve().parent
        if target == folder or (path.is_dir() and folder in target.parents):
            raise InputError(
                f"The copies would be written into {folder}, beside the originals; give --out another folder."
            )
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; give --out a folder.")
    kept: dict[Path, Path] = {}
    for source in sources(paths):
        if (other := kept.setdefault(source.relative, source.path)) != source.path:
            raise InputError(
                f"{other} and {source.path} would both be copied to {out / source.relative}; name them one by one."
            )


def redact_file(source: Source, redactor: Redactor, out: Path | None) -> FileReport:
    """Report on one file; with ``out`` also a redacted copy below it, under the same name."""
    report = FileReport(source.path)
    try:
        if not source.path.is_file():
            report.skipped = "no regular file"
            return report
        with source.path.open("rb") as stream:
            if b"\0" in stream.read(_PROBE):
                report.skipped = "binary"
                return report
        secrets = redactor.session()
        with source.path.open("rb") as stream:
            for part in _parts(stream):
                secrets.learn(part.texts)
        if out is None:
            _replace(source.path, secrets, report, None)
        else:
            _copy(source, secrets, report, out)
    except OSError as error:
        if error.filename is not None and Path(error.filename) != source.path:
            raise  # of the copy
        report.skipped = f"cannot be read: {error.strerror}"
    return report


def _copy(source: Source, secrets: SessionSecrets, report: FileReport, out: Path) -> None:
    target = out / source.relative
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.parent.resolve().is_relative_to(out.resolve()):
        raise InputError(f"{target.parent} is a link that leads out of {out}; remove it, or give --out another folder.")
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        with unfinished.open("xb") as stream:
            _replace(source.path, secrets, report, stream)
        shutil.copymode(source.path, unfinished)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _replace(path: Path, secrets: SessionSecrets, report: FileReport, copy: BinaryIO | None) -> None:
    with path.open("rb") as stream:
        for part in _parts(stream):
            results = secrets.redact(part.texts)
            for text, result in zip(part.texts, results, strict=True):
                if result.count:
                    report.redactions += result.count
                    report.kinds.update(result.kinds)
                    places = {0} if part.strings is not None else _lines_of(text, result.text)
                    report.lines += [n for n in sorted(part.line + p for p in places) if n not in report.lines[-1:]]
            if copy is not None:
                copy.write(part.written(results))


@dataclass(frozen=True, slots=True)
class _Part:
    """A line of JSON as its ``strings``, or a block of other lines as one text; ``line`` is its first one."""

    line: int
    raw: bytes
    texts: list[str]
    strings: list[JsonString] | None = None

    def written(self, results: Sequence[Redacted]) -> bytes:
        if not any(result.count for result in results):
            return self.raw
        if self.strings is None:
            return results[0].text.encode("utf-8", "surrogateescape")
        return replaced(self.raw, self.strings, (result.text for result in results))


def _parts(stream: BinaryIO) -> Iterator[_Part]:
    """The file in order. A block of text never ends inside a private key, unless that is longer than any is."""
    block: list[bytes] = []
    size = first = number = open_key = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        strings = json_strings(line)
        if block and (strings is not None or (size >= _BLOCK and not open_key)):
            yield _text_part(first, block)
            block, size = [], 0
        if strings is not None:
            yield _Part(number, line, [string.text for string in strings], strings)
            continue
        if not block:
            first = number
        block.append(line)
        size += len(line)
        if b"-----BEGIN" in line:
            open_key = _LINES_OF_A_KEY
        open_key = 0 if b"-----END" in line else max(open_key - 1, 0)
    if block:
        yield _text_part(first, block)


def _text_part(first: int, block: Sequence[bytes]) -> _Part:
    raw = b"".join(block)
    return _Part(first, raw, [raw.decode("utf-8", "surrogateescape")])


def _lines_of(before: str, after: str) -> set[int]:
    """The lines (from 0) of ``before`` on which ``after`` has a token in place of something else."""
    lines: set[int] = set()
    position = 0
    tokens = TOKEN.findall(after)
    for token, piece in zip(["", *tokens], TOKEN.split(after), strict=True):
        if token and not before.startswith(token, position):
            lines.add(before.count("\n", 0, position))
        elif token:
            position += len(token)
        found = before.find(piece, position)
        position = max(found, position) + len(piece)
    return lines
