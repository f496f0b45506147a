/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing CTF 1.8 (the Common Trace Format, diamon.org/ctf): streams of packets of bounded size,
 * and the text that describes them. ctf.c writes Sonde's own trace with these, ctf_kernel.c
 * one as LTTng's kernel tracer would.
 *
 * An own writer and not libbabeltrace2's: that one allocates an object for each field of each
 * event.
 */
#pragma once

#include "base/buffer.h"
#include "base/output.h"
#include "export/event_walk.h"

#define SN_CTF_PACKET_BYTES (256u << 10)

/* A text with its NUL. */
static inline void sn_ctf_text(struct sn_buffer *buffer, const char *text)
{
	sn_buffer_put(buffer, text, strlen(text) + 1);
}

/* A file of packets. Numbers are little endian and begin at whole bytes. */
struct sn_ctf_stream {
	struct sn_output output;
	unsigned char uuid[16];
	uint32_t stream_class;
	struct sn_buffer context; /* the end of the packet context, the same in all packets */
	struct sn_buffer packet;  /* events of the open packet */
	struct sn_buffer event;	  /* the event being encoded */
	/* the begin of each event after its header */
	unsigned char event_context[12];
	uint32_t event_context_bytes;
	uint64_t begin_ns, end_ns, sequence;
};

/* 0 or a negative enum sn_err. The context is put by the caller before the first event. */
int sn_ctf_open(struct sn_ctf_stream *stream, const char *folder, const char *name,
		const unsigned char *uuid, uint32_t stream_class, struct sn_error *error);
/* Begins an event; its fields follow in stream->event, then sn_ctf_end. */
void sn_ctf_begin(struct sn_ctf_stream *stream, uint16_t id, uint64_t time_ns);
void sn_ctf_end(struct sn_ctf_stream *stream);
/* Writes the last packet, and the file. Releases in any case. */
int sn_ctf_close(struct sn_ctf_stream *stream, struct sn_error *error);
/* Without. */
void sn_ctf_abandon(struct sn_ctf_stream *stream);

/* Metadata is text in a buffer. */
/* The begin of all metadata: types, the trace, its clock (nanoseconds since 1970). */
void sn_ctf_head(struct sn_buffer *text, const unsigned char *uuid);
/* A stream's declaration: the begin of packets and events. `more`: the end of the packet context;
 * `each`: the begin of each event, "" nothing. */
void sn_ctf_declare_stream(struct sn_buffer *text, uint32_t stream_class, const char *more,
			   const char *each);
/* Writes the metadata of a folder. Releases the text. */
int sn_ctf_save(struct sn_buffer *text, const char *folder, struct sn_error *error);

/* A 128-bit identifier of the export, the same for the same events. */
void sn_ctf_uuid(const struct sn_trace_export *export, uint32_t part, unsigned char *uuid);

/* The kernel's trace, in a folder that it creates; nothing if the database has no states of
 * threads. 0 or a negative enum sn_err. */
int sn_ctf_write_kernel(struct sn_trace_export *export, const char *folder, struct sn_error *error);
