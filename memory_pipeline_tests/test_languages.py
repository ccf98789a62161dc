"""Which language a text is taken for, and when it is none."""

from __future__ import annotations

import pytest

from memory_pipeline.languages import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The deploy job failed because the runner had no space left on the device.", "en"),
        ("Wir benutzen nur `pnpm`, weil die CI sonst rot wird und niemand den Fehler findet.", "de"),
        ("On utilise toujours pnpm dans ce dépôt, parce que npm casse le fichier de verrouillage.", "fr"),
        ("Siempre usamos pnpm en este repositorio porque npm rompe el archivo de bloqueo.", "es"),
        ("Порт базы данных теперь 5433, потому что 5432 уже занят системой.", "ru"),
        ("データベースのポートは5433に変更しました。", "ja"),
        ("数据库端口改为5433。", "zh"),
    ],
)
def test_prose_has_a_language_whatever_code_is_in_it(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "fix tests",
        "`make check` && `git push`",
        "vitest eslint tsconfig pnpm",
        "Der Port der Datenbank wurde gestern auf einen anderen Wert gesetzt. "
        "The database has been listening on another port since yesterday evening.",
    ],
)
def test_short_mixed_or_wordless_text_has_none(text: str) -> None:
    assert language_of(text) is None
