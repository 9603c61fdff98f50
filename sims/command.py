"""What every command shares: options, the one-line error, exit codes, the table and the JSON line.

Exit codes: 0 done, 1 a check failed, 2 a bad argument, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import tyro
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from theory.arguments import ArgumentError, whole_number

Config = TypeVar("Config")


@dataclass(frozen=True)
class Output:
    """Where results go, beside the table that is always printed, and how many threads compute them."""

    plot: str | None = None
    """Draw the result into this file (.png, .svg or .pdf)."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else."""
    out: str | None = None
    """Save the run (measurements.nc, run.json) in this folder."""
    overwrite: bool = False
    """Replace the run in --out if there is one."""
    threads: int = 1
    """CPU threads. One is fastest for matrices this small, and the last digits depend on the number."""


def parse(
    config_type: type[Config], module: str, description: str, argv: Sequence[str] | None
) -> tuple[Config, Output]:
    """Read the options of ``config_type`` and of ``Output``; a bad option raises ArgumentError instead of a panel."""
    arguments = dataclasses.make_dataclass("Arguments", [("config", config_type), ("output", Output)])
    shown = io.StringIO()
    try:
        with contextlib.redirect_stderr(shown):
            parsed = tyro.cli(
                tyro.conf.OmitArgPrefixes[tyro.conf.OmitSubcommandPrefixes[arguments]],
                args=list(argv) if argv is not None else None,
                prog=f"python -m {module}",
                description=description,
                config=(tyro.conf.FlagCreatePairsOff,),
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        raise _as_argument_error(shown.getvalue(), module) from None
    threads = whole_number("threads", parsed.output.threads)
    torch.set_num_threads(threads)
    threadpool_limits(threads)
    return parsed.config, parsed.output


def run(main: Callable[[Sequence[str] | None], int]) -> None:
    """Call ``main`` and leave the process with its exit code; errors at the door become one line and code 2."""
    try:
        code = main(None)
    except ArgumentError as error:
        print(f"error: {error}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print("interrupted; finished runs are kept", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        sys.stderr.close()
        code = 0
    sys.exit(code)


def print_json(result: Any) -> None:
    """Print ``result`` as one JSON document; NaN and infinity are refused rather than written."""
    print(json.dumps(result, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, note: str = "") -> None:
    """Print a table of strings under ``title``; numbers are right-aligned, the first column is not."""
    table = Table(title=title, caption=note or None, title_justify="left", caption_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    # Piped output has no terminal to fit; a fixed width keeps columns from being folded away.
    width = None if sys.stdout.isatty() else 160
    Console(width=width, highlight=False).print(table)


def _as_argument_error(panel: str, module: str) -> ArgumentError:
    """One line out of the option parser's panel: a title, the problem, then rules and further help."""
    lines = [line.strip("│ ") for line in panel.splitlines()[1:]]
    sections = " ".join("\n" if set(line) <= set("─╰╯") else line for line in lines).split("\n")
    problem, further = (" ".join(sections[0].split()), " ".join(" ".join(sections[1:]).split()))
    hint = f"see python -m {module} --help"
    if found := re.match(r"Unrecognized options: (.*)", problem):
        suggestion = re.search(r"Perhaps you meant: (\S+)", further)
        meant = f"did you mean {suggestion.group(1)}? " if suggestion else ""
        return ArgumentError("options", found.group(1), f"not known to this command; {meant}{hint}")
    if found := re.match(r"Error parsing (\S+): (.*)", problem):
        value = re.search(r"'([^']*)'", found.group(2))
        return ArgumentError(found.group(1), value.group(1) if value else "(as given)", f"{found.group(2)}; {hint}")
    if found := re.match(r"invalid choice '(.*?)' for argument '(.*?)'. Expected (one of .*)\.$", problem):
        choices = re.sub(r"[()']", "", found.group(3))
        return ArgumentError(found.group(2), found.group(1), f"must be {choices}; {hint}")
    if found := re.match(r"Missing value for argument '(.*?)'", problem):
        return ArgumentError(found.group(1), "(nothing)", f"needs a value; {hint}")
    return ArgumentError("options", "(as given)", f"{problem.rstrip('.')}; {hint}")
