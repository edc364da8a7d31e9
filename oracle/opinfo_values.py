"""Runs the samples of PyTorch's own operator database, one call each, through the oracle: eager's results judged by the
float64 reference and its bounds.

The recorded calls are those of opinfo_classes.py, which keeps them beside LENZ, in the build folder. Writes the report to
--out; a page of it: reports/values_table.py.

usage: opinfo_values.py [LENZ] [--rows NAME ...] [--samples N] [--jobs N] [--out FILE]
exit code: 0; 7 if any result is wrong
"""

import argparse
import json
import pathlib
import subprocess
import sys

from opinfo_classes import HERE, recorded_calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lenz", nargs="?", default=str(HERE.parent / "build" / "lenz"))
    parser.add_argument("--samples", type=int, default=20, help="of each database entry and dtype, at most")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rows", nargs="+", default=[], metavar="NAME", help="a row, a packet or a glob; all if absent")
    parser.add_argument("--out", type=pathlib.Path, help="of the report; opinfo_values.json beside LENZ if absent")
    args = parser.parse_args()
    lenz = pathlib.Path(args.lenz).resolve()
    calls, recorded = recorded_calls(lenz, lenz.parent, args.samples)
    done = subprocess.run([lenz, "ops", "--check", "--values", *args.rows, "--from", calls, "--known", HERE / "values_known.txt",
                           "--jobs", str(args.jobs), "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode not in (0, 6, 7):
        sys.exit(f"lenz ops --check --values: exit code {done.returncode}\n{done.stderr}")
    report = json.loads(done.stdout)
    out = args.out or lenz.parent / "opinfo_values.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(done.stdout)
    for row in report["rows"]:
        for dtype, cell in row["cells"].items():
            if cell["wrong"] or cell["died"]:
                print(f"{row['name']} in {dtype}: {cell['finding']}\n{cell.get('graph', '')}")
    totals = report["totals"]
    print(f"{totals['calls']} calls of {len(report['rows'])} rows: {totals['passed']} passed, {totals['weak']} weak, "
          f"{totals['unbounded']} unsupported (no bound), {totals['refused']} refused, {totals['known']} where eager is "
          f"known to be at fault, {totals['wrong']} wrong, {totals['died']} died")
    return 7 if totals["wrong"] or totals["died"] else 0


if __name__ == "__main__":
    sys.exit(main())
