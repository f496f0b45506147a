/* SPDX-License-Identifier: Apache-2.0 */
/* Lines KEY=VALUE; see run_file.h. */
#include "run_file.h"
#include "measurement.h"

#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES 1024u /* more is none of ours */

static void read_line(struct sn_run_record *record, const char *line, unsigned *found)
{
	const char *value = strchr(line, '=');
	static const char *const keys[] = {
	    "pid=", "start_monotonic_ns=", "end_monotonic_ns=", "cpu_ns="};
	uint64_t *const numbers[] = {&record->pid, &record->start_ns, &record->end_ns,
				     &record->cpu_ns};
	if (!value)
		return;
	if (!strncmp(line, "host=", 5)) {
		snprintf(record->host, sizeof(record->host), "%s", value + 1);
		*found |= 1;
	}
	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strncmp(line, keys[i], strlen(keys[i]))) {
			*numbers[i] = strtoull(value + 1, NULL, 10);
			*found |= 2u << i;
		}
}

/* True where all that a record has was there. */
static bool read_file(int directory, const char *name, struct sn_run_record *record)
{
	char text[FILE_BYTES + 1], *rest = NULL;
	unsigned found = 0;
	struct stat status;
	/* O_NONBLOCK: opening a pipe must not wait for its writer */
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return false;
	ssize_t bytes =
	    fstat(fd, &status) || !S_ISREG(status.st_mode) ? -1 : read(fd, text, FILE_BYTES);
	close(fd);
	if (bytes <= 0)
		return false;
	text[bytes] = 0;
	*record = (struct sn_run_record){0};
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		read_line(record, line, &found);
	return found == 31;
}

static int is_run_file(const struct dirent *entry)
{
	return sn_text_ends(entry->d_name, SN_RUN_FILE_SUFFIX);
}

int sn_run_files_read(const char *folder, struct sn_run_record **records, size_t *count)
{
	struct dirent **entries = NULL;
	size_t capacity = 0;
	int failed = 0, found = scandir(folder, &entries, is_run_file, alphasort);
	int directory = found > 0 ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	*records = NULL;
	*count = 0;
	for (int i = 0; i < found; i++) {
		if (!failed)
			failed = sn_vec_reserve(records, &capacity, *count + 1);
		if (!failed && read_file(directory, entries[i]->d_name, *records + *count))
			++*count;
		free(entries[i]);
	}
	free(entries);
	if (directory >= 0)
		close(directory);
	return failed ? SN_ERR_MEMORY : 0;
}
