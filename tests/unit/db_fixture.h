/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small, realistic database with known numbers, for the tests of everything that reads databases.
 *
 * Metrics: cpu-time (ns, timer, one sample is 5 ms), gpu-time (ns, opencl, every kernel).
 * Profiles: 0 python3's main thread, 1 its thread pt_autograd_0, 2 its thread "worker".
 * Contexts, with exclusive sums in ms (count of samples is ms / 5; of kernels as noted):
 *
 *   thread train.py
 *   ├─ native start_thread              libc.so.6
 *   │  └─ native worker_main            worker.c:20       cpu 100 (profile 2)
 *   └─ python <module>                  train.py:40       cpu 5   (profile 0)
 *      ├─ python load_batch             data.py:12        cpu 20  (0)
 *      │  └─ native read                libc.so.6         cpu 30  (0)
 *      └─ python train                  train.py:31       cpu 10  (0)
 *         ├─ operator aten::linear                        cpu 5   (0)
 *         │  ├─ native at::native::linear  libtorch_cpu.so, Linear.cpp:90   cpu 15 (0)
 *         │  │  ├─ inlined c10::Tensor::sizes  Tensor.h:120  cpu 5 (0)
 *         │  │  └─ native sgemm_kernel     libmkl.so, no source  cpu 200 (0)
 *         │  └─ gpu-api clEnqueueNDRangeKernel           cpu 10 (0)
 *         │     └─ kernel sgemm_nn                        gpu 300 (0), 3 kernels of 50, 100, 150
 *         └─ operator AddmmBackward0 (backward)
 *            └─ native at::native::addmm   libtorch_cpu.so, Blas.cpp:300   cpu 100 (1)
 *
 * Totals: cpu 500 in 100 samples; profile 0 300, 1 100, 2 100. gpu 300 in 3 kernels, profile 0.
 */
#ifndef SN_TESTS_DB_FIXTURE_H
#define SN_TESTS_DB_FIXTURE_H

#include "format/database/database_writer.h"

#define FIXTURE_MS 1000000.0

/* The database above, to be written or freed. NULL without memory. */
struct sn_db_builder *db_fixture_small(void);
/* A made-up one of exactly `contexts` contexts, the same for the same arguments: up to `depth`
 * levels, as many profiles as asked for, two metrics. */
struct sn_db_builder *db_fixture_big(uint32_t contexts, uint32_t profiles, uint32_t depth);
/* The small one with two graphs, whose parts were added in turn: "first", x -> y, and "second",
 * a -> b -> c and a -> c with b part of a, in three iterations of 40, 50 and 60 ns. */
struct sn_db_builder *db_fixture_graph(void);
/* One function that calls itself `depth` times, every level with one sample. */
struct sn_db_builder *db_fixture_recursion(uint32_t depth);
/* One thread whose Python is at line 1 of each of these files, measured in a time to come, so that
 * no file has changed since. */
struct sn_db_builder *db_fixture_sources(const char *const *files, size_t count);

#endif
