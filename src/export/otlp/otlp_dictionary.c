/* SPDX-License-Identifier: Apache-2.0 */
/* See otlp_dictionary.h. */
#include "otlp_dictionary.h"

#include "base/escape.h"
#include "export/stack.h"
#include "format/measurement/measurement.h"

/* Fields of the messages. */
enum { MAPPING_LIMIT = 2, MAPPING_FILENAME = 4, MAPPING_ATTRIBUTES = 5 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS = 2, LOCATION_LINES = 3 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME = 2, FUNCTION_FILENAME = 3, FUNCTION_LINE = 4 };
enum { STACK_LOCATIONS = 1 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2 };
enum { ANY_STRING = 1, ANY_INT = 3, KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };

/* Above all addresses that files and processes have. */
#define ADDRESS_LIMIT (UINT64_C(1) << 57)

/* The number of dictionary->message in a table; empties it. */
static uint32_t add(struct sn_otlp_dictionary *dictionary, enum sn_otlp_table table)
{
	struct sn_buffer *message = &dictionary->message;
	uint32_t number =
	    sn_intern_add(&dictionary->tables[table],
			  message->count ? (const void *)message->bytes : "", message->count);
	dictionary->failed |= message->failed || number == SN_INTERN_NONE;
	message->count = 0;
	return number;
}

int sn_otlp_dictionary_init(struct sn_otlp_dictionary *dictionary, const struct sonde_db *db,
			    const uint32_t *metrics, uint32_t metric_count)
{
	struct sn_arena *arena = &dictionary->arena;
	*dictionary = (struct sn_otlp_dictionary){.db = db};
	dictionary->of_frames = sn_arena_array(arena, uint32_t, sonde_db_frame_count(db) + 1ull);
	dictionary->of_contexts =
	    sn_arena_array(arena, uint32_t, sonde_db_context_count(db) + 1ull);
	for (int table = SN_OTLP_MAPPINGS; table < SN_OTLP_TABLES; table++)
		add(dictionary, table);
	int code = sn_groups_init(&dictionary->functions, db, SN_GROUP_FUNCTION, NULL);
	if (code == 0)
		code = sn_whole_paths_init(&dictionary->paths, db, &dictionary->functions, metrics,
					   metric_count);
	return code == 0 && (arena->failed || dictionary->failed) ? SN_ERR_MEMORY : code;
}

void sn_otlp_dictionary_release(struct sn_otlp_dictionary *dictionary)
{
	for (int table = SN_OTLP_MAPPINGS; table < SN_OTLP_TABLES; table++)
		sn_intern_release(&dictionary->tables[table]);
	sn_table_release(&dictionary->of_strings);
	sn_whole_paths_release(&dictionary->paths);
	sn_groups_release(&dictionary->functions);
	sn_arena_release(&dictionary->arena);
	sn_buffer_release(&dictionary->message);
	sn_buffer_release(&dictionary->part);
	sn_buffer_release(&dictionary->text);
}

/* ---- texts and attributes ---- */

uint32_t sn_otlp_text(struct sn_otlp_dictionary *dictionary, const char *text)
{
	struct sn_buffer *shown = &dictionary->text;
	shown->count = 0;
	sn_escape_put(shown, SN_ESCAPE_SHOWN, text);
	uint32_t number =
	    sn_intern_add(&dictionary->tables[SN_OTLP_STRINGS],
			  shown->count ? (const void *)shown->bytes : "", shown->count);
	dictionary->failed |= shown->failed || number == SN_INTERN_NONE;
	return number;
}

static uint32_t add_string(struct sn_otlp_dictionary *dictionary, uint32_t string)
{
	if (string == SONDE_NONE)
		return 0;
	uint32_t number = sn_table_find(&dictionary->of_strings, string);
	if (number == SN_TABLE_NONE) {
		number = sn_otlp_text(dictionary, sonde_db_string(dictionary->db, string));
		dictionary->failed |= sn_table_put(&dictionary->of_strings, string, number) < 0;
	}
	return number;
}

/* dictionary->part is the value. */
static uint32_t add_attribute(struct sn_otlp_dictionary *dictionary, const char *key)
{
	uint32_t number = sn_otlp_text(dictionary, key);
	sn_protobuf_number(&dictionary->message, ATTRIBUTE_KEY, number);
	sn_protobuf_message(&dictionary->message, ATTRIBUTE_VALUE, &dictionary->part);
	return add(dictionary, SN_OTLP_ATTRIBUTES);
}

static void put_any_text(struct sn_buffer *value, const char *text)
{
	struct sn_buffer shown = {0};
	sn_escape_put(&shown, SN_ESCAPE_SHOWN, text);
	sn_protobuf_message(value, ANY_STRING, &shown);
	sn_buffer_release(&shown);
}

uint32_t sn_otlp_attribute_text(struct sn_otlp_dictionary *dictionary, const char *key,
				const char *text)
{
	put_any_text(&dictionary->part, text);
	return add_attribute(dictionary, key);
}

uint32_t sn_otlp_attribute_number(struct sn_otlp_dictionary *dictionary, const char *key,
				  uint64_t number)
{
	sn_protobuf_varint_field(&dictionary->part, ANY_INT, number);
	return add_attribute(dictionary, key);
}

void sn_otlp_put_key_value(struct sn_buffer *to, unsigned field, const char *key, const char *text)
{
	struct sn_buffer pair = {0}, value = {0}, shown = {0};
	sn_escape_put(&shown, SN_ESCAPE_SHOWN, key);
	sn_protobuf_message(&pair, KEY_VALUE_KEY, &shown);
	put_any_text(&value, text);
	sn_protobuf_message(&pair, KEY_VALUE_VALUE, &value);
	sn_protobuf_message(to, field, &pair);
	sn_buffer_release(&pair);
	sn_buffer_release(&value);
	sn_buffer_release(&shown);
}

/* ---- code ---- */

static uint32_t add_mapping(struct sn_otlp_dictionary *dictionary, uint32_t module)
{
	if (module == SONDE_NONE)
		return 0;
	const struct sonde_db_module *m = sonde_db_module(dictionary->db, module);
	const char *build_id = sonde_db_string(dictionary->db, m->build_id);
	uint32_t path = add_string(dictionary, m->path);
	uint32_t id =
	    *build_id
		? sn_otlp_attribute_text(dictionary, "process.executable.build_id.gnu", build_id)
		: 0;
	sn_protobuf_number(&dictionary->message, MAPPING_LIMIT, ADDRESS_LIMIT);
	sn_protobuf_number(&dictionary->message, MAPPING_FILENAME, path);
	if (id) {
		sn_buffer_varint(&dictionary->part, id);
		sn_protobuf_message(&dictionary->message, MAPPING_ATTRIBUTES, &dictionary->part);
	}
	return add(dictionary, SN_OTLP_MAPPINGS);
}

static uint32_t add_function(struct sn_otlp_dictionary *dictionary, uint32_t frame)
{
	char name[4096];
	const struct sonde_db_frame *f = sonde_db_frame(dictionary->db, frame);
	uint32_t plain = add_string(dictionary, f->name);
	if (plain == 0) {
		sn_stack_name(dictionary->db, frame, name, sizeof(name));
		plain = sn_otlp_text(dictionary, name);
	}
	uint32_t system = add_string(dictionary, f->linkage_name);
	uint32_t file = add_string(dictionary, f->file);
	sn_protobuf_number(&dictionary->message, FUNCTION_NAME, plain);
	sn_protobuf_number(&dictionary->message, FUNCTION_SYSTEM_NAME, system);
	sn_protobuf_number(&dictionary->message, FUNCTION_FILENAME, file);
	sn_protobuf_number(&dictionary->message, FUNCTION_LINE, f->function_line);
	return add(dictionary, SN_OTLP_FUNCTIONS);
}

/* A mapping has no one address in all its processes: it is given as one that begins at 0, and an address is the one
 * that the ELF file has for it. */
static uint32_t add_location(struct sn_otlp_dictionary *dictionary, uint32_t frame)
{
	const struct sonde_db_frame *f = sonde_db_frame(dictionary->db, frame);
	uint32_t mapping = add_mapping(dictionary, f->module);
	uint32_t group = dictionary->functions.of_frame[frame];
	uint32_t function = add_function(dictionary, dictionary->functions.frame[group]);
	sn_protobuf_number(&dictionary->message, LOCATION_MAPPING, mapping);
	if (f->module != SONDE_NONE)
		sn_protobuf_number(&dictionary->message, LOCATION_ADDRESS, f->offset);
	sn_protobuf_number(&dictionary->part, LINE_FUNCTION, function);
	sn_protobuf_number(&dictionary->part, LINE_LINE, f->line);
	sn_protobuf_message(&dictionary->message, LOCATION_LINES, &dictionary->part);
	return add(dictionary, SN_OTLP_LOCATIONS);
}

/* What stands for frames that are left out. */
static uint32_t add_cut(struct sn_otlp_dictionary *dictionary)
{
	uint32_t name = sn_otlp_text(dictionary, SN_STACK_CUT_NAME);
	sn_protobuf_number(&dictionary->message, FUNCTION_NAME, name);
	uint32_t function = add(dictionary, SN_OTLP_FUNCTIONS);
	sn_protobuf_number(&dictionary->part, LINE_FUNCTION, function);
	sn_protobuf_message(&dictionary->message, LOCATION_LINES, &dictionary->part);
	return add(dictionary, SN_OTLP_LOCATIONS);
}

static uint32_t location_of(struct sn_otlp_dictionary *dictionary, uint32_t frame)
{
	if (frame == SONDE_NONE)
		return add_cut(dictionary);
	uint32_t *number = dictionary->of_frames + frame;
	if (!*number)
		*number = add_location(dictionary, frame) + 1;
	return *number - 1;
}

uint32_t sn_otlp_stack(struct sn_otlp_dictionary *dictionary, uint32_t context)
{
	struct sn_buffer packed = {0};
	uint32_t *number = dictionary->of_contexts + context, frame;
	if (*number)
		return *number - 1;
	uint32_t length = sn_whole_paths_go(&dictionary->paths, context);
	for (uint32_t depth = length;
	     sn_whole_paths_next(&dictionary->paths, length, &depth, &frame);)
		sn_buffer_varint(&packed, location_of(dictionary, frame));
	sn_protobuf_message(&dictionary->message, STACK_LOCATIONS, &packed);
	sn_buffer_release(&packed);
	*number = add(dictionary, SN_OTLP_STACKS) + 1;
	return *number - 1;
}

/* ---- writing ---- */

void sn_otlp_dictionary_put(const struct sn_otlp_dictionary *dictionary, struct sn_buffer *to)
{
	for (unsigned table = SN_OTLP_MAPPINGS; table < SN_OTLP_TABLES; table++)
		for (uint32_t i = 0; i < dictionary->tables[table].count; i++) {
			size_t length;
			const void *bytes = sn_intern_at(&dictionary->tables[table], i, &length);
			sn_buffer_varint(to, table << 3 | 2);
			sn_buffer_varint(to, length);
			sn_buffer_put(to, bytes, length);
		}
}
