"""A loopback daemon with adb's transport for the real client: connections, shell commands with exit
codes.

A function from the command line to the output answers each command. Nothing else of a phone is
implemented.

Source: AOSP, packages/modules/adb: protocol.txt (messages), shell_protocol.h (packets of
`shell,v2`).
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable

VERSION, MAX_DATA = 0x01000001, 1 << 18
BANNER = b"device::ro.product.name=loopback;ro.product.model=Loopback;ro.product.device=loopback;features=shell_v2,cmd"
STDOUT, STDERR, EXIT = 1, 2, 3

#: A command line to (exit code, standard output, standard error).
Answer = Callable[[str], tuple[int, str, str]]


def _word(name: str) -> int:
    return int.from_bytes(name.encode(), "little")


class LoopbackPhone:
    """A daemon that listens on `port` during the `with` block."""

    def __init__(self, answer: Answer):
        self.answer = answer
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]

    def __enter__(self) -> LoopbackPhone:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listening.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=_Connection(connection, self.answer).serve, daemon=True).start()


class _Connection:
    def __init__(self, connection: socket.socket, answer: Answer):
        self.connection, self.answer, self.lock = connection, answer, threading.Lock()
        self.acknowledged: dict[int, threading.Event] = {}
        self.last = 0

    def serve(self) -> None:
        with self.connection:
            while header := self._exactly(24):
                command, first, second, length, _, magic = struct.unpack("<6I", header)
                payload = self._exactly(length)
                assert magic == command ^ 0xFFFFFFFF
                if command == _word("CNXN"):
                    self._send("CNXN", VERSION, MAX_DATA, BANNER)
                elif command == _word("OPEN"):
                    self._open(first, payload.rstrip(b"\0").decode())
                elif command == _word("OKAY") and second in self.acknowledged:
                    self.acknowledged[second].set()
                elif command == _word("WRTE"):  # the client's standard input is acknowledged and ignored
                    self._send("OKAY", second, first)

    def _exactly(self, length: int) -> bytes:
        received = b""
        while len(received) < length:
            try:
                part = self.connection.recv(length - len(received))
            except OSError:
                return b""
            if not part:
                return b""
            received += part
        return received

    def _send(self, name: str, first: int, second: int, payload: bytes = b"") -> None:
        command = _word(name)
        header = struct.pack("<6I", command, first, second, len(payload), sum(payload) & 0xFFFFFFFF, command ^ 0xFFFFFFFF)
        with self.lock:
            self.connection.sendall(header + payload)

    def _open(self, theirs: int, service: str) -> None:
        kind, _, command = service.partition(":")
        if not kind.startswith("shell,v2"):
            return self._send("CLSE", 0, theirs)
        self.last += 1
        self.acknowledged[self.last] = threading.Event()
        self._send("OKAY", self.last, theirs)
        threading.Thread(target=self._shell, args=(self.last, theirs, command), daemon=True).start()

    def _shell(self, ours: int, theirs: int, command: str) -> None:
        code, out, err = self.answer(command)
        packets = [(STDOUT, out.encode()), (STDERR, err.encode()), (EXIT, bytes([code]))]
        for kind, data in packets:
            for at in range(0, max(len(data), 1), MAX_DATA // 2):
                part = data[at : at + MAX_DATA // 2]
                if part:
                    self.acknowledged[ours].clear()
                    self._send("WRTE", ours, theirs, struct.pack("<BI", kind, len(part)) + part)
                    self.acknowledged[ours].wait(20)
        self._send("CLSE", ours, theirs)
