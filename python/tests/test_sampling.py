"""Exact draws and projections on arrays: they keep the invariant, have the law that they name, and depend on the seed alone."""

import math
import threading
import time

import numpy
import pytest

import congenial
from conftest import TABLE, TREE

Invariant, Law = congenial.Invariant, congenial.Law
PARENTS = [0, 0, 0, 1, 1, 2, 2, 2]
MASKED = numpy.ma.array([[1, 2]], mask=[[True, False]])
MARGINS = [{"kind": "margins", "rows": "row", "columns": "column"}]


def test_draws_keep_the_invariant_and_depend_on_the_seed_alone():
    laws = [
        Law("double-geometric", epsilon=0.5),
        Law("discrete-gaussian", epsilon=0.5, delta=1e-6),
        Law("laplace", scale=2.0),
        Law("gaussian", epsilon=0.5, delta=1e-6),
        Law("l2", scale=2),
    ]
    a = [[1, 1, 1, 0], [0, 2, 0, 1]]
    for invariant in [Invariant.total(5), Invariant.margins(2, 3), Invariant.matrix(a), Invariant.hierarchy(PARENTS)]:
        for law in laws:
            if law.name == "l2" and invariant.kind == "hierarchy" or law.name == "laplace" and len(invariant) == 6:
                continue
            noise = congenial.exact(invariant, law, 50, 7)
            assert noise.shape == (50, len(invariant)) and invariant.holds(noise).all(), (invariant, law)
            assert noise.dtype == (numpy.float64 if law.name in ("laplace", "gaussian") else numpy.int64)
            assert (noise == congenial.exact(invariant, law, 50, 7, threads=1)).all()
            assert (noise[:20] == congenial.exact(invariant, law, 20, 7)).all()
            assert (noise != congenial.exact(invariant, law, 50, 8)).any()
            assert (noise[0] == congenial.exact(invariant, law, None, 7)).all()
    assert congenial.exact(Invariant.total(3), laws[0], 0).shape == (0, 3)


def test_the_law_of_two_entries_with_a_fixed_sum():
    """Double geometric noise with ratio r, given z1 + z2 = 0, is double geometric with ratio r²: P(0) = (1 - r²) / (1 + r²)."""
    n, scale = 200_000, 1.5
    noise = congenial.exact(Invariant.total(2), Law("double-geometric", scale=scale), n, 3)
    r = math.exp(-2 / scale)
    p = (1 - r) / (1 + r)
    for value in range(4):
        wanted = p * r**value * (1 if value == 0 else 2)
        found = (abs(noise[:, 0]) == value).mean()
        # Six standard errors: a wrong alarm in 1e9.
        assert abs(found - wanted) < 6 * math.sqrt(wanted * (1 - wanted) / n), (value, found, wanted)


def test_releases_that_are_not_negative():
    counts = [9, 4, 5, 0, 4, 1, 1, 3]
    tree = Invariant.hierarchy(PARENTS, counts).nonnegative()
    law = Law("double-geometric", epsilon=0.2)
    released = numpy.array(counts) + congenial.exact(tree, law, 200, 1)
    assert (released >= 0).all() and tree.holds(released).all()
    free = numpy.array(counts) + congenial.exact(Invariant.hierarchy(PARENTS), law, 200, 1)
    assert (free < 0).any() and not tree.holds(free).all() and Invariant.hierarchy(PARENTS).holds(free).all()
    table = Invariant.total(3, counts=[0, 2, 5]).nonnegative()
    released = numpy.array([0, 2, 5]) + congenial.exact(table, law, 200, 1)
    assert (released >= 0).all() and (released.sum(1) == 7).all() and table.holds(released).all()


def test_invariants_of_frames_and_their_sum():
    table = Invariant.from_frame(TABLE, count="count", invariants=MARGINS, entry=["row", "column"])
    assert table.kind == "table" and table.names == ["a/x", "a/y", "b/x", "b/y", "c/x", "c/y"]
    assert table.counts.tolist() == TABLE["count"] and table.parents is None
    law = Law("double-geometric", epsilon=1)
    same = Invariant.margins(3, 2, counts=TABLE["count"])
    assert (congenial.exact(table, law, 30, 1) == congenial.exact(same, law, 30, 1)).all()
    more = Invariant.margins(3, 2) & Invariant.matrix([[1, 0, 0, 1, 0, 0]])
    noise = congenial.exact(more, law, 30, 1)
    assert not (noise[:, 0] + noise[:, 3]).any() and Invariant.margins(3, 2).holds(noise).all()
    tree = Invariant.from_frame(TREE, count="count", levels=["group", "zone"])
    assert tree.kind == "hierarchy" and tree.parents.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2, 3] and tree.names is None
    assert "10 nodes in 3 levels" in repr(tree)


def test_projections():
    rng = numpy.random.default_rng(1)
    total = Invariant.total(4, counts=[3, 0, 5, 2])
    noisy = total.counts + rng.normal(size=(20, 4))
    closest = congenial.project(total, noisy)
    # By the formula: the excess is shared evenly.
    assert numpy.allclose(closest, noisy - (noisy.sum(1, keepdims=True) - 10) / 4, atol=1e-12)
    assert (congenial.project(total, noisy[3]) == closest[3]).all()
    integers = congenial.project(total, numpy.rint(noisy), "l2-then-integer-l1")
    assert integers.dtype == numpy.int64 and (integers.sum(1) == 10).all()
    bounded = total.nonnegative()
    assert (congenial.project(bounded, noisy - 3, "nnl2") >= -1e-9).all()
    assert (congenial.project(bounded, noisy - 3, "nnl2-then-integer-l1") >= 0).all()
    assert numpy.allclose(congenial.project(total, noisy, "l1", beta=0.25).sum(1), 10)
    # Without counts what is moved is noise.
    assert numpy.allclose(congenial.project(Invariant.total(4), noisy).sum(1), 0)
    tree = Invariant.hierarchy(PARENTS)
    noisy = rng.normal(size=(10, 8)) * 5 + [90, 40, 50, 10, 30, 20, 20, 10]
    weighted = congenial.project(tree, noisy, variances=[1.0, 2.0, 4.0])
    assert tree.holds(weighted).all()
    # Against the normal equations.
    sums = numpy.array([[1] * 5, [1, 1, 0, 0, 0], [0, 0, 1, 1, 1], *numpy.eye(5)])
    w = numpy.repeat([1, 0.5, 0.25], [1, 2, 5])
    leaves = numpy.linalg.solve(sums.T * w @ sums, sums.T * w @ noisy.T)
    assert numpy.allclose(weighted, (sums @ leaves).T)
    for kind in ["topdown", "bluedown"]:
        released = congenial.project(tree, noisy, kind, seed=3)
        assert released.dtype == numpy.int64 and (released >= 0).all() and tree.holds(released).all()
        assert (released == congenial.project(tree, noisy, kind, seed=3, threads=1)).all()


@pytest.mark.parametrize("size", [10**10, 10**13, 10**17, 2**62])
def test_rows_that_do_not_fit_are_no_abort(size):
    with pytest.raises(MemoryError, match="size: it would take about .* GB of memory, .* GB are left"):
        congenial.exact(Invariant.total(300), Law("laplace", scale=1), size)


def test_unsigned_numbers_are_what_they_are():
    counts = numpy.array([200, 7], numpy.uint8)
    assert Invariant.total(2, counts=counts).counts.tolist() == [200, 7]
    assert Invariant.matrix(numpy.array([[2, 200]], numpy.uint64)).holds([[100, -1], [100, 1]]).tolist() == [True, False]


def test_releases_of_all_sizes_keep_the_invariant():
    """To the largest numbers that are taken: whatever is returned holds, integers exactly."""
    rng = numpy.random.default_rng(5)
    tree = Invariant.hierarchy(PARENTS, [9, 4, 5, 0, 4, 1, 1, 3])
    tables = [Invariant.total(8, counts=range(8)), Invariant.margins(2, 4, counts=range(8))]
    kinds = [(tree, kind) for kind in ["l2", "topdown", "bluedown"]]
    kinds += [(table, kind) for table in tables for kind in ["l2", "l1", "l2-then-integer-l1"]]
    kinds += [(table.nonnegative(), kind) for table in tables for kind in ["nnl2", "nnl2-then-integer-l1"]]
    kept = 0
    for size in [1e-300, 1.0, 1e6, 1e12, 1e15, 8e15]:
        noisy = numpy.clip(rng.normal(size=(5, 8)), -1, 1) * size
        for invariant, kind in kinds:
            try:
                released = congenial.project(invariant, noisy, kind)
            except congenial.Error as error:
                assert "bug" not in str(error), (size, kind, error)
                continue
            kept += 1
            whole = [int(y) for y in released[0]]
            assert numpy.isfinite(released).all(), (size, kind)
            if released.dtype == numpy.int64 and kind in ("topdown", "bluedown"):
                sums = [sum(whole[c] for c in range(1, 8) if PARENTS[c] == v) for v in range(3)]
                assert whole[:3] == sums and min(whole) >= 0, (size, kind, whole)
            elif released.dtype == numpy.int64:
                assert sum(whole) == 28, (size, kind, whole)
    assert kept > 50


def test_other_threads_go_on_meanwhile():
    ticks, stop = [], threading.Event()
    ticker = threading.Thread(target=lambda: [ticks.append(1) for _ in iter(lambda: stop.wait(0.002), True)])
    ticker.start()
    start = time.monotonic()
    congenial.exact(Invariant.margins(2, 3), Law("discrete-gaussian", scale=30), 60_000, 1, threads=1)
    seconds = time.monotonic() - start
    stop.set()
    ticker.join()
    assert len(ticks) > 20 * min(seconds, 1), (len(ticks), seconds)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Law("normal", scale=1), "law: got `normal`, want one of laplace, double-geometric"),
        (lambda: Law("laplace"), "law `laplace`: want `epsilon` or `scale`"),
        (lambda: Law("laplace", epsilon=1, scale=1), "law `laplace`: want one of `epsilon` and `scale`"),
        (lambda: Law("gaussian", epsilon=1), "law `gaussian`: want `delta` beside `epsilon`"),
        (lambda: Law("laplace", epsilon=1, delta=0.1), "law `laplace`: it takes no `delta`"),
        (lambda: Law("laplace", scale=math.nan), "scale: got NaN, want a finite number > 0"),
        (lambda: Law("laplace", scale=-1), "scale: got -1, want a finite number > 0"),
        (lambda: Law("laplace", epsilon=1, split="odd"), "split: got `odd`, want `each`, `even`"),
        (lambda: congenial.exact(Invariant.total(2), Law("laplace", epsilon=-1)), "epsilon: got -1, want"),
        (lambda: congenial.exact(Invariant.total(2), Law("laplace", epsilon=math.nan)), "epsilon: got NaN, want"),
        (lambda: congenial.exact(Invariant.total(2), Law("laplace", scale=[1, 2])), "scale: got 2 for 1 levels, want one"),
        (lambda: congenial.exact(Invariant.total(2), Law("laplace", scale=1), -3), "size: got -3, want an integer >= 0"),
        (lambda: congenial.exact(Invariant.total(2), Law("laplace", scale=1), 2.5), "size: got 2.5, want an integer >= 0"),
        (lambda: congenial.exact(Invariant.total(2), Law("laplace", scale=1), 1, -1), r"seed: got -1, want an integer from 0 to 2\^64 - 1"),
        (lambda: congenial.exact(Invariant.total(2), Law("laplace", scale=1), threads=0), "threads: got 0, want"),
        (lambda: congenial.exact(Invariant.hierarchy(PARENTS), Law("l2", scale=1)), "method `exact` cannot serve the law `l2` on a hierarchy"),
        (lambda: congenial.exact(Invariant.margins(40, 40), Law("double-geometric", scale=1)), "the limit is"),
        (lambda: Invariant.total(0), "entries: got 0, want an integer from 1"),
        (lambda: Invariant.total(2, counts=[1, 2, 3]), "counts: got 3, want 2"),
        (lambda: Invariant.total(2, counts=[1, -2]), "counts: got -2 as count 2, want integers >= 0"),
        (lambda: Invariant.total(2, counts=[1, 0.5]), "counts: got an array of float64 with values that are no integers"),
        (lambda: Invariant.total(2, counts=[1, math.nan]), "counts: got an array of float64 with values that are no integers"),
        (lambda: Invariant.total(2, counts="ab"), "counts: got an array of <U2, want numbers"),
        (lambda: Invariant.matrix([1, 2]), r"a: got an array of shape \(2,\), want two dimensions"),
        (lambda: Invariant.matrix([[1, 2], [1]]), "a: want an array of numbers"),
        (lambda: Invariant.hierarchy([0, 0, 5]), "hierarchy: node 2: parent 5 does not come before it"),
        (lambda: Invariant.hierarchy([0, -1]), "parents: got -1, want numbers of nodes, from 0"),
        (lambda: Invariant.hierarchy([0, 0, 0], counts=[5, 2, 2]), "counts: the release violates its invariant"),
        (lambda: Invariant.total(2).nonnegative(), "nonnegative: want an invariant with counts"),
        (lambda: Invariant.total(2) & Invariant.total(3), "&: got 2 and 3 entries, want as many"),
        (lambda: Invariant.total(2) & Invariant.hierarchy(PARENTS), "&: a tree cannot be tied"),
        (lambda: Invariant.from_frame({"zone": ["a", "b"], "count": [1, None]}, count="count", levels=["zone"]), "frame: row 2: no value in `count`"),
        (lambda: Invariant.from_frame({"zone": ["a", "b"], "count": [1]}, count="count", levels=["zone"]), "frame: `count` has 1 values, `zone` has 2"),
        (lambda: Invariant.from_frame({"zone": ["a", "a"], "count": [1, 2]}, count="count", levels=["zone"]), "frame: row 2: `zone` = `a` is duplicated"),
        (lambda: Invariant.from_frame({"zone": ["a"], "count": [-1]}, count="count", levels=["zone"]), "frame: row 1: `count` = `-1`, want an integer >= 0"),
        (lambda: Invariant.from_frame(TREE, count="n", levels=["zone"]), "frame: no column `n`; the file has group, zone, count"),
        (lambda: Invariant.from_frame(TABLE, count="count", invariants=[{"kind": "totals"}], entry=["row"]), "totals"),
        (lambda: Invariant.from_frame(3, count="n", levels=["zone"]), "frame: got int, want a dict of columns or a frame"),
        (lambda: congenial.project(Invariant.total(4), [1, 2, 3]), r"noisy: got an array of shape \(3,\), want \(4,\) or \(n, 4\)"),
        (lambda: congenial.project(Invariant.total(4), numpy.zeros((2, 2, 4))), r"noisy: got an array of shape \(2, 2, 4\), want"),
        (lambda: congenial.project(Invariant.total(2), [[1, 2], [math.nan, 0]]), r"noisy: got NaN in row 1, column 0 \(from 0\), want finite"),
        (lambda: congenial.project(Invariant.total(2), "ab"), "noisy: got an array of <U2, want numbers"),
        (lambda: congenial.project(Invariant.total(2), [1, 2], "topdown"), "kind: got `topdown`, want one of l2, l1"),
        (lambda: congenial.project(Invariant.total(2), [1, 2], "l1", beta=2), "beta: got 2, want a number in"),
        (lambda: congenial.project(Invariant.total(2, [1, 2]).nonnegative(), [1, 2]), "kind: `l2` leaves the inequalities aside, want `nnl2`"),
        (lambda: congenial.project(Invariant.hierarchy([0, 0, 0], [3, 1, 2]).nonnegative(), [3, 1, 2]), "kind: `l2` leaves it aside that nothing is negative, want `topdown`"),
        (lambda: congenial.project(Invariant.total(2), [1, 2], variances=[1]), "variances: got some for `l2` on a table, only `l2` and `bluedown` on a hierarchy take them"),
        (lambda: congenial.project(Invariant.hierarchy(PARENTS), [0] * 8, "topdown", variances=[1, 1, 1]), "variances: got some for `topdown` on a hierarchy"),
        (lambda: congenial.project(Invariant.hierarchy(PARENTS), [0] * 8, variances=[1, 1e-320, 1]), "variance: got 1e-320, want a number from 2"),
        (lambda: congenial.project(Invariant.total(2), [1, 2], beta=0.5), "beta: got some for `l2` on a table, only `l1` on a table takes it"),
        # Numbers are what they say, or refused.
        (lambda: Invariant.total(2, counts=numpy.array([2**64 - 1, 1], numpy.uint64)), r"counts: got 18446744073709551615, want numbers up to 2\^53 in size"),
        (lambda: Invariant.total(2, counts=[2**53, 1]), r"counts: they sum up to 9007199254740993, the limit is 2\^53"),
        (lambda: Invariant.matrix(numpy.array([[2**63, 1]], numpy.uint64)), "a: got 9223372036854775808, want numbers up to"),
        (lambda: Invariant.matrix([[2**40, 1]]), r"got the coefficient 1099511627776, want at most 2\^31"),
        (lambda: Invariant.matrix([[1e19, 1]]), "a: got 1e19, want numbers up to"),
        (lambda: Invariant.hierarchy(numpy.array([0, 0, 2**64 - 1], numpy.uint64)), "parents: got 18446744073709551615, want numbers up to"),
        (lambda: congenial.project(Invariant.total(2), [1e50, 0]), "noisy: got 1e50, want numbers up to"),
        (lambda: congenial.project(Invariant.total(2), [-(2**60), 0]), "noisy: got -1152921504606846976, want numbers up to"),
        (lambda: congenial.project(Invariant.total(256), [2.0**53] * 256), r"noisy: the absolute values of row 0 \(from 0\) sum up to more than 2\^60"),
        (lambda: Invariant.total(2).holds([2**62, -(2**62)]), "values: got 4611686018427387904, want numbers up to"),
        # Masks are not lost.
        (lambda: Invariant.total(2, counts=MASKED[0]), "counts: got a masked array, want an array without a mask"),
        (lambda: Invariant.matrix(MASKED), "a: got a masked array"),
        (lambda: Invariant.total(2).holds([MASKED[0]]), "values: got a masked array"),
        (lambda: congenial.project(Invariant.total(2), MASKED), "noisy: got a masked array"),
        (lambda: Law("laplace", scale=MASKED[0]), "scale: got a masked array"),
        (lambda: Invariant.from_frame({"zone": ["a", "b"], "count": MASKED[0]}, count="count", levels=["zone"]), "frame: `count`: got a masked array"),
        (lambda: congenial.project(Invariant.hierarchy(PARENTS), [0] * 8, variances=[1, 2]), "variances"),
    ],
)
def test_what_is_wrong_is_said_once(call, message):
    with pytest.raises(congenial.ConfigError, match=message) as caught:
        call()
    assert caught.value.exit_code == 2 and "\x1b" not in str(caught.value)
