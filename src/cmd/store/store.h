/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store of continuous profiling in a database's place (format/epoch): commands that open a database
 * make a temporary one of the range that is asked for. A command offers the range by a line in its
 * table of options:
 *
 *	const struct sn_option table[] = {..., SN_STORE_OPTIONS, {0}};
 *
 * SN_STORE_TIMES is for those that name an image otherwise.
 *
 * sn_command_open does the rest. One range for the process, as it runs one command.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sn_epochs_wanted;
struct sn_error;
struct sn_options;
struct sonde_db;

/* clang-format off */
#define SN_STORE_TIMES                                                                             \
	{"since", .parse = sn_store_parse_since}, {"until", .parse = sn_store_parse_until}
#define SN_STORE_OPTIONS SN_STORE_TIMES, {"image", .parse = sn_store_parse_image}
/* clang-format on */
int sn_store_parse_since(void *context, const struct sn_options *options, const char *text);
int sn_store_parse_until(void *context, const struct sn_options *options, const char *text);
int sn_store_parse_image(void *context, const struct sn_options *options, const char *text);

bool sn_store_is(const char *path);
/* A database of the range. 0, or an exit status after printing the reason. */
int sn_store_open(const char *path, struct sonde_db **db);
/* What is asked for, a struct sn_epochs_wanted. */
const struct sn_epochs_wanted *sn_store_wanted(void);
/* Whether a range or an image is asked for. */
bool sn_store_has_range(void);
/* For what is no store: 0, or an exit status after saying that a range needs one. */
int sn_store_refuse_range(const char *path);
/* "FROM..TO", "FROM.." or "FROM", each a time as of --since: a range that shares no sample with another that begins where it ends. 0, or an exit status after explaining the mistake. */
int sn_store_parse_range(const struct sn_options *options, const char *option, const char *text,
			 struct sn_epochs_wanted *wanted);
/* The duration of "15m", "1h30m" in nanoseconds. 0, or an exit status after explaining the mistake. */
int sn_store_parse_duration(const struct sn_options *options, const char *option, const char *text,
			    uint64_t *duration_ns);
/* A database of that range, and of the image of --image. 0 or a negative enum sn_err: SN_ERR_MISSING where nothing was sampled then. */
int sn_store_open_range(const char *path, const struct sn_epochs_wanted *wanted,
			struct sonde_db **db, struct sn_error *error);
/* From when to when a store has samples, within --since and --until. 0, or an exit status after printing the reason. */
int sn_store_bounds(const char *path, uint64_t *first_ns, uint64_t *last_ns);
/* What `sonde info` tells of a store. Returns the exit status. */
int sn_store_info(const char *path, bool is_json);
