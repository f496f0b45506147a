/* SPDX-License-Identifier: Apache-2.0 */
/* A database as one request to a store of profiles. */
#pragma once

#include "export/exporter.h"
#include "push/verdict.h"

enum sn_push_form { SN_PUSH_OTLP, SN_PUSH_PPROF };

/* Where it goes, and as what. */
struct sn_push_target {
	const char *url; /* as the user gave it */
	int form;	 /* enum sn_push_form */
	struct sn_export_label labels[64];
	size_t label_count;
	const char *header_file, *ca_file; /* NULL: none */
	unsigned seconds;		   /* for a request */
};

struct sn_push_parcel {
	struct sonde_db *db;
	const char *path;	   /* of the database, for messages */
	const char *identity;	   /* as in struct sn_export_request */
	uint64_t begin_ns, end_ns; /* since the Unix epoch */
	/* See push/http.h. */
	int (*before_end)(void *context);
	bool (*is_unwanted)(void *context);
	void *context;
};

/* Also what fails here has a verdict: SN_PUSH_LATER. */
struct sn_push_verdict sn_push_send(const struct sn_push_target *target,
				    const struct sn_push_parcel *parcel);
/* The samples of all its profiles. */
uint64_t sn_push_samples(const struct sonde_db *db);
