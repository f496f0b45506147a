/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads the path below which a program begins; see start_path.h. */
#include "start_path.h"

#include "adapter.h"
#include "line.h"

/* As long as a name can be in a tree, see sn_cct_string. */
#define FILE_BYTES 4095u

/* ---- which frames are the user's ---- */

struct span {
	const char *text;
	size_t length;
};

static struct span span_of(const struct sn_cct *cct, uint32_t id)
{
	const struct sn_cct_string *string = sn_array_at(&cct->strings, id);
	return (struct span){string->text, string->length};
}

static bool is_equal(struct span span, const char *text)
{
	return span.length == strlen(text) && !memcmp(span.text, text, span.length);
}

static bool begins(struct span span, const char *text)
{
	return span.length >= strlen(text) && !memcmp(span.text, text, strlen(text));
}

static bool ends(struct span span, const char *text)
{
	size_t length = strlen(text);
	return span.length >= length && !memcmp(span.text + span.length - length, text, length);
}

static bool holds(struct span span, const char *text)
{
	return memmem(span.text, span.length, text, strlen(text));
}

static bool is_library(struct span file)
{
	return holds(file, "/site-packages/") || holds(file, "/dist-packages/") ||
	       holds(file, "/lib/python") || holds(file, "/lib64/python") ||
	       ends(file, "/sitecustomize.py");
}

static const struct sn_frame *frame_at(const struct sn_cct *cct, uint32_t node)
{
	return &((const struct sn_cct_node *)sn_array_at(&cct->nodes, node))->record.frame;
}

static const struct sn_code_record *code_of(const struct sn_cct *cct, const struct sn_frame *frame)
{
	return &((const struct sn_cct_code *)sn_array_at(&cct->codes, frame->id))->record;
}

/* A path as its nodes, outermost first. */
struct path {
	const struct sn_cct *cct;
	const uint32_t *nodes;
	uint32_t count;
};

/* The file of the frame at `index`; empty where that is none of Python's. */
static struct span file_at(const struct path *path, uint32_t index)
{
	const struct sn_frame *frame = frame_at(path->cct, path->nodes[index]);
	if (frame->kind != SN_FRAME_PYTHON)
		return (struct span){"", 0};
	return span_of(path->cct, code_of(path->cct, frame)->file);
}

/* What an installer puts beside a Python for a command of a package: PREFIX/bin/NAME, where the
 * package, whose frames are on the path too, lies below PREFIX/lib. */
static bool is_console_script(const struct path *path, struct span file)
{
	const char *slash = memrchr(file.text, '/', file.length);
	size_t folder = slash ? (size_t)(slash - file.text) : 0;
	if (folder < 4 || memcmp(slash - 4, "/bin", 4) != 0 || ends(file, ".py"))
		return false;
	for (uint32_t index = 0; index < path->count; index++) {
		struct span other = file_at(path, index);
		if (other.length > folder && !memcmp(other.text, file.text, folder - 4) &&
		    is_library(other))
			return true;
	}
	return false;
}

/* Given with -c or typed in: what runs first. multiprocessing starts its workers so, too. */
static bool is_typed_in(const struct path *path, uint32_t index, struct span file)
{
	bool is_outermost = !index || !file_at(path, index - 1).length;
	bool is_string = is_equal(file, "<string>") && is_outermost;
	if (is_string)
		return index + 1 >= path->count ||
		       !holds(file_at(path, index + 1), "/multiprocessing/");
	return is_equal(file, "<stdin>") || begins(file, "<python-input") ||
	       begins(file, "<ipython-input");
}

/* The rule of frame/user_frame.c, as far as it can be told here. */
static bool is_users(const struct path *path, uint32_t index)
{
	struct span file = file_at(path, index);
	if (!file.length || *file.text == '<')
		return file.length && is_typed_in(path, index, file);
	return !is_library(file) && !is_console_script(path, file);
}

/* ---- writing ---- */

static void add_span(struct sn_line *line, struct span span)
{
	sn_line_add_number(line, span.length);
	sn_line_add(line, ":");
	for (size_t at = 0; at < span.length && line->length + 1 < line->bytes; at++)
		line->text[line->length++] = span.text[at];
	line->text[line->length] = 0;
}

static size_t shared_bytes(struct span file, struct span before)
{
	size_t shared = 0;
	while (shared < file.length && shared < before.length &&
	       file.text[shared] == before.text[shared])
		shared++;
	return shared;
}

static void add_number(struct sn_line *line, uint64_t number)
{
	sn_line_add_number(line, number);
	sn_line_add(line, ",");
}

static void add_python(struct sn_line *line, const struct path *path, uint32_t index,
		       struct span *before)
{
	const struct sn_frame *frame = frame_at(path->cct, path->nodes[index]);
	const struct sn_code_record *code = code_of(path->cct, frame);
	struct span file = span_of(path->cct, code->file);
	size_t shared = shared_bytes(file, *before);
	sn_line_add(line, "p");
	add_number(line, frame->value);
	add_number(line, code->first_line);
	add_number(line, shared);
	add_span(line, (struct span){file.text + shared, file.length - shared});
	add_span(line, span_of(path->cct, code->name));
	*before = file;
}

/* True where it has fitted. What a text holds of a frame that does not fit is taken away. */
static bool add_frame(struct sn_line *line, const struct path *path, uint32_t index,
		      struct span *before)
{
	const struct sn_frame *frame = frame_at(path->cct, path->nodes[index]);
	size_t length = line->length;
	if (frame->kind == SN_FRAME_PYTHON) {
		add_python(line, path, index, before);
	} else if (frame->kind == SN_FRAME_REGION) {
		sn_line_add(line, "r");
		add_number(line, frame->flags);
		add_span(line, span_of(path->cct, frame->id));
	}
	/* sn_line fills a line up and drops the rest */
	if (line->length + 1 < line->bytes)
		return true;
	line->length = length;
	line->text[length] = 0;
	return false;
}

static uint32_t depth_of(const struct sn_cct *cct, uint32_t node)
{
	uint32_t depth = 0;
	for (; node != SN_NODE_ROOT && node != SN_NODE_NONE; depth++)
		node = ((const struct sn_cct_node *)sn_array_at(&cct->nodes, node))->record.parent;
	return depth;
}

size_t sn_start_path_room(const struct sn_cct *cct, uint32_t node)
{
	return SN_START_PATH_BYTES + (depth_of(cct, node) + 1) * sizeof(uint32_t);
}

char *sn_start_path_write(const struct sn_cct *cct, uint32_t node, void *room)
{
	uint32_t depth = depth_of(cct, node), *nodes = room;
	char *text = (char *)room + (depth + 1) * sizeof(uint32_t);
	struct sn_line line = {text, SN_START_PATH_BYTES, 0};
	struct path path = {cct, nodes, depth};
	struct span before = {"", 0};
	bool has_users = false;
	for (uint32_t index = depth; index--;) {
		nodes[index] = node;
		node = ((const struct sn_cct_node *)sn_array_at(&cct->nodes, node))->record.parent;
	}
	for (uint32_t index = 0; index < depth && !has_users; index++)
		has_users = is_users(&path, index);
	sn_line_add(&line, SN_START_PATH);
	for (uint32_t index = 0; index < depth && has_users; index++)
		if (!add_frame(&line, &path, index, &before))
			break;
	return text;
}

uint32_t sn_start_path_now(struct sn_thread *thread)
{
	return sn_python_may_run() ? sn_callpath_of_start(thread) : SN_NODE_NONE;
}

bool sn_start_path_passes(const struct sn_cct *cct, uint32_t node, const char *file_end)
{
	while (node != SN_NODE_ROOT && node != SN_NODE_NONE) {
		struct path path = {cct, &node, 1};
		if (ends(file_at(&path, 0), file_end))
			return true;
		node = ((const struct sn_cct_node *)sn_array_at(&cct->nodes, node))->record.parent;
	}
	return false;
}

/* ---- reading ---- */

struct reader {
	const char *at; /* NULL: malformed */
	char file[FILE_BYTES];
	size_t file_length;
};

static uint64_t read_number(struct reader *reader, char end)
{
	uint64_t number = 0;
	const char *at = reader->at ? sn_parse_number(reader->at, 10, &number) : NULL;
	reader->at = at && at != reader->at && *at == end ? at + 1 : NULL;
	return number;
}

static struct span read_span(struct reader *reader)
{
	uint64_t length = read_number(reader, ':');
	struct span span = {reader->at, 0};
	if (!reader->at)
		return span;
	span.length = strnlen(reader->at, length < FILE_BYTES ? length : FILE_BYTES);
	reader->at = span.length == length ? reader->at + length : NULL;
	return span;
}

/* The file that shares so many bytes with the one before, into reader->file. */
static void join_file(struct reader *reader, uint64_t shared, struct span rest)
{
	if (!reader->at || shared > reader->file_length || shared + rest.length > FILE_BYTES) {
		reader->at = NULL;
		return;
	}
	memcpy(reader->file + shared, rest.text, rest.length);
	reader->file_length = shared + rest.length;
}

/* The next frame's context below `parent`. If `cct` is NULL, the text is checked alone. */
static uint32_t read_python(struct reader *reader, struct sn_cct *cct, uint32_t parent)
{
	uint64_t line = read_number(reader, ','), first = read_number(reader, ',');
	uint64_t shared = read_number(reader, ',');
	join_file(reader, shared, read_span(reader));
	struct span name = read_span(reader);
	if (line > UINT32_MAX || first > UINT32_MAX)
		reader->at = NULL;
	if (!reader->at || !cct)
		return parent;
	struct sn_frame frame = {.kind = SN_FRAME_PYTHON, .value = line};
	frame.id = sn_cct_code(cct, reader->file, reader->file_length, name.text, name.length,
			       (uint32_t)first);
	return frame.id == SN_ID_NONE ? SN_NODE_NONE : sn_cct_child(cct, parent, &frame);
}

static uint32_t read_region(struct reader *reader, struct sn_cct *cct, uint32_t parent)
{
	uint64_t flags = read_number(reader, ',');
	struct span name = read_span(reader);
	if (flags & ~(uint64_t)SN_FRAME_ITERATION)
		reader->at = NULL;
	if (!reader->at || !cct)
		return parent;
	struct sn_frame frame = {.kind = SN_FRAME_REGION, .flags = (uint8_t)flags};
	frame.id = sn_cct_string(cct, name.text, name.length);
	return frame.id == SN_ID_NONE ? SN_NODE_NONE : sn_cct_child(cct, parent, &frame);
}

/* SN_NODE_NONE where it is malformed, or without memory. */
static uint32_t read_all(struct sn_cct *cct, const char *text)
{
	struct reader reader = {.at = text};
	uint32_t node = SN_NODE_ROOT;
	while (reader.at && *reader.at && node != SN_NODE_NONE) {
		char kind = *reader.at++;
		if (kind == 'p')
			node = read_python(&reader, cct, node);
		else if (kind == 'r')
			node = read_region(&reader, cct, node);
		else
			reader.at = NULL;
	}
	return reader.at ? node : SN_NODE_NONE;
}

static uint32_t read_path(struct sn_cct *cct, const char *text)
{
	if (strnlen(text, SN_START_PATH_BYTES) == SN_START_PATH_BYTES ||
	    read_all(NULL, text) == SN_NODE_NONE)
		return SN_NODE_ROOT;
	uint32_t node = read_all(cct, text);
	return node == SN_NODE_NONE ? SN_NODE_ROOT : node;
}

/* ---- where paths begin ---- */

/* In the tree of the process's first thread, which is never released. */
static struct {
	const struct sn_cct *cct;
	uint32_t node;
} start;

void sn_start_path_begin(struct sn_thread *thread, const char *text)
{
	struct sn_thread *entered =
	    text && *text && sn_config.sources & SN_SOURCE_PYTHON ? sn_enter() : NULL;
	if (!entered)
		return;
	start.node = read_path(&thread->cct, text);
	start.cct = &thread->cct;
	sn_callpath_begin_below(thread, start.cct, start.node);
	sn_leave(entered);
}

void sn_start_path_begin_thread(struct sn_thread *thread)
{
	if (start.cct && start.node != SN_NODE_ROOT)
		sn_callpath_begin_below(thread, start.cct, start.node);
}
