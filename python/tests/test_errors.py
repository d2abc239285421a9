"""What is wrong with a config, its data or a folder is one exception, with the text of the command line."""

import subprocess
import sys

import pytest

import congenial


def refused(call, *parts, code=2):
    with pytest.raises(congenial.Error) as caught:
        call()
    text = str(caught.value)
    assert caught.value.exit_code == code and all(part in text for part in parts), text
    assert "\x1b" not in text
    return text


def test_dicts(tmp_path, tree):
    run = lambda config, **more: congenial.run(config, tmp_path / "run", progress=False, **more)
    refused(lambda: run({**tree, "replicants": 3}), "unknown field `replicants`", "[config:")
    refused(lambda: run({**tree, "grid": [{**tree["grid"][0], "law": "laplacian"}]}), "laplacian", "laplace")
    refused(lambda: run({**tree, "seed": None}), "seed: got None (NoneType), want a text, a number")
    refused(lambda: run({**tree, "seed": 2**70}), "seed: got 1180591620717411303424 (int), want an integer of 64 bits")
    refused(lambda: run({**tree, 3: 4}), "config: got the key 3 (int), want texts as keys")
    refused(lambda: run({**tree, "grid": [{**tree["grid"][0], "epsilon": [1.0, object]}]}), "grid.epsilon[1]: got <class 'object'>")
    refused(lambda: run({**tree, "grid": [{**tree["grid"][0], "epsilon": float("nan")}]}), "nan")
    refused(lambda: run(tree, threads=0), "threads: got 0, want an integer from 1 to 65535")
    refused(lambda: run(tree, sets={"grid.0.nothing": 3}), "nothing")
    refused(lambda: run(3), "config: got int, want the path of a TOML file or a dict with its keys")
    data = {**tree["data"], "table": "nowhere.csv"}
    refused(lambda: run({**tree, "data": data}), "nowhere.csv: cannot")
    data = {**tree["data"], "table": {"zone": ["a"], "count": [1]}}
    refused(lambda: run({**tree, "data": data}), "frame: no column `group`; the file has zone, count")
    assert not (tmp_path / "run").exists() and not (tmp_path / "run.partial").exists()


def test_files_have_the_text_of_the_command_line(tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('name = "c"\nseed = 1\nreplicates = 0\n[data]\ntable = "t.csv"\ncount = "n"\nlevels = ["z"]\n')
    text = refused(lambda: congenial.run(config), "config.toml")
    done = subprocess.run([sys.executable, "-m", "congenial", "run", config], capture_output=True, text=True)
    assert done.returncode == 2
    words = lambda text: [word for word in text.split() if any(c.isalnum() for c in word)]
    # The same words, whatever lines they stand in.
    assert words(text) == words(done.stderr), (text, done.stderr)
    refused(lambda: congenial.run(tmp_path / "nowhere.toml"), "nowhere.toml: cannot read the config")


def test_folders(tmp_path, tree):
    refused(lambda: congenial.open(tmp_path), "manifest.json", code=2)
    run = congenial.run(tree, tmp_path / "run", progress=False)
    refused(lambda: congenial.run({**tree, "seed": 9}, tmp_path / "run", progress=False), "holds the run of another config")
    (tmp_path / "taken").mkdir()
    refused(lambda: congenial.run(tree, tmp_path / "taken", progress=False), "is not the folder of a run")
    path = run.folder / "errors.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    refused(lambda: congenial.open(run.folder), "errors.parquet: it is not the file of this run")
    refused(lambda: congenial.compare(run, run), "errors.parquet")
    refused(lambda: congenial.compare(run, run, margin=-1), "margin: got -1, want a number >= 0")
    refused(lambda: congenial.compare(run, run, level=2), "level: got 2, want a number in (0, 1)")
    refused(lambda: congenial.verify({**tree, "seed": "x"}), "seed")
