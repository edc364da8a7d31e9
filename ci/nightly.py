"""./ci/nightly [--fuzz-seconds N] [--calls N] [--controls N]: what is too slow for every change. Sanitizer builds and
their tests, libFuzzer on every *_fuzz.cpp, the op table at depth, and the oracle's controls.

A fuzzer's finds stay in build/fuzz/finds; each belongs into corpus/ with the fix. Exit codes as in ci/signoff."""

import argparse
import os
import sys

import stages
from stages import ROOT, Stage

CTEST = ["ctest", "--output-on-failure", "--no-label-summary", "-j", str(os.cpu_count()), "--test-dir"]


def fuzzers():
    """(name, source) of every libFuzzer target."""
    found = (path for folder in ("compiler", "corpus", "fuzz") for path in (ROOT / folder).rglob("*_fuzz.cpp"))
    return sorted((path.stem, path) for path in found)


def fuzz_command(name, source, seconds):
    grown = ROOT / "build/fuzz/grown" / name  # what this fuzzer learnt on earlier nights
    finds = ROOT / "build/fuzz/finds"
    grown.mkdir(parents=True, exist_ok=True)
    finds.mkdir(parents=True, exist_ok=True)
    command = [f"build/fuzz/fuzzers/{name}", f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048"]
    command += [f"-artifact_prefix={finds}/{name}-", "-print_final_stats=1", "-max_len=65536"]
    if (own := source.with_suffix(".options")).exists():  # the last of several holds
        command += own.read_text().split()
    if source.with_suffix(".dict").exists():
        command.append(f"-dict={source.with_suffix('.dict')}")
    return [*command, str(grown), "corpus"]


# Functions of one f32 that the C library has in double too: every input takes about a minute on a core.
EVERY_F32 = (
    "exp exp2 expm1 log log2 log10 log1p sigmoid sqrt rsqrt reciprocal cbrt sin cos tan asin acos atan sinh cosh tanh "
    "asinh acosh atanh erf erfc lgamma floor round relu sign"
).split()


def the_stages(options):
    yield Stage("build", ["./ci/build", "release"], "the release build", vital=True)
    yield Stage("asan build", ["./ci/build", "asan"], "the build with address and undefined-behaviour sanitizers")
    yield Stage("asan tests", [*CTEST, "build/asan"], "every test under ASan and UBSan", stages.WRONG)
    yield Stage(
        "hostile texts",
        ["build/asan/tests/graph_tests", "--gtest_also_run_disabled_tests", "--gtest_filter=*AMillionMutations"],
        "a million damaged graphs of the corpus under ASan and UBSan: none crashes or leaks",
        stages.WRONG,
    )
    yield Stage("tsan build", ["./ci/build", "tsan"], "the build with the thread sanitizer, without libtorch")
    yield Stage("tsan tests", [*CTEST, "build/tsan"], "every test without libtorch under TSan", stages.WRONG)
    if fuzzers():
        yield Stage("fuzzer build", ["./ci/build", "fuzz"], "the libFuzzer targets")
    for name, source in fuzzers():
        command = fuzz_command(name, source, options.fuzz_seconds)
        yield Stage(name, command, f"{options.fuzz_seconds} s of libFuzzer", stages.WRONG)
    yield Stage(
        "op table",
        ["build/lenz", "ops", "--check", "--calls", str(options.calls)],
        f"every op's schema and result types against libtorch, {options.calls} calls each",
        on_failure=None,
    )
    yield Stage(
        "values",
        "build/lenz ops --check --values --calls 100 --variants 12 --known oracle/values_known.txt".split(),
        "every op's values in every dtype, 100 calls each: eager and legal variants judged by the float64 reference",
        on_failure=None,
    )
    yield Stage(
        "loops",
        ["build/lenz", "ops", "--check", "--values", "--loops", "--calls", "60", "--known", "oracle/loops_known.txt"],
        "every op's loops on the interpreter, a million calls: judged in the same way",
        on_failure=None,
    )
    for kind, calls, what in (
        ("special", "60", "on NaN, infinities, zeros and ends of dtypes"),
        ("rebind", "16", "with symbols for sizes, one program at many of them"),
    ):
        yield Stage(
            f"loops, {kind}",
            f"build/lenz ops --check --values --loops --{kind} --calls {calls} --known oracle/loops_known.txt".split(),
            f"every op's loops on the interpreter, {what}: a million calls",
            on_failure=None,
        )
    for target in ("avx512", "avx2", "generic"):
        yield Stage(
            f"graphs, {target}",
            ["build/lenz", "fuzz", "--time", "40m", "--target", target, "--out", f"build/nightly/fuzz_{target}"],
            f"random graphs of a fresh seed, every stage against eager libtorch, machine code for {target}",
            on_failure=None,
        )
    yield Stage(
        "small graphs",
        "build/lenz fuzz --exhaustive --ops add.Tensor,mul.Scalar,sum.dim_IntList,amax,t,slice,relu_ --deviations 1 --out build/nightly/small".split(),
        "all graphs of up to two ops over seven, every stage against eager libtorch",
        on_failure=None,
    )
    kills = ["env", "LENZ_FUZZ_KILLS=200", sys.executable, "fuzz/fuzz_command_test.py", "build/lenz"]
    yield Stage(
        "killed campaigns",
        kills,
        "campaigns and their workers killed 200 times at random moments: nothing is lost, nothing done twice",
        stages.WRONG,
    )
    yield Stage(
        "seeded faults",
        ["build/lenz", "fuzz", "--score", "--time", "60s", "--out", "build/nightly/score"],
        "the faults of fuzz/mutants/written.toml: which of them the fuzzer finds and blames rightly; it finds no control",
        stages.WRONG,
    )
    for target in ("avx512", "avx2", "generic"):
        yield Stage(
            f"rows, {target}",
            f"build/lenz ops --check --values --llvm {target} --calls 6 --known oracle/loops_known.txt".split(),
            f"every op in every dtype as machine code for {target}, a hundred thousand calls: judged in the same way",
            on_failure=None,
        )
    yield Stage(
        "code, every f32",
        ["build/lenz", "ulp", *EVERY_F32, "--all", "--dtype", "f32"],
        "the code of f32 functions over all 2^32 inputs, within the class of their rows",
        stages.WRONG,
    )
    yield Stage(
        "code, every 16-bit float",
        ["build/lenz", "ulp", "--all", "--dtype", "f16", "--dtype", "bf16"],
        "the code of every row over all 2^16 inputs of f16 and bf16; of two operands a sample",
        stages.WRONG,
    )
    for target in ("avx512", "avx2", "generic"):
        yield Stage(
            f"code, sampled, {target}",
            ["build/lenz", "ulp", "--samples", "50000", "--target", target],
            f"the code of every row in every dtype on 50000 inputs, for {target}",
            on_failure=None,
        )
    yield Stage(
        "operator database",
        [".venv/bin/python", "oracle/opinfo_classes.py", "build/lenz", "--samples", "300"],
        "the op table on the samples of PyTorch's operator database: result types, and classes that no generator reaches",
        on_failure=None,
    )
    yield Stage(
        "models",
        [".venv/bin/python", "corpus/models/models_test.py", "build/lenz", "--all"],
        "every model of corpus/models exported again: the same text, and the values that Python gets",
        stages.WRONG,
    )
    yield Stage(
        "controls",
        ["build/lenz", "controls", "--graphs", str(options.controls), "--ours"],
        f"{options.controls} random graphs computed in legal ways: the oracle calls none of them wrong",
        stages.WRONG,
    )
    yield Stage(
        "mutants",
        ["build/lenz", "controls", "--graphs", str(options.controls // 50), "--mutants"],
        "the same with one fault each: how many the oracle sees, beside other criteria; how tight its bounds are",
        stages.WRONG,
    )
    yield Stage(
        "peers",
        ["build/lenz", "bench", "--peers", "--models", "--dynamic", "--neighbours", "5", "--json", "build/nightly/peers.json"],
        "the tracked workloads and the models beside eager and torch.compile, at sizes nearby and with sizes open",
        on_failure=None,
    )
    yield Stage(
        "compile times",
        ["build/lenz", "bench", "--compile", "--growth", "20000", "--json", "build/nightly/compile_times.json"],
        "how long the tracked workloads take to compile, beside TorchInductor; programs of 2000 and 20000 kernels",
        on_failure=None,
    )
    yield Stage(
        "operator database, values",
        [".venv/bin/python", "oracle/opinfo_values.py", "build/lenz", "--samples", "300"],
        "eager's values on the samples of PyTorch's operator database, judged by the reference and its bounds",
        on_failure=None,
    )
    yield Stage(
        "module database",
        [".venv/bin/python", "oracle/module_values.py", "build/lenz"],
        "whole modules of PyTorch's own tests, exported, through every path, judged by eager and the reference",
        on_failure=None,
    )
    yield Stage(
        "models of libraries",
        [".venv/bin/python", "oracle/library_models.py", "build/lenz"],
        "thirty models of transformers, timm and torchvision, other ones each night, some with gradients, judged likewise",
        on_failure=None,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fuzz-seconds", type=int, default=60)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--controls", type=int, default=300000)
    options = parser.parse_args()
    # libtorch keeps what it allocates until the end, on purpose; tests ask for more memory than there is, and count on
    # seeing the signal that a worker died of.
    asan = ["detect_leaks=1", "detect_odr_violation=0", "allocator_may_return_null=1", "handle_segv=0", "handle_sigfpe=0"]
    env = {"ASAN_OPTIONS": ":".join(asan), "UBSAN_OPTIONS": "print_stacktrace=1", **os.environ}
    env["LSAN_OPTIONS"] = f"suppressions={ROOT}/ci/lsan.supp:print_suppressions=0"
    return stages.run("nightly", list(the_stages(options)), ["CUDA"], env, ROOT / "build/nightly")


if __name__ == "__main__":
    sys.exit(main())
