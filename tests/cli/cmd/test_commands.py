# SPDX-License-Identifier: Apache-2.0
"""The command line as such: what every command must have, mistakes, and where the output goes."""
from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess

import pytest

from conftest import ROOT, SONDE, clean_environment, run_sonde

MAN = ROOT / "docs/man"


def listed_commands() -> list[str]:
    """The names in src/cmd/commands.def."""
    text = (ROOT / "src/cmd/commands.def").read_text()
    return re.findall(r"^SN_COMMAND\((\w+),", text, re.M)


COMMANDS = listed_commands()


def test_list_is_not_empty():
    assert {"report", "info", "doctor", "export"} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
class TestEveryCommand:
    def test_help(self, sonde, command):
        for option in ("-h", "--help"):
            result = sonde(command, option)
            assert result.status == 0 and result.err == ""
            assert result.out.startswith(f"sonde {command} - ")
            for heading in ("USAGE", "OPTIONS", "EXAMPLES"):
                assert f"\n{heading}\n" in result.out
            assert f"    sonde {command}" in result.out
            assert max(map(len, result.out.splitlines())) <= 110
        assert sonde("help", command).out == result.out

    def test_manual_names_every_option(self, sonde, command):
        page = MAN / f"sonde-{command}.1"
        assert page.exists(), f"{command} has no page in docs/man"
        text = page.read_text()
        usage = sonde(command, "-h").out.split("\nEXAMPLES\n")[0]
        for option in set(re.findall(r"^    (?:-\w, )?--([a-z][a-z-]+)", usage, re.M)):
            assert f"Fl -{option}" in text or f"-{option}" in text, f"{page.name} does not name --{option}"

    def test_manual_and_help_have_the_same_options(self, sonde, command):
        page = (MAN / f"sonde-{command}.1").read_text()
        words = {word for line in page.splitlines() if line.startswith(".It Fl ")
                 for word in re.findall(r"(?<=Fl )-?[\w-]+|(?<=, )-?[\w-]+", line)}
        usage = sonde(command, "-h").out.split("\nEXAMPLES\n")[0]
        options = re.findall(r"^    (?:-(\w), )?--([a-z][a-z-]+)", usage, re.M)
        expected = {f"-{long}" for _, long in options} | {short for short, _ in options if short}
        assert words - {"Fl", "Ns"} == expected
        # and the synopsis has each, in one of its spellings
        synopsis = page.split(".Sh SYNOPSIS")[1].split(".Sh ")[0]
        named = set(re.findall(r"Fl -?([\w-]+)", synopsis))
        for short, long in options:
            assert {short, long} & named or long == "help", f"the synopsis of {command} leaves out --{long}"

    def test_has_its_own_tests(self, command):
        """The golden cases: tests/cli/*/test_COMMAND*.py."""
        assert list((ROOT / "tests/cli").glob(f"*/test_{command}*.py")), f"no tests/cli/*/test_{command}.py"

    def test_is_in_the_overview(self, sonde, command):
        assert re.search(rf"^    {command} +\w", sonde("-h").out, re.M)

    def test_unknown_option(self, sonde, command):
        result = sonde(command, "--no-such-option")
        assert result.status == 129 and result.out == ""
        assert len(result.err_lines) == 1 and f"sonde {command} -h" in result.err


@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")
@pytest.mark.parametrize("page", sorted(MAN.glob("*.[17]")), ids=lambda page: page.name)
def test_manual_is_well_formed(page):
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], capture_output=True, text=True)
    assert done.stdout == ""


def test_version(sonde):
    result = sonde("--version")
    assert result.status == 0 and re.fullmatch(r"sonde \d+\.\d+\.\d+\n", result.out)


def test_no_command(sonde):
    result = sonde()
    assert result.status == 129 and "USAGE" in result.out


@pytest.mark.parametrize("arguments, words", [
    (["reprot"], "did you mean 'report'"),
    (["frobnicate"], "unknown command 'frobnicate'"),
    (["--frob"], "unknown option '--frob'"),
    (["report", "--veiw", "flat", "x"], "did you mean '--view'"),
    (["report", "--m", "x"], "ambiguous"),
    (["report", "--view"], "needs a value"),
    (["report", "--view", "sideways", "x"], "top-down, bottom-up, flat, threads"),
    (["report", "--depth", "deep", "x"], "not a number"),
    (["report", "--min-share", "101", "x"], "not a number from 0 to 100"),
    (["report", "--full=yes", "x"], "takes no value"),
    (["report", "-q"], "unknown option '-q'"),
    (["report"], "missing database"),
    (["report", "a", "b"], "'b' is too much"),
    (["report", "x", "--where", ""], "pattern is missing"),
    (["report", "x", "--where", "a >"], "pattern is missing"),
    (["report", "x", "--where", "'a"], "quote"),
    (["report", "x", "--where", "line:x"], "line number"),
    (["info"], "missing database"),
    (["info", "--format", "yaml", "x"], "text, json"),
    (["export", "x"], "--to FORMAT"),
    (["export", "--to", "paper", "x"], "folded"),
    (["doctor", "x"], "too much"),
])
def test_mistakes(sonde, arguments, words):
    result = sonde(*arguments)
    assert result.status == 129 and result.out == ""
    assert len(result.err_lines) == 1 and result.err.startswith("sonde: ")
    assert words in result.err and "-h')" in result.err


def test_control_characters_stay_out_of_messages(sonde, tmp_path):
    result = sonde("info", tmp_path / "a\nb\033[31m")
    assert result.status == 128 and len(result.err_lines) == 1 and "\033" not in result.err


def test_unknown_metric(sonde, small_db):
    result = sonde("report", small_db, "--metric", "cpu-tiem")
    assert result.status == 128 and "did you mean 'cpu-time'" in result.err
    result = sonde("report", small_db, "--metric", "zzz")
    assert result.status == 128 and "cpu-time, gpu-time" in result.err


def test_closed_output_is_no_failure(big_db):
    done = subprocess.run(f"'{SONDE}' report --full '{big_db}' | head -1; exit ${{PIPESTATUS[0]}}", shell=True,
                          executable="/bin/bash", capture_output=True, text=True, env=clean_environment())
    assert done.stderr == "" and done.stdout.count("\n") == 1
    assert done.returncode in (0, 141)


@pytest.mark.parametrize("arguments", [["report"], ["report", "--format", "json"], ["info"],
                                       ["export", "--to", "folded", "-o", "-"]])
def test_full_disk(small_db, arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([SONDE, *arguments, small_db], stdout=full, stderr=subprocess.PIPE, text=True,
                              env=clean_environment())
    assert done.returncode == 128
    assert done.stderr.splitlines() == ["sonde: cannot write the output: No space left on device"]


def run_on_terminal(*arguments, **environment) -> str:
    parent, child = pty.openpty()
    process = subprocess.Popen([SONDE, *map(str, arguments)], stdout=child, stderr=subprocess.STDOUT,
                               env=clean_environment(**environment))
    os.close(child)
    output = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break
        if not piece:
            break
        output += piece
    os.close(parent)
    assert process.wait() == 0
    return output.decode()


@pytest.mark.parametrize("command", ["report", "info"])
def test_colours_on_terminals_only(sonde, small_db, command):
    assert "\033[" in run_on_terminal(command, small_db)
    assert "\033[" not in run_on_terminal(command, small_db, NO_COLOR="1")
    assert "\033[" not in run_on_terminal(command, small_db, TERM="dumb")
    assert "\033[" not in run_sonde(command, small_db).out


def test_colours_change_nothing_else(sonde, small_db):
    coloured = run_on_terminal("report", small_db)
    plain = re.sub(r"\033\[[\d;]*m", "", coloured).replace("\r\n", "\n")
    assert plain == sonde("report", small_db).out
