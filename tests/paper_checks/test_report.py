import dataclasses
import json
import re

import numpy as np
import pytest
import torch

from empirical.models import NetworkConfig
from paper_checks import __main__ as main_module
from paper_checks import claims, evidence, report
from paper_checks.verdicts import Criterion, Finding
from sims import records
from theory import ArgumentError, derivations

KEYS = {"claim", "statement", "source", "mark", "verdict", "value", "threshold", "null", "n", "spread", "seconds"}


@pytest.fixture(scope="module")
def gathered(tmp_path_factory):
    """Two seeds of every condition, the real recipes: about eight seconds of one core."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("networks")
    return folder, evidence.gather(folder, (0, 1), evidence.MeasurementConfig(inputs=16))


@pytest.fixture(scope="module")
def judged(gathered):
    return report.judge(claims.LEDGER, gathered[1])


def test_every_claim_gets_the_verdict_that_two_seeds_support(judged):
    verdicts = {judgement.claim.claim: judgement.verdict for judgement in judged}
    traces = [judgement.trace for judgement in judged if judgement.trace]
    assert not traces, traces
    expected_failures = {"LS.eq19", "LS.depth-grows"}
    assert {name for name, verdict in verdicts.items() if verdict == "fails"} == expected_failures
    assert all(verdict == "holds" for name, verdict in verdicts.items() if name not in expected_failures)
    assert not any(judgement.alarming for judgement in judged)


def test_each_entry_has_value_threshold_reason_n_and_spread(judged):
    for judgement in judged:
        entry = judgement.as_record()
        assert entry.keys() >= KEYS
        assert entry["mark"] in ("paper", "recovered", "new", "conjecture")
        for criterion in entry["criteria"]:
            assert criterion["n"] >= 1
            assert criterion["reason"]
            assert criterion["threshold"]
        json.dumps(entry, allow_nan=False)


def test_the_page_is_one_file_with_every_claim_and_no_request(gathered, judged, tmp_path):
    page, data = report.write(tmp_path, judged, gathered[1], seconds=1.0)
    html = page.read_text()
    assert len(json.loads(data.read_text())) == len(claims.LEDGER)
    for claim in claims.LEDGER:
        assert f'id="{claim.claim}"' in html
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!data:|#)""", html) == []
    assert "@import" not in html
    assert "url(" not in html
    assert html.count("<img ") == html.count('alt="') == 6
    assert "<math " in html
    assert page.stat().st_size < 8e6


def test_a_broken_check_is_shown_with_its_trace_and_the_others_go_on(gathered):
    def breaks(_):
        raise RuntimeError("the check itself is wrong")

    broken = dataclasses.replace(claims.LEDGER[0], check=breaks)
    judged = report.judge([broken, next(claim for claim in claims.LEDGER if claim.claim == "LS.Thm1")], gathered[1])
    assert [judgement.verdict for judgement in judged] == ["error", "holds"]
    assert "the check itself is wrong" in judged[0].trace
    assert judged[0].alarming
    assert judged[0].as_record()["value"] is None


def test_only_a_statement_of_ours_raises_the_alarm():
    failing = Finding((Criterion("x", 1.0, 1, "instances", "for the test", high=0.0),))
    papers, ours = (dataclasses.replace(claims.LEDGER[0], mark=mark) for mark in ("paper", "new"))
    assert not report.Judgement(papers, failing, 0.0).alarming
    assert report.Judgement(ours, failing, 0.0).alarming


def test_alignment_is_not_judged_on_networks_that_did_not_learn_or_diverged(gathered):
    checks = [claim.check for claim in claims.LEDGER if claim.claim in ("RA.RA1", "RA.RA2", "RA.RA3", "RA.RA4")]
    for attribute, value in (("test_accuracy", 0.5), ("diverged", 1)):
        spoiled = {
            name: [dataset.assign_attrs({attribute: value}) for dataset in group]
            for name, group in gathered[1].measurements.items()
        }
        for check in checks:
            finding = check(evidence.Evidence(spoiled, gathered[1].seeds))
            assert finding.verdict == "not testable here"
            assert finding.untestable


def test_a_null_network_does_not_pass_for_an_aligned_one(gathered):
    """The checks can fail: handed the untrained networks as trained ones, RA1, RA2 and RA4 do not hold."""
    measurements = gathered[1].measurements
    untrained = [dataset.assign_attrs(test_accuracy=1.0) for dataset in measurements["initial"]]
    swapped = evidence.Evidence({**measurements, "quick": untrained}, gathered[1].seeds)
    for claim in claims.LEDGER:
        if claim.claim in ("RA.RA1", "RA.RA2", "RA.RA3", "bridge.coherence"):
            assert claim.check(swapped).verdict in ("fails", "partly"), claim.claim
    slope = next(claim for claim in claims.LEDGER if claim.claim == "RA.RA4").check(swapped)
    assert not slope.criteria[0].passes
    aligned = [dataset.assign_attrs(test_accuracy=1.0) for dataset in measurements["quick"]]
    swapped = evidence.Evidence({**measurements, "initial": aligned, "noskip": aligned}, gathered[1].seeds)
    for claim in claims.LEDGER:
        if claim.claim in ("RA.initial", "RA.noskip"):
            assert claim.check(swapped).verdict == "fails", claim.claim


def test_a_killed_run_resumes_and_stale_networks_go(gathered, monkeypatch):
    folder, first = gathered
    config = evidence.MeasurementConfig(inputs=16)
    names = sorted(path.name for path in folder.iterdir())
    (folder / names[0] / "measurement" / "run.json").unlink()
    (folder / "quick-9-0123456789ab").mkdir()
    monkeypatch.setattr(evidence, "train", lambda *_, **__: pytest.fail("nothing needed training"))
    again = evidence.gather(folder, (0, 1), config)
    assert sorted(path.name for path in folder.iterdir()) == names
    for condition in evidence.CONDITIONS:
        for before, after in zip(first.measurements[condition], again.measurements[condition], strict=True):
            np.testing.assert_array_equal(before.straightness, after.straightness)


def test_the_command_prints_json_alone_and_selects(run_main, tmp_path, monkeypatch):
    small = {
        name: dataclasses.replace(
            recipe, epochs=min(recipe.epochs, 1), network=dataclasses.replace(recipe.network, depth=5)
        )
        for name, recipe in evidence.RECIPES.items()
    }
    monkeypatch.setattr(evidence, "RECIPES", small)
    code, printed = run_main(
        main_module.main, "--seeds", 1, "--only", "LS.*", "RA.RA1", "--out", tmp_path / "report", "--json"
    )
    assert code == 0
    entries = {entry["claim"]: entry for entry in json.loads(printed)}
    assert set(entries) == {"RA.RA1", "LS.Thm1", "LS.Lem4", "LS.eq19", "LS.scale-derivative", "LS.depth-grows"}
    assert entries["RA.RA1"]["verdict"] == "not testable here"
    assert (tmp_path / "report" / "report.html").exists()
    stored = next((tmp_path / "report" / "networks").glob("quick-0-*"))
    assert records.load(stored, "training").config["network"] == dataclasses.asdict(NetworkConfig(depth=5))


def test_the_ledger_lists_itself_and_ids_are_unique(run_main):
    code, printed = run_main(main_module.main, "--list")
    assert code == 0
    ids = [claim.claim for claim in claims.LEDGER]
    assert len(set(ids)) == len(ids)
    for claim in claims.LEDGER:
        assert claim.claim in printed
        assert claim.statement.endswith(".")
        assert claim.refuted_by.endswith(".")
        assert claim.derivation is None or claim.derivation in derivations.ALL


def test_bad_options_are_named(tmp_path):
    for options, message in (
        (["--only", "RA.RA9"], r"only = RA.RA9: matches no claim"),
        (["--seeds", "0"], r"seeds = 0"),
        (["--plot", "x.png"], r"plot = x.png"),
    ):
        with pytest.raises(ArgumentError, match=message):
            main_module.main(options)
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(ArgumentError, match="cannot be made"):
        main_module.main(["--out", str(blocker)])


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0, "0"), (0.99531, "0.9953"), (1e-13, "1.0e-13"), (45240.0, "4.524e+04"), (-2.258, "-2.258")],
)
def test_numbers_are_short(value, text):
    assert report.format_number(value) == text
