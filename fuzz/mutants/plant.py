#!/usr/bin/env python3
"""Builds the compiler with faults that sleep: plant.py [--faults FILE] [--folder DIR]

The sources are copied; in the copy each fault's snippet becomes a choice between it and its replacement. LENZ_FAULT says
which fault is awake when a program starts, 0 or nothing: none. What doesn't compile is taken out and listed."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

HEADER = """// Made by fuzz/mutants/plant.py: which fault is awake.
#pragma once
namespace lenz {
extern const int awake_fault;
inline bool fault(int id) { return awake_fault == id; }
}  // namespace lenz
"""
SOURCE = """#include "compiler/base/fault.h"

#include <cstdlib>

namespace lenz {
namespace {
int chosen() {
  const char* text = std::getenv("LENZ_FAULT");
  return text ? std::atoi(text) : 0;
}
}  // namespace
const int awake_fault = chosen();
}  // namespace lenz
"""


def copy_sources(folder):
    """The tracked and new files, only those that differ written anew: so that a second build builds little."""
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    for name in names:
        source, copy = ROOT / name, folder / name
        if source.is_symlink() or not source.is_file():
            continue
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
            shutil.copymode(source, copy)
    if not (folder / ".venv").exists():
        (folder / ".venv").symlink_to(ROOT / ".venv")


def write(path, text):
    if not path.exists() or path.read_bytes() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def plant(faults, folder):
    files = {}
    for fault in faults:
        files.setdefault(fault["file"], []).append(fault)
    for name, planted in files.items():
        text = (ROOT / name).read_bytes()
        for fault in sorted(planted, key=lambda f: -f["start"]):
            start, end = fault["start"], fault["end"]
            if text[start:end].decode() != fault["snippet"]:
                raise SystemExit(f"{name}:{fault['line']}: the source is not what fault {fault['id']} was made from")
            text = text[:start] + fault["replacement"].encode() + text[end:]
        # On the first line: lines keep their numbers.
        write(folder / name, b'#include "compiler/base/fault.h" // made\n#line 1\n' + text)
    write(folder / "compiler/base/fault.h", HEADER.encode())
    write(folder / "compiler/base/fault.cpp", SOURCE.encode())


def build(folder, log):
    preset = ["cmake", "-S", str(folder), "-B", str(folder / "build"), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
              "-DCMAKE_CXX_COMPILER=clang++-19", "-DCMAKE_COMPILE_WARNING_AS_ERROR=OFF"]
    subprocess.run(preset, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(["ninja", "-C", str(folder / "build"), "-k", "0", "lenz", "liblenz_torch.so"],
                          capture_output=True, text=True, check=False)
    log.write_text(done.stdout)
    return done.returncode == 0, done.stdout


def broken_by(output, faults):
    """The faults on whose lines a compiler found errors."""
    places = {(Path(file).name, int(line)) for file, line in re.findall(r"([\w./-]+\.(?:cpp|h)):(\d+):\d+: (?:fatal )?error", output)}
    return [f for f in faults
            if any(name == Path(f["file"]).name and f["line"] - 1 <= line <= f["line"] + f["snippet"].count("\n") + 1
                   for name, line in places)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants")
    parser.add_argument("--faults", type=Path)
    options = parser.parse_args()
    listed = options.faults or options.folder / "faults.json"
    faults = json.loads(listed.read_text())
    source = options.folder / "source"
    source.mkdir(parents=True, exist_ok=True)
    dropped = []
    os.environ.update({"CCACHE_BASEDIR": str(source), "CCACHE_NOHASHDIR": "1", "CCACHE_PCH_EXTSUM": "1",
                       "CCACHE_SLOPPINESS": "pch_defines,time_macros"})
    for _ in range(6):
        copy_sources(source)
        plant(faults, source)
        print(f"building with {len(faults)} faults that sleep", flush=True)
        good, output = build(source, options.folder / "build.log")
        if good:
            break
        bad = broken_by(output, faults)
        if not bad:
            sys.stderr.write(output[-4000:])
            raise SystemExit("the build fails, and at no fault")
        dropped += bad
        faults = [f for f in faults if f not in bad]
        print(f"{len(bad)} faults do not compile: " + ", ".join(f"{f['file']}:{f['line']} ({f['kind']})" for f in bad))
    else:
        raise SystemExit("the build fails again and again")
    (options.folder / "planted.json").write_text(json.dumps(faults, indent=1))
    print(f"{source / 'build/lenz'}: {len(faults)} faults, {len(dropped)} dropped")


if __name__ == "__main__":
    main()
