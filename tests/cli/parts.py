# SPDX-License-Identifier: Apache-2.0
"""Which tests of the command line go together: `pytest --part=PART tests/cli`.

MADE reads, converts and shows files that are there before, or runs programs of which no time and no share is judged, or
whose times are planned, as on devices that are not there (tests/fake): no answer depends on how busy the machine is, so
tests/run.sh runs these beside the others. All other modules measure programs while they run ("measured"), and so do tests of
these modules with the mark `measures`; a new module is one of those until it is named here. CORE is what `make check` runs:
of each command, importer and exporter the tests with known answers that take seconds."""
from __future__ import annotations

MADE = set("""
    analyze bad_input calls causes collectives commands completion critical_path cuda cuda_counters cuda_graphs cuda_memory
    cuda_samples cupti deep_paths disk_full doctor doctor_devices documentation evidence export failing_disk findings
    formula gen_measurements gpu_binary gpu_structure graph graph_replay hostile_names import import_epochs import_execution_trace
    import_hpctoolkit import_kineto import_kineto_graph import_nsys import_order import_perfetto import_rocpd import_rocprof
    import_step_stats import_streams import_unread import_xplane info libraries outputs path_causes pjrt_cuda privilege
    progress push push_collector python_database python_events python_package ranks recorded_samples recording report report_alike
    report_context rocm rocm_counters rocm_samples side_by_side split_dwarf structure suite symbols timeline
    timeline_answers timeline_many timeline_memory timeline_tables
""".split())

CORE = set("""
    commands completion deep_paths export gen_measurements graph hostile_names import_epochs import_execution_trace import_hpctoolkit
    import_nsys import_perfetto import_rocpd import_rocprof import_xplane info push report report_context run timeline
""".split())

PARTS = ("made", "measured", "core")


def is_in(part: str, module: str, is_measuring: bool = False) -> bool:
    """Whether a test is of this part: of a module, test_NAME, and with or without the mark `measures`."""
    name = module.removeprefix("test_")
    if part == "core":
        return name in CORE
    return (name in MADE and not is_measuring) == (part == "made")
