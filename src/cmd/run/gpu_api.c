/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads descriptions of accelerators' interfaces. Arguments are placed as the System V ABI for x86-64 says: whole numbers and
 * pointers in six registers, floating-point numbers in eight, what is left in words on the stack.
 */
#include "gpu_api.h"

#include "collect/adapters/configured/description.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT_CHARS = 4096, NAME_BYTES = 64, VECTOR_REGISTERS = 8 };

struct reading {
	const char *path;
	FILE *file;
	struct sn_buffer *out;
	struct sn_error *error;
	unsigned line, first; /* the last line read, and the first of the statement */
	char statement[STATEMENT_CHARS];
	char device[NAME_BYTES], library[NAME_BYTES];
	bool has_calls; /* of the device */
	unsigned count;
};

static int wrong(struct reading *it, const char *what, const char *where)
{
	return sn_fail(it->error, SN_ERR_ARGUMENT, "%s:%u: %s%s%s%s", it->path, it->first, what,
		       *where ? " '" : "", where, *where ? "'" : "");
}

/* ---- statements: a line, or a declaration up to its semicolon ---- */

static void cut(char *text)
{
	char *comment = strstr(text, "//");
	text[strcspn(text, "#\n")] = 0;
	if (comment && comment < text + strlen(text))
		*comment = 0;
}

static bool is_complete(const char *statement)
{
	return !strchr(statement, '(') || strchr(statement, ';');
}

/* 1, 0 at the end, or negative. Blanks are single, and none are at the ends. */
static int next_statement(struct reading *it)
{
	char line[STATEMENT_CHARS];
	size_t length = 0;
	while (fgets(line, sizeof(line), it->file)) {
		it->line++;
		cut(line);
		for (const char *at = line; *at; at++) {
			bool is_blank = isspace((unsigned char)*at);
			if (is_blank && (!length || it->statement[length - 1] == ' '))
				continue;
			if (!length)
				it->first = it->line;
			if (length + 2 >= sizeof(it->statement))
				return wrong(it, "a declaration is longer than 4 KB", "");
			it->statement[length++] = is_blank ? ' ' : *at;
		}
		if (length && it->statement[length - 1] != ' ')
			it->statement[length++] = ' ';
		it->statement[length] = 0;
		if (length && is_complete(it->statement)) {
			it->statement[length - 1] = 0;
			return 1;
		}
	}
	if (ferror(it->file))
		return sn_fail(it->error, SN_ERR_IO, "cannot read '%s': %s", it->path,
			       strerror(errno));
	return length ? wrong(it, "a declaration does not end in a semicolon", "") : 0;
}

/* ---- types ---- */

/* The words of a declaration, as far as they are letters, digits and underscores. */
static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = text; (at = strstr(at, word)); at += length) {
		bool begins = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
		if (begins && !isalnum((unsigned char)at[length]) && at[length] != '_')
			return true;
	}
	return false;
}

/* What stands behind a mark, @NAME or @NAME(NUMBER); false where it has none. */
static bool has_mark(const char *text, const char *name, unsigned long *number)
{
	size_t length = strlen(name);
	for (const char *at = text; (at = strchr(at, '@')); at++)
		if (!strncmp(at + 1, name, length) && !isalnum((unsigned char)at[1 + length])) {
			if (number)
				*number =
				    at[1 + length] == '(' ? strtoul(at + 2 + length, NULL, 10) : 0;
			return true;
		}
	return false;
}

static bool is_pointer(const char *type)
{
	return type[strcspn(type, "*[&(")] && !has_mark(type, "struct", NULL);
}

/* How a value is passed: words in registers for whole numbers, or in memory, or a vector register. */
struct passed {
	unsigned words;
	bool is_vector, is_memory;
};

static int classify(struct reading *it, const char *type, struct passed *passed)
{
	unsigned long bytes;
	*passed = (struct passed){.words = 1};
	if (has_mark(type, "struct", &bytes)) {
		if (bytes < 1 || bytes > 1024)
			return wrong(it,
				     "@struct wants its size in bytes, as in @struct(12):", type);
		passed->words = (unsigned)(bytes + 7) / 8;
		passed->is_memory = passed->words > 2;
	} else if (is_pointer(type)) {
		return 0;
	} else if (strstr(type, "...")) {
		return wrong(it,
			     "functions with a variable number of arguments cannot be "
			     "followed:",
			     it->statement);
	} else if (has_word(type, "struct") || has_word(type, "union") || has_word(type, "class")) {
		return wrong(it,
			     "a structure that is passed by value needs its size, as in "
			     "@struct(12):",
			     type);
	} else if ((has_word(type, "long") && has_word(type, "double")) ||
		   has_word(type, "__int128") || has_word(type, "_Complex")) {
		return wrong(it, "arguments of this type cannot be followed:", type);
	} else if (has_word(type, "float") || has_word(type, "double")) {
		passed->is_vector = true;
	}
	return 0;
}

/* ---- declarations ---- */

struct placing {
	unsigned registers, vectors, words; /* used */
	unsigned stream, bytes, name;	    /* SN_CONFIGURED_NOWHERE: no argument */
};

/* Where the value's first word is. */
static unsigned place(struct placing *places, const struct passed *passed)
{
	if (passed->is_vector && places->vectors < VECTOR_REGISTERS) {
		places->vectors++;
		return SN_CONFIGURED_NOWHERE;
	}
	if (!passed->is_vector && !passed->is_memory &&
	    places->registers + passed->words <= SN_CONFIGURED_REGISTERS) {
		places->registers += passed->words;
		return places->registers - passed->words;
	}
	places->words += passed->words;
	return SN_CONFIGURED_REGISTERS + places->words - passed->words;
}

static int add_parameter(struct reading *it, struct placing *places, const char *text)
{
	struct passed passed;
	int status = classify(it, text, &passed);
	if (status)
		return status;
	unsigned where = place(places, &passed);
	const struct {
		const char *mark;
		unsigned *place;
		bool is_wrong;
	} marks[] = {
	    {"stream", &places->stream, passed.is_vector || passed.words > 1},
	    {"bytes", &places->bytes, passed.is_vector || passed.words > 1 || is_pointer(text)},
	    {"name", &places->name, !strchr(text, '*')},
	};
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		if (!has_mark(text, marks[i].mark, NULL))
			continue;
		if (marks[i].is_wrong || *marks[i].place != SN_CONFIGURED_NOWHERE)
			return wrong(it, "this mark does not fit:", text);
		*marks[i].place = where;
	}
	return 0;
}

/* Calls add_parameter for each: commas between brackets separate nothing. */
static int add_parameters(struct reading *it, struct placing *places, char *text)
{
	unsigned depth = 0;
	char *begin = text + (*text == ' ');
	if (!*begin || !strcmp(begin, "void") || !strcmp(begin, "void "))
		return 0;
	for (char *at = begin;; at++) {
		depth += *at == '(' || *at == '[';
		depth -= (*at == ')' || *at == ']') && depth;
		if (*at && (*at != ',' || depth))
			continue;
		bool is_last = !*at;
		*at = 0;
		int status = add_parameter(it, places, begin);
		if (status || is_last)
			return status;
		begin = at + 1 + (at[1] == ' ');
	}
}

/* The name in front of the first bracket of a declaration, which is cut there: "int f(void)" to "int ". */
static const char *cut_name(char *declaration, char *bracket)
{
	char *end = bracket;
	while (end > declaration && end[-1] == ' ')
		end--;
	char *begin = end;
	while (begin > declaration && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_'))
		begin--;
	memmove(begin + 1, begin, (size_t)(end - begin));
	*begin = 0;
	begin[1 + (end - begin)] = 0;
	return begin + 1;
}

/* A large structure is returned through a pointer that is passed first. */
static int add_result(struct reading *it, struct placing *places, const char *type)
{
	struct passed passed;
	if (!has_mark(type, "struct", NULL))
		return 0;
	int status = classify(it, type, &passed);
	places->registers += !status && passed.is_memory;
	return status;
}

static int read_declaration(struct reading *it)
{
	char text[STATEMENT_CHARS + 1];
	struct placing places = {.stream = SN_CONFIGURED_NOWHERE,
				 .bytes = SN_CONFIGURED_NOWHERE,
				 .name = SN_CONFIGURED_NOWHERE};
	snprintf(text, sizeof(text), "%s", it->statement);
	/* the mark of a result may have brackets, too */
	char *bracket = strchr(text, '('), *end = strrchr(text, ')');
	if (bracket && bracket > text + 7 && !strncmp(bracket - 7, "@struct", 7))
		bracket = strchr(bracket + 1, '(');
	if (!*it->library)
		return wrong(it, "a call needs a line 'library NAME' before it:", it->statement);
	if (!bracket || !end || strcmp(end + 1 + (end[1] == ' '), ";") != 0)
		return wrong(it, "not a declaration:", it->statement);
	*end = 0;
	char parameters[STATEMENT_CHARS];
	snprintf(parameters, sizeof(parameters), "%s", bracket + 1);
	const char *name = cut_name(text, bracket);
	if (!*name || isdigit((unsigned char)*name) || !*text)
		return wrong(it, "not a declaration:", it->statement);
	int status = add_result(it, &places, text);
	if (!status)
		status = add_parameters(it, &places, parameters);
	if (status)
		return status;
	if (places.words > SN_CONFIGURED_WORDS)
		return wrong(it, "too many arguments:", name);
	if (it->count++ == SN_CONFIGURED_CALLS)
		return wrong(it, "more than 64 calls", "");
	it->has_calls = true;
	sn_buffer_print(it->out, "f %s %u %u %u %u\n", name, places.words, places.stream,
			places.bytes, places.name);
	return 0;
}

/* ---- lines with a word in front ---- */

static bool is_name(const char *text)
{
	size_t length =
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
	return length && !text[length] && length < NAME_BYTES;
}

static int end_device(struct reading *it)
{
	return *it->device && !it->has_calls ? wrong(it, "no call was declared of", it->device) : 0;
}

static int read_directive(struct reading *it, const char *value, bool is_device)
{
	int status = is_device ? end_device(it) : 0;
	if (status)
		return status;
	if (!is_name(value))
		return wrong(it, "not a name:", value);
	if (is_device) {
		memcpy(it->device, value, strlen(value) + 1);
		*it->library = 0;
		it->has_calls = false;
		return 0;
	}
	if (!*it->device)
		return wrong(it, "a library needs a line 'device NAME' before it", "");
	if (*it->library)
		return wrong(it,
			     "a device has one library; another device begins with 'device "
			     "NAME'",
			     "");
	memcpy(it->library, value, strlen(value) + 1);
	sn_buffer_print(it->out, "d %s %s\n", it->device, it->library);
	return 0;
}

static int read_statement(struct reading *it)
{
	static const char *const words[] = {"device ", "library "};
	for (size_t i = 0; i < 2; i++)
		if (!strncmp(it->statement, words[i], strlen(words[i])) &&
		    !strchr(it->statement, '('))
			return read_directive(it, it->statement + strlen(words[i]), i == 0);
	return read_declaration(it);
}

int sn_gpu_api_read(const char *path, struct sn_buffer *out, struct sn_error *error)
{
	struct reading it = {.path = path, .out = out, .error = error, .file = fopen(path, "re")};
	int status = 1;
	if (!it.file)
		return sn_fail(error, SN_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
	while (status > 0 && (status = next_statement(&it)) > 0) {
		status = read_statement(&it);
		status = status ? status : 1;
	}
	it.first = it.line;
	if (!status)
		status = end_device(&it);
	if (!status && !*it.device)
		status = sn_fail(error, SN_ERR_ARGUMENT, "%s: describes no device", path);
	fclose(it.file);
	if (!status && out->failed)
		status = sn_fail_memory(error);
	return status;
}
