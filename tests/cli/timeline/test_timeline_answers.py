# SPDX-License-Identifier: Apache-2.0
"""The views of `sonde timeline`: traces whose answers follow from how they were made, and real ones computed anew."""
from __future__ import annotations

import json

import pytest

import program
from kineto_traces import DATA, Trace, load
from pages import page_data
from samples import needs
from test_timeline_tables import view

US = 1000


def rows(answer: dict, sheet: str, key: str, value: str) -> dict:
    return {row[key]: row[value] for row in answer[sheet]["rows"]}


@pytest.fixture
def simple(tmp_path):
    """As in test_timeline.py: compute 100..200, copy 150..260, collective 400..500, compute 600..700."""
    trace = Trace()
    trace.call("user_annotation", "train step", 0, 1000)
    trace.call("cpu_op", "aten::mm", 10, 90)
    trace.launch(1, 20, 30)
    trace.call("cuda_runtime", "cudaMemcpyAsync", 40, 50, correlation=2)
    trace.call("cpu_op", "aten::relu", 270, 350)
    trace.launch(3, 300, 320)
    trace.launch(4, 450, 460)
    trace.operation("kernel", "gemm", 100, 200, 1)
    trace.operation("gpu_memcpy", "Memcpy HtoD", 150, 260, 2, stream=8, bytes=4096)
    trace.operation("kernel", "ncclDevKernel_AllReduce_Sum_f32", 400, 500, 3)
    trace.operation("kernel", "relu", 600, 700, 4)
    return trace.write(tmp_path / "simple.json")


def test_every_moment_without_computation_has_a_reason(sonde, simple):
    found = rows(view(sonde, "idle", simple), "waits", "reason", "time_ns")
    # 260..270 the step alone; 270..300 in an operator that launches; then as long as launching takes
    assert found == {"waiting for copies": 60 * US, "communicating": 100 * US, "no work queued": 10 * US,
                     "launch-bound": 30 * US, "launching": 200 * US}


def test_kernels_go_by_what_tells_them_apart(sonde, tmp_path):
    """Neither return type nor parameters; the template's arguments stay. In a sentence names are short, and whole
    characters."""
    trace = Trace()
    add = "at::native::each<4, at::native::Add<float>, char*>"
    names = [f"void {add}(int, (anonymous namespace)::Add<float>, char*)", "void f<" + "\u00fc" * 300 + ">(int)"]
    for number, name in enumerate(names):
        trace.launch(number + 1, 10 * number, 10 * number + 5)
        trace.operation("kernel", name, 1000 * number + 100, 1000 * number + 200 + 100 * number, number + 1)
    path = trace.write(tmp_path / "t.json")
    text = " ".join(sonde("timeline", path).out.split())
    said = text.split("Most work: ")[1].split(",")[0]
    assert said.startswith("f<\u00fc") and said.endswith("\u00fc>") and len(said) == 80 and "\u2026" in said
    work = sonde("import", path, "-o", tmp_path / "t.sdb")
    assert work.status == 0
    report = sonde("report", tmp_path / "t.sdb", "--metric", "kernel-time", COLUMNS="250").out
    assert f" {add} " in report and "anonymous" not in report


@pytest.mark.parametrize("kernels,said", [(30, "The work is spread: the most of it, 3.3%, is in k0."),
                                          (10, "Most work: k0, 10.0% of all work.")])
def test_work_that_is_spread_has_no_node_with_most(sonde, tmp_path, kernels, said):
    trace = Trace()
    for number in range(kernels):
        trace.launch(number + 1, 100 * number, 100 * number + 5)
        trace.operation("kernel", f"k{number}", 100 * number + 10, 100 * number + 90, number + 1)
    assert said in " ".join(sonde("timeline", trace.write(tmp_path / "t.json")).out.split())


@pytest.mark.parametrize("operators,is_said", [(40, False), (4, True)])
def test_a_host_that_does_a_little_of_all_is_most_in_nothing(sonde, tmp_path, operators, is_said):
    trace = Trace()
    for number in range(operators):
        trace.call("cpu_op", f"op{number}", 100 * number, 100 * number + 45)
        trace.launch(number + 1, 100 * number + 46, 100 * number + 48)
        trace.operation("kernel", "k", 100 * number + 50, 100 * number + 90, number + 1)
    text = " ".join(sonde("timeline", trace.write(tmp_path / "t.json")).out.split())
    assert ("the host was most in op" in text) == is_said


@pytest.mark.parametrize("category,said", [("overhead", "the profiler that recorded this was at its own work, in Activity Buffer Request"),
                                           ("cpu_op", "the host was most in Activity Buffer Request")])
def test_the_profiler_at_its_own_work_is_not_the_host(sonde, tmp_path, category, said):
    trace = Trace()
    for number in range(4):
        trace.call(category, "Activity Buffer Request", 1000 * number, 1000 * number + 800)
        trace.launch(number + 1, 1000 * number + 846, 1000 * number + 848)
        trace.operation("kernel", "k", 1000 * number + 850, 1000 * number + 950, number + 1)
    assert said in " ".join(sonde("timeline", trace.write(tmp_path / "t.json")).out.split())


def test_what_is_held_back(sonde, tmp_path):
    """Launches take 10 us but for one kernel that starts 300 us after its launch, with nothing before it."""
    trace = Trace()
    for number in range(6):
        trace.launch(number + 1, 1000 * number, 1000 * number + 5)
        late = 300 if number == 3 else 10
        trace.operation("kernel", "k", 1000 * number + late, 1000 * number + late + 100, number + 1)
    found = rows(view(sonde, "idle", trace.write(tmp_path / "t.json")), "waits", "reason", "time_ns")
    # the usual time counts twice before something is called held back
    assert found == {"no work queued": 4 * 890 * US + 600 * US, "launching": 4 * 10 * US + 20 * US, "held back": 280 * US}


def test_a_slow_call_is_not_held_back(sonde, tmp_path):
    """A launch that lasts until its kernel starts has kept it from starting, for what is longer than usual."""
    trace = Trace()
    for number in range(6):
        slow = 300 if number == 3 else 10
        trace.launch(number + 1, 1000 * number, 1000 * number + slow - 5)
        trace.operation("kernel", "k", 1000 * number + slow, 1000 * number + slow + 100, number + 1)
    found = rows(view(sonde, "idle", trace.write(tmp_path / "t.json")), "waits", "reason", "time_ns")
    assert found == {"no work queued": 4 * 890 * US + 600 * US, "launching": 4 * 10 * US + 20 * US,
                     "in a call that does not return": 275 * US, "held back": 5 * US}


def test_long_calls_are_not_launching(sonde, tmp_path):
    """A call that frees memory for 400 us is held up; an operator that computes for 300 us is busy with something else; what is
    short in both launches."""
    trace = Trace()
    trace.call("cpu_op", "aten::mm", 100, 1000)
    trace.call("cuda_runtime", "cudaFree", 150, 550)
    trace.call("cuda_runtime", "cudaMalloc", 560, 590)
    trace.call("cpu_op", "aten::empty", 890, 950)
    for number, (call, start) in enumerate([(0, 10), (960, 970)]):
        trace.launch(number + 1, call, call + 4)
        trace.operation("kernel", "k", start, start + 90, number + 1)
    found = rows(view(sonde, "idle", trace.write(tmp_path / "t.json")), "waits", "reason", "time_ns")
    # of aten::mm 590..890 is one piece; aten::empty launches nothing
    assert found == {"in a call that does not return": 400 * US, "no work queued": 360 * US,
                     "launch-bound": (50 + 10 + 30 + 10) * US, "launching": 10 * US}


def test_only_who_launches_is_too_slow(sonde, simple):
    """What another thread calls meanwhile does not make the device wait."""
    trace = Trace()
    trace.events = json.loads(simple.read_text())["traceEvents"]
    trace.call("cuda_runtime", "cudaMalloc", 262, 268, thread=11)
    found = rows(view(sonde, "idle", trace.write(simple)), "waits", "reason", "time_ns")
    assert found["no work queued"] == 10 * US and found["launch-bound"] == 30 * US


def test_delays_of_launches(sonde, tmp_path):
    """From launch to start 1 us, 2 us, to 100 us."""
    trace = Trace()
    for number in range(1, 101):
        trace.launch(number, 1000 * number, 1000 * number + 1)
        trace.operation("kernel", "k", 1000 * number + number, 1000 * number + 200, number)
    whole = view(sonde, "queue", trace.write(tmp_path / "t.json"))["queue"]["rows"][0]
    assert (whole["delay_ns"], whole["p95_delay_ns"], whole["not_launched"]) == (51 * US, 96 * US, 0)


def test_delays_are_from_the_outer_call(sonde, tmp_path):
    """The driver's call is read first here, as the annotation that ends before it leaves its place free."""
    trace = Trace()
    trace.call("user_annotation", "part", 0, 100)
    trace.launch(1, 50, 200)
    trace.call("cuda_driver", "cuLaunchKernel", 110, 120, correlation=1)
    trace.operation("kernel", "k", 300, 310, 1)
    whole = view(sonde, "queue", trace.write(tmp_path / "t.json"))["queue"]["rows"][0]
    assert whole["delay_ns"] == 250 * US


def test_queue_length(sonde, simple):
    answer = view(sonde, "queue", simple)
    whole = answer["queue"]["rows"][0]
    # copy 100..150, collective 300..400, last kernel 450..600, of 600 us
    assert (whole["operations"], whole["mean"], whole["empty_share"], whole["max"]) == (4, pytest.approx(0.5), 0.5, 1)
    series = [row["length"] for row in answer["queue_0"]["rows"]]
    assert len(series) == 240 and sum(series) / 240 == pytest.approx(0.5)
    assert series[:20] == [1] * 20 and series[20:80] == [0] * 60 and series[80:120] == [1] * 40


def test_overlap_is_exact(sonde, tmp_path):
    trace = Trace()
    trace.call("cpu_op", "aten::a", 0, 50)
    trace.call("cuda_runtime", "cudaDeviceSynchronize", 60, 180)
    trace.operation("kernel", "a", 0, 100, 1)
    trace.operation("kernel", "ncclDevKernel_AllReduce", 80, 160, 2, stream=8)
    trace.operation("gpu_memcpy", "Memcpy DtoH", 90, 170, 3, stream=9, bytes=1)
    answer = view(sonde, "states", trace.write(tmp_path / "t.json"))
    assert rows(answer, "states", "state", "time_ns") == {
        "threads + computation": 50 * US, "computation": 30 * US, "computation + communication": 10 * US,
        "computation + communication + copies": 10 * US, "communication + copies": 60 * US, "copies": 10 * US}
    assert rows(answer, "overlap", "what", "hidden_ns") == {"communication": 20 * US, "copies": 10 * US, "threads": 50 * US}


def test_threads_that_work_at_once_are_one(sonde, tmp_path):
    """Of one thread 0..10 and 100..200, of the other 20..50 and 120..150."""
    trace = Trace()
    for start, end, thread in [(0, 10, 10), (100, 200, 10), (20, 50, 11), (120, 150, 11)]:
        trace.call("cpu_op", "aten::a", start, end, thread=thread)
    trace.operation("kernel", "a", 0, 300, 1)
    answer = view(sonde, "states", trace.write(tmp_path / "t.json"))
    assert rows(answer, "states", "state", "time_ns") == {"threads + computation": 140 * US, "computation": 160 * US}


def rank_trace(rank: int, arrivals: list[float], ends: list[float], numbered: bool, clock: float = 0) -> Trace:
    """Collectives of 8 ranks; before each of them the rank computes since the one before ended."""
    trace = Trace()
    trace.members["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 8}
    before = 0.0
    for number, (start, end) in enumerate(zip(arrivals, ends)):
        args = {"Collective name": "allreduce", "Process Group Name": "0",
                "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]", **({"Seq": number + 7} if numbered else {})}
        trace.call("cpu_op", "aten::slow" if number % 2 else "aten::quick", clock + before, clock + before + 5)
        trace.launch(2 * number + 1, clock + before + 1, clock + before + 2)
        trace.operation("kernel", "work", clock + before + 5, clock + start, 2 * number + 1)
        trace.call("cpu_op", "c10d::allreduce_", clock + before + 5, clock + before + 10)
        trace.launch(2 * number + 2, clock + before + 6, clock + before + 7)
        trace.operation("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", clock + start, clock + end, 2 * number + 2,
                        **args)
        before = end
    return trace


def write_ranks(folder, numbered: bool, clocks=(0,) * 8):
    """Rank 5 arrives 3 ms after the others at every second collective, else all arrive within 10 us."""
    folder.mkdir()
    arrivals = {rank: [] for rank in range(8)}
    ends, now = [], 0.0
    for number in range(10):
        for rank in range(8):
            arrivals[rank].append(now + 1000 + rank + (3000 if rank == 5 and number % 2 else 0))
        now = max(arrivals[rank][-1] for rank in range(8)) + 500
        ends.append(now)
    for rank in range(8):
        rank_trace(rank, arrivals[rank], ends, numbered, clocks[rank]).write(folder / f"rank{rank}.json")
    return arrivals


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("clocks", [(0,) * 8, (0, 50_000, -20_000, 7_000, 0, 1_000_000, 30, 40_000)])
def test_the_straggler_is_found(sonde, tmp_path, numbered, clocks):
    arrivals = write_ranks(tmp_path / "ranks", numbered, tuple(2_000_000 + clock for clock in clocks))
    answer = view(sonde, "stragglers", tmp_path / "ranks")
    ranks = {row["participant"]: row for row in answer["ranks"]["rows"]}
    assert set(ranks) == {f"rank {rank}" for rank in range(8)}
    assert {name: row["last"] for name, row in ranks.items() if row["last"]} == {"rank 5": 5, "rank 7": 5}
    for rank in range(8):
        waited = sum(max(times[number] for times in arrivals.values()) - arrivals[rank][number] for number in range(10))
        assert ranks[f"rank {rank}"]["waited_ns"] == pytest.approx(waited * US, abs=50)
    assert ranks["rank 5"]["delayed_ns"] == pytest.approx(sum(5 * (3000 + 5 - rank) for rank in range(8) if rank != 5) * US, abs=50)
    assert ranks["rank 5"]["late_ns"] == pytest.approx(5 * (3000 + 5 - 7) * US, abs=50)
    offsets = [ranks[f"rank {rank}"]["clock_offset_ns"] for rank in range(8)]
    assert offsets == pytest.approx([(clocks[0] - clock) * US for clock in clocks], abs=5)
    # what kept it: the operator that launched the long kernel
    assert answer["late_in"]["rows"][0]["node"] == "aten::slow"
    assert answer["late_in"]["rows"][0]["participant"] == "rank 5"
    assert answer["waits_at"]["rows"][0]["node"] == "c10d::allreduce_"
    # devices say so as well: rank 0 waited for others, and for nothing else in its collectives
    waits = {row["device"] + " " + row["reason"]: row["time_ns"] for row in view(sonde, "idle", tmp_path / "ranks")["waits"]["rows"]}
    for rank in range(8):
        device = f"rank {rank} · device 0"
        assert waits[f"{device} waiting for another rank"] == pytest.approx(ranks[f"rank {rank}"]["waited_ns"], abs=5)
        assert waits[f"{device} communicating"] == pytest.approx(10 * 500 * US, abs=100)


def group_trace(path, rank: int, clock: float, collectives: list[tuple[str, float, float]], numbered: bool = True):
    """Of each collective its group's ranks and when this one was in it."""
    trace = Trace()
    trace.members["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 3}
    numbers: dict[str, int] = {}
    for number, (ranks, start, end) in enumerate(collectives):
        numbers[ranks] = numbers.get(ranks, 0) + 1
        args = {"Collective name": "allreduce", "Process Group Name": ranks, "Process Group Ranks": ranks,
                **({"Seq": numbers[ranks]} if numbered else {})}
        trace.launch(number + 1, clock + start - 10, clock + start - 9)
        trace.operation("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", clock + start, clock + end, number + 1, **args)
    return trace.write(path)


def test_clocks_of_ranks_that_never_meet(sonde, tmp_path):
    """Rank 0 knows rank 1, which knows rank 2: its clock is that of both steps."""
    first = [("[0, 1]", 1000 * number, 1000 * number + 100) for number in range(4)]
    second = [("[1, 2]", 10000 + 1000 * number, 10000 + 1000 * number + 100) for number in range(4)]
    clocks = (1_000_000, 1_300_000, 5_300_000)
    paths = [group_trace(tmp_path / f"rank{rank}.json", rank, clocks[rank], part)
             for rank, part in enumerate((first, first + second, second))]
    answer = view(sonde, "stragglers", *paths)
    offsets = {row["participant"]: row["clock_offset_ns"] for row in answer["ranks"]["rows"]}
    assert offsets == {f"rank {rank}": pytest.approx((clocks[0] - clock) * US, abs=5) for rank, clock in enumerate(clocks)}


@pytest.mark.parametrize("numbered", [True, False])
def test_one_that_cannot_be_is_no_other_clock(sonde, tmp_path, numbered):
    """Of eleven collectives one ended for rank 0 before rank 1 began: it waited until its own end, and clocks are left alone."""
    times = [(1000 * number, 1000 * number + 100) for number in range(11)]
    first = [("[0, 1]", *pair) for pair in times]
    second = [("[0, 1]", start + (250 if number == 5 else 10), end + (250 if number == 5 else 0))
              for number, (start, end) in enumerate(times)]
    paths = [group_trace(tmp_path / f"rank{rank}.json", rank, 1_000_000, part, numbered)
             for rank, part in enumerate((first, second))]
    ranks = {row["participant"]: row for row in view(sonde, "stragglers", *paths)["ranks"]["rows"]}
    assert [ranks[f"rank {rank}"]["clock_offset_ns"] for rank in (0, 1)] == [0, 0]
    assert ranks["rank 0"]["waited_ns"] == (10 * 10 + 100) * US and ranks["rank 1"]["last"] == 11


def overlap(first, second) -> float:
    return min(first["ts"] + first["dur"], second["ts"] + second["dur"]) - max(first["ts"], second["ts"])


@needs("kineto/hta_rank0.json.gz", "kineto/hta_rank1.json.gz")
def test_collectives_of_two_real_ranks(sonde):
    """Recordings that lack some collectives: those that overlap, and only those, belong together."""
    paths = [DATA / f"hta_rank{rank}.json.gz" for rank in (0, 1)]
    parts = [sorted((event for event in load(path) if event.get("cat") == "kernel" and "nccl" in event["name"]),
                    key=lambda event: event["ts"]) for path in paths]
    pairs = [(a, b) for a in parts[0] for b in parts[1] if overlap(a, b) > 0]
    waited = [sum(max(0, pair[1 - rank]["ts"] - pair[rank]["ts"]) for pair in pairs) for rank in (0, 1)]
    answer = view(sonde, "stragglers", *paths)
    assert [row["collectives"] for row in answer["ranks"]["rows"]] == [len(pairs)] * 2
    assert [row["waited_ns"] for row in answer["ranks"]["rows"]] == [time * US for time in waited]


@needs("kineto")
@pytest.mark.parametrize("name", ["b200_eager", "hta_alexnet", "hta_rank0", "mi300_Qwen_Qwen1.5-0.5B-Chat"])
def test_reasons_add_up(sonde, name):
    path = DATA / f"{name}.json.gz"
    answer = view(sonde, "all", path)
    for device in answer["devices"]:
        waits = sum(row["time_ns"] for row in answer["waits"]["rows"])
        states = sum(row["time_ns"] for row in answer["states"]["rows"])
        assert waits == device["total_ns"] - device["computation_ns"]
        assert states == device["total_ns"]
        exposed = {row["reason"]: row["time_ns"] for row in answer["waits"]["rows"]}
        assert exposed.get("waiting for copies", 0) == device["exposed_copy_ns"]
    assert len(answer["sentences"]) == 3


def test_one_command_for_a_folder(sonde, tmp_path):
    write_ranks(tmp_path / "ranks", True)
    (tmp_path / "ranks" / "notes.txt").write_text("not a trace")
    result = sonde("timeline", tmp_path / "ranks")
    assert result.status == 0, result.err
    first, second = result.out.split("\n\n")[0].split("\nWhat devices wait for")[:2]
    assert first.startswith("Where the time goes: of ") and "8 devices" in first
    assert "another rank" in second
    second = " ".join(second.split())
    assert "What limits it: " in second and "Which node to change: aten::" in second and "10% faster" in second
    assert sonde("timeline", tmp_path).status == 128
    assert "nothing in that folder is of a known format" in sonde("timeline", tmp_path).err


def test_mistakes_are_explained(sonde, simple):
    assert sonde("timeline").status == 129
    assert sonde("timeline", simple, "--view", "idel").status == 129
    assert "idle" in sonde("timeline", simple, "--view", "idel").err
    result = sonde("timeline", simple.parent / "missing.json")
    assert result.status == 128 and len(result.err_lines) == 1


def test_all_on_one_page(sonde, tmp_path):
    """The page loads nothing, and carries the sentences, every sheet of the JSON with all its rows, and the picture."""
    write_ranks(tmp_path / "ranks", True)
    done = sonde("timeline", tmp_path / "ranks", "-o", tmp_path / "a.html")
    assert done.status == 0 and done.out.endswith(f"\n{tmp_path / 'a.html'}: the timeline and all views\n")
    text, page = (tmp_path / "a.html").read_text(), page_data(tmp_path / "a.html")
    assert "default-src 'none'" in text and " src=" not in text and "<link rel=\"icon\" href=\"data:" in text
    answer = view(sonde, "all", tmp_path / "ranks")
    assert page["page"] == "timeline" and page["title"] == "ranks" and page["sentences"] == answer["sentences"]
    expected = {key: value for key, value in answer.items() if isinstance(value, dict)}
    assert [sheet["key"] for sheet in page["sheets"]] == list(expected)
    for sheet in page["sheets"]:
        keys = [column["key"] for column in sheet["columns"]]
        rows_ = [dict(zip(keys, row)) for row in sheet["rows"]]
        assert rows_ == expected[sheet["key"]]["rows"] and sheet["row_count"] == len(rows_)
        assert (sheet["title"], sheet["notes"]) == (expected[sheet["key"]]["title"], expected[sheet["key"]]["notes"])
    # of both ends of the time, unless only the begin is asked for
    drawn = boxes(page)
    assert len(drawn) > 8 and max(end for _, end in drawn) - min(first for first, _ in drawn) > 0.9 * page["picture"]["columns"]
    assert {track["name"] for track in page["picture"]["tracks"]} > {f"rank {rank} · device 0 · stream 7" for rank in range(8)}
    begin = sonde("timeline", tmp_path / "ranks", "-o", tmp_path / "a.html", "--to", "0.0000001")
    assert begin.status == 0 and len(boxes(page_data(tmp_path / "a.html"))) < len(drawn)


def boxes(page: dict) -> list[tuple[int, int]]:
    """First column and end of each box of the picture."""
    return [(track["boxes"][i], track["boxes"][i + 1]) for track in page["picture"]["tracks"] for i in range(0, len(track["boxes"]), 4)]


def test_names_cannot_break_the_page(sonde, tmp_path):
    """They are data, which has none of the signs of markup; what would act on a reader is made harmless."""
    trace = Trace()
    trace.call("cpu_op", "<script>alert(1)</script>&\"'\u202e\u0007", 0, 100)
    trace.launch(1, 10, 20)
    trace.operation("kernel", "</script><b>k", 30, 60, 1)
    assert sonde("timeline", trace.write(tmp_path / "<b>t.json"), "-o", tmp_path / "a.html").status == 0
    text = (tmp_path / "a.html").read_text()
    assert "alert(1)" not in text and "<b>" not in text and "<title>&lt;b&gt;t.json" in text
    data = json.dumps(page_data(tmp_path / "a.html"), ensure_ascii=False)
    assert "<script>alert(1)</script>&\\\"'\\\\u202e?" in data and "</script><b>k" in data and "\u202e" not in data


def test_ranks_without_devices(sonde, tmp_path):
    """Who is late, what it does meanwhile, and that the program's own code is most of the path."""
    (tmp_path / "ranks").mkdir()
    for rank in range(12):
        trace = Trace()
        trace.members["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": 12}
        for step in range(3):
            begin = 1000 * step
            arrival = begin + (600 if rank == 11 else 100 + rank)
            trace.call("user_annotation", f"ProfilerStep#{step + 1}", begin, begin + 800)
            trace.call("cpu_op", "aten::quick", begin + 10, begin + 40)
            trace.call("user_annotation", "gloo:all_reduce", arrival, begin + 700)
        trace.write(tmp_path / "ranks" / f"rank{rank}.json")
    answer = view(sonde, "summary", tmp_path / "ranks")
    waited = 3 * sum(600 - 100 - rank for rank in range(11)) / 1000
    assert len(answer["sentences"]) == 3
    assert answer["sentences"][1].startswith(f"What ranks wait for: {waited:.1f} ms together in 3 collectives, 100.0% of it for "
                                             "rank 11, which came last to 3; meanwhile that was most in ProfilerStep")
    assert "of that path is the program's own code" in answer["sentences"][2]
    findings = {one["rule"]: one for one in answer["findings"]}
    assert [one["rule"] for one in answer["findings"]] == ["thread_time", "rank_waits", "path_cause", "critical_node", "own_code"]
    evidence = {one["name"]: one for one in findings["rank_waits"]["evidence"]}
    assert evidence["waited"] == {"name": "waited", "unit": "ns", "value": waited * 1e6}
    assert (evidence["collectives"]["value"], evidence["last"]["value"], evidence["rank_share"]["value"]) == (3, 3, 1)
    assert evidence["node"]["text"].startswith("ProfilerStep")
    # 3 * 5.4 ms of 12 ranks for some 2.8 ms
    assert findings["rank_waits"]["severity"] == "major" and findings["rank_waits"]["suggestion"] is None
    assert findings["own_code"]["suggestion"] == "samples, or torch.profiler's with_stack=True, tell which"
    first = next(line for line in sonde("timeline", tmp_path / "ranks", "--view", "stragglers").out.splitlines() if line.startswith("  rank"))
    assert first.split()[:5] == ["rank", "11", "3", "3", "0"]  # of many only the first are shown


@pytest.mark.parametrize("name, communicates", [
    ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, int)", True),
    ("void deep_ep::intranode::dispatch<8, 768>(int4*, float*)", True),
    ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<float>(Params)", True),
    ("void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)", True),
    ("void unpack<deep_ep::internode::SourceMeta>(deep_ep::internode::SourceMeta*)", False),
    ("void gather(ncclDevKernelArgs, int)", False)])
def test_what_communicates(sonde, tmp_path, name, communicates):
    trace = Trace()
    trace.launch(1, 0, 5)
    trace.operation("kernel", name, 10, 20, 1)
    device, = view(sonde, "summary", trace.write(tmp_path / "t.json"))["devices"]
    assert device["communication_ns" if communicates else "computation_ns"] == 10 * US


def test_samples_count_alike(sonde, tmp_path):
    """What a thread waits for is not what it did before: nobody samples that."""
    times = [("f", 10 * i) for i in range(10)] + [("g", 5000 + 10 * i) for i in range(30)]
    (tmp_path / "t.json").write_text(json.dumps({
        "stackFrames": {"1": {"name": "f"}, "2": {"name": "g"}},
        "traceEvents": [{"ph": "P", "name": "cpu", "pid": 5, "tid": 5, "ts": time, "sf": "1" if name == "f" else "2"} for name, time in times]}))
    assert view(sonde, "summary", tmp_path / "t.json")["sentences"][0].startswith(
        "Where the time goes: no device is recorded; of 400 us of threads (7.6% of the 5.29 ms that the trace covers) most are in g (75.0%), then in f (25.0%)")


def test_a_sample_alone_has_no_time(sonde, tmp_path):
    """Nothing tells how long it stands for: a sentence about 1 ns would be invented."""
    (tmp_path / "t.json").write_text(json.dumps({"stackFrames": {"1": {"name": "f"}}, "traceEvents": [
        {"ph": "P", "name": "cpu", "pid": 5, "tid": thread, "ts": 10, "sf": "1"} for thread in (5, 6)]}))
    assert view(sonde, "summary", tmp_path / "t.json")["sentences"] == []


@pytest.mark.parametrize("form", ["html", "svg"])
def test_a_moment_alone_has_a_picture(sonde, tmp_path, form):
    trace = Trace()
    trace.operation("kernel", "k", 5, 5, 1)
    path = trace.write(tmp_path / "t.json")
    assert sonde("timeline", path, "-o", tmp_path / f"t.{form}").status == 0 and (tmp_path / f"t.{form}").stat().st_size > 500
    assert "1 operation on 1 stream" in sonde("timeline", path).out and "compute all the time" not in sonde("timeline", path).out


def test_a_program_without_a_device(sonde, tmp_path):
    trace = Trace()
    trace.call("cpu_op", "aten::a", 0, 300)
    trace.call("cpu_op", "aten::b", 400, 1000)
    answer = view(sonde, "summary", trace.write(tmp_path / "t.json"))
    assert answer["sentences"][0].startswith("Where the time goes: no device is recorded; of 900 us of threads most are in aten::b (66.7%)")
    assert answer["sentences"][-1].startswith("What limits it: the host, 100.0% of the 1.00 ms of the critical path of the trace. "
                                              "Which node to change: aten::b is on the critical path for 600 us (60.0%); ")


def test_the_first_moment_of_a_long_trace_is_no_answer(sonde, tmp_path):
    """Of 6 million events the path is looked for among the first third of the time, in which only "first" ran."""
    program.run(tmp_path, program.compiled("region/late_regions.c", "-O2"), "5", "6000000", options=("-e", "none", "--trace=regions"))
    answer = view(sonde, "summary", tmp_path / "run.sdb")
    assert "most are in late" in answer["sentences"][0]
    assert answer["sentences"][-1].startswith("Which node to change: not looked at, because the trace is long and has no iterations.")


def test_a_trace_of_which_little_is_recorded(sonde, tmp_path):
    trace = Trace()
    trace.call("cpu_op", "aten::a", 0, 300)
    trace.call("cpu_op", "aten::b", 9400, 10000)
    answer = view(sonde, "summary", trace.write(tmp_path / "t.json"))
    assert answer["sentences"][0].startswith("Where the time goes: no device is recorded; of 900 us of threads (9.0% of the "
                                             "10.0 ms that the trace covers) most are in aten::b (66.7%)")


def test_a_path_of_little_of_the_trace_is_not_told(sonde, tmp_path):
    """Calls at the begin, and then nothing that could limit anything: counters alone."""
    trace = Trace()
    trace.call("cpu_op", "aten::a", 0, 300)
    trace.events.append({"ph": "C", "name": "load", "pid": 1, "tid": 1, "ts": 900_000, "args": {"cpu": 3}})
    answer = view(sonde, "summary", trace.write(tmp_path / "t.json"))
    assert len(answer["sentences"]) == 1 and "of the 900 ms that the trace covers" in answer["sentences"][0]


def test_a_trace_of_launches_without_what_they_launched(sonde, tmp_path):
    """The profiler was not asked for devices: that none is recorded does not mean that none worked."""
    trace = Trace()
    for number in range(3):
        trace.call("cpu_op", "aten::a", 100 * number, 100 * number + 90)
        trace.launch(number + 1, 100 * number + 10, 100 * number + 15)
    answer = view(sonde, "summary", trace.write(tmp_path / "t.json"))
    assert answer["sentences"][0].startswith("Where the time goes: no device is recorded, though 3 calls launched work on one; of ")


@needs("kineto/hta_rank0.json.gz", "kineto/hta_rank1.json.gz")
def test_the_answer_in_the_readme(sonde, tmp_path):
    """What README.md shows of a folder of two ranks is what is printed."""
    traces = tmp_path / "traces"
    traces.mkdir()
    for rank in range(2):
        (traces / f"hta_rank{rank}.json.gz").symlink_to(DATA / f"hta_rank{rank}.json.gz")
    shown = (program.ROOT / "README.md").read_text().split("$ sonde timeline traces/\n")[1].split("```")[0]
    assert sonde("timeline", traces).out.startswith(shown)


def test_notes_keep_to_the_width(sonde, simple):
    lines = sonde("timeline", simple, "--view", "idle", COLUMNS="60").out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("  shares are of the time"))
    assert len(lines[at]) <= 60 and lines[at + 1].startswith("    ") and len(lines[at + 1]) <= 60
    whole = sonde("timeline", simple, "--view", "idle", COLUMNS="400").out
    assert " ".join((lines[at] + lines[at + 1][3:]).split()) in " ".join(whole.split())


@pytest.mark.measures
@pytest.mark.parametrize("case", [(), ("steps",)], ids=["alone", "steps"])
def test_idle_for_code_in_no_call(tmp_path, case):
    """Samples tell what a program is in while its device has nothing to do, between calls and in steps as such."""
    if not (program.BUILD / "tests/opencl-known").exists():
        pytest.skip("built without OpenCL")
    binary = program.compiled("opencl/opencl_busy.c", "-O1", "-g", "-lOpenCL")
    done = program.run(tmp_path, binary, *case, options=("--trace", "-F", "1000"), check=None)
    if done.returncode == 77:
        pytest.skip("no OpenCL device here (pocl-opencl-icd gives one)")
    assert (done.returncode, done.stdout) == (0, "40\n"), done.stderr
    answer = json.loads(program.sonde("timeline", tmp_path / "run.sdb", "--view", "idle", "--format", "json"))
    rows = answer["blame"]["rows"]
    assert rows[0]["node"] == "prepare in main" and rows[0]["share"] > 0.6, rows[:5]
    assert sum(row["share"] for row in rows) <= 1.001
    assert any(row["node"] == "prepare" and row["time_ns"] > 10e6 for row in answer["before_first"]["rows"]), answer["before_first"]["rows"]
    text = program.sonde("timeline", tmp_path / "run.sdb")
    assert f"the host was most in {rows[0]['node']}" in " ".join(text.split())
    assert rows[0]["node"] in text.split("while it was idle, the host was in\n")[1].splitlines()[0]
    path = json.loads(program.sonde("timeline", tmp_path / "run.sdb", "--view", "critical-path", "--format", "json"))
    assert path["path_sampled"]["rows"][0]["node"] == "prepare"


def test_what_has_less_than_half_is_not_most(sonde, tmp_path):
    trace = Trace()
    for number, name in enumerate("abc"):
        trace.call("cpu_op", f"aten::{name}", 1000 * number, 1000 * number + 400 - 10 * number)
    answer = view(sonde, "summary", trace.write(tmp_path / "t.json"))
    assert "the largest part is in aten::a (34.2%), then in aten::b (33.3%)" in answer["sentences"][0]


def test_what_runs_a_notebook_is_not_the_program(sonde, tmp_path):
    """A cell is whose line it is; that the kernel called it tells nothing."""
    trace = Trace()
    trace.operation("kernel", "k", 0, 10, 1)
    trace.call("python_function", "ipykernel/kernelbase.py(100): execute", 20, 995)
    trace.call("python_function", "IPython/core/interactiveshell.py(3553): run_code", 21, 994)
    trace.call("python_function", "1623915622.py(18): <cell line: 0>", 22, 993)
    trace.call("cpu_op", "aten::randn", 23, 990)
    trace.launch(2, 991, 992)
    trace.operation("kernel", "k", 1000, 1010, 2)
    answer = view(sonde, "idle", trace.write(tmp_path / "t.json"))
    assert answer["blame"]["rows"][0]["node"] == "aten::randn in 1623915622.py:18 <cell line: 0>"
