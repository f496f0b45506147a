# SPDX-License-Identifier: Apache-2.0
"""`sonde daemon`: the whole machine, sampled all the time."""
from __future__ import annotations

import collections
import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from program import SONDE, bound, info, paths, rows
from running import running


def ask(store: Path, action: str, *arguments: object) -> dict:
    done = subprocess.run([SONDE, "daemon", action, "--store", store, "--format", "json", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(*arguments: object, **options) -> str:
    done = subprocess.run([SONDE, "daemon", *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)
    assert (done.returncode, done.stdout) == (128, "")
    [line] = done.stderr.splitlines()
    return line


def why_not() -> str:
    """Why this machine has no daemon; "" if it can."""
    folder = Path(f"/tmp/sonde-daemon-{os.getpid()}")
    try:
        done = subprocess.run([SONDE, "daemon", "start", "-q", "--store", folder], capture_output=True, text=True)
        subprocess.run([SONDE, "daemon", "stop", "-q", "--store", folder], capture_output=True)
        return done.stderr.strip()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


REFUSAL = why_not()
needs_bpf = pytest.mark.skipif(REFUSAL != "", reason=REFUSAL)
IS_CHROOT = not any(line.split()[4] == "/" for line in Path("/proc/self/mountinfo").read_text().splitlines())
needs_names = pytest.mark.skipif(IS_CHROOT, reason="the kernel tells paths from the machine's root, which is not that of this process: files are not found")


@contextlib.contextmanager
def daemon(store: Path, *options: object):
    """Runs until the end of the block, or until it was ended there."""
    subprocess.run([SONDE, "daemon", "start", "-q", "--store", store, *map(str, options)], check=True, timeout=60)
    try:
        yield ask(store, "status")["pid"]
    finally:
        subprocess.run([SONDE, "daemon", "stop", "-q", "--store", store], capture_output=True, timeout=60)


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}/exe").exists()


def wait_for_end(pid: int) -> None:
    end = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_running(pid)


def accounted(status: dict) -> None:
    """Each sample is stored, waits, or is lost for a cause."""
    samples = status["samples"]
    assert samples["taken"] == samples["stored"] + samples["waiting"] + sum(status["lost"].values()), status


@needs_bpf
def test_all_samples_are_accounted_for(tmp_path):
    store = tmp_path / "store"
    with running(), daemon(store, "-F", 2000):
        time.sleep(1)
        for action in ("status", "flush", "status", "epoch", "status"):
            status = ask(store, action)
            accounted(status)
        assert status["samples"]["stored"] > 1000
        assert status["flushes"] == 2
        assert status["rate"] == 2000 and status["event"] in ("cpu-clock", "cycles")
        assert status["own"]["resident_bytes"] > 1 << 20 and status["own"]["cpu_ns"] > 0
        pid = status["pid"]
    wait_for_end(pid)
    assert not (store / "control").exists()


@needs_bpf
def test_a_loop_costs_no_search(tmp_path):
    """What the samples of a process need is looked for once, not at each of them."""
    store = tmp_path / "store"
    with contextlib.ExitStack() as stack:
        for _ in range(os.cpu_count()):
            stack.enter_context(running())
        with daemon(store, "-F", 4000):
            time.sleep(2)
            status = ask(store, "status")
    assert status["own"]["table_hit_share"] > 0.3 and status["own"]["walk_share"] < 0.2, status


@needs_bpf
def test_status_for_people(tmp_path):
    store = tmp_path / "store"
    with daemon(store):
        time.sleep(0.2)
        said = subprocess.run([SONDE, "daemon", "status", "--store", store], capture_output=True, text=True, check=True).stdout
    assert f"The daemon of {store}, process " in said
    assert " samples " in said and " stored, by 0 flushes" in said and " of memory" in said
    assert max(map(len, said.splitlines())) <= max(80, len(said.splitlines()[0]))


@needs_bpf
def test_a_store_is_named_from_the_folder_one_is_in(tmp_path):
    """Though the daemon has another one, and though there is no such store yet."""
    subprocess.run([SONDE, "daemon", "start", "-q", "--store", "new"], cwd=tmp_path, check=True, timeout=60)
    try:
        assert ask(tmp_path / "new", "status")["pid"]
    finally:
        subprocess.run([SONDE, "daemon", "stop", "-q", "--store", "new"], cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "new" / "current").exists()


@needs_bpf
def test_what_it_says_at_its_start(tmp_path):
    done = subprocess.run([SONDE, "daemon", "start", "--store", tmp_path / "store", "-F", "100"], capture_output=True, text=True, timeout=60)
    with contextlib.suppress(subprocess.SubprocessError):
        subprocess.run([SONDE, "daemon", "stop", "-q", "--store", tmp_path / "store"], timeout=60)
    assert done.returncode == 0 and done.stdout == ""
    assert done.stderr.startswith("sonde: sampling all processes on ") and f"100 a second; store {tmp_path}/store" in done.stderr


@needs_bpf
def test_a_store_has_one_daemon(tmp_path):
    store = tmp_path / "store"
    with daemon(store) as pid:
        assert str(store) in refused("start", "--store", store)
        assert ask(store, "status")["pid"] == pid  # the first one was not disturbed
    wait_for_end(pid)


@pytest.mark.parametrize("action", ["status", "stop", "flush", "epoch"])
def test_no_daemon(tmp_path, action):
    assert refused(action, "--store", tmp_path) == f"sonde: no daemon runs for {tmp_path}"
    assert refused(action, "--store", tmp_path / "missing") == f"sonde: no daemon runs for {tmp_path}/missing"


@needs_bpf
def test_what_a_killed_daemon_leaves(tmp_path):
    """Its socket is no daemon, and the next one goes on."""
    store = tmp_path / "store"
    with daemon(store) as pid:
        ask(store, "flush")
        size = (store / "current").stat().st_size
        os.kill(pid, signal.SIGKILL)
        wait_for_end(pid)
        assert refused("status", "--store", store) == f"sonde: no daemon runs for {store}"
        with daemon(store):
            ask(store, "flush")
        assert (store / "current").stat().st_size > size


@needs_bpf
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_by_a_signal(tmp_path, number):
    """What was counted is written before."""
    store = tmp_path / "store"
    with running(), daemon(store, "-F", 1000) as pid:
        time.sleep(0.5)
        size = (store / "current").stat().st_size if (store / "current").exists() else 0
        os.kill(pid, number)
        wait_for_end(pid)
    assert (store / "current").stat().st_size > size


@needs_bpf
def test_others_see_nothing(tmp_path):
    store = tmp_path / "store"
    with daemon(store):
        ask(store, "flush")
        assert stat.S_IMODE(store.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in store.iterdir()} == {0o600}


@pytest.mark.skipif("built without" in REFUSAL, reason=REFUSAL)
def test_without_privilege():
    def give_up() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    if not os.stat(SONDE).st_mode & 1 or any(not folder.stat().st_mode & 1 for folder in SONDE.resolve().parents):
        pytest.skip("others cannot execute sonde")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        assert "CAP_BPF" in refused("start", "--store", f"{folder}/store", preexec_fn=give_up)


@needs_bpf
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can give up privileges")
def test_the_privileges_that_the_unit_gives(tmp_path):
    """sonded.service names all that is needed."""
    unit = Path(__file__).parents[3] / "share/sonded.service.in"
    [line] = [line for line in unit.read_text().splitlines() if line.startswith("CapabilityBoundingSet=")]
    kept = ",".join("+" + name.removeprefix("CAP_").lower() for name in line.split("=")[1].split())
    store = tmp_path / "store"
    subprocess.run(["setpriv", "--no-new-privs", f"--bounding-set=-all,{kept}", f"--inh-caps=-all,{kept}", SONDE, "daemon", "start", "-q", "--store", store], check=True, timeout=60)
    with running():
        time.sleep(0.5)
        status = ask(store, "flush")
        ask(store, "stop")
    accounted(status)
    assert status["samples"]["stored"] > 10


@needs_bpf
def test_a_full_disk(tmp_path):
    """Counts wait until there is room again."""
    store = tmp_path / "store"
    store.mkdir(mode=0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "none", store], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        with running(), daemon(store, "-F", 1000):
            filler = store / "filler"
            with contextlib.suppress(OSError), filler.open("wb") as file:
                for _ in range(100):
                    file.write(bytes(4096))
            time.sleep(0.5)
            assert "No space left" in refused("flush", "--store", store)
            status = ask(store, "status")
            assert status["samples"]["stored"] == 0 and "No space left" in status["failure"], status
            filler.unlink()
            status = ask(store, "flush")
            accounted(status)
            assert status["samples"]["stored"] > 100 and sum(status["lost"].values()) == 0 and "failure" not in status, status
    finally:
        subprocess.run(["umount", store], check=True)


@needs_bpf
def test_it_samples_less_often_where_it_costs_too_much(tmp_path):
    store = tmp_path / "store"
    with running(), daemon(store, "-F", 4000, "--cost", 0.001, "--flush", 1):
        time.sleep(4)
        status = ask(store, "status")
    assert status["rate"] < 4000 == status["asked_rate"]


def test_usage():
    for arguments in ([], ["begin"], ["start", "more"]):
        done = subprocess.run([SONDE, "daemon", *arguments], capture_output=True, text=True)
        assert done.returncode == 129 and len(done.stderr.splitlines()) == 1


# ---- what the store says ----

# Rounds of different length: samples have one period for a second, and would meet the same function of equal rounds again and again.
KNOWN = """
__attribute__((noinline, aligned(64))) static void long_part(unsigned n) { for (volatile unsigned i = 0; i < 3 * n; i++) ; }
__attribute__((noinline, aligned(64))) static void short_part(unsigned n) { for (volatile unsigned i = 0; i < n; i++) ; }
int main(void)
{
    for (unsigned state = 1;; state = state * 1103515245 + 12345) {
        long_part(20000 + state % 65536);
        short_part(20000 + state % 65536);
    }
}
"""


@needs_bpf
@needs_names
@pytest.mark.parametrize("options", [(), ("-no-pie",), ("-fuse-ld=lld",)])
def test_shares_of_functions(tmp_path, options):
    """Wherever the linker puts code in the file and in memory."""
    store, source, program = tmp_path / "store", tmp_path / "known.c", tmp_path / "known"
    source.write_text(KNOWN)
    subprocess.run(["cc", "-O1", "-g", *options, source, "-o", program], check=True)
    with subprocess.Popen([program]) as process, daemon(store, "-F", 1000):
        time.sleep(2)
        ask(store, "flush")
        process.kill()
    subprocess.run([SONDE, "import", store, "-o", tmp_path / "run.sdb"], check=True)
    [metric] = {row["name"] for row in info(tmp_path)["metrics"]}
    of = dict.fromkeys(("long_part", "short_part", "main"), 0)
    for frames, value in paths(tmp_path, metric):
        for name in {frame["name"].split(" ")[0] for frame in frames} & set(of):
            of[name] += value["count"]
    total = of["long_part"] + of["short_part"]
    assert total > 300
    assert of["main"] < total / 50, of
    assert abs(of["long_part"] / total - 0.75) < bound(0.75, total), of


@needs_bpf
def test_the_database_has_all_that_is_stored(tmp_path):
    store = tmp_path / "store"
    with running(), daemon(store, "-F", 1000):
        time.sleep(1)
        ask(store, "flush")
        time.sleep(0.5)
        ask(store, "epoch")
        time.sleep(0.5)
        stored = ask(store, "flush")["samples"]["stored"]
        subprocess.run([SONDE, "import", store, "-o", tmp_path / "run.sdb"], check=True)
    [metric] = {row["name"] for row in info(tmp_path)["metrics"]}
    assert sum(value["count"] for _, value in paths(tmp_path, metric)) == stored


SPIN = """
#include <time.h>
int main(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 4000000);
    return 0;
}
"""


@needs_bpf
def test_processes_that_have_ended_are_known(tmp_path):
    """Their program has gone before the daemon hears of them, and another one has its inode."""
    store, source, made = tmp_path / "store", tmp_path / "spin.c", tmp_path / "made"
    source.write_text(SPIN)
    subprocess.run(["cc", "-O1", source, "-o", made], check=True)
    with daemon(store, "-F", 1000):
        for number in range(10):
            program = tmp_path / f"spin{number}"
            shutil.copy(made, program)
            for _ in range(10):
                subprocess.run([program], check=True)
            program.unlink()
        status = ask(store, "flush")
        accounted(status)
    assert status["lost"]["unknown-code"] <= status["samples"]["taken"] * 0.0005, status
    subprocess.run([SONDE, "import", store, "-o", tmp_path / "run.sdb"], check=True)
    of = collections.Counter()
    for profile in info(tmp_path)["profiles"]:
        of[profile["program"]] += profile["samples"]
    assert all(15 < of[f"spin{number}"] < 150 for number in range(10)), of


@needs_bpf
def test_processes_apart(tmp_path):
    store = tmp_path / "store"
    with running() as one, running() as other, daemon(store, "-F", 1000, "--by-process"):
        time.sleep(0.5)
        ask(store, "flush")
        subprocess.run([SONDE, "import", store, "-o", tmp_path / "run.sdb"], check=True)
        assert {one.pid, other.pid} <= {profile["pid"] for profile in info(tmp_path)["profiles"]}


@needs_bpf
@needs_names
@pytest.mark.parametrize("options", [("-Wl,--build-id",), ("-Wl,--build-id=none",)])
def test_a_file_that_was_replaced_names_nothing(tmp_path, options):
    store, source, program = tmp_path / "store", tmp_path / "known.c", tmp_path / "known"
    source.write_text(KNOWN)
    subprocess.run(["cc", "-O1", *options, source, "-o", program], check=True)
    with subprocess.Popen([program]) as process, daemon(store, "-F", 1000):
        time.sleep(0.5)
        ask(store, "flush")
        process.kill()
    source.write_text(KNOWN.replace("long_part", "another"))
    program.unlink()
    subprocess.run(["cc", "-O1", *options, source, "-o", program], check=True)
    subprocess.run([SONDE, "import", store, "-o", tmp_path / "run.sdb"], check=True)
    names = {row["name"].split("  ")[0] for row in rows(tmp_path)}
    assert "[known, replaced]" in names and not {"another", "long_part", "short_part"} & names, names


@needs_bpf
@pytest.mark.skipif(not shutil.which("perf"), reason="no perf")
def test_counts_agree_with_perf(tmp_path):
    """By function, of the same program at the same time."""
    store, source, program, data = tmp_path / "store", tmp_path / "known.c", tmp_path / "known", tmp_path / "perf.data"
    source.write_text(KNOWN)
    subprocess.run(["cc", "-O1", "-g", source, "-o", program], check=True)
    with subprocess.Popen([program]) as process, daemon(store, "-F", 997):
        recorded = subprocess.run(["perf", "record", "-q", "-a", "-e", "cpu-clock", "-F", "991", "-o", data, "--", "sleep", "2"], capture_output=True, text=True)
        ask(store, "flush")
        process.kill()
    if recorded.returncode:
        pytest.skip(f"perf: {recorded.stderr}")
    script = subprocess.run(["perf", "script", "-i", data, "--comms", "known", "-F", "sym"], capture_output=True, text=True, check=True).stdout
    by_perf = [line.strip() for line in script.splitlines()]
    subprocess.run([SONDE, "import", store, "-o", tmp_path / "run.sdb"], check=True)
    [metric] = {row["name"] for row in info(tmp_path)["metrics"]}
    ours = [name for frames, value in paths(tmp_path, metric) if any(frame["name"] == "known" for frame in frames)
            for name in [frames[-1]["name"].split(" ")[0]] * int(value["count"])]
    assert min(len(by_perf), len(ours)) > 300
    for name in ("long_part", "short_part"):
        theirs, own = (sum(one == name or name in one for one in found) / len(found) for found in (by_perf, ours))
        assert abs(theirs - own) < bound(theirs, len(by_perf)) + bound(own, len(ours)), (name, theirs, own)


MADE = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    memcpy(code + 0x100, "\\xeb\\xfe", 2); /* jumps to itself */
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    FILE *list = fopen(path, "w");
    fprintf(list, "%lx 100 earlier\\n%lx 80 %s\\n", (long)code, (long)code + 0x100, argv[argc - 1]);
    fclose(list);
    puts("ready");
    fflush(stdout);
    ((void (*)(void))(code + 0x100))();
}
"""


@needs_bpf
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="its code is x86-64's")
def test_code_made_at_run_time_has_names(tmp_path):
    store, source, program = tmp_path / "store", tmp_path / "made.c", tmp_path / "made"
    source.write_text(MADE)
    subprocess.run(["cc", source, "-o", program], check=True)
    with daemon(store, "-F", 1000), contextlib.ExitStack() as stack:
        for name in ("one_function", "other_function"):
            process = stack.enter_context(subprocess.Popen([program, name], stdout=subprocess.PIPE, text=True))
            stack.callback(Path(f"/tmp/perf-{process.pid}.map").unlink, missing_ok=True)
            stack.callback(process.kill)
            assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        ask(store, "flush")
    subprocess.run([SONDE, "import", store, "-o", tmp_path / "run.sdb"], check=True)
    [metric] = {row["name"] for row in info(tmp_path)["metrics"]}
    of = {frames[-1]["name"]: value["count"] for frames, value in paths(tmp_path, metric)}
    assert of.get("one_function", 0) > 50 and of.get("other_function", 0) > 50 and "earlier" not in of, of
    assert {profile["pid"] for profile in info(tmp_path)["profiles"] if profile["program"] == "made"} == {0}
