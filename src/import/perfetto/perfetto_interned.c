/* SPDX-License-Identifier: Apache-2.0 */
/* Interned data of a sequence: names, frames and call paths to which packets refer by number. */
#include "perfetto.h"

#include "import/core/activity_category.h"
#include "format/measurement/measurement.h"

#include <stdio.h>

void sn_perfetto_forget(struct sn_perfetto_sequence *sequence)
{
	sn_intern_release(&sequence->numbers);
}

struct sn_perfetto_item *sn_perfetto_item(const struct sn_perfetto_sequence *sequence,
					  enum sn_perfetto_kind kind, uint64_t iid)
{
	uint64_t key[2] = {kind, iid};
	uint32_t number = sn_intern_find(&sequence->numbers, key, sizeof(key));
	return number == SN_INTERN_NONE ? NULL : sequence->items + number;
}

static int set_item(struct sn_perfetto_sequence *sequence, uint32_t kind, uint64_t iid,
		    struct sn_perfetto_item item)
{
	uint64_t key[2] = {kind, iid};
	uint32_t number = sn_intern_item(&sequence->numbers, key, sizeof(key), &sequence->items,
					 &sequence->item_capacity, {0});
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	sequence->items[number] = item;
	return 0;
}

uint32_t sn_perfetto_string(struct sn_perfetto *perfetto, const struct sn_proto_field *field)
{
	return field->bytes ? sn_db_builder_string_n(perfetto->builder, (const char *)field->bytes,
						     field->length)
			    : SONDE_NONE;
}

uint32_t sn_perfetto_text(struct sn_perfetto *perfetto, const struct sn_perfetto_sequence *sequence,
			  enum sn_perfetto_kind kind, uint64_t iid, const char *lost)
{
	const struct sn_perfetto_item *item = sn_perfetto_item(sequence, kind, iid);
	if (item && item->value != SONDE_NONE)
		return item->value;
	return sn_db_builder_string(perfetto->builder, lost);
}

/* {iid, text} */
static int read_text(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
		     uint32_t kind, struct sn_proto message)
{
	struct sn_proto_field fields[4]; /* 1 iid, 2 text, 3 of a kernel: the demangled name */
	SN_PROTO_FIELDS(message, fields);
	const struct sn_proto_field *text = fields + 2;
	if (kind == SN_PERFETTO_KERNEL && fields[3].bytes)
		text = fields + 3;
	const char *bytes = text->bytes ? (const char *)text->bytes : "";
	struct sn_perfetto_item item = {
	    .value = sn_db_builder_string_n(perfetto->builder, bytes, text->length)};
	if (kind == SN_PERFETTO_CATEGORY)
		item.category = sn_activity_category(bytes, text->length);
	return set_item(sequence, kind, fields[1].wire == SN_PROTO_VARINT ? fields[1].value : 0,
			item);
}

static uint32_t text_of(const struct sn_perfetto_sequence *sequence, enum sn_perfetto_kind kind,
			uint64_t iid)
{
	const struct sn_perfetto_item *item = iid ? sn_perfetto_item(sequence, kind, iid) : NULL;
	return item ? item->value : SONDE_NONE;
}

static int read_mapping(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
			struct sn_proto message)
{
	struct sn_db_builder *builder = perfetto->builder;
	struct sn_proto_field field;
	uint64_t iid = 0, build_id = 0;
	char path[4096] = "";
	size_t used = 0;
	while (sn_proto_next(&message, &field)) {
		if (field.number == 1)
			iid = field.value;
		else if (field.number == 2)
			build_id = field.value;
		else if (field.number == 7 && used < sizeof(path)) {
			/* a path is divided into parts; a complete one begins with a slash */
			uint32_t part = text_of(sequence, SN_PERFETTO_PATH, field.value);
			const char *text =
			    part == SONDE_NONE ? "" : sn_db_builder_text(builder, part);
			used += (size_t)snprintf(path + used, sizeof(path) - used, "%s%s",
						 used ? "/" : "", text);
		}
	}
	struct sonde_db_module module = {
	    .path = sn_db_builder_string(builder, path),
	    .build_id = text_of(sequence, SN_PERFETTO_BUILD_ID, build_id),
	};
	return set_item(sequence, SN_PERFETTO_MAPPING, iid,
			(struct sn_perfetto_item){.value = sn_db_builder_module(builder, &module)});
}

static uint8_t frame_kind(uint64_t kind)
{
	return kind == 3 ? SN_FRAME_PYTHON : kind == 2 ? SN_FRAME_OS : SN_FRAME_NATIVE;
}

static int read_frame(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
		      struct sn_proto message)
{
	struct sn_proto_field fields[8];
	SN_PROTO_FIELDS(message, fields);
	struct sonde_db_frame frame = {
	    .kind = frame_kind(fields[7].value),
	    .name = text_of(sequence, SN_PERFETTO_FUNCTION, fields[2].value),
	    .linkage_name = SONDE_NONE,
	    .module = text_of(sequence, SN_PERFETTO_MAPPING, fields[3].value),
	    .offset = fields[4].value,
	    .file = text_of(sequence, SN_PERFETTO_SOURCE, fields[5].value),
	    .line = fields[6].value < INT32_MAX ? (uint32_t)fields[6].value : 0,
	};
	if (frame.name == SONDE_NONE) {
		char text[32];
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)frame.offset);
		frame.name = sn_db_builder_string(perfetto->builder, text);
	}
	if (frame.kind != SN_FRAME_NATIVE)
		frame.offset = 0;
	return set_item(
	    sequence, SN_PERFETTO_FRAME, fields[1].value,
	    (struct sn_perfetto_item){.value = sn_db_builder_frame(perfetto->builder, &frame)});
}

static uint32_t extend(struct sn_perfetto *perfetto, const struct sn_perfetto_sequence *sequence,
		       uint32_t context, uint64_t iid)
{
	uint32_t frame = text_of(sequence, SN_PERFETTO_FRAME, iid);
	return frame == SONDE_NONE ? context
				   : sn_db_builder_context(perfetto->builder, context, frame);
}

static int read_callstack(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
			  struct sn_proto message)
{
	struct sn_proto_field field;
	uint64_t iid = 0, frame;
	uint32_t context = 0;
	while (sn_proto_next(&message, &field)) {
		struct sn_proto frames = {0};
		if (field.number == 1)
			iid = field.value;
		while (field.number == 2 && sn_proto_number(&field, &frames, &frame))
			context = extend(perfetto, sequence, context, frame);
	}
	return set_item(sequence, SN_PERFETTO_CALLSTACK, iid,
			(struct sn_perfetto_item){.value = context});
}

static int read_graphics_context(struct sn_perfetto_sequence *sequence, struct sn_proto message)
{
	struct sn_proto_field fields[3]; /* 1 iid, 2 pid */
	SN_PROTO_FIELDS(message, fields);
	return set_item(sequence, SN_PERFETTO_GRAPHICS_CONTEXT, fields[1].value,
			(struct sn_perfetto_item){.value = (uint32_t)fields[2].value});
}

/* Texts are read before the items that refer to them, whatever the order of the fields. */
static unsigned pass_of(uint32_t kind)
{
	switch (kind) {
	case SN_PERFETTO_MAPPING:
		return 1;
	case SN_PERFETTO_FRAME:
		return 2;
	case SN_PERFETTO_CALLSTACK:
		return 3;
	default:
		return 0;
	}
}

static int read_item(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
		     const struct sn_proto_field *field)
{
	struct sn_proto message = sn_proto_enter(field);
	switch (field->number) {
	case SN_PERFETTO_MAPPING:
		return read_mapping(perfetto, sequence, message);
	case SN_PERFETTO_FRAME:
		return read_frame(perfetto, sequence, message);
	case SN_PERFETTO_CALLSTACK:
		return read_callstack(perfetto, sequence, message);
	case SN_PERFETTO_GRAPHICS_CONTEXT:
		return read_graphics_context(sequence, message);
	default: /* other interned data is not needed */
		return read_text(perfetto, sequence, field->number, message);
	}
}

int sn_perfetto_intern(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
		       struct sn_proto interned)
{
	unsigned last = 0;
	for (unsigned pass = 0; pass <= last; pass++) {
		struct sn_proto message = interned;
		struct sn_proto_field field;
		while (sn_proto_next(&message, &field)) {
			unsigned own = pass_of(field.number);
			last = own > last ? own : last;
			if (own == pass && field.wire == SN_PROTO_BYTES &&
			    read_item(perfetto, sequence, &field))
				return SN_ERR_MEMORY;
		}
	}
	return 0;
}
