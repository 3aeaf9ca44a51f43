"""What passages name: another value or name beside shared words, in any language, and nothing else."""

import pytest

from truekeep.search.about import stated


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("pottery class starts at 18:30 these days", "my pottery class starts at 17:00"),
        ("Der Töpferkurs beginnt um 18 Uhr im Hof", "Töpferkurs beginnt um 17 Uhr, mein Bus kommt später"),
        ("the swim coach is Marlene Ott", "swim coach told me she is Bettina Falk"),
    ],
)
def test_another_value_or_name_in_the_same_words_is_another_answer(newer: str, older: str) -> None:
    assert stated(newer).gives_another(stated(older))


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("the train leaves at 18:30", "my pottery class starts at 17:00"),
        ("pottery class starts at 17:00, as ever", "my pottery class starts at 17:00"),
        ("pottery class was lovely", "my pottery class starts at 17:00"),
    ],
)
def test_the_same_value_none_or_another_thing_is_no_other_answer(newer: str, older: str) -> None:
    assert not stated(newer).gives_another(stated(older))
