/* SPDX-License-Identifier: Apache-2.0 */
/* Reads XLA's programs from protobuf messages. */
#include "hlo_place.h"

#include "base/vec.h"

#include <stdlib.h>

#define TUPLE_DEPTH_MAX 8

void sn_hlo_release(struct sn_hlo *hlo)
{
	free(hlo->computations);
	free(hlo->instructions);
	free(hlo->ids);
	sn_intern_release(&hlo->instruction_ids);
	sn_intern_release(&hlo->computation_ids);
}

static uint32_t string_of(struct sn_db_builder *builder, const struct sn_proto_field *field)
{
	return field->length
		   ? sn_db_builder_string_n(builder, (const char *)field->bytes, field->length)
		   : SONDE_NONE;
}

/* The bits of an element by its type; 0 if it has no size. */
static uint64_t element_bits(uint64_t type)
{
	static const unsigned char bits[] = {
	    0,	8, 8, 16, 32, 64, 8,   16, 32, 64, 16, 32, /* PRED S8-S64 U8-U64 F16 F32 */
	    64, 0, 0, 64, 16, 0,  128, 8,  8,  8,  4,  4, /* F64 tuple opaque C64 BF16 token C128 */
	    8,	8, 2, 2,  8,  8,  1,   1,  4,  8};
	return type < sizeof(bits) ? bits[type] : 0;
}

/* The bytes of a ShapeProto; of a tuple the sum of its parts. */
static uint64_t shape_bytes(struct sn_proto shape, unsigned depth)
{
	struct sn_proto_field field;
	uint64_t bits = 0, elements = 1, parts = 0, size;
	while (sn_proto_next(&shape, &field)) {
		if (field.number == 2) {
			bits = element_bits(field.value);
		} else if (field.number == 3) {
			struct sn_proto sizes = {0};
			while (sn_proto_number(&field, &sizes, &size))
				if (__builtin_mul_overflow(elements, size, &elements))
					return 0;
		} else if (field.number == 4 && depth < TUPLE_DEPTH_MAX) {
			parts += shape_bytes(sn_proto_enter(&field), depth + 1);
		}
	}
	uint64_t total;
	return __builtin_mul_overflow(elements, bits, &total) ? 0 : parts + (total + 7) / 8;
}

/* Reads the numbers of a repeated field, packed or single. */
static int read_ids(struct sn_hlo *hlo, const struct sn_proto_field *field, size_t *first,
		    size_t *count)
{
	struct sn_proto numbers = {0};
	uint64_t value;
	if (!*count)
		*first = hlo->id_count;
	while (sn_proto_number(field, &numbers, &value)) {
		/* a field divided by another one is left out; no writer does that */
		if (*first + *count != hlo->id_count)
			return 0;
		if (sn_vec_push(&hlo->ids, &hlo->id_capacity, &hlo->id_count, value))
			return SN_ERR_MEMORY;
		(*count)++;
	}
	return 0;
}

/* Adds an id, which must be unique in a valid file. */
static int add_id(struct sn_intern *table, const void *id, size_t length, size_t number)
{
	uint32_t given = sn_intern_add(table, id, length);
	if (given == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	return given == number ? 0 : SN_ERR_FORMAT;
}

static void read_metadata(struct sn_db_builder *builder, struct sn_proto metadata,
			  struct sn_hlo_instruction *instruction)
{
	struct sn_proto_field fields[16]; /* 2 path, 3 file, 4 line, 15 frame */
	SN_PROTO_FIELDS(metadata, fields);
	instruction->path = string_of(builder, fields + 2);
	instruction->file = string_of(builder, fields + 3);
	instruction->line = (uint32_t)fields[4].value;
	instruction->frame = (uint32_t)fields[15].value;
}

static int read_instruction(struct sn_hlo *hlo, struct sn_db_builder *builder,
			    struct sn_proto message, uint32_t computation)
{
	struct sn_hlo_instruction instruction = {.name = SONDE_NONE,
						 .opcode = SONDE_NONE,
						 .path = SONDE_NONE,
						 .target = SONDE_NONE,
						 .file = SONDE_NONE,
						 .function = SONDE_NONE,
						 .callers = SONDE_NONE,
						 .computation = computation};
	struct sn_proto_field field;
	int result = 0;
	while (!result && sn_proto_next(&message, &field)) {
		if (field.number == 1)
			instruction.name = string_of(builder, &field);
		else if (field.number == 2)
			instruction.opcode = string_of(builder, &field);
		else if (field.number == 3)
			instruction.bytes = shape_bytes(sn_proto_enter(&field), 0);
		else if (field.number == 7)
			read_metadata(builder, sn_proto_enter(&field), &instruction);
		else if (field.number == 28)
			instruction.target = string_of(builder, &field);
		else if (field.number == 35)
			instruction.id = field.value;
		else if (field.number == 36)
			result = read_ids(hlo, &field, &instruction.first_operand,
					  &instruction.operand_count);
		else if (field.number == 38)
			result = read_ids(hlo, &field, &instruction.first_called,
					  &instruction.called_count);
	}
	if (message.failed)
		return SN_ERR_FORMAT;
	uint64_t key[2] = {computation, instruction.id};
	if (result || sn_vec_push(&hlo->instructions, &hlo->instruction_capacity,
				  &hlo->instruction_count, instruction))
		return SN_ERR_MEMORY;
	return add_id(&hlo->instruction_ids, key, sizeof(key), hlo->instruction_count - 1);
}

static int read_computation(struct sn_hlo *hlo, struct sn_db_builder *builder,
			    struct sn_proto message)
{
	struct sn_hlo_computation computation = {.name = SONDE_NONE,
						 .first = hlo->instruction_count};
	struct sn_proto_field field;
	int result = 0;
	while (!result && sn_proto_next(&message, &field)) {
		if (field.number == 1)
			computation.name = string_of(builder, &field);
		else if (field.number == 2)
			result = read_instruction(hlo, builder, sn_proto_enter(&field),
						  (uint32_t)hlo->computation_count);
		else if (field.number == 5)
			computation.id = field.value;
	}
	if (result || message.failed)
		return result ? result : SN_ERR_FORMAT;
	computation.count = hlo->instruction_count - computation.first;
	if (sn_vec_push(&hlo->computations, &hlo->computation_capacity, &hlo->computation_count,
			computation))
		return SN_ERR_MEMORY;
	return add_id(&hlo->computation_ids, &computation.id, sizeof(computation.id),
		      hlo->computation_count - 1);
}

/* Reads an element of the module's index of stack frames; the field's number gives the list. */
static int read_place(struct sn_hlo_places *places, struct sn_db_builder *builder,
		      const struct sn_proto_field *element)
{
	enum { FILES = 1, FUNCTIONS, LOCATIONS, FRAMES };
	struct sn_proto_field fields[4] = {0};
	if (element->number == FILES)
		return sn_vec_push(&places->files, &places->file_capacity, &places->file_count,
				   string_of(builder, element));
	if (element->number == FUNCTIONS)
		return sn_vec_push(&places->functions, &places->function_capacity,
				   &places->function_count, string_of(builder, element));
	if (element->number == LOCATIONS || element->number == FRAMES)
		SN_PROTO_FIELDS(sn_proto_enter(element), fields);
	struct sn_hlo_location location = {(uint32_t)fields[1].value, (uint32_t)fields[2].value,
					   (uint32_t)fields[3].value};
	struct sn_hlo_frame frame = {(uint32_t)fields[1].value, (uint32_t)fields[2].value};
	if (element->number == LOCATIONS)
		return sn_vec_push(&places->locations, &places->location_capacity,
				   &places->location_count, location);
	return element->number == FRAMES ? sn_vec_push(&places->frames, &places->frame_capacity,
						       &places->frame_count, frame)
					 : 0;
}

static int read_places(struct sn_hlo_places *places, struct sn_db_builder *builder,
		       struct sn_proto message)
{
	struct sn_proto_field field;
	while (sn_proto_next(&message, &field))
		if (read_place(places, builder, &field))
			return SN_ERR_MEMORY;
	return message.failed ? SN_ERR_FORMAT : 0;
}

static int read_module(struct sn_hlo *hlo, struct sn_db_builder *builder, struct sn_proto message)
{
	struct sn_hlo_places places = {0};
	struct sn_proto_field field;
	int result = 0;
	while (!result && sn_proto_next(&message, &field)) {
		if (field.number == 1 && field.wire == SN_PROTO_BYTES)
			hlo->name = string_of(builder, &field);
		else if (field.number == 2 && field.wire == SN_PROTO_BYTES)
			hlo->entry_name = string_of(builder, &field);
		else if (field.number == 3)
			result = read_computation(hlo, builder, sn_proto_enter(&field));
		else if (field.number == 5)
			hlo->id = field.value;
		else if (field.number == 6)
			hlo->entry = field.value;
		else if (field.number == 17)
			result = read_places(&places, builder, sn_proto_enter(&field));
	}
	if (!result && (message.failed || !hlo->computation_count || hlo->name == SONDE_NONE))
		result = SN_ERR_FORMAT;
	if (!result)
		result = sn_hlo_place(hlo, builder, &places);
	sn_hlo_places_release(&places);
	return result;
}

/* Whether these are the bytes of an HloProto, which begins with its module; a bare module begins
 * with its name. So an HloProto's first field must itself be a valid message of several fields. */
static bool is_wrapped(struct sn_proto message)
{
	struct sn_proto_field field, name;
	if (!sn_proto_next(&message, &field) || field.number != 1 || field.wire != SN_PROTO_BYTES)
		return false;
	struct sn_proto module = sn_proto_enter(&field);
	if (!sn_proto_next(&module, &name) || name.number != 1 || name.wire != SN_PROTO_BYTES)
		return false;
	while (sn_proto_next(&module, &name))
		;
	return !module.failed;
}

int sn_hlo_read(struct sn_hlo *hlo, struct sn_db_builder *builder, const void *bytes, size_t length)
{
	struct sn_proto message = sn_proto_of(bytes, length);
	struct sn_proto_field field;
	*hlo = (struct sn_hlo){.name = SONDE_NONE, .entry_name = SONDE_NONE};
	if (!is_wrapped(message))
		return read_module(hlo, builder, message);
	sn_proto_next(&message, &field);
	return read_module(hlo, builder, sn_proto_enter(&field));
}

uint32_t sn_hlo_instruction(const struct sn_hlo *hlo, uint32_t computation, uint64_t id)
{
	uint64_t key[2] = {computation, id};
	return sn_intern_find(&hlo->instruction_ids, key, sizeof(key));
}

uint32_t sn_hlo_computation(const struct sn_hlo *hlo, uint64_t id)
{
	return sn_intern_find(&hlo->computation_ids, &id, sizeof(id));
}
