"""``Memory``: mem0's methods over keeps. Who speaks is decided when it is made; see the package."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from truekeep.adapters.mem0.arguments import MOST, UNSET, asked, count, day, fits, messages_of, only_none
from truekeep.adapters.mem0.scope import IDS, MemoryScope, split_id, whole_id
from truekeep.config import Paths, Settings
from truekeep.errors import NotAllowed, UnknownId
from truekeep.keep import Keep
from truekeep.stores.files import keep_names
from truekeep.trust.candidate import checked_flag
from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from truekeep.handles import Session

OWNER, AGENT, OTHERS = "user", "agent", "import"
_DELETED, _WAITS = "Memory deleted successfully!", "The deletion waits for the owner."
Item = dict[str, Any]

# mem0's own signatures are written with Optional and Dict; they are kept to the letter where they are compared.
# ruff: noqa: UP045


class Mem0Memory:
    """Memories of many users, each in a keep of their own under ``home``.

    ``owner_speaks`` says that this program carries the users' own messages: whoever has the role "user" was
    authenticated as that user. It is the program's word, given once; no call can say it.
    """

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        owner_speaks: bool = False,
        policy: str = "inform",
        settings: Settings | None = None,
    ) -> None:
        self._home = home
        self._owner_speaks = checked_flag("owner_speaks", owner_speaks)
        self._policy = policy
        self._settings = settings
        self._keeps: dict[str, Keep] = {}
        self._lock = threading.RLock()

    def add(
        self,
        messages: Any,
        *,
        user_id: Optional[str] = None,
        agent_id: Optional[str] = None,
        run_id: Optional[str] = None,
        metadata: Optional[dict[str, Any]] = None,
        timestamp: Optional[Any] = None,
        expiration_date: Optional[Any] = None,
        infer: bool = True,
        memory_type: Optional[str] = None,
        prompt: Optional[str] = None,
    ) -> dict[str, Any]:
        """Keep what messages say. ``infer=False`` also keeps what the assistant said, as its notes."""
        only_none(timestamp=timestamp, memory_type=memory_type, prompt=prompt)
        scope = MemoryScope.of({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        beside = {"metadata": dict(metadata or {}), "until": day(expiration_date), **scope.members()}
        with self._lock:
            keep = self._opened(scope.keep)
            session = keep.session(scope.session)
            verdicts = [
                verdict for one in messages_of(messages) for verdict in self._taken_in(session, one, notes=not infer)
            ]
            results = [self._added(keep, one, beside) for one in verdicts]
        return {"results": results}

    def get(self, memory_id: Any) -> Item | None:
        """One memory, or nothing."""
        with self._lock:
            found = self._found(memory_id)
            return self._item(*found) if found is not None else None

    def get_all(
        self, *, filters: Optional[dict[str, Any]] = None, top_k: int = 20, show_expired: bool = False, **kwargs: Any
    ) -> dict[str, Any]:
        """The memories within ``filters``, which name at least one id."""
        scope, wanted = asked(filters, kwargs)
        with self._lock:
            items = [one for one in self._listed(scope) if fits(one, scope, wanted, show_expired)]
        return {"results": items[: count(top_k)]}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Optional[dict[str, Any]] = None,
        threshold: float = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Optional[Any] = None,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The memories that answer a query, best first; ``may_act`` says which may drive an action."""
        only_none(rerank=rerank or None, explain=explain or None, reference_date=reference_date)
        scope, wanted = asked(filters, kwargs)
        with self._lock:
            keep = self._known(scope.keep)
            if keep is None:
                return {"results": []}
            hits = keep.recall(query, k=min(1_000, count(top_k) * 5))
            found = [(hit, self._item(keep, keep.get_memory(hit.memory.id))) for hit in hits]
        items = [item | {"memory": hit.text, "score": round(hit.score, 4)} for hit, item in found]
        fitting = [one for one in items if one["score"] >= threshold and fits(one, scope, wanted, show_expired)]
        return {"results": fitting[:top_k]}

    def update(
        self,
        memory_id: Any,
        text: Optional[str] = None,
        metadata: Optional[dict[str, Any]] = None,
        expiration_date: Any = UNSET,
        data: Optional[str] = None,
    ) -> dict[str, Any]:
        """Change what a memory says, or what stands beside it; what is not the owner's to change is proposed."""
        new = text if text is not None else data
        with self._lock:
            keep, memory = self._required(memory_id)
            done = "Memory updated successfully!"
            if new is not None:
                verdict = keep.update_memory(memory["id"], new, via=OWNER if self._owner_speaks else AGENT)
                done = done if verdict.accepted else verdict.reason
            if metadata is not None or expiration_date is not UNSET:
                self._require_owner("Only the owner's program changes what stands beside a memory.")
                beside = self._beside(keep, memory["id"])
                changed: dict[str, Any] = {"metadata": dict(metadata)} if metadata is not None else {}
                changed |= {"until": day(expiration_date)} if expiration_date is not UNSET else {}
                self._put_beside(keep, memory["id"], beside | changed)
        return {"message": done}

    def delete(self, memory_id: Any) -> dict[str, Any]:
        """Delete a memory, or propose to."""
        with self._lock:
            keep, memory = self._required(memory_id)
            return {"message": _DELETED if self._gone(keep, memory["id"]) else _WAITS}

    def delete_all(
        self, user_id: Optional[str] = None, agent_id: Optional[str] = None, run_id: Optional[str] = None
    ) -> dict[str, Any]:
        """Delete every memory within the ids, or propose to."""
        scope = MemoryScope.of({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        with self._lock:
            keep = self._known(scope.keep)
            ids = [split_id(one["id"]) for one in self._listed(scope) if scope.fits(one)]
            gone = [self._gone(keep, one[1]) for one in ids if one is not None and keep is not None]
        return {
            "message": "Memories deleted successfully!" if all(gone) else f"{len(gone)} deletions wait for the owner."
        }

    def history(self, memory_id: Any) -> list[Item]:
        """The versions of a memory, oldest first."""
        with self._lock:
            keep, memory = self._required(memory_id)
            versions = keep.history(memory["id"])
        said = [None, *(one["content"] for one in versions)]
        return [
            {
                "id": f"{memory_id}#{one['version']}",
                "memory_id": memory_id,
                "old_memory": said[place],
                "new_memory": one["content"],
                "event": "UPDATE" if place else "ADD",
                "created_at": one["created_at"],
                "updated_at": one["as_of"],
            }
            for place, one in enumerate(versions)
        ]

    def reset(self) -> None:
        """Delete everything of every user, for good; only for the owner's program."""
        self._require_owner("Only the owner's program deletes everything.")
        with self._lock:
            for name in self._names():
                self._opened(name).destroy(confirm=name)
                self._keeps.pop(name, None)

    def chat(self, query: Any) -> Any:
        """Not implemented, there as here."""
        raise NotImplementedError("Chat is not a memory's to hold.")

    def close(self) -> None:
        """Let go of every keep."""
        with self._lock:
            for keep in self._keeps.values():
                keep.close()
            self._keeps.clear()

    # Who speaks

    def _taken_in(self, session: Session, message: Mapping[str, str], *, notes: bool) -> Iterator[Verdict]:
        """Take one message in as what it is, and give what became of it."""
        role, text = message["role"], message["content"]
        if role == "user" and self._owner_speaks:
            session.observe(OWNER, text)
            yield from (taken.verdict for taken in session.extract().taken)
        elif role == "user":
            session.observe(OTHERS, text)
            yield session.remember(text, via=OTHERS)
        elif role == "assistant":
            session.observe(AGENT, text)
            if notes:
                yield session.remember(text, via=AGENT)
        elif role != "system":  # the program's own words are no memory
            session.observe("tool", text)

    def _gone(self, keep: Keep, memory_id: str) -> bool:
        """Whether a memory was deleted; a program that does not speak for the owner can only propose it."""
        verdict = keep.delete_memory(memory_id, via=OWNER if self._owner_speaks else AGENT)
        if verdict.accepted:
            keep.working.delete(_beside_name(memory_id))
        return verdict.accepted

    def _require_owner(self, why: str) -> None:
        if not self._owner_speaks:
            raise NotAllowed(why, code="owner_does_not_speak", hint="Make it with Memory(owner_speaks=True).")

    # What is there

    def _added(self, keep: Keep, verdict: Verdict, beside: dict[str, Any]) -> Item:
        if verdict.memory_id is None:
            event = "REFUSED" if verdict.decision is Decision.REJECT else "HELD"
            why = {"code": verdict.code, "review_id": verdict.item_id, "may_act": False}
            return {"id": None, "memory": None, "event": event, **why}
        self._put_beside(keep, verdict.memory_id, beside)
        memory = keep.get_memory(verdict.memory_id)
        item = {"id": whole_id(keep.name, memory["id"]), "memory": memory["content"], "event": "ADD"}
        return item | {"may_act": memory["may_act"]}

    def _listed(self, scope: MemoryScope) -> list[Item]:
        keep = self._known(scope.keep)
        return [self._item(keep, one) for one in keep.get_memories(limit=MOST)] if keep is not None else []

    def _item(self, keep: Keep, memory: Mapping[str, Any]) -> Item:
        beside = self._beside(keep, memory["id"])
        item = {
            "id": whole_id(keep.name, memory["id"]),
            "memory": memory["content"],
            "hash": hashlib.md5(memory["content"].encode(), usedforsecurity=False).hexdigest(),
            "created_at": memory["created_at"],
            "updated_at": memory["as_of"],
            "may_act": memory["may_act"],
            "metadata": beside.get("metadata") or None,
        }
        until = {"expiration_date": beside["until"]} if beside.get("until") else {}
        return item | until | {name: beside[name] for name in IDS if name in beside}

    def _beside(self, keep: Keep, memory_id: str) -> dict[str, Any]:
        """What was given with a memory: it is the caller's data, screened, and never part of what is remembered."""
        found = keep.working.get(_beside_name(memory_id))
        return {str(name): _plain(value) for name, value in found.data.items()} if found is not None else {}

    def _put_beside(self, keep: Keep, memory_id: str, data: dict[str, Any]) -> None:
        name = _beside_name(memory_id)
        keep.working.delete(name)
        keep.working.put(name, via=AGENT, data=data)

    def _found(self, memory_id: Any) -> tuple[Keep, dict[str, Any]] | None:
        parts = split_id(memory_id)
        keep = self._known(parts[0]) if parts is not None else None
        if parts is None or keep is None:
            return None
        with suppress(UnknownId):
            return keep, keep.get_memory(parts[1])
        return None

    def _required(self, memory_id: Any) -> tuple[Keep, dict[str, Any]]:
        found = self._found(memory_id)
        if found is None:
            raise ValueError("There is no memory with this id.")
        return found

    def _known(self, name: str) -> Keep | None:
        """A keep that is there; looking for somebody's memories makes nobody a keep."""
        return self._opened(name) if name in self._keeps or name in self._names() else None

    def _names(self) -> list[str]:
        return [
            name for name in keep_names(Paths.resolve(self._home), self._settings) if split_id(f"{name}/x") is not None
        ]

    def _opened(self, name: str) -> Keep:
        if name not in self._keeps:
            options: dict[str, Any] = {"home": self._home, "settings": self._settings, "policy": self._policy}
            self._keeps[name] = Keep.open(name, background=False, **options)
        return self._keeps[name]

    def __enter__(self) -> Mem0Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _beside_name(memory_id: str) -> str:
    return f"mem0-of-{memory_id}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
