"""Every claim of the papers has a verdict, and the tables in `papers/*/README.md` equal the
results.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import documents as d
import polars as pl
import pytest
from command import EXPERIMENTS, load_script
from swaplab import BadInput, _core, report
from swaplab.analysis import ablation, papers, papers_in_vm, papers_published, papers_users, papers_verdict, sensitivity
from swaplab.analysis.papers_users import IO, User
from swaplab.analysis.sensitivity import ClaimedConclusion, SensitivityFile
from swaplab.core import experiment as experiments
from swaplab.core.model import Experiment, Row, SeedRow, Spread
from swaplab.core.statistics import Interval
from swaplab.report import paper as paper_view

PAPERS = Path(__file__).resolve().parents[2] / "papers"


@pytest.mark.papers
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ["a2s", "dr-swap", "later-designs", "nvm-swap-cache", "spo-clock", "swapbench"])
def test_the_table_has_the_measured_verdicts(name: str) -> None:
    claimed = (PAPERS / name / "README.md").read_text().split("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in claimed.splitlines() if line.startswith("| ")]
    table = {row[0].strip(): (row[2].strip(), row[3].strip()) for row in rows}
    claims = list(papers.check([name]))
    for claim in claims:
        said = table[claim.claim]
        if claim.verdict == "not-testable" and said[1] != "not-testable":
            assert papers.data_folder() is None, claim.claim
            continue
        # The verdicts are equal, and so are the figures whose data is available.
        assert said == (claim.ours or "-", claim.verdict)
    assert len(table) == 1 + len(claims)


@pytest.mark.papers
@pytest.mark.timeout(1200)
def test_the_ablation_says_what_comes_out() -> None:
    text = (PAPERS / "ablation" / "README.md").read_text()
    assert ablation.markdown(ablation.ablation(ablation.read_ablation())) in text


@pytest.mark.papers
@pytest.mark.skipif("SWAPLAB_SOAK_SECONDS" not in os.environ, reason="minutes long: make soak")
@pytest.mark.parametrize("name", ["a2s", "dr-swap", "swapbench"])
def test_the_section_about_the_kernel_has_the_measured_verdicts(name: str) -> None:
    text = (PAPERS / name / "README.md").read_text()
    assert papers_in_vm.section(name, papers_in_vm.claim_table(name, list(papers.check([name], vm=True)))) in text


def test_every_claim_about_the_kernel_is_in_its_paper() -> None:
    for name in papers.names():
        section = (PAPERS / name / "README.md").read_text().partition(f"\n{papers_in_vm.HEAD}\n")[2].partition("\n## ")[0]
        rows = [line.split(" | ")[0].removeprefix("| ") for line in section.splitlines() if line.count(" | ") == 6]
        assert rows[1:] == [claim.claim for claim in papers.expected(name).vm]


def test_verdicts_follow_the_band(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = tmp_path / "p"
    paper.mkdir()
    row = '[[claim]]\nclaim = "c"\npublished = "x"\nwhy = "w"\n'
    band = 'band = [1.0, 2.0]\nmeasure = "m"\n'
    (paper / "expected.toml").write_text(row + band + row + row + band + 'met = "arithmetic"\n' + row + band + 'missed = "not-testable"\n')
    monkeypatch.setattr(papers, "folder", lambda: tmp_path)

    def verdicts(value: str) -> list[str]:
        (paper / "measure.py").write_text(f"from swaplab.analysis.papers import Measured\ndef m():\n    return {value}\n")
        return [claim.verdict for claim in papers.check()]

    assert verdicts("Measured(1.5, '')") == ["reproduced", "not-testable", "arithmetic", "reproduced"]
    assert verdicts("Measured(3, '')") == ["differs", "not-testable", "differs", "not-testable"]
    assert verdicts("Measured(3, '', ordered=True)") == ["sign-only", "not-testable", "sign-only", "not-testable"]
    assert verdicts("None") == ["not-testable"] * 4
    with pytest.raises(BadInput, match="no paper 'q'; expected one of: p"):
        list(papers.check(["q"]))


def test_a_verdict_needs_direction_size_and_more_than_four_programs() -> None:
    """Worked by hand: a gain published as 9 to 12, no effect at 0. 27 is three times 9 and 36 three
    times 12; 3 is a third of 9.
    """

    def verdict(value: float, ordered: bool | None = None, low: float = 0.1, high: float = 99.0, n: int | None = None) -> str:
        measured = papers.Measured(value, "", ordered, Interval(low, high) if n is None else None, n)
        return papers_verdict.verdict((9.0, 12.0), 0.0, "reproduced", None, measured)

    assert [verdict(value) for value in (10.0, 3.0, 2.9, 36.0, 36.1, -1.0, 0.0)] == [
        "reproduced",
        "ordering",
        "sign-only",
        "ordering",
        "sign-only",
        "differs",
        "differs",
    ]
    # An interval that contains no effect establishes nothing, inside the band or outside; neither
    # do four programs.
    assert (verdict(10.0, low=-0.1), verdict(5.0, low=-0.1)) == ("sign-only", "sign-only")
    assert (verdict(10.0, n=4), verdict(10.0, n=5), verdict(5.0, n=4), verdict(5.0, n=5)) == (
        "sign-only",
        "reproduced",
        "sign-only",
        "ordering",
    )
    # With nothing to compare there is no verdict.
    assert verdict(0.0, n=0) == "not-testable"
    # A measure that finds the order broken overrules the mean's side.
    assert (verdict(5.0, ordered=False), verdict(5.0, ordered=True)) == ("differs", "ordering")


def test_a_verdict_of_a_ratio_a_fall_and_of_no_difference() -> None:
    """Worked by hand: kills to 0.30 to 0.37 times, no effect at 1: the smallest published effect is
    0.63, a third of it 0.21.
    """

    def fall(value: float) -> str:
        return papers_verdict.verdict((0.30, 0.37), 1.0, "reproduced", None, papers.Measured(value, "", interval=Interval(0.0, 0.99)))

    assert [fall(value) for value in (0.35, 0.78, 0.8, 1.2)] == ["reproduced", "ordering", "sign-only", "differs"]

    def alike(value: float) -> str:
        return papers_verdict.verdict((-5.0, 5.0), 0.0, "reproduced", None, papers.Measured(value, "", interval=Interval(-9.0, 9.0)))

    # "Alike" claims no direction: an interval around no difference supports it, and outside the
    # band there is no order to hold.
    assert (alike(1.0), alike(8.0)) == ("reproduced", "differs")
    # What follows from constants or from our own generator keeps its verdict, whatever n.
    for met in ("arithmetic", "premise-built"):
        assert papers_verdict.verdict((1.0, 2.0), 0.0, met, None, papers.Measured(1.5, "", n=1)) == met
    assert (
        papers_verdict.verdict((1.0, 1.0), 0.0, "reproduced", "internally-inconsistent", papers.Measured(9, ""))
        == "internally-inconsistent"
    )


def test_an_interval_draws_users_with_all_that_they_did() -> None:
    """Of two users the mean is one's, the other's or between; a difference within each user is
    sure, however far users are apart.
    """

    def row(*values: float) -> Row:
        return d.row("x", "phone", by_seed=[SeedRow(seed=at, figures={"n": value}) for at, value in enumerate(values)])

    ours, theirs = row(0.0, 10.0), row(-1.0, 9.0)
    assert papers.interval([ours], lambda mean: mean("n")) == "95 %: 0.0 to 10.0"
    assert papers.interval([ours, theirs], lambda one, other: one("n") - other("n"), "+.2f") == "95 %: +1.00 to +1.00"
    assert papers.interval([row(1.0)], lambda mean: mean("n")) == ""


def test_the_generated_trace_has_the_skew_it_promises(tmp_path: Path) -> None:
    generate = load_script(PAPERS / "nvm-swap-cache" / "generate.py")
    parameters: dict[str, Any] = tomllib.loads((PAPERS / "nvm-swap-cache" / "experiment.toml").read_text())["generated"]
    trace = tmp_path / "t.csv"
    trace.write_text("\n".join(generate.block_csv(parameters | {"pages": 4000})) + "\n")
    found = json.loads(_core.trace_analyze(trace, "{}", None))["accesses"]
    assert found["top_share"]["0.15"] == pytest.approx(parameters["hot_share_of_accesses"], abs=0.01)
    assert found["single_access_ratio"] == pytest.approx(parameters["single_access_share_of_data"], abs=0.01)


def test_a_conclusion_is_stated_only_if_it_holds_for_every_phone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three parameters of a phone with fixed figures: resumes hold, swap-out fails twice, and one
    phone has nothing to compare.
    """
    figures = iter([(10, 8, 100, 50), (10, 9, 100, 99), (10, 9, 100, 100), (12, 11, 0, 0), (10, 9, 100, 20), (10, 9, 0, 20), (11, 9, 8, 4)])

    def run(wanted: Experiment) -> list[Row]:
        with_swap, without, vanilla, gated = next(figures)
        rows = []
        for name, resumes, out in (("no swap", without, 0), ("vanilla flash swap", with_swap, vanilla), ("A2S", with_swap, gated)):
            launched = d.launches(1.0).model_copy(update={"resumes": float(resumes)})
            rows.append(d.phone_row(name, [1.0], launches=launched, paging={"swap_out_bytes": out}))
        return rows

    base = experiments.build(machine={"base": "nexus-5"}, design=[{"swap": "none"}], workload={"launches": "large"}, run={"on": ["phone"]})
    monkeypatch.setattr(sensitivity, "base_experiment", lambda name, wanted, seeds=None: base)
    wanted = sensitivity.read_sensitivity("a2s")
    compared = [
        ClaimedConclusion(claim="gains", of="A2S", than="no swap", what="launches.resumes", more=True),
        ClaimedConclusion(claim="less", of="A2S", than="vanilla flash swap", what="paging.swap_out_bytes"),
    ]
    changed = wanted.model_copy(update={"parameter": wanted.parameter[:3], "conclusion": compared})
    found = sensitivity.sensitivity("a2s", changed, 1, run)
    gains, less = found.conclusions
    assert (gains.holds, gains.phones, gains.stated) == (7, 7, True)
    assert (less.holds, less.phones, less.stated, less.most) == (4, 6, False, math.inf)
    assert found.model_validate_json(found.model_dump_json()) == found
    text = sensitivity.markdown(found)
    # As assumed, 10 launches are resumes where 8 were, and 50 pages are swapped out where 100 were.
    assert "`launches.resumes` | 1.250 |" in text and "`paging.swap_out_bytes` | 0.500 |" in text
    assert "| yes |" in text and "| no |" in text and "**1.000**" in text and "**inf**" in text and "| - |" in text


def test_a_phone_into_which_no_app_fits_is_named_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its conclusions are not compared; other bad input still ends the run."""
    base = experiments.build(machine={"base": "nexus-5"}, design=[{"swap": "none"}], workload={"launches": "large"}, run={"on": ["phone"]})
    monkeypatch.setattr(sensitivity, "base_experiment", lambda name, wanted, seeds=None: base)
    wanted = sensitivity.read_sensitivity("a2s")
    changed = wanted.model_copy(update={"parameter": wanted.parameter[:1], "conclusion": wanted.conclusion[:1]})

    def run(point: Experiment) -> list[Row]:
        raise BadInput(
            "machine.dram: 9 of 10 frames are in use; expected more" if point == base else "workload.apps: wrong; expected others"
        )

    with pytest.raises(BadInput, match="workload.apps: wrong"):
        sensitivity.sensitivity("a2s", changed, 1, run)
    found = sensitivity.sensitivity("a2s", changed.model_copy(update={"parameter": []}), 1, run)
    assert found.phones[0].unfit and found.conclusions[0].phones == 0 and not found.conclusions[0].stated
    assert "| as assumed | no app fits |" in sensitivity.markdown(found)


@pytest.mark.parametrize(("name", "parameters"), [("a2s", 26), ("dr-swap", 12), ("nvm-swap-cache", 12), ("swapbench", 12)])
def test_every_parameter_is_a_key_of_the_papers_experiment(name: str, parameters: int) -> None:
    """Each end of each range is an experiment that the core takes, and differs from the phone as it
    is.
    """
    wanted: SensitivityFile = sensitivity.read_sensitivity(name)
    base = sensitivity.base_experiment(name, wanted, 1)
    assert {design.name for design in base.design} == set(wanted.designs) and len(wanted.parameter) == parameters
    shipped = experiments.at(base, {})
    for parameter in wanted.parameter:
        ends = [experiments.at(base, point) for point in (parameter.low, parameter.high)]
        assert ends[0] != ends[1] and shipped not in ends, parameter.name


def test_a_sensitivity_names_what_is_wrong_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="no sensitivity of 'spo-clock'; expected one of: a2s android-15 dr-swap nvm-swap-cache swapbench"):
        sensitivity.read_sensitivity("spo-clock")
    place = tmp_path / "sensitivity.toml"
    head = 'preset = "a2s-large"\nseeds = 1\ndesigns = ["no swap", "typo"]\n'
    place.write_text(head + '[[conclusion]]\nclaim = "c"\nof = "A2S"\nthan = "no swap"\nwhat = "launches.kills"\n')
    with pytest.raises(BadInput, match="conclusion about A2S; expected names of `designs`"):
        sensitivity.parse(place)
    place.write_text(head)
    with pytest.raises(BadInput, match="no design typo in a2s-large"):
        sensitivity.base_experiment("a2s", sensitivity.parse(place))


def test_each_switch_of_the_ablation_changes_its_keys_alone() -> None:
    wanted = ablation.read_ablation()
    phones = ablation.experiments_of(wanted, 1)
    assert list(phones) == [ablation.AS_SHIPPED, *(switch.name for switch in wanted.switch)]
    shipped = phones.pop(ablation.AS_SHIPPED)
    assert all(phone != shipped for phone in phones.values())
    assert all(phone.design == shipped.design and phone.run == shipped.run for phone in phones.values())


def _user(wait_ms: int, work_ms: int, kills: float, swapped_mb: int) -> User:
    """A user with one launch under each of two designs; under A2S it waits twice as long."""
    rows, launches = {}, []
    for at, name in enumerate(("no swap", "A2S"), start=1):
        waits = {column: 0 for column in IO} | {"queue_ns": wait_ms * at * 1_000_000}
        launches.append({"design": name, "launch": 1, "app": "x", "ready_ns": (wait_ms * at + work_ms) * 1_000_000} | waits)
        delay = Spread(mean=float(wait_ms * at + work_ms), n=1)
        figures = d.launches(1.0).model_copy(update={"kills": kills, "delay_ms": delay})
        paging = {"swap_in_bytes": swapped_mb * 1_000_000, "swap_out_bytes": 0, "file_read_bytes": 0}
        rows[name] = d.phone_row(name, [1.0], launches=figures, paging=paging)
    return User(rows, pl.DataFrame(launches))


def test_an_ablation_is_the_mean_over_users() -> None:
    """Worked by hand: waits of 100 and 300 ms and work of 100 each. Without swap 400 of 600 ms are
    waits, under A2S 800 of 1000.
    """
    users = [_user(100, 100, 2.0, 10), _user(300, 100, 4.0, 30)]
    wanted = ablation.read_ablation().model_copy(update={"designs": ["no swap", "A2S"], "switch": []})
    found = ablation.ablation(wanted, 2, lambda experiment: users)
    a, b = found.effects
    assert (a.delay_ms, a.kills, a.swap_in_mb, b.delay_ms) == (300.0, 3.0, 20.0, 500.0)
    assert (a.io_percent, b.io_percent) == (pytest.approx(100 * 400 / 600), pytest.approx(80.0))
    assert "| as shipped | 300 / 500 | 67 / 80 | 3.0 / 3.0 | 20 / 20 | 0 / 0 | 0 / 0 | 1.67 |" in ablation.markdown(found)
    heads, marks = ablation.markdown(found).splitlines()[4:6]
    assert heads.count("|") == marks.count("|") == 9 and set(marks) == {"|", "-"}


def test_figures_of_users_are_worked_by_hand() -> None:
    users = [_user(100, 100, 2.0, 10), _user(300, 100, 4.0, 30)]
    assert papers_users.processor_ms(users, "A2S") == pytest.approx(100.0)
    # Four of ten launches; no launches are no kills.
    assert papers_users.ux_percent(users, "A2S", "crisp", "annoying") == 40.0
    without = [User({"A2S": user.rows["A2S"].model_copy(update={"launches": None})}, user.launches) for user in users]
    assert papers_users.killed(without, "A2S", "low-memory") == 0.0
    # A class that a row has not counts as no launch.
    assert papers_users.mean(users, "A2S", "launches.ux.unheard_of") == 0.0
    # (200 + 600) + 200 over (100 + 300) + 200; drawn twice, one user's own ratio is 300 / 200 or
    # 700 / 400.
    value, sure = papers_users.over(users, papers_users.times("A2S", "no swap", "launches.delay_ms.mean"))
    assert value == pytest.approx(1000 / 600) and sure == Interval(1.5, 1.75)
    # Every app's first launch is left out, so that one launch an app leaves no median.
    assert papers_users.medians_by_app(users, "no swap") == {}
    second = [user.launches.with_columns(launch=pl.lit(2, pl.Int64), ready_ns=pl.lit(7_000_000, pl.Int64)) for user in users]
    twice = [User(user.rows, pl.concat([user.launches, later])) for user, later in zip(users, second, strict=True)]
    assert papers_users.medians_by_app(twice, "no swap") == {"x": 7.0}
    assert papers_users.mean_over_items({"p": 1.0, "q": 3.0})[0] == 2.0


def test_every_claim_has_a_measure_and_every_experiment_is_valid() -> None:
    for name in papers.names():
        expected = papers.expected(name)
        measures = papers._measures(name)
        assert len(expected.claim) >= 4 and all(claim.why and claim.published for claim in expected.claim)
        assert [claim.measure for claim in expected.claim + expected.vm if claim.measure and claim.measure not in measures] == []
    places = ("spo-clock/experiment", "dr-swap/experiment", "dr-swap/replay", "swapbench/experiment", "nvm-swap-cache/phone")
    for place in (*places, "later-designs/experiment"):
        assert experiments.read(PAPERS / f"{place}.toml").design


def test_tables_of_an_experiment_have_its_launches() -> None:
    launches = papers.tables_of(experiments.read(EXPERIMENTS / "phone.toml"))["launches"]
    assert launches.height > 0 and {"design", "app", "ready_ns"} <= set(launches.columns)


def test_only_papers_compares_published_figures_with_ours() -> None:
    published = papers.expected("a2s").published["a2s-large"]
    rows = [d.phone_row("no swap", [1.0]), d.phone_row("vanilla flash swap", [1.0], swap="flash"), d.phone_row("other", [1.0])]
    found = papers_published.compare_with_published(rows, published)
    assert {one.design for one in found} == {"no swap", "vanilla flash swap"}
    ours = {(one.design, one.what): one for one in found}
    out = ours["vanilla flash swap", "swapped out, MB"]
    assert (out.published, out.ours) == (1549.0, pytest.approx(2 * d.MIB / 1e6))
    assert ours["vanilla flash swap", "resumes more than without swap"].ours == 0
    assert ours["vanilla flash swap", "entries dead within 1000 s, %"].ours == 50
    # Two launches of ten in each of five classes, three of which are above a second.
    shares = [papers_published.FIGURES[f"{name}_percent"][1](rows[0]) for name in ("crisp", "noticeable", "negative", "unusable")]
    assert shares == [20, 20, 60, 20]
    document = d.document(rows)
    extra = paper_view.section(document, "A2S", found)
    assert "1,549" in report.page([("x", document)], extra=[extra]) and "1,549" not in report.page([("x", document)])


@pytest.mark.parametrize("name", ["a2s", "dr-swap", "swapbench"])
def test_the_section_about_the_kernel_has_the_phone_s_figures_of_the_first_table(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Refreshing the README does not change it, and it replaces a stale figure."""
    shutil.copytree(PAPERS / name, tmp_path / name)
    monkeypatch.setattr(papers_in_vm, "folder", lambda: tmp_path)
    said = (tmp_path / name / "README.md").read_text()
    [figure, *_] = [papers_in_vm._simulated(name)[of.simulated] for of in papers.expected(name).vm if of.simulated]
    before, head, section = said.partition(papers_in_vm.HEAD)
    assert figure in section
    (tmp_path / name / "README.md").write_text(before + head + section.replace(figure, "stale"))
    papers_in_vm.refresh(name)
    assert (tmp_path / name / "README.md").read_text() == said


def test_the_section_about_the_kernel_has_a_row_for_each_design(monkeypatch: pytest.MonkeyPatch) -> None:
    of_the_guest = {"release": "6.12.1", "image sha256": "0123456789abcdef", "qemu": "QEMU 7.2"}
    versions = {"swaplab": "0"} | {f"vm debian: {name}": text for name, text in of_the_guest.items()}
    rows = [d.kernel_row("no swap", 100.0), d.kernel_row("zram", 80.0)]
    document = d.document(rows).model_copy(update={"versions": versions})
    monkeypatch.setattr(papers_in_vm, "document_in_vm", lambda paper: document)
    section = papers_in_vm.section("a2s", "| claims |\n")
    assert section.startswith(f"{papers_in_vm.HEAD}\n\n") and "\n| claims |\n\n| design |" in section
    assert "of Linux 6.12.1 (image sha256 0123456789ab) in QEMU 7.2." in section and "over 3 perturbations" in section
    # 10 and 20 MiB are 10.5 and 21 MB.
    assert section.splitlines()[-2:] == [
        "| no swap | 10.0 | 2.0 | 2.0 | 100.0 | 100.0 | 10.5 | 21.0 | - |",
        "| zram | 10.0 | 2.0 | 2.0 | 80.0 | 80.0 | 10.5 | 21.0 | - |",
    ]


def test_a_ratio_is_that_of_the_first_row_to_the_second() -> None:
    known, unknown = papers.Ratio(0.8, Interval(0.7, 0.9), ""), papers.Ratio(0.8, None, "")
    less, more = known.in_percent(-1), known.in_percent(1)
    assert less is not None and (less.low, less.high) == pytest.approx((10, 30))
    assert more is not None and (more.low, more.high) == pytest.approx((-30, -10)) and unknown.in_percent(1) is None
    assert (known.is_below(0.91), known.is_below(0.9), unknown.is_below(1)) == (True, False, False)
    found = papers.ratio([d.phone_row("a", [40.0, 60.0]), d.phone_row("b", [20.0, 30.0])], "launches.delay_ms.mean")
    assert found.value == 2 and found.interval == Interval(2, 2) and found.text == "2.00 times (95 %: 2.00 to 2.00)"
    assert papers_published.megabytes(5e6) == 5 and papers_published.megabytes(None) is None


@pytest.mark.parametrize(("named", "said"), [([], "all papers"), (["a2s"], "a2s"), (["spo-clock"], "no trace in it")])
def test_traces_are_for_papers_that_take_them(tmp_path: Path, named: list[str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        papers.check_on(tmp_path, named)
