from __future__ import annotations

import dataclasses
import os
import random
import stat
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.errors import NotASession
from memory_pipeline.sessions import Outline, SessionFile, blocks, outline
from memory_pipeline.sessions import saved as saved_module
from memory_pipeline.sessions.reading import Reading
from memory_pipeline.sessions.saved import SavedOutline, load_outline, save_outline
from memory_pipeline_tests.sessions.broken import broken_file
from memory_pipeline_tests.sessions.logs import Row, assistant, encode, entry, header, result, user, write, write_bytes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.jsonl"


def append(path: Path, *rows: Row | bytes | str) -> SessionFile:
    return append_bytes(path, encode(*rows))


def append_bytes(path: Path, data: bytes) -> SessionFile:
    with path.open("ab") as stream:
        stream.write(data)
    status = path.stat()
    return SessionFile(path, "s", status.st_size, status.st_mtime_ns)


def saved(seen: Outline) -> SavedOutline:
    """What comes back of the outline when it was on disk."""
    assert seen.saved is not None
    data = seen.saved.to_bytes()
    assert data is not None
    back = SavedOutline.from_bytes(data)
    assert back is not None
    assert back == seen.saved
    return back


def assert_same(grown: Outline, whole: Outline) -> None:
    for field in dataclasses.fields(whole):
        if field.compare:
            assert getattr(grown, field.name) == getattr(whole, field.name), field.name
    assert grown.saved == whole.saved


CHAT = (header(), user("00000001", None), assistant("00000002", "00000001"), user("00000003", "00000002"))


def test_growth_is_read_from_where_the_last_outline_ended(path: Path) -> None:
    first = outline(write(path, *CHAT))
    file = append(path, assistant("00000004", "00000003"), entry("session_info", "00000005", "00000004", name="N"))

    grown = outline(file, saved(first))

    assert_same(grown, outline(file))
    assert (grown.resumed_at, grown.changed_from, grown.prefix_changed) == (3, 3, False)
    assert (grown.name, grown.header.cwd) == ("N", "/p")
    assert_same(outline(file, saved(grown)), grown)


def test_what_was_read_before_is_not_parsed_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = outline(write(path, *CHAT, *(result(f"{i:08x}", f"{i - 1:08x}", "x" * 50_000) for i in range(4, 90))))
    assert first.saved is not None
    file = append(path, assistant("000000ff", "00000059"))
    taken: list[int] = []
    take = Reading.take

    def counting(self: Reading, block: blocks.Block) -> None:
        taken.append(sum(len(line or b"") for line in block.lines))
        take(self, block)

    monkeypatch.setattr(Reading, "take", counting)

    grown = outline(file, saved(first))

    assert len(first.saved.digests) == 4 * blocks.DIGEST
    assert sum(taken) == len(encode(assistant("000000ff", "00000059")))
    assert grown.resumed_at == 89


@pytest.mark.parametrize("seed", range(60))
def test_growth_in_any_steps_gives_what_a_whole_read_gives(
    seed: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(blocks, "BLOCK", chance.choice([50, 700, 5_000, 1 << 20]))
    data = broken_file(seed).data
    ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
    cuts = ends if chance.random() < 0.5 else chance.sample(range(len(data)), 8) + chance.sample(ends, 3)
    path.touch()
    at = resumed = 0
    earlier: SavedOutline | None = None
    for cut in sorted({*cuts[:60], len(data)}):
        # The time of change is not what is tested here, and it is all that a file without any time has.
        file = dataclasses.replace(append_bytes(path, data[at:cut]), mtime_ns=1_777_889_472_345_678_901)
        at = cut
        try:
            whole = outline(file)
        except NotASession as error:
            with pytest.raises(NotASession) as raised:
                outline(file, earlier)
            assert str(raised.value) == str(error)
            continue
        grown = outline(file, earlier)
        assert_same(grown, whole)
        assert not (earlier is not None and grown.prefix_changed and grown.resumed_at)
        resumed += grown.resumed_at > 0
        if grown.saved is not None:
            raw = grown.saved.to_bytes()
            earlier = SavedOutline.from_bytes(raw) if raw else grown.saved
    assert resumed > 0 or outline(file).saved is None


def test_a_broken_line_across_the_end_is_read_once(path: Path) -> None:
    line = encode(assistant("00000004", "00000003"))
    first = outline(write_bytes(path, encode(*CHAT) + line[:30]))
    second = outline(append_bytes(path, line[30:40]), saved(first))
    file = append_bytes(path, line[40:])

    third = outline(file, saved(second))

    assert [problem.reason for problem in first.problems] == ["unfinished last line, left for the next time"]
    assert third.problems == ()
    assert third.resumed_at == 3
    assert_same(third, outline(file))


def test_a_line_that_lacks_its_end_is_not_begun_behind(path: Path) -> None:
    seen = outline(write_bytes(path, encode(*CHAT)[:-1]))

    assert len(seen.entries) == 3
    assert seen.saved is None


def test_a_new_branch_says_from_where_places_changed(path: Path) -> None:
    first = outline(write(path, *CHAT))
    grown = outline(append(path, user("00000004", "00000001")), saved(first))

    assert grown.resumed_at == 3
    assert grown.changed_from == 1, "from the second entry on they are off the path"
    late = outline(append(path, assistant("00000005", "0000000a"), user("0000000a", "00000002")), saved(grown))
    assert late.changed_from <= 4


def put(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as stream:
        stream.seek(at)
        stream.write(data)


@pytest.mark.parametrize(
    "change",
    [
        lambda path: put(path, 5, b"X"),
        lambda path: put(path, path.stat().st_size - 5, b"X"),
        lambda path: put(path, path.stat().st_size // 2, b"X"),
        lambda path: os.truncate(path, path.stat().st_size - 200),
    ],
    ids=["first line", "last line", "a byte in the middle", "shorter"],
)
def test_a_file_that_did_not_only_grow_is_read_from_its_start(change: Any, path: Path) -> None:
    rows = (result(f"{i:08x}", f"{i - 1:08x}", "x" * 50_000) for i in range(4, 90))
    first = outline(write(path, *CHAT, *rows))
    change(path)
    file = append(path, user("000000aa", "00000003"))

    seen = outline(file, saved(first))

    assert (seen.resumed_at, seen.changed_from, seen.prefix_changed) == (0, 0, True)
    assert_same(seen, outline(file))


def test_a_file_moved_aside_and_back_by_an_editor_is_read_on(path: Path) -> None:
    first = outline(write(path, *CHAT))
    copy = path.with_suffix(".new")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)
    file = append(path, assistant("00000004", "00000003"))

    seen = outline(file, saved(first))

    assert seen.resumed_at == 3
    assert_same(seen, outline(file))


def test_a_header_that_comes_late_changes_all(path: Path) -> None:
    first = outline(write(path, *CHAT[1:]))
    file = append(path, header(cwd="/other"))

    grown = outline(file, saved(first))

    assert (grown.resumed_at, grown.changed_from, grown.header.cwd) == (3, 0, "/other")
    assert_same(grown, outline(file))


def test_a_saved_outline_holds_no_text_of_the_file(path: Path) -> None:
    text = "only-in-the-file"
    seen = outline(
        write(
            path,
            {"type": "title", "title": text},
            header(cwd=f"/{text}", id=text, parentSession=text),
            user("00000001", None, text),
            entry("session_info", "00000002", "00000001", name=text),
            {"type": text, "id": "no known type"},
            f"{text} no JSON",
        )
    )

    assert seen.saved is not None
    assert seen.saved.to_bytes() is None, "its types are not all pi's own"
    seen.saved.state.plain = True
    seen.saved.state.kinds = [kind for kind in seen.saved.state.kinds if kind[0] != text]
    data = seen.saved.to_bytes()
    assert data
    assert text.encode() not in data


@pytest.mark.parametrize(
    "row",
    [user("my-secret-id", "00000003"), assistant("00000004", "my-secret-id"), entry("my_type", "00000004", None)],
    ids=["id", "parent", "type"],
)
def test_ids_and_types_of_unknown_making_are_not_saved(row: Row, path: Path) -> None:
    seen = outline(write(path, *CHAT, row))

    assert seen.saved is not None
    assert seen.saved.to_bytes() is None


def test_uuids_are_ids_of_pi_s_too(path: Path) -> None:
    long = "019e1111-2222-7333-8444-555555555555"
    first = outline(write(path, *CHAT, user(long, "00000003")))
    file = append(path, assistant("00000005", long))

    grown = outline(file, saved(first))

    assert [e.id for e in grown.entries][-2:] == [long, "00000005"]
    assert grown.tree.parents[-1] == 3
    assert_same(grown, outline(file))


@pytest.mark.parametrize("at", [0, 30, 60, 200, -40, -1])
def test_damaged_outlines_are_ignored(at: int, path: Path) -> None:
    seen = outline(write(path, *CHAT))
    assert seen.saved is not None
    data = bytearray(seen.saved.to_bytes() or b"")
    data[at] ^= 1

    assert SavedOutline.from_bytes(bytes(data)) is None
    assert SavedOutline.from_bytes(bytes(data[:at])) is None
    assert SavedOutline.from_bytes(b"") is None


def test_outlines_are_kept_for_their_owner_alone(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data" / "outlines"
    seen = outline(write(path, *CHAT))
    assert load_outline(folder, "s") is None
    assert not save_outline(folder, "s", seen), "a small file is read again as fast"
    monkeypatch.setattr(saved_module, "_WORTH_SAVING", 100)

    assert save_outline(folder, "s", seen)
    assert save_outline(folder, "s", seen)

    assert load_outline(folder, "s") == seen.saved
    kept = folder / "s.bin"
    assert list(folder.iterdir()) == [kept]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    kept.write_bytes(b"something else")
    assert load_outline(folder, "s") is None


def test_a_folder_that_cannot_be_written_costs_only_the_saving(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_module, "_WORTH_SAVING", 100)
    (tmp_path / "file").write_bytes(b"")

    assert not save_outline(tmp_path / "file" / "outlines", "s", outline(write(path, *CHAT)))
