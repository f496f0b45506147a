/* SPDX-License-Identifier: Apache-2.0 */
/* Reading inductor's cache; see inductor_graph.h. */
#include "inductor_graph.h"

#include "pickle.h"
#include "base/safe_path.h"
#include "base/text.h"
#include "base/vec.h"
#include "frame/user_frame.h"
#include "inductor_text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a cache; more are not looked at. */
#define MOST_ENTRIES 20000

struct reading {
	const char *key; /* name of the generated file without ".py" */
	struct sn_arena *arena;
	struct sn_inductor_graph *graph;
	size_t section_capacity, node_capacity;
	uint32_t entries; /* looked at */
};

static const char *copy(const struct reading *reading, const char *text, size_t length)
{
	return sn_arena_copy(reading->arena, text, length);
}

/* The text without white space around it. */
static const char *trimmed(const struct reading *reading, const char *text, size_t length)
{
	size_t skipped = 0;
	while (skipped < length && strchr(" \t", text[skipped]))
		skipped++;
	while (length > skipped && strchr(" \t\r\n", text[length - 1]))
		length--;
	return copy(reading, text + skipped, length - skipped);
}

/* `  File "train.py", line 12, in step` and the line's text on the next; what follows them, NULL for a text
 * that is not of this form. */
static const char *take_frame(const struct reading *reading, const char *text,
			      struct sn_inductor_place *place)
{
	static const char head[] = "  File \"", number[] = "\", line ", function[] = ", in ";
	const char *end = sn_text_begins(text, head) ? strchr(text, '\n') : NULL;
	text += end ? sizeof(head) - 1 : 0;
	const char *line = end ? strstr(text, number) : NULL;
	char *rest;
	if (!line || line > end)
		return NULL;
	place->file = copy(reading, text, (size_t)(line - text));
	place->line = (uint32_t)strtoul(line + sizeof(number) - 1, &rest, 10);
	/* strtoul skips the ends of lines */
	if (rest > end || !sn_text_begins(rest, function))
		return NULL;
	rest += sizeof(function) - 1;
	place->function = copy(reading, rest, (size_t)(end - rest));
	text = end + 1;
	size_t length = strcspn(text, "\n");
	place->code = trimmed(reading, text, length);
	text += length;
	/* the marks below the line */
	while (*text == '\n' && !sn_text_begins(text + 1, head))
		text += 1 + strcspn(text + 1, "\n");
	return *text ? text + 1 : text;
}

/* A stack of the program's: its outermost frame is the compiled function, and what it calls is inlined. */
static void add_section(struct reading *reading, int64_t line, const struct sn_pickle_item *stack)
{
	struct sn_inductor_section section = {.line = (uint32_t)line};
	const char *text =
	    stack->kind == SN_PICKLE_TEXT ? copy(reading, stack->text, stack->length) : NULL;
	struct sn_inductor_place place = {NULL};
	for (bool is_first = true; text && *text; is_first = false) {
		text = take_frame(reading, text, &place);
		if (!text)
			break;
		if (is_first)
			section.compiled = place;
		if (place.file && !sn_file_is_of_package(place.file))
			section.place = place;
	}
	struct sn_inductor_graph *graph = reading->graph;
	if (line > 0 && line <= UINT32_MAX &&
	    sn_vec_reserve(&graph->sections, &reading->section_capacity,
			   graph->section_count + 1ull) == 0)
		graph->sections[graph->section_count++] = section;
}

/* The members of a list of (line, stack). */
static void take_sections(struct reading *reading, struct sn_pickle *pickle)
{
	struct sn_pickle_item item, number = {SN_PICKLE_OTHER};
	bool has_begun = false;
	while (sn_pickle_next(pickle, &item) && item.kind != SN_PICKLE_LIST_END) {
		if (item.kind == SN_PICKLE_NUMBER) {
			number = item;
			has_begun = true;
		} else if (number.kind == SN_PICKLE_NUMBER) {
			/* None where it has no stack */
			add_section(reading, number.number, &item);
			number.kind = SN_PICKLE_OTHER;
		} else if (!has_begun && item.kind == SN_PICKLE_TEXT) {
			return; /* an empty list */
		}
	}
}

/* "# File: train.py:12 in step, code: y = x + 1", of a backward graph with words before "File". */
static void take_comment(const struct reading *reading, const char *text, size_t length,
			 struct sn_inductor_place *place)
{
	static const char head[] = "File: ", code[] = ", code: ", function[] = " in ";
	const char *file = memmem(text, length, head, sizeof(head) - 1), *end = text + length;
	*place = (struct sn_inductor_place){NULL};
	if (!file)
		return;
	file += sizeof(head) - 1;
	const char *written = memmem(file, (size_t)(end - file), code, sizeof(code) - 1);
	const char *named =
	    written ? memmem(file, (size_t)(written - file), function, sizeof(function) - 1) : NULL;
	const char *colon = named ? memrchr(file, ':', (size_t)(named - file)) : NULL;
	if (!colon)
		return;
	place->file = copy(reading, file, (size_t)(colon - file));
	place->line = (uint32_t)strtoul(colon + 1, NULL, 10);
	named += sizeof(function) - 1;
	place->function = copy(reading, named, (size_t)(written - named));
	written += sizeof(code) - 1;
	place->code = trimmed(reading, written, (size_t)(end - written));
	if (place->file && sn_file_is_of_package(place->file))
		place->file = NULL;
}

/* `relu: "f32[8]" = torch.ops.aten.relu.default(addmm)`; operators of aten without its name. */
static void take_node(struct reading *reading, const char *text, size_t length,
		      const struct sn_inductor_place *place)
{
	static const char head[] = "= torch.ops.", aten[] = "aten.";
	const char *begin = memmem(text, length, head, sizeof(head) - 1), *end = text + length;
	struct sn_inductor_graph *graph = reading->graph;
	if (!begin)
		return;
	begin += sizeof(head) - 1;
	const char *bracket = memchr(begin, '(', (size_t)(end - begin));
	const char *overload = bracket ? memrchr(begin, '.', (size_t)(bracket - begin)) : NULL;
	if (!overload)
		return;
	if (sn_text_begins(begin, aten) && begin + sizeof(aten) - 1 < overload)
		begin += sizeof(aten) - 1;
	struct sn_inductor_node node = {copy(reading, begin, (size_t)(overload - begin)), *place};
	if (overload != begin && node.name &&
	    sn_vec_reserve(&graph->nodes, &reading->node_capacity, graph->node_count + 1ull) == 0)
		graph->nodes[graph->node_count++] = node;
}

static void take_graph(struct reading *reading, const struct sn_pickle_item *item)
{
	struct sn_inductor_place place = {NULL};
	/* ended by NUL, so that texts can be compared */
	const char *text = copy(reading, item->text, item->length);
	while (text && *text) {
		size_t length = strcspn(text, "\n");
		const char *at = text + strspn(text, " \t");
		size_t left = at < text + length ? (size_t)(text + length - at) : 0;
		if (left && *at == '#' &&
		    (memmem(at, left, "File: ", 6) || memmem(at, left, "No stack", 8)))
			take_comment(reading, at, left, &place);
		else if (left && *at != '#')
			take_node(reading, at, left, &place);
		text += length + (text[length] == '\n');
	}
}

static bool is_text(const struct sn_pickle_item *item, const char *text)
{
	return item->kind == SN_PICKLE_TEXT && item->length == strlen(text) &&
	       memcmp(item->text, text, item->length) == 0;
}

/* Takes what the pickle says of the generated file; false where that is another file's. */
static bool take_entry(struct reading *reading, const char *bytes, size_t length)
{
	const uint8_t *begin = (const uint8_t *)bytes;
	struct sn_pickle pickle = {.at = begin, .end = begin + length};
	struct sn_pickle_item item, value;
	bool is_it = false;
	while (sn_pickle_next(&pickle, &item)) {
		if (is_text(&item, "cache_key") && sn_pickle_next(&pickle, &value))
			is_it = is_text(&value, reading->key);
		else if (is_it && is_text(&item, "cache_linemap"))
			take_sections(reading, &pickle);
		else if (is_it && is_text(&item, "inductor_post_grad_graph_str") &&
			 sn_pickle_next(&pickle, &value) && value.kind == SN_PICKLE_TEXT)
			take_graph(reading, &value);
	}
	sn_pickle_release(&pickle);
	return reading->graph->section_count > 0 || reading->graph->node_count > 0;
}

static bool read_entry(struct reading *reading, const char *path)
{
	size_t length;
	char *bytes = sn_inductor_read(path, &length);
	bool is_it = bytes && memmem(bytes, length, reading->key, strlen(reading->key)) &&
		     take_entry(reading, bytes, length);
	free(bytes);
	return is_it;
}

/* Looks at all files `levels` folders below. */
static bool search(struct reading *reading, const char *folder, int levels)
{
	int fd = sn_path_open_folder(folder);
	DIR *names = fd < 0 ? NULL : fdopendir(fd);
	bool is_found = false;
	if (!names) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	for (struct dirent *entry; !is_found && (entry = readdir(names)) != NULL;) {
		char path[PATH_MAX];
		if (entry->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= PATH_MAX)
			continue;
		if (levels > 0)
			is_found = search(reading, path, levels - 1);
		else if (reading->entries++ < MOST_ENTRIES)
			is_found = read_entry(reading, path);
	}
	closedir(names);
	return is_found;
}

bool sn_inductor_graph(const char *generated, struct sn_arena *arena,
		       struct sn_inductor_graph *graph)
{
	const char *name = sn_text_base_name(generated);
	char folder[PATH_MAX];
	/* CACHE/ab/ */
	size_t length = (size_t)(name - generated);
	if (length < 4 || length >= sizeof(folder) || !sn_text_ends(name, ".py"))
		return false;
	snprintf(folder, sizeof(folder), "%.*sfxgraph", (int)(length - 3), generated);
	struct reading reading = {
	    .key = sn_arena_copy(arena, name, strlen(name) - 3), .arena = arena, .graph = graph};
	*graph = (struct sn_inductor_graph){NULL};
	/* fxgraph/ab/KEY/ENTRY */
	return reading.key && search(&reading, folder, 2) && !arena->failed;
}

void sn_inductor_graph_release(struct sn_inductor_graph *graph)
{
	free(graph->sections);
	free(graph->nodes);
	*graph = (struct sn_inductor_graph){NULL};
}
