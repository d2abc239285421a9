"""Runs from Python are those of the command line, and their tables are read by everybody."""

import importlib
import json
import subprocess
import sys
import threading
import time

import numpy
import pytest
from conftest import ROOT, TABLE, TREE

import congenial


def cli(*words, code=0):
    done = subprocess.run([sys.executable, "-m", "congenial", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def rows(run):
    """The digests of what every table holds."""
    return run.manifest["tables"]


def test_the_taxi_quick_table_is_that_of_the_command_line(tmp_path, monkeypatch):
    # A table in one piece, as a report from Python has it.
    monkeypatch.setenv("COLUMNS", "200")
    config = ROOT / "configs/taxi/quick.toml"
    with pytest.warns(UserWarning, match="have not converged"):
        ours = congenial.run(config, tmp_path / "ours", progress=False)
    printed = cli("run", config, "--out", tmp_path / "theirs").stdout
    theirs = congenial.open(tmp_path / "theirs")
    assert rows(ours) == rows(theirs)
    assert congenial.compare(ours, theirs).identical
    # The page but for its head, which has the folder.
    body = lambda text: text.split("\n\n", 1)[1].replace(str(tmp_path / "ours"), "").replace(str(tmp_path / "theirs"), "")
    table = lambda text: [line for line in text.splitlines() if line.startswith(("│", "┌", "╞", "├", "└"))]
    assert len(table(body(printed))) > 10
    same = lambda text: [line.replace(" ", "") for line in table(body(text))]
    assert same(congenial.report(ours)) == same(printed)


def test_a_dict_is_a_config(tmp_path, tree, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = congenial.run(tree, progress=False)
    assert str(run.folder).startswith("results/tree-") and run.name == "tree" and run.study == "release"
    with open(tmp_path / "tree.csv", "w") as file:
        file.write("group,zone,count\n")
        file.writelines(f"{g},{z},{c}\n" for g, z, c in zip(*TREE.values()))
    filed = {**tree, "data": {**tree["data"], "table": tmp_path / "tree.csv"}}
    again = congenial.run(filed, "filed", threads=1, progress=False)
    assert rows(again) == rows(run)
    # A run that is there is opened.
    assert congenial.run(filed, "filed", progress=False).manifest == again.manifest
    fewer = congenial.run(tree, "fewer", sets={"replicates": 3, "grid.epsilon": [0.5]}, progress=False)
    assert len(fewer.cells) == 2 and len(fewer.errors) == 2 * 3 * 3
    # Numbers and arrays of numpy are numbers and lists.
    tree["seed"], tree["grid"][0]["epsilon"] = numpy.int64(1), numpy.array([0.5, 1.0])
    assert rows(congenial.run(tree, "numpy", progress=False)) == rows(run)


def test_seeds_and_data_sets_are_axes(tmp_path, tree):
    data = tree["data"]
    tree["seed"] = [1, 2]
    tree["data"] = [{**data, "name": "a"}, {**data, "name": "b", "table": {**TREE, "count": [1, 2, 3, 4, 5, 6]}}]
    run = congenial.run(tree, tmp_path / "run", progress=False)
    # Of each data set the cells of every seed, and those that stand for both.
    assert len(run.cells) == 2 * 4 * 3 and len(run.errors) == 2 * 4 * 2 * 20 * 3
    assert set(run.cells["data"]) == {"a", "b"} and set(run.cells.to_pydict()["seed"]) == {1, 2, None}
    assert "data sets side by side" in run.report() and "tree, b, seed 2" in run.report(full=True, by_seed=True)
    assert len(congenial.plan(tree)) == 2 * 4 * 2
    verified = congenial.verify(tree, progress=False)
    assert verified.ok and {one["data"] for one in verified.methods} == {"a", "b"}


def test_tables_are_read_without_anything_else(tmp_path, tree):
    run = congenial.run(tree, tmp_path / "run", progress=False)
    errors = run.errors
    assert errors.columns[:3] == ["cell", "level", "replicate"] and len(errors) == 4 * 20 * 3
    columns = errors.to_pydict()
    assert list(columns) == errors.columns and all(len(column) == len(errors) for column in columns.values())
    assert isinstance(errors["l1"], numpy.ndarray) and errors["l1"].tolist() == columns["l1"]
    assert errors["cell"] == columns["cell"] and errors["invariant_ok"].dtype == bool
    assert run["errors.parquet"].columns == run.table("errors").columns
    assert len(run.privacy) == 3 * len(run.cells)
    assert [name for name in run] == sorted(run.tables)
    with pytest.raises(congenial.ConfigError, match="has no table `meetings`; it has cells"):
        run.meetings
    with pytest.raises(congenial.ConfigError, match="errors: no column `l3`; it has cell, level"):
        errors["l3"]
    nulls = next((t, c) for t in run for c, v in run[t].to_pydict().items() if None in v and not isinstance(run[t][c], list))
    values = run[nulls[0]].to_pydict()[nulls[1]]
    assert [numpy.isnan(x) for x in run[nulls[0]][nulls[1]]] == [v is None or v != v for v in values]


def test_polars_pandas_and_pyarrow_take_tables(tmp_path, tree):
    polars, pandas, pyarrow = map(pytest.importorskip, ["polars", "pandas", "pyarrow"])
    run = congenial.run(tree, tmp_path / "run", progress=False)
    for name in run:
        table, parquet = run[name], importlib.import_module("pyarrow.parquet")
        theirs = parquet.read_table(run.folder / f"{name}.parquet")
        ours = pyarrow.table(table)
        assert ours.column_names == theirs.column_names and ours.to_pydict().__repr__() == theirs.to_pydict().__repr__()
        assert pyarrow.schema(table).names == table.columns
        frame = polars.DataFrame(table)
        assert frame.equals(polars.read_parquet(run.folder / f"{name}.parquet"), null_equal=True)
        assert list(pandas.DataFrame(table.to_pydict()).columns) == table.columns
        if hasattr(pandas.DataFrame, "from_arrow"):
            assert len(pandas.DataFrame.from_arrow(table)) == len(table)


def test_frames_are_data(tmp_path, tree):
    wanted = congenial.run(tree, tmp_path / "dict", progress=False)
    for name in ["polars", "pandas", "pyarrow"]:
        library = pytest.importorskip(name)
        frame = library.table(TREE) if name == "pyarrow" else library.DataFrame(TREE)
        config = {**tree, "data": {**tree["data"], "table": frame}}
        assert rows(congenial.run(config, tmp_path / name, progress=False)) == rows(wanted)
        invariant = congenial.Invariant.from_frame(frame, count="count", levels=["group", "zone"])
        assert invariant.counts.tolist() == [179, 5, 167, 7, 5, 0, 120, 3, 44, 7]
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(TREE).with_columns(polars.col("group").cast(polars.Categorical), polars.col("count").cast(polars.UInt16))
    assert congenial.Invariant.from_frame(frame, count="count", levels=["group", "zone"]).counts[0] == 179


def test_draws_and_arviz(tmp_path, table):
    run = congenial.run(table, tmp_path / "run", progress=False)
    (cell,) = run.draws.cells()
    draws = run.draws(cell)
    assert draws.columns == [".chain", ".iteration", ".draw", "a/x", "a/y", "b/x", "b/y", "c/x", "c/y"]
    assert run.draws.columns == ["cell", *draws.columns] and len(run.draws) == len(draws)
    assert set(run.draws["cell"]) == {cell}
    errors = numpy.array([draws[name] for name in draws.columns[3:]])
    # Both margins are kept.
    assert not errors.reshape(3, 2, -1).sum(axis=0).any() and not errors.reshape(3, 2, -1).sum(axis=1).any()
    with pytest.raises(congenial.ConfigError, match=f"draws: got the cell `x`, want one of {cell}"):
        run.draws("x")
    pytest.importorskip("arviz")
    inference = run.to_arviz()
    posterior = inference.posterior
    assert posterior["a/x"].shape == (4, 200) and len(draws) == 800
    order = numpy.lexsort((draws[".iteration"], draws[".chain"]))
    assert (posterior["b/y"].values.ravel() == draws["b/y"][order]).all()


def test_draws_of_a_tree(tmp_path, tree):
    run = congenial.run({**tree, "keep-draws": True}, tmp_path / "run", progress=False)
    assert run.draws.columns == ["cell", "replicate", "node", "error", "released"] and len(run.draws) == 4 * 20 * 10
    plain = congenial.run(tree, tmp_path / "plain", progress=False)
    with pytest.raises(congenial.ConfigError, match="it has no draws; they are kept with `keep-draws = true`"):
        plain.draws()
    with pytest.raises(congenial.ConfigError, match="no table of it has draws"):
        pytest.importorskip("arviz") and plain.to_arviz()


def test_optimise(tree):
    best = congenial.optimise(tree)
    assert len(best.designs) == 2 and all(one["best"] < one["even"] for one in best.designs)
    assert "less by" in str(best) and "unconstrained" in str(best)
    with pytest.raises(congenial.ConfigError, match="goal: got `median`, want mean or largest"):
        congenial.optimise(tree, "median")
    tomllib = pytest.importorskip("tomllib")
    split = congenial.plan({**tomllib.loads(best.config), "data": tree["data"]})
    assert [cell["epsilon"] for cell in split.cells] == [0.5, 1.5, 1.0, 3.0]


def test_plan_verify_compare_report(tmp_path, tree):
    plan = congenial.plan(tree)
    assert len(plan) == 4 and plan.cells[0]["epsilon"] == 0.5 and "4 cells" in plan.summary
    assert len(congenial.plan(tree, sets={"grid.epsilon": [1.0]})) == 2
    found = congenial.verify(tree, progress=False)
    assert found and [one["finding"] for one in found.methods] == ["fine", "fine"], repr(found)
    audited = congenial.audit(tree, draws=500, progress=False)
    assert audited and {one["verdict"] for one in audited.statements} == {"consistent"}, str(audited)
    assert "at least" in str(audited)
    with pytest.raises(congenial.ConfigError, match="draws: got 10, want 100 to"):
        congenial.audit(tree, draws=10)
    base = congenial.run(tree, tmp_path / "base", progress=False)
    assert plan.config_hash == base.manifest["config_hash"]
    more = congenial.run({**tree, "seed": 2}, tmp_path / "more", progress=False)
    comparison = congenial.compare(base, more)
    assert not comparison.identical and comparison.worse >= 0 and comparison.json and str(comparison)
    assert congenial.compare(base.folder, str(base.folder)).identical
    assert congenial.report(base, more, format="csv").count("\n") > 12
    assert "<html" in base.report("html") and "┌" in str(base)
    assert json.loads(base.report("json"))
    with pytest.raises(congenial.ConfigError, match="format: got `pdf`, want text, markdown"):
        base.report("pdf")
    with pytest.raises(congenial.ConfigError, match="report: want one run at least"):
        congenial.report()


def test_ctrl_c_stops_a_run_and_resume_goes_on(tmp_path, tree):
    tree["replicates"] = 4000
    tree["grid"][0]["method"] = [{"kind": "line-gibbs", "sweeps": 3000}]
    program = (
        "import congenial, json, sys, time\n"
        "start = time.time()\n"
        "try:\n"
        "    congenial.run(json.loads(sys.argv[1]), sys.argv[2], progress=True)\n"
        "except KeyboardInterrupt:\n"
        "    print(time.time() - start)\n"
        "    again = congenial.run(json.loads(sys.argv[1]), sys.argv[2], resume=True, sets={}, progress=False)\n"
        "    print(len(again.errors))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, json.dumps(tree), str(tmp_path / "run")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    # Until its folder is there, and some more.
    while not (tmp_path / "run.partial").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    time.sleep(1)
    process.send_signal(2)
    sent = time.time()
    line = process.stdout.readline()
    waited = time.time() - sent
    out, err = process.communicate()
    assert line and waited < 3, (waited, err)
    assert int(out) == 2 * 4000 * 3 and "%" in err, err
    whole = congenial.run(tree, tmp_path / "whole", progress=False)
    assert rows(whole) == rows(congenial.open(tmp_path / "run"))


def test_other_threads_go_on_meanwhile(tmp_path, tree):
    tree["replicates"] = 2000
    tree["grid"][0]["method"] = [{"kind": "line-gibbs", "sweeps": 1000}]
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.005):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.monotonic()
    congenial.run(tree, tmp_path / "run", threads=1, progress=False)
    seconds = time.monotonic() - start
    stop.set()
    ticker.join()
    assert len(ticks) > 20 * min(seconds, 1), (len(ticks), seconds)


def test_the_command_line():
    assert cli("--version").stdout == f"congenial {congenial.__version__}\n"
    assert "double-geometric" in cli("methods").stdout
    assert "cannot read the config" in cli("run", "nowhere.toml", code=2).stderr
    cli("nonsense", code=2)


def test_programs_of_methods_run_under_the_command_line(tmp_path):
    config = tmp_path / "config.toml"
    (tmp_path / "table.csv").write_text("zone,count\na,1\nb,2\n")
    (tmp_path / "copy.py").write_text(
        (ROOT / "examples/methods/protocol.py").read_text() + '\nserve("copy", "1", [], lambda structure, cell: lambda seeds, counts: counts)\n'
    )
    command = json.dumps([sys.executable, "copy.py"])
    config.write_text(
        f'name = "c"\nseed = 1\nreplicates = 3\n[data]\ntable = "table.csv"\ncount = "count"\nlevels = ["zone"]\n'
        f'[[grid]]\nepsilon = 1.0\nlaw = "double-geometric"\nmethod = ["unconstrained", {{ kind = "external", command = {command} }}]\n'
    )
    cli("run", config, "--out", tmp_path / "run")
    run = congenial.open(tmp_path / "run")
    errors = run.errors["l1"]
    # The noise is shared.
    assert (errors[: len(errors) // 2] == errors[len(errors) // 2 :]).all()
