/* SPDX-License-Identifier: Apache-2.0 */
/* What executables are: real ones and headers made for the purpose. */
#include "binary/elf/elf_kind.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[256];

static int make_folder(void **state)
{
	snprintf(folder, sizeof(folder), "%s/sonde-kind-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[300];
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static const char *put(const char *name, const void *data, size_t bytes)
{
	static char paths[8][300];
	static unsigned next;
	char *path = paths[next++ % 8];
	snprintf(path, 300, "%s/%s", folder, name);
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, bytes, file), bytes);
	fclose(file);
	return path;
}

static const char *put_script(const char *name, const char *first_line)
{
	return put(name, first_line, strlen(first_line));
}

static struct sn_elf_kind_info read_kind(const char *path)
{
	struct sn_elf_kind_info info;
	struct sn_error error = {""};
	if (sn_elf_kind_read(path, &info, &error) < 0)
		fail_msg("%s", error.text);
	return info;
}

static void a_dynamic_program(void **state)
{
	struct sn_elf_kind_info info = read_kind("/proc/self/exe");
	assert_int_equal(info.kind, SN_ELF_DYNAMIC);
	assert_false(info.is_script);
	assert_false(info.is_secure);
	assert_int_equal(access(info.loader, X_OK), 0);
}

static void a_script_is_its_interpreter(void **state)
{
	char line[512];
	snprintf(line, sizeof(line), "#! %s -x\n", "/proc/self/exe");
	const char *inner = put_script("inner", line);
	snprintf(line, sizeof(line), "#!%s\n", inner);
	struct sn_elf_kind_info info = read_kind(put_script("outer", line));
	assert_int_equal(info.kind, SN_ELF_DYNAMIC);
	assert_true(info.is_script);
	assert_string_equal(info.program, "/proc/self/exe");
}

static void scripts_in_a_circle_end(void **state)
{
	char line[512];
	snprintf(line, sizeof(line), "#!%s/circle\n", folder);
	assert_int_equal(read_kind(put_script("circle", line)).kind, SN_ELF_SCRIPT_LOOP);
}

/* A header and one program header, PT_LOAD: static. */
static void headers_decide(void **state)
{
	struct {
		Elf64_Ehdr elf;
		Elf64_Phdr segment;
	} image = {.elf = {.e_type = ET_EXEC,
			   .e_phoff = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1},
		   .segment = {.p_type = PT_LOAD}};
	struct sn_elf_kind_info self = read_kind("/proc/self/exe");
	FILE *file = fopen("/proc/self/exe", "rb");
	Elf64_Ehdr own;
	assert_int_equal(fread(&own, sizeof(own), 1, file), 1);
	fclose(file);
	memcpy(image.elf.e_ident, own.e_ident, EI_NIDENT);
	image.elf.e_machine = own.e_machine;
	assert_int_equal(self.kind, SN_ELF_DYNAMIC);
	assert_int_equal(read_kind(put("static", &image, sizeof(image))).kind, SN_ELF_STATIC);
	image.elf.e_machine = EM_S390;
	assert_int_equal(read_kind(put("foreign", &image, sizeof(image))).kind, SN_ELF_FOREIGN);
	image.elf.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(read_kind(put("small", &image, sizeof(image))).kind, SN_ELF_32BIT);
	assert_int_equal(read_kind(put("cut", &image, 20)).kind, SN_ELF_32BIT);
	assert_int_equal(read_kind(put("text", "hello", 5)).kind, SN_ELF_NOT_ELF);
	assert_int_equal(read_kind(put("empty", "", 0)).kind, SN_ELF_NOT_ELF);
	assert_int_equal(read_kind(put("hash", "#!", 2)).kind, SN_ELF_NOT_ELF);
}

static void set_user_id_counts_for_others_only(void **state)
{
	Elf64_Ehdr own;
	FILE *file = fopen("/proc/self/exe", "rb");
	assert_int_equal(fread(&own, sizeof(own), 1, file), 1);
	fclose(file);
	const char *path = put("setuid", &own, sizeof(own));
	assert_int_equal(chmod(path, 04755), 0);
	assert_false(read_kind(path).is_secure); /* it is ours */
	if (chown(path, 12345, (gid_t)-1) < 0)
		skip(); /* only root can give files away */
	chmod(path, 04755);
	assert_string_equal(read_kind(path).secure_reason, "setuid");
	assert_int_equal(chown(path, 0, 12345), 0);
	chmod(path, 02755);
	assert_string_equal(read_kind(path).secure_reason, "setgid");
	chmod(path, 02745); /* not executable for the group: mandatory locking, not set-group-id */
	assert_false(read_kind(path).is_secure);
}

static void what_cannot_be_read_is_said(void **state)
{
	struct sn_elf_kind_info info;
	struct sn_error error = {""};
	assert_int_equal(sn_elf_kind_read("/nonexistent/x", &info, &error), SN_ERR_IO);
	assert_non_null(strstr(error.text, "/nonexistent/x"));
	assert_int_equal(sn_elf_kind_read("/", &info, &error), SN_ERR_IO);
	assert_int_equal(
	    sn_elf_kind_read(put_script("gone", "#!/nonexistent/interpreter\n"), &info, &error),
	    SN_ERR_IO);
	assert_non_null(strstr(error.text, "/nonexistent/interpreter"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_dynamic_program),
	    cmocka_unit_test(a_script_is_its_interpreter),
	    cmocka_unit_test(scripts_in_a_circle_end),
	    cmocka_unit_test(headers_decide),
	    cmocka_unit_test(set_user_id_counts_for_others_only),
	    cmocka_unit_test(what_cannot_be_read_is_said),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
