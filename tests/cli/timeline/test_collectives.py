# SPDX-License-Identifier: Apache-2.0
"""Which parts of collectives belong together: by process group, name, size and order; by times only where those do not say."""
from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "import"))
from kineto_traces import Trace  # noqa: E402

US = 1000
RANKS = 4
EARLY = {"broadcast": "root", "reduce": "others"}  # whose part may end before all have arrived
KERNELS = {"allreduce": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "broadcast": "ncclDevKernel_Broadcast_RING_LL",
           "reduce": "ncclDevKernel_Reduce_Sum_f32_RING_LL", "generic": "ncclDevKernel_Generic"}


def stragglers(sonde, *paths) -> dict:
    result = sonde("timeline", *paths, "--view", "stragglers", "--format", "json")
    assert result.status == 0, result.err
    return json.loads(result.out)


def by_rank(answer: dict, column: str) -> dict[str, float]:
    return {row["participant"]: row[column] for row in answer["ranks"]["rows"]}


def schedule(seed: int, kinds: list[str], irregular: float = 3000) -> list[dict]:
    """Of each collective its kind, its size and when each rank was in it, in microseconds. What has a root ends early for those who
    need not wait: before the others begin."""
    chance = random.Random(seed)
    now, all_of_them = 1000.0, []
    for kind in kinds:
        begins = [round(now + chance.uniform(1, irregular), 3) for _ in range(RANKS)]
        end, root = max(begins) + round(chance.uniform(20, 200), 3), chance.randrange(RANKS)
        ends = [end] * RANKS
        for rank in range(RANKS):
            if kind in EARLY and (rank == root) == (EARLY[kind] == "root"):
                ends[rank] = begins[rank] + 5
        all_of_them.append({"kind": kind, "size": chance.choice([1000, 2000, 50000]), "begins": begins, "ends": ends})
        now = max(end, *ends) + round(chance.uniform(10, irregular), 3)
    return all_of_them


def write(folder: Path, collectives: list[dict], clocks=(0,) * RANKS, name="generic", lacking: dict[int, range] | None = None) -> list[Path]:
    """One file a rank, whose clock is so far ahead; of some ranks a range of collectives is not recorded."""
    folder.mkdir()
    paths = []
    for rank in range(RANKS):
        trace = Trace()
        trace.members["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": RANKS}
        for number, one in enumerate(collectives):
            if lacking and number in lacking.get(rank, ()):
                continue
            args = {"Collective name": one["kind"], "In msg nelems": one["size"], "Out msg nelems": one["size"], "dtype": "Float",
                    "Group size": RANKS, "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]"}
            begin, end = clocks[rank] + one["begins"][rank], clocks[rank] + one["ends"][rank]
            trace.launch(number + 1, begin - 5, begin - 4)
            trace.operation("kernel", KERNELS.get(name if name == "generic" else one["kind"]), begin, end, number + 1, **args)
        paths.append(trace.write(folder / f"rank{rank}.json"))
    return paths


def waited(collectives: list[dict], rank: int) -> float:
    return sum(max(0.0, min(max(one["begins"]), one["ends"][rank]) - one["begins"][rank]) for one in collectives) * US


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ["generic", "own"])
@pytest.mark.parametrize("clocks", [(0,) * RANKS, (0, 700_000, -300_000, 45_000)])
def test_all_of_four_ranks_are_paired(sonde, tmp_path, seed, name, clocks):
    """21 collectives, of which 6 have a root that returns before the others come."""
    kinds = ["allreduce"] * 15 + ["broadcast"] * 4 + ["reduce"] * 2
    random.Random(seed).shuffle(kinds)
    all_of_them = schedule(seed, kinds)
    answer = stragglers(sonde, *write(tmp_path / "ranks", all_of_them, tuple(2_000_000 + clock for clock in clocks), name))
    assert by_rank(answer, "collectives") == {f"rank {rank}": 21 for rank in range(RANKS)}
    assert sum(by_rank(answer, "last").values()) == 21
    assert not [note for note in answer["ranks"]["notes"] if "lack" in note or "partner" in note]
    offsets = by_rank(answer, "clock_offset_ns")
    assert list(offsets.values()) == pytest.approx([(clocks[0] - clock) * US for clock in clocks], abs=5)
    for rank in range(RANKS):
        assert by_rank(answer, "waited_ns")[f"rank {rank}"] == pytest.approx(waited(all_of_them, rank), abs=200)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_broadcasts_alone_are_paired(sonde, tmp_path, seed):
    """Nothing else tells that they belong together: most roots have returned before anybody came."""
    all_of_them = schedule(seed, ["broadcast"] * 21)
    answer = stragglers(sonde, *write(tmp_path / "ranks", all_of_them))
    assert by_rank(answer, "collectives") == {f"rank {rank}": 21 for rank in range(RANKS)}
    assert by_rank(answer, "clock_offset_ns") == {f"rank {rank}": 0 for rank in range(RANKS)}
    assert not [note for note in answer["ranks"]["notes"] if "lack" in note or "clock" in note]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_times_that_contradict_do_not_undo_a_pair(sonde, tmp_path, seed):
    """Clocks that drift apart by 2 ms in each collective: no offset mends that, but names, sizes and order agree in all."""
    all_of_them = schedule(seed, ["allreduce", "broadcast", "allreduce"] * 7)
    for number, one in enumerate(all_of_them):
        for rank in range(RANKS):
            one["begins"][rank] += 2000 * number * rank
            one["ends"][rank] += 2000 * number * rank
    answer = stragglers(sonde, *write(tmp_path / "ranks", all_of_them))
    assert by_rank(answer, "collectives") == {f"rank {rank}": 21 for rank in range(RANKS)}
    notes = answer["ranks"]["notes"]
    assert not [note for note in notes if "lack" in note] and [note for note in notes if "contradict" in note]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_size_tells_which_is_missing(sonde, tmp_path, seed):
    """Rank 2 was not recorded in the first three, whose size no other has: the others are found by size and order."""
    all_of_them = schedule(seed, ["allreduce"] * 12)
    for number, one in enumerate(all_of_them):
        one["size"] = 77 if number < 3 else 500
    answer = stragglers(sonde, *write(tmp_path / "ranks", all_of_them, lacking={2: range(3)}))
    assert by_rank(answer, "collectives") == {"rank 0": 12, "rank 1": 12, "rank 2": 9, "rank 3": 12}
    for rank in (0, 1, 3):
        expected = sum((max(one["begins"][r] for r in range(RANKS) if number >= 3 or r != 2) - one["begins"][rank])
                       for number, one in enumerate(all_of_them)) * US
        assert by_rank(answer, "waited_ns")[f"rank {rank}"] == pytest.approx(expected, abs=100)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_missing_is_said(sonde, tmp_path, seed):
    """Where neither name nor size tells which of them rank 2 lacks, those of one time belong together."""
    all_of_them = schedule(seed, ["allreduce"] * 12)
    for one in all_of_them:
        one["size"] = 500
    answer = stragglers(sonde, *write(tmp_path / "ranks", all_of_them, lacking={2: range(3)}))
    assert by_rank(answer, "collectives") == {"rank 0": 12, "rank 1": 12, "rank 2": 9, "rank 3": 12}
    assert [note for note in answer["ranks"]["notes"] if "lack some" in note]


@pytest.mark.parametrize("numbered", [True, False])
def test_messages_of_a_pipeline_are_pairs(sonde, tmp_path, numbered):
    """Each rank sends to the next: its n-th message is that rank's n-th receipt, not the next one's n-th message. Messages and
    collectives are numbered apart, with the same numbers."""
    (tmp_path / "ranks").mkdir()
    for rank in range(RANKS):
        trace = Trace()
        trace.members["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": RANKS}
        number = messages = 0
        for step in range(5):
            for kind, source, target in (("recv", rank - 1, rank), ("send", rank, rank + 1)):
                if source < 0 or target >= RANKS:
                    continue
                number += 1
                messages += 1
                # who sends comes 100 us after who receives, and they end together
                begin = 1000 + 10_000 * step + 2000 * source + (100 if kind == "send" else 0)
                end = 1000 + 10_000 * step + 2000 * source + 300
                args = {"Collective name": kind, "In msg nelems": 10, "Out msg nelems": 10, "dtype": "Float", "Process Group Name": "0",
                        "Process Group Ranks": "[0, 1, 2, 3]", "Src Rank": source, "Dst Rank": target}
                trace.launch(number, begin - 5, begin - 4)
                trace.operation("kernel", "ncclDevKernel_SendRecv", begin, end, number, **args, **({"Seq": messages} if numbered else {}))
            number += 1
            begin, end = 9000 + 10_000 * step + rank, 9100 + 10_000 * step
            args = {"Collective name": "allreduce", "In msg nelems": 10, "Out msg nelems": 10, "dtype": "Float", "Process Group Name": "0",
                    "Process Group Ranks": "[0, 1, 2, 3]"}
            trace.launch(number, begin - 5, begin - 4)
            trace.operation("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", begin, end, number, **args, **({"Seq": step + 1} if numbered else {}))
        trace.write(tmp_path / "ranks" / f"rank{rank}.json")
    answer = stragglers(sonde, tmp_path / "ranks")
    assert by_rank(answer, "collectives") == {"rank 0": 10, "rank 1": 15, "rank 2": 15, "rank 3": 10}
    assert by_rank(answer, "waited_ns") == {f"rank {rank}": 5 * ((100 if rank else 0) + (3 - rank)) * US for rank in range(RANKS)}
    assert not [note for note in answer["ranks"]["notes"] if "lack" in note or "clock" in note or "partner" in note]
