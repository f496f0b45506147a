#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints, for the compiler's command line, the names of the newest structures of records in CUPTI's headers: those with the highest
# numbers. Usage: records.sh FOLDER
newest() {
	echo "-D$2=$(grep -oE "^} CUpti_Activity$1[0-9]*;" "$folder/cupti_activity.h" | tr -d '}; ' | sort -V | tail -1)"
}
folder=${1:?}
newest Kernel KERNEL_RECORD
newest Memcpy COPY_RECORD
newest MemcpyPtoP PEER_RECORD
newest UnifiedMemoryCounter MANAGED_RECORD
newest Memset SET_RECORD
newest Synchronization WAIT_RECORD
newest GraphTrace GRAPH_RECORD
newest Overhead OVERHEAD_RECORD
newest Memory MEMORY_RECORD
newest MemoryPool POOL_RECORD
newest Jit JIT_RECORD
newest Device DEVICE_RECORD
