"""A naive method: counts of leaves are clipped at 0, or at `floor`, rounded, and summed up."""
import numpy
from protocol import serve


def prepare(structure, cell):
    if structure["kind"] != "tree":
        raise ValueError("it serves trees")
    floor, parents = float(cell.get("floor", 0)), structure["parents"]
    inner = numpy.unique(parents[1:])

    def release(seeds, counts):
        released = numpy.maximum(numpy.rint(counts), floor)
        released[:, inner] = 0
        # Nodes come after their parents: from the last up.
        for node in range(len(parents) - 1, 0, -1):
            released[:, parents[node]] += released[:, node]
        return released

    return release


serve("clip", "1", ["integers", "invariant", "nonnegative"], prepare, options=["floor"])
