/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and samples as they go from one process to another: whole, and cut short. */
#include "causal/discover/sample.h"
#include "causal/table.h"

#include "base/error.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

/* A copy of the first bytes in memory of just that size, so that a sanitizer sees each read behind them. */
static struct sn_span cut(const struct sn_buffer *bytes, size_t length, unsigned char **copy)
{
	*copy = malloc(length ? length : 1);
	assert_non_null(*copy);
	memcpy(*copy, bytes->bytes, length);
	return (struct sn_span){*copy, length};
}

/* What tells launches apart, texts, a unit, and a value that is missing. */
static const char text[] = "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,SQ_WAVES,"
			   "DispatchNs,BeginNs,EndNs,CompleteNs,DurationNs\n"
			   "0,gemm,2,0,0,7,7,64,5,90,100,150,160,50\n"
			   "1,relu,2,0,2,7,7,128,,190,200,275,280,75\n"
			   "2,gemm,2,0,4,7,7,64,6,290,300,355,360,55\n";

static void read_table(struct sn_causal_table *table)
{
	char path[] = "/tmp/sonde-packed-XXXXXX";
	struct sn_error error;
	int descriptor = mkstemp(path);
	assert_true(descriptor >= 0);
	assert_int_equal(write(descriptor, text, sizeof(text) - 1), sizeof(text) - 1);
	close(descriptor);
	assert_int_equal(sn_causal_table_read(table, path, &error), 0);
	unlink(path);
}

static void assert_same_text(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

static void assert_same_column(const struct sn_causal_column *a, const struct sn_causal_column *b,
			       size_t rows)
{
	assert_same_text(a->name, b->name);
	assert_same_text(a->unit, b->unit);
	assert_true(a->levels == b->levels && a->missing == b->missing);
	for (uint32_t level = 0; level < a->levels; level++)
		assert_string_equal(a->level_names[level], b->level_names[level]);
	for (size_t row = 0; row < rows; row++)
		assert_true(a->values[row] == b->values[row] ||
			    (isnan(a->values[row]) && isnan(b->values[row])));
}

static void test_table(void **state)
{
	struct sn_causal_table table, other;
	struct sn_buffer bytes = {0};
	unsigned char *copy;
	uint32_t levels = 0;
	(void)state;
	read_table(&table);
	sn_causal_table_pack(&table, &bytes);
	assert_int_equal(sn_causal_table_unpack(&other, cut(&bytes, bytes.count, &copy)), 0);
	free(copy);
	assert_true(other.row_count == 3 && other.kind == table.kind &&
		    other.column_count == table.column_count &&
		    other.apart_count == table.apart_count);
	for (uint32_t column = 0; column < table.column_count; column++) {
		assert_same_column(&table.columns[column], &other.columns[column], 3);
		levels += table.columns[column].levels;
	}
	for (size_t name = 0; name < table.apart_count; name++)
		assert_string_equal(table.apart[name], other.apart[name]);
	assert_true(levels >= 2 && table.apart_count >= 1);
	sn_causal_table_release(&other);
	for (size_t length = 0; length < bytes.count; length++) {
		assert_int_equal(sn_causal_table_unpack(&other, cut(&bytes, length, &copy)),
				 SN_ERR_MEMORY);
		sn_causal_table_release(&other);
		free(copy);
	}
	sn_buffer_release(&bytes);
	sn_causal_table_release(&table);
}

/* ---- samples ---- */

enum { SAMPLES = 3, VARIABLES = 3 };

/* Sample 2 was found elsewhere. */
static void find(struct sn_graph_sample samples[SAMPLES + 1])
{
	for (uint32_t number = 0; number <= SAMPLES; number++) {
		struct sn_graph_sample *sample = &samples[number];
		if (number == 2)
			continue;
		assert_int_equal(sn_pdag_init(&sample->graph, VARIABLES), 0);
		sn_bits_add(sample->graph.in + 1 * sample->graph.words, 0);
		sn_bits_add(sample->graph.out, 1);
		sample->score = -1.5 * number;
		sample->direct = malloc(number * sizeof(*sample->direct) + 1);
		sample->totals = malloc(sizeof(*sample->totals));
		sample->direct_count = number;
		sample->total_count = 1;
		for (uint32_t place = 0; place < number; place++)
			sample->direct[place] =
			    (struct sn_measured_effect){.from = place, .to = 1, .value = number};
		sample->totals[0] = (struct sn_measured_effect){.from = 2, .share = 0.25};
	}
}

static void test_samples(void **state)
{
	struct sn_prepared prepared = {.count = VARIABLES};
	struct sn_discovery_options options = {.samples = SAMPLES};
	struct sn_graph_sample samples[SAMPLES + 1] = {0}, others[SAMPLES + 1] = {0};
	struct sn_discovering from = {
	    .prepared = &prepared, .options = &options, .samples = samples};
	struct sn_discovering to = {.prepared = &prepared, .options = &options, .samples = others};
	struct sn_buffer bytes = {0};
	unsigned char *copy;
	size_t whole = 0;
	(void)state;
	find(samples);
	sn_graph_samples_pack(&from, &bytes);
	assert_int_equal(sn_graph_samples_add(&to, cut(&bytes, bytes.count, &copy)), 0);
	free(copy);
	assert_null(others[2].graph.out);
	for (uint32_t number = 0; number <= SAMPLES; number++)
		if (number != 2) {
			const struct sn_graph_sample *sample = &others[number];
			assert_true(sn_bits_has(sample->graph.in + sample->graph.words, 0) &&
				    sn_bits_has(sample->graph.out, 1));
			assert_true(sample->score == -1.5 * number);
			assert_true(sample->direct_count == number && sample->total_count == 1);
			assert_true(sample->totals[0].from == 2 && sample->totals[0].share == 0.25);
			assert_true(!number || sample->direct[number - 1].from == number - 1);
		}
	sn_graph_samples_clear(&to);
	assert_null(others[3].graph.out);
	/* whole samples alone are taken: cut between two, these are what there is */
	for (size_t length = 0; length < bytes.count; length++) {
		whole += !sn_graph_samples_add(&to, cut(&bytes, length, &copy));
		sn_graph_samples_clear(&to);
		free(copy);
	}
	assert_int_equal(whole, 3);
	sn_graph_samples_clear(&from);
	sn_buffer_release(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_table),
	    cmocka_unit_test(test_samples),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
