/* SPDX-License-Identifier: Apache-2.0 */
/* See send.h. */
#include "send.h"

#include "cmd/command.h"
#include "cmd/metrics.h"
#include "headers.h"
#include "import/core/protobuf.h"
#include "push/gzip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint64_t sn_push_samples(const struct sonde_db *db)
{
	uint64_t samples = 0;
	for (uint32_t p = 0; p < sonde_db_profile_count(db); p++)
		samples += sonde_db_profile(db, p)->samples;
	return samples;
}

/* ---- the body ---- */

static const struct sn_exporter *exporter_of(int form)
{
	const char *name = form == SN_PUSH_PPROF ? "pprof" : "otlp";
	for (size_t i = 0; sn_exporters[i]; i++)
		if (!strcmp(sn_exporters[i]->name, name))
			return sn_exporters[i];
	return NULL;
}

/* Appends what the exporter writes. 0 or a negative enum sn_err. */
static int write_body(const struct sn_exporter *exporter, const struct sn_export_request *request,
		      struct sn_buffer *body, struct sn_error *error)
{
	char *bytes = NULL;
	size_t count = 0;
	FILE *out = open_memstream(&bytes, &count);
	if (!out)
		return sn_fail_memory(error);
	int result = exporter->write(request, out, error);
	bool has_failed = ferror(out);
	if (fclose(out) != 0 || has_failed)
		result = result ? result : sn_fail_memory(error);
	if (!result)
		sn_buffer_put(body, bytes, count);
	free(bytes);
	return !result && body->failed ? sn_fail_memory(error) : result;
}

static int make_body(const struct sn_push_target *target, const struct sn_push_parcel *parcel,
		     struct sn_buffer *body, struct sn_error *error)
{
	struct sn_metric_choice choice;
	struct sn_stack_cut cut = {0};
	struct sn_export_loss loss = {0};
	int status = sn_choice_init(&choice, parcel->db);
	if (status == 0)
		sn_choice_add_all(&choice);
	if (status == 0)
		status = sn_choice_finish(&choice);
	struct sn_export_request request = {
	    .db = parcel->db,
	    .path = parcel->path,
	    .metrics = choice.metrics,
	    .metric_count = choice.metric_count,
	    .cut = &cut,
	    .loss = &loss,
	    .tells_origin = true,
	    .labels = target->labels,
	    .label_count = target->label_count,
	    .identity = parcel->identity,
	    .known = &choice.known,
	};
	int result;
	if (status || choice.metric_count == 0)
		result =
		    sn_fail(error, SN_ERR_MISSING, "'%s' holds no measured values", parcel->path);
	else
		result = write_body(exporter_of(target->form), &request, body, error);
	const char *damage = sonde_db_damage(parcel->db);
	sn_choice_release(&choice);
	return result == 0 && damage ? sn_fail(error, SN_ERR_FORMAT, "%s", damage) : result;
}

/* OTLP's bytes are not compressed by themselves. Returns the coding, NULL: none. */
static const char *pack_body(const struct sn_push_target *target, struct sn_buffer *body)
{
	struct sn_buffer packed = {0};
	if (target->form != SN_PUSH_OTLP || !sn_gzip(body->bytes, body->count, &packed)) {
		sn_buffer_release(&packed);
		return NULL;
	}
	sn_buffer_release(body);
	*body = packed;
	return "gzip";
}

/* ---- the address ---- */

static void put_escaped(struct sn_buffer *url, const char *text)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
	for (; *text; text++)
		if (strchr(plain, *text))
			sn_buffer_byte(url, (unsigned char)*text);
		else
			sn_buffer_print(url, "%%%02X", (unsigned char)*text);
}

/* Pyroscope's name of a series, NAME{KEY=VALUE,...}, has no escape for what separates its parts. */
static void put_label(struct sn_buffer *name, const char *separator, const char *key,
		      const char *value)
{
	if (!*value)
		return;
	size_t before = name->count;
	sn_buffer_print(name, "%s%s=%s", separator, key, value);
	for (size_t i = before + strlen(separator) + strlen(key) + 1; i < name->count; i++)
		if (memchr("{},=\"", name->bytes[i], 5))
			name->bytes[i] = '_';
}

static void put_series(const struct sn_push_target *target, const struct sn_push_parcel *parcel,
		       struct sn_buffer *name)
{
	const char *service = "sonde";
	for (size_t i = 0; i < target->label_count; i++)
		if (!strcmp(target->labels[i].key, "service_name"))
			service = target->labels[i].value;
	sn_buffer_print(name, "%s", service);
	const char *host = sonde_db_profile_count(parcel->db)
			       ? sonde_db_string(parcel->db, sonde_db_profile(parcel->db, 0)->host)
			       : "";
	put_label(name, "{", "host", *host ? host : "unknown");
	for (size_t i = 0; i < target->label_count; i++)
		if (strcmp(target->labels[i].key, "service_name") != 0)
			put_label(name, ",", target->labels[i].key, target->labels[i].value);
	sn_buffer_text(name, "}");
}

/* What Pyroscope wants to know of a file of pprof beside it. */
static void put_query(const struct sn_push_target *target, const struct sn_push_parcel *parcel,
		      struct sn_buffer *url)
{
	struct sn_buffer name = {0};
	put_series(target, parcel, &name);
	sn_buffer_text(url, strchr(sn_buffer_string(url), '?') ? "&name=" : "?name=");
	put_escaped(url, sn_buffer_string(&name));
	sn_buffer_print(url, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof&spyName=sonde",
			parcel->begin_ns / 1000000000, parcel->end_ns / 1000000000);
	url->failed |= name.failed;
	sn_buffer_release(&name);
}

/* An address without a path gets the usual one. */
static void make_url(const struct sn_push_target *target, const struct sn_push_parcel *parcel,
		     struct sn_buffer *url)
{
	const char *host = strstr(target->url, "://") + 3;
	size_t host_end = (size_t)(host - target->url) + strcspn(host, "/?#");
	size_t path_bytes = strcspn(target->url + host_end, "?#");
	const char *query = target->url + host_end + path_bytes;
	bool is_pprof = target->form == SN_PUSH_PPROF;
	if (path_bytes <= 1)
		sn_buffer_print(url, "%.*s%s%s", (int)host_end, target->url,
				is_pprof ? "/ingest" : "/v1development/profiles", query);
	else
		sn_buffer_text(url, target->url);
	bool is_ingest = path_bytes <= 1 || (path_bytes >= 7 && !memcmp(query - 7, "/ingest", 7));
	if (is_pprof && is_ingest)
		put_query(target, parcel, url);
}

/* ---- sending ---- */

/* OTLP may take a request and say that it has rejected some of it. */
static void look_into_answer(const struct sn_push_target *target,
			     const struct sn_http_answer *answer, struct sn_push_verdict *verdict)
{
	struct sn_proto_field outer[2], inner[3];
	if (target->form != SN_PUSH_OTLP || verdict->fate != SN_PUSH_DONE || !answer->body.count ||
	    !SN_PROTO_FIELDS(sn_proto_of(answer->body.bytes, answer->body.count), outer) ||
	    outer[1].wire != SN_PROTO_BYTES || !SN_PROTO_FIELDS(sn_proto_enter(&outer[1]), inner) ||
	    !inner[1].value)
		return;
	verdict->fate = SN_PUSH_REJECTED;
	sn_fail(&verdict->why, SN_ERR_IO, "the server rejects %" PRIu64 " profiles%s%.*s",
		inner[1].value, inner[2].length ? ": " : "", (int)inner[2].length,
		inner[2].bytes ? (const char *)inner[2].bytes : "");
}

static struct sn_push_verdict post(const struct sn_push_target *target,
				   const struct sn_push_parcel *parcel,
				   const struct sn_push_headers *headers, struct sn_buffer *url,
				   const struct sn_buffer *body)
{
	struct sn_error error = {""};
	struct sn_http_answer answer;
	const struct sn_http_request request = {
	    .url = sn_buffer_string(url),
	    .headers = headers->items,
	    .header_count = headers->count,
	    .body = body->bytes,
	    .bytes = body->count,
	    .seconds = target->seconds,
	    .ca_file = target->ca_file,
	    .before_end = parcel->before_end,
	    .is_unwanted = parcel->is_unwanted,
	    .context = parcel->context,
	};
	int result = sn_http_post(&request, &answer, &error);
	struct sn_push_verdict verdict = sn_push_judge(result, &answer, &error);
	look_into_answer(target, &answer, &verdict);
	sn_buffer_release(&answer.body);
	return verdict;
}

struct sn_push_verdict sn_push_send(const struct sn_push_target *target,
				    const struct sn_push_parcel *parcel)
{
	struct sn_push_verdict verdict = {.fate = SN_PUSH_LATER};
	struct sn_buffer body = {0}, url = {0};
	struct sn_push_headers headers = {0};
	const char *coding = NULL;
	int result = make_body(target, parcel, &body, &verdict.why);
	if (!result)
		coding = pack_body(target, &body);
	make_url(target, parcel, &url);
	if (!result && url.failed)
		result = sn_fail_memory(&verdict.why);
	if (!result)
		result =
		    sn_push_headers_make(&headers,
					 target->form == SN_PUSH_OTLP ? "application/x-protobuf"
								      : "application/octet-stream",
					 coding, target->header_file, &verdict.why);
	if (!result)
		verdict = post(target, parcel, &headers, &url, &body);
	sn_push_headers_release(&headers);
	sn_buffer_release(&body);
	sn_buffer_release(&url);
	return verdict;
}
