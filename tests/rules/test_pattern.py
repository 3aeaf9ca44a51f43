"""Patterns mean what JavaScript means by them, and every matcher gives the same answer."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.yardstick import allowed
from truekeep.rules import vectorscan
from truekeep.rules.model import PatternSpec
from truekeep.rules.pattern import Pattern, PatternError, compile_spec
from truekeep.rules.pattern.alphabet import to_bytes
from truekeep.rules.pattern.hazards import hazards
from truekeep.rules.prefilter import PortablePrefilter

# What `new RegExp(pattern, "i")` answers, with the u flag where \u{…} or \p{…} asks for it.
JAVASCRIPT = [
    (r"ignore\s+previous", "please IGNORE\u00a0previous", (7, 22)),
    (r"a.c", "a\nc", None),
    (r"(?s)a.c", "a\nc", (0, 3)),
    (r"a.c", "a\u2028c", None),
    (r"^b$", "a\nb\nc", None),
    (r"(?m)^b$", "a\nb\nc", (2, 3)),
    (r"end$", "the end\n", None),
    (r"\u{1F600}+", "😀😀", (0, 2)),
    (r"[\u{1F1E6}-\u{1F1FF}]{2}", "x🇸🇰", (1, 3)),
    (r"\ud83d\ude00", "😀", (0, 1)),
    (r"\w+", "é", None),
    (r"\bcafé\b", "café", None),
    (r"\d", "٣", None),
    (r"\s", "\ufeff", (0, 1)),
    (r"s", "ſ", None),
    (r"\u{73}", "ſ", (0, 1)),
    (r"É", "é", (0, 1)),
    (r"[^a]", "A", None),
    (r"(?<!get_)pay", "get_pay", None),
    (r"(?<=(?:user|admin)\s{1,3})root", "admin  root", (7, 11)),
    (r"(?<!\bno\s+)risk", "there is no   risk", None),
    (r"(?=.*key)(?=.*send)", "send the key", (0, 0)),
    (r"(\w)\1\1", "zaaa", (1, 4)),
    (r"(a)|b\1", "b", (0, 1)),
    (r"(?<word>ab)\k<word>", "abab", (0, 4)),
    (r"x{2}", "axxx", (1, 3)),
    (r"x{,2}", "x{,2}", (0, 5)),
    (r"[]", "anything", None),
    (r"[^]", "\n", (0, 1)),
    (r"[a-\d]", "-", (0, 1)),
    (r"\x41\cJ", "a\n", (0, 2)),
    (r"\p{L}+", "ŽČ1", (0, 2)),
    (r"a|ab", "ab", (0, 2)),
    (r"(?:)", "x", (0, 0)),
]


@pytest.mark.parametrize(("source", "text", "span"), JAVASCRIPT)
def test_a_pattern_means_what_javascript_means(source: str, text: str, span: tuple[int, int] | None) -> None:
    pattern = compile_spec(PatternSpec(source))
    assert pattern.find(text) == span
    if not pattern.has_references:
        assert pattern.find_linear(text) == span


@pytest.mark.parametrize(
    "source",
    [
        *["(", ")", "[a", "a**", "*a", "(?<!a", "a{3,2}", "\\", "[z-a]", "(?z)a", r"\u{110000}", "(?#c)", r"\p{Nope}"],
        "a{200000}",
        "(?:[ab]{0,900}c){0,900}",
        "x" * 30_000,
        "(" * 100 + ")" * 100,
    ],
)
def test_an_unusable_pattern_is_refused_with_a_reason(source: str) -> None:
    with pytest.raises(PatternError) as caught:
        compile_spec(PatternSpec(source))
    assert len(str(caught.value)) > 10


@pytest.mark.parametrize(
    ("operator", "fold", "text", "matches"),
    [
        ("contains", True, "say SESAME now", True),
        ("contains", False, "say SESAME now", False),
        ("exact", True, "Sesame", True),
        ("exact", True, "Sesame!", False),
        ("starts_with", True, "sesame opens", True),
        ("starts_with", True, "open sesame", False),
    ],
)
def test_the_plain_operators_compare_text(operator: str, fold: bool, text: str, matches: bool) -> None:
    pattern = compile_spec(PatternSpec("sesame", operator, fold))  # type: ignore[arg-type]
    assert (pattern.find(text) is not None) is matches


def test_a_plain_operator_takes_its_value_literally() -> None:
    assert compile_spec(PatternSpec("a.b*(c)", "contains")).find("x a.b*(c) y") == (2, 9)
    assert compile_spec(PatternSpec("a.b", "contains")).find("axb") is None


ATOMS = ["a", "b", "B", ".", r"\w", r"\s", "[ab]", "[^b]", " ", r"\b", r"\B", "^", "$", "é", "ж", "[à-ü]", r"\d"]
QUANTIFIERS = ["*", "+", "?", "{2}", "{0,3}", "{1,}", "*?", "{2,3}?"]


def _patterns() -> st.SearchStrategy[str]:
    atom = st.sampled_from(ATOMS)
    wrap = ["(?:{})", "({})", "(?={})", "(?!{})", "(?<={})", "(?<!{})"]

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        grouped = st.builds(lambda shape, body: shape.format(body), st.sampled_from(wrap), inner)
        repeatable = st.one_of(
            st.sampled_from([a for a in ATOMS if a not in (r"\b", r"\B", "^", "$")]),
            st.builds("(?:{})".format, inner),
        )
        repeated = st.builds(lambda body, sign: body + sign, repeatable, st.sampled_from(QUANTIFIERS))
        joined = st.lists(inner, min_size=1, max_size=4).map("".join)
        either = st.lists(inner, min_size=2, max_size=3).map("|".join).map("(?:{})".format)
        return st.one_of(grouped, repeated, joined, either)

    return st.recursive(atom, extend, max_leaves=8)


TEXTS = st.text(alphabet="abAB  1é\nжàü.", max_size=24)


@pytest.mark.slow
@given(source=_patterns(), text=TEXTS)
@settings(max_examples=700, deadline=None)
def test_the_linear_matcher_and_the_backtracking_one_agree(source: str, text: str) -> None:
    pattern = compile_spec(PatternSpec(source))
    assert pattern.find(text, patience=5.0) == pattern.find_linear(text)


@pytest.mark.slow
@given(source=_patterns(), text=TEXTS)
@settings(max_examples=300, deadline=None)
def test_no_prefilter_ever_withholds_a_pattern_that_matches(source: str, text: str) -> None:
    spec = PatternSpec(source)
    if compile_spec(spec).find_linear(text) is None:
        return
    assert 0 in PortablePrefilter({0: compile_spec(spec)}).candidates(text)
    if vectorscan.available():
        assert 0 in vectorscan.VectorscanPrefilter([spec], None).candidates(text)


@given(text=st.text(max_size=200))
def test_the_prefilters_alphabet_keeps_offsets(text: str) -> None:
    assert len(to_bytes(text)) == len(text)


SLOW = [
    (r"(a+)+$", "a" * 2000 + "!"),
    (r"(?:a|a)*b", "a" * 2000),
    (r"(\w+\s?)+:", "word " * 400),
    (r"(?:.*,){12}x", "a," * 1000),
    (r"\s*\s*\s*\s*x", " " * 2000),
    (r"(?=[\s\S]*\.env)(?=[\s\S]*curl)", "../" * 700),
    (r"(?<!(?:a|aa)+)b", "a" * 2000 + "b"),
    (r"x[\s\S]{0,300}y[\s\S]{0,300}z", "xy" * 1000),
]


@pytest.mark.parametrize(("source", "text"), SLOW)
def test_a_pattern_made_to_blow_up_takes_milliseconds(source: str, text: str) -> None:
    pattern = compile_spec(PatternSpec(source))
    pattern.find("warm-up")
    began = time.process_time()
    found = pattern.find(text, patience=0.002)
    assert time.process_time() - began < allowed(0.25)
    assert found == pattern.find_linear(text)


@pytest.mark.parametrize("source", [r"(a+)+b", r"(?:\w*)*x", r"(?:a|[ab])*c", r"\s*\s*x", r"(?:\w+|\d+)+y", r".*.*z"])
def test_lint_sees_patterns_that_blow_up_elsewhere(source: str) -> None:
    assert hazards(compile_spec(PatternSpec(source)).node)


@pytest.mark.parametrize("source", [r"ignore\s+all", r"(?:\S+\s+)*x", r"a{0,30}b{0,30}", r"(?:ab|cd)+e", r"\w+\s+\w+"])
def test_lint_leaves_honest_patterns_alone(source: str) -> None:
    assert not hazards(compile_spec(PatternSpec(source)).node)


def test_a_hundred_kilobytes_are_matched_in_linear_time() -> None:
    pattern = compile_spec(PatternSpec(r"(a+)+$"))
    times = []
    for size in (20_000, 80_000):
        began = time.process_time()
        assert pattern.find_linear("a" * size + "!") is None
        times.append(time.process_time() - began)
    assert times[1] < times[0] * 12
    assert isinstance(pattern, Pattern)
