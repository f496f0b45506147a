/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the bins that are looked at closely: one more reading, of these bins alone. Rank 0 gets all of them. */
#include "vary.h"

#include "base/sort_by.h"

struct kernel_reading {
	struct sn_vary *vary;
	struct sn_vary_slice *bins;
	size_t bin_count;
	struct sn_bin_kernels *found; /* by bin */
	bool has_failed;
};

SN_SORT_BY(sort_rows, struct sn_vary_row, const struct sn_vary *,
	   SN_ORDER(of->cells[a->cell].kernel, of->cells[b->cell].kernel)
	       ?: SN_ORDER(a->value, b->value));
SN_SORT_BY(sort_kernels, struct sn_bin_kernel, const void *,
	   SN_ORDER(b->share, a->share) ?: SN_ORDER(a->kernel, b->kernel));

/* Rows of one kernel, by duration. */
static struct sn_bin_kernel measure(const struct sn_vary_row *rows, size_t count, uint32_t kernel,
				    const struct sn_variability_bin *bin)
{
	struct sn_value_counts sums = {.total = count};
	for (size_t i = 0; i < count; i++) {
		sums.sum += rows[i].value;
		sums.sum_squares += (unsigned __int128)rows[i].value * rows[i].value;
	}
	double mean = sn_value_counts_mean(&sums), deviation = sn_value_counts_deviation(&sums);
	double all = bin->variance * (double)bin->count, off = mean - bin->mean;
	return (struct sn_bin_kernel){
	    .kernel = kernel,
	    .count = count,
	    .mean = mean,
	    .variance = deviation * deviation,
	    .q50 = ((double)rows[(count - 1) / 2].value + (double)rows[count / 2].value) / 2,
	    .share = all > 0 ? (double)count * (deviation * deviation + off * off) / all : 0};
}

static int work_bin(void *context, unsigned number, size_t item)
{
	struct kernel_reading *reading = context;
	struct sn_vary *vary = reading->vary;
	struct sn_vary_worker *worker = vary->workers + number;
	struct sn_bin_kernels *found = reading->found + item;
	const struct sn_variability_bin *bin = vary->result->bins + reading->bins[item].first_bin;
	size_t capacity = 0;
	int result = sn_vary_read_slice(vary, worker, reading->bins + item);
	if (!result)
		sort_rows(worker->rows, worker->row_count, vary);
	for (size_t from = 0, to; from < worker->row_count && !result; from = to) {
		uint32_t kernel = vary->cells[worker->rows[from].cell].kernel;
		for (to = from;
		     to < worker->row_count && vary->cells[worker->rows[to].cell].kernel == kernel;)
			to++;
		struct sn_bin_kernel one = measure(worker->rows + from, to - from, kernel, bin);
		result = sn_vec_push(&found->items, &capacity, &found->count, one);
	}
	sort_kernels(found->items, found->count, NULL);
	return sn_fail_code(&worker->error, result);
}

static uint64_t bin_weight(const void *context, size_t item)
{
	return ((const struct kernel_reading *)context)->bins[item].events;
}

/* ---- of all ranks ---- */

struct packed_bin {
	uint64_t item, count;
};

static void pack_bins(const struct kernel_reading *reading, struct sn_buffer *bytes)
{
	for (size_t i = 0; i < reading->bin_count; i++) {
		const struct sn_bin_kernels *found = reading->found + i;
		struct packed_bin packed = {i, found->count};
		if (!found->count)
			continue;
		sn_buffer_put(bytes, &packed, sizeof(packed));
		sn_buffer_put(bytes, found->items, found->count * sizeof(*found->items));
	}
}

static void store_bins(void *context, struct sn_span bytes)
{
	struct kernel_reading *reading = context;
	struct packed_bin packed;
	while (sn_span_get(&bytes, &packed, sizeof(packed))) {
		struct sn_bin_kernels *found = reading->found + packed.item;
		found->items = calloc(packed.count + 1, sizeof(*found->items));
		reading->has_failed |= !found->items;
		if (!found->items)
			return;
		found->count = packed.count;
		sn_span_get(&bytes, found->items, packed.count * sizeof(*found->items));
	}
}

static int gather_bins(struct kernel_reading *reading, struct sn_error *error)
{
	const struct sn_peers *peers = reading->vary->peers;
	struct sn_buffer bytes = {0};
	if (peers->size() == 1)
		return 0;
	if (peers->rank())
		pack_bins(reading, &bytes);
	sn_peers_collect(peers, &bytes, store_bins, reading);
	bool has_failed = bytes.failed || reading->has_failed;
	sn_buffer_release(&bytes);
	return sn_peers_agree(peers, has_failed ? sn_fail_memory(error) : 0, error);
}

int sn_vary_bin_kernels(struct sn_vary *vary, struct sn_error *error)
{
	struct sn_variability *result = vary->result;
	struct kernel_reading reading = {.vary = vary};
	int failed = sn_vary_choose_bins(vary, &reading.bins, &reading.bin_count);
	reading.found = calloc(reading.bin_count + 1, sizeof(*reading.found));
	failed = failed || !reading.found ? sn_fail_memory(error) : 0;
	failed = sn_peers_agree(vary->peers, failed, error);
	for (size_t i = 0; i < reading.bin_count && reading.found; i++)
		reading.found[i].bin = (uint32_t)reading.bins[i].first_bin;
	result->top_bins = reading.found;
	result->top_bin_count = reading.found ? reading.bin_count : 0;
	const struct sn_peers_work work = {reading.bin_count, bin_weight, work_bin, &reading};
	failed = failed ?: sn_vary_run(vary, &work, error);
	failed = failed ?: gather_bins(&reading, error);
	free(reading.bins);
	return failed;
}
