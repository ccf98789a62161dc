from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.errors import InputError
from memory_pipeline.redaction import Redactor
from memory_pipeline.sessions import MessageContext, messages, outline
from memory_pipeline_tests.redaction import fakes
from memory_pipeline_tests.sessions.logs import (
    CONTEXT,
    assistant,
    contents,
    encode,
    entry,
    header,
    message,
    read,
    result,
    user,
    write,
    write_bytes,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.jsonl"


def one(path: Path, redactor: Redactor, row: dict[str, Any], context: MessageContext = CONTEXT) -> Any:
    """The document of a single entry behind a header."""
    _, found = read(write(path, header(), row), redactor, context)
    assert len(found) == 1
    return found[0]


def test_a_message_is_stored_with_all_it_says(path: Path, redactor: Redactor) -> None:
    rows = [header(), user("a", None), assistant("b", "a", "An answer"), user("c", "b"), user("d", "b")]
    _, found = read(write(path, *rows), redactor)

    assert found[1].model_dump() == {
        "doc_id": "s_s_0_1",
        "session_id": "s",
        "turn_id": "s_0",
        "turn_index": 0,
        "message_index": 1,
        "role": "assistant",
        "content": "An answer",
        "tool_name": None,
        "session_started_at": "2026-01-01T00:00:01.000Z",
        "message_timestamp": "2026-01-01T00:00:01.000Z",
        "model": "m",
        "provider": "p",
        "entry_id": "b",
        "parent_entry_id": "a",
        "on_active_path": True,
        "kind": "message",
        "cwd": "/p",
        "project": "/p",
        "origin": "laptop",
        "is_error": False,
        "truncated_chars": 0,
        "thinking_chars": 0,
        "redactions": 0,
        "content_sha256": hashlib.sha256(b"An answer").hexdigest(),
        "copy_of": None,
    }
    assert [(m.doc_id, m.on_active_path) for m in found[2:]] == [("s_s_1_0", False), ("s_s_2_0", True)]


def test_messages_are_counted_per_turn_in_file_order(path: Path, redactor: Redactor) -> None:
    rows = [
        header(),
        message("y", None, "system", "be good"),
        user("a", "y"),
        user("b", "a"),
        assistant("c", "b"),
        user("d", "c"),
        assistant("late", "b"),
        assistant("e", "d"),
    ]
    _, found = read(write(path, *rows), redactor)

    assert [(m.turn_index, m.message_index) for m in found] == [(-1, 0), (0, 0), (0, 1), (0, 2), (1, 0), (0, 3), (1, 1)]
    assert found[0].doc_id == "s_s_-1_0"


ROLES = [
    (message("a", None, "user", "plain"), ("user", "message", None, "plain", False)),
    (
        message("a", None, "system", "s", sections={"x": "y", "gone": None}),
        ("system", "message", None, "s\n\n## x\ny", False),
    ),
    (result("a", None, "out", "read", isError=True), ("tool", "message", "read", "out", True)),
    (
        message("a", None, "bashExecution", None, command="ls", output="x\n", exitCode=2, cancelled=True),
        ("tool", "bash_execution", "bash", "$ ls\nx\n[exit code 2]\n[cancelled]", True),
    ),
    (entry("custom_message", "a", None, customType="t", content="c"), ("custom", "custom_message", None, "c", False)),
    (message("a", None, "hookMessage", "h"), ("custom", "custom_message", None, "h", False)),
    (message("a", None, "custom", [{"type": "text", "text": "h"}]), ("custom", "custom_message", None, "h", False)),
    (entry("compaction", "a", None, summary="sum"), ("system", "compaction", None, "sum", False)),
    (entry("compaction", "a", None), ("system", "compaction", None, "", False)),
    (entry("branch_summary", "a", None, summary="sum"), ("system", "branch_summary", None, "sum", False)),
    (message("a", None, "branchSummary", None, summary="b"), ("system", "branch_summary", None, "b", False)),
    (message("a", None, "developer", "d"), ("developer", "message", None, "d", False)),
    (
        message("a", None, "assistant", [], stopReason="error", errorMessage="500 no"),
        ("assistant", "message", None, "[error] 500 no", True),
    ),
    (message("a", None, "assistant", [], stopReason="aborted"), ("assistant", "message", None, "", False)),
]


@pytest.mark.parametrize(("row", "expected"), ROLES, ids=[f"{i}-{e[0]}-{e[1]}" for i, (_, e) in enumerate(ROLES)])
def test_roles_and_kinds_are_the_designed_ones(
    path: Path, redactor: Redactor, row: dict[str, Any], expected: tuple[object, ...]
) -> None:
    m = one(path, redactor, row)

    assert (m.role, m.kind, m.tool_name, m.content, m.is_error) == expected


def test_state_and_settings_of_pi_are_no_messages(path: Path, redactor: Redactor) -> None:
    kinds = ["model_change", "thinking_level_change", "custom", "label", "session_info", "usage", "context_edit", "new"]
    rows = [entry(kind, kind, None, data="x", label="x", name="x") for kind in kinds]

    assert read(write(path, header(), *rows), redactor)[1] == []


def test_tool_calls_are_readable_lines_and_thinking_is_counted_only(path: Path, redactor: Redactor) -> None:
    row = assistant(
        "a", None, "Let me look.", ("bash", {"command": "ls\n-la ä"}), ("read", {"path": "x"}), ("bash", None)
    )
    row["message"]["content"].insert(0, {"type": "thinking", "thinking": "secret thoughts", "thinkingSignature": "zzz"})
    m = one(path, redactor, row)

    assert m.content == (
        'Let me look.\n[calls bash] {"command": "ls\\n-la ä"}\n[calls read] {"path": "x"}\n[calls bash] {}'
    )
    assert m.tool_name == ["bash", "read"]
    assert m.thinking_chars == len("secret thoughts")
    assert one(path, redactor, assistant("a", None, "", ("bash", {}))).tool_name == "bash"


def test_images_and_binaries_are_placeholders(path: Path, redactor: Redactor) -> None:
    raw = bytes(range(256)) * 40
    data = base64.b64encode(raw).decode()
    blocks = [
        {"type": "text", "text": f"see data:image/gif;base64,{data}"},
        {"type": "image", "data": data, "mimeType": "image/png"},
        {"type": "audio", "data": data},
        {"type": "fallback", "text": "not shown"},
    ]
    m = one(path, redactor, message("a", None, "user", blocks))

    short = f"10,240 bytes, sha256 {hashlib.sha256(raw).hexdigest()[:12]}]"
    assert m.content == f"see [data image/gif, {short}\n[image image/png, {short}\n[audio of unknown type, {short}"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, ""),
        ({}, ""),
        (5, ""),
        (True, ""),
        ([None], ""),
        (["x", "y"], "x\ny"),
        ([{"type": "text"}], ""),
        ([{"type": "text", "text": 7}], ""),
        ({"type": "text", "text": "t"}, "t"),
        ([[[]], {"type": ["text"]}, {"type": "toolCall"}], "[calls tool] {}"),
        ([{"type": "toolCall", "name": 3, "arguments": "partial"}], '[calls tool] "partial"'),
    ],
)
def test_content_of_any_shape_is_read_as_far_as_it_goes(
    path: Path, redactor: Redactor, content: Any, expected: str
) -> None:
    assert one(path, redactor, message("a", None, "toolResult", content)).content == expected
    assert one(path, redactor, entry("custom_message", "a", None, content=content)).content == expected
    absent = message("a", None, "toolResult", None)
    del absent["message"]["content"]
    assert one(path, redactor, absent).content == ""


def test_text_is_clean_before_it_is_stored(path: Path, redactor: Redactor) -> None:
    row = result("a", None, "a\0b \x1b[31mred\x1b[0m \ud83d 10%\r20% \u2028 \u0085", tool="ba\0sh\udc88")
    m = one(path, redactor, row)

    assert m.content == "ab red \ufffd 10%\n20% \u2028 \u0085"
    assert m.tool_name == "bash\ufffd"
    assert m.model_dump_json().encode()


def test_every_string_is_redacted(path: Path, redactor: Redactor) -> None:
    secret = fakes.token()
    arguments = {"content": f"A=1\n{secret}\n", "k": fakes.private_key()}
    blocks = [
        {"type": "text", "text": f"is \x1b[1m{secret[:20]}\x1b[0m{secret[20:]}"},
        {"type": "toolCall", "name": f"tool-{secret}", "arguments": arguments},
    ]
    row = message(secret, None, "assistant", blocks, model=f"m {secret}", provider=secret, stopReason="stop")
    child = message("b", secret, f"role {secret}", f"x {secret}")
    context = MessageContext("s", f"/p/{secret}", f"host {secret}", 1_048_576)
    _, found = read(write(path, header(cwd=f"/w/{secret}"), row, child), redactor, context)

    text = "".join(m.model_dump_json() for m in found)
    assert secret not in text
    assert fakes.noise("a3", 64) not in text
    assert found[0].redactions == 4
    first, second = (m.model_dump() for m in found)
    for name in ("tool_name", "model", "provider", "entry_id", "cwd", "project", "origin"):
        assert "[redacted:github-pat:" in first[name], name
    for name in ("role", "parent_entry_id", "content"):
        assert "[redacted:github-pat:" in second[name], name


def test_over_the_cap_head_and_tail_stay(path: Path, redactor: Redactor) -> None:
    context = dataclasses.replace(CONTEXT, message_cap=1_000)
    text = "a" * 2_000 + "z" * 2_000
    m = one(path, redactor, user("a", None, text), context)

    assert m.content == "a" * 750 + "\n[… 3,000 characters left out …]\n" + "z" * 250
    assert m.truncated_chars == 3_000
    assert m.content_sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert one(path, redactor, user("a", None, "b" * 1_000), context).truncated_chars == 0


def test_a_secret_on_the_cut_does_not_survive_in_halves(path: Path, redactor: Redactor) -> None:
    context = dataclasses.replace(CONTEXT, message_cap=1_000)
    m = one(path, redactor, user("a", None, f"{'a ' * 365}{fakes.token()} {'z ' * 2_000}"), context)

    assert fakes.token()[:10] not in m.content
    assert m.redactions == 1


def test_lines_out_of_order_or_damaged_are_found_again(path: Path, redactor: Redactor) -> None:
    glued = encode(user("a", None, "one"), assistant("b", "a", "two")).replace(b"\n", b"")
    rows: list[Any] = [
        header(),
        glued,
        json.dumps(user("c", "b", "three")).encode() + b"\0" * 9,
        json.dumps(user("d", "c", "x ***")).replace("***", r"\***").encode(),
        assistant("e", "d", "\ud83d"),
    ]
    seen, found = read(write(path, *rows), redactor)

    assert contents(found) == ["one", "two", "three", "x \\***", "\ufffd"]
    assert seen.problem_count == 3


def test_a_25_mb_line_stands_between_small_turns(path: Path, redactor: Redactor) -> None:
    image = {"type": "image", "data": "iVBORw0K" * 4_000_000, "mimeType": "image/png"}
    rows = [
        header(),
        user("a", None, "before"),
        result("b", "a", "x" * 25_000_000),
        message("c", "b", "toolResult", [image], toolName="read"),
        user("d", "c", "after"),
    ]
    _, found = read(write(path, *rows), redactor)

    assert [len(m.content) for m in found if m.role == "user"] == [6, 5]
    assert found[1].truncated_chars == 25_000_000 - 1_048_576
    assert found[2].content.startswith("[image image/png, 24,000,000 bytes, ")


def test_long_sessions_come_in_order_over_many_batches(path: Path, redactor: Redactor) -> None:
    rows = [user("0", None, "0")]
    rows += [assistant(str(i), str(i - 1), f"{i} {'x' * (700_000 if i % 900 == 0 else 5)}") for i in range(1, 2_500)]
    _, found = read(write(path, header(), *rows), redactor)

    assert [int(m.content.split()[0]) for m in found] == list(range(2_500))
    assert [m.message_index for m in found] == list(range(2_500))


@pytest.mark.parametrize("change", ["rewritten", "shortened", "deleted"])
def test_a_file_that_changes_between_the_passes_is_an_error(path: Path, redactor: Redactor, change: str) -> None:
    file = write(path, header(), user("a", None), assistant("b", "a"))
    seen = outline(file)
    if change == "rewritten":
        write(path, header(), user("a", None, "other text than before"), assistant("b", "a"))
    elif change == "shortened":
        write(path, header())
    else:
        path.unlink()

    with pytest.raises(InputError, match=r"changed while|does not exist"):
        list(messages(seen, CONTEXT, redactor))


def test_lines_added_between_the_passes_do_no_harm(path: Path, redactor: Redactor) -> None:
    data = encode(header(), user("a", None), assistant("b", "a"))
    seen = outline(write_bytes(path, data))
    write_bytes(path, data + encode(user("c", "b")))

    assert len(list(messages(seen, CONTEXT, redactor))) == 2


def test_reading_twice_gives_the_same_documents_and_leaves_the_file_alone(path: Path, redactor: Redactor) -> None:
    file = write(path, header(), user("a", None, fakes.token()), "{torn", assistant("b", "x"))
    before = path.read_bytes(), path.stat().st_mtime_ns

    assert read(file, redactor) == read(file, redactor)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_appending_changes_no_document_that_exists(path: Path, redactor: Redactor) -> None:
    rows = [header(), user("a", None), assistant("b", "a"), user("c", "b"), assistant("d", "c")]
    _, before = read(write(path, *rows), redactor)
    _, after = read(write(path, *rows, user("e", "d"), assistant("f", "e"), entry("label", "l", "f")), redactor)

    assert after[: len(before)] == before
