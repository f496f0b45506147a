/* SPDX-License-Identifier: Apache-2.0 */
/* Names of frames; see label.h. */
#include "label.h"

#include "base/text.h"
#include "format/measurement/measurement.h"
#include "frame/user_frame.h"

#include <stdio.h>
#include <string.h>

const char *sn_label_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

const char *sn_label_program(const char *program)
{
	return *program == '/' || *program == '.' ? sn_label_base(program) : program;
}

const char *sn_label_module(const struct sonde_db *db, const struct sonde_db_frame *frame)
{
	return frame->module == SONDE_NONE
		   ? NULL
		   : sonde_db_string(db, sonde_db_module(db, frame->module)->path);
}

/* The bracket that closes the one at `text`, or NULL. */
static const char *closing(const char *text, char open, char close)
{
	int depth = 0;
	for (; *text; text++) {
		/* The arrows of operator-> and comparisons are no brackets. */
		if (open == '<' && (strncmp(text, "->", 2) == 0))
			text++;
		else if (*text == open)
			depth++;
		else if (*text == close && --depth == 0)
			return text;
	}
	return NULL;
}

/* The length of what follows "operator" and belongs to the name: "()", "<<", " new[]", ... */
static size_t operator_length(const char *text)
{
	static const char *const names[] = {"()", "[]", "<=>", "->*", "<<=", ">>=", "->",
					    "<<", ">>", "<=",  ">=",  "<",   ">",   NULL};
	/* operator< of template arguments, written without the blank */
	if (sn_text_begins(text, "<<") && closing(text + 1, '<', '>'))
		return 1;
	for (int i = 0; names[i]; i++)
		if (sn_text_begins(text, names[i]))
			return strlen(names[i]);
	return 0;
}

/* The length of a part that is left out of a name: a namespace of the standard library's internals,
 * what tells versions of a function apart ("[abi:cxx11]").
 */
static size_t noise_length(const char *text)
{
	const char *tag_end = sn_text_begins(text, "[abi:") ? strchr(text, ']') : NULL;
	if (tag_end)
		return (size_t)(tag_end + 1 - text);
	static const char *const noise[] = {"(anonymous namespace)::", "__cxx11::", "__1::", NULL};
	for (int i = 0; noise[i]; i++)
		if (sn_text_begins(text, noise[i]))
			return strlen(noise[i]);
	return 0;
}

/* The length of a parameter list that something follows, as in f(int)::{lambda()#1}; 0: the name
 * ends here. */
static size_t inner_parameters(const char *text)
{
	const char *end = closing(text, '(', ')');
	if (!end)
		return 0;
	end += sn_text_begins(end + 1, " const") ? 7 : 1;
	return sn_text_begins(end, "::") ? (size_t)(end - text) : 0;
}

/* The length of what is copied whole: brackets with their contents, an operator with its sign. */
static size_t unit_length(const char *text, bool begins_word)
{
	const char *end = NULL;
	if (begins_word && sn_text_begins(text, "operator")) {
		size_t length = 8 + operator_length(text + 8);
		/* "operator<< <char>", "operator new", "operator bool": the blank belongs to it */
		return length + (text[length] == ' ');
	}
	if (*text == '<')
		end = closing(text, '<', '>');
	else if (*text == '{')
		end = closing(text, '{', '}');
	else
		return 1;
	return end ? (size_t)(end - text) + 1 : strlen(text);
}

/* Copies a C++ name up to its parameter list; *begin is where the name begins, past a return type.
 */
static void copy_name(const char *name, char *text, size_t size, size_t *begin)
{
	size_t used = 0;
	*begin = 0;
	for (const char *c = name; *c && used + 1 < size;) {
		size_t skipped = noise_length(c);
		if (skipped == 0 && *c == '(') {
			skipped = inner_parameters(c);
			if (skipped == 0)
				break;
		}
		c += skipped;
		if (skipped > 0)
			continue;
		size_t length = unit_length(c, c == name || c[-1] == ':' || c[-1] == ' ');
		if (length > size - 1 - used)
			length = size - 1 - used;
		memcpy(text + used, c, length);
		used += length;
		if (length == 1 && *c == ' ')
			*begin = used;
		c += length;
	}
	text[used] = '\0';
}

/* Replaces every template argument list by an ellipsis. */
static void fold_templates(char *text)
{
	char *to = text;
	for (const char *from = text; *from;) {
		/* The first bracket of operator< and operator<< opens nothing. */
		bool is_sign = from - text >= 8 && sn_text_begins(from - 8, "operator");
		const char *end = *from == '<' && from > text ? closing(from, '<', '>') : NULL;
		if (end && end - from > 3 && !is_sign) {
			memcpy(to, "<\xe2\x80\xa6>", 5);
			to += 5;
			from = end + 1;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static void shorten(const char *name, bool keeps_templates, char *text, size_t size)
{
	size_t begin = 0;
	bool is_cpp = strstr(name, "::") || strchr(name, '(');
	if (!is_cpp || *name == '(' || *name == '[' || *name == '<') {
		sn_utf8_clean(name, text, size);
		return;
	}
	char copy[4096];
	copy_name(name, copy, sizeof(copy) - 16, &begin);
	if (copy[begin] == '\0')
		begin = 0;
	if (!keeps_templates && strlen(copy + begin) > 40)
		fold_templates(copy + begin);
	sn_utf8_clean(copy[begin] ? copy + begin : name, text, size);
}

void sn_label_shorten(const char *name, char *text, size_t size)
{
	shorten(name, false, text, size);
}

/* What a kernel computes is often in its template arguments alone, so they stay. */
static bool is_kernel(enum sn_frame_kind kind)
{
	return kind == SN_FRAME_KERNEL || kind == SN_FRAME_GPU_FUNCTION;
}

static void remove_all(char *text, const char *what)
{
	size_t length = strlen(what);
	for (char *at = text; (at = strstr(at, what));)
		memmove(at, at + length, strlen(at + length) + 1);
}

/* "train.py"; "importlib._bootstrap" for a module that is frozen into the interpreter. */
static void clean_python_file(const char *path, char *file, size_t size)
{
	static const char frozen[] = "<frozen ";
	bool is_frozen = sn_text_begins(path, frozen);
	sn_utf8_clean(is_frozen ? path + strlen(frozen) : sn_label_base(path), file, size);
	if (is_frozen)
		file[strcspn(file, ">")] = '\0';
}

static void label_python(const struct sonde_db *db, enum sn_grouping grouping,
			 const struct sonde_db_frame *frame, char text[SN_LABEL_CHARS])
{
	uint32_t line = grouping == SN_GROUP_FUNCTION ? frame->function_line : frame->line;
	if (line == 0)
		line = frame->function_line;
	char file[512], name[480];
	clean_python_file(sonde_db_string(db, frame->file), file, sizeof(file));
	sn_utf8_clean(sonde_db_string(db, frame->name), name, sizeof(name));
	remove_all(name, "<locals>.");
	if (line)
		snprintf(text, SN_LABEL_CHARS, "%s:%u %s", file, line, name);
	else
		snprintf(text, SN_LABEL_CHARS, "%s %s", file, name);
}

/* A path's last part, as it is shown; "" for NULL. */
static void clean_base(const char *path, char *text, size_t size)
{
	sn_utf8_clean(path ? sn_label_base(path) : "", text, size);
}

static void label_unnamed(const struct sonde_db *db, const struct sonde_db_frame *frame,
			  char text[SN_LABEL_CHARS])
{
	char module[512];
	unsigned long long offset = frame->offset;
	clean_base(sn_label_module(db, frame), module, sizeof(module));
	if (frame->module != SONDE_NONE)
		snprintf(text, SN_LABEL_CHARS, "%s+0x%llx", module, offset);
	else if (frame->kind == SN_FRAME_LINE || frame->kind == SN_FRAME_GPU_LINE)
		/* HPCToolkit's databases leave them out, but not what belongs to each */
		snprintf(text, SN_LABEL_CHARS, "(instructions)");
	else if (frame->kind == SN_FRAME_NATIVE)
		snprintf(text, SN_LABEL_CHARS, "0x%llx", offset);
	else
		snprintf(text, SN_LABEL_CHARS, "(%s)",
			 frame->kind == SN_FRAME_NONE ? "program"
						      : sonde_frame_kind_name(frame->kind));
}

static void add_flags(const struct sonde_db_frame *frame, char text[SN_LABEL_CHARS])
{
	size_t used = strlen(text);
	if (frame->flags & SN_FRAME_BACKWARD)
		snprintf(text + used, SN_LABEL_CHARS - used, " (backward)");
	else if (frame->flags & SN_FRAME_ITERATION)
		snprintf(text + used, SN_LABEL_CHARS - used, " (iterations)");
}

static void label(const struct sonde_db *db, enum sn_grouping grouping, uint32_t id, bool is_full,
		  char text[SN_LABEL_CHARS])
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	const char *name = sonde_db_string(db, frame->name);
	bool is_native = frame->kind == SN_FRAME_NATIVE || frame->kind == SN_FRAME_INLINED;
	if (grouping == SN_GROUP_MODULE || grouping == SN_GROUP_FILE) {
		const char *path = grouping == SN_GROUP_MODULE ? sn_label_module(db, frame)
				   : frame->file == SONDE_NONE ? NULL
							       : sonde_db_string(db, frame->file);
		if (path)
			sn_utf8_clean(path, text, SN_LABEL_CHARS);
		else
			snprintf(text, SN_LABEL_CHARS, "(%s)", sonde_frame_kind_name(frame->kind));
		return;
	}
	if (grouping == SN_GROUP_KIND)
		snprintf(text, SN_LABEL_CHARS, "%s", sonde_frame_kind_name(frame->kind));
	else if (frame->kind == SN_FRAME_PYTHON && frame->file != SONDE_NONE)
		label_python(db, grouping, frame, text);
	else if (*name == '\0')
		label_unnamed(db, frame, text);
	else if (is_native && !is_full)
		sn_label_shorten(name, text, SN_LABEL_CHARS);
	else if (is_kernel(frame->kind) && !is_full)
		shorten(name, true, text, SN_LABEL_CHARS);
	else
		sn_utf8_clean(name, text, SN_LABEL_CHARS);
	if (grouping != SN_GROUP_KIND)
		add_flags(frame, text);
}

void sn_label_name(const struct sonde_db *db, enum sn_grouping grouping, uint32_t frame,
		   char text[SN_LABEL_CHARS])
{
	label(db, grouping, frame, false, text);
}

void sn_label_full(const struct sonde_db *db, enum sn_grouping grouping, uint32_t frame,
		   char text[SN_LABEL_CHARS])
{
	label(db, grouping, frame, true, text);
}

void sn_label_line(const struct sonde_db *db, uint32_t id, bool is_full, char text[SN_LABEL_CHARS])
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	char name[SN_LABEL_CHARS], file[64];
	label(db, SN_GROUP_LINE, id, is_full, text);
	if (frame->kind == SN_FRAME_PYTHON)
		return;
	/* the name of a device's line is that of its place */
	bool is_place = frame->kind == SN_FRAME_GPU_LINE || frame->kind == SN_FRAME_GPU_INSTRUCTION;
	memcpy(name, text, sizeof(name));
	sn_utf8_clean(sn_label_base(sonde_db_string(db, frame->file)), file, sizeof(file));
	snprintf(text, SN_LABEL_CHARS, "%s:%u%s%.900s", file, frame->line, is_place ? "" : " ",
		 is_place ? "" : name);
}

void sn_label_place(const struct sonde_db *db, enum sn_grouping grouping, uint32_t id,
		    char text[SN_LABEL_CHARS])
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	text[0] = '\0';
	if (grouping >= SN_GROUP_OPERATOR || grouping == SN_GROUP_FILE)
		return;
	bool is_loop = frame->kind == SN_FRAME_LOOP;
	if (frame->kind != SN_FRAME_NATIVE && frame->kind != SN_FRAME_INLINED && !is_loop) {
		if (frame->kind != SN_FRAME_PYTHON && frame->kind != SN_FRAME_NONE)
			snprintf(text, SN_LABEL_CHARS, "%s", sonde_frame_kind_name(frame->kind));
		return;
	}
	char file[512] = "", module[480];
	/* a loop's name has its line */
	if (frame->file != SONDE_NONE && !is_loop)
		clean_base(sonde_db_string(db, frame->file), file, sizeof(file));
	clean_base(sn_label_module(db, frame), module, sizeof(module));
	uint32_t line = grouping == SN_GROUP_AUTO || grouping == SN_GROUP_FUNCTION
			    ? frame->function_line
			    : frame->line;
	if (*file && line)
		snprintf(text, SN_LABEL_CHARS, "%s:%u%s%s", file, line, *module ? " " : "", module);
	else
		snprintf(text, SN_LABEL_CHARS, "%s", module);
}

/* Frames of imports are between any two modules, and a script's own level is in every path. */
static int python_weight(const struct sonde_db *db, const struct sonde_db_frame *frame)
{
	if (sn_text_begins(sonde_db_string(db, frame->file), "<frozen "))
		return 0;
	if (!sn_frame_is_user(db, frame))
		return 1;
	return strcmp(sonde_db_string(db, frame->name), "<module>") == 0 ? 3 : 5;
}

int sn_label_weight(const struct sonde_db *db, uint32_t id)
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	const char *name = sonde_db_string(db, frame->name);
	if (frame->kind == SN_FRAME_PYTHON)
		return python_weight(db, frame);
	if (frame->kind == SN_FRAME_NATIVE || frame->kind == SN_FRAME_INLINED)
		return sn_frame_is_user(db, frame) ? 2 : strstr(name, "+0x") ? -1 : 0;
	if (frame->kind == SN_FRAME_LOOP)
		return sn_frame_is_user(db, frame) ? 1 : -1;
	return frame->kind == SN_FRAME_NONE ? 0 : 4;
}

const char *sn_label_color(const struct sonde_db *db, uint32_t id)
{
	static const struct {
		const char *layer, *color;
	} colors[] = {{"python", "\033[36m"},  {"operator", "\033[35m"}, {"region", "\033[34m"},
		      {"gpu-api", "\033[33m"}, {"gpu", "\033[32m"},	 {"os", "\033[31m"}};
	const char *layer = sonde_frame_kind_layer(sonde_db_frame(db, id)->kind);
	for (size_t i = 0; i < sizeof(colors) / sizeof(*colors); i++)
		if (strcmp(colors[i].layer, layer) == 0)
			return colors[i].color;
	return "";
}
