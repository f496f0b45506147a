/* SPDX-License-Identifier: Apache-2.0 */
/* See made_code.h. */
#include "made_code.h"

#include "binary/perf_map.h"
#include "system/inner_number.h"
#include "system/process_stat.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the number is still that process's. */
static bool is_there(const struct sn_ledger_pair *pair)
{
	uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK),
		 start = sn_process_stat((pid_t)pair->pid, SN_PROCESS_START_TICKS) * tick_ns;
	return start && start <= pair->process_start_ns && pair->process_start_ns - start < tick_ns;
}

static struct sn_perf_map *open_at(const struct sn_ledger_pair *pair, const char *root,
				   pid_t number)
{
	struct sn_perf_map *map = NULL;
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/tmp/perf-%d.map", root, number);
	enum sn_symbol_status status = sn_perf_map_open_of(path, pair->key.uid, &map);
	return status == SN_SYMBOL_SYMBOLS || status == SN_SYMBOL_PARTIAL ? map : NULL;
}

/* Other users' roots are closed to us without CAP_SYS_PTRACE; a process in no container has ours. */
static struct sn_perf_map *open_list(const struct sn_ledger_pair *pair)
{
	char root[64];
	if (!is_there(pair))
		return NULL;
	pid_t pid = (pid_t)pair->pid, number = sn_inner_number(pid, pid);
	snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", pair->pid);
	struct sn_perf_map *map = open_at(pair, root, number);
	return map || number != pid ? map : open_at(pair, "", number);
}

static void put_names(struct sn_epoch_writer *writer, uint32_t image,
		      const struct sn_perf_map_name *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (names[i].frame.name)
			sn_epoch_writer_name(writer,
					     &(struct sn_epoch_name){.image = image,
								     .start = names[i].start,
								     .name = names[i].frame.name});
}

int sn_made_code_name(struct sn_epoch_writer *writer, uint32_t image,
		      const struct sn_ledger_pair *pair, const uint64_t *addresses, size_t count)
{
	struct sn_string_pool pool = {0};
	struct sn_perf_map *map = open_list(pair);
	struct sn_perf_map_name *names = map ? calloc(count, sizeof(*names)) : NULL;
	int result = map && !names ? SN_ERR_MEMORY : 0;
	if (names)
		result = sn_perf_map_find(map, addresses, count, &pool, names);
	if (names && !result)
		put_names(writer, image, names, count);
	free(names);
	sn_perf_map_free(map);
	sn_string_pool_release(&pool);
	return result;
}
