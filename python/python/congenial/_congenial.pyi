"""The native part of `congenial`."""

import os
from collections.abc import Iterator
from typing import Any, Final, final, overload

import numpy
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Error", "ConfigError", "CellsFailed", "Table", "Invariant", "Law", "Likelihood", "exact", "project", "main",
    "supervise", "register", "released", "make", "open_run", "draws", "node_draws", "release",
    "framed", "figures", "inferred", "judge", "cells_failed", "wrong", "plan", "verify_methods", "audit_methods",
    "optimise_splits", "tell",
    "compare_runs", "__version__",
]

__version__: Final[str]

class Error(Exception):
    """What stops a call. `exit_code` is the one with which the command line would end."""

    exit_code: int

class ConfigError(Error):
    """Something in a config, an argument, a data file or a folder."""

class CellsFailed(Error):
    """A run went through, but some of its cells failed. `run` is the run."""

    run: Any

@final
class Table:
    """A table of a run. Its file is read when its rows are asked for, and not kept.

    `table[column]` is a column, a loop over the table goes through rows as dicts, `len(table)` is how many rows there are. polars and
    pyarrow take it by the Arrow PyCapsule interface, `pandas.DataFrame` by its rows; `to_pandas` is faster, and keeps columns of a table
    without rows.
    """

    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, column: str, /) -> Any: ...
    def __iter__(self) -> Iterator[dict[str, Any]]: ...
    def head(self, rows: int = 10) -> Table: ...
    def to_pydict(self) -> dict[str, list[Any]]: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_arrow(self) -> Any: ...
    def _repr_html_(self) -> str: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@final
class Invariant:
    """Equations, and inequalities, that tie counts together; with the confidential counts where they are given.

    Numbers are finite and at most 2^53 in size, whatever their type; counts of a table sum up to at most 2^53. Refused (`ConfigError`): what is no array of
    numbers, an array with a mask. `MemoryError`: what would take more memory than is left, before it is asked for.
    """

    @staticmethod
    def total(entries: int, counts: ArrayLike | None = None) -> Invariant: ...
    @staticmethod
    def margins(rows: int, columns: int, counts: ArrayLike | None = None) -> Invariant: ...
    @staticmethod
    def matrix(a: ArrayLike, counts: ArrayLike | None = None) -> Invariant: ...
    @staticmethod
    def hierarchy(parents: ArrayLike, counts: ArrayLike | None = None) -> Invariant: ...
    @staticmethod
    def from_frame(
        frame: Any,
        *,
        count: str,
        levels: list[str] | None = None,
        invariants: list[dict[str, Any]] | None = None,
        **options: Any,
    ) -> Invariant: ...
    def nonnegative(self) -> Invariant: ...
    def holds(self, values: ArrayLike) -> NDArray[numpy.bool_]: ...
    @property
    def kind(self) -> str: ...
    @property
    def counts(self) -> NDArray[numpy.int64] | None: ...
    @property
    def parents(self) -> NDArray[numpy.int64] | None: ...
    @property
    def names(self) -> list[str] | None: ...
    def __and__(self, other: Invariant, /) -> Invariant: ...
    def __rand__(self, other: Invariant, /) -> Invariant: ...
    def __len__(self) -> int: ...

@final
class Law:
    """A noise law with its scale, or the budget that gives it."""

    def __new__(
        cls,
        name: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        sensitivity: float = 1.0,
        split: str = "each",
        scale: ArrayLike | None = None,
    ) -> Law: ...
    @property
    def name(self) -> str: ...

@final
class Likelihood:
    """The likelihood of a noisy file at means of the leaves' counts: for models of one's own, by PyMC, Stan or scipy.

    Counts are independent, Poisson or, with a size, negative binomial (variance `mean + mean²/size`); they are summed out, exactly. Known counts are
    part of what is released. The constant of the noise is left out. Refused (`ConfigError`): releases that were conditioned on >= 0 or
    processed; means and a size that are no numbers > 0.
    """

    def __new__(cls, file: str | os.PathLike[str], levels: list[str] | None = None) -> Likelihood: ...
    @property
    def levels(self) -> list[str]:
        """The columns of the keys of a leaf, the highest level first."""

    @property
    def leaves(self) -> list[tuple[str, ...]]:
        """The keys of every leaf, in the order of means."""

    @overload
    def __call__(self, means: ArrayLike, size: None = None) -> tuple[float, NDArray[numpy.float64]]: ...
    @overload
    def __call__(self, means: ArrayLike, size: float) -> tuple[float, NDArray[numpy.float64], float]: ...

def exact(
    invariant: Invariant,
    law: Law,
    size: int | None = None,
    seed: int | None = None,
    *,
    threads: int | None = None,
) -> NDArray[Any]:
    """Draws the noise given the invariant, exactly. What is returned keeps it, or an `Error` is raised; `MemoryError` where the rows do not fit into memory."""

def project(
    invariant: Invariant,
    noisy: ArrayLike,
    kind: str = "l2",
    *,
    seed: int | None = None,
    variances: ArrayLike | None = None,
    beta: float | None = None,
    threads: int | None = None,
) -> NDArray[Any]:
    """Moves noisy counts to the closest that keep the invariant. What is returned keeps it, or an `Error` is raised.

    `variances`: of the noise by level of a tree, for `l2` and `bluedown`; `beta`: of `l1`, by default 0.5. Other kinds refuse them. Refused are numbers beyond
    2^53 in size, that are not finite or masked, and rows whose absolute values sum up to more than 2^60.
    """

def main(arguments: list[str]) -> int: ...
def supervise(program: list[str]) -> None: ...
def register(name: str, identity: str, promises: list[str], function: Any) -> None: ...
def released(given: Any, replicates: int, counts: int) -> NDArray[numpy.float64]: ...
def make(
    config: Any,
    out: str | os.PathLike[str] | None,
    threads: int | None,
    sets: dict[str, Any] | None,
    resume: bool,
    retry_failed: bool,
    fail_fast: bool,
    progress: bool,
) -> str: ...
def open_run(folder: str | os.PathLike[str]) -> tuple[str, list[tuple[str, Table]]]: ...
def draws(folder: str | os.PathLike[str], cells: list[str], front: bool, released: bool) -> Table: ...
def node_draws(folder: str | os.PathLike[str]) -> Table: ...
def release(folder: str | os.PathLike[str], cell: str, replicate: int, level: str | None) -> Table: ...
def framed(folder: str | os.PathLike[str], change: str | None, by_seed: bool) -> Table: ...
def figures(folders: list[Any], by_seed: bool) -> list[tuple[str, str, str, str]]: ...
def inferred(
    file: str | os.PathLike[str],
    levels: list[str],
    invariants: str | os.PathLike[str] | None,
    tables: str | os.PathLike[str] | None,
    queries: str | os.PathLike[str] | None,
    ratios: list[str],
    level: float,
    prior: str | None,
    leaves: str | os.PathLike[str] | None,
    bounds: tuple[str | None, str | None] | None,
    model: tuple[str, list[str], str | None] | None,
    draws: int,
    bands: bool,
    seed: int,
) -> tuple[Table, bool, str, Table | None, Table | None, tuple[NDArray[numpy.int64], list[tuple[str, str]]] | None]: ...
def judge(folder: str | os.PathLike[str]) -> tuple[list[tuple[str, str]], list[str]]: ...
def cells_failed(failures: list[tuple[str, str]], failed: int, cells: int) -> CellsFailed: ...
def wrong(text: str) -> ConfigError: ...
def plan(config: Any, sets: dict[str, Any] | None) -> str: ...
def verify_methods(
    config: Any,
    sets: dict[str, Any] | None,
    threads: int | None,
    progress: bool,
) -> list[tuple[list[tuple[str, str]], bool, str | None]]: ...
def audit_methods(
    config: Any,
    sets: dict[str, Any] | None,
    draws: int | None,
    level: float | None,
    all: bool,
    threads: int | None,
    progress: bool,
    width: int,
) -> tuple[str, str, bool]: ...
def optimise_splits(config: Any, sets: dict[str, Any] | None, goal: str, width: int) -> tuple[str, str]: ...
def tell(folders: list[Any], format: str, full: bool, by_seed: bool, width: int) -> str: ...
def compare_runs(
    base: str | os.PathLike[str],
    candidate: str | os.PathLike[str],
    margin: float | None,
    level: float | None,
    width: int,
) -> tuple[str, str, int, bool]: ...
