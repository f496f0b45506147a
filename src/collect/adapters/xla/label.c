/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program is called in call paths: XLA's name of it, jit_step, which functions of other code
 * may have too. So the text of a program is asked where its function is. The first function that
 * has the name is called by it alone, later ones by their place as well: jit_step@train.py:40.
 *
 * Programs are of one function if its file and qualified name are the same and the lines of its
 * operations overlap, as those of one function for other shapes do. The text lists
 *
 *	FileNames
 *	1 "train.py"
 *
 *	FunctionNames
 *	1 "make.<locals>.step"
 *
 *	FileLocations
 *	1 {file_name_id=1 function_name_id=1 line=40 ...}
 *
 * before the computations. A text without these, as of versions before 0.7, or without a function of
 * the name, as of jnp.sin, names nothing.
 */
#include "xla.h"

#include "collect/core/hash.h"
#include "collect/core/keep.h"
#include "collect/core/line.h"

#include <string.h>

#define FILE_MOST 128u

struct place {
	struct sn_xla_text file;
	uint64_t function; /* a hash of the file and the function; 0 where it is not known */
	uint32_t first, last;
};

/* A function that has been called by the name; of SN_LOCK_XLA_PROGRAMS. */
struct function {
	struct function *next;
	struct sn_xla_text name, label;
	uint64_t function;
	uint32_t first, last;
};

static struct function *functions;

/* ---- reading the lists ---- */

static bool take_line(struct sn_xla_text *rest, struct sn_xla_text *line)
{
	if (!rest->length)
		return false;
	const char *end = memchr(rest->text, '\n', rest->length);
	size_t length = end ? (size_t)(end - rest->text) : rest->length;
	*line = (struct sn_xla_text){length, rest->text};
	length += end != NULL;
	*rest = (struct sn_xla_text){rest->length - length, rest->text + length};
	return true;
}

static bool is_text(struct sn_xla_text line, const char *text)
{
	return line.length == strlen(text) && !memcmp(line.text, text, line.length);
}

/* The entries of a list, empty where the text has none. */
static struct sn_xla_text list_of(struct sn_xla_text text, const char *heading)
{
	struct sn_xla_text line;
	while (take_line(&text, &line))
		if (is_text(line, heading))
			return text;
		else if (line.length && (line.text[0] == '%' || line.text[0] == 'E'))
			break; /* computations */
	return (struct sn_xla_text){0};
}

/* The number at `at`, which is moved behind it. */
static uint32_t number(struct sn_xla_text *at)
{
	uint32_t value = 0;
	while (at->length && *at->text >= '0' && *at->text <= '9') {
		value = value * 10 + (uint32_t)(*at->text - '0');
		at->text++;
		at->length--;
	}
	return value;
}

static uint32_t number_behind(struct sn_xla_text line, const char *key)
{
	const char *found = memmem(line.text, line.length, key, strlen(key));
	if (!found)
		return 0;
	const char *from = found + strlen(key);
	struct sn_xla_text rest = {(size_t)(line.text + line.length - from), from};
	return number(&rest);
}

/* An entry `1 "text"`; false at the end of the list. */
static bool take_named(struct sn_xla_text *rest, uint32_t *id, struct sn_xla_text *name)
{
	struct sn_xla_text line;
	if (!take_line(rest, &line) || !line.length)
		return false;
	*id = number(&line);
	if (line.length < 3 || line.text[1] != '"' || line.text[line.length - 1] != '"')
		return false;
	*name = (struct sn_xla_text){line.length - 3, line.text + 2};
	return true;
}

/* ---- the function of a program ---- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

/* Without what JAX puts '_' for at the end, which versions leave out. */
static size_t trimmed(const char *name, size_t length)
{
	while (length && (name[length - 1] == '_' || !is_word(name[length - 1])))
		length--;
	return length;
}

/* Whether the last part of a qualified name is what "jit_NAME" was made of: JAX puts '_' for what
 * stands in no word. */
static bool is_called(struct sn_xla_text function, struct sn_xla_text program)
{
	const char *prefix = memchr(program.text, '_', program.length);
	const char *dot = memrchr(function.text, '.', function.length);
	if (!prefix)
		return false;
	const char *name = prefix + 1, *last = dot ? dot + 1 : function.text;
	size_t length = trimmed(name, (size_t)(program.text + program.length - name));
	if (!length || length != trimmed(last, (size_t)(function.text + function.length - last)))
		return false;
	for (size_t i = 0; i < length; i++)
		if (name[i] != last[i] && (name[i] != '_' || is_word(last[i])))
			return false;
	return true;
}

/* The number of the function, 0 where it is not listed. Of several the outermost. */
static uint32_t function_of(struct sn_xla_text text, struct sn_xla_text program,
			    struct sn_xla_text *function)
{
	struct sn_xla_text rest = list_of(text, "FunctionNames"), name;
	uint32_t id, found = 0;
	while (take_named(&rest, &id, &name))
		if (is_called(name, program) && (!found || name.length < function->length)) {
			found = id;
			*function = name;
		}
	return found;
}

static struct sn_xla_text file_of(struct sn_xla_text text, uint32_t wanted)
{
	struct sn_xla_text rest = list_of(text, "FileNames"), name;
	for (uint32_t id; take_named(&rest, &id, &name);)
		if (id == wanted)
			return name;
	return (struct sn_xla_text){0};
}

static struct place place_of(struct sn_xla_text text, struct sn_xla_text program)
{
	struct place place = {.first = UINT32_MAX};
	struct sn_xla_text function = {0}, line;
	uint32_t wanted = function_of(text, program, &function), file = 0;
	struct sn_xla_text rest = list_of(text, "FileLocations");
	while (wanted && take_line(&rest, &line) && line.length) {
		uint32_t at = number_behind(line, " line=");
		if (number_behind(line, "function_name_id=") != wanted || !at)
			continue;
		file = number_behind(line, "file_name_id=");
		place.first = at < place.first ? at : place.first;
		place.last = at > place.last ? at : place.last;
	}
	place.file = file_of(text, file);
	if (place.file.length)
		place.function = sn_hash_mix(sn_hash_text(function.text, function.length),
					     sn_hash_text(place.file.text, place.file.length)) |
				 1;
	return place;
}

/* ---- labels ---- */

static bool is_of(const struct function *function, struct sn_xla_text name,
		  const struct place *place)
{
	return function->name.length == name.length &&
	       !memcmp(function->name.text, name.text, name.length) &&
	       (!place || (function->function == place->function &&
			   (!place->function ||
			    (function->first <= place->last && place->first <= function->last))));
}

static struct function *find(struct sn_xla_text name, const struct place *place)
{
	for (struct function *function = functions; function; function = function->next)
		if (is_of(function, name, place))
			return function;
	return NULL;
}

/* The file's name without its folders, and without what ends a name in the text. */
static void add_place(struct sn_line *line, const struct place *place)
{
	char file[FILE_MOST];
	const char *slash = memrchr(place->file.text, '/', place->file.length);
	const char *from = slash ? slash + 1 : place->file.text;
	size_t length = (size_t)(place->file.text + place->file.length - from);
	if (length >= sizeof(file))
		length = sizeof(file) - 1;
	for (size_t i = 0; i < length; i++)
		file[i] = is_word(from[i]) || from[i] == '.' || from[i] == '-' ? from[i] : '_';
	file[length] = '\0';
	SN_LINE_ADD(line, "@", file, ":");
	sn_line_add_number(line, place->first);
}

static struct function *add(struct sn_xla_text name, const struct place *place)
{
	char place_text[FILE_MOST + 16] = "";
	struct sn_line line = SN_LINE(place_text);
	if (place->function && find(name, NULL))
		add_place(&line, place);
	size_t length = name.length + strlen(place_text);
	struct function *made = sn_keep(sizeof(*made) + length);
	if (!made)
		return NULL;
	char *label = (char *)(made + 1);
	memcpy(label, name.text, name.length);
	memcpy(label + name.length, place_text, length - name.length);
	*made = (struct function){.next = functions,
				  .name = {name.length, label},
				  .label = {length, label},
				  .function = place->function,
				  .first = place->first,
				  .last = place->last};
	functions = made;
	return made;
}

const struct sn_xla_text *sn_xla_label(struct sn_xla_text name, struct sn_xla_text text)
{
	struct place place = place_of(text, name);
	struct function *function = find(name, &place);
	if (!function)
		function = add(name, &place);
	if (!function)
		return NULL;
	if (place.first < function->first)
		function->first = place.first;
	if (place.last > function->last)
		function->last = place.last;
	return &function->label;
}
