"""Intervals, models and likelihoods from a noisy file, which a run writes or a test."""

import builtins

import numpy
import pytest
from conftest import ROOT

import congenial

# Six areas below two groups with known totals; law, scale and method are the same everywhere.
COUNTS = {("a", "a1"): 25, ("a", "a2"): 9, ("a", "a3"): 31, ("b", "b1"): 14, ("b", "b2"): 12, ("b", "b3"): 40}


@pytest.fixture
def areas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sums = {group: sum(count for (of, _), count in COUNTS.items() if of == group) for group in "ab"}
    rows = [("", "", sum(sums.values()), "false")] + [(group, "", count, "true") for group, count in sums.items()]
    rows += [(*keys, count, "false") for keys, count in COUNTS.items()]
    lines = [f"{group},{zone},{count},double-geometric,4,{known},unconstrained" for group, zone, count, known in rows]
    (tmp_path / "release.csv").write_text("group,zone,value,law,scale,known,method\n" + "\n".join(lines) + "\n")
    lines = [f"{group},{zone},{i % 2},{500 + 100 * i},{10 + i}" for i, (group, zone) in enumerate(COUNTS)]
    (tmp_path / "leaves.csv").write_text("group,zone,exposed,population,expected\n" + "\n".join(reversed(lines)) + "\n")
    return tmp_path / "release.csv"


@pytest.fixture
def release(tmp_path, tree):
    grid = [{"epsilon": 0.5, "law": "double-geometric", "method": "exact"}]
    run = congenial.run({**tree, "grid": grid, "keep-draws": True}, tmp_path / "run", progress=False)
    return run.folder / "cells" / run.cells["cell"][0] / "release.parquet"


def test_intervals_of_a_release(release, tmp_path):
    inferred = congenial.infer(release, level=0.8)
    rows = list(inferred.intervals)
    assert inferred.guaranteed and "whatever the counts are" in str(inferred)
    assert [row["of"] for row in rows[:1]] == ["total"] and {row["of"] for row in rows} == {"total", "group", "zone"}
    assert all(row["low"] <= row["high"] and row["level"] == 0.8 and row["found_by"] == "law" for row in rows)
    assert all(row["low"] >= 0 for row in rows)
    leaves = [row for row in rows if row["of"] == "zone"]
    districts = tmp_path / "districts.csv"
    lines = [f"{row['group']},{row['zone']},both" for row in leaves[:2]]
    districts.write_text("group,zone,name\n" + "\n".join(lines) + "\n")
    [both] = [row for row in congenial.infer(release, districts).intervals if row["of"] == "district"]
    assert both["name"] == "both" and both["estimate"] == sum(row["estimate"] for row in leaves[:2])


def test_ratios_of_districts(release, tmp_path):
    zones = [row for row in congenial.infer(release).intervals if row["of"] == "zone"][:2]
    districts = tmp_path / "districts.csv"
    lines = [f"{row['group']},{row['zone']},{name}" for row, name in zip(zones, "AB")]
    districts.write_text("group,zone,name\n" + "\n".join(lines) + "\n")
    inferred = congenial.infer(release, districts, ratios=[("A", "B"), "B/A"])
    one, other = inferred.ratios
    above, below = (max(row["estimate"], 0) for row in zones)
    assert (one["ratio"], other["ratio"]) == ("A/B", "B/A") and one["guaranteed"] and one["found_by"] == "law"
    assert below == 0 or one["estimate"] == pytest.approx(above / below)
    assert one["low"] <= one["high"] and other["low"] <= other["high"]
    # The same angles from the other side.
    assert other["low"] == pytest.approx(1 / one["high"] if one["high"] > 0 else numpy.inf, rel=1e-6, abs=1e-9)
    assert "Ratios" in inferred.page and congenial.infer(release).ratios is None
    with pytest.raises(congenial.ConfigError, match="want the names of two"):
        congenial.infer(release, districts, ratios=["A/C"])


def test_a_posterior_of_a_release(release):
    inferred = congenial.infer(release, prior="poisson")
    assert not inferred.guaranteed and "which makes the release most likely" in inferred.page.replace("\n", " ")
    assert {row["found_by"] for row in inferred.intervals} == {"posterior"}


def test_what_is_refused(release):
    with pytest.raises(congenial.ConfigError, match="prior: got `gamma`, want flat"):
        congenial.infer(release, prior="gamma")
    with pytest.raises(congenial.ConfigError, match="level: got 2, want a number above 0"):
        congenial.infer(release, level=2)
    with pytest.raises(congenial.ConfigError, match="no_such"):
        congenial.infer("no_such.csv")


def test_the_page_runs(areas):
    pytest.importorskip("scipy")
    blocks = (ROOT / "docs/how-to/infer.md").read_text().split("```py\n")[1:]
    assert len(blocks) == 1
    space = {}
    exec(compile(blocks[0].split("```")[0], "infer.md", "exec"), space)
    # The optimum of scipy is ours.
    assert numpy.allclose(space["found"].x, space["model"]["estimate"], atol=1e-4)
    assert list(space["model"]["coefficient"]) == ["intercept", "exposed"]


def test_a_likelihood(areas):
    likelihood = congenial.Likelihood(areas)
    assert likelihood.leaves == list(COUNTS) and likelihood.levels == ["group", "zone"]
    means = numpy.array([20.0, 11, 25, 16, 13, 30])
    value, gradient = likelihood(means)
    assert isinstance(value, float) and gradient.shape == (6,)
    for i in range(6):
        above, below = (likelihood(means * numpy.exp(h * (numpy.arange(6) == i)))[0] for h in [1e-4, -1e-4])
        assert abs((above - below) / 2e-4 - gradient[i]) < 1e-5
    value, gradient, by_size = likelihood(means, size=3)
    above, below = (likelihood(means, size=3 * numpy.exp(h))[0] for h in [1e-4, -1e-4])
    assert abs((above - below) / 2e-4 - by_size) < 1e-5
    with pytest.raises(congenial.ConfigError, match="means: got 5, want one per leaf"):
        likelihood(means[1:])
    with pytest.raises(congenial.ConfigError, match="mean: got -1"):
        likelihood(means - 12)
    with pytest.raises(congenial.ConfigError, match="no_such"):
        congenial.Likelihood("no_such.csv")


def test_a_model(areas):
    inferred = congenial.infer(areas, leaves="leaves.csv", model="poisson", covariates=["exposed"], offset="population")
    assert "What the release says of the model" in inferred.page and len(inferred.model) == 2
    low, estimate, high = (inferred.model[name][1] for name in ["low", "estimate", "high"])
    assert low < estimate < high
    with pytest.raises(congenial.ConfigError, match="model: got `normal`, want poisson"):
        congenial.infer(areas, leaves="leaves.csv", model="normal")
    with pytest.raises(congenial.ConfigError, match="want a table of leaves"):
        congenial.infer(areas, model="poisson")
    with pytest.raises(congenial.ConfigError, match="want `model`, too"):
        congenial.infer(areas, leaves="leaves.csv", covariates=["exposed"])


def test_draws(areas, monkeypatch):
    inferred = congenial.infer(areas, prior="poisson:expected", leaves="leaves.csv", bounds=("expected", None), draws=500)
    assert inferred.draws.shape == (500, 9)
    assert (inferred.draws[:, 0] == sum(COUNTS.values())).all() and (inferred.draws[:, 3:6].sum(axis=1) == 65).all()
    assert (inferred.draws[:, 3:] >= numpy.arange(10, 16)).all()
    # Five standard errors.
    rows = list(inferred.intervals)
    for place, row in enumerate(rows):
        off = abs(inferred.draws[:, place].mean() - row["estimate"])
        assert off <= 5 * row["standard_deviation"] / 500**0.5 + 1e-9
    with pytest.raises(congenial.ConfigError, match="draws: want a prior"):
        congenial.infer(areas, draws=10)
    with pytest.raises(congenial.ConfigError, match="no draws were kept"):
        congenial.infer(areas).to_arviz()
    real = builtins.__import__
    monkeypatch.setattr(congenial.importlib, "import_module", lambda name: real("no_such_arviz"))
    with pytest.raises(ImportError, match="ArviZ is not installed"):
        inferred.to_arviz()


def test_draws_for_arviz(areas):
    pytest.importorskip("arviz")
    inferred = congenial.infer(areas, prior="nonnegative", draws=50)
    posterior = inferred.to_arviz().posterior
    assert posterior["zone"].shape == (1, 50, 6) and posterior["total"].shape == (1, 50)
    assert (posterior["zone"].sel(zone_keys="a, a2").values[0] == inferred.draws[:, 4]).all()


def test_tables_of_attributes_in_areas(tmp_path):
    """Answers of every query in every area; under normal noise they hold whatever the counts are."""
    tables, noisy = tmp_path / "tables.toml", tmp_path / "noisy.csv"
    queries = '[[query]]\nof = ["sex"]\n[[query]]\nof = []\n'
    tables.write_text('[data]\nlevels = ["street"]\nattributes = { sex = ["f", "m"] }\n' + queries)
    lines = [",total,,9,gaussian,1,true"]
    lines += [f"{street},sex,{sex},{value},gaussian,2,false" for street, sex, value in ("Af4", "Am1", "Bf4", "Bm0")]
    noisy.write_text("street,query,sex,value,law,scale,known\n" + "\n".join(lines) + "\n")
    inferred = congenial.infer(noisy, tables=tables)
    assert inferred.guaranteed and "whatever the counts are" in " ".join(inferred.page.split())
    rows = list(inferred.intervals)
    # Three areas with two answers and a total each.
    assert [row["of"] for row in rows] == ["total"] * 3 + ["street"] * 6
    for women, men, total in (rows[at : at + 3] for at in (0, 3, 6)):
        assert abs(women["estimate"] + men["estimate"] - total["estimate"]) < 1e-9
        assert (women["query"], women["sex"], total["sex"]) == ("sex", "f", "")
    with pytest.raises(congenial.ConfigError, match="a prior: want none"):
        congenial.infer(noisy, tables=tables, prior="flat")
