"""usage: ci/corpus_check.py LENZ [--seeds N]: every graph of the corpus that can run here through `lenz check`.

What can't run is named with its reason, which must be one of those expected. Exit codes as in compiler/base/error.h."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from stages import FINE, GRAVITY, NOT_COVERED, OUR_FAULT, ROOT, WRONG

# Graphs that show the text form and are not there to run: part of the message that says so.
NOT_RUN = {
    "devices.lenz": "eager runs on the CPU here",
    "externs.lenz": "libtorch has no op",
    "functionalise-extern.lenz": "libtorch has no op",
    "functionalise-extern_that_stays.lenz": "libtorch has no op",
    "functionalise-open_strides.lenz": "a write to a tensor whose elements may share places",
    "loop_that_resizes_what_it_writes.lenz": "an out= tensor that is resized where somebody else looks at it",
}

# Graphs whose passes agree and that have no loops: part of the reason.
NOT_LOWERED = {
    "tensor_lists.lenz": "an input that is a list of tensors",
    "functionalise-given_back_beside_a_write_that_stays.lenz": "not functional: lenz.cond",
    "given_back_beside_a_branch_that_writes.lenz": "not functional: lenz.cond",
    "running_statistics_that_are_used.lenz": "not functional: lenz.scan",
    "resized_beside_other_results.lenz": "not functional: lenz.cond",
}

# Where eager itself leaves the bounds of the float64 reference: what the message says of it, and why.
EAGER_IS_OUTSIDE = {
    "norm_chain.lenz": ("expected -inf, got -nan", "eager's running mean of a row with an infinity is NaN"),
}

# Where bounds leave all open, which is what the graph shows: part of the message, and why.
# Every property of the fuzzer has to hold for it all the same.
HELD_BY_REPLAY = {
    "rows_of_large_integers_scaled_by_a_float_of_the_run.lenz": ("nothing could be compared", "which integer a float of the run has is open"),
    "infinite_order_far_below_zero.lenz": ("nothing could be compared", "eager says infinity where the row has no number"),
    "bessel_function_near_overflow.lenz": ("nothing could be compared", "where its exponential overflows all is open"),
    "sign_of_nan_after_a_minimum.lenz": ("nothing could be compared", "its number is none, and no number's sign is known"),
    "bessel_function_about_its_pole.lenz": ("nothing could be compared", "about a pole nothing is known"),
    "histogram_of_what_may_be_infinite.lenz": ("nothing could be compared", "what may be infinite refuses the histogram"),
    "elements_of_a_list_that_a_step_gives_to_nobody.lenz": ("nothing could be compared", "eager raises at what nobody needs"),
    "greatest_integer_and_an_open_one.lenz": ("nothing could be compared", "its results are no numbers that became integers"),
    "integers_summed_beside_an_open_one.lenz": ("nothing could be compared", "the bias is no number that became an integer"),
    "places_of_what_cancels.lenz": ("nothing could be compared", "how many places there are is open"),
    "chebyshev_polynomials_of_great_degrees.lenz": ("nothing could be compared", "so many times an angle is known to no turn"),
    "largest_of_what_is_no_integer.lenz": ("nothing could be compared", "its results are no numbers that became integers"),
    "running_mean_that_was_infinite.lenz": ("nothing could be compared", "sums that overflow in f16"),
    "polynomial_of_nan.lenz": ("nothing could be compared", "where an operand is none eager's polynomial is whatever lay about"),
    "powers_of_integers_in_a_list.lenz": ("nothing could be compared", "powers of zero that are infinite"),
    "sign_of_a_power_that_is_none.lenz": ("nothing could be compared", "its sign is that of no number"),
    "half_powers_of_negative_infinity.lenz": ("nothing could be compared", "roots of -0 and -inf, and powers, are alike to bounds"),
    "half_powers_that_the_run_tells.lenz": ("nothing could be compared", "roots of -0 and -inf, and powers, are alike to bounds"),
    "complex_functions_of_infinite_numbers.lenz": ("nothing could be compared", "of infinite complex numbers bounds say nothing"),
    "complex_powers_and_sums_of_infinite_numbers.lenz": ("nothing could be compared", "of infinite complex numbers bounds say nothing"),
}

# Of the models so many must come down to loops alone: nothing left to libtorch, not even products.
MODELS_OF_LOOPS_ALONE = 0.85


def graphs(folder):
    """Paths of texts of one graph each; of a golden test, what stands before its pass."""
    for path in sorted((ROOT / "corpus").rglob("*.lenz")):
        kind = path.relative_to(ROOT / "corpus").parts[0]
        if kind == "errors":
            continue
        if kind != "passes":
            yield path
            continue
        copy = folder / f"{path.parent.name}-{path.name}"
        copy.write_text(path.read_text().partition("# ---- after ")[0])
        yield copy


def holds_replayed(lenz, path):
    return subprocess.run([lenz, "fuzz", "--replay", path], capture_output=True, check=False).returncode == FINE


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lenz")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    verdict, agreed = FINE, 0
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(path) for path in graphs(Path(folder))]
        command = [options.lenz, "check", "--json", "--seeds", str(options.seeds), *paths]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout:
        return OUR_FAULT
    reports = json.loads(done.stdout)
    for report in reports:
        name, text = Path(report["file"]).name, report.get("error", "")
        expected = NOT_RUN.get(name)
        if expected and expected in text:
            print(f"{name}: not run: {text.splitlines()[0]}")
        elif name in NOT_LOWERED and NOT_LOWERED[name] in report.get("not_lowered", "") and not report["findings"]:
            agreed += 1
            print(f"{name}: agrees after every pass, and is not lowered: {report['not_lowered']}")
        elif name in EAGER_IS_OUTSIDE and report["findings"] and all(
            f["path"] == "float64 reference and its bounds" and EAGER_IS_OUTSIDE[name][0] in f["mismatch"]["summary"]
            for f in report["findings"]
        ):
            agreed += 1
            print(f"{name}: agrees but for special values: {EAGER_IS_OUTSIDE[name][1]}")
        elif report["code"] == FINE and not expected:
            agreed += 1
            if report["parts"]:
                print(f"{name}: agrees, within the bounds of its {report['parts']} parts")
        else:
            found = "; ".join(f["path"] + ": " + f["mismatch"]["summary"] for f in report["findings"])
            said = text or found or "nothing could be compared"
            if name in HELD_BY_REPLAY and HELD_BY_REPLAY[name][0] in said and holds_replayed(options.lenz, report["file"]):
                print(f"{name}: open, and held by replaying it: {HELD_BY_REPLAY[name][1]}")
                continue
            print(f"{name}: exit code {report['code']}: {said}")
            code = report["code"] if report["code"] in (NOT_COVERED, WRONG) else OUR_FAULT
            verdict = max(verdict, code, key=GRAVITY.index)
    count = len(paths)
    models = [report for report in reports if Path(report["file"]).parent.name == "models"]
    for report in models:
        if report.get("externs"):
            print(f"{Path(report['file']).name}: libtorch runs {', '.join(report['externs'])}")
    alone = sum(report.get("externs") == [] and not report.get("not_lowered") for report in models)
    print(f"{len(models)} models, {alone} of them loops alone")
    if alone < MODELS_OF_LOOPS_ALONE * len(models):
        verdict = max(verdict, OUR_FAULT, key=GRAVITY.index)
    print(f"{count} graphs, {agreed} agree with eager after every pass, {count - agreed} do not or can't run here")
    return verdict


if __name__ == "__main__":
    sys.exit(main())
