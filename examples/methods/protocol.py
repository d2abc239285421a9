"""The protocol of congenial's external methods, for methods that are functions of arrays."""
import sys
import numpy


def serve(name, version, promises, prepare):
    """Answers until the harness ends. `prepare(structure, cell)` returns `release(seeds, counts)`: counts has a row per replicate."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    numbers = lambda kind, n: numpy.frombuffer(source.read(8 * n), kind)

    def say(line, content=b""):
        sink.write(line.encode() + b"\n" + content)
        sink.flush()

    cells, structure = {}, None
    for line in iter(source.readline, b""):
        words = line.decode().split()
        if words[0] == "congenial":
            if words[1] != "1":
                say(f"error it speaks version 1, not {words[1]}")
                return
            say(" ".join(["method", name, version, *promises]))
        elif words[:2] == ["structure", "tree"]:
            nodes, levels = map(int, words[2:])
            structure = dict(kind="tree", counts=nodes, parents=numbers("<i8", nodes), levels=numbers("<i8", levels + 1))
        elif words[:2] == ["structure", "table"]:
            entries, rows, terms, bounds, bound_terms = map(int, words[2:])
            system = lambda rows, terms: dict(
                begins=numbers("<i8", rows + 1), entries=numbers("<i8", terms), coefficients=numbers("<i8", terms), values=numbers("<i8", rows)
            )
            structure = dict(kind="table", counts=entries, equations=system(rows, terms), inequalities=system(bounds, bound_terms))
        elif words[0] == "cell":
            cell = dict(word.split("=", 1) for word in words[2:])
            cell["variances"] = numbers("<f8", structure["counts"])
            try:
                cells[words[1]] = prepare(structure, cell)
                say("ready")
            except ValueError as refused:
                say(f"error {refused}")
        elif words[0] == "release":
            n = int(words[2])
            seeds, counts = numbers("<u8", n), numbers("<f8", n * structure["counts"]).reshape(n, -1)
            released = numpy.ascontiguousarray(cells[words[1]](seeds, counts), dtype="<f8")
            say(f"released {n}", released.tobytes())
