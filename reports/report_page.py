"""What the pages have in common: a command line of a JSON report and the HTML file made from it, one style, and a clear
refusal of what is no report."""
import argparse
import json
import sys

STYLE = """
body { font: 14px system-ui, sans-serif; margin: 2em auto; max-width: 110em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; font-size: 12px; }
"""


def opening(title, style):
    return f"<!doctype html><meta charset=utf-8><title>Lenz: {title}</title><style>{STYLE}{style}</style>"


def make_page(script, description, command, page, part):
    """The whole of a page's script. `page` makes the text of the report that `command` wrote; `part` is the key of the
    report that says how much stands in it."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", help=f"what `{command}` wrote")
    parser.add_argument("page", help="the HTML file to write")
    args = parser.parse_args()
    try:
        with open(args.report, encoding="utf-8") as file:
            report = json.load(file)
        text = page(report)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"{script}: {args.report} is no such report: {error!r}\n  help: make it with `{command}`", file=sys.stderr)
        return 2
    try:
        with open(args.page, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        print(f"{script}: can't write {args.page}: {error.strerror}\n  help: check the path", file=sys.stderr)
        return 5
    print(f"{args.page}: {len(report[part])} {part}")
    return 0
