"""From findings to ``report.json`` and one self-contained ``report.html`` (no network, no script needed to read it)."""

from __future__ import annotations

import base64
import io
import json
import math
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from matplotlib.figure import Figure
from tqdm import tqdm

from paper_checks import mathml, plots
from paper_checks.claims import Claim
from paper_checks.evidence import Evidence
from paper_checks.verdicts import Criterion, Finding, Verdict
from sims import records


@dataclass(frozen=True)
class Judgement:
    """A claim with what its check found, how long it took, and the trace if the check broke."""

    claim: Claim
    finding: Finding | None
    seconds: float
    trace: str = ""

    @property
    def verdict(self) -> Verdict:
        """The finding's verdict, or "error" if the check broke."""
        return self.finding.verdict if self.finding else "error"

    @property
    def headline(self) -> Criterion | None:
        """The criterion shown in the table: the first that fails, else the first."""
        if not self.finding or not self.finding.criteria:
            return None
        return next((each for each in self.finding.criteria if not each.passes), self.finding.criteria[0])

    @property
    def alarming(self) -> bool:
        """Whether this should stop a build: a broken check, or a statement of ours that does not hold."""
        return self.verdict == "error" or (self.claim.ours and self.verdict in ("fails", "partly"))

    def as_record(self) -> dict:
        """The entry of ``report.json``: plain values, nothing that is not finite."""
        headline = self.headline
        finding = self.finding
        return {
            "claim": self.claim.claim,
            "statement": self.claim.statement,
            "source": self.claim.source,
            "mark": self.claim.mark,
            "verdict": self.verdict,
            "value": _finite(headline.value) if headline else None,
            "threshold": headline.threshold if headline else None,
            "null": _finite(headline.null) if headline else None,
            "n": headline.n if headline else 0,
            "spread": _finite(headline.spread) if headline else None,
            "seconds": round(self.seconds, 3),
            "judged_on": headline.name if headline else None,
            "refuted_by": self.claim.refuted_by,
            "note": (finding.untestable or finding.note) if finding else self.trace,
            "criteria": [
                {
                    "name": each.name, "value": _finite(each.value), "threshold": each.threshold, "passes": each.passes,
                    "null": _finite(each.null), "n": each.n, "of": each.what, "spread": _finite(each.spread),
                    "reason": each.reason,
                }
                for each in (finding.criteria if finding else ())
            ],
        }  # fmt: skip


def judge(claims: Sequence[Claim], evidence: Evidence) -> list[Judgement]:
    """Run every check; one that breaks is recorded with its trace, and the others go on."""
    judgements = []
    for claim in tqdm(claims, desc="claims", leave=False, disable=None):
        started = time.perf_counter()
        try:
            finding, trace = claim.check(evidence), ""
        except Exception:
            finding, trace = None, traceback.format_exc()
        judgements.append(Judgement(claim, finding, time.perf_counter() - started, trace))
    return judgements


def write(folder: Path, judgements: Sequence[Judgement], evidence: Evidence, *, seconds: float) -> tuple[Path, Path]:
    """Write ``report.json`` and ``report.html`` into ``folder``, each atomically; returns their paths (page first)."""
    entries = [judgement.as_record() for judgement in judgements]
    data = records.write_bytes(folder / "report.json", json.dumps(entries, indent=1, allow_nan=False).encode())
    wanted = {judgement.claim.figure for judgement in judgements}
    figures = [
        {"name": name, "anchor": name.replace(" ", "-"), "title": figure.title, "caption": figure.caption, "alt": figure.alt,
         "source": _embedded(figure.draw(evidence))}
        for name, figure in plots.FIGURES.items()
        if name in wanted
    ]  # fmt: skip
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["number"] = format_number
    page = environment.get_template("report.html").render(
        judgements=[_page_entry(judgement) for judgement in judgements],
        figures=figures,
        counts=count(judgements),
        seeds=list(evidence.seeds),
        inputs=evidence.inputs,
        accuracy={name: evidence.accuracy(name) for name in evidence.measurements},
        provenance=records.provenance(),
        seconds=seconds,
    )
    return records.write_bytes(folder / "report.html", page.encode()), data


def count(judgements: Sequence[Judgement]) -> dict[str, int]:
    """How many claims got each verdict; verdicts that nobody got are left out."""
    order = ("holds", "partly", "fails", "not testable here", "error")
    totals = {verdict: sum(judgement.verdict == verdict for judgement in judgements) for verdict in order}
    return {verdict: total for verdict, total in totals.items() if total}


def format_number(value: float | None) -> str:
    """Four significant digits, powers of ten only where they help, a dash for a missing value."""
    if value is None:
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}"
    return f"{value:.1e}"


def _page_entry(judgement: Judgement) -> dict:
    derivation = judgement.claim.derivation() if judgement.claim.derivation else None
    return {
        **judgement.as_record(),
        "anchor": judgement.claim.claim,
        "ours": judgement.claim.ours,
        "figure": judgement.claim.figure,
        "trace": judgement.trace,
        "derivation": derivation and {
            "assumptions": derivation.assumptions,
            "conclusion": derivation.conclusion,
            "stands": not derivation.failures(),
            "steps": [{"mathml": mathml.equation(step.left, step.right), "because": step.because} for step in derivation.steps],
        },
    }  # fmt: skip


def _embedded(figure: Figure) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
