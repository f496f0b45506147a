# SPDX-License-Identifier: Apache-2.0
"""What programs do that Python starts stands below the line that started them."""
from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import measured
import program

WORKLOAD = program.WORKLOADS / "python/children.py"
# how many times each line has child_work compute
TIMES = {"run": 1, "empty": 1, "its thread": 1, "executed": 1, "shell": 2, "system": 2, "spawn": 1, "exec": 1, "thread": 1,
         "python": 1}
VARIABLE = "SONDE_START_PATH"


def child_work() -> Path:
    return program.compiled("collect/child_work.c", "-O1")


def marks(script: Path = WORKLOAD) -> dict[int, str]:
    return {number: line.split("# here: ")[1] for number, line in enumerate(script.read_text().splitlines(), 1)
            if "# here: " in line}


def where(frames: list[dict]) -> str:
    """The marked lines on a path, outermost first."""
    at = marks()
    return " ".join(at[frame["line"]] for frame in frames
                    if frame["kind"] == "python" and frame.get("file") == str(WORKLOAD) and frame["line"] in at)


def is_busy(frames: list[dict]) -> bool:
    return any(frame["name"] == "busy" for frame in frames)


@pytest.mark.parametrize("options", [(), ("--call-path", "python,native")])
def test_programs_are_below_the_line_that_started_them(tmp_path: Path, options: tuple[str, ...]) -> None:
    program.run(tmp_path, sys.executable, WORKLOAD, child_work(), options=("-F", "497", *options))
    counts: Counter[str] = Counter()
    for frames, value in program.paths(tmp_path):
        if is_busy(frames):
            python = [frame for frame in frames if frame["kind"] == "python"]
            assert [frame["name"] for frame in python[:2]] == ["<module>", "main"], frames
            assert python[0]["file"] == str(WORKLOAD)
            counts[where(frames)] += value["count"]
    assert set(counts) == {*TIMES, "multiprocessing"}, counts
    total = sum(counts[mark] for mark in TIMES)
    for mark, times in TIMES.items():
        share = times / sum(TIMES.values())
        # each computes as long as another, on a processor that may be slower at that time
        assert share / 2 < counts[mark] / total < share * 2, (mark, counts)


def test_the_program_of_a_program_has_its_frames(tmp_path: Path) -> None:
    """Below a line of a Python that Python started are both Pythons' frames."""
    program.run(tmp_path, sys.executable, WORKLOAD, child_work(), options=("-F", "497"))
    for frames, _ in program.paths(tmp_path):
        if is_busy(frames) and where(frames) == "python":
            files = [frame["file"] for frame in frames if frame["kind"] == "python"]
            assert files[0] == str(WORKLOAD) and files.count("<string>") == 1, files
            # subprocess's own, which lead from one to the other, and then to the program
            assert len([file for file in files if file.endswith("/subprocess.py")]) >= 4, files
            break
    else:
        pytest.fail("no sample of it")


def test_children_of_a_fork_server_are_below_the_line_that_asked_for_them(tmp_path: Path) -> None:
    """The server is started by the first of the lines, and forks for all of them."""
    script = program.WORKLOADS / "python/forkserver.py"
    done = program.run(tmp_path, sys.executable, script, options=("-F", "497"))
    assert (done.stdout, done.stderr) == ("", "")
    at = marks(script)
    counts: Counter[str] = Counter()
    for frames, value in program.paths(tmp_path):
        if is_busy(frames):
            counts[" ".join(at[frame["line"]] for frame in frames if frame["kind"] == "python"
                            and frame.get("file") == str(script) and frame["line"] in at)] += value["count"]
    times = {"first pool": 6, "second pool": 12, "process": 18}
    assert set(counts) == set(times), counts
    for mark, part in times.items():
        assert part / 36 / 2 < counts[mark] / counts.total() < part / 36 * 2, (mark, counts)
    # what was handed over was taken; what a server that is not measured leaves there is no reason to refuse the next run
    assert not list((tmp_path / "run.sonde").glob("*.sonde-start"))
    (tmp_path / "run.sonde/1.sonde-start").touch()
    program.run(tmp_path, "/bin/true")
    assert not list((tmp_path / "run.sonde").glob("*.sonde-start"))


DEEP = """
import subprocess, sys
def down(levels):
    if levels:
        return down(levels - 1)
    subprocess.run(sys.argv[1:])
def top():
    down(400)
top()
"""


def test_a_long_path_keeps_its_outermost_frames(tmp_path: Path) -> None:
    script = tmp_path / "deep.py"
    script.write_text(DEEP)
    program.run(tmp_path, sys.executable, script, child_work())
    found = 0
    for frames, value in program.paths(tmp_path):
        if is_busy(frames):
            names = [frame["name"] for frame in frames if frame["kind"] == "python"]
            assert names[:2] == ["<module>", "top"] and set(names[2:]) == {"down"}, names
            # some 4 KB
            assert 100 < len(names) < 400
            found += value["count"]
    assert found > 10


LAUNCHER = """
import subprocess, sys
def main():
    for child in [subprocess.Popen([sys.executable, *sys.argv[1:]]) for _ in range(2)]:
        child.wait()
"""
SCRIPT = "import sys\nfrom launcher import main\nsys.exit(main())\n"
RANK = """
def work():
    return sum(number * number for number in range(3_000_000))
work()
"""


@pytest.mark.parametrize("how", ["console script", "module", "user's"])
def test_programs_of_a_launcher_have_main_at_the_top(tmp_path: Path, how: str) -> None:
    """torchrun and its like: no frame of theirs is the user's."""
    packages = tmp_path / "venv/lib/python3.11/site-packages"
    (packages / "launcher").mkdir(parents=True)
    (packages / "launcher/__init__.py").write_text(LAUNCHER)
    (packages / "launcher/__main__.py").write_text(SCRIPT)
    (tmp_path / "venv/bin").mkdir()
    (tmp_path / "venv/bin/launch").write_text(SCRIPT)
    (tmp_path / "mine.py").write_text(SCRIPT)
    rank = tmp_path / "rank.py"
    rank.write_text(RANK)
    arguments = {"console script": [tmp_path / "venv/bin/launch"], "module": ["-m", "launcher"], "user's": [tmp_path / "mine.py"]}
    program.run(tmp_path, sys.executable, *arguments[how], rank, environment={"PYTHONPATH": str(packages)})
    found = 0
    for frames, value in program.paths(tmp_path):
        if any(frame["name"] == "work" for frame in frames):
            files = [frame["file"] for frame in frames if frame["kind"] == "python"]
            assert files[0] == str(tmp_path / "mine.py" if how == "user's" else rank), frames
            found += value["count"]
    assert found > 20


PATH = "p7,5,0,10:/home/u.py8:<module>p9,8,9,2:y25:outerr0,4:step"


@pytest.mark.parametrize("text,expected", [
    (PATH, ["python <module>:7", "python outer:9", "region step"]),
    ("", []),
    # cut off, of unknown kinds, with lengths that are wrong, and numbers that are too large
    *[(text, []) for text in (PATH[:-1], PATH + "x", PATH + "p", "q" + PATH, PATH.replace("25:", "26:"),
                              PATH.replace("9,2:", "11,2:"), PATH.replace("p7", "p4294967296"), PATH.replace("r0", "r255"),
                              "p7,5,0,99999999999999999999:a1:b", "p-1,5,0,1:a1:b", "p7,5,0,1:a1:", "p7,5,1,1:a1:b", ":", "p,,,:",
                              "p1,1,0,4000:" + "f" * 4000 + "p1,1,4000,4000:" + "f" * 4000,
                              "p1,1,0,1:f3000:" + "n" * 3000 + "p1,1,0,1:f3000:" + "n" * 3000, "r0,3:\xff\xfe")],
])
def test_a_text_that_somebody_wrote(tmp_path: Path, text: str, expected: list[str]) -> None:
    done, measurement = measured.run(tmp_path / "measured", child_work(), **{VARIABLE: text})
    assert done.returncode == 0
    busy = [context for context in measurement.contexts if "cpu-time" in context.values
            and any(frame.kind == "native" and frame.name == child_work().name for frame in context.path)]
    assert sum(context.values["cpu-time"].count for context in busy) > 10
    for context in busy:
        assert [str(frame) for frame in context.path[1:] if frame.kind != "native"] == expected


def test_python_frames_are_not_asked_for(tmp_path: Path) -> None:
    _, measurement = measured.run(tmp_path / "measured", child_work(), SONDE_CALL_PATH="native", **{VARIABLE: PATH})
    assert {frame.kind for context in measurement.contexts for frame in context.path} <= {"thread", "native"}


def test_the_variable_is_there_once(tmp_path: Path) -> None:
    """Also where a program hands on an environment that has it, and two programs deep."""
    script = tmp_path / "count.py"
    script.write_text("import os, subprocess, sys\n"
                      "subprocess.run(sys.argv[1:])\n"
                      "subprocess.run(sys.argv[1:], env=dict(os.environ))\n"
                      "os.system(' '.join(sys.argv[1:]))\n"
                      "subprocess.run(['sh', '-c', ' '.join(sys.argv[1:])])\n"
                      "print(os.environ['SONDE_START_PATH'], flush=True)\n")
    done = program.run(tmp_path, sys.executable, script, child_work(), "count")
    assert done.stdout.split("\n") == ["1", "1", "1", "1", "", ""]


SAME = """
import os, subprocess, sys
def seen():
    return subprocess.check_output(['env'])
texts = [seen(), subprocess.check_output(['env']), subprocess.check_output(['sh', '-c', 'exec env']),
         os.popen('env').buffer.read(), subprocess.check_output(['env'], env=os.environ)]
os.system('env >' + sys.argv[1])
texts.append(open(sys.argv[1], 'rb').read())
own = {name + b'=' + value for name, value in os.environb.items()}
for text in texts:
    # without a shell's own variables
    print({line for line in set(text.splitlines()) ^ own if line.split(b'=')[0] not in (b'PWD', b'OLDPWD', b'SHLVL', b'_')})
"""


def test_programs_do_not_see_their_line(tmp_path: Path) -> None:
    """What a program finds in its environment is its parent's, whichever line started it and however."""
    script = tmp_path / "same.py"
    script.write_text(SAME)
    done = program.run(tmp_path, sys.executable, script, tmp_path / "file")
    assert done.stdout == "set()\n" * 6, done.stdout


PIPING = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	return system(argv[1]) | pclose(popen(argv[1], "r"));
}
"""


def test_the_programs_of_a_program_that_calls_the_c_library(tmp_path: Path) -> None:
    """system(3) and popen(3) in a program that Python started."""
    (tmp_path / "piping.c").write_text(PIPING)
    subprocess.run(["cc", "-o", tmp_path / "piping", tmp_path / "piping.c"], check=True)
    script = tmp_path / "start.py"
    script.write_text("import subprocess, sys\nsubprocess.run(sys.argv[1:])\n")
    program.run(tmp_path, sys.executable, script, tmp_path / "piping", child_work())
    counts: Counter[str] = Counter()
    for frames, value in program.paths(tmp_path):
        if is_busy(frames):
            counts[next((frame["name"] for frame in frames if frame["kind"] == "python"), "")] += value["count"]
    assert set(counts) == {"<module>"} and counts["<module>"] > 20, counts


def test_a_path_is_no_cause_of_a_failure(tmp_path: Path) -> None:
    """Arguments that just fit into what the kernel takes: with a small stack 128 KiB."""
    script = tmp_path / "full.py"
    script.write_text("import os, subprocess, sys\n"
                      "def down(levels):\n"
                      "    if levels:\n"
                      "        return down(levels - 1)\n"
                      # the whole with Sonde's other variables
                      "    used = sum(len(name) + len(value) + 10 for name, value in os.environb.items())\n"
                      "    given = 0\n"
                      "    for left in (60000, 40000, 20000, 5000, 2000):\n"
                      "        text = 'x' * ((128 << 10) - used - left)\n"
                      "        half = len(text) // 2\n"
                      "        given += subprocess.run(['/bin/true', text[:half], text[half:]]).returncode == 0\n"
                      "    print(given, flush=True)\n"
                      "down(300)\n")
    done = program.run(tmp_path, "sh", "-c", 'ulimit -s 256; exec "$0" "$1"', sys.executable, script)
    assert done.stdout == "5\n"


def test_a_measurement_within_a_measurement(tmp_path: Path) -> None:
    """What `sonde run` starts is at the top of its measurement, whoever started `sonde run`."""
    inner = tmp_path / "inner"
    inner.mkdir()
    script = tmp_path / "outer.py"
    script.write_text(f"import subprocess\nsubprocess.run(['{program.SONDE}', 'run', '-q', '-o', '{inner}/run', '{child_work()}'])\n")
    done = subprocess.run([program.SONDE, "run", "-q", "-o", tmp_path / "run", sys.executable, script], env=dict(os.environ))
    assert done.returncode == 0
    busy = [frames for frames, _ in program.paths(inner) if is_busy(frames)]
    assert busy and not [frame for frames in busy for frame in frames if frame["kind"] == "python"]


def test_regions_are_handed_on(tmp_path: Path) -> None:
    script = tmp_path / "regions.py"
    script.write_text("import subprocess, sys\nimport sonde\n"
                      "def step():\n"
                      "    with sonde.region('outer'), sonde.iteration('step'):\n"
                      "        subprocess.run(sys.argv[1:])\n"
                      "step()\n")
    program.run(tmp_path, sys.executable, script, child_work(), environment={"PYTHONPATH": str(program.ROOT / "python")})
    paths = [[frame["name"] for frame in frames] for frames, _ in program.paths(tmp_path) if is_busy(frames)]
    assert paths
    for names in paths:
        # in their order, and before subprocess's own frames
        assert names.index("step") < names.index("outer") < names.index("run") < names.index("busy"), names
        assert names.count("step") >= 2, names


def test_calls_of_system_at_a_time(tmp_path: Path) -> None:
    """The earlier one's program is below its line; the later one's below none, rather than below the other's."""
    script = tmp_path / "both.py"
    script.write_text("import os, sys, threading, time\n"
                      "def first():\n"
                      "    os.system(sys.argv[1])\n"
                      "def second():\n"
                      "    time.sleep(0.3)\n"
                      "    os.system(sys.argv[2])\n"
                      "threads = [threading.Thread(target=first), threading.Thread(target=second)]\n"
                      "for thread in threads: thread.start()\n"
                      "for thread in threads: thread.join()\n"
                      "os.system(sys.argv[2])\n")
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(child_work().read_bytes())
        (tmp_path / name).chmod(0o755)
    program.run(tmp_path, sys.executable, script, f"{tmp_path / 'one'}; sleep 1", tmp_path / "two")
    found = set()
    for frames, _ in program.paths(tmp_path):
        modules = {Path(frame.get("module") or "").name for frame in frames}
        if is_busy(frames):
            python = [(frame["name"], frame["line"]) for frame in frames if frame["kind"] == "python"]
            found.add(("one" if "one" in modules else "two", *python[-1:]))
    assert found == {("one", ("first", 3)), ("two",), ("two", ("<module>", 10))}


def test_a_program_that_is_not_measured_has_no_variable(tmp_path: Path) -> None:
    """Too little memory for the library: the program is given the environment that it would have had."""
    script = tmp_path / "small.py"
    script.write_text("import subprocess\nsubprocess.run(['sh', '-c', 'ulimit -v 60000; exec env'])\n")
    done = program.run(tmp_path, sys.executable, script)
    names = {line.split("=")[0] for line in done.stdout.splitlines()}
    assert "PATH" in names and not names & {VARIABLE, "SONDE_OUTPUT"}, names
