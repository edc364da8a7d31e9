"""Processes that many ask in turn: they greet, answer, die as they would alone, and are there again."""
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SHARED = str(pathlib.Path(__file__).with_name("shared.py"))
ANSWERS = """
import os, sys, time
print('{"pid": %d}' % os.getpid(), flush=True)
for line in sys.stdin:
    if "die" in line: os.kill(os.getpid(), 11)
    if "leave" in line: sys.exit(3)
    if "wait" in line: time.sleep(600)
    print('{"said": ' + line.strip() + '}', flush=True)
"""


class Shared(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.socket = self.folder.name + "/asked"
        self.keep([sys.executable, "-c", ANSWERS])

    def keep(self, command):
        self.keeper = subprocess.Popen([sys.executable, SHARED, "serve", self.socket, "1", *command],
                                       stdout=subprocess.PIPE, text=True)
        self.assertEqual(self.keeper.stdout.readline(), "{}\n")

    def end(self):
        self.keeper.kill()
        self.keeper.wait()
        self.keeper.stdout.close()

    def tearDown(self):
        self.end()
        self.folder.cleanup()

    def opened(self):
        asker = subprocess.Popen([sys.executable, SHARED, "ask", self.socket], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        return asker, asker.stdout.readline()

    def test_the_same_one_answers_in_turn(self):
        greetings = set()
        for question in "12":
            asker, greeting = self.opened()
            greetings.add(greeting)
            asker.stdin.write(question + "\n")
            asker.stdin.flush()
            self.assertEqual(asker.stdout.readline(), '{"said": ' + question + "}\n")
            asker.communicate()
            self.assertEqual(asker.returncode, 0)
        self.assertEqual(len(greetings), 1)

    def test_it_dies_of_what_the_other_dies_of_and_another_comes(self):
        for question, code in [("die", -signal.SIGSEGV), ("leave", 3)]:
            asker, _ = self.opened()
            asker.stdin.write(question + "\n")
            asker.stdin.flush()
            self.assertEqual(asker.wait(), code)
            asker.communicate()
        asker, _ = self.opened()
        asker.stdin.write("5\n")
        asker.stdin.flush()
        self.assertEqual(asker.stdout.readline(), '{"said": 5}\n')
        asker.communicate()

    def test_who_leaves_with_a_question_open_holds_nobody_up(self):
        asker, first = self.opened()
        asker.stdin.write("wait\n")
        asker.stdin.flush()
        time.sleep(0.5)
        asker.kill()
        asker.communicate()
        asker, second = self.opened()
        self.assertNotEqual(first, second)
        asker.communicate()

    def test_what_does_not_start_is_said(self):
        self.end()
        pathlib.Path(self.socket).unlink()
        self.keep([sys.executable, "-c", "raise SystemExit(4)"])
        asker, greeting = self.opened()
        self.assertEqual((asker.wait(), greeting), (4, ""))
        asker.communicate()


if __name__ == "__main__":
    unittest.main()
