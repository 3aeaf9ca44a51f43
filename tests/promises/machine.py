"""The state machines: one rule for every operation and every kind of hearsay, and the comparison after each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.promises.agreement import Operation
from tests.promises.comparison import compare
from tests.promises.deciding import Pass
from tests.promises.hearsay import HEARSAY
from tests.promises.holding import hold
from tests.promises.operations import OPERATIONS
from tests.promises.twins import Twins
from tests.promises.world import World

steps_taken = 0
"""Steps of all machines in this process, for the report of the long profile."""


class Promises(RuleBasedStateMachine):
    """Runs one world's twins. Use ``machine_for``, which gives it its rules."""

    world: World

    @initialize()
    def open_both(self) -> None:
        self.twins = Twins(self.world)
        self.step = 0

    def do(self, operation: Operation) -> None:
        """One step of the shared life or of the hearsay in it."""
        global steps_taken  # noqa: PLW0603 - a counter for the report
        steps_taken += 1
        self.step += 1
        self.twins.advance(seconds=1)
        before = self._heads()
        operation.run(self.twins)
        if self._heads() != before or isinstance(operation, Pass):
            compare(self.twins, self.step)
        hold(self.twins, self.step)

    def _heads(self) -> tuple[int, ...]:
        """Where the two audit logs stand: a step that wrote nothing changed nothing."""
        return tuple(side.keep._ledger.head.seq for side in self.twins.sides)

    def teardown(self) -> None:
        if hasattr(self, "twins"):
            self.twins.close()


Rules = Mapping[str, st.SearchStrategy[Operation]]
EVERYTHING: Rules = {**OPERATIONS, **HEARSAY}


def machine_for(world: World, rules: Rules = EVERYTHING) -> type[Promises]:
    """The machine of a world, with a rule for each entry of the table."""
    made = {name: _rule(name, strategy) for name, strategy in rules.items()}
    return type(f"Promises_{world.name}", (Promises,), {"world": world, **made})


def _rule(name: str, strategy: st.SearchStrategy[Operation]) -> Callable[..., None]:
    def step(self: Promises, operation: Operation) -> None:
        self.do(operation)

    step.__name__ = name
    return rule(operation=strategy)(step)
