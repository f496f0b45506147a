/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde structure`: what functions, loops and inlined calls a binary's code has. The analysis is
 * src/binary/structure, the forms of its result are structure_{text,json,xml}.c.
 */
#include "cmd/command.h"
#include "structure_write.h"

#include "binary/gpu/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOBS_MAX = 256 };

struct request {
	struct sn_structure_options structure;
	const struct sn_structure_form *form;
	const char *output;
	bool is_full;
	bool wants_gpu;
	char **paths;
	int path_count, status;
	bool has_begun; /* a binary has been written */
	/* while writing */
	struct sn_structure_counts counts;
	FILE *to;  /* where all goes in the end, */
	FILE *out; /* and what a form's own pieces are written into */
	unsigned long long number, functions;
	bool failed; /* nothing more can be written */
};

static bool read_options(struct request *request, struct sn_options *options)
{
	static const struct sn_structure_form *const forms[] = {
	    &sn_structure_text, &sn_structure_json, &sn_structure_xml};
	int form = 0;
	const struct sn_option table[] = {
	    {"output", 'o', .text = &request->output, .is_path = true},
	    {"jobs", 'j', SN_OPTION_WHOLE(request->structure.jobs, 1, JOBS_MAX)},
	    {"format", SN_OPTION_CHOICE(form, "text", "json", "xml")},
	    {"function", .text = &request->structure.function},
	    {"full", .flag = &request->is_full},
	    {"gpu", .flag = &request->wants_gpu},
	    {0}};
	bool goes_on = sn_options_read(options, table);
	request->form = forms[form];
	return goes_on;
}

/* ---- writing in order ---- */

/* Puts running numbers where a form has left room for them. */
static bool put(void *data, const char *text, size_t length)
{
	struct request *request = data;
	while (length > 0) {
		const char *mark = memchr(text, SN_STRUCTURE_NUMBER, length);
		size_t before = mark ? (size_t)(mark - text) : length;
		request->failed |= fwrite(text, 1, before, request->to) != before;
		if (!mark)
			break;
		request->failed |= fprintf(request->to, "%llu", request->number++) < 0;
		text += before + 1;
		length -= before + 1;
	}
	return !request->failed;
}

static ssize_t put_piece(void *request, const char *text, size_t length)
{
	return put(request, text, length) ? (ssize_t)length : 0;
}

static uint64_t loop_scopes(const struct sn_structure_function *function)
{
	uint64_t count = 0;
	for (uint32_t i = 0; i < function->scope_count; i++)
		count += function->scopes[i].kind == SN_SCOPE_LOOP;
	return count;
}

static void write_function(void *data, const struct sn_structure_function *function, FILE *out)
{
	struct request *request = data;
	struct sn_structure_counts *counts = &request->counts;
	counts->functions++;
	counts->loops += function->loop_count;
	counts->written_loops += loop_scopes(function);
	counts->irreducible += function->irreducible_count;
	counts->jumps += function->jump_count;
	counts->unresolved += function->unresolved_count;
	request->form->write(function, request->is_full, out);
}

/* Frees the structure. */
static int write_structure(struct request *request, const char *path,
			   struct sn_structure *structure)
{
	struct sn_structure_writer writer = {write_function, put, request};
	struct sn_error error = {""};
	int status = 0;
	const struct sn_structure_info *info = sn_structure_info(structure);
	memset(&request->counts, 0, sizeof(request->counts));
	if (!info->has_jump_tables && !request->has_begun)
		sn_command_warn("this build is without capstone: loops through switch statements "
				"may be missing");
	if (!request->has_begun)
		request->form->begin(request->out); /* not before a file could be read */
	request->form->begin_binary(path, info, !request->has_begun, request->out);
	request->has_begun = true;
	fflush(request->out);
	if (sn_structure_write(structure, &writer, &error) < 0)
		status = sn_command_fail("%s", error.text);
	else
		request->form->end_binary(info, &request->counts, request->out);
	fflush(request->out);
	request->functions += request->counts.functions;
	sn_structure_free(structure);
	return status;
}

static int write_image(struct request *request, const char *path, const struct sn_gpu_image *image)
{
	struct sn_structure *structure;
	struct sn_error error = {""};
	char *name;
	if (asprintf(&name, "%s (%s at 0x%llx)", path, image->target,
		     (unsigned long long)image->offset) < 0)
		return sn_command_fail("out of memory");
	int result = sn_structure_open_image(image->bytes.data, image->bytes.size, name,
					     &request->structure, &structure, &error);
	int status = 0;
	if (result == 0)
		status = write_structure(request, name, structure);
	else if (result == SN_ERR_UNSUPPORTED)
		sn_command_warn("%s", error.text); /* libraries have code for old GPUs as well */
	else
		status = sn_command_fail("%s", error.text);
	free(name);
	return status;
}

static int write_images(struct request *request, const char *path, struct sn_bytes file)
{
	struct sn_gpu_bundle bundle;
	int status = 0;
	if (sn_gpu_bundle_read(file, &bundle) < 0) {
		sn_gpu_bundle_release(&bundle);
		return sn_command_fail("out of memory");
	}
	for (size_t i = 0; i < bundle.count && status == 0; i++)
		status = write_image(request, path, &bundle.images[i]);
	if (bundle.skipped > 0 && status == 0)
		sn_command_warn("%zu GPU binaries in '%s' are damaged or compressed in a way that "
				"this build does not know",
				bundle.skipped, path);
	if (bundle.count == 0 && bundle.skipped == 0)
		status = sn_command_fail("cannot read '%s': no GPU code in it", path);
	sn_gpu_bundle_release(&bundle);
	return status;
}

/* Whether the file is to be unpacked; then *file is mapped. */
static bool has_images(const struct request *request, const char *path, struct sn_bytes *file)
{
	struct stat status;
	/* not blocking: a pipe of that name must not hang us */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_file =
	    fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size > 0;
	void *mapped = is_file ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
			       : MAP_FAILED;
	if (fd >= 0)
		close(fd);
	if (mapped == MAP_FAILED)
		return false;
	*file = (struct sn_bytes){mapped, (size_t)status.st_size};
	bool has_any = request->wants_gpu || sn_gpu_is_bundle(*file);
	if (!has_any)
		munmap(mapped, file->size);
	return has_any;
}

static int write_binary(struct request *request, const char *path)
{
	struct sn_structure *structure;
	struct sn_error error = {""};
	struct sn_bytes file;
	if (has_images(request, path, &file)) {
		int status = write_images(request, path, file);
		munmap((void *)(uintptr_t)file.data, file.size);
		return status;
	}
	if (sn_structure_open(path, &request->structure, &structure, &error) < 0)
		return sn_command_fail("%s", error.text);
	return write_structure(request, path, structure);
}

/* Into request->to. */
static int write_all(struct request *request)
{
	int status = 0;
	request->out = fopencookie(request, "w", (cookie_io_functions_t){.write = put_piece});
	if (!request->out)
		return sn_command_fail("out of memory");
	for (int i = 0; i < request->path_count && status == 0 && !request->failed; i++)
		status = write_binary(request, request->paths[i]);
	if (status == 0 && !request->has_begun)
		request->form->begin(request->out);
	if (status == 0)
		request->form->end(request->out);
	fclose(request->out);
	if (status == 0 && request->functions == 0 && request->structure.function) {
		sn_command_warn("no function '%s' begins in %s", request->structure.function,
				request->path_count == 1 ? *request->paths : "these files");
		status = SN_EXIT_FINDING;
	}
	return status;
}

/* What was held, to standard output. */
static int let_go(struct request *request, FILE *held)
{
	char text[1 << 16];
	size_t length;
	rewind(held);
	while ((length = fread(text, 1, sizeof(text), held)) > 0 &&
	       fwrite(text, 1, length, stdout) == length)
		; /* main looks at the stream */
	if (request->failed || ferror(held))
		return sn_command_fail("cannot write a temporary file: %s", strerror(errno));
	return 0;
}

/* Standard output gets all or nothing, which takes a file where only the last of several may be one
 * that cannot be read. */
static int write_to_standard_output(struct request *request)
{
	FILE *held = request->path_count > 1 ? tmpfile() : NULL;
	if (request->path_count > 1 && !held)
		return sn_command_fail("cannot write a temporary file: %s", strerror(errno));
	request->to = held ? held : stdout;
	int status = write_all(request);
	if (held && status != SN_EXIT_FAILED && let_go(request, held))
		status = SN_EXIT_FAILED;
	if (held)
		fclose(held);
	return status;
}

/* What went wrong has been said where the error's text is "". */
static int write_whole(void *context, FILE *out, struct sn_error *error)
{
	struct request *request = context;
	request->to = out;
	request->status = write_all(request);
	return request->status == SN_EXIT_FAILED ? sn_fail(error, SN_ERR_ARGUMENT, "%s", "") : 0;
}

static int write_to_file(struct request *request)
{
	struct sn_error error = {""};
	int result = sn_command_write_file(request->output, write_whole, request, &error);
	if (result && *error.text)
		return sn_command_fail("%s", error.text);
	return request->status;
}

int sn_command_structure_run(int argc, char **argv)
{
	struct request request = {0};
	struct sn_options options = {&sn_command_structure, argc, argv};
	if (!read_options(&request, &options))
		return options.status;
	if (optind == argc)
		return sn_command_misuse(&sn_command_structure, "no binary given");
	request.paths = argv + optind;
	request.path_count = argc - optind;
	request.is_full |= request.structure.function != NULL || request.form->wants_lines;
	request.structure.no_lines = !request.is_full;
	request.structure.wants_calls = request.form->wants_calls;
	bool to_file = request.output && strcmp(request.output, "-") != 0;
	sn_progress_show(!to_file);
	return (to_file ? write_to_file : write_to_standard_output)(&request);
}
