#!/usr/bin/env python3
"""Every fault of written.toml still has its place in the sources, and a stage to blame that there is."""

import re
import tomllib
import unittest
from pathlib import Path

import conditions
import plant
import score
import written

ROOT = Path(__file__).resolve().parent.parent.parent


def literals(source):
    """What the literals of a C++ source hold."""
    raw = r'R"(\w*)\((.*?)\)\1"'
    plain = re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(raw, " ", source, flags=re.DOTALL))
    return ([text for _, text in re.findall(raw, source, re.DOTALL)]
            + [text.encode("latin-1", "replace").decode("unicode_escape") for text in plain])


class Written(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.faults = written.faults()  # raises where a snippet does not occur exactly once

    def test_enough_of_them(self):
        self.assertGreaterEqual(sum(f["kind"] == "fault" for f in self.faults), 80)
        self.assertGreaterEqual(sum(f["kind"] == "control" for f in self.faults), 12)

    def test_names(self):
        names = [f["name"] for f in self.faults]
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_edits_can_be_made_together(self):
        files = {}
        for fault in self.faults:
            for edit in plant.edits_of(fault):
                files.setdefault(edit["file"], []).append(edit)
        for name, edits in files.items():
            self.assertTrue(name.endswith(".cpp"), name)
            text = (ROOT / name).read_bytes()
            made = plant.render(text, edits, 0, len(text)).decode()
            self.assertNotIn("@ID@", made)
            self.assertNotIn("@SNIPPET@", made)
            for edit in edits:
                self.assertIn(f"({edit['id']}", made)

    def test_edits_are_whole(self):
        for fault in self.faults:
            for edit in plant.edits_of(fault):
                if "fault_text" in edit["replacement"]:  # of a text, any part
                    continue
                planted = edit["replacement"].replace("@SNIPPET@", edit["snippet"])
                if " ? (" in edit["replacement"] and " : (@SNIPPET@)" in edit["replacement"]:
                    self.assertNotRegex(planted, r"\((if|for|while|return|switch)\b", f"{fault['name']}: {planted}")
                for opening, closing in ("()", "[]", "{}"):
                    open_before, open_after = (t.count(opening) - t.count(closing) for t in (edit["snippet"], planted))
                    self.assertEqual(open_before, open_after, f"{fault['name']}: {planted}")

    def test_stages_exist(self):
        passes = set(re.findall(r"PASS\(\w+, (\w+),", (ROOT / "compiler/driver/pipeline.cpp").read_text()))
        asked = "".join(p.read_text() for p in (ROOT / "fuzz/properties").glob("*.cpp"))
        stages = passes | set(re.findall(r'(?:return \{|\.name = )"(\w+)"', asked)) | {"lowering of *", "rule of *"}
        said = set(re.findall(r'"([a-z][a-z ]+)"', asked))  # by properties that look at one room alone
        self.assertGreater(len(stages), len(passes) + 10)
        for fault in self.faults:
            if fault["kind"] == "control":
                continue
            self.assertTrue(fault["wrong"], fault["name"])
            self.assertTrue(fault["blame"], fault["name"])
            self.assertLessEqual(set(fault["blame"]), stages | said, fault["name"])

    def test_controls_name_a_property_to_ask(self):
        asked = set(re.findall(r'return \{(?:\.name = )?"(\w+)"', "".join(p.read_text() for p in (ROOT / "fuzz/properties").glob("*.cpp"))))
        for fault in self.faults:
            if fault["kind"] == "control":
                self.assertIn(fault["live_in"], asked, fault["name"])

    def test_texts_are_texts(self):
        """Words of a text that end with its literal in the source, say, would never pass by where texts do."""
        for entry in tomllib.loads(written.LIST.read_text())["fault"]:
            if "text" in entry:
                self.assertTrue(any(entry["text"][0] in t for t in literals(written.source(entry["file"]))), entry["name"])

    def test_others_beside_them_are_numbered_on(self):
        edit = plant.edits_of(self.faults[0])[0]
        inside = {"id": 1, "file": edit["file"], "start": edit["start"], "end": edit["end"], "kind": "skipped statement"}
        apart = {**inside, "start": 0, "end": 1}
        planted = plant.with_written([inside, apart])
        self.assertEqual([f["id"] for f in planted], list(range(1, len(self.faults) + 2)))
        self.assertEqual(planted[-1], {**apart, "id": len(planted)})

    def test_conditions_are_left_out_one_by_one(self):
        made = conditions.faults()
        self.assertGreater(len(made), 10)
        for fault in made:
            asked, left_out = re.findall(r'R"fault\((.*?)\)fault"', fault["edits"][0]["replacement"], re.S)
            self.assertEqual(asked.split("\n")[:-1], left_out.split("\n"), fault["name"])
            self.assertIn(fault["snippet"], asked.split("\n")[-1])

    def test_literals(self):
        self.assertEqual(literals('a("b\\n") R"(c "d")" "e"  // "f'), ['c "d"', "b\n", "e"])

    def test_nested_edits(self):
        text = b"f(a + b)"
        edits = [{"id": 1, "file": "x", "line": 1, "start": 0, "end": 8, "snippet": "f(a + b)", "replacement": "<@ID@ @SNIPPET@>"},
                 {"id": 2, "file": "x", "line": 1, "start": 2, "end": 7, "snippet": "a + b", "replacement": "[@ID@ @SNIPPET@]"},
                 {"id": 3, "file": "x", "line": 1, "start": 2, "end": 7, "snippet": "a + b", "replacement": "{@ID@ @SNIPPET@}"}]
        self.assertEqual(plant.render(text, edits, 0, 8), b"<1 f([2 {3 a + b}])>")

    def test_nodes_are_counted(self):
        self.assertEqual(score.nodes("# fuzz: seed=1\ngraph @g(%a: f32[2]) {\n  %b = aten.neg(%a)\n  return %b\n}\n"), 1)


if __name__ == "__main__":
    unittest.main()
