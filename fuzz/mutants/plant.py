#!/usr/bin/env python3
"""Builds the compiler with faults that sleep: plant.py [--faults FILE] [--with-written] [--folder DIR] [--build DIR] [--jobs N]

In copies of the sources each fault's snippet becomes a choice between it and its replacement; these copies are compiled
as the build at hand compiles the sources, and linked with the other objects of that build. LENZ_FAULT says which fault
is awake when a program starts, 0 or nothing: none. What doesn't compile is taken out and listed."""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Copies are compiled by the flags of the sources: what a choice between two expressions warns of is nobody's business.
HEADER = """// Made by fuzz/mutants/plant.py: which fault is awake.
#pragma once
#include <string_view>
#pragma clang diagnostic ignored "-Weverything"
namespace lenz {
extern const int awake_fault;
inline bool fault(int id) { return awake_fault == id; }
// The text, with other words for some if the fault is awake.
std::string_view fault_text(int id, std::string_view text, std::string_view from, std::string_view to);
}  // namespace lenz
"""
SOURCE = """#include "@HEADER@"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace lenz {
namespace {
int chosen() {
  const char* text = std::getenv("LENZ_FAULT");
  return text ? std::atoi(text) : 0;
}
}  // namespace
const int awake_fault = chosen();

std::string_view fault_text(int id, std::string_view text, std::string_view from, std::string_view to) {
  if (!fault(id) || text.find(from) == text.npos) return text;
  static std::mutex mutex;
  static std::map<std::string, std::string, std::less<>> made;
  std::scoped_lock lock(mutex);
  if (auto at = made.find(text); at != made.end()) return at->second;
  std::string other(text);
  for (size_t at = other.find(from); at != other.npos; at = other.find(from, at + to.size()))
    other.replace(at, from.size(), to);
  return made.emplace(text, other).first->second;
}
}  // namespace lenz
"""


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def edits_of(fault):
    """A fault made mechanically is its own edit."""
    return [{**e, "id": fault["id"]} for e in fault.get("edits", [fault])]


def render(text, edits, begin, end):
    """The bytes of text from begin to end with all edits made; edits may lie within others, or be at one place."""
    outer = []
    for e in sorted(edits, key=lambda e: (e["start"], -e["end"])):
        if outer and e["end"] <= outer[-1][0]["end"]:
            outer[-1][1].append(e)
        elif outer and e["start"] < outer[-1][0]["end"]:
            raise SystemExit(f"{e['file']}:{e['line']}: two faults overlap")
        else:
            outer.append((e, []))
    made, at = b"", begin
    for e, inner in outer:
        if text[e["start"]:e["end"]].decode() != e["snippet"]:
            raise SystemExit(f"{e['file']}:{e['line']}: the source is not what fault {e['id']} was made from")
        snippet = render(text, inner, e["start"], e["end"]).decode()
        made += text[at:e["start"]] + e["replacement"].replace("@ID@", str(e["id"])).replace("@SNIPPET@", snippet).encode()
        at = e["end"]
    return made + text[at:end]


class Copies:
    """Some of a build's sources compiled once more, with more flags, and linked with the other objects of that build."""
    flags, link_flags = [], []

    def __init__(self, folder, build, jobs):
        self.folder, self.build, self.jobs = folder.resolve(), build.resolve(), jobs
        entries = json.loads((self.build / "compile_commands.json").read_text())
        self.commands = {str(Path(e["file"]).relative_to(ROOT)): e["command"] for e in entries if "_tests.dir" not in e["command"]}
        self.lock, self.made = threading.Lock(), set()
        self.environment = {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1", "CCACHE_PCH_EXTSUM": "1",
                            "CCACHE_SLOPPINESS": "pch_defines,time_macros"}

    def object_of(self, name):
        return self.folder / "objects" / (name + ".o")

    def compile(self, source, like, object_file):
        """What the compiler says if it fails."""
        words = shlex.split(self.commands[like])
        words[words.index("-o") + 1] = str(object_file)
        words[words.index("-c") + 1] = str(source)
        if "-include-pch" in words:
            at = words.index("-include-pch")
            words[at + 1] = str(self.precompiled(words[at + 1], words[:at] + words[at + 2:]))
        return self.run_compiler([*words, *self.flags], object_file)

    def run_compiler(self, words, made):
        made.parent.mkdir(parents=True, exist_ok=True)
        launcher = ["ccache"] if subprocess.run(["which", "ccache"], capture_output=True, check=False).returncode == 0 else []
        done = subprocess.run([*launcher, *words], cwd=self.build, env=self.environment, capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else ""

    def precompiled(self, build_has, words):
        """The build's headers, once more with the flags of who is compiled with them."""
        with self.lock:
            name = Path(build_has)
            made = self.folder / "precompiled" / (name.parent.name + ".pch")
            if made not in self.made:
                words[words.index("-o") + 1] = str(made)
                header = str(name.with_suffix(""))
                words[words.index("-c") + 1] = header + ".cxx"
                how = ["-Xclang", "-emit-pch", "-Xclang", "-include", "-Xclang", header, "-x", "c++-header"]
                said = self.run_compiler([words[0], *how, *words[1:], *self.flags], made)
                if said:
                    raise SystemExit(said)
                self.made.add(made)
        return made

    def build_all(self):
        subprocess.run(["ninja", "-C", self.build, "-j", str(self.jobs), "lenz", "liblenz_torch.so"], check=True,
                       stdout=subprocess.DEVNULL)

    def object_in_build(self, name):
        words = shlex.split(self.commands[name])
        return words[words.index("-o") + 1]

    def link(self, files, beside=None):
        """The build's own command, with archives that have these sources' objects in the place of others; `beside` names
        a source in whose archive objects/more.o stands as well."""
        lines = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "lenz"], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        planted = {self.object_in_build(name): self.object_of(name) for name in files}
        own = self.object_in_build(beside) if beside else None
        command, used = lines[-1], set()
        for line in lines:
            archive = re.search(r" qc (\S+\.a) ", line)
            if not archive:
                continue
            objects = [w for w in shlex.split(line) if w.endswith(".o")]
            if not any(o in planted or o == own for o in objects):
                continue
            used |= set(objects)
            members = [str(planted.get(o, self.build / o)) for o in objects]
            members += [str(self.folder / "objects/more.o")] if own in objects else []
            made = self.folder / archive[1]
            made.unlink(missing_ok=True)
            subprocess.run(["llvm-ar-19", "qcT", made, *members], check=True)
            command = re.sub(r"(?<![\w/])" + re.escape(archive[1]) + r"(?!\w)", str(made), command)
        missing = [o for o in planted if o not in used]
        if missing:
            raise SystemExit("copies may stand for what `lenz` itself is linked of alone: " + ", ".join(missing))
        command = command.replace(" -o lenz ", " ".join(["", *self.link_flags, f"-o {self.folder / 'lenz'} "]))
        subprocess.run(command, shell=True, cwd=self.build, check=True)
        plugin = self.folder / "liblenz_torch.so"
        plugin.unlink(missing_ok=True)
        shutil.copy2(self.build / "liblenz_torch.so", plugin)  # the build goes on


class Planter(Copies):
    # Faults that read beyond an end by one would read what lies there, mostly the same each time.
    flags = ["-D_GLIBCXX_ASSERTIONS"]

    def run(self, faults):
        """Gives the faults that could be planted, and those that could not."""
        self.build_all()
        self.header = self.folder / "fault.h"
        write(self.header, HEADER)
        write(self.folder / "source/fault.cpp", SOURCE.replace("@HEADER@", str(self.header)))
        files = {}
        for fault in faults:
            for e in edits_of(fault):
                files.setdefault(e["file"], []).append(e)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            wrong = {number for numbers in pool.map(lambda item: self.plant(*item), files.items()) for number in numbers}
        base = next(f for f in self.commands if f.startswith("compiler/base/") and not f.endswith("_test.cpp"))
        said = self.compile(self.folder / "source/fault.cpp", base, self.folder / "objects/more.o")
        if said:
            raise SystemExit(said)
        self.link(list(files), base)
        return [f for f in faults if f["id"] not in wrong], [f for f in faults if f["id"] in wrong]

    def plant(self, name, edits):
        """The numbers of the faults without which the file compiles."""
        text, dropped = (ROOT / name).read_bytes(), set()
        for _ in range(6):
            left = [e for e in edits if e["id"] not in dropped]
            # Lines keep their numbers.
            made = f'#include "{self.header}"\n#line 1 "{ROOT / name}"\n' + render(text, left, 0, len(text)).decode()
            write(self.folder / "source" / name, made)
            said = self.compile(self.folder / "source" / name, name, self.object_of(name))
            if not said:
                return dropped
            lines = {int(n) for n in re.findall(re.escape(Path(name).name) + r":(\d+):\d+: (?:fatal )?error", said)}
            bad = {e["id"] for e in left if any(e["line"] - 1 <= n <= e["line"] + e["snippet"].count("\n") + 1 for n in lines)}
            if not bad:
                raise SystemExit(f"{name} does not compile, and at no fault:\n{said[-4000:]}")
            (self.folder / "build.log").open("a").write(said)
            dropped |= bad
        raise SystemExit(f"{name} does not compile again and again")


def plant(faults, folder, build, jobs, says=sys.stdout):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "build.log").write_text("")
    began = time.monotonic()
    print(f"building {len(faults)} faults into a copy of the compiler: some minutes the first time", file=says, flush=True)
    good, dropped = Planter(folder, build, jobs).run(faults)
    for f in dropped:
        print(f"does not compile: {f.get('name', f['kind'])} at {f['file']}:{f['line']}", file=says)
    (folder / "planted.json").write_text(json.dumps(good, indent=1))
    print(f"{folder / 'lenz'}: {len(good)} faults, {len(dropped)} dropped, in {time.monotonic() - began:.0f} s", file=says,
          flush=True)
    return good


def with_written(faults):
    """Those of written.toml, and behind them, numbered on, these; what overlaps a written one is left out."""
    import written

    all_of_them = written.faults()
    places = [(e["file"], e["start"], e["end"]) for f in all_of_them for e in edits_of(f)]
    for f in faults:
        if not any(f["file"] == file and f["start"] < end and start < f["end"] for file, start, end in places):
            all_of_them.append({**f, "id": len(all_of_them) + 1})
    return all_of_them


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--faults", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--with-written", action="store_true", help="beside those of written.toml, in one build")
    options = parser.parse_args()
    faults = json.loads((options.faults or options.folder / "faults.json").read_text())
    plant(with_written(faults) if options.with_written else faults, options.folder, options.build, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
