# SPDX-License-Identifier: Apache-2.0
"""What a real collector of OpenTelemetry makes of what `sonde push` sends it."""
from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Iterator

import pytest

from test_push import MS, Planted, cursor, library, once, planted, push  # noqa: F401 (fixtures)

COLLECTOR = os.environ.get("SONDE_OTELCOL", "") or shutil.which("otelcol-contrib") or ""
pytestmark = pytest.mark.skipif(not COLLECTOR, reason="no collector of OpenTelemetry (SONDE_OTELCOL; tests/cli/push/collector.sh builds one)")

CONFIGURATION = """
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:%d"}}}}
exporters: {file: {path: "%s"}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [file]}}
"""


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


@contextlib.contextmanager
def collector(folder: Path, port: int) -> Iterator[Path]:
    """Runs one; the file that it writes is whole after the block."""
    output, configuration = folder / "out.json", folder / "collector.yaml"
    configuration.write_text(CONFIGURATION % (port, output))
    with (folder / "collector.log").open("w") as log:
        process = subprocess.Popen([COLLECTOR, "--config", configuration, "--feature-gates=service.profilesSupport"], stdout=log, stderr=log)
    try:
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        assert process.poll() is None, (folder / "collector.log").read_text()
        yield output
    finally:
        process.terminate()
        process.wait(30)


def totals(output: Path) -> dict[tuple[str, str], int]:
    """By type and program."""
    sums: Counter = Counter()
    for message in map(json.loads, output.read_text().splitlines()):
        strings = message["dictionary"]["stringTable"]
        for resource in message["resourceProfiles"]:
            labels = {}
            for attribute in resource["resource"]["attributes"]:
                key = attribute.get("key") or strings[attribute["keyStrindex"]]
                value = attribute["value"]
                labels[key] = value.get("stringValue") or strings[value["stringValueStrindex"]]
            for profile in resource["scopeProfiles"][0]["profiles"]:
                kind = strings[profile["sampleType"]["typeStrindex"]]
                sums[kind, labels["service.name"]] += sum(int(value) for sample in profile["samples"] for value in sample["values"])
    return dict(sums)


def test_a_collector_takes_all(planted, tmp_path):  # noqa: F811
    port = free_port()
    planted.add(70)
    with collector(tmp_path, port) as output:
        assert push(f"http://127.0.0.1:{port}", planted.path).status == 0
    assert totals(output) == {("samples", "worker"): 80, ("samples", "other"): 20, ("cpu-clock", "worker"): 80 * MS, ("cpu-clock", "other"): 20 * MS}


def test_a_collector_that_is_restarted(planted, tmp_path):  # noqa: F811
    port, found = free_port(), Counter()
    for hot in (1, 2, 4):
        planted.add(hot, ("seal",))
        assert once(f"http://127.0.0.1:{port}", planted.path).status == 128  # it does not run
        with collector(tmp_path, port) as output:
            assert once(f"http://127.0.0.1:{port}", planted.path).status == 0
        found.update(totals(output))
        output.unlink()
    assert found["samples", "worker"] + found["samples", "other"] == planted.samples
    assert cursor(planted.path.parent / "cursor")["pushed"] == planted.samples
