"""A run as one table, tables as frames and in notebooks, figures, and kept releases with the keys of the data."""

import math

import numpy
import pytest
from conftest import TABLE, TREE

import congenial


def column_by(table, key, column):
    """A column by another one."""
    return dict(zip(table[key], table[column]))


def frontier(tree):
    """A study of what two methods pay alike."""
    grid = [{"paid": [0.5, 1.0], "law": "double-geometric", "method": ["exact", "bluedown"]}]
    return {**tree, "name": "frontier", "study": "frontier", "change": "moved", "grid": grid}


def test_a_run_is_one_table(tmp_path, tree):
    run = congenial.run(tree, tmp_path / "run", progress=False)
    frame = run.frame()
    assert len(frame) == len(run["levels"]) == 4 * 3 and frame.name == "frame"
    rows, levels, cells = list(frame), list(run["levels"]), {cell["cell"]: cell for cell in run.cells}
    for row, level in zip(rows, levels):
        cell = cells[row["cell"]]
        assert (row["cell"], row["level"]) == (level["cell"], level["level"])
        assert (row["error"], row["error_se"]) == (level["l1_per_node"], level["l1_per_node_se"]) and row["error_se"] > 0
        assert (row["bias"], row["bias_se"]) == (level["bias"], level["bias_se"])
        assert row["negative"] == level["negative"] / level["nodes"] and row["counts"] == level["nodes"]
        assert row["negative_se"] == level["negative_se"] / level["nodes"]
        assert all(row[name] == cell[name] for name in ["data", "seed", "epsilon", "law", "split", "method", "options", "converged"])
        assert row["level_name"] == ["total", "group", "zone"][row["level"] - 1] and not row["known"]
        assert row["label"] == row["method"] and row["change"] == "added" and row["measure"] == "epsilon"
    assert max(frame["negative"]) > 0
    assert {row["releases"] for row in rows if row["method"] == "exact"} == {"integers"}
    assert {row["releases"] for row in rows if row["method"] == "unconstrained"} == {"do not add up"}


def test_what_is_paid_is_of_one_change(tmp_path, tree):
    run = congenial.run(tree, tmp_path / "run", progress=False)
    for change in ["added", "moved", "smallest"]:
        paid = {row["cell"]: row["epsilon_conditioned"] for row in run.privacy if row["change"] == change}
        assert column_by(run.frame(change), "cell", "paid") == paid and set(run.frame(change)["change"]) == {change}
    assert column_by(run.frame("moved"), "cell", "paid") != column_by(run.frame("added"), "cell", "paid")
    with pytest.raises(congenial.ConfigError, match="change: got `other`, want one of added, moved, smallest"):
        run.frame("other")
    # A total that is known leaves no record to be added; conditioning on counts >= 0 is bounded.
    known = {**tree, "data": {**tree["data"], "known": ["total"]}}
    known["grid"] = [{**tree["grid"][0], "method": [{"kind": "exact", "nonnegative": True}, {"kind": "bluedown"}]}]
    frame = congenial.run(known, tmp_path / "known", progress=False).frame()
    assert set(frame["change"]) == {"moved"} and set(frame["label"]) == {"exact >= 0", "bluedown >= 0"}
    assert {row["known"] for row in frame if row["level"] == 1} == {True} and {row["known"] for row in frame if row["level"] > 1} == {False}
    bounds = {row["method"]: row["paid_is_bound"] for row in frame}
    assert bounds == {"exact": True, "bluedown": False}


def test_the_frontier_is_one_table_of_what_is_paid(tmp_path, tree):
    run = congenial.run(frontier(tree), tmp_path / "run", progress=False)
    frame = run.frame()
    assert set(frame["change"]) == {"moved"} and column_by(frame, "cell", "paid") == column_by(run["frontier"], "cell", "paid")
    assert set(frame["paid"]) == {0.5, 1.0} and len(set(frame["epsilon"])) > 1
    added = {row["cell"]: row["epsilon_conditioned"] for row in run.privacy if row["change"] == "added"}
    assert column_by(run.frame("added"), "cell", "paid") == added


def test_seeds_are_all_together_or_each_by_itself(tmp_path, tree):
    data = tree["data"]
    tree["seed"] = [1, 2]
    tree["data"] = [{**data, "name": "a"}, {**data, "name": "b", "table": {**TREE, "count": [1, 2, 3, 4, 5, 6]}, "root": "all"}]
    run = congenial.run(tree, tmp_path / "run", progress=False)
    together, each = run.frame(), run.frame(by_seed=True)
    assert len(together) == 2 * 4 * 3 and together.to_pydict()["seed"] == [None] * 24 and set(together["replicates"]) == {40}
    assert len(each) == 2 * 2 * 4 * 3 and set(each["seed"]) == {1, 2} and set(each["replicates"]) == {20}
    names = {(row["data"], row["level_name"]) for row in together if row["level"] == 1}
    assert names == {("a", "total"), ("b", "all")}


def test_methods_of_ones_own_have_their_names(tmp_path, tree):
    @congenial.method
    def clip(structure, cell):
        return lambda seeds, counts: numpy.maximum(counts, cell["floor"])

    grid = [{**tree["grid"][0], "method": [{"kind": "external", "name": "clip", "floor": [0, 1]}]}]
    frame = congenial.run({**tree, "grid": grid}, tmp_path / "run", progress=False).frame()
    assert set(frame["label"]) == {"clip floor=0", "clip floor=1"}
    assert set(frame["method"]) == {"clip"} and set(frame["options"]) == {"floor=0", "floor=1"}


def test_other_studies_say_which_tables_they_have(tmp_path, tree):
    grid = [{"epsilon": 1.0, "law": "double-geometric", "method": "line-gibbs", "lag": 1, "max-steps": 10000}]
    run = congenial.run({**tree, "study": "meeting", "grid": grid}, tmp_path / "run", progress=False)
    with pytest.raises(congenial.ConfigError, match="of the study `meeting` has no errors by level.*it has the tables cells.*meetings"):
        run.frame()


def test_tables_are_frames(tmp_path, tree):
    pandas, polars, pyarrow = map(pytest.importorskip, ["pandas", "polars", "pyarrow"])
    run = congenial.run({**tree, "keep-draws": True}, tmp_path / "run", progress=False)
    for table in [*run.tables.values(), run.draws, run.frame()]:
        columns, rows = table.to_pydict(), len(table)
        assert table.to_polars().equals(polars.DataFrame(columns, schema=table.to_polars().schema), null_equal=True)
        assert table.to_arrow().to_pydict().__repr__() == columns.__repr__()
        frame = table.to_pandas()
        assert list(frame.columns) == table.columns and len(frame) == rows
        if rows == 0:
            continue
        direct = pandas.DataFrame(table)
        assert list(direct.columns) == table.columns and len(direct) == rows
        for name, values in columns.items():
            for other in (frame[name], direct[name]):
                assert [None if pandas.isna(x) else x for x in other] == [None if x is None or x != x else x for x in values]
    frame = run.errors.to_pandas()
    assert frame["level"].dtype == numpy.uint32 and frame["invariant_ok"].dtype == bool and frame["l1"].dtype == float
    assert list(run["failures"].to_pandas().columns) == ["cell", "error"]


def test_rows_are_dicts_and_the_first_are_a_table(tmp_path, tree):
    run = congenial.run(tree, tmp_path / "run", progress=False)
    columns = run.errors.to_pydict()
    rows = list(run.errors)
    assert len(rows) == len(run.errors) and rows == [dict(zip(columns, values)) for values in zip(*columns.values())]
    head = run.errors.head(7)
    assert len(head) == 7 and list(head) == rows[:7] and head.columns == run.errors.columns
    assert list(head.head(3)) == rows[:3] and len(run.errors.head(0)) == 0 and len(run.errors.head(10**6)) == len(rows)
    assert run.errors.head(0).columns == run.errors.columns and math.isclose(head["l1"].sum(), sum(row["l1"] for row in rows[:7]))


def test_notebooks_show_escaped_rows_and_the_shape(tmp_path, tree):
    zones = ["<b>a1</b>", "a2", "b&1", "b2", 'b"3', "c1"]
    tree["name"] = "a-run"
    tree["data"]["table"] = {**TREE, "zone": zones}
    run = congenial.run({**tree, "keep-draws": True}, tmp_path / "run", progress=False)
    shown = run["nodes"]._repr_html_()
    assert "nodes: 10 rows, 7 columns" in shown and "<td>&lt;b&gt;a1&lt;/b&gt;</td>" in shown and "b&amp;1" in shown and "b&quot;3" in shown
    assert "<b>" not in shown and shown.count("<tr>") == 1 + 10
    many = run.errors._repr_html_()
    assert "errors: 240 rows, the first 10 shown, 8 columns" in many and many.count("<tr>") == 1 + 10
    assert "draws: 800 rows" in run.draws._repr_html_()
    folder = congenial.open(run.folder)
    page = folder._repr_html_()
    assert "a-run: 4 cells of the study release" in page and "<pre>" in page and "<td>errors</td><td>240</td><td>8</td>" in page
    assert "…" not in shown


def test_notebooks_show_the_first_columns_of_wide_tables(tmp_path, table):
    names = [f"row{i}" for i in range(30)]
    table["data"]["table"] = {"row": [name for name in names for _ in "xy"], "column": ["x", "y"] * 30, "count": list(range(60))}
    table["grid"] = [{"epsilon": 1.0, "law": "laplace", "method": "l2"}]
    shown = congenial.run(table, tmp_path / "run", progress=False).draws._repr_html_()
    assert "draws: 4 rows, 64 columns" in shown and shown.count("<th>") == 20 + 1 and "<th>…</th>" in shown


def test_figures_are_pictures(tmp_path, tree):
    run = congenial.run(tree, tmp_path / "run", progress=False)
    figures = run.figures
    assert figures and all(name == figure.name for name, figure in figures.items())
    figure = next(iter(figures.values()))
    assert figure._repr_svg_().startswith("<svg ") and figure.title in figure.svg and figure.about and figure.name in repr(figure)
    figure.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text(encoding="utf-8") == figure.svg


def test_kept_draws_of_a_tree_say_what_is_released(tmp_path, tree):
    run = congenial.run({**tree, "keep-draws": True}, tmp_path / "run", progress=False)
    draws, counts = run.draws(), column_by(run["nodes"], "node", "count")
    assert draws.columns == ["cell", "replicate", "node", "error", "released"] and len(draws) == 4 * 20 * 10
    assert (draws["released"] == draws["error"] + [counts[node] for node in draws["node"]]).all() and draws["error"].any()
    cells = run.cells["cell"]
    with pytest.raises(congenial.ConfigError, match="release: 4 cells have draws, want one of"):
        run.release()
    for cell in cells[:2]:
        for replicate in (0, 19):
            release = run.release(cell, replicate)
            assert release.columns == ["group", "zone", "released"]
            assert release["group"] == TREE["group"] and release["zone"] == TREE["zone"]
            mine = [row["released"] for row in draws if (row["cell"], row["replicate"]) == (cell, replicate)]
            assert release["released"].tolist() == mine[4:] and release["released"].dtype == numpy.int64
            groups = run.release(cell, replicate, level="group")
            assert groups.columns == ["group", "released"] and groups["released"].tolist() == mine[1:4]
            assert list(run.release(cell, replicate, level="total")) == [{"released": mine[0]}]
    with pytest.raises(congenial.ConfigError, match=f"got the replicate 20 of the cell {cells[0]}, want one that was kept, of 0 to 19"):
        run.release(cells[0], 20)
    with pytest.raises(congenial.ConfigError, match="want an integer >= 0"):
        run.release(cells[0], -1)
    with pytest.raises(congenial.ConfigError, match="got the cell `x`, want one of cells.parquet"):
        run.release("x")
    with pytest.raises(congenial.ConfigError, match="want one of total, group, zone"):
        run.release(cells[0], level="borough")
    plain = congenial.run(tree, tmp_path / "plain", progress=False)
    with pytest.raises(congenial.ConfigError, match="it has no draws; they are kept with `keep-draws = true`"):
        plain.release(cells[0])


def test_keys_with_slashes_are_told_by_the_levels_above(tmp_path, tree):
    tree["grid"][0].update(epsilon=1.0, method="exact")
    tree["data"]["table"] = {"group": ["a/b", "a/b", "a"], "zone": ["c", "d/e", "b/c"], "count": [1, 2, 3]}
    run = congenial.run({**tree, "keep-draws": True}, tmp_path / "run", progress=False)
    release = run.release()
    assert release["group"] == ["a/b", "a/b", "a"] and release["zone"] == ["c", "d/e", "b/c"]
    zones = congenial.run({**tree, "keep-draws": ["zone"]}, tmp_path / "zones", progress=False)
    # Below one level there is one way to read a path.
    assert zones.release()["group"] == release["group"]
    deep = {"region": ["r/s", "r"], "group": ["t", "s/t"], "zone": ["u", "v"], "count": [1, 2]}
    data = {"table": deep, "count": "count", "levels": ["region", "group", "zone"]}
    run = congenial.run({**tree, "data": data, "keep-draws": ["zone"]}, tmp_path / "deep", progress=False)
    with pytest.raises(congenial.ConfigError, match="release: `r/s/t/u` joins values that have `/` themselves"):
        run.release()


def test_kept_draws_of_a_table_say_what_is_released(tmp_path, table):
    run = congenial.run(table, tmp_path / "run", progress=False)
    (cell,) = run.draws.cells()
    errors, released = run.draws(cell), run.draws(cell, released=True)
    assert errors.columns == released.columns and len(errors) == len(released) == 800
    counts = column_by(run["entries"], "name", "count")
    for name in errors.columns[3:]:
        assert (released[name] == errors[name] + counts[name]).all()
    assert (released[".draw"] == errors[".draw"]).all() and errors["a/x"].any()
    whole = run.draws(released=True)
    assert whole.columns[0] == "cell" and (whole["a/x"] == released["a/x"]).all()
    # Of a chain the last draw.
    release = run.release(replicate=2)
    assert release.columns == ["row", "column", "released"]
    assert release["row"] == TABLE["row"] and release["column"] == TABLE["column"]
    last = numpy.flatnonzero(released[".chain"] == 3)[-1]
    assert release["released"].tolist() == [released[name][last] for name in released.columns[3:]]
    with pytest.raises(congenial.ConfigError, match="a table of counts has no levels"):
        run.release(level="row")


def test_releases_of_a_table_without_chains(tmp_path, table):
    table["grid"] = [{"epsilon": 1.0, "law": "laplace", "method": "l2"}]
    del table["data"]["entry"]
    run = congenial.run(table, tmp_path / "run", progress=False)
    (cell,) = run.draws.cells()
    draws = run.draws(cell, released=True)
    for replicate in range(4):
        release = run.release(replicate=replicate)
        assert release.columns == ["entry", "released"] and release["entry"] == draws.columns[3:]
        assert release["released"].tolist() == [draws[name][replicate] for name in draws.columns[3:]]
    with pytest.raises(congenial.ConfigError, match="got the replicate 4"):
        run.release(replicate=4)
