"""Differentially private releases that satisfy invariants, from Python.

`run` makes a run of a config, a file or a dict, and returns it as a `Run`; its tables speak the Arrow PyCapsule interface, so that polars,
pandas and pyarrow take them as they are; `Run.frame` is a run in one table. `exact` and `project` draw and move noise on arrays of numpy.
`method` makes a function a method for configs.

Noise here is seeded and in floating point: for experiments, not for releasing real data. For that the command `congenial release` is being built.
"""

from __future__ import annotations

import hashlib
import html
import importlib
import inspect
import itertools
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, Union

from . import _congenial
from ._congenial import CellsFailed, ConfigError, Error, Invariant, Law, Likelihood, Table, __version__, exact, project

__all__ = [
    "Audit",
    "CellsFailed",
    "Comparison",
    "ConfigError",
    "Draws",
    "Error",
    "Figure",
    "Inferred",
    "Invariant",
    "Law",
    "Likelihood",
    "Optimised",
    "Plan",
    "Run",
    "Table",
    "Verified",
    "__version__",
    "audit",
    "compare",
    "exact",
    "infer",
    "method",
    "open",
    "optimise",
    "plan",
    "project",
    "report",
    "run",
    "verify",
]

_Path = Union[str, "os.PathLike[str]"]
_Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]
_Function = TypeVar("_Function", bound=Callable[..., Any])

# Columns of text.
_WIDTH = 120


# Programs of methods end with this process. An interpreter that is a part of another program cannot start itself.
if os.path.basename(sys.executable or "").startswith("python"):
    _congenial.supervise([sys.executable, str(Path(__file__).with_name("__main__.py"))])


def _shown(progress: bool | None) -> bool:
    """Whether progress is shown: where somebody looks, unless the caller says."""
    if progress is not None:
        return progress
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


def _arviz() -> Any:
    # Named so, it needs no stubs.
    try:
        return importlib.import_module("arviz")
    except ImportError as error:
        raise ImportError("to_arviz: ArviZ is not installed (`pip install arviz`)") from error


def _inference_data(arviz: Any, posterior: dict[str, Any], **more: Any) -> Any:
    """Chains by draws as the group `posterior`, by the one or the other interface of ArviZ."""
    if "posterior" in inspect.signature(arviz.from_dict).parameters:
        return arviz.from_dict(posterior=posterior, **more)
    return arviz.from_dict({"posterior": posterior}, **more)


def _given(config: _Config) -> Any:
    return dict(config) if isinstance(config, Mapping) else config


class Inferred:
    """What a release says of the counts: `intervals` (a table with a row for every node and district), whether they hold with at least
    their chance whatever the counts are (`guaranteed`), and the `page` that tells of them. Where it was asked for: `model`, a table with a
    row for every coefficient; `ratios`, a table with a row for every ratio; and `draws` of the posterior, an array of draws by nodes, in the
    order of `intervals`."""

    def __init__(
        self,
        intervals: Table,
        guaranteed: bool,
        page: str,
        model: Table | None = None,
        ratios: Table | None = None,
        kept: Any = None,
    ) -> None:
        self.intervals = intervals
        self.guaranteed = guaranteed
        self.page = page
        self.model = model
        self.ratios = ratios
        self.draws: Any = None if kept is None else kept[0]
        self._nodes: list[tuple[str, str]] = [] if kept is None else kept[1]

    def to_arviz(self) -> Any:
        """The draws of the posterior for ArviZ: one chain of independent draws, in the group `posterior`. A variable for each level, with the
        keys of its nodes as coordinates; `total` for the root.

        Errors: no draws (`congenial.infer(..., prior=..., draws=1000)` keeps them); ArviZ is not installed (an `ImportError`).
        """
        if self.draws is None:
            raise _congenial.wrong("to_arviz: no draws were kept, want `draws` with a prior in `infer`")
        arviz = _arviz()
        posterior: dict[str, Any] = {}
        coords: dict[str, list[str]] = {}
        dims: dict[str, list[str]] = {}
        for level in dict.fromkeys(level for level, _ in self._nodes):
            places = [place for place, (of, _) in enumerate(self._nodes) if of == level]
            values = self.draws[None, :, places]
            if places == [0]:
                posterior[level] = values[:, :, 0]
            else:
                # A dimension may not have the name of a variable.
                coordinate = f"{level}_keys"
                posterior[level], dims[level] = values, [coordinate]
                coords[coordinate] = [self._nodes[place][1] for place in places]
        return _inference_data(arviz, posterior, coords=coords, dims=dims)

    def __str__(self) -> str:
        return self.page


def infer(
    file: _Path,
    queries: _Path | None = None,
    *,
    ratios: Iterable[str | tuple[str, str]] = (),
    level: float = 0.9,
    prior: str | None = None,
    leaves: _Path | None = None,
    bounds: tuple[str | None, str | None] | None = None,
    model: str | None = None,
    covariates: Iterable[str] = (),
    offset: str | None = None,
    draws: int = 0,
    bands: bool = False,
    levels: Iterable[str] = (),
    invariants: _Path | None = None,
    tables: _Path | None = None,
    seed: int = 1,
) -> Inferred:
    """Intervals of nodes and districts, of entries and queries of a table, or of answers in areas, from a noisy file, as `congenial infer`
    has them.

    `queries`: a table of districts or queries. `ratios`: pairs of their names, or `"NAME/NAME"`, of each of which an interval of the ratio is
    given. `level`: what an interval holds at least. `prior`: intervals of the posterior, with `flat`,
    `nonnegative`, `poisson`, `poisson:MEAN`, `negative-binomial` or `negative-binomial:MEAN,SIZE` for every leaf; a mean is a number or a
    column of `leaves`. `leaves`: a table with the keys of every leaf, and numbers. `bounds`: two columns of it between which counts are, under
    a prior; None for no end. `model`: `poisson` or `negative-binomial` counts of the leaves, whose log mean is a linear function of the
    `covariates`, with the logarithm of `offset` added: columns of `leaves`. `draws`: how many draws of the posterior are kept, for
    `to_arviz`. `bands`: also those that hold for all counts of a level at once. `levels`: the columns of the levels or keys, if not all columns
    without a meaning. `invariants`: a file with the `[[invariant]]` blocks of a table that carries none. `tables`: a file that
    says what the tables of attributes of areas are, where the noisy file does not. `seed`: of draws, where there are any.
    """
    covariates = list(covariates)
    if model is None and (covariates or offset is not None):
        raise _congenial.wrong("infer: covariates and offset are those of a model, want `model`, too")
    asked = None if model is None else (model, covariates, offset)
    names = [ratio if isinstance(ratio, str) else "/".join(ratio) for ratio in ratios]
    return Inferred(
        *_congenial.inferred(
            file, list(levels), invariants, tables, queries, names, level, prior, leaves, bounds, asked, draws, bands, seed
        )
    )


class Figure:
    """A figure of a report: `name`, `title`, `about` (what is seen in it) and the picture as `svg`. Notebooks show the picture."""

    def __init__(self, name: str, title: str, about: str, svg: str) -> None:
        self.name = name
        self.title = title
        self.about = about
        self.svg = svg

    def save(self, path: _Path) -> None:
        """Writes the picture into a file, as SVG."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Figure {self.name}: {self.title}>"


class Draws:
    """The draws of a run with `keep-draws`: by itself those of all cells, with the cell in front; called with a cell, those of one.

    Of a table the columns are `.chain`, `.iteration`, `.draw` and the error of every entry, or where `released` is asked for what is
    released there; of a tree there is a row for every cell, replicate and node, with `error` and `released`.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def cells(self) -> list[str]:
        """The cells of a table of counts that have draws, in the order of the config."""
        return self._run._cells_with_draws()

    def __call__(self, cell: str | None = None, *, released: bool = False) -> Table:
        """The draws of one cell, or of all; `released`: of a table what is released in the place of the error.

        Of a tree always of all, with both: its table has the column `cell`.
        """
        run, cells = self._run, self.cells()
        if not cells and "node_draws" in run.tables:
            if cell is not None:
                raise _congenial.wrong("draws: those of a tree are one table, with a column `cell`: want no cell")
            return _congenial.node_draws(run.folder)
        if not cells:
            raise _congenial.wrong(f"{run.folder}: it has no draws; they are kept with `keep-draws = true` in the config")
        if cell is None:
            return _congenial.draws(run.folder, cells, True, released)
        if cell not in cells:
            raise _congenial.wrong(f"draws: got the cell `{cell}`, want one of {', '.join(cells)}")
        return _congenial.draws(run.folder, [cell], False, released)

    @property
    def columns(self) -> list[str]:
        """The names of the columns of all draws."""
        return self().columns

    def __len__(self) -> int:
        return len(self())

    def __getitem__(self, column: str) -> Any:
        return self()[column]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self())

    def head(self, rows: int = 10) -> Table:
        """The first rows, as a table in memory."""
        return self().head(rows)

    def to_pydict(self) -> dict[str, list[Any]]:
        """All columns as lists."""
        return self().to_pydict()

    def to_pandas(self) -> Any:
        """All draws as a frame of pandas. Errors: an `ImportError` without pandas."""
        return self().to_pandas()

    def to_polars(self) -> Any:
        """All draws as a frame of polars. Errors: an `ImportError` without polars."""
        return self().to_polars()

    def to_arrow(self) -> Any:
        """All draws as a table of pyarrow. Errors: an `ImportError` without pyarrow."""
        return self().to_arrow()

    def __arrow_c_schema__(self) -> Any:
        return self().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return self()._repr_html_()

    def __repr__(self) -> str:
        return f"<Draws of {self._run.name}: {len(self.cells())} cells>"


class Run:
    """A finished run.

    `folder` is its folder, `manifest` what made it, `tables` all its tables by name. A table is read when its rows are asked for.
    """

    def __init__(self, folder: _Path) -> None:
        """Opens a folder. Every file is compared with what the manifest says of it.

        Errors: no run there, one of another version, a damaged file.
        """
        manifest, tables = _congenial.open_run(os.fspath(folder))
        self.folder: Path = Path(folder)
        self.manifest: dict[str, Any] = json.loads(manifest)
        self.tables: dict[str, Table] = dict(tables)

    @property
    def name(self) -> str:
        """The name in its config."""
        return str(self.manifest["name"])

    @property
    def study(self) -> str:
        """The kind of study."""
        return str(self.manifest["study"])

    def table(self, name: str) -> Table:
        """A table, by its name or that of its file. Errors: there is none."""
        if not isinstance(name, str):
            raise TypeError(f"table: got {type(name).__name__}, want the name of a table")
        short = name.removesuffix(".parquet")
        if short not in self.tables:
            have = ", ".join(self.tables)
            raise _congenial.wrong(f"{self.folder}: a run of the study `{self.study}` has no table `{short}`; it has {have}")
        return self.tables[short]

    def __getitem__(self, name: str) -> Table:
        return self.table(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    @property
    def cells(self) -> Table:
        """A row for each cell."""
        return self.table("cells")

    @property
    def errors(self) -> Table:
        """A row for each cell, replicate and level of a study of releases."""
        return self.table("errors")

    @property
    def chains(self) -> Table:
        """A row for each chain and level."""
        return self.table("chains")

    @property
    def meetings(self) -> Table:
        """A row for each coupled pair of a study of meetings."""
        return self.table("meetings")

    @property
    def privacy(self) -> Table:
        """What was found by a study of privacy; of another study of a grid what releases pay, three rows for each cell."""
        return self.table("privacy" if "privacy" in self.tables or "statements" not in self.tables else "statements")

    @property
    def draws(self) -> Draws:
        """The draws, if they were kept."""
        return Draws(self)

    def frame(self, change: str | None = None, *, by_seed: bool = False) -> Table:
        """The run as one table, of a study of releases or of the frontier: a row for each cell and level, none of cells that failed.

        It has what a cell is (`data`, `seed`, `law`, `epsilon`, `label`, `method`, ...), what its releases pay (`paid`, for `change`), and
        of the level the mean absolute error of a count (`error`), `bias` and the share of counts below 0 (`negative`), each with its
        standard error (`error_se`, ...).

        `change`: for which change `paid` is: `added`, `moved` or `smallest`; by default that of the study, or the first of all that is
        possible for one of the cells. A cell has one row a level, so that means over rows are means over cells; other changes are asked
        for by another call. `by_seed`: of several master seeds the cells of each, else those of all together.

        Errors: a study of other figures, with the tables that it has; a change that is none.
        """
        return _congenial.framed(self.folder, change, by_seed)

    @property
    def figures(self) -> dict[str, Figure]:
        """The figures of its report, by name."""
        return {one[0]: Figure(*one) for one in _congenial.figures([self.folder], False)}

    def release(self, cell: str | None = None, replicate: int = 0, *, level: str | None = None) -> Table:
        """One of the kept releases as a table: a row for each count, with the columns of the data that name it, and `released`.

        `cell`: may be left out where the run has one alone. `replicate`: from 0; of a chain its last kept draw. `level`: of a tree the
        column that names the level, by default the last one that was kept. Where the config of a table names no `entry`, one column
        `entry` joins the values by `/`.

        Errors: no draws; a cell, replicate or level that was not kept; values that have `/` themselves, where that joins them in the names.
        """
        cells = self._cells_with_draws()
        if not cells and "node_draws" in self.tables:
            # Those of each seed: a cell that stands for all seeds has no rows by replicate.
            own = self.cells.to_pydict()
            several = bool(self.manifest.get("seeds"))
            cells = [key for key, seed in zip(own["cell"], own["seed"]) if not several or seed is not None]
        if not cells:
            raise _congenial.wrong(f"{self.folder}: it has no draws; they are kept with `keep-draws = true` in the config")
        if cell is None and len(cells) > 1:
            raise _congenial.wrong(f"release: {len(cells)} cells have draws, want one of {', '.join(cells)}")
        if replicate < 0:
            raise _congenial.wrong(f"release: got the replicate {replicate}, want an integer >= 0")
        return _congenial.release(self.folder, cells[0] if cell is None else cell, replicate, level)

    def _cells_with_draws(self) -> list[str]:
        if "cells" not in self.tables:
            return []
        files = self.manifest["files"]
        return [cell for cell in self.cells["cell"] if f"cells/{cell}/draws.parquet" in files]

    @property
    def failures(self) -> list[tuple[str, str]]:
        """The cells that failed, in words, with their errors."""
        return _congenial.judge(self.folder)[0]

    @property
    def warnings(self) -> list[str]:
        """What its figures are not to be trusted for."""
        return _congenial.judge(self.folder)[1]

    def report(self, format: str = "text", *, full: bool = False, by_seed: bool = False) -> str:
        """What it gave, as `congenial report` prints it: text (a summary unless it is `full`), markdown, html, latex, csv or json. Of several master seeds
        all together, or `by_seed` each by itself."""
        return _congenial.tell([self.folder], format, full, by_seed, _WIDTH)

    def to_arviz(self, cell: str | None = None) -> Any:
        """The draws of a cell for ArviZ: chains by draws of every entry, in the group `posterior`.

        `cell`: may be left out where one cell alone has draws. Errors: no draws; ArviZ is not installed (an `ImportError`).
        """
        import numpy

        arviz = _arviz()

        cells = self.draws.cells()
        if cell is None:
            if len(cells) > 1:
                raise _congenial.wrong(f"to_arviz: {len(cells)} cells have draws, want one of {', '.join(cells)}")
            if not cells:
                raise _congenial.wrong(f"{self.folder}: no table of it has draws; they are kept with `keep-draws = true` in the config")
            cell = cells[0]
        draws = self.draws(cell)
        chain = draws[".chain"]
        order = numpy.lexsort((draws[".iteration"], chain))
        lengths = numpy.unique(chain, return_counts=True)[1]
        if len(set(lengths)) > 1:
            raise _congenial.wrong(f"to_arviz: the chains of the cell `{cell}` have different lengths")
        names = [name for name in draws.columns if name not in (".chain", ".iteration", ".draw")]
        posterior = {name: draws[name][order].reshape(len(lengths), -1) for name in names}
        return _inference_data(arviz, posterior)

    def _repr_html_(self) -> str:
        head = f"{self.name}: {self.manifest['cells']} cells of the study {self.study}, {self.folder}"
        shapes = [(html.escape(name), len(table), len(table.columns)) for name, table in self.tables.items()]
        rows = ["<tr>" + "".join(f"<td>{one}</td>" for one in shape) + "</tr>\n" for shape in shapes]
        return (
            f"<div>\n<p>{html.escape(head)}</p>\n<pre>{html.escape(self.report())}</pre>\n"
            "<table>\n<thead>\n<tr><th>table</th><th>rows</th><th>columns</th></tr>\n</thead>\n"
            f"<tbody>\n{''.join(rows)}</tbody>\n</table>\n</div>"
        )

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        failed = self.manifest["failed_cells"]
        failed = f", {failed} failed" if failed else ""
        return f"<Run {self.name}: {self.manifest['cells']} cells{failed}, {self.folder}>"


def open(folder: _Path) -> Run:
    """Opens the folder of a finished run. Errors: no run there, one of another version, a damaged file."""
    return Run(folder)


def run(
    config: _Config,
    out: _Path | None = None,
    *,
    threads: int | None = None,
    sets: Mapping[str, Any] | None = None,
    resume: bool = False,
    retry_failed: bool = False,
    fail_fast: bool = False,
    allow_failed: bool = False,
    progress: bool | None = None,
) -> Run:
    """Runs the grid of a config and returns the run, with the same rows as `congenial run`.

    `config`: the path of a TOML file, or a dict with its keys; paths in a dict begin in the current folder. A method in a dict may be a function made by
    `method`. `out`: the folder of the results, by default `results/<name>-<hash>`; a run that is there is opened. `sets`: values in place of those of the
    config, by keys as `"grid.epsilon"`. `resume`: go on from what a run that was stopped has left. `retry_failed`: draw again what failed. `fail_fast`: end
    with the first cell that fails. `progress`: whether a line of it is shown; by default in a terminal and a notebook.

    Ctrl-C ends it before the next batch; what is finished stays for `resume`.

    Errors: `ConfigError` for the config, the data or a folder; `CellsFailed` with the run where cells failed, unless they are allowed; `Error`.
    """
    folder = _congenial.make(
        _given(config),
        None if out is None else os.fspath(out),
        threads,
        None if sets is None else dict(sets),
        resume,
        retry_failed,
        fail_fast,
        _shown(progress),
    )
    made = Run(folder)
    failures, doubts = _congenial.judge(folder)
    for doubt in doubts:
        warnings.warn(doubt, stacklevel=2)
    if failures and not allow_failed:
        failed = _congenial.cells_failed(failures, int(made.manifest["failed_cells"]), int(made.manifest["cells"]))
        failed.run = made
        raise failed
    return made


class Plan:
    """The cells of a config without a run: `cells` (a dict for each), `folder`, `config_hash`, `summary`; `json` has all of it."""

    def __init__(self, text: str) -> None:
        self.json: dict[str, Any] = json.loads(text)
        self._text = str(self.json.pop("text"))

    @property
    def cells(self) -> list[dict[str, Any]]:
        """What is known of every cell, with what its releases pay."""
        return list(self.json["cells"])

    @property
    def summary(self) -> str:
        """In a sentence."""
        return str(self.json["summary"])

    @property
    def config_hash(self) -> str:
        """The hash of the config as resolved."""
        return str(self.json["config_hash"])

    @property
    def folder(self) -> Path:
        """Where a run of it goes."""
        return Path(self.json["folder"])

    def __len__(self) -> int:
        return len(self.cells)

    def __str__(self) -> str:
        return self._text + self.summary

    def __repr__(self) -> str:
        return f"<Plan: {self.summary}>"


def plan(config: _Config, *, sets: Mapping[str, Any] | None = None) -> Plan:
    """Lists the cells of a config without running them. Errors: as `run`."""
    return Plan(_congenial.plan(_given(config), None if sets is None else dict(sets)))


class Verified:
    """What was found of every method of a config: `methods` (a dict of words for each), and whether nothing speaks against one of them (`ok`)."""

    def __init__(self, found: Iterable[tuple[list[tuple[str, str]], bool, str | None]]) -> None:
        self.methods: list[dict[str, Any]] = []
        self.ok = True
        for words, wrong, error in found:
            self.methods.append({**dict(words), "error": error})
            self.ok = self.ok and not wrong

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        lines = [f"{one['method']} ({one['law']}): {one['finding']}" + (f": {one['error']}" if one["error"] else "") for one in self.methods]
        return "\n".join(lines)


def verify(
    config: _Config,
    *,
    sets: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Verified:
    """Draws each method of a config briefly, and checks its invariant and its law, as `congenial verify`. Errors: as `run`; what is found is none."""
    return Verified(_congenial.verify_methods(_given(config), None if sets is None else dict(sets), threads, _shown(progress)))


class Audit:
    """What releases prove of every method of a config: `statements` (a dict for each method and kind of change), and whether none pays more than it states (`ok`)."""

    def __init__(self, text: str, json_text: str, ok: bool) -> None:
        self._text = text
        self.statements: list[dict[str, Any]] = json.loads(json_text)["audited"]
        self.ok = ok

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Audit: {len(self.statements)} statements, {'none' if self.ok else 'some'} wrong>"


def audit(
    config: _Config,
    *,
    draws: int | None = None,
    level: float | None = None,
    all: bool = False,
    sets: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Audit:
    """Proves from releases what each method of a config pays at least, beside what it states, as `congenial audit`.

    `draws`: releases of each of two tables that are judged; `level`: chance of accusing any method wrongly; `all`: every cell, else
    each method under each law at its first cell. Errors: as `run`; what is found is none.
    """
    found = _congenial.audit_methods(_given(config), None if sets is None else dict(sets), draws, level, all, threads, _shown(progress), _WIDTH)
    return Audit(*found)


class Optimised:
    """The splits of the budgets of a config with the least error: the `config` with them as TOML (`tomllib.loads` makes a dict of it that `run` takes, with `data` put in again if that was a table in memory), and `designs`, a dict for each noise."""

    def __init__(self, text: str, json_text: str) -> None:
        self._text = text
        told = json.loads(json_text)
        self.config: str = told["config"]
        self.designs: list[dict[str, Any]] = told["designs"]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Optimised: {len(self.designs)} splits>"


def optimise(config: _Config, goal: str = "mean", *, sets: Mapping[str, Any] | None = None) -> Optimised:
    """Splits each budget over levels, or of tables in areas over queries and levels, so that a squared error of the queries is least, as `congenial plan --optimise`.

    `goal`: the `mean` over the queries of the mean over their answers, or the `largest` of any answer. Errors: as `run`; data without levels, budgets that are `paid`, or tables with several noises.
    """
    return Optimised(*_congenial.optimise_splits(_given(config), None if sets is None else dict(sets), goal, _WIDTH))


class Comparison:
    """Two runs, cell by cell: `worse` (figures and cells that changed for the worse), `identical` (whether all rows are the same), and all of it as `json`."""

    def __init__(self, text: str, json_text: str, worse: int, identical: bool) -> None:
        self._text = text
        self.json: Any = json.loads(json_text)
        self.worse = worse
        self.identical = identical

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Comparison: {self.worse} worse, {'the same' if self.identical else 'other'} rows>"


def _folder(run: Run | _Path) -> Path:
    return run.folder if isinstance(run, Run) else Path(run)


def compare(base: Run | _Path, candidate: Run | _Path, *, margin: float | None = None, level: float | None = None) -> Comparison:
    """Compares two finished runs, cell by cell.

    `margin`: share of the base's mean within which a difference does not matter; `level`: chance of a wrong verdict over all figures together; by default as
    the base's config says. Errors: runs that have nothing in common; a margin or level out of range.
    """
    return Comparison(*_congenial.compare_runs(_folder(base), _folder(candidate), margin, level, _WIDTH))


def report(*runs: Run | _Path, format: str = "text", full: bool = False, by_seed: bool = False) -> str:
    """What finished runs gave together, as `congenial report` prints it: text (a summary unless it is `full`), markdown, html, latex, csv or json. Of several
    master seeds all together, or `by_seed` each by itself."""
    return _congenial.tell([_folder(one) for one in runs], format, full, by_seed, _WIDTH)


def method(
    function: Any = None,
    *,
    name: str | None = None,
    promises: Iterable[str] = (),
    version: str = "",
) -> Any:
    """Makes a function a method for configs: a decorator, with or without arguments.

    The function is called with `(structure, cell)` for every cell, and returns `release(seeds, counts)`. `structure` is a dict: of a tree `kind` = "tree",
    `counts` (how many), `parents`, `levels`; of a table `kind` = "table", `counts`, `equations` and `inequalities` with `begins`, `entries`, `coefficients`,
    `values`. `cell` has `law`, `epsilon`, `variances` (of the noise, by count) and the options of the config. `release` is called with an array of seeds
    (uint64, one for each replicate) and one of noisy counts (float64, replicates by counts), from any thread, and returns what is released in the same shape.
    A mechanism returns `release, {"added": epsilon, ...}` with what it pays, and is given confidential counts.

    `name`: by default that of the function. `promises`: of `integers`, `invariant`, `inequalities`, `nonnegative`, `mechanism`; every release is checked for
    them. The source of the function and `version` are a part of what a cell is: a method that was changed is another one. What the source does not show, as
    values of other variables, `version` has to tell.

    Errors: what is no function, a name with blanks or commas, a promise that is none. An exception of the method is the error of its cell.
    """

    def made(function: _Function) -> _Function:
        word = name if name is not None else getattr(function, "__name__", "method")
        if not callable(function):
            raise TypeError(f"method: got {type(function).__name__}, want a function of (structure, cell)")
        # There are five.
        promised = [promises] if isinstance(promises, str) else list(itertools.islice(promises, 10))
        for promise in promised:
            if not isinstance(promise, str):
                raise TypeError(f"method: got a promise of the type {type(promise).__name__}, want texts")
        text = "\0".join([_source(function), version, *sorted(promised)])
        identity = hashlib.sha256(text.encode()).hexdigest()[:8]
        _congenial.register(word, identity, promised, function)
        setattr(function, "__congenial_method__", word)
        # What a program of its own says of it.
        setattr(function, "__congenial_identity__", identity)
        setattr(function, "__congenial_promises__", tuple(promised))
        return function

    return made if function is None else made(function)


def _source(function: Any) -> str:
    """What a function does, as a text: its source, or what it was compiled to."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return repr(function) if code is None else _compiled(code)


def _compiled(code: Any) -> str:
    """What a function was compiled to, with the functions in it; no addresses."""
    constants = [_compiled(one) if inspect.iscode(one) else repr(one) for one in code.co_consts]
    return repr((code.co_code, constants, code.co_names))
