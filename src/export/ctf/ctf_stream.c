/* SPDX-License-Identifier: Apache-2.0 */
/* Packets and metadata; see ctf.h. */
#include "ctf.h"

#include "format/checksum.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MAGIC	   0xc1fc1fc1u
/* packet header: magic, uuid, class; context: begin, end, content, size, sequence, lost */
#define HEAD_BYTES (24 + 6 * 8)

int sn_ctf_open(struct sn_ctf_stream *stream, const char *folder, const char *name,
		const unsigned char *uuid, uint32_t stream_class, struct sn_error *error)
{
	char path[PATH_MAX];
	*stream = (struct sn_ctf_stream){.stream_class = stream_class};
	memcpy(stream->uuid, uuid, sizeof(stream->uuid));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return sn_output_open(&stream->output, path, error);
}

static void write_packet(struct sn_ctf_stream *stream)
{
	struct sn_buffer head = {0};
	uint64_t bits = 8 * (HEAD_BYTES + stream->context.count + stream->packet.count);
	sn_buffer_number(&head, MAGIC, 4);
	sn_buffer_put(&head, stream->uuid, sizeof(stream->uuid));
	sn_buffer_number(&head, stream->stream_class, 4);
	sn_buffer_number(&head, stream->begin_ns, 8);
	sn_buffer_number(&head, stream->end_ns, 8);
	sn_buffer_number(&head, bits, 8);
	sn_buffer_number(&head, bits, 8);
	sn_buffer_number(&head, stream->sequence++, 8);
	sn_buffer_number(&head, 0, 8);
	stream->packet.failed |= head.failed || stream->context.failed;
	sn_output_write(&stream->output, head.bytes, head.count);
	sn_output_write(&stream->output, stream->context.bytes, stream->context.count);
	sn_output_write(&stream->output, stream->packet.bytes, stream->packet.count);
	sn_buffer_release(&head);
	stream->packet.count = 0;
}

void sn_ctf_begin(struct sn_ctf_stream *stream, uint16_t id, uint64_t time_ns)
{
	stream->event.count = 0;
	sn_buffer_number(&stream->event, id, 2);
	sn_buffer_number(&stream->event, time_ns, 8);
	sn_buffer_put(&stream->event, stream->event_context, stream->event_context_bytes);
}

void sn_ctf_end(struct sn_ctf_stream *stream)
{
	struct sn_buffer *event = &stream->event;
	uint64_t time_ns;
	memcpy(&time_ns, event->bytes + 2, 8);
	if (event->failed || stream->packet.failed)
		return;
	if (stream->packet.count && stream->packet.count + event->count > SN_CTF_PACKET_BYTES) {
		stream->end_ns = time_ns; /* the next packet begins where this one ends */
		write_packet(stream);
	}
	if (!stream->packet.count)
		stream->begin_ns = time_ns;
	stream->end_ns = time_ns;
	sn_buffer_put(&stream->packet, event->bytes, event->count);
}

static bool release(struct sn_ctf_stream *stream)
{
	bool has_failed = stream->event.failed || stream->packet.failed || stream->context.failed;
	sn_buffer_release(&stream->context);
	sn_buffer_release(&stream->packet);
	sn_buffer_release(&stream->event);
	return has_failed;
}

int sn_ctf_close(struct sn_ctf_stream *stream, struct sn_error *error)
{
	if (stream->packet.count)
		write_packet(stream);
	if (!release(stream))
		return sn_output_commit(&stream->output, error);
	sn_output_abandon(&stream->output);
	return sn_fail_memory(error);
}

void sn_ctf_abandon(struct sn_ctf_stream *stream)
{
	release(stream);
	sn_output_abandon(&stream->output);
}

/* ---- metadata ---- */

void sn_ctf_head(struct sn_buffer *text, const unsigned char *uuid)
{
	char hex[40];
	snprintf(hex, sizeof(hex),
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", uuid[0],
		 uuid[1], uuid[2], uuid[3], uuid[4], uuid[5], uuid[6], uuid[7], uuid[8], uuid[9],
		 uuid[10], uuid[11], uuid[12], uuid[13], uuid[14], uuid[15]);
	sn_buffer_print(text, "/* CTF 1.8 */\n\n");
	for (unsigned bits = 8; bits <= 64; bits *= 2)
		for (int is_signed = 0; is_signed < 2; is_signed++)
			sn_buffer_print(
			    text,
			    "typealias integer { size = %u; align = 8; signed = %s; } := "
			    "%sint%u_t;\n",
			    bits, is_signed ? "true" : "false", is_signed ? "" : "u", bits);
	sn_buffer_print(text,
			"typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } "
			":= double;\n\n");
	sn_buffer_print(
	    text,
	    "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n\tbyte_order = le;\n"
	    "\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n"
	    "\t\tuint32_t stream_id;\n\t};\n};\n\n",
	    hex);
	sn_buffer_print(text,
			"clock {\n\tname = \"monotonic\";\n\tdescription = \"nanoseconds since "
			"1970\";\n\tfreq = 1000000000;\n\toffset = 0;\n\tabsolute = true;\n};\n\n");
	sn_buffer_print(text, "typealias integer {\n\tsize = 64; align = 8; signed = false;\n"
			      "\tmap = clock.monotonic.value;\n} := clock_t;\n\n");
}

void sn_ctf_declare_stream(struct sn_buffer *text, uint32_t stream_class, const char *more,
			   const char *each)
{
	sn_buffer_print(
	    text,
	    "stream {\n\tid = %u;\n\tpacket.context := struct {\n"
	    "\t\tclock_t timestamp_begin;\n\t\tclock_t timestamp_end;\n"
	    "\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n"
	    "\t\tuint64_t packet_seq_num;\n\t\tuint64_t events_discarded;\n%s\t};\n"
	    "\tevent.header := struct {\n\t\tuint16_t id;\n\t\tclock_t timestamp;\n\t};\n",
	    stream_class, more);
	if (*each)
		sn_buffer_print(text, "\tevent.context := struct {\n%s\t};\n", each);
	sn_buffer_print(text, "};\n\n");
}

int sn_ctf_save(struct sn_buffer *text, const char *folder, struct sn_error *error)
{
	char path[PATH_MAX];
	struct sn_output output;
	snprintf(path, sizeof(path), "%s/metadata", folder);
	int result = text->failed ? sn_fail_memory(error) : sn_output_open(&output, path, error);
	if (!result) {
		sn_output_write(&output, text->bytes, text->count);
		result = sn_output_commit(&output, error);
	}
	sn_buffer_release(text);
	return result;
}

void sn_ctf_uuid(const struct sn_trace_export *export, uint32_t part, unsigned char *uuid)
{
	uint64_t halves[2] = {0, part};
	for (uint32_t i = 0; i < sonde_trace_track_count(export->trace); i++) {
		const struct sonde_track *track = sonde_trace_track(export->trace, i);
		uint64_t about[] = {track->profile,  track->kind,   track->lane, track->event_count,
				    track->start_ns, track->end_ns, halves[0],	 halves[1]};
		halves[i & 1] = sn_checksum(about, sizeof(about));
	}
	memcpy(uuid, halves, 16);
	uuid[6] = (uuid[6] & 0x0f) | 0x40; /* as of version 4 */
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}
