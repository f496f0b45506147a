/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of pairs that run out again and again: each of many short processes has the samples of its own CPU time, and the sum is what the kernel says it counted. Left out where the kernel
 * takes no BPF program.
 */
#include "daemon/kernel/kernel.h"
#include "daemon/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { CHILDREN = 300, SPIN_NS = 5000000, RATE = 10000, FEW_PAIRS = 160, PIDS = 1 << 22 };

static struct sn_ledger ledger;
static uint64_t *of_process; /* samples in user code, by pid */
static unsigned turns;
static uint64_t taken, unknown;

static void spin(void)
{
	struct timespec now = {0};
	while (now.tv_sec * 1000000000L + now.tv_nsec < SPIN_NS)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	_exit(0);
}

/* What the daemon does at a flush. */
static void flush(struct sn_kernel *kernel)
{
	const struct sn_kernel_taker taker = {&ledger, sn_ledger_add, sn_ledger_tell};
	int begun;
	assert_int_equal(sn_kernel_take(kernel, true, &taker, &begun), 0);
	const struct sn_ledger_count *counts = sn_ledger_sorted(&ledger);
	for (uint32_t i = 0; i < ledger.index.count; i++) {
		const struct sn_ledger_pair *pair =
		    sn_ledger_pair(&ledger, (uint32_t)(counts[i].key >> 32));
		taken += counts[i].count;
		if (!pair)
			unknown += counts[i].count;
		else if (pair->key.pid < PIDS)
			of_process[pair->key.pid] += counts[i].count;
	}
	sn_ledger_clear(&ledger);
	if (begun >= 0) {
		sn_ledger_forget(&ledger, (unsigned)begun);
		turns++;
	}
}

static void test_each_process_has_its_own(void **state)
{
	const struct sn_kernel_options options = {
	    .rate = RATE, .by_process = true, .pairs_of_turn = FEW_PAIRS};
	struct sn_kernel *kernel = NULL;
	struct sn_error error = {""};
	pid_t children[CHILDREN];
	struct sn_kernel_sums sums;
	(void)state;
	if (sn_kernel_open(&options, &kernel, &error) < 0) {
		print_message("%s\n", error.text);
		skip();
	}
	assert_int_equal(sn_ledger_init(&ledger), 0);
	of_process = calloc(PIDS, sizeof(*of_process));
	for (int i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		if (children[i] == 0)
			spin();
		assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
		flush(kernel);
	}
	sn_kernel_sum(kernel, &sums);
	for (int i = 0; i < CHILDREN; i++) {
		uint64_t samples = of_process[children[i]], should = SPIN_NS / (1000000000 / RATE);
		assert_true(samples < 3 * should);
		assert_true(samples > should / 3 ||
			    sums.fates[SN_LOST_PAIRS] > 0); /* where many other processes began */
	}
	assert_true(turns >= 4);
	assert_int_equal(unknown, 0);
	sn_kernel_set_rate(kernel, 1);
	flush(kernel);
	sn_kernel_sum(kernel, &sums);
	assert_in_range(sums.fates[SN_FATE_COUNTED], taken, taken + 4);
	sn_kernel_close(kernel);
	sn_ledger_release(&ledger);
	free(of_process);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_process_has_its_own)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
