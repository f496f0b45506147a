# SPDX-License-Identifier: Apache-2.0
"""data_parallel.py STEPS: two ranks train one layer with DistributedDataParallel over NCCL; the second is 20 ms late at each step."""
import os
import subprocess
import sys
import time

STEPS, RANKS = int(sys.argv[1]), 2


def train() -> None:
    import torch
    import torch.distributed
    from torch.nn.parallel import DistributedDataParallel

    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl")
    model = DistributedDataParallel(torch.nn.Linear(64, 64).cuda(), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        if rank == 1:
            time.sleep(0.02)
        model(torch.ones(8, 64, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.distributed.barrier()
    torch.cuda.synchronize()
    torch.distributed.destroy_process_group()
    os.write(1, f"rank {rank}: {STEPS} steps\n".encode())


if "RANK" in os.environ:
    train()
else:
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(RANKS)})
             for rank in range(RANKS)]
    sys.exit(max(rank.wait() for rank in ranks))
