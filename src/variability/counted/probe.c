/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are tables of launches, and no traces; see counted.h. */
#include "counted.h"

#include "base/csv/csv_read.h"
#include "causal/table/head.h"
#include "causal/table/role.h"
#include "import/core/importer.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of text that is neither JSON nor XML. */
static bool is_plain_text(const char *path)
{
	char head[4096];
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	ssize_t length =
	    fstat(fd, &status) || !S_ISREG(status.st_mode) ? 0 : read(fd, head, sizeof(head));
	close(fd);
	return length > 0 && !memchr(head, 0, (size_t)length) && !strchr("{[<", *head);
}

/* Whether the first rows are those of a table, and what kind it is of. */
static bool has_rows(const char *path, struct sn_roles *roles)
{
	struct sn_csv_reader csv;
	bool is_quoted = false;
	int found = sn_table_open(&csv, path, &is_quoted, NULL) ? -1 : sn_csv_next(&csv, NULL);
	if (found > 0 && sn_roles_find(roles, csv.fields, csv.count, NULL))
		found = roles->kind == SN_TABLE_NSIGHT ? 1 : -1; /* a summary, which is refused */
	size_t count = csv.count;
	bool is_known = found > 0 && roles->kind != SN_TABLE_PLAIN;
	bool is_table = is_known || (found > 0 && count > 1 && sn_csv_next(&csv, NULL) > 0 &&
				     csv.count == count);
	sn_csv_close(&csv);
	return is_table;
}

static bool has_importer(const char *path)
{
	for (size_t i = 0; sn_importers[i]; i++)
		if (sn_importer_accepts(sn_importers[i], path))
			return true;
	return false;
}

bool sn_counted_is_table(const char *path)
{
	struct sn_roles roles = {0};
	if (!is_plain_text(path))
		return false;
	bool is_table = has_rows(path, &roles);
	bool has_counters =
	    roles.kind == SN_TABLE_NSIGHT || (roles.kind == SN_TABLE_ROCPROF && roles.is_long);
	sn_roles_release(&roles);
	return is_table && (has_counters || !has_importer(path));
}
