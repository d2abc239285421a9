"""What docs/how-to/python.md shows of the package runs, block after block."""

import pytest
from conftest import ROOT, TREE


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    for library in ["polars", "pandas", "pyarrow"]:
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    lines = ["group,zone,count"] + [f"{g},{z},{c}" for g, z, c in zip(*TREE.values())]
    (tmp_path / "counts.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "study.toml").write_text(
        'name = "study"\nseed = 1\nreplicates = 1000\n[data]\ntable = "counts.csv"\ncount = "count"\nlevels = ["group", "zone"]\n'
        '[[grid]]\nepsilon = 1.0\nlaw = "double-geometric"\nmethod = "exact"\n'
    )
    blocks = (ROOT / "docs/how-to/python.md").read_text().split("```py\n")[1:]
    space = {}
    for block in blocks:
        exec(compile(block.split("```")[0], "python.md", "exec"), space)
    assert len(blocks) == 8 and space["released"].min() >= 0 and len(space["clipped"].cells) == 6
    assert "2 cells" not in capsys.readouterr().err
