"""The suite's own rules."""

import ast
import re
from pathlib import Path

from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("theory", "sims", "empirical", "paper_checks")


def test_the_one_hypothesis_profile_has_no_deadline():
    assert settings().deadline is None
    assert HealthCheck.filter_too_much not in settings().suppress_health_check


def test_no_test_asserts_on_the_clock():
    clock = re.compile(r"time\.(time|perf_counter|monotonic|process_time)")
    for path in (ROOT / "tests").rglob("test_*.py"):
        if path.name != "test_suite.py":
            assert not clock.search(path.read_text()), path


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


def test_only_plots_draw_and_nothing_is_pickled():
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            used = imported(path)
            assert "pickle" not in used, path
            if path.name not in ("plots.py", "report.py"):
                assert "matplotlib" not in used, path


def test_importing_a_command_opens_no_drawing_window():
    # pyplot picks a display; figures here are built without it.
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            assert not re.search(r"import.*pyplot", path.read_text()), path
