"""Content that an effect would carry out: what of it the owner did not call for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from truekeep.trust.flow.calls import ToolCall
from truekeep.trust.flow.evidence import SessionEvidence
from truekeep.trust.flow.index import naming
from truekeep.trust.flow.leaks import is_own_host, telling_values, tells_a_memory
from truekeep.trust.flow.reading import read
from truekeep.trust.flow.roles import words_of
from truekeep.trust.flow.scope import RequestScope


def content_not_called_for(evidence: SessionEvidence, call: ToolCall, scopes: Iterable[RequestScope]) -> bool:
    """Whether content carries links, addresses, accounts, codes or whole memories that no request called for."""
    scopes = tuple(scopes)
    said = frozenset(word for scope in scopes for word in scope.own.reading.stems)
    if any(tells_a_memory(evidence, leaf.text, said) for leaf in call.contents):
        return True
    if call.acts & _LEAVING and any(_tells_of_memories(evidence, scopes, leaf.text) for leaf in call.contents):
        return True
    return any(
        not is_own_host(evidence, value) and not any(scope.calls_for(value, text) for scope in scopes)
        for leaf in call.contents
        for value, text in telling_values(leaf.text)
    )


def _tells_of_memories(evidence: SessionEvidence, scopes: Iterable[RequestScope], text: str) -> bool:
    """Whether content has several words that stand in one memory alone, and that nobody spoke of."""
    known = frozenset(word for message in evidence.requests.messages for word in message.reading.stems)
    known = known.union(*(held.reading.stems for scope in scopes for held in scope.linked))
    words = naming(read(text).words, words_of("shared_words")) - known
    telling = [word for word in words if evidence.memories.counts(word) == 1 and not evidence.public.counts(word)]
    found = Counter(held.id for word in telling for held in evidence.memories.sharing((word,)))
    return any(count >= _TELLING for count in found.values())


_LEAVING = frozenset({"say", "share"})
"""Acts by which content goes to somebody else."""
_TELLING = 2
"""Words of a memory in content by which it is told."""
