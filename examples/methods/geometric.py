"""A mechanism: double geometric noise of its own on the leaves alone, summed up. It is given confidential counts, and says what it pays."""
import numpy
from protocol import serve


def prepare(structure, cell):
    if structure["kind"] != "tree":
        raise ValueError("it serves trees")
    if not cell["variances"].all():
        raise ValueError("it serves no known counts")
    epsilon, parents = float(cell["epsilon"]), structure["parents"]
    leaves = numpy.setdiff1d(numpy.arange(len(parents)), parents[1:])

    def release(seeds, counts):
        released = numpy.zeros_like(counts)
        for row, (seed, given) in enumerate(zip(seeds, counts)):
            draws = numpy.random.default_rng(seed).geometric(1 - numpy.exp(-epsilon), (2, len(leaves)))
            released[row, leaves] = given[leaves] + draws[0] - draws[1]
        # Nodes come after their parents: from the last up.
        for node in range(len(parents) - 1, 0, -1):
            released[:, parents[node]] += released[:, node]
        return released

    return release, {"added": epsilon, "moved": 2 * epsilon}


serve("geometric", "1", ["integers", "invariant", "mechanism"], prepare)
