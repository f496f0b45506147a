/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a database to try readers on: the small one of db_fixture.h, or a made-up big one.
 *
 *	make-db OUT.sdb
 *	make-db --contexts 100000 [--profiles 4] [--depth 60] OUT.sdb
 *	make-db --recursion 200000 OUT.sdb
 *	make-db --graph 1 OUT.sdb
 *	make-db --source FILE [--source FILE]... OUT.sdb
 */
#include "../../unit/db_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *sources[256];
	size_t source_count = 0;
	uint32_t contexts = 0, profiles = 4, depth = 60, recursion = 0, graph = 0;
	for (; argc > 3; argc -= 2, argv += 2) {
		uint32_t value = (uint32_t)strtoul(argv[2], NULL, 10);
		if (!strcmp(argv[1], "--contexts"))
			contexts = value;
		else if (!strcmp(argv[1], "--profiles"))
			profiles = value;
		else if (!strcmp(argv[1], "--depth"))
			depth = value;
		else if (!strcmp(argv[1], "--recursion"))
			recursion = value;
		else if (!strcmp(argv[1], "--graph"))
			graph = value;
		else if (!strcmp(argv[1], "--source") && source_count < 256)
			sources[source_count++] = argv[2];
		else
			break;
	}
	if (argc != 2) {
		fprintf(stderr, "usage: make-db [--contexts N [--profiles N] [--depth N] | "
				"--recursion N | --graph 1 | --source FILE...] "
				"OUT.sdb\n");
		return 129;
	}
	struct sn_db_builder *builder = source_count ? db_fixture_sources(sources, source_count)
					: recursion  ? db_fixture_recursion(recursion)
					: graph	     ? db_fixture_graph()
					: contexts   ? db_fixture_big(contexts, profiles, depth)
						     : db_fixture_small();
	struct sn_error error = {"out of memory"};
	int result = builder ? sn_db_builder_write(builder, argv[1], &error) : SN_ERR_MEMORY;
	if (result)
		fprintf(stderr, "make-db: %s\n", error.text);
	sn_db_builder_free(builder);
	return result ? 128 : 0;
}
