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

static int save(const char *folder, const char *name, struct sn_hpcx_bytes *bytes,
		struct sn_error *error)
{
	char path[PATH_MAX];
	struct sn_output output;
	if (bytes->failed)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int code = sn_output_open(&output, path, error);
	if (code != 0)
		return code;
	sn_output_write(&output, bytes->bytes, bytes->length);
	return sn_output_commit(&output, error);
}

static int save_all(struct sn_hpcx_out *out, const char *folder, struct sn_error *error)
{
	struct sn_hpcx_bytes meta = {0}, profiles = {0}, contexts = {0}, yaml = {0}, trace = {0};
	char metrics[PATH_MAX];
	int code = sn_hpcx_write_values(out, &profiles, &contexts);
	if (code == 0)
		code = sn_hpcx_write_trace(out, &trace, error);
	sn_hpcx_write_meta(out, &meta);
	sn_hpcx_write_yaml(out, &yaml);
	snprintf(metrics, sizeof(metrics), "%s/metrics", folder);
	if (code == SN_ERR_MEMORY)
		sn_fail(error, SN_ERR_MEMORY, "out of memory");
	else if (code == 0 && mkdir(metrics, 0777) < 0)
		code =
		    sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", metrics, strerror(errno));
	if (code == 0)
		code = save(folder, "meta.db", &meta, error);
	if (code == 0)
		code = save(folder, "profile.db", &profiles, error);
	if (code == 0)
		code = save(folder, "cct.db", &contexts, error);
	if (code == 0 && trace.length)
		code = save(folder, "trace.db", &trace, error);
	if (code == 0)
		code = save(folder, "metrics/default.yaml", &yaml, error);
	free(meta.bytes);
	free(profiles.bytes);
	free(contexts.bytes);
	free(yaml.bytes);
	free(trace.bytes);
	return code;
}

static int write_hpctoolkit(const struct sn_export_request *request, const char *folder,
			    struct sn_error *error)
{
	struct sn_hpcx_out out = {.db = request->db};
	int code = sn_hpcx_metrics_make(&out, request);
	if (code == 0)
		code = sn_hpcx_description_make(&out, request);
	if (code == 0)
		code = sn_hpcx_profiles_make(&out);
	if (code == 0)
		code = sn_hpcx_tree_make(&out);
	if (code != 0)
		sn_fail(error, code, "out of memory");
	else if (out.metric_count > UINT16_MAX / SN_HPCX_IDS_PER_METRIC)
		code = sn_fail(error, SN_ERR_UNSUPPORTED,
			       "%zu metrics are more than an HPCToolkit database can have: choose "
			       "some with --metric",
			       out.metric_count);
	else
		code = save_all(&out, folder, error);
	for (size_t i = 0; i < out.metric_count; i++)
		free(out.metrics[i].name);
	free(out.metrics);
	free(out.profiles);
	free(out.description.bytes);
	sn_hpcx_tree_free(&out.tree);
	return code;
}

static const char *const own[] = {"meta.db", "profile.db", "cct.db", "trace.db", "metrics", NULL};

const struct sn_exporter sn_exporter_hpctoolkit = {
    .name = "hpctoolkit",
    .summary = "a database (a folder) for hpcviewer and Hatchet",
    .extension = "hpctoolkit.d",
    .write_folder = write_hpctoolkit,
    .own = own,
};
