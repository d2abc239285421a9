"""Whatever is handed to a public function, the process goes on: the call returns, or raises what is said below. The calls are made in processes of their own."""

import json
import subprocess
import sys

import pytest

# What is called with hostile values, one argument after the other: an expression with X for the value.
CALLS = {
    "invariants": [
        "I.total(X)",
        "I.total(3, counts=X)",
        "I.margins(X, 2)",
        "I.margins(2, X)",
        "I.margins(2, 2, counts=X)",
        "I.matrix(X)",
        "I.matrix([[1, 1]], counts=X)",
        "I.matrix([X, X])",
        "I.hierarchy(X)",
        "I.hierarchy([0, 0, 0], counts=X)",
        "I.from_frame(X, count='count', levels=['a'])",
        "I.from_frame({'a': ['x', 'y'], 'count': X}, count='count', levels=['a'])",
        "I.from_frame({'a': X, 'count': [1, 2]}, count='count', levels=['a'])",
        "I.from_frame(FRAME, count=X, levels=['a'])",
        "I.from_frame(FRAME, count='count', levels=X)",
        "I.from_frame(FRAME, count='count', entry=['a'], invariants=X)",
        "I.from_frame(FRAME, count='count', entry=['a'], invariants=[{'kind': X}])",
        "I.from_frame(FRAME, count='count', levels=['a'], root=X)",
        "I.total(3) & X",
        "I.total(3, counts=[1, 2, 3]).holds(X)",
        "I.total(3, counts=[1, 2, 3]).holds([X, X])",
        "TREE.holds(X)",
    ],
    "draws": [
        "g.exact(X, dg)",
        "g.exact(I.total(3), X)",
        "g.exact(I.total(3), dg, X)",
        "g.exact(I.total(3), dg, 2, X)",
        "g.exact(I.total(3), dg, 2, 1, threads=X)",
        *[f"draw({key}=X)" for key in ["epsilon", "delta", "sensitivity", "split", "scale"]],
        "draw(name=X, epsilon=1)",
        "draw(name='gaussian', scale=X)",
        "draw(name='double-geometric', scale=X)",
        "draw(name='gaussian', epsilon=1, delta=X)",
        "g.exact(I.hierarchy([0, 0, 0]), L('laplace', scale=[X, X]), 2)",
        "g.project(X, [1, 2, 3])",
        *[f"g.project(TABLE, X, {kind!r})" for kind in ["l2", "l1", "l2-then-integer-l1"]],
        *[f"g.project(TABLE.nonnegative(), X, {kind!r})" for kind in ["nnl2", "nnl2-then-integer-l1"]],
        *[f"g.project(TREE, X, {kind!r})" for kind in ["l2", "topdown", "bluedown"]],
        "g.project(TABLE, [[X, 1, 2]], 'l2-then-integer-l1')",
        "g.project(TABLE, [X, X])",
        "g.project(TABLE, [1, 2, 3], X)",
        "g.project(TREE, [1, 2, 3], seed=X)",
        "g.project(TREE, [1, 2, 3], threads=X)",
        "g.project(TREE, [1, 2, 3], variances=X)",
        "g.project(TREE, [1, 2, 3], 'bluedown', variances=[X, X])",
        "g.project(TABLE, [1, 2, 3], 'l1', beta=X)",
    ],
    "configs": [
        "g.plan(X)",
        "g.plan(CONFIG, sets=X)",
        "g.plan(CONFIG, sets={'grid.epsilon': X})",
        "g.plan(CONFIG, sets={X: 1})",
        *[f"g.plan({{**CONFIG, {key!r}: X}})" for key in ["name", "seed", "replicates", "data", "grid", "invariant", "other"]],
        *[f"g.plan({{**CONFIG, 'data': {{**CONFIG['data'], {key!r}: X}}}})" for key in ["table", "count", "levels", "where"]],
        "g.plan({**CONFIG, 'data': {**CONFIG['data'], 'table': {**FRAME, 'count': X}}})",
        *[f"g.plan({{**CONFIG, 'grid': [{{**CONFIG['grid'][0], {key!r}: X}}]}})" for key in ["epsilon", "law", "method", "other"]],
        "g.plan({**CONFIG, 'grid': [{**CONFIG['grid'][0], 'method': [{'kind': 'external', 'command': X}]}]})",
        "g.plan({**CONFIG, 'grid': [{**CONFIG['grid'][0], 'method': [{'kind': 'external', 'command': ['true'], 'timeout': X}]}]})",
        "g.plan({X: 1})",
        "g.audit(X, progress=False)",
        "g.audit(CONFIG, draws=X, progress=False)",
        "g.audit(CONFIG, draws=200, level=X, progress=False)",
        "g.optimise(X)",
        "g.optimise(CONFIG, X)",
        "g.verify(X, progress=False)",
        "g.verify(CONFIG, sets=X, progress=False)",
        "g.verify(CONFIG, threads=X, progress=False)",
        "g.run(X, 'out', progress=False)",
        "g.run({**CONFIG, 'seed': X}, 'out', progress=False)",
        "g.run(CONFIG, 'out', sets=X, progress=False)",
        "g.run(CONFIG, 'out', threads=X, progress=False)",
        "g.run(CONFIG, X, progress=False)",
    ],
    "runs": [
        "g.open(X)",
        "g.report(X)",
        "g.report('made', format=X)",
        "g.compare(X, 'made')",
        "g.compare('made', X)",
        "g.compare('made', 'made', margin=X)",
        "g.compare('made', 'made', level=X)",
        "RUN[X]",
        "RUN.table(X)",
        "RUN.cells[X]",
        "RUN.draws(X)",
        "RUN.cells.__arrow_c_stream__(X)",
        "g.method(X)",
        "g.method(f, name=X)",
        "g.method(f, promises=X)",
        "g.method(f, version=X)",
        "run_of(lambda structure, cell: X)",
        "run_of(lambda structure, cell: lambda seeds, counts: X)",
        "run_of(lambda structure, cell: (lambda seeds, counts: counts, X))",
        "run_of(lambda structure, cell: (lambda seeds, counts: counts, {'added': X}))",
    ],
}

CHILD = r'''
import itertools, json, resource, shutil, sys, warnings
import numpy as np
import congenial as g

warnings.simplefilter("ignore")
# What asks for more is refused by the kernel: an allocation that nobody has checked ends the process.
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
I, L = g.Invariant, g.Law
dg = L("double-geometric", epsilon=1.0)
FRAME = {"a": ["x", "y"], "count": [1, 2]}
TREE = I.hierarchy([0, 0, 0], counts=[3, 1, 2])
TABLE = I.total(3, counts=[1, 2, 3])
CONFIG = {
    "name": "m", "seed": 1, "replicates": 3,
    "data": {"table": FRAME, "count": "count", "levels": ["a"]},
    "grid": [{"epsilon": [0.5], "law": "double-geometric", "method": ["exact"]}],
}
RUN = g.run(CONFIG, "made", progress=False)


def f(structure, cell):
    return lambda seeds, counts: counts


def draw(name="laplace", **more):
    return g.exact(I.total(3), L(name, **more), 2)


def run_of(function):
    function = g.method(name="hostile")(function)
    return g.run({**CONFIG, "grid": [{**CONFIG["grid"][0], "method": [function]}]}, "out", progress=False)


def deep(made, n=100_000):
    inner = made(None)
    for _ in range(n):
        inner = made(inner)
    return inner


class Evil:
    "Whatever it is asked for, it is another of itself, or raises."
    __array_interface__ = property(lambda self: 1 / 0)
    def __len__(self): return 2**62
    def __getitem__(self, key): return Evil()
    def __iter__(self): raise KeyError("x")
    def __float__(self): raise KeyError("x")
    def __index__(self): raise KeyError("x")
    def __str__(self): raise KeyError("x")
    __repr__ = __str__
    def tolist(self): return Evil()
    def to_dict(self, *_): return Evil()
    def __arrow_c_stream__(self, *_): return Evil()
    def __call__(self, *_): return Evil()


def cyclic_list():
    made = []
    made.append(made)
    return made


def cyclic_dict():
    made = {}
    made["a"] = made
    return made


VALUES = [
    -1, 0, 2**31, 2**53 + 1, 2**63, 2**64, 2**70, -(2**63), 10**400, True, None,
    0.5, 5e-324, 1e19, 1e50, 1e308, float("nan"), float("inf"), -float("inf"), 1j,
    "", "x", "x" * 10**5, "\udcff", "a\0b", b"x", object(), int, Evil(),
    [], {}, set(), (), [[]], [{}], iter([1]), range(3), range(2**40), [range(2**40)] * 2, [1, [2]], [[1, 2], [3]],
    deep(lambda x: [x]), deep(lambda x: {"a": x}), deep(lambda x: (x,)), cyclic_list(), cyclic_dict(),
    [2**62] * 3, [2**70, 1, 1], [1e19, 1, 1], [1e308] * 3, [-1e308, 1e308, 0], [float("nan")] * 3, [float("inf"), 0, 0],
    np.array(3), np.zeros((2, 2, 2)), np.zeros((0, 3)), np.zeros((2, 0)), np.int64(-(2**63)), np.uint64(2**64 - 1), np.float64(1e300),
    np.array([2**64 - 1, 1, 1], np.uint64), np.array([[2**64 - 1, 1, 1]], np.uint64), np.array([-(2**63)] * 3), np.array([1, 2, 3], np.longdouble) * np.longdouble(2) ** 2000,
    np.array([np.inf, 1, 1], np.float16), np.ma.array([1.0, 2, 3], mask=[1, 0, 0]), np.ma.array([[1, 2, 3]], mask=[[1, 0, 0]]), np.ma.masked, [np.ma.masked, 1, 2],
    np.array([1, "a", None], object), np.array(["1", "2", "3"]), np.array([1j, 2, 3]), np.array(["2020-01-01"] * 3, "datetime64[D]"), np.zeros(3, [("a", "i8")]),
    np.broadcast_to(np.int64(1), (2**40,)), np.broadcast_to(1.0, (2**20, 2**20)), np.broadcast_to(np.int8(1), (2**38, 3)), np.arange(6.0).reshape(2, 3)[::-1, ::-1],
]
# Not by the caller's own code, which raises what it likes.
ALLOWED = (TypeError, ValueError, OverflowError, MemoryError, g.Error)

found = []
for call in json.loads(sys.argv[1]):
    code = compile(call, call, "eval")
    for number, value in enumerate(VALUES):
        # What was started last is known if the process does not end well.
        print(call, number, file=sys.stderr, flush=True)
        shutil.rmtree("out", ignore_errors=True)
        shutil.rmtree("out.partial", ignore_errors=True)
        try:
            eval(code, {**globals(), "X": value})
        except ALLOWED as error:
            try:
                text = str(error)
            except Exception:
                text = ""
            if "bug of congenial" in text or "panicked" in text or len(text) > 10_000:
                found.append((call, number, text[:500]))
        except BaseException as error:
            theirs = isinstance(error, KeyError) and isinstance(value, Evil)
            if not theirs:
                found.append((call, number, type(error).__name__ + ": " + repr(error)[:500]))
json.dump(found, sys.stdout)
'''


@pytest.mark.parametrize("part", CALLS)
def test_hostile_values_end_no_process(part, tmp_path):
    done = subprocess.run([sys.executable, "-c", CHILD, json.dumps(CALLS[part])], capture_output=True, text=True, cwd=tmp_path, timeout=900)
    last = done.stderr.strip().splitlines()[-3:]
    assert done.returncode == 0, (done.returncode, last)
    found = json.loads(done.stdout)
    assert not found, "\n".join(map(str, found))
