"""Runs the stages of a sign-off or a nightly run one after the other, with progress, and gives one verdict.

The exit codes are those of compiler/base/error.h."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

FINE, OUR_FAULT, BAD_INPUT, SLOWER, UNRESOLVED, UNFIT, NOT_COVERED, WRONG = range(8)
# The verdict is the gravest of the stages' codes.
GRAVITY = (FINE, UNRESOLVED, NOT_COVERED, SLOWER, BAD_INPUT, UNFIT, OUR_FAULT, WRONG)

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Stage:
    name: str
    command: list
    covers: str  # what a person learns from it, in words of the report
    on_failure: int = OUR_FAULT  # the code when the command fails; None: the command's own exit code
    unless: object = None  # a function that gives the reason why the stage can't run, or None
    vital: bool = False  # nothing after it makes sense when it fails
    timeout: int = 3600
    env: dict = field(default_factory=dict)


def run_stage(stage, log, env):
    with open(log, "w", encoding="utf-8") as out:
        out.write(f"$ {' '.join(map(str, stage.command))}\n")
        out.flush()
        try:
            done = subprocess.run(
                stage.command,
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=stage.timeout,
                check=False,
                env={**env, **stage.env},
            )
        except subprocess.TimeoutExpired:
            out.write(f"\ntimed out after {stage.timeout} s\n")
            return stage.on_failure or UNFIT
        except OSError as error:
            out.write(f"\n{error}\n")
            return UNFIT
    if done.returncode == 0:
        return FINE
    if stage.on_failure is None:
        # A signal or a code from outside the table is a bug of ours.
        return done.returncode if 0 < done.returncode < len(GRAVITY) else OUR_FAULT
    return stage.on_failure


def run(title, stages, not_covered, env, folder, out=sys.stdout):
    """Runs them all, writes the logs and report.json into `folder`, prints the verdict last, and returns its code."""
    folder.mkdir(parents=True, exist_ok=True)
    not_covered = list(not_covered)
    results, verdict, stopped = [], FINE, None
    width = max(len(stage.name) for stage in stages)
    for number, stage in enumerate(stages, 1):
        print(f"[{number}/{len(stages)}] {stage.name:{width}} ", end="", flush=True, file=out)
        reason = f"{stopped} failed" if stopped else stage.unless() if stage.unless else None
        if reason:
            print(f"not run: {reason}", file=out)
            not_covered.append(f"{stage.covers} ({reason})")
            results.append({"stage": stage.name, "code": None, "seconds": 0, "reason": reason})
            continue
        log = folder / f"{stage.name.replace(' ', '-')}.log"
        began = time.monotonic()
        code = run_stage(stage, log, env)
        seconds = time.monotonic() - began
        print(f"{'ok    ' if code == FINE else 'FAILED'} {seconds:7.1f} s  {stage.covers}", flush=True, file=out)
        if code != FINE:
            for line in log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:]:
                print(f"    {line[:200]}", file=out)
            print(f"    the whole log: {log}", file=out)
            if stage.vital:
                stopped = stage.name
        results.append({"stage": stage.name, "code": code, "seconds": round(seconds, 3), "log": str(log)})
        verdict = max(verdict, code, key=GRAVITY.index)
    report = {"title": title, "code": verdict, "stages": results, "not_covered": not_covered}
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    failed = [result["stage"] for result in results if result["code"]]
    word = "pass" if verdict == FINE else "FAIL in " + ", ".join(failed)
    print(f"VERDICT: {word} ({title}) - not covered: {'; '.join(not_covered) or 'nothing'}", flush=True, file=out)
    return verdict
