"""What the tests of the pages have in common."""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def make_page(script, text):
    """Runs a page's script on a report's text. Gives what it said, and the page or None."""
    with tempfile.TemporaryDirectory() as folder:
        report, page = pathlib.Path(folder, "report.json"), pathlib.Path(folder, "page.html")
        report.write_text(text)
        done = subprocess.run([sys.executable, HERE / script, report, page], capture_output=True, text=True)
        return done, page.read_text() if page.exists() else None


def check_refusals(test, script, good, *others):
    """What is no report is bad input, and a page that can't be written is no success."""
    for text in ("{", "[]", "\0\xff", *others):
        done, page = make_page(script, text)
        test.assertEqual(done.returncode, 2)
        test.assertIn("help:", done.stderr)
        test.assertIsNone(page)
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        report.write_text(good)
        nowhere = pathlib.Path(folder, "no/such/folder/page.html")
        done = subprocess.run([sys.executable, HERE / script, report, nowhere], capture_output=True, text=True)
        test.assertEqual(done.returncode, 5)
        test.assertIn("can't write", done.stderr)
        test.assertNotIn("Traceback", done.stderr)
