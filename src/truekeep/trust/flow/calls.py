"""A call taken apart: its tool, its values and what its name says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from truekeep.trust.flow.forms import acts_of, name_words
from truekeep.trust.flow.index import naming
from truekeep.trust.flow.roles import ArgumentLeaf, ArgumentRole
from truekeep.trust.flow.tools import Tool

TARGETS = frozenset({ArgumentRole.TARGET, ArgumentRole.WHOLE, ArgumentRole.FLAG})
"""Roles of values that need proof."""


@dataclass(frozen=True)
class ToolCall:
    """A call taken apart: the tool as declared, the name it was called by, and its values."""

    tool: Tool
    name: str
    leaves: tuple[ArgumentLeaf, ...]

    @cached_property
    def targets(self) -> list[ArgumentLeaf]:
        """Values that need proof."""
        return [leaf for leaf in self.leaves if leaf.role in TARGETS]

    @cached_property
    def contents(self) -> list[ArgumentLeaf]:
        """Values that are content."""
        return [leaf for leaf in self.leaves if leaf.role is ArgumentRole.CONTENT]

    @cached_property
    def words(self) -> frozenset[str]:
        """What the tool's name names."""
        return naming(name_words(self.name), frozenset())

    @cached_property
    def acts(self) -> frozenset[str]:
        """The acts that the words of the tool's name can mean."""
        return acts_of(self.name)
