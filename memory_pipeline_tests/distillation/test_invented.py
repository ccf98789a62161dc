"""What extraction keeps of turns that were written before it was tuned: many projects, styles and languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.quality.labels import Fact, Labels
from memory_pipeline.distillation import ExtractiveEngine
from memory_pipeline_tests.distillation.labelled import Session, score
from memory_pipeline_tests.distillation.samples import dialogue, turn_of

INVENTED = Path(__file__).with_name("invented_turns.json")

LANGUAGES = {
    "Arabic": (
        "لماذا التقرير فارغ؟",
        "التقرير فارغ لأن المجدول يعمل بتوقيت UTC بينما يقرأ الاستعلام اليوم المحلي. غيرت الإعداد إلى Asia/Riyadh.",
        ("شكرا", "على الرحب والسعة!"),
    ),
    "Chinese": (
        "为什么导出订单这么慢？",
        "慢的原因是每一行都单独查询一次客户表。我把它改成一次联表查询，并给 orders.customer_id 加了索引。",
        ("谢谢", "不客气！"),
    ),
    "Dutch": (
        "waarom is het rapport leeg",
        "Het rapport is leeg omdat de planner in UTC draait en de query de lokale dag leest. Nu Europe/Amsterdam.",
        ("dank je wel", "Graag gedaan!"),
    ),
    "Greek": (
        "γιατί είναι άδεια η αναφορά;",
        "Η αναφορά είναι άδεια επειδή ο χρονοπρογραμματιστής τρέχει σε UTC ενώ το ερώτημα διαβάζει την τοπική ημέρα. "
        "Άλλαξα τη ρύθμιση σε Europe/Athens.",
        ("ευχαριστώ", "Παρακαλώ!"),
    ),
    "Hindi": (
        "रिपोर्ट खाली क्यों आती है",
        "रिपोर्ट खाली आती है क्योंकि शेड्यूलर UTC समय पर चलता है और क्वेरी स्थानीय दिन देखती है। मैंने समय सुबह छह बजे कर दिया और अब "
        "Asia/Kolkata का उपयोग होता है।",
        ("धन्यवाद", "आपका स्वागत है।"),
    ),
    "Japanese": (
        "決済画面のテストが時々落ちるのはなぜですか？",
        "原因はタイムゾーンです。`PaymentForm` のテストが現地時刻で日付を作るため、CIでは月末だけ一日ずれます。",
        ("ありがとうございます！", "どういたしまして。"),
    ),
    "Polish": (
        "dlaczego testy są niestabilne",
        "Testy korzystają z jednej bazy danych i uruchamiają się równolegle, więc nadpisują sobie rekordy. Każdy "
        "proces dostaje teraz własną bazę test_worker_N.",
        ("dzięki", "Nie ma za co!"),
    ),
    "Swedish": (
        "varför är sökningen så långsam",
        "Sökningen läser hela tabellen eftersom indexet på artikelnamn saknas. Jag lade till ett "
        "index i migrering 0042 och nu tar en fråga 40 ms i stället för två sekunder.",
        ("tack så mycket!", "Varsågod, säg till om det är något mer."),
    ),
    "Thai": (
        "ทำไมรายงานว่างเปล่า",
        "รายงานว่างเปล่าเพราะตัวตั้งเวลาทำงานตามเวลา UTC แต่คำสั่งค้นหาดูวันท้องถิ่น เปลี่ยนเป็น Asia/Bangkok แล้ว",
        ("ขอบคุณครับ", "ยินดีครับ"),
    ),
    "Turkish": (
        "rapor neden boş geliyor",
        "Rapor boş geliyor çünkü zamanlayıcı UTC saatine göre çalışıyor ve sorgu yerel güne bakıyor. Görevi sabah "
        "altıya aldım ve sorgu artık Europe/Istanbul kullanıyor.",
        ("teşekkürler", "Rica ederim, başka bir şey olursa yazın."),
    ),
}


def read_invented() -> tuple[list[Session], Labels]:
    sessions: list[Session] = []
    facts: list[Fact] = []
    junk: set[tuple[str, int]] = set()
    for session in json.loads(INVENTED.read_text(encoding="utf-8"))["sessions"]:
        turns, messages = [], {}
        for index, turn in enumerate(session["turns"]):
            place = (session["session"], index)
            said = dialogue(*((role, text) for role, text in turn["said"]), turn_index=index)
            turns.append(turn_of(said).model_copy(update={"session_id": session["session"]}))
            messages[turns[-1].turn_id] = said
            facts += [Fact(place, True, tuple(terms)) for terms in turn["facts"]]
            junk |= {place} if turn["junk"] else set()
        sessions.append(Session(tuple(turns), messages))
    return sessions, Labels(tuple(facts), frozenset(junk))


def test_invented_turns_yield_their_facts_and_small_talk_nothing() -> None:
    """Measured: 43 of 45 facts, 46 of 46 junk turns silent, 1 memory of 42 that holds no labelled fact."""
    sessions, labels = read_invented()
    result = score(sessions, ExtractiveEngine(), labels)
    assert result.core_kept >= 0.93 * result.core, result
    assert result.junk_silent >= 0.95 * result.junk, result
    assert result.unmatched <= 0.15 * result.memories, result


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_matters_is_kept_in_any_language_and_thanks_are_not(language: str) -> None:
    asked, answered, (thanks, welcome) = LANGUAGES[language]
    session = ExtractiveEngine().session()
    important = dialogue(("user", asked), ("assistant", answered))
    polite = dialogue(("user", thanks), ("assistant", welcome), turn_index=1)
    (draft,) = session.distill(turn_of(important), important).drafts
    assert all(quote in answered or quote in asked for quote in draft.evidence)
    assert 3 <= len(draft.tags) <= 8
    assert not session.distill(turn_of(polite), polite).drafts
