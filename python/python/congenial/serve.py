"""A function of Python as a program for configs: `python -m congenial.serve mine.py:clip`.

The program speaks the protocol of `docs/how-to/own-methods.md`, so that a method of a file runs wherever the command line runs, also on a
cluster. The function is one for `congenial.method`, whose name, promises and version it keeps; without that decorator it promises nothing.

What is wrong with the file, the function or a release is one line on standard error, and exit code 2. What the function raises for a cell,
or for its releases, is the error of the cell, and the program goes on. What the function prints goes to standard error.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy

import congenial
from congenial import _congenial

# What the harness reads of a line.
_MOST = 2000
_INTEGER = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?(inf|infinity|nan|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?)", re.IGNORECASE)


def _stop(why: str) -> NoReturn:
    """Ends the program with one line."""
    print(f"congenial.serve: {_line(why)}", file=sys.stderr, flush=True)
    sys.exit(2)


def _line(text: str) -> str:
    return " ".join(text.split())[:_MOST]


def _words(error: BaseException) -> str:
    """An exception in words, behind the place: its line, unless it was raised here, kind and text."""
    all_frames = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in all_frames if frame.filename != __file__ and not frame.filename.startswith("<frozen")]
    text = _line(str(error))
    # What this package finds wrong itself needs no kind.
    kind = "" if isinstance(error, congenial.Error) else type(error).__name__
    said = ": ".join(part for part in (kind, text) if part)
    return f", line {frames[-1].lineno}: {said}" if frames else f": {said}"


def load(target: str) -> Callable[..., Any]:
    """The function that `FILE.py:FUNCTION` names, as a method. Errors: one line, and the end of the program."""
    file, colon, name = target.rpartition(":")
    if not colon or not file or not name:
        _stop(f"got `{target}`, want FILE.py:FUNCTION")
    path = Path(file)
    if not path.is_file():
        _stop(f"{file}: no such file, want one with the function `{name}`")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        _stop(f"{file}: not a file of Python, want FILE.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    # Files beside it are found, as of a script.
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        _stop(f"{file}{_words(error)}")
    if not hasattr(module, name):
        own = [word for word, value in vars(module).items() if callable(value) and getattr(value, "__module__", None) == module.__name__]
        _stop(f"{file}: no function `{name}`; it has {', '.join(own) or 'none'}")
    function = getattr(module, name)
    if not callable(function):
        _stop(f"{file}: `{name}` is {type(function).__name__}, want a function of (structure, cell)")
    if hasattr(function, "__congenial_method__"):
        return function  # type: ignore[no-any-return]
    try:
        return congenial.method(function)  # type: ignore[no-any-return]
    except (congenial.Error, TypeError, AttributeError) as error:
        _stop(f"{file}{_words(error)}")


def _option(text: str) -> Any:
    """The value of an option: an integer, a real number, a truth value or a text, as a function in the same process gets it."""
    if _INTEGER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    if _REAL.fullmatch(text):
        return float(text)
    return {"true": True, "false": False}.get(text, text)


class _Ended(Exception):
    """The harness is done."""


class _Talk:
    """The protocol for one method."""

    def __init__(self, method: Callable[..., Any], source: BinaryIO, sink: BinaryIO) -> None:
        self.method = method
        self.source = source
        self.sink = sink
        self.structure: dict[str, Any] = {}
        self.cells: dict[str, Callable[..., Any]] = {}

    def say(self, line: str, content: bytes = b"") -> None:
        self.sink.write(line.encode() + b"\n" + content)
        self.sink.flush()

    def numbers(self, kind: str, many: int) -> Any:
        """The next numbers, which cannot be written to."""
        content = self.source.read(8 * many)
        if len(content) < 8 * many:
            raise _Ended
        return numpy.frombuffer(content, kind)

    def system(self, rows: int, terms: int) -> dict[str, Any]:
        begins = self.numbers("<i8", rows + 1)
        entries, coefficients = self.numbers("<i8", terms), self.numbers("<i8", terms)
        return {"begins": begins, "entries": entries, "coefficients": coefficients, "values": self.numbers("<i8", rows)}

    def hear(self, words: list[str]) -> None:
        """Answers a frame that begins with these words."""
        what = " ".join(words[:2])
        if words[0] == "congenial":
            self.hello(words[1:])
        elif what == "structure tree":
            nodes, levels = map(int, words[2:])
            parents, begins = self.numbers("<i8", nodes), self.numbers("<i8", levels + 1)
            self.structure = {"counts": nodes, "kind": "tree", "parents": parents, "levels": begins}
        elif what == "structure table":
            entries, rows, terms, bounds, of_bounds = map(int, words[2:])
            equations = self.system(rows, terms)
            inequalities = self.system(bounds, of_bounds)
            self.structure = {"counts": entries, "kind": "table", "equations": equations, "inequalities": inequalities}
        elif words[0] == "cell":
            self.cell(words[1], words[2:])
        elif words[0] == "release":
            self.release(words[1], int(words[2]))
        else:
            _stop(f"got the frame `{_line(' '.join(words))}`, want congenial, structure, cell or release")

    def hello(self, words: list[str]) -> None:
        if words[0] != "1":
            _stop(f"got the version {words[0]} of the protocol, want 1")
        name, identity = (getattr(self.method, f"__congenial_{what}__") for what in ("method", "identity"))
        self.say(" ".join(["method", name, identity, *getattr(self.method, "__congenial_promises__")]))

    def cell(self, number: str, words: list[str]) -> None:
        given = dict(word.split("=", 1) for word in words)
        cell: dict[str, Any] = {"law": given.pop("law"), "epsilon": float(given.pop("epsilon"))}
        cell["variances"] = self.numbers("<f8", self.structure["counts"])
        cell.update({key: _option(value) for key, value in given.items()})
        try:
            made = self.method(self.structure, cell)
            release, pays = made if isinstance(made, tuple) and len(made) == 2 else (made, {})
            if not callable(release):
                kind = type(release).__name__
                want = "want a function release(seeds, counts), or that and a dict of what a mechanism pays"
                raise _congenial.wrong(f"it returned {kind} for a cell, {want}")
            if not isinstance(pays, dict):
                raise _congenial.wrong(f"what it pays: got {type(pays).__name__}, want a dict of numbers")
            losses = [f"{change}={float(loss)!r}" for change, loss in pays.items()]
        except Exception as error:
            self.error(error)
            return
        self.cells[number] = release
        self.say(" ".join(["ready", *losses]))

    def release(self, number: str, replicates: int) -> None:
        counts = self.structure["counts"]
        seeds = self.numbers("<u8", replicates).copy()
        noisy = self.numbers("<f8", replicates * counts).reshape(replicates, counts).copy()
        try:
            given = self.cells[number](seeds, noisy)
        except Exception as error:
            self.error(error)
            return
        try:
            released = _congenial.released(given, replicates, counts)
        except congenial.Error as error:
            _stop(f"method `{self.name}`: {error}")
        wrong = numpy.argwhere(~numpy.isfinite(released))
        if len(wrong):
            row, column = wrong[0]
            value = released[row, column]
            _stop(f"method `{self.name}`: it released {value} as count {column + 1} of row {row} (from 0), want finite numbers")
        self.say(f"released {replicates}", numpy.ascontiguousarray(released, dtype="<f8").tobytes())

    @property
    def name(self) -> str:
        return str(getattr(self.method, "__congenial_method__"))

    def error(self, error: BaseException) -> None:
        """Says what the function raised: the error of the cell."""
        self.say(_line(f"error method `{self.name}`{_words(error)}"))


def main(arguments: list[str] | None = None) -> None:
    """Serves the function that the only argument names, until the harness is done."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 1:
        _stop(f"got {len(given)} arguments, want one: FILE.py:FUNCTION")
    # The harness alone reads what is written there, and writes what is read: what the function prints or reads goes elsewhere.
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    talk = _Talk(load(given[0]), source, sink)
    try:
        for line in iter(source.readline, b""):
            talk.hear(line.decode().split())
    except (_Ended, BrokenPipeError):
        # Nobody reads on.
        os._exit(0)


if __name__ == "__main__":
    main()
