# SPDX-License-Identifier: Apache-2.0
"""What shells offer for unfinished command lines: `sonde --complete`, and the three scripts that ask it."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, SONDE, run_sonde

SCRIPTS = ROOT / "share/completions"


def offered(*words: str) -> dict[str, str]:
    """Candidates for the last word, with what is said of each."""
    result = run_sonde("--complete", *words)
    assert result.status == 0 and result.err == ""
    return dict(line.partition("\t")[::2] for line in result.out.splitlines())


def commands() -> dict[str, str]:
    return dict(re.findall(r'^SN_COMMAND\((\w+), "(.*)"\)', (ROOT / "src/cmd/commands.def").read_text(), re.M))


def test_commands():
    assert offered("") == commands() == offered("help", "")
    assert list(offered("rep")) == ["report"]
    assert list(offered("-")) == ["--help", "--version"]
    assert offered("no-such-command", "") == {}


@pytest.mark.parametrize("command", commands())
def test_options_are_those_of_the_help(command):
    usage = run_sonde(command, "-h").out.split("\nEXAMPLES\n")[0]
    listed = set(re.findall(r"^    (?:-\w, )?(--[a-z][a-z-]+)", usage, re.M))
    found = offered(command, "--")
    assert set(found) == listed
    assert all(found.values()), f"nothing is said of {[name for name, text in found.items() if not text]}"


def test_an_option_is_explained_by_its_first_clause():
    assert offered("report", "--depth") == {"--depth": "leave out rows deeper than this"}
    assert offered("report", "--li") == {"--limit": "lines of text, 30 by default"}


def test_values():
    assert list(offered("report", "--view", "")) == ["top-down", "bottom-up", "flat", "threads"]
    assert list(offered("report", "x.sdb", "--view=f")) == ["--view=flat"]
    assert offered("export", "--to", "fo") == {"folded": "folded stacks of one metric, for flamegraph.pl and inferno"}
    assert list(offered("run", "--trace=samples,o")) == ["--trace=samples,operators"]
    assert list(offered("run", "-e", "cpu-time,pa")) == ["cpu-time,page-faults"]
    assert list(offered("run", "--os=n")) == ["--os=network"]
    assert offered("report", "--limit", "") == {}  # a number
    assert list(offered("report", "-o")) == []  # not an option of it


def test_every_option_with_known_words_offers_them():
    """What -h names as its words, and each of them is taken."""
    files = {"--output", "--source", "--structure", "--gpu-api", "--features", "--html", "--svg", "--dot", "--store", "--with",
             "--header-file", "--push-header-file", "--ca", "--cursor"}
    free = {"--rate", "--metric", "--where", "--thread", "--context", "--min-share", "--depth", "--limit", "--function", "--jobs",
            "--memory", "--model", "--top", "--iteration", "--from", "--to", "--trace-limit", "--trace-window", "--checkpoint",
            "--memory-limit", "--os-limit", "--gpu-counters", "--gpu-metrics", "--gpu-samples-in", "--target", "--tier",
            "--forbid", "--require", "--cluster", "--stretch", "--do", "--samples", "--seed", "--bin", "--sample",
            "--pid", "--stack", "--delay", "--times", "--since", "--until", "--image",
            "--flush", "--epoch", "--keep", "--keep-size", "--cost", "--callers", "--off-cpu", "--before", "--after", "--each",
            "--push", "--push-user", "--push-label", "--label", "--timeout"}
    for command in commands():
        usage = run_sonde(command, "-h").out.split("\nEXAMPLES\n")[0]
        valued = set(re.findall(r"^    (?:-\w, )?(--[a-z][a-z-]+)(?: |\[=)[A-Z']", usage, re.M))
        for option in valued:
            found = list(offered(command, f"{option}="))
            if option in files:
                assert found == [":files"], (command, option)
            elif found or option not in free:
                assert found and ":files" not in found, (command, option)
                for word in found:
                    refused = run_sonde(command, word, "no-such-file", *(["-o", "/dev/null"] if command == "export" else []))
                    assert not re.search("option '(?!.*needs --trace)", refused.err), refused.err


def test_installed():
    """Each script lies where its shell looks."""
    described = subprocess.run(["meson", "introspect", "--installed", str(BUILD)], capture_output=True, text=True)
    if described.returncode:
        pytest.skip("no meson")
    installed = {path.removeprefix(str(ROOT) + "/"): target for path, target in json.loads(described.stdout).items()}
    ends = {"sonde.bash": "/bash-completion/completions/sonde", "_sonde": "/zsh/site-functions/_sonde",
            "sonde.fish": "/fish/vendor_completions.d/sonde.fish"}
    for script, end in ends.items():
        assert installed[f"share/completions/{script}"].endswith(end)


def test_operands():
    assert list(offered("report", "")) == [":files"]
    assert list(offered("analyze", "-o", "")) == [":files"]
    assert list(offered("run", "-F", "100", "")) == [":programs"]
    assert list(offered("run", "--quiet", "ls", "-")) == [":command 2"]
    assert list(offered("run", "-o", "x", "--", "ls", "-")) == [":command 4"]
    # what follows -- is no option
    assert list(offered("report", "--", "--vi")) == [":files"]


def test_nothing_is_done_meanwhile(tmp_path):
    subprocess.run([SONDE, "--complete", "run", "-o", "made", "touch", "made", ""], cwd=tmp_path, check=True,
                   capture_output=True)
    assert not list(tmp_path.iterdir())


def test_without_words():
    result = run_sonde("--complete")
    assert result.status == 129 and len(result.err_lines) == 1


def shell(name: str, script: str) -> list[str]:
    program = shutil.which(name)
    if not program:
        pytest.skip(f"no {name}")
    options = {"bash": ["--norc"], "fish": ["--no-config"], "zsh": ["-f"]}[name]
    done = subprocess.run([program, *options, "-c", script], capture_output=True, text=True, timeout=60, cwd=ROOT,
                          env={**os.environ, "PATH": f"{SONDE.parent}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


LINES = {  # what is typed, and what is offered for its last word
    "sonde rep": ["report"],
    "sonde report --view ": ["bottom-up", "flat", "threads", "top-down"],
    "sonde report READ": ["README.md"],
    "sonde report --sort ex": ["exclusive"],
    "sonde run --trace-signal W": ["WINCH"],
    "sonde run -e cpu-time,pa": ["cpu-time,page-faults"],
    "sonde run --os=network -- ls READ": ["README.md"],
}


@pytest.mark.parametrize("line", LINES)
def test_bash(line):
    script = f"""source {SCRIPTS}/sonde.bash; compopt() {{ :; }}
        COMP_LINE='{line}' COMP_POINT=${{#COMP_LINE}}; read -ra COMP_WORDS <<<"$COMP_LINE"; COMP_CWORD=${{#COMP_WORDS[@]}}
        _sonde; printf '%s\\n' "${{COMPREPLY[@]}}" """
    assert sorted(shell("bash", script)) == LINES[line]


def test_bash_replaces_what_is_behind_the_equals_sign():
    script = f"""source {SCRIPTS}/sonde.bash; compopt() {{ :; }}; COMP_LINE='sonde report --view=f' COMP_POINT=21
        _sonde; printf '%s\\n' "${{COMPREPLY[@]}}" """
    assert shell("bash", script) == ["flat"]


@pytest.mark.parametrize("line", LINES)
def test_fish(line):
    found = shell("fish", f"source {SCRIPTS}/sonde.fish; complete -C '{line}'")
    assert sorted(one.partition("\t")[0] for one in found) == LINES[line]


def test_zsh():
    """Typed on a terminal of zsh's own: the option and its value are completed in place."""
    script = f"""zmodload zsh/zpty; path=({SONDE.parent} $path); zpty shell zsh -f -i
        zpty -w shell 'fpath=({SCRIPTS} $fpath); autoload -Uz compinit; compinit -u -D; PS1=; unset zle_bracketed_paste'
        zpty -w shell 'show() {{ print -r -- "typed: $BUFFER;" }}; zle -N show; bindkey "^T" show; print is-"ready"'
        zpty -r shell seen '*is-ready*' || exit 1
        zpty -n -w shell $'sonde report --vi\\t fl\\t\\x14'
        zpty -r shell seen '*typed: *;*' || exit 1; print -r -- ${{${{seen##*typed: }}%%;*}}"""
    assert shell("zsh", script)[0].split() == ["sonde", "report", "--view", "flat"]
