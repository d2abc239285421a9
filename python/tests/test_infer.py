"""Intervals from a noisy file, which a run writes."""

import pytest

import congenial


@pytest.fixture
def release(tmp_path, tree):
    grid = [{"epsilon": 0.5, "law": "double-geometric", "method": "exact"}]
    run = congenial.run({**tree, "grid": grid, "keep-draws": True}, tmp_path / "run", progress=False)
    return run.folder / "cells" / run.cells[0]["cell"] / "release.parquet"


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
