"""A function of a file as a program: the errors of the same function in this process, and clear words for what is wrong."""

import json
import re
import subprocess
import sys

import pytest
from conftest import TREE

import congenial

# One that uses everything that it is given, and prints.
SOURCE = """
import numpy
import congenial
from beside import add

@congenial.method(promises=["invariant"], version="2")
def shift(structure, cell):
    print("it prints")
    assert structure["kind"] == "tree" and cell["law"] == "double-geometric" and isinstance(cell["by"], (int, float))
    assert cell["word"] == "x" and cell["flag"] is True and len(cell["variances"]) == structure["counts"] == 10
    parents = structure["parents"]

    def release(seeds, counts):
        print("it prints again")
        leaves = numpy.setdiff1d(numpy.arange(len(parents)), parents[1:])
        released = numpy.zeros_like(counts)
        assert seeds.dtype == numpy.uint64 and len(set(seeds.tolist())) == len(seeds) == len(counts)
        counts += 0
        released[:, leaves] = add(counts[:, leaves], cell["by"] * cell["epsilon"])
        for node in range(len(parents) - 1, 0, -1):
            released[:, parents[node]] += released[:, node]
        return released

    return release

def plain(structure, cell):
    return lambda seeds, counts: counts

def blur(structure, cell):
    return (lambda seeds, counts: counts + 1), {"added": 3.5, "delta": 0.1}

mechanism = congenial.method(blur, name="blurred", promises=["mechanism"])

def refuses(structure, cell):
    raise ValueError("it serves\\ntables")

def fails(structure, cell):
    return lambda seeds, counts: 1 / 0

def short(structure, cell):
    return lambda seeds, counts: counts[:, 1:]

def infinite(structure, cell):
    return lambda seeds, counts: numpy.where(counts > counts.min(), counts, numpy.inf)

def nothing(structure, cell):
    return None

number = 3
"""
# Where it fails, from 1.
LINE = 1 + next(i for i, line in enumerate(SOURCE.splitlines()) if "1 / 0" in line)


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(SOURCE)
    (tmp_path / "beside.py").write_text("def add(counts, by):\n    return counts + by\n")
    lines = ["group,zone,count"] + [f"{g},{z},{c}" for g, z, c in zip(*TREE.values())]
    (tmp_path / "counts.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def config(mine, function, options=""):
    """The text of a config in a file, with one method beside free noise."""
    command = json.dumps([sys.executable, "-m", "congenial.serve", f"mine.py:{function}"])
    path = mine / f"{function}.toml"
    path.write_text(
        f'name = "served"\nseed = 1\nreplicates = 30\n[data]\ntable = "counts.csv"\ncount = "count"\nlevels = ["group", "zone"]\n'
        f'[[grid]]\nepsilon = [0.5, 1.0]\nlaw = "double-geometric"\n'
        f'method = ["unconstrained", {{ kind = "external", command = {command}, '
        f'depends = ["mine.py", "beside.py"], name = "{function}"{options} }}]\n'
    )
    return path


def cli(*words):
    return subprocess.run([sys.executable, "-m", "congenial", *map(str, words)], capture_output=True, text=True)


def serve(mine, *words, given=b""):
    """The program by itself: exit code, standard output and error."""
    done = subprocess.run([sys.executable, "-m", "congenial.serve", *words], cwd=mine, input=given, capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode()


def test_a_program_has_the_errors_of_the_function(mine):
    options = ', by = [1, 2.5], word = "x", flag = true'
    done = cli("run", config(mine, "shift", options), "--out", mine / "served")
    assert done.returncode == 0, done.stderr
    served = congenial.open(mine / "served")
    sys.path.insert(0, str(mine))
    try:
        space = {}
        exec(compile(SOURCE, mine / "mine.py", "exec"), space)
    finally:
        sys.path.remove(str(mine))
    method = {"kind": "external", "name": "shift", "by": [1, 2.5], "word": "x", "flag": True}
    data = {"table": TREE, "count": "count", "levels": ["group", "zone"]}
    grid = [{"epsilon": [0.5, 1.0], "law": "double-geometric", "method": ["unconstrained", method]}]
    here = congenial.run({"name": "here", "seed": 1, "replicates": 30, "data": data, "grid": grid}, mine / "here", progress=False)
    assert len(served.errors) == len(here.errors) == 6 * 30 * 3
    for name in ["level", "replicate", "l1", "l2", "bias", "negative", "invariant_ok"]:
        assert (served.errors[name] == here.errors[name]).all(), name
    assert served.frame()["label"] == here.frame()["label"] and set(served.frame()["method"]) == {"unconstrained", "shift"}


def test_undecorated_functions_and_mechanisms(mine):
    done = cli("run", config(mine, "plain"), "--out", mine / "plain")
    assert done.returncode == 0, done.stderr
    errors = congenial.open(mine / "plain").errors["l1"].reshape(4, -1)
    # Free noise, released as it is.
    assert (errors[0] == errors[1]).all() and (errors[0] != errors[2]).any()
    done = cli("run", config(mine, "mechanism"), "--out", mine / "mechanism")
    assert done.returncode == 0, done.stderr
    run = congenial.open(mine / "mechanism")
    assert 3.5 in run.cells["epsilon_total"] and 0.1 in run.cells["delta_total"]


@pytest.mark.parametrize(
    "function, message",
    [
        ("refuses", r"method `refuses`, line \d+: ValueError: it serves tables"),
        ("nothing", "method `nothing`: it returned NoneType for a cell, want a function release"),
    ],
)
def test_what_a_function_refuses_is_said_before_a_run(mine, function, message):
    done = cli("run", config(mine, function), "--out", mine / "run")
    assert done.returncode == 2 and not (mine / "run").exists()
    words = " ".join(done.stderr.replace("│", " ").split())
    assert re.search(message, words), words


@pytest.mark.parametrize(
    "function, message",
    [
        ("fails", f"says: method `fails`, line {LINE}: ZeroDivisionError: division by zero"),
        ("short", "ended; its last words: congenial.serve: method `short`: it released an array of shape (30, 9), want (30, 10)"),
        ("infinite", "ended; its last words: congenial.serve: method `infinite`: it released inf as count"),
    ],
)
def test_what_goes_wrong_is_the_error_of_the_cell(mine, function, message):
    done = cli("run", config(mine, function), "--out", mine / "run")
    assert done.returncode == 5, done.stderr
    run = congenial.open(mine / "run")
    assert len(run.failures) == 2 and all(message in error for _, error in run.failures), run.failures
    assert len(run.errors) == 2 * 30 * 3


@pytest.mark.parametrize(
    "words, message",
    [
        (["nowhere.py:clip"], "nowhere.py: no such file, want one with the function `clip`"),
        (["mine.py:clip"], "mine.py: no function `clip`; it has shift, plain, blur, mechanism, "),
        (["mine.py:number"], "mine.py: `number` is int, want a function of (structure, cell)"),
        (["mine.py"], "got `mine.py`, want FILE.py:FUNCTION"),
        ([], "got 0 arguments, want one: FILE.py:FUNCTION"),
        (["broken.py:clip"], "broken.py, line 2: ZeroDivisionError: division by zero"),
        (["unread.py:clip"], "unread.py: SyntaxError: invalid syntax (unread.py, line 2)"),
        (["counts.csv:clip"], "counts.csv: not a file of Python, want FILE.py"),
    ],
)
def test_what_cannot_be_served_is_one_line(mine, words, message):
    (mine / "broken.py").write_text("\n1 / 0\n")
    (mine / "unread.py").write_text("\nclip = = 1\n")
    code, out, err = serve(mine, *words)
    assert code == 2 and out == b"" and err.startswith(f"congenial.serve: {message}") and err.count("\n") == 1, err


def test_the_harness_quotes_what_cannot_be_served(mine):
    done = cli("check", "--commands", config(mine, "clip"))
    words = " ".join(done.stderr.replace("│", " ").split())
    assert done.returncode == 2 and "its last words: congenial.serve: mine.py: no function `clip`" in words, words


def test_frames_that_are_none_end_it(mine):
    code, out, err = serve(mine, "mine.py:plain", given=b"congenial 1\nhello there\n")
    assert code == 2 and out.startswith(b"method plain ")
    assert "got the frame `hello there`, want congenial, structure, cell or release" in err
    code, out, err = serve(mine, "mine.py:plain", given=b"congenial 2\n")
    assert code == 2 and "got the version 2 of the protocol, want 1" in err
    # Half a frame: the harness is gone.
    assert serve(mine, "mine.py:plain", given=b"congenial 1\nstructure tree 3 2\nabc")[0] == 0
