"""The main job: train, measure and judge every claim of both papers; write the verdicts and one page.

Trains small residual networks on embedded digits (trained, at initialisation, without skips; five seeds each),
measures their residual Jacobians, simulates the Unconstrained Jacobians Model, and compares. A claim of a paper that
fails is a finding; a statement of this project that fails, or a check that breaks, exits 1. Measured networks are
kept under --out, so an interrupted run resumes and a second one is quick.

Example: python -m paper_checks --only 'RA.*' bridge.P7
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from empirical import devices
from paper_checks import claims, report
from paper_checks.evidence import gather
from sims import command
from theory.arguments import ArgumentError, whole_number


@dataclass(frozen=True)
class CheckArguments:
    """What to judge, on how many networks."""

    only: tuple[str, ...] = ()
    """Ids of claims, shell wildcards allowed; all of them if none is given."""
    seeds: int = 5
    """Networks for each condition."""
    seed: int = 0
    """First seed; the others follow it."""
    device: str = "cpu"
    """Where to train: auto (CUDA if there is one), cpu, cuda. These networks are too small to gain from a GPU."""
    fresh: bool = False
    """Train and measure again instead of reusing what --out holds."""
    list: bool = False
    """List the claims and stop."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m paper_checks``; returns the exit code."""
    arguments, output = command.parse(CheckArguments, "paper_checks", __doc__ or "", argv)
    chosen = claims.select(arguments.only)
    if arguments.list:
        command.print_table("Claims", ["claim", "mark", "source", "statement"],
                            [[c.claim, c.mark, c.source, c.statement] for c in chosen])  # fmt: skip
        return 0
    seeds = range(arguments.seed, arguments.seed + whole_number("seeds", arguments.seeds, most=1000))
    whole_number("seed", arguments.seed, least=0)
    if output.plot:
        raise ArgumentError("plot", output.plot, "is not an option here: the figures are in the page that is written")
    folder = Path(output.out or "runs/report")
    networks = folder / "networks"
    try:
        networks.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError("out", str(folder), f"cannot be made ({error.strerror}); name another folder") from None
    started = time.perf_counter()
    evidence = gather(networks, seeds, fresh=arguments.fresh, device=devices.resolve(arguments.device))
    judgements = report.judge(chosen, evidence)
    page, data = report.write(folder, judgements, evidence, seconds=time.perf_counter() - started)
    alarming = [judgement.claim.claim for judgement in judgements if judgement.alarming]
    if output.json:
        command.print_json([judgement.as_record() for judgement in judgements])
    else:
        _print(judgements, len(seeds), time.perf_counter() - started)
        print(f"Page: {page.resolve()}\nData: {data.resolve()}")
        if alarming:
            print("Not as this project expects: " + ", ".join(alarming))
    return 1 if alarming else 0


def _print(judgements: Sequence[report.Judgement], seeds: int, seconds: float) -> None:
    rows = []
    for judgement in judgements:
        entry = judgement.as_record()
        rows.append([
            entry["claim"], entry["mark"], entry["verdict"], entry["judged_on"] or "-",
            report.format_number(entry["value"]), entry["threshold"] or "-", report.format_number(entry["null"]),
            str(entry["n"]), report.format_number(entry["spread"]), f"{entry['seconds']:.1f}",
        ])  # fmt: skip
    totals = ", ".join(f"{number} {verdict}" for verdict, number in report.count(judgements).items())
    command.print_table(
        f"{len(judgements)} claims, {seeds} seeds: {totals} ({seconds:.0f} s)",
        ["claim", "mark", "verdict", "judged on", "value", "threshold", "null", "n", "spread", "s"],
        rows,
        note="judged on: the first criterion that fails, else the first",
    )


if __name__ == "__main__":
    command.run(main)
