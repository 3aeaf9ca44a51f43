"""The nine tools of the reference memory server, over a keep: ``truekeep mcp --profile reference``.

What an agent creates is its note: it informs, waits for the person, and never drives an action until they confirm it.
What it deletes is proposed. The answers have the reference server's form, so what a memory says stands in them without
a fence around it; it is sanitised like everything that is read, and the result is labelled as untrusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult
from pydantic import BaseModel, ConfigDict, Field

from truekeep.errors import InvalidRequest
from truekeep.serve.mcp import answers
from truekeep.serve.mcp.arguments import Arguments
from truekeep.serve.mcp.asking import Asking, PersonCall, Result
from truekeep.serve.mcp.graph import GraphNote, NotedGraph, entity_note, graph_of, observation_note, relation_note
from truekeep.serve.mcp.tools import Tool
from truekeep.types import Decision

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.types import Verdict

_MOST_PARTS = 100
"""Parts of the graph in one call."""
_MOST_READ = 5_000
"""Memories that are looked through for one answer."""
_Name = Annotated[str, Field(min_length=1, max_length=200, description="What it is called.")]
_Kind = Annotated[str, Field(min_length=1, max_length=200, description="What sort of thing it is.")]
_Said = Annotated[str, Field(min_length=1, max_length=2_000)]
_OPEN = ConfigDict(extra="ignore", strict=True, frozen=True)
"""What the reference server takes no notice of is taken no notice of here; nothing else is read than what is named."""


class GraphNode(BaseModel):
    """An entity."""

    model_config = _OPEN
    name: _Name
    kind: Annotated[_Kind, Field(alias="entityType")]
    observations: Annotated[list[_Said], Field(max_length=_MOST_PARTS, description="What is known of it.")]


class GraphEdge(BaseModel):
    """A relation."""

    model_config = _OPEN
    start: Annotated[_Name, Field(alias="from", description="Where it begins.")]
    end: Annotated[_Name, Field(alias="to", description="Where it ends.")]
    kind: Annotated[_Kind, Field(alias="relationType")]


class MoreSaid(BaseModel):
    """Further observations about an entity."""

    model_config = _OPEN
    name: Annotated[_Name, Field(alias="entityName")]
    contents: Annotated[list[_Said], Field(max_length=_MOST_PARTS, description="What to add.")]


class LessSaid(BaseModel):
    """Observations about an entity that are to go."""

    model_config = _OPEN
    name: Annotated[_Name, Field(alias="entityName")]
    observations: Annotated[list[_Said], Field(max_length=_MOST_PARTS, description="What to delete.")]


class _Takes(Arguments):
    model_config = _OPEN


class CreateEntities(_Takes):
    """For ``create_entities``."""

    entities: Annotated[list[GraphNode], Field(max_length=_MOST_PARTS)]


class CreateRelations(_Takes):
    """For ``create_relations`` and ``delete_relations``."""

    relations: Annotated[list[GraphEdge], Field(max_length=_MOST_PARTS)]


class AddObservations(_Takes):
    """For ``add_observations``."""

    observations: Annotated[list[MoreSaid], Field(max_length=_MOST_PARTS)]


class DeleteEntities(_Takes):
    """For ``delete_entities``."""

    names: Annotated[list[_Name], Field(alias="entityNames", max_length=_MOST_PARTS)]


class DeleteObservations(_Takes):
    """For ``delete_observations``."""

    deletions: Annotated[list[LessSaid], Field(max_length=_MOST_PARTS)]


class ReadGraph(_Takes):
    """For ``read_graph``, which takes nothing."""


class SearchNodes(_Takes):
    """For ``search_nodes``."""

    query: Annotated[str, Field(max_length=2_000, description="Words that stand in a name, a type or an observation.")]


class OpenNodes(_Takes):
    """For ``open_nodes``."""

    names: Annotated[list[_Name], Field(max_length=_MOST_PARTS, description="What the entities are called.")]


class _Gives(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Entities(_Gives):
    """The entities that are new."""

    entities: list[GraphNode]


class Relations(_Gives):
    """The relations that are new."""

    relations: list[GraphEdge]


class AddedSaid(_Gives):
    """What was added to one entity."""

    name: Annotated[str, Field(alias="entityName")]
    added: Annotated[list[str], Field(alias="addedObservations")]


class Added(_Gives):
    """What was added to each entity."""

    results: list[AddedSaid]


class Done(_Gives):
    """Whether something was deleted, and if not, what became of the wish."""

    success: bool
    message: str


class KnowledgeGraph(_Gives):
    """Entities and relations."""

    entities: list[GraphNode]
    relations: list[GraphEdge]


async def create_entities(call: PersonCall, given: CreateEntities, _: Asking) -> Result:
    """Note entities that are not there yet, with what is known of them."""
    graph = await _graph(call)
    fresh = list({one.name: one for one in given.entities if one.name not in graph.entities}.values())
    notes = [entity_note(one.name, one.kind) for one in fresh]
    notes += [observation_note(one.name, said) for one in fresh for said in dict.fromkeys(one.observations)]
    await _note(call, notes)
    return answers.shaped(Entities(entities=fresh))


async def create_relations(call: PersonCall, given: CreateRelations, _: Asking) -> Result:
    """Note relations that are not there yet."""
    graph = await _graph(call)
    fresh = {_key(one): one for one in given.relations if _key(one) not in graph.relations}
    await _note(call, [relation_note(*key) for key in fresh])
    return answers.shaped(Relations(relations=list(fresh.values())))


async def add_observations(call: PersonCall, given: AddObservations, _: Asking) -> Result:
    """Note more about entities that are there."""
    graph = await _graph(call)
    if any(one.name not in graph.entities for one in given.observations):
        raise InvalidRequest(
            "There is no entity of one of these names.", code="unknown_entity", hint="Create it with create_entities."
        )
    fresh = [
        (one.name, [said for said in dict.fromkeys(one.contents) if said not in graph.entities[one.name].observations])
        for one in given.observations
    ]
    await _note(call, [observation_note(name, said) for name, contents in fresh for said in contents])
    results = [{"entityName": name, "addedObservations": contents} for name, contents in fresh]
    return answers.shaped(Added.model_validate({"results": results}))


async def delete_entities(call: PersonCall, given: DeleteEntities, _: Asking) -> Result:
    """Propose to delete entities with their observations and relations."""
    graph = (await _graph(call)).around(given.names)
    owned = [held for one in graph.entities.values() for held in (one.id, *one.observations.values())]
    return await _propose(call, [*owned, *graph.relations.values()])


async def delete_observations(call: PersonCall, given: DeleteObservations, _: Asking) -> Result:
    """Propose to delete observations."""
    graph = await _graph(call)
    named = [(graph.entities[one.name], one.observations) for one in given.deletions if one.name in graph.entities]
    return await _propose(
        call, [one.observations[said] for one, gone in named for said in gone if said in one.observations]
    )


async def delete_relations(call: PersonCall, given: CreateRelations, _: Asking) -> Result:
    """Propose to delete relations."""
    graph = await _graph(call)
    return await _propose(call, [graph.relations[_key(one)] for one in given.relations if _key(one) in graph.relations])


async def read_graph(call: PersonCall, _: ReadGraph, __: Asking) -> Result:
    """All of the graph."""
    return _shown(await _graph(call))


async def search_nodes(call: PersonCall, given: SearchNodes, _: Asking) -> Result:
    """The entities in which some words stand."""
    return _shown((await _graph(call)).matching(given.query))


async def open_nodes(call: PersonCall, given: OpenNodes, _: Asking) -> Result:
    """Entities by their names."""
    return _shown((await _graph(call)).around(given.names))


TOOLS: dict[str, Tool] = {
    "create_entities": Tool(CreateEntities, Entities, create_entities),
    "create_relations": Tool(CreateRelations, Relations, create_relations),
    "add_observations": Tool(AddObservations, Added, add_observations),
    "delete_entities": Tool(DeleteEntities, Done, delete_entities),
    "delete_observations": Tool(DeleteObservations, Done, delete_observations),
    "delete_relations": Tool(CreateRelations, Done, delete_relations),
    "read_graph": Tool(ReadGraph, KnowledgeGraph, read_graph),
    "search_nodes": Tool(SearchNodes, KnowledgeGraph, search_nodes),
    "open_nodes": Tool(OpenNodes, KnowledgeGraph, open_nodes),
}


def _key(edge: GraphEdge) -> tuple[str, str, str]:
    return edge.start, edge.kind, edge.end


async def _graph(call: PersonCall) -> NotedGraph:
    return graph_of(await call.binding.as_agent(lambda handle: handle.get_memories(limit=_MOST_READ)))


async def _note(call: PersonCall, notes: Sequence[GraphNote]) -> None:
    """Write notes, all or none; those that are kept wait for the person."""
    if not notes:
        return
    entries = [{"text": one.text, "metadata": one.metadata} for one in notes]
    verdicts = await call.binding.as_agent(lambda handle: handle.remember_many(entries))
    refused = [one for one in verdicts if one.decision is Decision.REJECT]
    if refused:
        raise InvalidRequest(
            "One of them was refused, and none was noted.",
            code=refused[0].code,
            hint="Say each as a plain fact, without instructions to an assistant.",
        )
    await call.binding.as_host(lambda keep: _wait(keep, verdicts))


def _wait(keep: Keep, verdicts: Iterable[Verdict]) -> None:
    for verdict in verdicts:
        if verdict.accepted and verdict.memory_id:
            keep.review.note_waits(verdict.memory_id)


async def _propose(call: PersonCall, ids: Sequence[str]) -> CallToolResult:
    for one in ids:
        await call.binding.as_agent(lambda handle, memory_id=one: handle.delete_memory(memory_id))  # type: ignore[misc]
    if not ids:
        return answers.shaped(Done(success=True, message="Nothing of that is remembered."))
    waits = f"Not deleted yet: {len(ids):,} deletion{'s' if len(ids) != 1 else ''} wait for the person's yes."
    return answers.shaped(Done(success=False, message=waits))


def _shown(graph: NotedGraph) -> CallToolResult:
    entities = [
        GraphNode.model_construct(name=one.name, kind=one.kind, observations=list(one.observations))
        for one in graph.entities.values()
    ]
    relations = [GraphEdge.model_construct(start=one[0], kind=one[1], end=one[2]) for one in graph.relations]
    return answers.shaped(KnowledgeGraph.model_construct(entities=entities, relations=relations), is_trusted=False)
