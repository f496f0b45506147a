# SPDX-License-Identifier: Apache-2.0
"""`sonde import` of rocprofv3's CSV and JSON: made ones with a known answer, and the real ones read by other means."""
from __future__ import annotations

import collections
import csv
import gzip
import json
from collections import defaultdict

import pytest

from samples import SAMPLES, needs
from test_import_nsys import imported, info, paths, report

DATA = SAMPLES / "rocprof"
KINDS = ["kernel_trace", "hip_runtime_trace", "memory_copy_trace", "marker_api_trace", "counter_collection", "rccl_trace"]
needs_data = needs("rocprof")

CALL = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
KERNEL = ('"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
          '"Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count",'
          '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n')
COUNTER = ('"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name",'
           '"Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name",'
           '"Counter_Value","Start_Timestamp","End_Timestamp"\n')


def write_run(folder, prefix: str = "908_") -> list:
    files = {"hip_api_trace.csv": CALL + '"HIP_RUNTIME_API","hipLaunchKernel",908,910,7,1000,1100\n'
                                         '"HIP_RUNTIME_API","hipMemcpy",908,910,8,1200,1900\n',
             "marker_api_trace.csv": CALL + '"MARKER_CORE_API","step ""1"", all",908,910,3,900,2000\n'
                                            '"MARKER_CORE_API","mark",908,910,4,950,950\n',
             "kernel_trace.csv": KERNEL + '"KERNEL_DISPATCH","Agent 4",1,2,910,1,10,"void add<int, 2>(int*)",7,1150,1650,'
                                          '256,0,12,4,16,64,2,1,1000,6,1\n',
             "memory_copy_trace.csv": '"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id",'
                                      '"Correlation_Id","Start_Timestamp","End_Timestamp"\n'
                                      '"MEMORY_COPY","MEMORY_COPY_DEVICE_TO_HOST",0,"Agent 4","Agent 0",8,1700,1800\n',
             "counter_collection.csv": COUNTER +
             "".join(f'7,1,"Agent 4",1,908,910,6000,10,"void add<int, 2>(int*)",128,256,0,12,4,16,"{name}",{value},1150,1650\n'
                     for name, value in (("SQ_WAVES", "94.000000"), ("GRBM_COUNT", "12.5")))}
    for name, text in files.items():
        (folder / (prefix + name)).write_text(text)
    return [folder / (prefix + name) for name in files]


def test_rocprof_files_of_a_run_are_joined(sonde, tmp_path):
    path = imported(sonde, tmp_path, *write_run(tmp_path))
    metrics = ["kernel-time", "kernel-blocks", "kernel-block-threads", "kernel-registers", "copy-time", "real-time",
               "SQ_WAVES", "GRBM_COUNT"]
    rows = report(sonde, path, *[part for metric in metrics for part in ("--metric", metric)])
    kernel = 'step "1", all > hipLaunchKernel > void add<int, 2>(int*)'
    assert paths(rows, "kernel-time") == {kernel: (1, 500)}
    # the grid is in work-items: 1000 x 6 of 64 x 2
    assert paths(rows, "kernel-blocks") == {kernel: (1, 16 * 3)} and paths(rows, "kernel-block-threads") == {kernel: (1, 128)}
    assert paths(rows, "SQ_WAVES") == {kernel: (1, 94)} and paths(rows, "GRBM_COUNT") == {kernel: (1, 12.5)}
    assert paths(rows, "copy-time") == {'step "1", all > hipMemcpy > [HIP memory copy device to host]': (1, 100)}
    assert paths(rows, "real-time")['step "1", all'] == (1, 1100 - 100 - 700)
    about = info(sonde, path)
    assert about["events"] == 6 and about["drops"] == {}
    assert {(profile["pid"], profile["tid"]) for profile in about["profiles"]} == {(908, 0), (908, 910)}


def test_runs_are_told_apart(sonde, tmp_path):
    path = imported(sonde, tmp_path, *write_run(tmp_path), *write_run(tmp_path, "909_"))
    rows = report(sonde, path, "--metric", "kernel-time")
    assert rows[0]["values"]["kernel-time"]["inclusive"]["sum"] == 1000
    assert info(sonde, path)["properties"]["imported.files"] == "2"


def test_counters_alone_make_the_kernels(sonde, tmp_path):
    path = imported(sonde, tmp_path, write_run(tmp_path)[-1])
    rows = report(sonde, path, "--metric", "kernel-time", "--metric", "SQ_WAVES")
    assert paths(rows, "kernel-time") == {"[launched before the recording] > void add<int, 2>(int*)": (1, 500)}
    assert paths(rows, "SQ_WAVES") == {"[launched before the recording] > void add<int, 2>(int*)": (1, 94)}
    assert info(sonde, path)["drops"] == {"gpu-unlaunched": 1}


def results() -> dict:
    def call(kind, operation, correlation, start, end, **more):
        return {"size": 1, "kind": kind, "operation": operation, "correlation_id": {"internal": correlation, "external": 0},
                "start_timestamp": start, "end_timestamp": end, "thread_id": 910, **more}
    size = {"x": 64, "y": 1, "z": 1}
    info_ = {"agent_id": {"handle": 77}, "queue_id": {"handle": 1}, "kernel_id": 1, "dispatch_id": 1,
             "private_segment_size": 0, "group_segment_size": 32, "workgroup_size": size, "grid_size": {"x": 640, "y": 1, "z": 1}}
    return {"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 908, "node": {"hostname": "box"}, "command": ["/usr/bin/app", "x"]},
        "agents": [{"id": {"handle": 70}, "type": 1, "node_id": 0, "logical_node_type_id": 0, "name": "EPYC"},
                   {"id": {"handle": 77}, "type": 2, "node_id": 4, "logical_node_type_id": 3, "product_name": "MI300X"}],
        "strings": {"buffer_records": [{"kind": "NONE", "operations": []},
                                       {"kind": "HIP_RUNTIME_API", "operations": ["NONE", "hipLaunchKernel", "hipMemcpy"]},
                                       {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
                                       {"kind": "MARKER_CORE_API", "operations": ["roctxRangePush"]}],
                    "marker_api": [{"key": 3, "value": "my \"step\""}]},
        "kernel_symbols": [{"kernel_id": 0, "kernel_name": ""},
                           {"kernel_id": 1, "kernel_name": "_Z3add.kd", "formatted_kernel_name": "add(int)", "arch_vgpr_count": 9}],
        "later": {"unknown": [[1, 2], {"a": "}"}]},
        "callback_records": {"counter_collection": []},
        "buffer_records": {
            "marker_api": [call(3, 0, 3, 900, 2000)],
            "hip_api": [call(1, 1, 7, 1000, 1100), call(1, 2, 8, 1200, 1900)],
            "kernel_dispatch": [call(9, 2, 7, 1150, 1650, dispatch_info=info_, stream_id={"handle": 5})],
            "memory_copy": [call(2, 1, 8, 1700, 1800, bytes=4096, src_agent_id={"handle": 70}, dst_agent_id={"handle": 77})],
            "scratch_memory": [call(4, 1, 9, 900, 902, allocation_size=64)]}}]}


def test_json(sonde, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(results(), indent=1))
    path = imported(sonde, tmp_path, tmp_path / "r.json")
    rows = report(sonde, path, "--metric", "kernel-time,copy-bytes,kernel-blocks,kernel-registers")
    assert paths(rows, "kernel-time") == {'my "step" > hipLaunchKernel > add(int)': (1, 500)}
    assert paths(rows, "kernel-blocks")['my "step" > hipLaunchKernel > add(int)'] == (1, 10)
    assert paths(rows, "kernel-registers")['my "step" > hipLaunchKernel > add(int)'] == (1, 9)
    assert paths(rows, "copy-bytes") == {'my "step" > hipMemcpy > [HIP memory copy host to device]': (1, 4096)}
    about = info(sonde, path)
    assert about["program"] == "app" and about["drops"] == {} and about["events"] == 6  # one of scratch memory
    assert about["properties"]["rocprofv3.gpu.3"] == "MI300X"
    assert {profile["device"] for profile in about["profiles"] if profile["kind"] != "thread"} == {3}


@pytest.mark.parametrize("has_kernels", [False, True])
def test_json_counters_are_of_their_kernels(sonde, tmp_path, has_kernels):
    tool = (whole := results())["rocprofiler-sdk-tool"][0]
    dispatch, = tool["buffer_records"]["kernel_dispatch"]
    counters = [{"id": {"handle": 11}, "name": "SQ_WAVES"}, {"id": {"handle": 12}, "name": "GRBM_COUNT"}]
    tool["callback_records"]["counter_collection"] = [{
        "thread_id": 910, "stream_id": {"handle": 5},
        "dispatch_data": {key: dispatch[key] for key in ("correlation_id", "start_timestamp", "end_timestamp", "dispatch_info")},
        "records": [{"counter_id": {"handle": 11}, "value": 90.0}, {"counter_id": {"handle": 12}, "value": 7.5},
                    {"counter_id": {"handle": 11}, "value": 4}]}]
    if not has_kernels:
        tool["buffer_records"]["kernel_dispatch"] = []
    whole["rocprofiler-sdk-tool"] = [{"metadata": tool.pop("metadata"), "agents": tool.pop("agents"), "counters": counters, **tool}]
    (tmp_path / "r.json").write_text(json.dumps(whole))
    path = imported(sonde, tmp_path, tmp_path / "r.json")
    rows = report(sonde, path, "--metric", "kernel-time,SQ_WAVES,GRBM_COUNT")
    kernel = 'my "step" > hipLaunchKernel > add(int)'
    assert paths(rows, "kernel-time") == {kernel: (1, 500)}
    assert paths(rows, "SQ_WAVES") == {kernel: (1, 94)} and paths(rows, "GRBM_COUNT") == {kernel: (1, 7.5)}
    assert info(sonde, path)["drops"] == {}


ALLOCATED = ('"Kind","Operation","Agent_Id","Allocation_Size","Address","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
             '"MEMORY_ALLOCATION","MEMORY_ALLOCATION_ALLOCATE","Agent 4",4096,"0x0000700000000000",5,800,810\n'
             '"MEMORY_ALLOCATION","MEMORY_ALLOCATION_ALLOCATE","Agent 4",512,"0x0000700000010000",6,820,830\n'
             '"MEMORY_ALLOCATION","MEMORY_ALLOCATION_FREE","",0,"0x0000700000000000",9,1980,1990\n')
SCRATCH = ('"Kind","Operation","Agent_Id","Queue_Id","Thread_Id","Alloc_Flags","Start_Timestamp","End_Timestamp","Allocation_Size"\n'
           '"SCRATCH_MEMORY","SCRATCH_MEMORY_ALLOC","Agent 4",1,910,0,1110,1112,64\n'
           '"SCRATCH_MEMORY","SCRATCH_MEMORY_FREE","Agent 4",1,910,0,1700,1702,64\n')
AGENTS = '"Node_Id","Logical_Node_Id","Agent_Type","Product_Name"\n0,0,"CPU","EPYC"\n4,1,"GPU","Instinct MI300X"\n'
SUMS = '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n"add",1,500,500.0,100.0,500,500,0.0\n'


def test_every_file_of_a_run_is_taken(sonde, tmp_path):
    files = write_run(tmp_path)
    for name, text in {"memory_allocation_trace": ALLOCATED, "scratch_memory_trace": SCRATCH, "agent_info": AGENTS,
                       "kernel_stats": SUMS}.items():
        files.append(tmp_path / f"908_{name}.csv")
        files[-1].write_text(text)
    path = imported(sonde, tmp_path, *files)
    rows = report(sonde, path, "--metric", "tensor-alloc,tensor-free,kernel-time")
    total = {name: value["inclusive"]["sum"] for name, value in rows[0]["values"].items()}
    assert total == {"tensor-alloc": 4096 + 512 + 64, "tensor-free": 4096 + 64, "kernel-time": 500}
    about = info(sonde, path)
    assert about["events"] == 6 + 5 and about["drops"] == {"import-summaries": 1}
    assert about["properties"]["imported.files"] == "1" and about["properties"]["rocprof.gpu.4"] == "Instinct MI300X"


@pytest.mark.parametrize("text", [AGENTS, SUMS])
def test_a_file_without_activities_is_refused(sonde, tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    result = sonde("import", tmp_path / "x.csv", "-o", tmp_path / "x.sdb")
    assert result.status == 128 and "contains no activities" in result.err and not (tmp_path / "x.sdb").exists()


def test_runs_that_are_named_by_words_are_told_apart(sonde, tmp_path):
    """Both have the same correlations."""
    first, second = write_run(tmp_path, "before_"), write_run(tmp_path, "after_run_")
    second[0].write_text(second[0].read_text().replace("hipLaunchKernel", "hipExtLaunchKernel"))
    path = imported(sonde, tmp_path, *first, *second)
    kernel = "void add<int, 2>(int*)"
    assert paths(report(sonde, path, "--metric", "kernel-time"), "kernel-time") == {
        f'step "1", all > {call} > {kernel}': (1, 500) for call in ("hipLaunchKernel", "hipExtLaunchKernel")}
    assert info(sonde, path)["properties"]["imported.files"] == "2"


def test_libraries_launch_kernels_as_well(sonde, tmp_path):
    files = write_run(tmp_path)
    (tmp_path / "908_hip_api_trace.csv").rename(tmp_path / "908_rccl_api_trace.csv")
    files[0] = tmp_path / "908_rccl_api_trace.csv"
    files[0].write_text(files[0].read_text().replace("HIP_RUNTIME_API", "RCCL_API").replace("hipLaunchKernel", "ncclAllReduce"))
    path = imported(sonde, tmp_path, *files)
    assert list(paths(report(sonde, path, "--metric", "kernel-time"), "kernel-time")) == [
        'step "1", all > ncclAllReduce > void add<int, 2>(int*)']
    assert info(sonde, path)["drops"] == {}


def test_csv_of_rocm_6_2(sonde, tmp_path):
    """Segments instead of registers, and counters without times."""
    (tmp_path / "9_kernel_trace.csv").write_text(
        '"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",'
        '"Private_Segment_Size","Group_Segment_Size","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X",'
        '"Grid_Size_Y","Grid_Size_Z"\n"KERNEL_DISPATCH",4,1,10,"add",7,1150,1650,8,256,64,1,1,640,1,1\n')
    (tmp_path / "9_hip_api_trace.csv").write_text(CALL + '"HIP_RUNTIME_API","hipLaunchKernel",9,9,7,1000,1100\n')
    counters = tmp_path / "9_counter_collection.csv"
    counters.write_text('"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Name",'
                        '"Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","SGPR_Count","Counter_Name","Counter_Value"\n'
                        '7,1,4,1,9,9,640,"add",64,256,8,12,16,"SQ_WAVES",94\n')
    path = imported(sonde, tmp_path, *sorted(tmp_path.glob("9_*.csv")))
    rows = report(sonde, path, "--metric", "kernel-time,kernel-shared-bytes,SQ_WAVES")
    kernel = "hipLaunchKernel > add"
    assert paths(rows, "kernel-time") == {kernel: (1, 500)} and paths(rows, "kernel-shared-bytes") == {kernel: (1, 256)}
    assert paths(rows, "SQ_WAVES") == {kernel: (1, 94)} and info(sonde, path)["duration_ns"] == 650
    alone = imported(sonde, tmp_path, counters)
    assert list(paths(report(sonde, alone, "--metric", "SQ_WAVES"), "SQ_WAVES").values()) == [(1, 94)]


@pytest.mark.parametrize("cut", [100, 0.3, 0.6, 0.8, 0.99])
def test_truncated_json(sonde, tmp_path, cut):
    text = json.dumps(results())
    (tmp_path / "r.json").write_text(text[:cut if cut >= 1 else int(cut * len(text))])
    result = sonde("import", tmp_path / "r.json", "-o", tmp_path / "x.sdb")
    assert result.status == 128 and len(result.err_lines) == 1 and "r.json" in result.err
    assert not (tmp_path / "x.sdb").exists()


@pytest.mark.parametrize("old, new", [('"kernel_dispatch": [{', '"kernel_dispatch": [5, {'), ('"strings"', '"strings" 1'),
                                      ('"agents": [', '"agents": [,'), ('"metadata": {', '"metadata": {{')])
def test_damaged_json(sonde, tmp_path, old, new):
    text = json.dumps(results())
    assert old in text
    (tmp_path / "r.json").write_text(text.replace(old, new))
    result = sonde("import", tmp_path / "r.json", "-o", tmp_path / "x.sdb")
    assert result.status == 128 and len(result.err_lines) == 1 and not (tmp_path / "x.sdb").exists()


@pytest.mark.parametrize("tail", ['"HIP_RUNTIME_API","hip', '"HIP_RUNTIME_API","x",1\n', '"a"b,1,1,1,1,1,1\n', "1," * 100 + "\n"])
def test_damaged_csv(sonde, tmp_path, tail):
    (tmp_path / "hip_api_trace.csv").write_text(CALL + tail)
    result = sonde("import", tmp_path / "hip_api_trace.csv", "-o", tmp_path / "x.sdb")
    assert result.status == 128 and len(result.err_lines) == 1 and "line 2" in result.err
    assert not (tmp_path / "x.sdb").exists()


SAMPLE = '"Sample_Timestamp","Exec_Mask","Dispatch_Id","Instruction","Instruction_Comment","Correlation_Id"'


def samples_of(sonde, tmp_path, name: str, text: str) -> tuple[dict, list[dict]]:
    """Of a file of samples: how many are at which path, and each as an event, the first one first."""
    (tmp_path / name).write_text(text)
    path = imported(sonde, tmp_path, tmp_path / name)
    assert sonde("export", path, "--to", "events", "-o", tmp_path / "e.csv").status == 0
    with open(tmp_path / "e.csv", newline="") as file:
        events = sorted(csv.DictReader(file), key=lambda event: int(event["start_ns"]))
    return paths(report(sonde, path, "--metric", "samples"), "samples"), events


def test_samples_of_a_host_trap(sonde, tmp_path):
    """With and without a line of the source; of inlined code the innermost. They are not in order."""
    found, events = samples_of(sonde, tmp_path, "908_pc_sampling_host_trap.csv", SAMPLE + """
300,65535,1,"s_endpgm","",7
100,18446744073709551615,2,"v_add_f32 v1, v2, v3","/src/kernel.cpp:133",8
200,1,2,"v_add_f32 v1, v2, v3","/src/add.h:5 -> /src/kernel.cpp:140",8
400,1,2,"v_add_f32 v1, v2, v3","/src/kernel.cpp:133",8
""")
    assert found == {"s_endpgm": (1, 1), "kernel.cpp:133 > v_add_f32 v1, v2, v3": (2, 2), "add.h:5 > v_add_f32 v1, v2, v3": (1, 1)}
    assert [event["path"] for event in events] == [
        "kernel.cpp:133;v_add_f32 v1, v2, v3", "add.h:5;v_add_f32 v1, v2, v3", "s_endpgm", "kernel.cpp:133;v_add_f32 v1, v2, v3"]
    assert [int(event["start_ns"]) - int(events[0]["start_ns"]) for event in events] == [0, 100, 200, 300]
    assert [event["attribute.execution mask"] for event in events] == [str(2**64 - 1), "1", "65535", "1"]
    assert [event["attribute.sampled dispatch"] for event in events] == ["2", "2", "1", "2"]
    assert [event["attribute.sampled correlation"] for event in events] == ["8", "8", "7", "8"]


def test_samples_that_tell_why_a_wave_waits(sonde, tmp_path):
    kinds = ["ROCPROFILER_PC_SAMPLING_INSTRUCTION_" + name for name in ("TYPE_NO_INST", "NOT_ISSUED_REASON_WAITCNT", "TYPE_VALU")]
    found, events = samples_of(
        sonde, tmp_path, "908_pc_sampling_stochastic.csv",
        SAMPLE + f""","Wave_Issued_Instruction","Instruction_Type","Stall_Reason","Wave_Count"
100,255,24,"s_waitcnt vmcnt(0)","/src/ops.cpp:133",24,0,"{kinds[0]}","{kinds[1]}",4
200,255,29,"v_max_i32 v1, v2, v0","/src/ops.cpp:77",29,1,"{kinds[2]}","",6
""")
    assert found == {"ops.cpp:133 > s_waitcnt vmcnt(0)": (1, 1), "ops.cpp:77 > v_max_i32 v1, v2, v0": (1, 1)}
    assert [event["attribute.stall reason"] for event in events] == [kinds[1], ""]
    assert [event["attribute.waves"] for event in events] == ["4", "6"]


@needs_data
@pytest.mark.parametrize("kind", KINDS)
def test_rocprof_real_csv_loses_nothing(sonde, tmp_path, kind):
    with open(DATA / f"csv/{kind}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    path = imported(sonde, tmp_path, DATA / f"csv/{kind}.csv")
    assert info(sonde, path)["events"] == len(rows)
    length = sum(int(row["End_Timestamp"]) - int(row["Start_Timestamp"]) for row in rows)
    metric = {"kernel_trace": "kernel-time", "counter_collection": "kernel-time", "memory_copy_trace": "copy-time",
              "hip_runtime_trace": "gpu-api-time"}.get(kind)
    if metric:
        root = report(sonde, path, "--metric", metric)[0]["values"][metric]["inclusive"]
        assert (root["count"], root["sum"]) == (len(rows), length)
    if kind == "kernel_trace":
        blocks = 1
        total = 0
        for row in rows:
            for axis in "XYZ":
                blocks *= -(-int(row[f"Grid_Size_{axis}"]) // int(row[f"Workgroup_Size_{axis}"]))
            total, blocks = total + blocks, 1
        assert report(sonde, path, "--metric", "kernel-blocks")[0]["values"]["kernel-blocks"]["inclusive"]["sum"] == total


@needs_data
@pytest.mark.parametrize("kind", ["host_trap", "stochastic_debug"])
def test_rocprof_real_samples_lose_nothing(sonde, tmp_path, kind):
    """Samples of program counters: each instruction's count at its line, and every column."""
    source = DATA / f"csv/pc_sampling_{kind}.csv"
    with open(source, newline="") as file:
        rows = list(csv.DictReader(file))
    path = imported(sonde, tmp_path, source)
    assert info(sonde, path)["events"] == len(rows) and info(sonde, path)["drops"] == {}
    found = collections.Counter()
    for row in report(sonde, path, "--metric", "samples"):
        if "samples" in row["values"] and row["values"]["samples"].get("exclusive", {}).get("sum"):
            found[row["name"]] += row["values"]["samples"]["exclusive"]["sum"]
    assert found == collections.Counter(row["Instruction"] for row in rows)
    assert sonde("export", path, "--to", "events", "-o", tmp_path / "e.csv").status == 0
    with open(tmp_path / "e.csv", newline="") as file:
        events = list(csv.DictReader(file))
    for column, name in {"execution mask": "Exec_Mask", "sampled dispatch": "Dispatch_Id", "stall reason": "Stall_Reason",
                         "waves": "Wave_Count", "sampled correlation": "Correlation_Id"}.items():
        if name in rows[0]:
            assert sorted(event[f"attribute.{column}"] for event in events) == sorted(row[name] for row in rows), column


@needs_data
def test_rocprof_real_json_loses_nothing(sonde, tmp_path):
    source = DATA / "rocprofv3_908_results.json.gz"
    with gzip.open(source, "rt") as file:
        tool, = json.load(file)["rocprofiler-sdk-tool"]
    names = {symbol["kernel_id"]: symbol["formatted_kernel_name"] for symbol in tool["kernel_symbols"]}
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    dispatches = tool["buffer_records"]["kernel_dispatch"]
    for record in dispatches:
        pair = expected[names[record["dispatch_info"]["kernel_id"]]]
        pair[0] += 1
        pair[1] += record["end_timestamp"] - record["start_timestamp"]
    path = imported(sonde, tmp_path, source)
    found: dict[str, list[float]] = defaultdict(lambda: [0, 0])
    for row in report(sonde, path, "--metric", "kernel-time"):
        value = row["values"].get("kernel-time", {}).get("exclusive")
        if row["kind"] == "kernel" and value:
            found[row["name"]][0] += value["count"]
            found[row["name"]][1] += value["sum"]
    assert found == expected and info(sonde, path)["events"] == len(dispatches)
