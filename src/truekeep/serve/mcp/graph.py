"""A knowledge graph of notes: entities, relations and observations, each of them one memory.

Pure. A memory says in plain words what it stands for, and its metadata say which part of the graph it is. On the way
out only what the words still say counts: a memory that is blocked, or that a person changed, is no entity any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

PART = "graph"
"""The member of a memory's metadata that makes it a part of the graph."""
ENTITY, RELATION, OBSERVATION = "entity", "relation", "observation"


@dataclass(frozen=True, slots=True)
class GraphNote:
    """One part of the graph as a memory: what it says, and what it is."""

    text: str
    metadata: dict[str, str]


def entity_note(name: str, kind: str) -> GraphNote:
    """An entity as a memory."""
    return GraphNote(f"{name} is noted as {kind}.", {PART: ENTITY, "name": name, "type": kind})


def relation_note(start: str, kind: str, end: str) -> GraphNote:
    """A relation as a memory."""
    return GraphNote(f"{start} {kind} {end}.", {PART: RELATION, "from": start, "type": kind, "to": end})


def observation_note(name: str, content: str) -> GraphNote:
    """An observation as a memory."""
    return GraphNote(f"{name}: {content}", {PART: OBSERVATION, "name": name})


@dataclass(slots=True)
class GraphEntity:
    """An entity and the memories it is made of, by their ids."""

    name: str
    kind: str
    id: str
    observations: dict[str, str] = field(default_factory=dict)
    """Each observation, and the memory that holds it."""


@dataclass(slots=True)
class NotedGraph:
    """The graph that a keep's memories make."""

    entities: dict[str, GraphEntity] = field(default_factory=dict)
    relations: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Each relation (from, type, to), and the memory that holds it."""

    def around(self, names: Iterable[str]) -> NotedGraph:
        """Some entities, with the relations that begin or end at one of them."""
        chosen = {name: self.entities[name] for name in names if name in self.entities}
        touching = {one: held for one, held in self.relations.items() if one[0] in chosen or one[2] in chosen}
        return NotedGraph(chosen, touching)

    def matching(self, query: str) -> NotedGraph:
        """The entities in which the words of a query stand, as they stand."""
        sought = query.casefold()
        return self.around(
            name
            for name, one in self.entities.items()
            if any(sought in text.casefold() for text in (name, one.kind, *one.observations))
        )


def graph_of(memories: Iterable[Mapping[str, Any]]) -> NotedGraph:
    """The graph in a listing of memories."""
    graph, seen = NotedGraph(), []
    for memory in memories:
        said, held = memory["metadata"], str(memory["id"])
        part = said.get(PART)
        if part == ENTITY and memory["content"] == entity_note(said["name"], said["type"]).text:
            graph.entities.setdefault(said["name"], GraphEntity(said["name"], said["type"], held))
        elif part == RELATION and memory["content"] == relation_note(said["from"], said["type"], said["to"]).text:
            graph.relations.setdefault((said["from"], said["type"], said["to"]), held)
        elif part == OBSERVATION:
            seen.append((str(said["name"]), str(memory["content"]), held))
    for name, content, held in seen:
        if name in graph.entities:
            graph.entities[name].observations.setdefault(content.removeprefix(f"{name}: "), held)
    return graph
