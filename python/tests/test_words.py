"""What comparisons say in words: no more than their intervals hold."""

from __future__ import annotations

import pytest

from earlydrop.analysis import words
from earlydrop.analysis.paired import Comparison
from earlydrop.analysis.quantity import QUANTITIES
from earlydrop.render import result_text

SPREAD = (-1.5, -1.1, -0.7, -0.4, -0.1, 0.1, 0.4, 0.7, 1.1, 1.5)
"""Ten values with mean 0; their half-width is 0.684 times the factor they are multiplied with."""
RED = {"queue_delay": (30.0, 0.0), "goodput": (4.9, 0.0)}


def made(of: dict[str, dict[str, tuple[float, float]]], seeds: int = 10, fixed: tuple[str, ...] = ()) -> Comparison:
    """A comparison in which each measure of a discipline has a mean and a noise of its own."""
    quantities = tuple(q for q in QUANTITIES if q.id in ("queue_delay", "goodput"))
    values: dict[tuple[str, str], list[float | None]] = {
        (aqm, q.id): [mean + noise * x for x in SPREAD[:seeds]]
        for aqm, measures in of.items()
        for q in quantities
        for mean, noise in [measures[q.id]]
    }
    titles = {"red": "RED", "pie": "PIE", "codel": "CoDel", "droptail": "DropTail", "sfq": "SFQ", "fq_pie": "FQ-PIE"}
    numbers = tuple(range(1, seeds + 1))
    return Comparison("toy", "bottleneck", tuple(of), titles, numbers, quantities, values, {}, {}, fixed=fixed)


def pair(delay: tuple[float, float], goodput: tuple[float, float]) -> str:
    """What is said of PIE with these measures, against RED."""
    said = words.sentences([("", made({"red": RED, "pie": {"queue_delay": delay, "goodput": goodput}}))])
    assert said[1:] == [
        "Brackets are 95 % intervals of the differences seed by seed, n = 10; "
        "what is claimed remains after Holm's correction for 2 differences."
    ]
    return said[0]


def test_less_delay_at_equal_goodput() -> None:
    assert pair((18.0, 3.0), (4.9, 0.01)) == (
        "PIE has 12.0 ms (9.9 to 14.1) less queueing delay than RED at equal goodput (within 1 %)."
    )


def test_what_is_the_same_in_all_runs_needs_no_margin() -> None:
    none = {"queue_delay": (0.0, 0.0), "goodput": (4.9, 0.0)}
    said = words.sentences([("", made({"red": none, "pie": none, "codel": none}))])
    assert said[0] == "Queueing delay against RED: equal (the same in all runs) with PIE and CoDel."


def test_less_of_both_and_more_of_one() -> None:
    assert pair((18.0, 3.0), (4.6, 0.05)) == (
        "PIE has 12.0 ms (9.9 to 14.1) less queueing delay than RED and 0.300 Mbit/s (0.266 to 0.334) less goodput."
    )
    assert pair((42.0, 3.0), (4.6, 0.05)) == (
        "PIE has 12.0 ms (9.9 to 14.1) more queueing delay than RED and 0.300 Mbit/s (0.266 to 0.334) less goodput."
    )


def test_an_interval_that_has_zero_and_more_than_the_margin_is_no_equality() -> None:
    assert pair((18.0, 3.0), (4.9, 0.2)) == (
        "PIE has 12.0 ms (9.9 to 14.1) less queueing delay than RED; "
        "no difference in goodput was found (-0.14 to 0.14 Mbit/s)."
    )
    assert pair((30.5, 4.0), (4.9, 0.2)) == (
        "No difference in queueing delay was found between PIE and RED (-2.2 to 3.2 ms); "
        "no difference in goodput was found (-0.14 to 0.14 Mbit/s)."
    )
    assert pair((30.5, 4.0), (4.9, 0.01)) == (
        "No difference in queueing delay was found between PIE and RED (-2.2 to 3.2 ms); goodput is equal (within 1 %)."
    )
    assert pair((30.5, 4.0), (4.6, 0.05)) == (
        "No difference in queueing delay was found between PIE and RED (-2.2 to 3.2 ms); "
        "PIE has 0.300 Mbit/s (0.266 to 0.334) less goodput."
    )


def test_a_clear_difference_within_the_margin_is_equality() -> None:
    # 0.3 of 30 ms is 1 %: the interval excludes zero and lies within the margin of 2 %.
    assert pair((29.7, 0.2), (4.9, 0.01)) == (
        "PIE and RED have equal queueing delay (within 2 %) and equal goodput (within 1 %)."
    )


def test_equality_is_judged_by_an_interval_that_is_widened_for_the_statements() -> None:
    # The 95 % interval ends at 0.59, within the margin of 0.6 ms; the 97.5 % interval does not.
    low, high = pair((30.0, 0.85), (4.9, 0.2)), pair((30.0, 0.7), (4.9, 0.2))
    assert "No difference in queueing delay was found between PIE and RED (-0.58 to 0.58 ms)" in low
    assert high.startswith("PIE and RED have equal queueing delay (within 2 %)")


def test_what_holms_correction_takes_away_may_be_there() -> None:
    # Alone its interval excludes zero (p = 0.045); Holm doubles only the smaller of two p values.
    said = pair((27.0, 4.25), (4.9, 0.2))
    assert said.startswith("PIE may have 3.0 ms (0.1 to 5.9) less queueing delay than RED; no difference in goodput")
    both = pair((27.0, 4.25), (4.6, 0.05))
    assert both.startswith("PIE has 3.0 ms (0.1 to 5.9) less queueing delay than RED and 0.300 Mbit/s")


def test_an_end_beside_zero_is_not_printed_as_zero() -> None:
    # Two figures of the half-width, 2.999, would be one digit: 0.0 to 6.0.
    assert "3.000 ms (0.001 to 5.999) less" in pair((27.0, 4.381), (4.6, 0.05))


MANY = {
    "red": RED,
    "pie": {"queue_delay": (18.0, 3.0), "goodput": (4.9, 0.01)},
    "codel": {"queue_delay": (8.0, 1.0), "goodput": (4.7, 0.05)},
    "droptail": {"queue_delay": (70.0, 1.0), "goodput": (4.9, 0.01)},
    "sfq": {"queue_delay": (31.0, 4.0), "goodput": (4.9, 0.3)},
}


def test_several_disciplines_are_grouped_by_what_was_found() -> None:
    assert words.sentences([("", made(MANY))]) == [
        "Queueing delay against RED: less with CoDel by 22.00 ms (21.32 to 22.68) and PIE by 12.0 ms (9.9 to 14.1); "
        "more with DropTail by 40.00 ms (39.32 to 40.68); no difference found with SFQ.",
        "Goodput against RED: less with CoDel by 0.200 Mbit/s (0.166 to 0.234); equal (within 1 %) with PIE and "
        "DropTail; no difference found with SFQ.",
        "Brackets are 95 % intervals of the differences seed by seed, n = 10; "
        "what is claimed remains after Holm's correction for 8 differences.",
    ]


def test_of_many_disciplines_those_with_the_largest_differences_are_named() -> None:
    said = words.sentences([("", made({**MANY, "fq_pie": {"queue_delay": (30.5, 0.1), "goodput": (4.9, 0.01)}}))])
    assert said[0].endswith("; no difference found with SFQ; 1 more in the table.")
    assert "FQ-PIE" not in said[0]


def test_over_round_trip_times() -> None:
    other = {**MANY, "pie": {"queue_delay": (31.0, 4.0), "goodput": (4.9, 0.3)}}
    del other["sfq"], other["droptail"]
    first = {name: MANY[name] for name in other}
    said = words.sentences([("20 ms", made(first)), ("100 ms", made(other))])
    assert said == [
        "Queueing delay against RED: less at every RTT with CoDel, by 22.00 ms (21.32 to 22.68) each;"
        " with PIE less at 20 ms, by 12.0 ms (9.9 to 14.1), no difference found at 100 ms.",
        "Goodput against RED: less at every RTT with CoDel, by 0.200 Mbit/s (0.166 to 0.234) each;"
        " with PIE equal (within 1 %) at 20 ms, no difference found at 100 ms.",
        "Brackets are 95 % intervals of the differences seed by seed, n = 10; "
        "what is claimed remains after Holm's correction for 8 differences.",
    ]


def test_a_value_that_is_missing_at_one_round_trip_time_leaves_the_discipline_out() -> None:
    results = [("20 ms", made(MANY)), ("100 ms", made(MANY))]
    for aqm in ("codel", "droptail", "sfq"):
        results[1][1].values[aqm, "queue_delay"] = [None] * 10
    assert words.sentences(results)[0] == (
        "Queueing delay against RED: less at every RTT with PIE, by 12.0 ms (9.9 to 14.1) each."
    )


def test_what_cannot_be_compared_claims_nothing() -> None:
    noisy = {"red": {"queue_delay": (30.0, 1.0), "goodput": (4.9, 0.01)}}
    assert words.sentences([("", made(noisy))]) == [
        "RED has 30.00 ms (29.32 to 30.68) of queueing delay and 4.9000 Mbit/s (4.8932 to 4.9068) of goodput. "
        "Only RED was run, so there is nothing to compare it with."
    ]
    assert words.sentences([("", made({"red": RED, "pie": MANY["pie"]}, seeds=1))]) == [
        "One seed cannot tell a difference from chance: nothing is claimed. Run more seeds."
    ]
    assert words.sentences([("", made({"red": RED, "pie": RED}, fixed=("red", "pie")))]) == [
        "Every seed gives the same run, so the differences have no intervals and nothing is claimed."
    ]


def test_a_pair_of_which_every_seed_gives_the_same_run_is_not_judged() -> None:
    of = {"red": RED, "pie": {"queue_delay": (18.0, 0.0), "goodput": (4.0, 0.0)}, "codel": MANY["codel"]}
    said = words.sentences([("", made(of, fixed=("red", "pie")))])
    assert said[0].endswith("less with CoDel by 22.00 ms (21.32 to 22.68); not judged with PIE.")


def test_a_measure_that_is_missing_is_replaced_or_left_out() -> None:
    found = made({"red": RED, "pie": MANY["pie"]})
    for aqm in ("red", "pie"):
        found.values[(aqm, "queue_delay")] = [None] * 10
    assert words.sentences([("", found)])[0] == "PIE and RED have equal goodput (within 1 %)."


@pytest.mark.parametrize("seeds", [2, 10])
def test_text_and_document_of_a_comparison_begin_with_the_sentences(seeds: int) -> None:
    found = made(MANY, seeds)
    said = words.sentences([("", found)])
    text = " ".join(result_text.comparison_text(found).split())
    assert text.startswith(" ".join(said))
    assert found.document("0")["summary"] == said


def test_nothing_delivered_is_no_equality() -> None:
    nothing = {"queue_delay": (0.0, 0.01), "goodput": (0.0, 0.0)}
    said = words.sentences([("", made({"red": nothing, "pie": nothing}))])
    assert said == ["No data arrived with any of the disciplines, so there is nothing to compare."]
    said = words.sentences([("", made({"red": nothing, "pie": RED}))])
    assert "PIE may have 4.900 Mbit/s (in all runs) more goodput" in said[0]
