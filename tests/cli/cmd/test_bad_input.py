# SPDX-License-Identifier: Apache-2.0
"""Wrong inputs for every command that reads a database: always 128, one line, no output and no file."""
from __future__ import annotations

import json
import os
import random
import struct
import zlib
from pathlib import Path

import pytest

from conftest import SONDE, run_sonde

COMMANDS = {
    "report": ["report"],
    "report-json": ["report", "--format", "json"],
    "bottom-up": ["report", "--view", "bottom-up"],
    "threads": ["report", "--view", "threads", "--format", "csv"],
    "info": ["info"],
    "info-json": ["info", "--format", "json"],
    "folded": ["export", "--to", "folded", "-o", "OUT"],
    "pprof": ["export", "--to", "pprof", "-o", "OUT"],
    "otlp": ["export", "--to", "otlp", "-o", "OUT"],
    "push": ["push", "--to", "http://127.0.0.1:1"],
    "html": ["export", "--to", "html", "-o", "OUT"],
}


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b""))


FOREIGN = {
    "elf": lambda: Path(SONDE).read_bytes()[:200_000],
    "png": png,
    "json": lambda: json.dumps({"traceEvents": [], "schemaVersion": 1}).encode(),
    "empty": lambda: b"",
    "zeroes": lambda: bytes(100_000),
    "ones": lambda: b"\xff" * 100_000,
    "text": lambda: b"hello\n" * 1000,
    "one-byte": lambda: b"S",
}


def refuse(options: list[str], path: Path, folder: Path) -> str:
    """Runs the command; checks that it refuses `path` as it should. Returns what it said."""
    out = folder / "out"
    arguments = [str(out) if option == "OUT" else option for option in options]
    result = run_sonde(*arguments, path, timeout=30)
    assert result.status == 128, f"{result.status} for {path.name}"
    assert result.out == ""
    assert len(result.err_lines) == 1 and result.err.startswith("sonde: cannot read ")
    assert str(path) in result.err
    assert not out.exists() and not list(folder.glob("out*"))
    return result.err


def test_names_that_a_terminal_would_obey(tmp_path):
    path = tmp_path / "a\x1b[2J\n\x9b31mé.sdb"
    path.write_bytes(b"hello")
    for command in (["report"], ["info"], ["import", "-o", "x.sdb"]):
        result = run_sonde(*command, path, timeout=30)
        assert result.status == 128 and len(result.err_lines) == 1
        assert "a?[2J???31mé.sdb" in result.err and result.err.rstrip("\n").isprintable()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign(tmp_path, command, kind):
    path = tmp_path / "x.sdb"
    path.write_bytes(FOREIGN[kind]())
    (tmp_path / "o").mkdir()
    refuse(COMMANDS[command], path, tmp_path / "o")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_file(tmp_path, command):
    (tmp_path / "folder").mkdir()
    (tmp_path / "o").mkdir()
    assert "No such file" in refuse(COMMANDS[command], tmp_path / "missing.sdb", tmp_path / "o")
    refuse(COMMANDS[command], tmp_path / "folder", tmp_path / "o")
    os.mkfifo(tmp_path / "pipe")
    refuse(COMMANDS[command], tmp_path / "pipe", tmp_path / "o")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path, small_db):
    path = tmp_path / "x.sdb"
    path.write_bytes(small_db.read_bytes())
    path.chmod(0)
    assert "Permission denied" in refuse(["info"], path, tmp_path)


@pytest.mark.parametrize("command", ["report-json", "folded"])
def test_truncated(tmp_path, small_db, command):
    whole = small_db.read_bytes()
    lengths = sorted({*range(0, 256, 8), *range(0, len(whole), max(1, len(whole) // 60)), len(whole) - 1})
    path = tmp_path / "x.sdb"
    (tmp_path / "o").mkdir()
    for length in lengths:
        path.write_bytes(whole[:length])
        refuse(COMMANDS[command], path, tmp_path / "o")


READERS = {"report": ["report", "--format", "json"], "info": ["info", "--format", "json"]}


@pytest.fixture(scope="module")
def readings(small_db) -> dict[str, str]:
    return {name: run_sonde(*options, small_db).out for name, options in READERS.items()}


@pytest.mark.parametrize("seed", range(60))
def test_corrupted(tmp_path, small_db, readings, seed):
    """Any changed byte that a checksum covers is found; a byte of padding may change nothing."""
    generator = random.Random(seed)
    whole = bytearray(small_db.read_bytes())
    for _ in range(generator.choice([1, 1, 1, 4, 100])):
        whole[generator.randrange(len(whole))] ^= generator.randrange(1, 256)
    path = tmp_path / "x.sdb"
    path.write_bytes(whole)
    for name, options in READERS.items():
        result = run_sonde(*options, path, timeout=30)
        if result.status == 0:
            assert result.out == readings[name]
        else:
            assert result.status == 128 and result.out == "" and len(result.err_lines) == 1


@pytest.mark.parametrize("output", ["/nowhere/x", "/proc/x", "folder"])
def test_unwritable_output(tmp_path, small_db, output):
    (tmp_path / "folder").mkdir()
    result = run_sonde("export", "--to", "folded", small_db, "-o", output, cwd=tmp_path)
    assert result.status == 128 and len(result.err_lines) == 1 and "cannot write" in result.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]


def test_output_is_the_database(tmp_path, small_db):
    path = tmp_path / "x.sdb"
    path.write_bytes(small_db.read_bytes())
    result = run_sonde("export", "--to", "folded", path, "-o", path)
    assert result.status == 128 and "database itself" in result.err
    assert path.read_bytes() == small_db.read_bytes()


def test_an_older_database_can_be_made_again(tmp_path, small_db):
    whole = bytearray(small_db.read_bytes())
    whole[8:10] = struct.pack("<H", 1)
    (tmp_path / "x.sdb").write_bytes(whole)
    (tmp_path / "o").mkdir()
    assert "version 1 of the format" in (said := refuse(["report"], tmp_path / "x.sdb", tmp_path / "o"))
    assert "make it again of the measurement with 'sonde analyze'" in said
    whole[8:10] = struct.pack("<H", 99)
    (tmp_path / "x.sdb").write_bytes(whole)
    assert "again" not in refuse(["report"], tmp_path / "x.sdb", tmp_path / "o")
