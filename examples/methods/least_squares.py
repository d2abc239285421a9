"""Least squares under the invariant, by a matrix: what `l2` does."""
import numpy
from protocol import serve


def equations(structure):
    """Rows of coefficients and what they give."""
    n = structure["counts"]
    if structure["kind"] == "tree":
        parents = structure["parents"]
        rows = numpy.zeros((n, n))
        rows[parents[1:], numpy.arange(1, n)] = 1
        inner = numpy.unique(parents[1:])
        rows[inner, inner] -= 1
        return rows[inner], numpy.zeros(len(inner))
    system = structure["equations"]
    rows = numpy.zeros((len(system["values"]), n))
    for row, (begin, end) in enumerate(zip(system["begins"], system["begins"][1:])):
        rows[row, system["entries"][begin:end]] = system["coefficients"][begin:end]
    return rows, system["values"].astype(float)


def prepare(structure, cell):
    rows, values = equations(structure)
    weighted = rows * cell["variances"]
    back = weighted.T @ numpy.linalg.pinv(weighted @ rows.T)
    return lambda seeds, counts: counts - (counts @ rows.T - values) @ back.T


serve("least-squares", "1", ["invariant"], prepare)
