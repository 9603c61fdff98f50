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

import tyro
from rich.console import Console
from rich.table import Table

from theory.arguments import ArgumentError

Config = TypeVar("Config")


@dataclass(frozen=True)
class Output:
    """Where results go, beside the table that is always printed."""

    plot: str | None = None
    """Draw the result into this file (.png, .svg or .pdf)."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else."""
    out: str | None = None
    """Save the run (measurements.nc, run.json) in this folder."""
    overwrite: bool = False
    """Replace the run in --out if there is one."""


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
    """One line out of the option parser's panel, whose first sentence says what is wrong."""
    text = " ".join(re.sub(r"[╭╮╰╯│─]+", " ", panel).split())
    hint = f"see python -m {module} --help"
    if unknown := re.search(r"Unrecognized options: (.*?) For full helptext", text):
        return ArgumentError("options", unknown.group(1), f"not known to this command; {hint}")
    if unreadable := re.search(r"Error parsing (--?[\w-]+|\S+): (.*?)('[^']*')", text):
        option, problem, value = unreadable.groups()
        return ArgumentError(option, value.strip("'"), f"{problem.strip(' :')}; {hint}")
    option = re.search(r"--[A-Za-z][\w-]*", text)
    problem = text.split(" Argument helptext")[0].split(" For full helptext")[0]
    return ArgumentError(option.group(0) if option else "options", "(as given)", f"{problem.rstrip('.')}; {hint}")
