/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a database to try readers on: the small one of db_fixture.h, or a made-up big one.
 *
 *	make-db OUT.sdb
 *	make-db --contexts 100000 [--profiles 4] [--depth 60] OUT.sdb
 *	make-db --recursion 200000 OUT.sdb
 *	make-db --graph 1 OUT.sdb
 *	make-db --findings 1 OUT.sdb
 *	make-db --source FILE [--source FILE]... OUT.sdb
 */
#include "../../unit/db_fixture.h"

#include "timeline/findings/finding_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of each kind of evidence. */
static int add_findings(const char *path, struct sn_error *error)
{
	struct sn_findings findings = {0};
	struct sn_finding *one = sn_findings_add(&findings, SN_RULE_device_waits, 0.1);
	sn_finding_put(one, "without_computation", "ratio", 0.5);
	sn_finding_put(one, "reason", "wait", 1);
	sn_finding_put(one, "reason_share", "ratio", 0.75);
	one = sn_findings_add(&findings, SN_RULE_rank_waits, 0.5);
	sn_finding_put(one, "waited", "ns", 1e9);
	sn_finding_put(one, "collectives", "count", 3);
	sn_finding_put(one, "rank", "profile", 1);
	sn_finding_put(one, "rank_share", "ratio", 0.5);
	sn_finding_put(one, "last", "count", 2);
	sn_finding_put(one, "node", "context", 3);
	sn_finding_put(one, "node_share", "ratio", 0.25);
	one = sn_findings_add(&findings, SN_RULE_path_cause, 0);
	sn_finding_put(one, "path", "ns", 1e6);
	sn_finding_put(one, "cause", "cause", 3);
	sn_finding_put(one, "time", "ns", 2e5);
	sn_finding_put(one, "share", "ratio", 0.2);
	sn_finding_put(one, "launches", "count", 100);
	one->suggestion = "fewer, larger kernels or graphs help";
	int result = sn_findings_store(&findings, path, error);
	sn_findings_release(&findings);
	return result;
}

int main(int argc, char **argv)
{
	const char *sources[256];
	size_t source_count = 0;
	uint32_t contexts = 0, profiles = 4, depth = 60, recursion = 0, graph = 0, findings = 0;
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
		else if (!strcmp(argv[1], "--findings"))
			findings = value;
		else if (!strcmp(argv[1], "--source") && source_count < 256)
			sources[source_count++] = argv[2];
		else
			break;
	}
	if (argc != 2) {
		fprintf(stderr, "usage: make-db [--contexts N [--profiles N] [--depth N] | "
				"--recursion N | --graph 1 | --findings 1 | --source FILE...] "
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
	if (!result && findings)
		result = add_findings(argv[1], &error);
	if (result)
		fprintf(stderr, "make-db: %s\n", error.text);
	sn_db_builder_free(builder);
	return result ? 128 : 0;
}
