/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes measurement files as the collector would, for the tests of everything that reads them.
 *
 * Without memory the fixture exits: it is for tests only. Texts are copied.
 */
#ifndef SN_TESTS_MEASUREMENT_FIXTURE_H
#define SN_TESTS_MEASUREMENT_FIXTURE_H

#include "format/measurement/measurement.h"

#include <stdbool.h>
#include <stddef.h>

struct measurement_fixture;

struct measurement_fixture *measurement_fixture_new(void);
void measurement_fixture_free(struct measurement_fixture *fixture);

void measurement_fixture_property(struct measurement_fixture *fixture, const char *line);
uint32_t measurement_fixture_module(struct measurement_fixture *fixture, const char *path,
				    uint64_t bias, const char *build_id, size_t build_id_bytes);
uint32_t measurement_fixture_metric(struct measurement_fixture *fixture, const char *name,
				    const char *unit, enum sn_metric_kind kind, uint64_t period);
void measurement_fixture_drop(struct measurement_fixture *fixture, const char *cause,
			      uint64_t count);
/* Threads are numbered from 0 and have their root node from the start. `record->name` is replaced.
 */
uint32_t measurement_fixture_thread(struct measurement_fixture *fixture, const char *name,
				    struct sn_thread_record record);
/* Makes the thread a device's queue. */
void measurement_fixture_stream(struct measurement_fixture *fixture, uint32_t thread,
				struct sn_stream_record record);
uint32_t measurement_fixture_code(struct measurement_fixture *fixture, uint32_t thread,
				  const char *file, const char *name, uint32_t first_line);
/* Always a new node; returns its number. */
uint32_t measurement_fixture_node(struct measurement_fixture *fixture, uint32_t thread,
				  uint32_t parent, struct sn_frame frame);
/* A frame that has a kind and a name. */
uint32_t measurement_fixture_named(struct measurement_fixture *fixture, uint32_t thread,
				   uint32_t parent, unsigned kind, unsigned flags,
				   const char *name);
/* `count` values that are all alike. */
void measurement_fixture_value(struct measurement_fixture *fixture, uint32_t thread, uint32_t node,
			       uint32_t metric, uint64_t count, uint64_t each);
void measurement_fixture_two_values(struct measurement_fixture *fixture, uint32_t thread,
				    uint32_t node, uint32_t metric, uint64_t low, uint64_t high);

/*
 * Commits a snapshot of everything so far to the file, made where it is missing: after what is
 * there already, in the other slot. Returns the snapshot's offset in the file.
 */
uint64_t measurement_fixture_commit(struct measurement_fixture *fixture, const char *path,
				    bool is_final);

#endif
