/* SPDX-License-Identifier: Apache-2.0 */
/* What a program says that it ran: by what, and by the line that asked for it, how often and how many bytes; and whether what it computed is
 * right. */
#ifndef SUITE_TRUTH_H
#define SUITE_TRUTH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MOST_TRUTH 64

/* Of what was captured: how often it was captured. It ran as often as the graph was replayed. */
static struct truth {
	const char *what;
	int line;
	unsigned count;
	uint64_t bytes;
	bool is_captured;
} truths[MOST_TRUTH];

static pthread_mutex_t truth_lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const char *what, int line, uint64_t bytes, bool is_captured)
{
	pthread_mutex_lock(&truth_lock);
	struct truth *truth = truths;
	while (truth->what && (truth->line != line || strcmp(truth->what, what)))
		truth++;
	truth->what = what;
	truth->line = line;
	truth->is_captured = is_captured;
	truth->count++;
	truth->bytes += bytes;
	pthread_mutex_unlock(&truth_lock);
}

static void print_truth(unsigned replays, int replay_line)
{
	printf("{\"operations\": [");
	for (struct truth *truth = truths; truth->what; truth++)
		printf("%s{\"what\": \"%s\", \"line\": %d, \"count\": %u, \"bytes\": %llu, "
		       "\"is_captured\": %s}",
		       truth == truths ? "" : ", ", truth->what, truth->line, truth->count,
		       (unsigned long long)truth->bytes, truth->is_captured ? "true" : "false");
	printf("], \"replays\": %u, \"replay_line\": %d}\n", replays, replay_line);
}

/* One line. Numbers are odd multiples and sums in 32 bits, so each operation changes every element, and none is lost in rounding. */
static void print_wrong(const uint32_t *found, uint32_t count, uint32_t (*expected)(uint32_t index))
{
	uint32_t wrong = 0, first = 0;
	for (uint32_t index = count; index; index--)
		if (found[index - 1] != expected(index - 1)) {
			wrong++;
			first = index - 1;
		}
	fprintf(stderr, "wrong elements: %u of %u", wrong, count);
	if (wrong)
		fprintf(stderr, ", of which %u is %u and not %u", first, found[first],
			expected(first));
	fputc('\n', stderr);
}

#endif
