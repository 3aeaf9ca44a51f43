"""``TruekeepMemoryTool(keep)``: Anthropic's memory tool over a keep, blocking and awaited.

The agent's files are notes of its own and are the agent's to change. In a mediated conversation there is one more file,
``/memories/from_the_owner.md``: what the owner said, as fenced data. The agent cannot write it; replacing a whole
memory in it is a proposal that the owner decides on. Messages are worded as those of the SDK's own tool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from truekeep.adapters.memory_files import ROOT, MemoryFile, MemoryFiles, checked_path
from truekeep.adapters.reports import code_of, log
from truekeep.errors import MissingExtra, TruekeepError

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError:
    raise MissingExtra("anthropic") from None

if TYPE_CHECKING:
    from truekeep.adapters.mediator import MediatedConversation
    from truekeep.keep import Keep

OWNERS = f"{ROOT}/from_the_owner.md"
_MOST_LINES = 999_999  # what fits the width of a line number, as in the SDK's own tool
_WIDTH = 6
_NOT_THERE = "The path {path} does not exist. Please provide a valid path."


class MemoryCommands:
    """The six commands. ``conversation`` is the mediated one they are used in; without one everything is foreign."""

    def __init__(self, keep: Keep, conversation: MediatedConversation | None = None) -> None:
        self._keep = keep
        self._files = MemoryFiles(keep)
        self.conversation = conversation

    def done(self, name: str, command: Any) -> str:
        """Carry a command out. Whatever goes wrong is an error that the model is told, without another's words."""
        try:
            with self._files.lock:
                return str(getattr(self, name)(command))
        except ToolError:
            raise
        except TruekeepError as error:
            raise ToolError(f"{error} ({error.code})") from None
        except Exception as error:
            log("a memory command failed", error)
            raise ToolError(f"The memory cannot be used now ({code_of(error)}).") from None

    @property
    def _is_clean(self) -> bool:
        return self.conversation is not None and self.conversation.is_clean

    def _read(self, *files: MemoryFile) -> None:
        """Report what is read: a note of clean sessions is the agent's own word, any other one is foreign."""
        if self.conversation is None:
            return
        for file in files:
            if not file.clean:
                self.conversation.missed("a file of a tainted session was read")
                return

    def view(self, command: Any) -> str:
        """A file with its lines numbered, or what is in a directory."""
        path = checked_path(command.path)
        if path == OWNERS and (block := self._owners()):
            return block
        file = self._files.get(path)
        if file is None:
            return self._listed(path)
        self._read(file)
        lines = file.text.split("\n")
        if len(lines) > _MOST_LINES:
            raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
        first, last = 1, len(lines)
        if command.view_range and len(command.view_range) == 2:
            first = max(1, command.view_range[0])
            last = len(lines) if command.view_range[1] == -1 else command.view_range[1]
        return f"Here's the content of {path} with line numbers:\n" + _numbered(lines, first, last)

    def _owners(self) -> str:
        return self.conversation.memory_block() if self.conversation is not None else ""

    def _listed(self, path: str) -> str:
        inside = self._files.under(path)
        if not inside and path != ROOT:
            raise ToolError(_NOT_THERE.format(path=path))
        self._read(*inside)
        sizes: dict[str, int] = {}
        for file in inside:
            parts = file.path.removeprefix(f"{path}/").split("/")
            if any(part.startswith(".") for part in parts):
                continue
            for depth in range(1, min(len(parts), 2) + 1):
                shown = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
                sizes[shown] = sizes.get(shown, 0) + len(file.text.encode())
        if path == ROOT and self._owners():
            sizes[OWNERS.removeprefix(f"{ROOT}/")] = len(self._owners().encode())
        head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        whole = sum(len(file.text.encode()) for file in inside)
        return "\n".join(
            [head, f"{_size(whole)}\t{path}", *(f"{_size(n)}\t{path}/{p}" for p, n in sorted(sizes.items()))]
        )

    def create(self, command: Any) -> str:
        """A new file."""
        path = self._writable(command.path)
        if self._files.get(path) is not None or self._files.under(path):
            raise ToolError(f"File {path} already exists")
        above = path.removeprefix(ROOT).split("/")[1:-1]
        if any(self._files.get("/".join([ROOT, *above[: place + 1]])) for place in range(len(above))):
            raise ToolError(f"A part of the path {path} is a file.")
        self._files.put(MemoryFile(path, command.file_text, self._is_clean))
        return f"File created successfully at: {path}"

    def str_replace(self, command: Any) -> str:
        """Replace a text that stands in a file once."""
        if checked_path(command.path) == OWNERS:
            return self._proposed(command.old_str, command.new_str or "")
        file = self._found(command.path)
        count = file.text.count(command.old_str) if command.old_str else 0
        if count == 0:
            raise ToolError(
                f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in {file.path}."
            )
        if count > 1:
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: "
                f"{', '.join(map(str, _lines_of(file.text, command.old_str)))}. Please ensure it is unique"
            )
        changed = file.text.count("\n", 0, file.text.find(command.old_str)) + 1
        lines = self._changed(file, file.text.replace(command.old_str, command.new_str or "")).split("\n")
        told = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        return told + _numbered(lines, max(1, changed - 2), min(len(lines), changed + 2))

    def insert(self, command: Any) -> str:
        """Put text after a line."""
        file = self._found(command.path)
        lines = file.text.removesuffix("\n").split("\n") if file.text else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        self._changed(file, "\n".join(lines) + "\n")
        return f"The file {file.path} has been edited."

    def delete(self, command: Any) -> str:
        """Delete a file of the agent's, or a directory of them."""
        path = checked_path(command.path)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        self._writable(path)
        gone = [file] if (file := self._files.get(path)) is not None else self._files.under(path)
        if not gone:
            raise ToolError(f"The path {path} does not exist")
        for one in gone:
            self._files.remove(one.path)
        return f"Successfully deleted {path}"

    def rename(self, command: Any) -> str:
        """Give a file, or a directory, another path."""
        old, new = checked_path(command.old_path), self._writable(command.new_path)
        if old == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        self._writable(old)
        if self._files.get(new) is not None or self._files.under(new):
            raise ToolError(f"The destination {new} already exists")
        moved = [file] if (file := self._files.get(old)) is not None else self._files.under(old)
        if not moved or f"{new}/".startswith(f"{old}/"):
            raise ToolError(f"The path {old} does not exist" if not moved else f"{old} cannot be moved into itself.")
        for one in moved:
            self._files.move(one, new + one.path.removeprefix(old), clean=self._is_clean)
        return f"Successfully renamed {old} to {new}"

    def _found(self, given: object) -> MemoryFile:
        path = self._writable(given)
        file = self._files.get(path)
        if file is None:
            is_directory = path == ROOT or bool(self._files.under(path))
            raise ToolError(f"The path {path} is not a file." if is_directory else _NOT_THERE.format(path=path))
        self._read(file)
        return file

    def _changed(self, file: MemoryFile, text: str) -> str:
        self._files.put(MemoryFile(file.path, text, file.clean and self._is_clean))
        return text

    @staticmethod
    def _writable(given: object) -> str:
        path = checked_path(given)
        if path == OWNERS or path.startswith(f"{OWNERS}/"):
            raise ToolError(f"{OWNERS} holds what the owner said, which is the owner's to change.")
        return path

    def _proposed(self, text: str, instead: str) -> str:
        """The agent would have a memory of the owner's changed or deleted: the owner is asked, nothing is changed."""
        if self.conversation is None:
            raise ToolError(_NOT_THERE.format(path=OWNERS))
        found = [one["id"] for one in self._keep.get_memories() if one["content"] == text.strip()]
        if len(found) != 1:
            raise ToolError("No change was proposed: old_str has to be one whole memory.")
        agent = self._keep.bind("agent", session=self.conversation.name)
        verdict = agent.update_memory(found[0], instead) if instead.strip() else agent.delete_memory(found[0])
        return f"Proposed to the owner, and not done ({verdict.code})."


class TruekeepMemoryTool(BetaAbstractMemoryTool):  # type: ignore[misc] # Any where the SDK is not installed
    """The memory tool for a blocking client."""

    def __init__(self, keep: Keep, *, cache_control: Any = None) -> None:
        super().__init__(cache_control=cache_control)
        self.commands = MemoryCommands(keep)

    def view(self, command: Any) -> str:
        """View a file or a directory."""
        return self.commands.done("view", command)

    def create(self, command: Any) -> str:
        """Create a file."""
        return self.commands.done("create", command)

    def str_replace(self, command: Any) -> str:
        """Replace text in a file."""
        return self.commands.done("str_replace", command)

    def insert(self, command: Any) -> str:
        """Insert text into a file."""
        return self.commands.done("insert", command)

    def delete(self, command: Any) -> str:
        """Delete a file or a directory."""
        return self.commands.done("delete", command)

    def rename(self, command: Any) -> str:
        """Rename a file or a directory."""
        return self.commands.done("rename", command)


def _awaited(name: str) -> Callable[..., Any]:
    async def method(self: TruekeepAsyncMemoryTool, command: Any) -> str:
        return await asyncio.to_thread(self.commands.done, name, command)

    return method


class TruekeepAsyncMemoryTool(BetaAsyncAbstractMemoryTool):  # type: ignore[misc] # as above
    """The same for an awaited client."""

    def __init__(self, keep: Keep, *, cache_control: Any = None) -> None:
        super().__init__(cache_control=cache_control)
        self.commands = MemoryCommands(keep)

    view, create, str_replace = _awaited("view"), _awaited("create"), _awaited("str_replace")
    insert, delete, rename = _awaited("insert"), _awaited("delete"), _awaited("rename")


def _numbered(lines: list[str], first: int, last: int) -> str:
    shown = enumerate(lines[first - 1 : last], first)
    return "\n".join(f"{str(number).rjust(_WIDTH)}\t{line}" for number, line in shown)


def _lines_of(text: str, sought: str) -> list[int]:
    places, place = [], text.find(sought)
    while place != -1:
        places.append(text.count("\n", 0, place) + 1)
        place = text.find(sought, place + 1)
    return places


def _size(number: int) -> str:
    return f"{number}B" if number < 1024 else f"{number / 1024:.1f}K"
