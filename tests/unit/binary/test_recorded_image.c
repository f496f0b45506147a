/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of files that others may change: tables of a file are found where the loader would put them, its build id is the one that its notes tell, and a file that is truncated meanwhile
 * gives an error where a mapped one would end the reader by SIGBUS.
 */
#include "binary/elf/elf_file.h"
#include "binary/recorded/recorded_image.h"
#include "unwind/step_row.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* Function that is looked for; where its file has it is known from /proc/self/maps. */
__attribute__((noinline)) static void known(void)
{
	__asm__ volatile("");
}

static uint64_t offset_of_known(void)
{
	char line[4096];
	unsigned long start, end, offset;
	uintptr_t wanted = (uintptr_t)known;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    wanted >= start && wanted < end) {
			fclose(maps);
			return wanted - start + offset;
		}
	fail();
	return 0;
}

/* A copy of this program that may be changed. */
static int open_copy(char path[64])
{
	char bytes[65536];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	strcpy(path, "/tmp/sonde-recorded-XXXXXX");
	int copy = mkstemp(path);
	assert_true(from >= 0 && copy >= 0);
	for (ssize_t got; (got = read(from, bytes, sizeof(bytes))) > 0;)
		assert_int_equal(write(copy, bytes, (size_t)got), got);
	close(from);
	return copy;
}

static void test_a_file_that_is_truncated(void **state)
{
	struct sn_recorded_image image;
	struct sn_cfi_row row;
	char path[64];
	int copy = open_copy(path);
	(void)state;
	assert_true(sn_recorded_image_open_file(&image, copy));
	uintptr_t place = sn_recorded_image_at(&image, offset_of_known());
	assert_int_not_equal(place, 0);
	assert_memory_equal((const void *)place, (const void *)(uintptr_t)known, 4);
	assert_int_equal(sn_row_find(&image.module, place, &row), 0);
	assert_int_equal(ftruncate(copy, 0), 0);
	assert_int_not_equal(sn_row_find(&image.module, place, &row), 0);
	sn_recorded_image_close(&image);
	assert_false(sn_recorded_image_open_file(&image, copy));
	close(copy);
	unlink(path);
}

static void test_build_id(void **state)
{
	struct sn_elf_file *file;
	unsigned char id[SN_RECORDED_ID_MOST];
	char path[64];
	int copy = open_copy(path);
	(void)state;
	assert_int_equal(sn_elf_file_open(path, &file, NULL), 0);
	assert_int_equal(sn_recorded_build_id(copy, id), file->build_id_bytes);
	assert_true(file->build_id_bytes > 0);
	assert_memory_equal(id, file->build_id, file->build_id_bytes);
	sn_elf_file_free(file);
	assert_int_equal(pwrite(copy, "\0", 1, 0), 1); /* no ELF file any more */
	assert_int_equal(sn_recorded_build_id(copy, id), 0);
	close(copy);
	unlink(path);
}

static void test_places_outside(void **state)
{
	struct sn_recorded_image image;
	struct stat status;
	char path[64];
	int copy = open_copy(path);
	(void)state;
	assert_true(sn_recorded_image_open_file(&image, copy));
	assert_int_equal(fstat(copy, &status), 0);
	assert_int_equal(sn_recorded_image_at(&image, (uint64_t)status.st_size + (1 << 20)), 0);
	assert_int_equal(sn_recorded_image_at(&image, UINT64_MAX), 0);
	sn_recorded_image_close(&image);
	close(copy);
	unlink(path);
}

static void test_the_vdso(void **state)
{
	struct sn_recorded_image image;
	(void)state;
	assert_true(sn_recorded_image_open_vdso(&image));
	assert_non_null(image.module.eh_frame_hdr);
	assert_int_not_equal(sn_recorded_image_at(&image, 0), 0);
	sn_recorded_image_close(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_file_that_is_truncated),
	    cmocka_unit_test(test_build_id),
	    cmocka_unit_test(test_places_outside),
	    cmocka_unit_test(test_the_vdso),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
