"""Which session files there are: finds them, tells look-alikes apart, gives each its id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_pipeline.errors import InputError, NotASession
from memory_pipeline.sessions.checkpoints import refuse_held_checkpoint
from memory_pipeline.sessions.exclusion import Exclusion
from memory_pipeline.sessions.files import SessionFile, unreadable
from memory_pipeline.sessions.head import Head, read_head
from memory_pipeline.sessions.identity import place, session_id
from memory_pipeline.sessions.roots import Root, named_root, sessions_root
from memory_pipeline.sessions.text import clean
from memory_pipeline.sessions.walk import SUFFIX, Found, Report, ignore, walk
from memory_pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a look at the sessions folder found."""

    root: Path
    files: tuple[SessionFile, ...]
    """By modification time, then id."""
    refused: tuple[tuple[Path, str], ...]
    """Files that are no sessions, or the smaller copy of one, and why."""
    problems: tuple[tuple[Path, str], ...]
    """Files and folders that could not be read, and why."""
    excluded: int
    """Session files left out because their project is (MEMORY_EXCLUDE_PROJECTS)."""


def discover(settings: Settings) -> Discovery:
    """All session files; reads the first KB of each. Raises InputError where the sessions folder cannot be used.

    Two files with one id are one session (a copy): the larger counts, among equals the first by path.
    """
    root = sessions_root(settings)
    exclusion = Exclusion(settings, root.folder)
    problems: list[tuple[Path, str]] = []
    refused: list[tuple[Path, str]] = []
    sessions: dict[str, SessionFile] = {}
    excluded = 0

    def report(path: str, reason: str) -> None:
        problems.append((Path(path), clean(reason)))

    for found in _found(root, exclusion, report):
        try:
            file = _identify(found, root, exclusion)
        except NotASession as error:
            refused.append((Path(found.path), clean(str(error))))
            continue
        except InputError as error:
            report(found.path, str(error))
            continue
        if file is None:
            excluded += 1
            continue
        other = sessions.setdefault(file.session_id, file)
        if other is not file:
            richer, poorer = (file, other) if (-file.size, file.path) < (-other.size, other.path) else (other, file)
            sessions[file.session_id] = richer
            refused.append((poorer.path, f"{poorer.path} is a copy of {richer.path}, which is read instead."))
    files = sorted(sessions.values(), key=lambda file: (file.mtime_ns, file.session_id))
    return Discovery(root.folder, tuple(files), tuple(sorted(refused)), tuple(sorted(problems)), excluded)


def list_files(settings: Settings) -> Iterator[tuple[Path, int, int]]:
    """(path, size, mtime_ns) of every ``*.jsonl`` file below the sessions folder, look-alikes too; opens none of them.

    For a sensor that asks which files changed. Honours excluded folders; excluded projects are known to
    ``session_file`` only. Raises InputError where the sessions folder cannot be used, at the call.
    """
    root = sessions_root(settings)
    found = _found(root, Exclusion(settings, root.folder), ignore)
    return ((Path(file.path), file.size, file.mtime_ns) for file in found)


def session_file(path: Path, settings: Settings) -> SessionFile:
    """The session in one file, with the id that ``discover`` gives it. The file may lie anywhere.

    Raises NotASession for look-alikes, InputError for a file that cannot be read or that the settings exclude.
    """
    root = named_root(settings)
    exclusion = Exclusion(settings, root.folder)
    path = path.absolute()
    if any(exclusion.folder(str(folder)) for folder in path.parents):
        raise InputError(f"{path} lies in a folder that MEMORY_EXCLUDE_FOLDERS leaves out.")
    file = _identify(_found_at(path, root), root, exclusion)
    if file is None:
        raise InputError(f"{path} belongs to a project that MEMORY_EXCLUDE_PROJECTS leaves out.")
    return file


def files_below(folder: Path, say: Callable[[str], None]) -> Iterator[Path]:
    """Every ``*.jsonl`` file below a folder, by path; look-alikes too. ``say`` gets what can't be read."""
    found = walk(str(folder), lambda _: False, lambda _, reason: say(clean(reason)))
    yield from sorted(Path(file.path) for file in found)


def named_file(path: Path, settings: Settings) -> SessionFile:
    """The session in a file that someone asks for by name: also a copy, also one that the settings leave out.

    Raises NotASession for look-alikes, InputError for a file that cannot be read.
    """
    root = named_root(settings)
    path = path.absolute()
    return _with_id(_found_at(path, root), root, read_head(str(path)))


def _found_at(path: Path, root: Root) -> Found:
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise InputError(unreadable(path, error)) from None
    return Found(str(path), _ancestors(path, root.folder), status.st_size, status.st_mtime_ns)


def _found(root: Root, exclusion: Exclusion, report: Report) -> Iterator[Found]:
    yield from walk(str(root.folder), exclusion.folder, report)
    if root.stray and root.stray != root.folder:
        yield from walk(str(root.stray), exclusion.folder, report, deep=False)


def _identify(found: Found, root: Root, exclusion: Exclusion) -> SessionFile | None:
    """The session in a file, None where its project is excluded."""
    head = read_head(found.path)
    if exclusion.project(head.cwd, found.path):
        return None
    refuse_held_checkpoint(found.path)
    return _with_id(found, root, head)


def _with_id(found: Found, root: Root, head: Head) -> SessionFile:
    # Without a header only the place tells two files of one name apart; asking for it costs a stat per folder.
    folder = "" if head.header_id else place(str(Path(found.path).parent), str(root.folder))
    identity = session_id(found.stem, found.ancestors, head.header_id, folder)
    return SessionFile(Path(found.path), identity, found.size, found.mtime_ns)


def _ancestors(path: Path, root: Path) -> tuple[str, ...]:
    """The stems of the sessions in whose folders a file lies, as ``walk`` finds them on its way down."""
    below = path.parents[: path.parents.index(root)] if root in path.parents else path.parents
    return tuple(folder.name for folder in reversed(below) if Path(f"{folder}{SUFFIX}").is_file())
