/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a store of continuous profiling from a description on stdin:
 *
 *	make-store FOLDER < DESCRIPTION
 *
 * Fields of a line are separated by tabs; "-" is an empty text:
 *	origin PROGRAM CGROUP PID UID		image KIND PATH BUILD-ID DELETED BYTES MTIME_NS
 *	name IMAGE START BYTES NAME		count ORIGIN IMAGE ADDRESS COUNT
 *	stack ORIGIN COUNT IMAGE:ADDRESS...	(leaf first)
 *	flush BEGIN_S END_S EVENT PERIOD IS_TIME SAMPLES [CAUSE=COUNT...]
 *	seal					tend NOW_S
 *	unmerged EPOCH AGE_S			(of the policy, for "tend")
 *
 * Origins and images are numbered from 0 in the order of their lines, for the whole description.
 * Times of the boot are those since 1,700,000,000 s. Prints the bytes of the folder's files after each "tend".
 */
#include "format/epoch/epoch_writer.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BOOT_S	  UINT64_C(1700000000)
#define SECOND	  UINT64_C(1000000000)
#define FIELDS	  1100
#define ITEMS_MAX 65536

static struct sn_epoch_writer *writer;
static struct sn_epoch_origin origins[ITEMS_MAX];
static struct sn_epoch_image images[ITEMS_MAX];
/* The writer's numbers, for the flush that is being described. */
static uint32_t origin_numbers[ITEMS_MAX], image_numbers[ITEMS_MAX];
static unsigned origin_count, image_count;
static const uint8_t boot_id[16] = {7};
static uint64_t unmerged_from, unmerged_s;

static void fail(const char *what)
{
	fprintf(stderr, "make-store: %s\n", what);
	exit(1);
}

static const char *text(const char *field)
{
	return strdup(strcmp(field, "-") ? field : "");
}

static uint64_t number(const char *field)
{
	return strtoull(field, NULL, 0);
}

static uint32_t origin_of(const char *field)
{
	unsigned at = (unsigned)number(field);
	if (at >= origin_count)
		fail("no such origin");
	if (origin_numbers[at] == SN_EPOCH_NONE)
		origin_numbers[at] = sn_epoch_writer_origin(writer, origins + at);
	return origin_numbers[at];
}

static uint32_t image_of(const char *field)
{
	unsigned at = (unsigned)number(field);
	if (at >= image_count)
		fail("no such image");
	if (image_numbers[at] == SN_EPOCH_NONE)
		image_numbers[at] = sn_epoch_writer_image(writer, images + at);
	return image_numbers[at];
}

static void add_image(char **fields)
{
	struct sn_epoch_image *image = images + image_count;
	*image = (struct sn_epoch_image){.kind = (uint32_t)number(fields[1]),
					 .path = text(fields[2]),
					 .is_deleted = number(fields[4]),
					 .bytes = number(fields[5]),
					 .mtime_ns = number(fields[6])};
	unsigned byte;
	for (const char *hex = fields[3]; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		image->build_id[image->build_id_bytes++] = (uint8_t)byte;
	image_numbers[image_count++] = SN_EPOCH_NONE;
}

static void add_stack(char **fields, unsigned count)
{
	struct sn_epoch_frame frames[FIELDS];
	struct sn_epoch_stack stack = {origin_of(fields[1]), count - 3, frames, number(fields[2])};
	for (unsigned i = 3; i < count; i++)
		frames[i - 3] = (struct sn_epoch_frame){0, image_of(fields[i]),
							number(strchr(fields[i], ':') + 1)};
	sn_epoch_writer_stack(writer, &stack);
}

static void commit(char **fields, unsigned count)
{
	struct sn_error error = {""};
	struct sn_epoch_loss losses[FIELDS];
	uint64_t begin_s = number(fields[1]), end_s = number(fields[2]);
	struct sn_epoch_flush flush = {
	    .begin_ns = begin_s * SECOND,
	    .end_ns = end_s * SECOND,
	    .begin_boot_ns = (begin_s - BOOT_S) * SECOND,
	    .end_boot_ns = (end_s - BOOT_S) * SECOND,
	    .event = fields[3],
	    .period = number(fields[4]),
	    .is_time = number(fields[5]),
	    .samples = number(fields[6]),
	    .losses = losses,
	    .own_cpu_ns = 3000000,
	    .own_bytes = 5 << 20,
	};
	memcpy(flush.boot_id, boot_id, sizeof(boot_id));
	for (unsigned i = 7; i < count; i++) {
		char *equals = strchr(fields[i], '=');
		*equals = '\0';
		losses[flush.loss_count++] = (struct sn_epoch_loss){fields[i], number(equals + 1)};
	}
	if (sn_epoch_writer_commit(writer, &flush, &error))
		fail(error.text);
	for (unsigned i = 0; i < origin_count; i++)
		origin_numbers[i] = SN_EPOCH_NONE;
	for (unsigned i = 0; i < image_count; i++)
		image_numbers[i] = SN_EPOCH_NONE;
}

static void print_size(const char *folder, const char *now)
{
	uint64_t bytes = 0, files = 0;
	DIR *all = opendir(folder);
	struct stat status;
	for (struct dirent *entry; (entry = readdir(all));)
		if (entry->d_name[0] != '.' && !fstatat(dirfd(all), entry->d_name, &status, 0)) {
			bytes += (uint64_t)status.st_size;
			files++;
		}
	closedir(all);
	printf("%s\t%" PRIu64 "\t%" PRIu64 "\n", now, files, bytes);
}

static void tend(const char *folder, const char *now)
{
	struct sn_error error = {""};
	struct sn_epoch_policy policy = SN_EPOCH_POLICY_DEFAULT;
	policy.unmerged_from = unmerged_from;
	policy.unmerged_ns = unmerged_s * SECOND;
	struct sn_epoch_moment moment = {
	    number(now) * SECOND, (number(now) - BOOT_S) * SECOND, {0}};
	memcpy(moment.boot_id, boot_id, sizeof(boot_id));
	if (sn_epoch_writer_tend(writer, &policy, &moment, &error))
		fail(error.text);
	print_size(folder, now);
}

static void run(const char *folder, char **fields, unsigned count)
{
	struct sn_error error = {""};
	if (!strcmp(fields[0], "origin")) {
		origins[origin_count] = (struct sn_epoch_origin){text(fields[1]), text(fields[2]),
								 (uint32_t)number(fields[3]), 0,
								 (uint32_t)number(fields[4])};
		origin_numbers[origin_count++] = SN_EPOCH_NONE;
	} else if (!strcmp(fields[0], "image")) {
		add_image(fields);
	} else if (!strcmp(fields[0], "name")) {
		sn_epoch_writer_name(writer,
				     &(struct sn_epoch_name){image_of(fields[1]), number(fields[2]),
							     number(fields[3]), fields[4]});
	} else if (!strcmp(fields[0], "count")) {
		uint32_t origin = origin_of(fields[1]);
		sn_epoch_writer_count(writer, origin, image_of(fields[2]), number(fields[3]),
				      number(fields[4]));
	} else if (!strcmp(fields[0], "stack")) {
		add_stack(fields, count);
	} else if (!strcmp(fields[0], "flush")) {
		commit(fields, count);
	} else if (!strcmp(fields[0], "seal")) {
		if (sn_epoch_writer_seal(writer, &error))
			fail(error.text);
	} else if (!strcmp(fields[0], "unmerged")) {
		unmerged_from = number(fields[1]);
		unmerged_s = number(fields[2]);
	} else if (!strcmp(fields[0], "tend")) {
		tend(folder, fields[1]);
	} else {
		fail(fields[0]);
	}
}

int main(int argc, char **argv)
{
	struct sn_error error = {""};
	char *line = NULL, *fields[FIELDS];
	size_t capacity = 0;
	if (argc != 2)
		fail("usage: make-store FOLDER < DESCRIPTION");
	if (sn_epoch_writer_open(&writer, argv[1], NULL, &error))
		fail(error.text);
	for (ssize_t length; (length = getline(&line, &capacity, stdin)) > 0;) {
		unsigned count = 0;
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		for (char *rest = line; rest && count < FIELDS;)
			fields[count++] = strsep(&rest, "\t");
		if (*fields[0])
			run(argv[1], fields, count);
	}
	sn_epoch_writer_close(writer);
	free(line);
	return 0;
}
