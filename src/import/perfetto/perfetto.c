/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of Perfetto's protobuf traces: the file and its packets. Packets of a kind that is not
 * read are counted and named.
 */
#include "perfetto.h"

#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#ifdef SN_HAVE_ZLIB
#include <zlib.h>
#endif

/* Larger packets do not occur in valid traces; compressed ones hold some hundred KB. */
#define PACKET_BYTES_MAX   (256u << 20)
#define UNPACKED_BYTES_MAX (256u << 20)
#define SEQUENCES_MAX	   (1u << 16)

enum { DESCRIBE, READ }; /* passes */

enum {
	FTRACE = 1,
	PROCESS_TREE = 2,
	CLOCK_SNAPSHOT = 6,
	TIMESTAMP = 8,
	SEQUENCE = 10,
	TRACK_EVENT = 11,
	INTERNED = 12,
	FLAGS = 13,
	CLEARED = 41,
	PROCESS = 43,
	THREAD = 44,
	COMPRESSED = 50,
	GPU_STAGE = 53,
	STREAMING_PROFILE = 54,
	CLOCK_ID = 58,
	DEFAULTS = 59,
	TRACK_DESCRIPTOR = 60,
	PERF_SAMPLE = 66,
	ATTRIBUTES = 126,
};

/* Kinds of packets that are not read, with their names; those without a name are about the
 * tracing itself. */
static const struct {
	uint16_t field;
	const char *name;
} unread_names[] = {{1, "ftrace events but those of the scheduler"},
		    {4, "inode_file_map"},
		    {5, "chrome_events"},
		    {7, "sys_stats"},
		    {9, "process_stats"},
		    {37, "profile_packet (heap)"},
		    {38, "battery"},
		    {39, "android_log"},
		    {40, "power_rails"},
		    {47, "packages_list"},
		    {49, "perfetto_metatrace"},
		    {51, "chrome_metadata"},
		    {52, "gpu_counter_event"},
		    {57, "graphics_frame_event"},
		    {61, "module_symbols"},
		    {62, "vulkan_memory_event"},
		    {64, "deobfuscation_mapping"},
		    {65, "vulkan_api_event"},
		    {68, "smaps_packet"},
		    {71, "gpu_mem_total_event"},
		    {74, "streaming_allocation"},
		    {75, "streaming_free"},
		    {84, "statsd_atom"},
		    {95, "etw_events"},
		    {133, "zstd_compressed_packets"},
		    {135, "stack_sample"}};
static const uint16_t tracing_itself[] = {33, 34, 35, 36, 45,  46,  48,	 67,  69,  70,	72,
					  78, 82, 89, 90, 107, 109, 113, 124, 125, 128, 134};
/* Fields that describe a packet instead of being its data. */
static const uint16_t about_packet[] = {3, 8, 10, 12, 13, 41, 42, 58, 59, 79, 87, 98};

static bool is_among(const uint16_t *numbers, size_t count, uint32_t number)
{
	for (size_t i = 0; i < count; i++)
		if (numbers[i] == number)
			return true;
	return false;
}
#define IS_AMONG(numbers, number) is_among(numbers, sizeof(numbers) / sizeof(*(numbers)), number)

/* ---- packets ---- */

static struct sn_perfetto_sequence *sequence_of(struct sn_perfetto *perfetto, uint32_t id)
{
	if (perfetto->sequence_ids.count >= SEQUENCES_MAX)
		id = 0;
	uint32_t number =
	    sn_intern_item(&perfetto->sequence_ids, &id, sizeof(id), &perfetto->sequences,
			   &perfetto->sequence_capacity, {.pid = -1, .tid = -1});
	return number == SN_INTERN_NONE ? NULL : perfetto->sequences + number;
}

static void read_defaults(struct sn_perfetto_sequence *sequence, struct sn_proto defaults)
{
	struct sn_proto_field fields[59], part; /* 11: for track events, 58: default clock */
	SN_PROTO_FIELDS(defaults, fields);
	sequence->default_clock = (uint32_t)fields[58].value;
	sequence->has_default_track = false;
	sequence->counter_track_count = 0;
	struct sn_proto event = sn_proto_enter(fields + 11);
	while (sn_proto_next(&event, &part)) {
		if (part.number == 11) {
			sequence->default_track = part.value;
			sequence->has_default_track = true;
		} else if (part.number == 31 && part.wire == SN_PROTO_VARINT &&
			   sequence->counter_track_count < 16) {
			sequence->counter_tracks[sequence->counter_track_count++] = part.value;
		}
	}
}

/* Reads older descriptors, of the sequence's own thread. */
static int describe_own_thread(struct sn_perfetto *perfetto, struct sn_perfetto_packet *packet)
{
	return sn_perfetto_describe_thread(perfetto, packet->sequence,
					   sn_proto_enter(&packet->data), &packet->sequence->pid,
					   &packet->sequence->tid);
}

static int describe(struct sn_perfetto *perfetto, struct sn_perfetto_packet *packet)
{
	struct sn_proto data = sn_proto_enter(&packet->data);
	switch (packet->data.number) {
	case CLOCK_SNAPSHOT:
		return sn_perfetto_clock_snapshot(perfetto, &perfetto->clocks, data, false);
	case TRACK_DESCRIPTOR:
		return sn_perfetto_describe_track(perfetto, packet->sequence, data);
	case PROCESS_TREE:
		return sn_perfetto_process_tree(perfetto, data);
	case THREAD:
		return describe_own_thread(perfetto, packet);
	default:
		return 0;
	}
}

static int read_data(struct sn_perfetto *perfetto, struct sn_perfetto_packet *packet)
{
	uint32_t number = packet->data.number;
	switch (number) {
	case 0:
	case TRACK_DESCRIPTOR:
	case PROCESS_TREE:
	case PROCESS:
	case ATTRIBUTES:
		return 0;
	case CLOCK_SNAPSHOT:
		return sn_perfetto_clock_snapshot(perfetto, &packet->sequence->clocks,
						  sn_proto_enter(&packet->data), true);
	case THREAD:
		return describe_own_thread(perfetto, packet);
	case TRACK_EVENT:
		return sn_perfetto_track_event(perfetto, packet);
	case PERF_SAMPLE:
		return sn_perfetto_perf_sample(perfetto, packet);
	case STREAMING_PROFILE:
		return sn_perfetto_profile(perfetto, packet);
	case GPU_STAGE:
		return sn_perfetto_gpu_stage(perfetto, packet);
	case FTRACE:
		return sn_perfetto_ftrace(perfetto, sn_proto_enter(&packet->data));
	default:
		if (!IS_AMONG(tracing_itself, number))
			perfetto->unread[number < SN_PERFETTO_PACKETS ? number : 0]++;
		return 0;
	}
}

static int unpack(struct sn_perfetto *perfetto, const struct sn_proto_field *field, int pass,
		  unsigned depth);

/* Reads a packet in one of the two passes. Its data is read last, when all other
 * fields are known. */
static int read_packet(struct sn_perfetto *perfetto, struct sn_proto message, int pass,
		       unsigned depth)
{
	struct sn_proto all = message;
	struct sn_proto_field field, interned = {0}, defaults = {0};
	struct sn_perfetto_packet packet = {.sequence = NULL};
	uint32_t sequence = 0;
	bool is_cleared = false;
	while (sn_proto_next(&all, &field)) {
		switch (field.number) {
		case TIMESTAMP:
			packet.timestamp = field.value;
			packet.has_timestamp = field.wire == SN_PROTO_VARINT;
			break;
		case CLOCK_ID:
			packet.clock = (uint32_t)field.value;
			break;
		case SEQUENCE:
			sequence = (uint32_t)field.value;
			break;
		case FLAGS:
			is_cleared = is_cleared || field.value & 1;
			break;
		case CLEARED:
			is_cleared = is_cleared || field.value;
			break;
		case INTERNED:
			interned = field;
			break;
		case DEFAULTS:
			defaults = field;
			break;
		default:
			if (field.wire == SN_PROTO_BYTES && !IS_AMONG(about_packet, field.number))
				packet.data = field;
		}
	}
	if (all.failed) {
		perfetto->undecoded++;
		return 0;
	}
	if (packet.data.number == COMPRESSED)
		return unpack(perfetto, &packet.data, pass, depth);
	packet.sequence = sequence_of(perfetto, sequence);
	if (!packet.sequence)
		return SN_ERR_MEMORY;
	if (pass == DESCRIBE)
		return describe(perfetto, &packet);
	if (is_cleared) {
		sn_perfetto_forget(packet.sequence);
		packet.sequence->default_clock = 0;
		packet.sequence->has_default_track = false;
	}
	if (interned.bytes &&
	    sn_perfetto_intern(perfetto, packet.sequence, sn_proto_enter(&interned)))
		return SN_ERR_MEMORY;
	if (defaults.bytes)
		read_defaults(packet.sequence, sn_proto_enter(&defaults));
	return read_data(perfetto, &packet);
}

#ifdef SN_HAVE_ZLIB
/* Inflates into a buffer that grows as needed. NULL if the data is damaged or too large. */
static unsigned char *inflate_all(const struct sn_proto_field *field, size_t *length)
{
	z_stream stream = {.next_in = (unsigned char *)field->bytes,
			   .avail_in = (unsigned)field->length};
	unsigned char *bytes = NULL;
	size_t capacity = 0;
	int status = inflateInit(&stream) == Z_OK ? Z_OK : Z_MEM_ERROR;
	bool is_open = status == Z_OK;
	*length = 0;
	while (status == Z_OK && *length < UNPACKED_BYTES_MAX) {
		if (sn_vec_reserve(&bytes, &capacity, *length + (64u << 10)) < 0)
			break;
		stream.next_out = bytes + *length;
		stream.avail_out = (unsigned)(capacity - *length);
		status = inflate(&stream, Z_NO_FLUSH);
		*length = capacity - stream.avail_out;
	}
	if (is_open)
		inflateEnd(&stream);
	if (status == Z_STREAM_END)
		return bytes;
	free(bytes);
	return NULL;
}
#endif

static int unpack(struct sn_perfetto *perfetto, const struct sn_proto_field *field, int pass,
		  unsigned depth)
{
#ifdef SN_HAVE_ZLIB
	size_t length = 0;
	unsigned char *bytes = depth ? NULL : inflate_all(field, &length);
	struct sn_proto packets = sn_proto_of(bytes ? bytes : (const unsigned char *)"", length);
	struct sn_proto_field packet;
	int result = 0;
	if (!bytes) {
		perfetto->undecoded += pass == READ;
		return 0;
	}
	while (!result && sn_proto_next(&packets, &packet))
		if (packet.number == 1)
			result = read_packet(perfetto, sn_proto_enter(&packet), pass, depth + 1);
	perfetto->undecoded += packets.failed && pass == READ;
	free(bytes);
	return result;
#else
	perfetto->undecoded += pass == READ;
	return 0;
#endif
}

static int read_packets(struct sn_perfetto *perfetto, struct sn_proto_stream *stream, int pass,
			struct sn_error *error)
{
	struct sn_proto_field field;
	int result;
	while ((result = sn_proto_stream_next(stream, &field, error)) > 0) {
		if (field.number != 1 || field.wire != SN_PROTO_BYTES)
			continue;
		if (field.length > PACKET_BYTES_MAX)
			return sn_fail(error, SN_ERR_FORMAT,
				       "cannot read '%s': the packet at byte %" PRIu64
				       " is larger than 256 MiB",
				       stream->path, stream->window_at);
		result = sn_proto_stream_load(stream, &field, error);
		if (result)
			return result;
		result = read_packet(perfetto, sn_proto_enter(&field), pass, 0);
		if (result)
			return sn_fail_memory(error);
	}
	return result;
}

/* ---- files ---- */

static void forget_file(struct sn_perfetto *perfetto)
{
	for (uint32_t i = 0; i < perfetto->sequence_ids.count; i++) {
		sn_intern_release(&perfetto->sequences[i].numbers);
		free(perfetto->sequences[i].items);
		sn_perfetto_clocks_release(&perfetto->sequences[i].clocks);
	}
	sn_intern_release(&perfetto->sequence_ids);
	sn_perfetto_clocks_release(&perfetto->clocks);
	sn_perfetto_tracks_release(perfetto);
	sn_sorter_free(perfetto->switches);
	perfetto->switches = NULL;
	perfetto->open_count = 0;
}

static int read_file(struct sn_perfetto *perfetto, const char *path, size_t path_count,
		     struct sn_error *error)
{
	struct sn_proto_stream stream;
	int result = sn_proto_stream_open(&stream, path, error);
	if (result)
		return result;
	result = sn_track_sink_open(perfetto->sink, path, error);
	if (!result)
		result = read_packets(perfetto, &stream, DESCRIBE, error);
	if (!result && sn_perfetto_merge_tracks(perfetto))
		result = sn_fail_memory(error);
	if (!result)
		result = sn_proto_stream_rewind(&stream, error);
	if (!result)
		result = read_packets(perfetto, &stream, READ, error);
	sn_proto_stream_close(&stream);
	if (!result)
		sn_perfetto_end_slices(perfetto);
	if (!result)
		result = sn_perfetto_sched(perfetto, error);
	if (!result && sn_track_sink_close(perfetto->sink))
		result = sn_fail_memory(error);
	if (!result) {
		sn_perfetto_name_tracks(perfetto);
		result = sn_track_sink_build(perfetto->sink, path_count, error);
	}
	forget_file(perfetto);
	return result;
}

/* Lists the unread packets for the user and the database: "12 sys_stats, 3 android_log". */
static void note_unread(struct sn_perfetto *perfetto, struct sn_import_notes *notes)
{
	uint64_t total = 0;
	size_t used = 0;
	for (uint32_t field = 0; field < SN_PERFETTO_PACKETS; field++) {
		const char *name = NULL;
		char number[32];
		if (!perfetto->unread[field])
			continue;
		snprintf(number, sizeof(number), field ? "field %u" : "of unknown fields", field);
		for (size_t i = 0; i < sizeof(unread_names) / sizeof(*unread_names); i++)
			if (unread_names[i].field == field)
				name = unread_names[i].name;
		total += perfetto->unread[field];
		if (used < sizeof(notes->unread))
			used += (size_t)snprintf(notes->unread + used, sizeof(notes->unread) - used,
						 "%s%" PRIu64 " %s", used ? ", " : "",
						 perfetto->unread[field], name ? name : number);
	}
	sn_track_sink_lost(perfetto->sink, "import-packets", "packets of a kind that is not read",
			   total);
}

static void finish(struct sn_perfetto *perfetto, struct sn_import_notes *notes)
{
	sn_track_sink_finish(perfetto->sink);
	note_unread(perfetto, notes);
	sn_track_sink_lost(perfetto->sink, "import-damaged", "packets that cannot be decoded",
			   perfetto->undecoded);
	sn_track_sink_lost(perfetto->sink, "import-annotations",
			   "annotations of a form that is not read", perfetto->annotations_lost);
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	struct sn_perfetto *perfetto = calloc(1, sizeof(*perfetto));
	int result = 0;
	if (perfetto)
		perfetto->sink = sn_track_sink_new("perfetto", builder, request);
	if (!perfetto || !perfetto->sink) {
		free(perfetto);
		return sn_fail_memory(error);
	}
	perfetto->builder = builder;
	perfetto->cpu_key = sn_track_sink_key(perfetto->sink, "cpu", 3, SONDE_ATTRIBUTE_UNSIGNED);
	for (size_t i = 0; i < request->path_count && !result; i++)
		result = read_file(perfetto, request->paths[i], request->path_count, error);
	if (!result)
		finish(perfetto, request->notes);
	sn_track_sink_free(perfetto->sink);
	free(perfetto->sequences);
	free(perfetto->tracks);
	free(perfetto->processes);
	free(perfetto->threads);
	free(perfetto->sibling_counts);
	free(perfetto);
	return result;
}

/* Whether the bytes begin with a packet: its common fields have the right types, and one of those
 * that give the time or the writer is there. XPlane files begin with the same field number. */
static bool is_packet(const unsigned char *head, size_t length)
{
	struct sn_proto_field field;
	/* the length of the first packet, which may exceed what is here */
	size_t at = 1;
	while (at < length && head[at] & 0x80)
		at++;
	if (at + 1 >= length)
		return false;
	uint64_t size = 0;
	for (size_t i = at; i >= 1; i--)
		size = size << 7 | (head[i] & 0x7f);
	size_t left = length - at - 1;
	struct sn_proto packet = sn_proto_of(head + at + 1, size < left ? (size_t)size : left);
	bool is_known = false;
	while (sn_proto_next(&packet, &field)) {
		bool is_number = field.wire == SN_PROTO_VARINT;
		switch (field.number) {
		case 3:
		case TIMESTAMP:
		case SEQUENCE:
		case FLAGS:
		case CLEARED:
		case CLOCK_ID:
		case 79:
			if (!is_number)
				return false;
			is_known = true;
			break;
		case 36: /* a marker that the tracing service writes first */
		case COMPRESSED:
		case TRACK_DESCRIPTOR:
			is_known = is_known || !is_number;
			break;
		default:
			if (is_number && field.number < 87)
				return false;
		}
	}
	return is_known;
}

static bool probe(const struct sn_import_input *input)
{
	unsigned char head[SN_IMPORT_HEAD_BYTES];
	size_t length;
	return !input->is_folder && sn_proto_probe(input->path, 1, head, sizeof(head), &length) &&
	       is_packet(head, length);
}

const struct sn_importer sn_importer_perfetto = {
    .name = "perfetto",
    .probe = probe,
    .read = read_all,
};
