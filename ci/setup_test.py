"""ci/setup: quick and quiet when all is there, plain about what is missing and what it could not do."""

import os
import resource
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "ci").mkdir()
        (self.root / "bin").mkdir()
        for name in ("setup", "requirements.txt"):
            shutil.copy2(ROOT / "ci" / name, self.root / "ci" / name)
        (self.root / ".venv").symlink_to(os.path.realpath(ROOT / ".venv"))

    def program(self, name, script):
        path = self.root / "bin" / name
        path.write_text("#!/bin/sh\n" + script + "\n")
        path.chmod(0o755)

    def run_setup(self, *arguments):
        # No index: whatever these tests find missing, nothing gets installed.
        env = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", "PIP_NO_INDEX": "1"}
        command = [self.root / "ci/setup", *arguments]
        return subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def machine(self, identity, repositories, user):
        """A machine of that distribution, with cmake alone. Its programs write down what they are asked to do."""
        release = self.root / "os-release"
        release.write_text(identity)
        script = self.root / "ci/setup"
        script.write_text(script.read_text().replace("/etc/os-release", str(release)))
        note = f'echo "$(basename "$0") $*" >>{self.root}/asked'
        there = self.root / "installed"
        self.program("dpkg-query", f'if [ -e {there} ]; then exec /usr/bin/dpkg-query "$@"; else echo "ii  cmake"; fi')
        self.program("id", f"echo {user}")
        self.program("sudo", f'[ "$1" != -n ] || shift; {note}; exec "$@"')
        self.program("apt-get", f'{note}; case "$*" in *" install "*mold*) touch {there} ;; esac')
        self.program("apt-cache", f"echo '{repositories}'")
        self.program("add-apt-repository", note)
        done = self.run_setup()
        asked = self.root / "asked"
        return done, asked.read_text() if asked.exists() else ""

    def test_ubuntu_gets_its_component_universe_first(self):
        done, asked = self.machine("ID=ubuntu\nVERSION_ID='24.04'\n", "500 noble/main amd64 release c=main", 0)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("(ubuntu-24.04)", done.stdout)
        self.assertLess(asked.index("add-apt-repository -y universe"), asked.index("mold"))
        self.assertLess(asked.index("software-properties-common"), asked.index("add-apt-repository"))
        self.assertNotIn("sudo", asked)

    def test_ubuntu_that_has_universe_is_left_alone(self):
        done, asked = self.machine("ID=ubuntu\nVERSION_ID='24.04'\n", "500 noble/universe release c=universe", 0)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("add-apt-repository", asked)

    def test_who_is_not_root_asks_sudo(self):
        done, asked = self.machine("ID=debian\nVERSION_ID='12'\n", "", 1000)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for line in asked.splitlines():
            if line.startswith("apt-get"):
                self.assertIn(line.replace("apt-get", "sudo env DEBIAN_FRONTEND=noninteractive apt-get"), asked)
        self.assertIn("sudo env DEBIAN_FRONTEND=noninteractive apt-get", asked)

    def test_another_distribution_is_said(self):
        done, _ = self.machine("ID=plan9\n", "", 0)
        self.assertIn("this is plan9-; tried are debian-12 and ubuntu-24.04", done.stdout)

    def test_the_second_run_takes_under_a_second(self):
        def used():
            times = resource.getrusage(resource.RUSAGE_CHILDREN)
            return times.ru_utime + times.ru_stime

        # Processor time: what else the machine does is not the script's fault.
        began = used()
        done = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertLess(used() - began, 1.0)

    def test_help_does_nothing_else(self):
        done = self.run_setup("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Installs what", done.stdout)
        self.assertNotIn("setup: ", done.stdout)

    def test_an_argument_is_refused(self):
        done = self.run_setup("--fast")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no arguments", done.stderr)

    def test_a_wrong_version_is_noticed(self):
        requirements = self.root / "ci/requirements.txt"
        requirements.write_text(requirements.read_text().replace("expecttest==0.3.0", "expecttest==0.0.1"))
        done = self.run_setup()
        self.assertEqual(done.returncode, 5)
        self.assertIn("expecttest==0.0.1 (it has 0.3.0)", done.stdout)
        self.assertIn("FAILED: pip install", done.stderr)

    def test_an_environment_without_pip_is_made_again(self):
        (self.root / ".venv").unlink()
        subprocess.run(["python3", "-m", "venv", "--without-pip", self.root / ".venv"], check=True)
        done = self.run_setup()
        self.assertIn("setup: making .venv", done.stdout)
        self.assertIn("FAILED: pip install", done.stderr)  # there is no index

    def test_a_missing_package_without_rights_is_said(self):
        self.program("dpkg-query", "echo 'ii  cmake'")
        self.program("id", "echo 1000")
        self.program("sudo", "exit 1")
        done = self.run_setup()
        self.assertEqual(done.returncode, 5)
        self.assertIn("sudo asks for a password", done.stderr)
        self.assertIn("librapidcheck-dev", done.stderr)
        self.assertNotIn(" cmake ", done.stderr)

    def test_a_half_installed_package_is_missing(self):
        self.program("dpkg-query", "/usr/bin/dpkg-query \"$@\" | sed 's/^ii \\( *mold\\)$/iU \\1/'")
        self.program("id", "echo 1000")
        self.program("sudo", "exit 1")
        done = self.run_setup()
        self.assertEqual(done.returncode, 5)
        self.assertIn("--no-install-recommends mold", done.stderr)

    def test_a_failing_apt_is_said(self):
        self.program("dpkg-query", "echo 'ii  cmake'")
        self.program("id", "echo 0")
        self.program("apt-get", "echo E: no network; exit 100")
        done = self.run_setup()
        self.assertEqual(done.returncode, 5)
        self.assertIn("FAILED: apt-get update", done.stderr)


if __name__ == "__main__":
    unittest.main()
