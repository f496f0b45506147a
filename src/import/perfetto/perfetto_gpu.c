/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Render stages of a Perfetto trace: what a GPU ran on a queue, and when; compute kernels with
 * their grids, graphics by the name of the stage.
 */
#include "perfetto.h"

#include <stdio.h>
#include <string.h>

struct stage {
	uint64_t duration, queue_iid, stage_iid, context, kernel_iid, name_iid;
	int64_t gpu, old_queue, old_stage;
	uint32_t name;
	uint64_t submission;
	bool has_launch;
	struct sn_perfetto_attributes attributes;
};

static void read_extra(struct sn_perfetto *perfetto, struct stage *stage, struct sn_proto message)
{
	struct sn_proto_field fields[3]; /* 1 name, 2 value */
	SN_PROTO_FIELDS(message, fields);
	if (!fields[1].length || !fields[2].bytes)
		return;
	uint32_t key = sn_track_sink_key(perfetto->sink, (const char *)fields[1].bytes,
					 fields[1].length, SONDE_ATTRIBUTE_STRING);
	sn_perfetto_add_attribute(perfetto, &stage->attributes, key,
				  sn_perfetto_string(perfetto, fields + 2));
}

static void read_sizes(struct sn_perfetto *perfetto, struct stage *stage, enum sn_track_key first,
		       struct sn_proto message)
{
	struct sn_proto_field fields[4];
	SN_PROTO_FIELDS(message, fields);
	for (unsigned i = 0; i < 3; i++)
		sn_perfetto_add_attribute(perfetto, &stage->attributes,
					  sn_track_sink_keys(perfetto->sink)[first + i],
					  (uint64_t)sn_proto_or(fields + 1 + i, 1));
}

/* Reads an argument of a kernel. */
static void read_argument(struct sn_perfetto *perfetto, const struct sn_perfetto_sequence *sequence,
			  struct stage *stage, struct sn_proto message)
{
	static const enum sonde_attribute_type types[] = {[3] = SONDE_ATTRIBUTE_SIGNED,
							  [4] = SONDE_ATTRIBUTE_UNSIGNED,
							  [5] = SONDE_ATTRIBUTE_REAL,
							  [6] = SONDE_ATTRIBUTE_STRING,
							  [7] = SONDE_ATTRIBUTE_STRING};
	struct sn_proto_field fields[8], name, value = {0}; /* 1 and 2: name; others: value */
	char interned[256];
	SN_PROTO_FIELDS(message, fields);
	name = fields[2];
	if (fields[1].number && !name.number) {
		uint32_t text =
		    sn_perfetto_text(perfetto, sequence, SN_PERFETTO_ARGUMENT, fields[1].value, "");
		/* a copy, because the builder's texts move */
		name.length = (size_t)snprintf(interned, sizeof(interned), "%.200s",
					       sn_db_builder_text(perfetto->builder, text));
		name.bytes = (const unsigned char *)interned;
	}
	for (int i = 3; i < 8; i++)
		if (fields[i].number)
			value = fields[i];
	if (!name.bytes || !name.length || !value.number) {
		perfetto->annotations_lost++;
		return;
	}
	uint64_t bits = value.value;
	if (value.number == 6)
		bits = sn_perfetto_string(perfetto, &value);
	else if (value.number == 7)
		bits = sn_perfetto_text(perfetto, sequence, SN_PERFETTO_STRING, value.value, "");
	sn_perfetto_add_attribute(perfetto, &stage->attributes,
				  sn_track_sink_key(perfetto->sink, (const char *)name.bytes,
						    name.length, types[value.number]),
				  bits);
}

static void read_launch(struct sn_perfetto *perfetto, const struct sn_perfetto_sequence *sequence,
			struct stage *stage, struct sn_proto message)
{
	struct sn_proto_field field;
	stage->has_launch = true;
	while (sn_proto_next(&message, &field)) {
		if (field.number == 1)
			read_sizes(perfetto, stage, SN_TRACK_KEY_GRID_X, sn_proto_enter(&field));
		else if (field.number == 2)
			read_sizes(perfetto, stage, SN_TRACK_KEY_BLOCK_X, sn_proto_enter(&field));
		else if (field.number == 3)
			read_argument(perfetto, sequence, stage, sn_proto_enter(&field));
	}
}

static void read_stage(struct sn_perfetto *perfetto, const struct sn_perfetto_packet *packet,
		       struct stage *stage)
{
	struct sn_proto message = sn_proto_enter(&packet->data);
	struct sn_proto_field field;
	uint64_t *const numbers[] = {
	    [2] = &stage->duration,   [5] = &stage->context,	[10] = &stage->submission,
	    [13] = &stage->queue_iid, [14] = &stage->stage_iid, [19] = &stage->kernel_iid,
	    [20] = &stage->name_iid};
	while (sn_proto_next(&message, &field)) {
		if (field.wire == SN_PROTO_VARINT &&
		    field.number < sizeof(numbers) / sizeof(*numbers) && numbers[field.number])
			*numbers[field.number] = field.value;
		else if (field.number == 3)
			stage->old_queue = (int32_t)field.value;
		else if (field.number == 4)
			stage->old_stage = (int32_t)field.value;
		else if (field.number == 6)
			read_extra(perfetto, stage, sn_proto_enter(&field));
		else if (field.number == 11)
			stage->gpu = (int32_t)field.value;
		else if (field.number == 17)
			stage->name = sn_perfetto_string(perfetto, &field);
		else if (field.number == 21)
			read_launch(perfetto, packet->sequence, stage, sn_proto_enter(&field));
	}
}

static uint32_t name_of(struct sn_perfetto *perfetto, const struct sn_perfetto_sequence *sequence,
			const struct stage *stage)
{
	if (stage->name != SONDE_NONE)
		return stage->name;
	if (stage->kernel_iid)
		return sn_perfetto_text(perfetto, sequence, SN_PERFETTO_KERNEL, stage->kernel_iid,
					"[name lost]");
	if (stage->name_iid)
		return sn_perfetto_text(perfetto, sequence, SN_PERFETTO_NAME, stage->name_iid,
					"[name lost]");
	if (stage->stage_iid)
		return sn_perfetto_text(perfetto, sequence, SN_PERFETTO_GPU_STAGE, stage->stage_iid,
					"[name lost]");
	char text[48];
	snprintf(text, sizeof(text), "stage %lld", (long long)stage->old_stage);
	return sn_db_builder_string(perfetto->builder, text);
}

static uint32_t track_of(struct sn_perfetto *perfetto, const struct sn_perfetto_sequence *sequence,
			 const struct stage *stage)
{
	const struct sn_perfetto_item *context =
	    sn_perfetto_item(sequence, SN_PERFETTO_GRAPHICS_CONTEXT, stage->context);
	int64_t pid = context ? (int32_t)context->value : -1;
	uint64_t queue = stage->queue_iid ? stage->queue_iid : (uint64_t)stage->old_queue;
	struct sn_track_place place = {1, stage->gpu, (int64_t)(uint32_t)stage->context,
				       (int64_t)(uint32_t)queue, pid};
	uint32_t track = sn_track_sink_track(perfetto->sink, &place);
	if (track == SONDE_NONE)
		return track;
	sn_track_sink_set_track_pid(perfetto->sink, track, pid);
	if (stage->queue_iid && sn_track_sink_at(perfetto->sink, track)->name == SONDE_NONE) {
		uint32_t name = sn_perfetto_text(perfetto, sequence, SN_PERFETTO_GPU_STAGE,
						 stage->queue_iid, "");
		if (*sn_db_builder_text(perfetto->builder, name))
			sn_track_sink_name_track(perfetto->sink, track, name);
	}
	return track;
}

int sn_perfetto_gpu_stage(struct sn_perfetto *perfetto, const struct sn_perfetto_packet *packet)
{
	struct stage stage;
	uint64_t time_ns;
	memset(&stage, 0, offsetof(struct stage, attributes));
	stage.attributes.count = 0;
	stage.name = SONDE_NONE;
	read_stage(perfetto, packet, &stage);
	if (!packet->has_timestamp && !stage.duration)
		return 0; /* the packet has only specifications */
	if (!sn_perfetto_packet_time(perfetto, packet, &time_ns) ||
	    stage.duration > SN_TRACK_TIME_MAX) {
		sn_track_sink_untimed(perfetto->sink, 1);
		return 0;
	}
	uint32_t number, name = name_of(perfetto, packet->sequence, &stage);
	bool is_kernel = stage.has_launch || stage.kernel_iid;
	const char *text = sn_db_builder_text(perfetto->builder, name);
	if (sn_track_sink_name(perfetto->sink,
			       is_kernel ? SN_ACTIVITY_KERNEL : SN_ACTIVITY_DEVICE_OTHER, text,
			       strlen(text), &number))
		return SN_ERR_MEMORY;
	struct sn_track_event event = {
	    .track = track_of(perfetto, packet->sequence, &stage),
	    .name = number,
	    .start_ns = (int64_t)time_ns,
	    .end_ns = (int64_t)(time_ns + stage.duration),
	    .link = stage.submission & ((1ull << 48) - 1),
	    .attributes = stage.attributes.items,
	    .attribute_count = stage.attributes.count,
	};
	if (event.track == SONDE_NONE)
		return SN_ERR_MEMORY;
	sn_track_sink_event(perfetto->sink, &event);
	return 0;
}
