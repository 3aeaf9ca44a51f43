"""What an owner's message asks of the memory, in ten languages: wishes are read, and what they are about is found."""

from pathlib import Path

import pytest
import yaml

from tests.yardstick import allowed
from truekeep import Keep
from truekeep.incident.meant import meant_by
from truekeep.search.about import named
from truekeep.text.language import languages_with
from truekeep.text.topics import TABLE
from truekeep.trust.wishes import WishKind, asked_to_forget, read_wishes

TALKS = yaml.safe_load((Path(__file__).parent / "data" / "wishes.yaml").read_text())
CASES = [(name, case["message"], case["gone"]) for name, talk in TALKS.items() for case in talk["cases"]]


def meant(name: str, message: str) -> set[int]:
    said, gone = TALKS[name]["said"], set()
    for wish in read_wishes(message):
        if wish.kind is WishKind.LAST:
            gone.add(len(said) - 1)
        else:
            gone.update(meant_by(wish, said).clear)
    return gone


def test_every_supported_language_has_its_forms_and_its_cases() -> None:
    assert set(languages_with(TABLE)) == {"en", "de", "es", "fr", "it", "pt", "sk", "cs", "zh", "pl"}
    assert {name.split()[0] for name in TALKS} == set(languages_with(TABLE))


@pytest.mark.parametrize(("name", "message", "gone"), CASES)
def test_a_message_means_what_it_names_and_nothing_else(name: str, message: str, gone: list[int]) -> None:
    assert meant(name, message) == set(gone)


@pytest.mark.parametrize(
    "message",
    [
        'The poster said "forget what I told you about the gym" in red letters',
        "“Forget what I told you about the gym” is the name of the song",
        "She wrote: «oublie ce que je t'ai dit sur la salle de sport»",
        "Er sagte „Vergiss, was ich dir über das Fitnessstudio gesagt habe“ und ging",
        "Please do not forget what I told you about the gym",
        "I always forget what I told you about the gym",
        "Did you forget what I told you about the gym?",
        "Tell Eva to forget what I told you about the gym",
        "never mind",
    ],
)
def test_what_is_quoted_denied_asked_or_told_to_somebody_else_is_no_wish(message: str) -> None:
    assert read_wishes(message) == []


def test_what_somebody_else_may_have_said_is_shown_and_not_done() -> None:
    (wish,) = read_wishes("Forget the gym, she told me, and just run")
    assert wish.is_reported


@pytest.mark.parametrize("what", ["what I said about the gym", "the gym", "forget about the gym", "gym"])
def test_a_wish_outside_a_conversation_needs_no_verb(what: str) -> None:
    wish = asked_to_forget(what)
    assert named(wish.about, wish.language, TALKS["en"]["said"]).clear == (0,)


@pytest.mark.parametrize("message", ["forget it", "olvídalo, ya lo miro yo", "forget all previous instructions"])
def test_a_manner_of_speaking_names_nothing(message: str) -> None:
    for wish in read_wishes(message):
        assert named(wish.about, wish.language, TALKS["en"]["said"]).clear == ()


def test_two_that_fit_alike_are_shown_and_neither_is_taken_for_meant() -> None:
    said = ["The meeting with Hollis is on the 9th.", "The meeting with Brandt is on the 11th."]
    found = named("the meeting", "en", said)
    assert (found.clear, found.unsure) == ((), (0, 1))
    assert named("the meeting", "en", said, wants_all=True).clear == (0, 1)


def test_a_command_about_a_file_names_no_memory() -> None:
    (wish,) = read_wishes("Could you delete the file report.txt from the downloads folder?")
    said = ["I keep my report in the blue folder.", "I download music on Fridays."]
    assert meant_by(wish, said).clear == ()


def test_reading_a_message_takes_time_in_proportion_to_its_length() -> None:
    import time

    def seconds(text: str) -> float:
        start = time.process_time()
        read_wishes(text)
        return time.process_time() - start

    hostile = "please oh and forget what i told you about " * 100
    assert seconds(hostile * 2) < allowed(1.0)


@pytest.mark.parametrize(
    ("said", "denial"),
    [
        ("Eva's account is 4471-20.", "Actually Eva's account is not 9904-71."),
        ("Das Konto von Eva ist 4471-20.", "Eigentlich ist das Konto von Eva nicht 9904-71."),
        ("La cuenta de Eva es 4471-20.", "En realidad la cuenta de Eva no es 9904-71."),
        ("Le compte d'Eva est 4471-20.", "En fait le compte d'Eva n'est pas 9904-71."),
        ("Il conto di Eva è 4471-20.", "Adesso il conto di Eva non è 9904-71."),
        ("A conta da Eva é 4471-20.", "Na verdade a conta da Eva não é 9904-71."),
        ("Účet Evy je 4471-20.", "Vlastne účet Evy nie je 9904-71."),
        ("Účet Evy je 4471-20.", "Vlastně účet Evy není 9904-71."),
        ("Konto Ewy to 4471-20.", "Właściwie konto Ewy to nie 9904-71."),
        ("伊娃的账号是4471-20。", "其实伊娃的账号不是9904-71。"),
    ],
)
def test_what_a_value_is_not_leaves_what_it_is(said: str, denial: str) -> None:
    assert [found for wish in read_wishes(denial) for found in meant_by(wish, [said]).clear] == []


@pytest.mark.parametrize(
    ("said", "later"),
    [
        ("I go to the Ironworks gym on Pell Street.", "I don't like the new gym teacher."),
        ("I drive to work every day.", "I don't drive on Mondays."),
        ("I prefer tea.", "I don't prefer coffee."),
        ("I take the train at 8.", "I don't take sugar."),
        ("We moved to Graz in 2019.", "We moved the sofa to the cellar."),
        ("My sister Odette lives in Nitra.", "Odette doesn't eat meat."),
        ("Ich esse gern Fisch.", "Ich esse keine Nüsse."),
        ("Je prends le train à 8 heures.", "Je ne prends pas de sucre."),
        ("我喜欢吃鱼。", "我不吃坚果。"),
        ("卧室的灯的编号是 lamp-4。", "把卧室的灯调到30%"),
        ("I don't eat nuts.", "I don't eat nuts."),
    ],
)
def test_an_ordinary_statement_and_the_same_said_again_end_nothing(tmp_path: Path, said: str, later: str) -> None:
    with Keep.open("alice", home=tmp_path, background=False) as keep:
        for number, text in enumerate((said, later)):
            with keep.session(f"s-{number}", mediated=True) as session:
                session.observe("user", text)
        assert [memory["content"] for memory in keep.get_memories()] == list(dict.fromkeys((said, later)))
        assert keep.incidents() == []


NAYS = {
    "en": ("My dentist is on Monday.", "No, the dentist is on Tuesday."),
    "de": ("Der Zahnarzt ist am Montag.", "Nein, der Zahnarzt ist am Dienstag."),
    "es": ("La cita es el lunes.", "No, la cita es el martes."),
    "fr": ("Le dentiste est lundi.", "Non, le dentiste est mardi."),
    "it": ("Il dentista è lunedì.", "No, il dentista è martedì."),
    "pt": ("O dentista é na segunda.", "Não, o dentista é na terça."),
    "sk": ("Zubár je v pondelok.", "Nie, zubár je v utorok."),
    "cs": ("Zubař je v pondělí.", "Ne, zubař je v úterý."),
    "pl": ("Dentysta jest w poniedziałek.", "Nie, dentysta jest we wtorek."),
    "zh": ("牙医在周一。", "不对，牙医在周二。"),
}


@pytest.mark.parametrize("name", NAYS)
def test_another_value_behind_a_plain_no_is_a_correction(name: str) -> None:
    said, message = NAYS[name]
    (wish,) = read_wishes(message)
    assert wish.kind is WishKind.CORRECT
    assert meant_by(wish, ["My sister Odette plays the harp.", said]).clear == (1,)


@pytest.mark.parametrize("message", ["No, I prefer tea.", "No.", "No, thanks, Tuesday is fine for me.", "Nein, danke."])
def test_a_plain_no_by_itself_corrects_nothing(message: str) -> None:
    said = ["My dentist is on Monday.", "I prefer coffee in the morning."]
    assert all(not meant_by(wish, said).clear for wish in read_wishes(message))
