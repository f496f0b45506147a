/* SPDX-License-Identifier: Apache-2.0 */
/* What test_unwind_step steps through outside its own file. */
#ifndef UNWIND_STEP_CASES_H
#define UNWIND_STEP_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

int step_library_sort(int seed);
int step_library_first(int value);
int step_library_second(int value);

/* unwind_step_cxx.cpp */
void step_cxx_throw(void);
void step_cxx_strings(void);

/* bench/unwind_workload.c in its variants */
#ifdef SN_HAVE_CLANG
#define STEP_CLANG(X) X(step_clang_o0) X(step_clang_o2) X(step_clang_fp) X(step_clang_realign)
#else
#define STEP_CLANG(X)
#endif
#define STEP_WORKLOADS(X)                                                                          \
	X(step_o0)                                                                                 \
	X(step_o1)                                                                                 \
	X(step_o2)                                                                                 \
	X(step_o2_fp)                                                                              \
	X(step_o3)                                                                                 \
	X(step_os)                                                                                 \
	X(step_realign)                                                                            \
	STEP_CLANG(X)
#define STEP_DECLARE(name) int name##_a(int depth, void (*visit)(void));
STEP_WORKLOADS(STEP_DECLARE)

#ifdef __cplusplus
}
#endif
#endif
