"""The one codec: how a dataclass is written as JSON members and read back, made from its fields and their types.

A ``Shape`` works out once what to do with each field, and then only does it. Reading trusts nothing: a member that is
missing or of another type is ``Malformed``, in a row and in a service's answer alike. Members that the class does not
have are left where they are.

Moments are the fixed-width UTC text of ``utc_text``; an ``IntEnum`` is its name in lower case, any other enum its
value; tuples are lists, a span of time its seconds, another dataclass the members of its own shape.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum, IntEnum
from functools import cached_property
from typing import Any, Generic, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from truekeep.types import utc_moment, utc_text

T = TypeVar("T")
_SORTS: dict[Any, str] = {
    str: "plain",
    int: "plain",
    bool: "plain",
    float: "number",
    datetime: "moment",
    timedelta: "span",
    frozenset: "set",
    Any: "any",
    Union: "optional",
    types.UnionType: "optional",
}


class Malformed(ValueError):
    """Members that are not those of the value."""


class Shape(Generic[T]):
    """How values of one dataclass are written and read.

    - ``given``: fields that are no members; whoever reads passes them, or they are as by default.
    - ``sparse``: fields that are written only where they say something, after the others. Where they are not there they
      are as by default, a list empty; one that has no default has to be there.
    - ``first``: fields that are written before the others; these are in the order of the class.
    - ``names``: what a field's member is called where it has another name.
    - ``version``: the number that is written as ``v`` before everything else, and has to be there.
    - ``shapes``: those of the dataclasses in it; one that is not listed is written in the order of its fields.
    - ``refuse``: makes the error for members that are not those of the value.
    """

    def __init__(
        self,
        kind: type[T],
        *,
        given: Collection[str] = (),
        sparse: Iterable[str] = (),
        first: Iterable[str] = (),
        names: Mapping[str, str] | None = None,
        version: int | None = None,
        shapes: Iterable[Shape[Any]] = (),
        refuse: Callable[[], Exception] = Malformed,
    ) -> None:
        self.kind = kind
        self._given = given
        self._sparse = tuple(sparse)
        self._first = tuple(first)
        self._names = names or {}
        self._version = version
        self._shapes = {shape.kind: shape for shape in shapes}
        self._refuse = refuse
        self._fields = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]

    @cached_property
    def write(self) -> Callable[[T], dict[str, Any]]:
        """Gives the members of a value."""
        order = [name for name in dict.fromkeys((*self._first, *self._fields)) if name not in self._given]
        always = [
            (name, self._member(name), self._writer(self._hints[name])) for name in order if name not in self._sparse
        ]
        rest = [
            (name, self._member(name), self._writer(_required(self._hints[name])), self._usual(name))
            for name in self._sparse
        ]
        head = {} if self._version is None else {"v": self._version}

        def made(one: T) -> dict[str, Any]:
            members: dict[str, Any] = dict(head)
            for name, member, written in always:
                value = getattr(one, name)
                members[member] = value if written is None else written(value)
            for name, member, written, usual in rest:
                value = getattr(one, name)
                if value != usual if usual else value:
                    members[member] = value if written is None else written(value)
            return members

        return made

    @cached_property
    def read(self) -> Callable[..., T]:
        """Gives the value of some members; fields that are given are passed by name."""
        kind, version, refuse = self.kind, self._version, self._refuse
        plan = [(name, *self._reader(name)) for name in self._fields if name not in self._given]

        def made(members: Any, /, **given: Any) -> T:
            try:
                if type(members) is not dict or (version is not None and members["v"] != version):
                    _no()
                for name, member, checked, need in plan:
                    if need is _NEEDED or member in members:
                        value = members[member]
                        if need is _MAY_BE_NONE and value is None:
                            continue
                        given[name] = checked(value)
                    elif need is _EMPTY:
                        given[name] = ()
                return kind(**given)
            except (KeyError, TypeError, ValueError, OverflowError):
                raise refuse() from None

        return made

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.kind)

    def _shape(self, kind: type) -> Shape[Any]:
        return self._shapes.setdefault(kind, Shape(kind, refuse=self._refuse))

    def _member(self, name: str) -> str:
        return self._names.get(name, name)

    def _usual(self, name: str) -> Any:
        """What a field is by default, where that says something."""
        usual = self._fields[name].default
        return None if usual is MISSING else usual

    def _writer(self, hint: Any) -> Callable[[Any], Any] | None:  # noqa: PLR0911 - one for each sort of type
        """How a value is written; none where it is written as it is."""
        match _sort(hint):
            case "optional":
                inner = self._writer(_required(hint))
                return None if inner is None else lambda value: None if value is None else inner(value)
            case "moment":
                return utc_text
            case "span":
                return timedelta.total_seconds
            case "fixed":
                parts = [self._writer(part) or _same for part in get_args(hint)]
                return lambda value: [part(one) for part, one in zip(parts, value, strict=True)]
            case "list":
                each = self._writer(get_args(hint)[0])
                return list if each is None else lambda value: [each(one) for one in value]
            case "set":
                return sorted
            case "mapping":
                return dict
            case "dataclass":
                return self._shape(hint).write
            case "enum":
                return {entry: word for word, entry in _words(hint).items()}.__getitem__
            case _:
                return None

    def _reader(self, name: str) -> tuple[str, Callable[[Any], Any], object]:
        """Under which member a field is read, how, and what it means that the member is not there."""
        hint, one = self._hints[name], self._fields[name]
        has_default = one.default is not MISSING or one.default_factory is not MISSING
        if _sort(hint) == "optional" and one.default is None:
            return self._member(name), self._checker(_required(hint)), _MAY_BE_NONE
        need: object = _NEEDED
        if name in self._sparse:
            need = _DEFAULT if has_default else _EMPTY if _sort(hint) == "list" else _NEEDED
        return self._member(name), self._checker(hint), need

    def _checker(self, hint: Any) -> Callable[[Any], Any]:  # noqa: PLR0911 - one for each sort of type
        """How a value is read that must be of a type."""
        match _sort(hint):
            case "optional":
                inner = self._checker(_required(hint))
                return lambda value: None if value is None else inner(value)
            case "plain":
                return _PLAIN[hint]
            case "fixed":
                parts = [self._checker(part) for part in get_args(hint)]
                return lambda value: tuple(part(one) for part, one in zip(parts, _list(value), strict=True))
            case "list" | "set":
                whole: Callable[[Any], Any] = get_origin(hint)
                if get_args(hint)[0] is str:
                    return lambda value: whole(_texts(value))
                each = self._checker(get_args(hint)[0])
                return lambda value: whole([each(one) for one in _list(value)])
            case "mapping":
                held = self._checker(get_args(hint)[1])
                if held is _same:
                    return _dict
                return lambda value: {name: held(one) for name, one in _dict(value).items()}
            case "dataclass":
                return self._shape(hint).read
            case "enum":
                return _words(hint).__getitem__
            case "any":
                return _same
            case sort:
                return _READERS[sort]


_NEEDED, _DEFAULT, _EMPTY, _MAY_BE_NONE = object(), object(), object(), object()
"""What it means that a member is not there: an error, the default, an empty list, or nothing."""


def _same(value: Any) -> Any:
    return value


def _exactly(kind: type) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        return value if type(value) is kind else _no()

    return checked


_PLAIN = {kind: _exactly(kind) for kind in (str, int, bool)}


def _sort(hint: Any) -> str:
    """Of what sort a type is: each is written and read in its own way."""
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind is tuple:
        return "list" if arguments[-1] is ... else "fixed"
    if kind in _SORTS:
        return _SORTS[kind]
    if is_dataclass(kind):
        return "dataclass"
    return "mapping" if issubclass(kind, Mapping) else "enum"


def _required(hint: Any) -> Any:
    """The type without nothing."""
    return next(one for one in get_args(hint) if one is not type(None)) if _sort(hint) == "optional" else hint


def _words(kind: type[Enum]) -> dict[str, Enum]:
    if issubclass(kind, IntEnum):
        return {entry.name.lower(): entry for entry in kind}
    return {entry.value: entry for entry in kind}


def _no() -> NoReturn:
    raise Malformed


def _moment(value: object) -> datetime:
    moment = utc_moment(value) if type(value) is str else _no()
    return moment if moment.tzinfo is not None else _no()


def _number(value: object) -> float:
    if type(value) not in (int, float) or not abs(value) < 1e300:  # type: ignore[arg-type]
        _no()
    return float(value)  # type: ignore[arg-type]


def _span(value: object) -> timedelta:
    return timedelta(seconds=_number(value))


def _list(value: object) -> list[Any]:
    return value if type(value) is list else _no()


def _texts(value: object) -> list[str]:
    listed = _list(value)
    return listed if all(type(one) is str for one in listed) else _no()


def _dict(value: object) -> dict[str, Any]:
    return value if type(value) is dict else _no()


_READERS: dict[str, Callable[[object], Any]] = {"moment": _moment, "number": _number, "span": _span}


def others(kind: type, *names: str) -> tuple[str, ...]:
    """The fields of a dataclass but for those."""
    return tuple(one.name for one in fields(kind) if one.name not in names)
