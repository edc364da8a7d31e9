"""./ci/signoff [--quick]: what a release waits for. Runs everything there is, and says what was not covered.

--quick takes minutes. The exit code is the gravest of the stages', as in compiler/base/error.h."""

import argparse
import os
import sys

import stages
from stages import ROOT, Stage

LENZ = "build/lenz"
CTEST = ["ctest", "--output-on-failure", "--no-label-summary", "-j", str(os.cpu_count()), "--test-dir"]

# What a complete sign-off covers and no stage here does yet. A line leaves when its stage arrives.
NOT_COVERED = [
    "CUDA",
    "gradients",
    "the performance gate",
    "the memory gate",
]


def no_plugin():
    return None if (ROOT / "build/liblenz_torch.so").exists() else "built without libtorch"


def well_formed_corpus():
    """Every graph that is not there to be refused; golden tests hold two graphs a file, and ci/golden runs them."""
    graphs = (path.relative_to(ROOT) for path in (ROOT / "corpus").rglob("*.lenz"))
    return sorted(str(path) for path in graphs if path.parts[1] not in ("errors", "regressions", "passes"))


def the_stages(quick):
    calls = "200" if quick else "2000"
    graphs = well_formed_corpus()
    yield Stage("build", ["./ci/build", "release"], "the release build", vital=True)
    yield Stage("layout", ["./ci/layout"], "the house rules on sources")
    yield Stage("tests", [*CTEST, "build", "-E", "^layout"], "the tests of every room", stages.WRONG)
    yield Stage(
        "op table",
        [LENZ, "ops", "--check", "--calls", calls],
        f"schemas and result types of every op against libtorch, {calls} calls each",
        on_failure=None,
        unless=no_plugin,
    )
    yield Stage(
        "values",
        [LENZ, "ops", "--check", "--values", "--calls", "4" if quick else "40", "--known", "oracle/values_known.txt"],
        "every op's values in every dtype: eager judged by the float64 reference and its bounds",
        on_failure=None,
        unless=no_plugin,
    )
    calls_of_loops = "4" if quick else "40"
    yield Stage(
        "loops",
        [LENZ, "ops", "--check", "--values", "--loops", "--calls", calls_of_loops, "--known", "oracle/loops_known.txt"],
        "every op's loops on the interpreter, in every dtype: judged in the same way",
        on_failure=None,
        unless=no_plugin,
    )
    for kind, what in (
        ("special", "on NaN, infinities, zeros and ends of dtypes"),
        ("rebind", "with symbols for sizes, one program at many of them"),
    ):
        calls_of_kind = "1" if quick else "4" if kind == "special" else "2"
        yield Stage(
            f"loops, {kind}",
            [LENZ, "ops", "--check", "--values", "--loops", f"--{kind}", "--calls", calls_of_kind]
            + ["--known", "oracle/loops_known.txt"],
            f"every op's loops on the interpreter, {what}",
            on_failure=None,
            unless=no_plugin,
        )
    yield Stage(
        "code",
        [LENZ, "ops", "--check", "--values", "--llvm", "best", "--calls", "1" if quick else "6"]
        + ["--known", "oracle/loops_known.txt"],
        "every op in every dtype as machine code: judged in the same way",
        on_failure=None,
        unless=no_plugin,
    )
    yield Stage(
        "corpus",
        [LENZ, "verify", *graphs],
        f"{len(graphs)} graphs of the corpus against the verifier",
        on_failure=None,
        unless=lambda: None if graphs else "it holds no graphs",
    )
    yield Stage(
        "passes",
        ["python3", "ci/corpus_check.py", LENZ, "--seeds", "3" if quick else "30"],
        "every pass on every graph of the corpus against eager libtorch",
        on_failure=None,
        unless=no_plugin,
    )
    yield Stage(
        "fuzz",
        [LENZ, "fuzz", "--time", "60s" if quick else "1h", "--out", "build/signoff/fuzz"],
        "random graphs of a fresh seed, every stage from text to machine code against eager libtorch",
        on_failure=None,
        unless=no_plugin,
    )
    yield Stage(
        "patterns",
        [LENZ, "fuzz", "--patterns", "corpus/regressions/upstream.patterns", "--cases", "20000" if quick else "200000"],
        "how often the fuzzer makes what the bugs of corpus/regressions/UPSTREAM.md are made of",
        on_failure=None,
        unless=no_plugin,
    )
    if quick:
        return
    yield Stage(
        "small graphs",
        [LENZ, "fuzz", "--exhaustive", "--ops", "add.Tensor,sum.dim_IntList,t,relu_,cumsum", "--deviations", "1"]
        + ["--out", "build/signoff/small_graphs"],
        "all graphs of up to two ops over five, every stage from text to machine code",
        on_failure=None,
        unless=no_plugin,
    )
    yield Stage(
        "seeded faults",
        [LENZ, "fuzz", "--score", "--time", "60s", "--out", "build/signoff/score"],
        "the faults of fuzz/mutants/written.toml: how many the fuzzer finds and blames rightly; it finds no control",
        stages.WRONG,
        unless=no_plugin,
    )
    yield Stage("tidy", ["./ci/layout", "--tidy", "--all"], "clang-tidy on every source")
    for preset, what in (("debug", "every assertion"), ("asan", "address and undefined-behaviour sanitizers")):
        yield Stage(f"{preset} build", ["./ci/build", preset], f"the {preset} build")
        yield Stage(f"{preset} tests", [*CTEST, f"build/{preset}"], f"the tests under {what}", stages.WRONG)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="minutes instead of release depth")
    options = parser.parse_args()
    not_covered = list(NOT_COVERED)
    if options.quick:
        not_covered.append("seeded faults, all small graphs, the debug and sanitizer builds (left out by --quick)")
    title = "quick" if options.quick else "release depth"
    return stages.run(title, list(the_stages(options.quick)), not_covered, os.environ, ROOT / "build/signoff")


if __name__ == "__main__":
    sys.exit(main())
