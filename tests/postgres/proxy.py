"""A connection that is cut in the middle of a commit: between the program and the server, on a socket of its own."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path

_SOCKET = ".s.PGSQL.5432"
_COMMIT = b"COMMIT"


class Proxy:
    """Passes everything on. ``cut`` says when to cut a connection that commits: before or after the server got it."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.folder, self.server = folder, server
        self.cut = ""
        self.refuses = False
        self.passed = 0
        """Bytes that went through, both ways."""
        self.asked = 0
        """Messages that went to the server: each comes in one piece unless it is long."""
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / _SOCKET))
        self._listening.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                inner, _ = self._listening.accept()
                if self.refuses:
                    inner.close()
                    continue
                outer = socket.socket(socket.AF_UNIX)
                outer.connect(str(self.server / _SOCKET))
                pair = _Pair(self, inner, outer)
                threading.Thread(target=pair.answer, daemon=True).start()


class _Pair:
    """One connection through the proxy."""

    def __init__(self, proxy: Proxy, inner: socket.socket, outer: socket.socket) -> None:
        self._proxy, self._inner, self._outer = proxy, inner, outer
        self._is_cut = False
        self._asking = threading.Thread(target=self.ask, daemon=True)
        self._asking.start()

    def ask(self) -> None:
        with suppress(OSError):
            while data := self._inner.recv(1 << 16):
                if self._proxy.cut and _COMMIT in data:
                    self._is_cut = True
                    self._proxy.refuses = self._proxy.cut.endswith("for good")
                    is_before, self._proxy.cut = self._proxy.cut == "before", ""
                    if is_before:
                        break
                self._proxy.passed += len(data)
                self._proxy.asked += 1
                self._outer.sendall(data)
        self._end()

    def answer(self) -> None:
        with suppress(OSError):
            while data := self._outer.recv(1 << 16):
                if self._is_cut:
                    break  # the server has done it, and nobody hears of it
                self._proxy.passed += len(data)
                self._inner.sendall(data)
        self._end()
        self._asking.join()
        for one in (self._inner, self._outer):
            one.close()

    def _end(self) -> None:
        for one in (self._inner, self._outer):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
