"""Functions as methods: they get arrays, are checked, are another cell when they were changed, and fail as cells do."""

import re

import numpy
import pytest

import congenial


def with_method(config, method):
    grid = {**config["grid"][0], "method": ["unconstrained", method]}
    return {**config, "grid": [grid]}


def test_a_function_gets_batches_and_its_releases_are_checked(tmp_path, tree):
    seen = {}

    @congenial.method(promises=["invariant"])
    def bottom_up(structure, cell):
        seen.update(structure=structure, cell=cell)
        parents = structure["parents"]

        def release(seeds, counts):
            assert seeds.dtype == numpy.uint64 and counts.dtype == numpy.float64 and len(seeds) == len(counts)
            released = counts.copy()
            released[:, parents[1:]] = 0
            for node in range(len(parents) - 1, 0, -1):
                released[:, parents[node]] += released[:, node]
            return released

        return release

    run = congenial.run(with_method(tree, bottom_up), tmp_path / "run", progress=False)
    assert len(run.cells) == 4 and not run.failures
    structure, cell = seen["structure"], seen["cell"]
    assert structure["kind"] == "tree" and structure["counts"] == 10 and structure["levels"].tolist() == [0, 1, 4, 10]
    assert cell["law"] == "double-geometric" and cell["epsilon"] in (0.5, 1.0) and len(cell["variances"]) == 10
    with pytest.raises(ValueError):
        structure["parents"][0] = 1
    # Leaves are released as they are given: the noise is shared.
    errors = {cell: numpy.zeros((20, 3)) for cell in run.cells["cell"]}
    for cell, level, replicate, l1 in zip(*(run.errors[name] for name in ["cell", "level", "replicate", "l1"])):
        errors[cell][replicate, level - 1] = l1
    free, ours = [errors[cell] for cell in run.cells["cell"]][:2]
    assert (free[:, 2] == ours[:, 2]).all() and (free[:, 0] != ours[:, 0]).any()
    assert congenial.verify(with_method(tree, bottom_up), progress=False)


def test_tables_and_options(tmp_path, table):
    seen = []

    @congenial.method(name="clip", version="1")
    def clips(structure, cell):
        seen.append((structure, cell["floor"], cell["word"]))
        return lambda seeds, counts: numpy.maximum(counts, cell["floor"])

    method = {"kind": "external", "name": "clip", "floor": [0, 1], "word": "x"}
    run = congenial.run(with_method({**table, "keep-draws": False}, method), tmp_path / "run", progress=False)
    assert len(run.cells) == 3 and {(floor, word) for _, floor, word in seen} == {(0, "x"), (1, "x")}
    equations = seen[0][0]["equations"]
    assert equations["begins"].tolist() == [0, 2, 4, 6, 9, 12] and equations["values"].tolist() == [6, 15, 11, 21, 11]
    assert set(equations["coefficients"]) == {1} and seen[0][0]["inequalities"]["values"].tolist() == []


def test_a_method_that_was_changed_is_another_cell(tree):
    def keys(floor, version=""):
        # Each as a cell of a notebook would have it.
        source = f"def clip(structure, cell):\n    return lambda seeds, counts: counts.clip({floor})\n"
        space = {}
        exec(source, space)
        congenial.method(version=version)(space["clip"])
        return [cell["cell"] for cell in congenial.plan(with_method(tree, space["clip"])).cells][1::2]

    assert keys(0) == keys(0) and keys(0) != keys(1) and keys(0) != keys(0, "2")


def test_a_function_that_is_registered_again_is_the_one_that_is_called(tmp_path, tree):
    def make(add):
        @congenial.method
        def adds(structure, cell):
            return lambda seeds, counts: counts + add

        return adds

    tree["replicates"] = 2
    first, second = (congenial.run(with_method(tree, make(add)), tmp_path / str(add), progress=False) for add in (0, 1000))
    bias = lambda run: run.errors["bias"][6]
    assert first.cells["cell"] == second.cells["cell"] and bias(second) - bias(first) == 1000


def test_a_mechanism_says_what_it_pays(tmp_path, tree):
    @congenial.method(promises=["mechanism", "integers"])
    def blur(structure, cell):
        def release(seeds, counts):
            noise = [numpy.random.default_rng(seed).integers(-1, 2, structure["counts"]) for seed in seeds]
            return counts + noise

        return release, {"added": 3.5, "delta": 0.1}

    plan = congenial.plan(with_method(tree, blur))
    assert "3.5" in str(plan)
    run = congenial.run(with_method(tree, blur), tmp_path / "run", progress=False)
    assert run.errors["l1"][-30:].max() <= 6


@pytest.mark.parametrize(
    "release, message",
    [
        (lambda seeds, counts: 1 / 0, r"method `bad`, line \d+: ZeroDivisionError: division by zero"),
        (lambda seeds, counts: counts[:, 1:], r"method `bad`: it released an array of shape \(20, 9\), want \(20, 10\)"),
        (lambda seeds, counts: counts * numpy.nan, "it released NaN as count 1"),
        (lambda seeds, counts: "text", "what it released: got an array of <U4, want numbers"),
        (lambda seeds, counts: None, "what it released: got an array of object, want numbers"),
        (lambda seeds, counts: counts - 0.25, "the release violates its invariant"),
    ],
)
def test_what_goes_wrong_is_the_error_of_the_cell(tmp_path, tree, release, message):
    bad = congenial.method(lambda structure, cell: release, name="bad", promises=["invariant"])
    with pytest.raises(congenial.CellsFailed, match="2 of 4 cells failed; the first: bad") as caught:
        congenial.run(with_method(tree, bad), tmp_path / "run", progress=False)
    failed = caught.value
    assert failed.exit_code == 5 and len(failed.run.failures) == 2
    assert re.search(message, str(failed)), str(failed)
    # The others went on.
    assert len(failed.run.errors) == 2 * 20 * 3
    allowed = congenial.run(with_method(tree, bad), tmp_path / "run", allow_failed=True, progress=False)
    assert allowed.manifest["failed_cells"] == 2
    with pytest.raises(congenial.CellsFailed, match="1 of 4 cells failed"):
        congenial.run(with_method(tree, bad), tmp_path / "fast", fail_fast=True, progress=False)


def test_what_a_cell_is_refused_for_is_said_before_a_run(tmp_path, tree):
    @congenial.method
    def refuses(structure, cell):
        raise ValueError("it serves tables")

    with pytest.raises(congenial.ConfigError, match=r"method `refuses`, line \d+: ValueError: it serves tables"):
        congenial.run(with_method(tree, refuses), tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists() and not (tmp_path / "run.partial").exists()
    nothing = congenial.method(lambda structure, cell: None, name="nothing")
    with pytest.raises(congenial.ConfigError, match="it returned NoneType for a cell, want a function release"):
        congenial.plan(with_method(tree, nothing))
    with pytest.raises(congenial.ConfigError, match="it promises `order`, want integers, invariant"):
        congenial.method(lambda structure, cell: None, name="x", promises="order")
    with pytest.raises(congenial.ConfigError, match="got the name `a b`, want a name without blanks"):
        congenial.method(lambda structure, cell: None, name="a b")
    with pytest.raises(congenial.ConfigError, match="got `unknown`"):
        congenial.plan(with_method(tree, {"kind": "external", "name": "unknown"}))
