"""A subject is found in every spelling of the words that were given, and only as words."""

from __future__ import annotations

import json
import unicodedata
from urllib.parse import quote

import pytest

from truekeep.ops.naming import SubjectWords

FOUND = [
    ("Xenia Quillfeather", "XENIA  QUILLFEATHER won"),
    ("Xenia Quillfeather", "xenia_quillfeather"),
    ("Xenia Quillfeather", "to xeniaquillfeather@example.org"),
    ("Xenia Quillfeather", "callXeniaQuillfeatherNow"),
    ("Xenia Quillfeather", "xeniaquillfeather77"),
    ("Xenia Quillfeather", "X-e-n-i-a Q.u.i.l.l.f.e.a.t.h.e.r"),
    ("Xenia Quillfeather", "Xe\u200bnia\u00a0Quill\u00adfeather"),
    ("Xenia Quillfeather", "\uff38\uff45\uff4e\uff49\uff41 \uff31uillfeather"),
    ("Xenia Quillfeather", r"{\"to\": \"\u0058enia Quillfeather\"}"),
    ("Xenia Quillfeather", r"\\u0058enia\nQuillfeather"),
    ("Xenia Quillfeather", "https://example.org/?q=Xenia%20Quillfeather"),
    ("Xenia Quillfeather", "https://example.org/?q=Xenia%2520Quillfeather"),
    ("Xenia Quillfeather", "Xenia&nbsp;Quillfeather"),
    ("Žofia Kováčová", unicodedata.normalize("NFD", "Žofia KOVÁČOVÁ")),
    ("Žofia Kováčová", json.dumps("Žofia Kováčová")),
    ("Žofia Kováčová", quote("Žofia Kováčová")),
    ("İpek", "ipek"),
    ("straße", "STRASSE 5"),
    ("0905 123 456", "0905123456"),
    ("0905 123 456", "tel:0905-123-456"),
    ("0905 123 456", "905123456"),
    ("0905123456", "\u0660\u0669\u0660\u0665 \u0661\u0662\u0663 \u0664\u0665\u0666"),
    ("王小明", "我认识王小明先生"),
    ("李明", "李明来了"),
    ("김철수", "김철수가 왔다"),
    ("สมชาย", "คุณสมชายมา"),
    ("राम", "राम आया"),
]

LEFT_ALONE = [
    ("Ana Maria Kovac", "Banana maria kovacic."),
    ("Ana Maria Kovac", "Anna Maria Kovac is another."),
    ("Ana", "banana"),
    ("0905123456", "90905123456"),
    ("5501", "155012"),
    ("राम", "रोम बड़ा है"),
    ("राम", "रामायण"),
    ("van", "The advantage"),
]


@pytest.mark.parametrize(("subject", "text"), FOUND)
def test_the_words_are_found(subject: str, text: str) -> None:
    assert SubjectWords.of(subject).are_in(text)


@pytest.mark.parametrize(("subject", "text"), LEFT_ALONE)
def test_parts_of_other_words_are_not_the_words(subject: str, text: str) -> None:
    assert not SubjectWords.of(subject).are_in(text)


@pytest.mark.parametrize("number", [905123456, 905123456.0])
def test_a_number_that_lost_its_zeros_is_the_number(number: float) -> None:
    assert SubjectWords.of("0905 123 456").are(number)


@pytest.mark.parametrize("number", [True, 9051234560, 90512345.7, float("inf"), float("nan"), -1])
def test_another_number_is_another(number: float) -> None:
    assert not SubjectWords.of("0905 123 456").are(number)


@pytest.mark.parametrize("subject", ["", "ab", "!?!", "é.", "王"])
def test_too_little_is_not_telling(subject: str) -> None:
    assert not SubjectWords.of(subject).is_telling


def test_looking_takes_time_in_proportion_to_the_text() -> None:
    """Every shape that repeats the beginning of the subject, escapes or marks: seconds would be minutes if squared."""
    words = SubjectWords.of("aaaaaaaaab")
    for shape in ("a", "a-", "\\u0061", "%61", "&amp;", "a\u0301", "\u337f"):
        words.are_in(shape * (200_000 // len(shape)))
