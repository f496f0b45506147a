/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the importer of CTF traces: ctf.c finds traces, which libbabeltrace2 reads, ctf_any.c
 * turns their events into a recording, ctf_field.c reads fields of events.
 */
#pragma once

#include "import/core/importer.h"

#include "late_babeltrace.h"

/* ---- values ---- */

/* The member of a structure (which may be NULL), or NULL. */
const bt_field *sn_ctf_member(const bt_field *structure, const char *name);
/* An integer's value, a signed one's bits; false where there is none. */
bool sn_ctf_integer(const bt_field *field, uint64_t *value);
/* A string's, or NULL. */
const char *sn_ctf_string(const bt_field *field);
/* An integer by name, or `missing`. */
uint64_t sn_ctf_integer_or(const bt_field *structure, const char *name, uint64_t missing);

/* A scalar as an attribute: its type and value; texts are put into the builder. False for
 * structures and the like. */
bool sn_ctf_scalar(struct sn_db_builder *builder, const bt_field *field,
		   enum sonde_attribute_type *type, uint64_t *value);

/* ---- events ---- */

struct sn_ctf_any;
struct sn_ctf_any *sn_ctf_any_new(const struct sn_import_request *request,
				  struct sn_db_builder *builder);
void sn_ctf_any_free(struct sn_ctf_any *any);
/* Of a path's traces: the begin, each event in order of time, what is missing (events without a
 * clock, events and whole packets that the tracer lost), the end. 0 or a negative enum sn_err. */
int sn_ctf_any_begin(struct sn_ctf_any *any, const char *path, struct sn_error *error);
int sn_ctf_any_add(struct sn_ctf_any *any, const bt_event *event, uint64_t time_ns);
enum sn_ctf_loss { SN_CTF_UNTIMED, SN_CTF_EVENTS, SN_CTF_PACKETS };
void sn_ctf_any_lose(struct sn_ctf_any *any, enum sn_ctf_loss what, uint64_t count);
int sn_ctf_any_end(struct sn_ctf_any *any, size_t path_count, struct sn_error *error);
void sn_ctf_any_finish(struct sn_ctf_any *any);
