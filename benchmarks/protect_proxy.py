"""What ``truekeep protect mcp`` adds to a call: the proxy's own CPU time, by turns with the bare server."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters

from benchmarks.harness import Figure

SERVER = """
from mcp.server import MCPServer
server = MCPServer("bench")

@server.tool(structured_output=False)
def get_text(page: str) -> str:
    "Get a page."
    return "The page says that the choir sings on Tuesdays. " * 4

@server.tool(structured_output=False)
def add_memory(text: str) -> str:
    "Add a memory."
    return "added"

server.run("stdio")
"""
MAP = '[tools.add_memory]\ndoes = "write"\ntexts = ["text"]\n'
ROUNDS, REPEAT = 8, 10
BOUND = 5.0
_TICK = os.sysconf("SC_CLK_TCK")


def measure() -> list[Figure]:
    """Milliseconds of CPU that the proxy's process takes for a read and for a write to a memory."""
    with tempfile.TemporaryDirectory() as folder:
        return anyio.run(_measured, Path(folder))


async def _measured(folder: Path) -> list[Figure]:
    (folder / "server.py").write_text(SERVER)
    (folder / "map.toml").write_text(MAP)
    bare = StdioServerParameters(command=sys.executable, args=[str(folder / "server.py")])
    source = str(Path(__file__).parents[1] / "src")
    variables = {"TRUEKEEP_HOME": str(folder / "home"), "TRUEKEEP_EMBEDDER": "none", "PYTHONPATH": source}
    options = ["-m", "truekeep", "protect", "mcp", "--memory", str(folder / "map.toml"), "--", bare.command, *bare.args]
    front = StdioServerParameters(command=sys.executable, args=options, env=variables)
    async with Client(front, mode="legacy") as through, Client(bare, mode="legacy") as direct:
        process = _pid_of("protect")
        figures = []
        for tool, argument in (("get_text", "page"), ("add_memory", "text")):
            figures += await _by_turns(tool, argument, through, direct, process)
    return figures


async def _by_turns(tool: str, argument: str, through: Client, direct: Client, process: int) -> list[Figure]:
    cpu: list[float] = []
    wall: dict[str, list[float]] = {"through": [], "direct": []}
    for turn in range(ROUNDS):
        for name, client in (("through", through), ("direct", direct)):
            before, started = _cpu(process), time.perf_counter()
            for number in range(REPEAT):
                result = await client.call_tool(tool, {argument: f"Mira rehearses piece {turn * REPEAT + number}."})
                if result.is_error:
                    raise SystemExit(f"{tool} was refused: {result.content}")
            wall[name].append((time.perf_counter() - started) * 1000 / REPEAT)
            if name == "through":
                cpu.append((_cpu(process) - before) * 1000 / REPEAT)
    added = statistics.median(wall["through"]) - statistics.median(wall["direct"])
    return [
        Figure(f"{tool}: CPU of the proxy per call", statistics.median(cpu), "ms", bound=BOUND),
        Figure(f"{tool}: added by the wall per call", added, "ms", note="reported; the machine's load is in it"),
    ]


def _cpu(process: int) -> float:
    """The CPU seconds of one process alone; the server behind it is another."""
    parts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / _TICK


def _pid_of(word: str) -> int:
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text().split():
            if word in Path(f"/proc/{child}/cmdline").read_text().split("\0"):
                return int(child)
    raise SystemExit("the proxy did not start")
