/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of XLA; see hlo.h. */
#include "hlo.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define TUPLE_DEPTH_MAX 8

/* The module's index of stack frames, by number from 1. */
struct frames {
	struct sn_proto_field *files, *functions, *locations, *frames;
	size_t file_count, function_count, location_count, frame_count;
	size_t file_capacity, function_capacity, location_capacity, frame_capacity;
};

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

/* Bytes of an element, in eighths; 0 where it has none. */
static uint64_t element_bits(uint64_t type)
{
	static const unsigned char bits[] = {
	    0,	8, 8, 16, 32, 64, 8,   16, 32, 64, 16, 32, /* PRED S8-S64 U8-U64 F16 F32 */
	    64, 0, 0, 64, 16, 0,  128, 8,  8,  8,  4,  4, /* F64 tuple opaque C64 BF16 token C128 */
	    8,	8, 2, 2,  8,  8,  1,   1,  4,  8};
	return type < sizeof(bits) ? bits[type] : 0;
}

/* Of a ShapeProto; of a tuple that of its parts. */
static uint64_t shape_bytes(struct sn_proto shape, unsigned depth)
{
	struct sn_proto_field field;
	uint64_t bits = 0, elements = 1, parts = 0, size;
	while (sn_proto_next(&shape, &field)) {
		if (field.number == 2) {
			bits = element_bits(field.value);
		} else if (field.number == 3 && field.wire == SN_PROTO_BYTES) {
			struct sn_proto sizes = sn_proto_enter(&field);
			while (sn_proto_packed(&sizes, &size))
				if (__builtin_mul_overflow(elements, size, &elements))
					return 0;
		} else if (field.number == 3) {
			if (__builtin_mul_overflow(elements, field.value, &elements))
				return 0;
		} else if (field.number == 4 && depth < TUPLE_DEPTH_MAX) {
			parts += shape_bytes(sn_proto_enter(&field), depth + 1);
		}
	}
	uint64_t total;
	return __builtin_mul_overflow(elements, bits, &total) ? 0 : parts + (total + 7) / 8;
}

/* Numbers of a repeated field, packed or one of them. */
static int take_ids(struct sn_hlo *hlo, const struct sn_proto_field *field, size_t *first,
		    size_t *count)
{
	struct sn_proto numbers = sn_proto_enter(field);
	uint64_t value = field->value;
	bool is_packed = field->wire == SN_PROTO_BYTES;
	if (!*count)
		*first = hlo->id_count;
	while (!is_packed || sn_proto_packed(&numbers, &value)) {
		/* what another field came between is left out: nobody writes it so */
		if (*first + *count != hlo->id_count)
			return 0;
		if (sn_vec_reserve(&hlo->ids, &hlo->id_capacity, hlo->id_count + 1) < 0)
			return SN_ERR_MEMORY;
		hlo->ids[hlo->id_count++] = value;
		(*count)++;
		if (!is_packed)
			break;
	}
	return 0;
}

/* Of two with one id the file is not one of XLA. */
static int add_id(struct sn_intern *table, const void *id, size_t length, size_t number)
{
	uint32_t given = sn_intern_add(table, id, length);
	if (given == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	return given == number ? 0 : SN_ERR_FORMAT;
}

static void take_metadata(struct sn_db_builder *builder, struct sn_proto metadata,
			  struct sn_hlo_instruction *instruction)
{
	struct sn_proto_field field;
	while (sn_proto_next(&metadata, &field)) {
		if (field.number == 2)
			instruction->path = string_of(builder, &field);
		else if (field.number == 3)
			instruction->file = string_of(builder, &field);
		else if (field.number == 4)
			instruction->line = (uint32_t)field.value;
		else if (field.number == 15)
			instruction->frame = (uint32_t)field.value;
	}
}

static int take_instruction(struct sn_hlo *hlo, struct sn_db_builder *builder,
			    struct sn_proto message, uint32_t computation)
{
	struct sn_hlo_instruction instruction = {.name = SONDE_NONE,
						 .opcode = SONDE_NONE,
						 .path = SONDE_NONE,
						 .target = SONDE_NONE,
						 .file = SONDE_NONE,
						 .function = SONDE_NONE,
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
			take_metadata(builder, sn_proto_enter(&field), &instruction);
		else if (field.number == 28)
			instruction.target = string_of(builder, &field);
		else if (field.number == 35)
			instruction.id = field.value;
		else if (field.number == 36)
			result = take_ids(hlo, &field, &instruction.first_operand,
					  &instruction.operand_count);
		else if (field.number == 38)
			result = take_ids(hlo, &field, &instruction.first_called,
					  &instruction.called_count);
	}
	if (message.failed)
		return SN_ERR_FORMAT;
	uint64_t key[2] = {computation, instruction.id};
	if (result || sn_vec_reserve(&hlo->instructions, &hlo->instruction_capacity,
				     hlo->instruction_count + 1) < 0)
		return SN_ERR_MEMORY;
	hlo->instructions[hlo->instruction_count] = instruction;
	return add_id(&hlo->instruction_ids, key, sizeof(key), hlo->instruction_count++);
}

static int take_computation(struct sn_hlo *hlo, struct sn_db_builder *builder,
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
			result = take_instruction(hlo, builder, sn_proto_enter(&field),
						  (uint32_t)hlo->computation_count);
		else if (field.number == 5)
			computation.id = field.value;
		else if (field.number == 6)
			computation.root = field.value;
	}
	if (result || message.failed)
		return result ? result : SN_ERR_FORMAT;
	computation.count = hlo->instruction_count - computation.first;
	if (sn_vec_reserve(&hlo->computations, &hlo->computation_capacity,
			   hlo->computation_count + 1) < 0)
		return SN_ERR_MEMORY;
	hlo->computations[hlo->computation_count] = computation;
	return add_id(&hlo->computation_ids, &computation.id, sizeof(computation.id),
		      hlo->computation_count++);
}

static void release_frames(struct frames *frames)
{
	free(frames->files);
	free(frames->functions);
	free(frames->locations);
	free(frames->frames);
}

static int take_frames(struct frames *frames, struct sn_proto message)
{
	struct sn_proto_field field;
	while (sn_proto_next(&message, &field)) {
		struct sn_proto_field **items;
		size_t *count, *capacity;
		if (field.number == 1)
			items = &frames->files, count = &frames->file_count,
			capacity = &frames->file_capacity;
		else if (field.number == 2)
			items = &frames->functions, count = &frames->function_count,
			capacity = &frames->function_capacity;
		else if (field.number == 3)
			items = &frames->locations, count = &frames->location_count,
			capacity = &frames->location_capacity;
		else if (field.number == 4)
			items = &frames->frames, count = &frames->frame_count,
			capacity = &frames->frame_capacity;
		else
			continue;
		if (sn_vec_reserve(items, capacity, *count + 1) < 0)
			return SN_ERR_MEMORY;
		(*items)[(*count)++] = field;
	}
	return message.failed ? SN_ERR_FORMAT : 0;
}

/* The numbers of the first fields of a message of the index. */
static void numbers_of(const struct sn_proto_field *message, uint64_t *numbers)
{
	struct sn_proto parts = sn_proto_enter(message);
	struct sn_proto_field field;
	while (sn_proto_next(&parts, &field))
		if (field.number <= 3)
			numbers[field.number - 1] = field.value;
}

static void place_instruction(struct sn_db_builder *builder, const struct frames *frames,
			      struct sn_hlo_instruction *instruction)
{
	uint64_t frame[3] = {0}, location[3] = {0};
	if (!instruction->frame || instruction->frame > frames->frame_count)
		return;
	numbers_of(frames->frames + instruction->frame - 1, frame);
	if (!frame[0] || frame[0] > frames->location_count)
		return;
	numbers_of(frames->locations + frame[0] - 1, location);
	if (instruction->file == SONDE_NONE && location[0] && location[0] <= frames->file_count) {
		instruction->file = string_of(builder, frames->files + location[0] - 1);
		instruction->line = (uint32_t)location[2];
	}
	if (location[1] && location[1] <= frames->function_count)
		instruction->function = string_of(builder, frames->functions + location[1] - 1);
}

static int take_module(struct sn_hlo *hlo, struct sn_db_builder *builder, struct sn_proto message)
{
	struct frames frames = {0};
	struct sn_proto_field field;
	int result = 0;
	while (!result && sn_proto_next(&message, &field)) {
		if (field.number == 1 && field.wire == SN_PROTO_BYTES)
			hlo->name = string_of(builder, &field);
		else if (field.number == 2 && field.wire == SN_PROTO_BYTES)
			hlo->entry_name = string_of(builder, &field);
		else if (field.number == 3)
			result = take_computation(hlo, builder, sn_proto_enter(&field));
		else if (field.number == 5)
			hlo->id = field.value;
		else if (field.number == 6)
			hlo->entry = field.value;
		else if (field.number == 17)
			result = take_frames(&frames, sn_proto_enter(&field));
	}
	if (!result && (message.failed || !hlo->computation_count || hlo->name == SONDE_NONE))
		result = SN_ERR_FORMAT;
	for (size_t i = 0; i < hlo->instruction_count && !result; i++)
		place_instruction(builder, &frames, hlo->instructions + i);
	release_frames(&frames);
	return result;
}

/* Whether these are the bytes of a message whose first field is a message of several: an HloProto
 * begins with its module, a module with its name. */
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
		return take_module(hlo, builder, message);
	sn_proto_next(&message, &field);
	return take_module(hlo, builder, sn_proto_enter(&field));
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
