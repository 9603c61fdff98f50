"""Everything the README shows is run as written."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^\| `python (-m [^`]+)` \|", README, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reader")


def test_the_example_on_your_own_network_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 19
    assert all(" null " in line for line in printed)
    assert example.count("\n") <= 14


def test_the_commands_of_the_table_run_in_its_order(folder):
    # The last one is the main job; tests/paper_checks covers it.
    assert COMMANDS[-1] == "-m paper_checks"
    for command in COMMANDS[:-1]:
        done = subprocess.run([sys.executable, *command.split()], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout


def test_what_the_readme_names_exists():
    for name in [
        *re.findall(r"\]\((?!http)([^)]+)\)", README),
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "CITATION.cff",
        "LICENSE",
    ]:
        assert (ROOT / name).exists(), name
    for target in re.findall(r"^make ([\w-]+)", README, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
