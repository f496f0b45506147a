/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database of HPCToolkit, version 4.0, for hpcviewer and Hatchet: a folder with meta.db,
 * profile.db, cct.db, trace.db where anything was traced, and metrics/default.yaml. See
 * docs/design/hpctoolkit.md.
 */
#include "hpctoolkit.h"

#include "base/output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int copy_spill(const struct sn_spill *spill, struct sn_output *output,
		      struct sn_error *error)
{
	unsigned char bytes[1 << 16];
	uint64_t at = 0;
	while (at < spill->length) {
		uint64_t left = spill->length - at;
		size_t length = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
		int code = sn_spill_read(spill, bytes, length, at, error);
		if (code < 0)
			return code;
		sn_output_write(output, bytes, length);
		at += length;
	}
	return 0;
}

int sn_hpcx_save(const char *folder, const char *name, const struct sn_buffer *head,
		 const struct sn_spill *const *bodies, const char *end, struct sn_error *error)
{
	char path[PATH_MAX];
	struct sn_output output;
	if (head->failed)
		return SN_ERR_MEMORY;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int code = sn_output_open(&output, path, error);
	if (code != 0)
		return code;
	sn_output_write(&output, head->bytes, head->count);
	for (size_t i = 0; bodies && bodies[i]; i++) {
		code = copy_spill(bodies[i], &output, error);
		if (code < 0) {
			sn_output_abandon(&output);
			return code;
		}
	}
	if (end) {
		sn_output_write(&output, (char[8]){0}, -output.written % 8);
		sn_output_write(&output, end, 8);
	}
	return sn_output_commit(&output, error);
}

static int save_all(struct sn_hpcx_out *out, const char *folder, struct sn_error *error)
{
	struct sn_buffer meta = {0}, yaml = {0};
	char metrics[PATH_MAX];
	int code = sn_hpcx_write_values(out, folder, error);
	if (code == 0)
		code = sn_hpcx_write_trace(out, folder, error);
	sn_hpcx_write_meta(out, &meta);
	sn_hpcx_write_yaml(out, &yaml);
	snprintf(metrics, sizeof(metrics), "%s/metrics", folder);
	if (code == 0 && mkdir(metrics, 0777) < 0)
		code =
		    sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", metrics, strerror(errno));
	if (code == 0)
		code = sn_hpcx_save(folder, "meta.db", &meta, NULL, NULL, error);
	if (code == 0)
		code = sn_hpcx_save(folder, "metrics/default.yaml", &yaml, NULL, NULL, error);
	sn_buffer_release(&meta);
	sn_buffer_release(&yaml);
	return sn_fail_code(error, code);
}

static int write_hpctoolkit(const struct sn_export_request *request, const char *folder,
			    struct sn_error *error)
{
	struct sn_hpcx_out out = {.db = request->db};
	int code = sn_hpcx_metrics_build(&out, request);
	if (code == 0)
		code = sn_hpcx_description_build(&out, request);
	if (code == 0)
		code = sn_hpcx_profiles_build(&out);
	if (code == 0)
		code = sn_hpcx_tree_build(&out);
	if (code != 0)
		sn_fail_memory(error);
	else if (out.metric_count > UINT16_MAX / SN_HPCX_IDS_PER_METRIC)
		code = sn_fail(error, SN_ERR_UNSUPPORTED,
			       "%zu metrics are more than an HPCToolkit database can have: choose "
			       "some with --metric",
			       out.metric_count);
	else
		code = save_all(&out, folder, error);
	sn_buffer_release(&out.description);
	free(out.tree.nodes);
	sn_arena_release(&out.arena);
	return code;
}

static const char *const own[] = {"meta.db", "profile.db", "cct.db", "trace.db", "metrics", NULL};

const struct sn_exporter sn_exporter_hpctoolkit = {
    .name = "hpctoolkit",
    .extension = "hpctoolkit.d",
    .write_folder = write_hpctoolkit,
    .own = own,
};
