/* SPDX-License-Identifier: Apache-2.0 */
/* See http.h. */
#include "http.h"

#include "late_curl.h"

#include <string.h>

enum { CONNECT_SECONDS = 10, ANSWER_BYTES = 65536 };

struct transfer {
	const struct sn_http_request *request;
	struct sn_http_answer *answer;
	size_t sent; /* given to libcurl */
};

static size_t on_read(char *to, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;
	const struct sn_http_request *request = transfer->request;
	size_t left = request->bytes - transfer->sent, room = size * count;
	if (left == 0)
		return 0;
	if (left == 1) {
		if (request->before_end && request->before_end(request->context) != 0)
			return CURL_READFUNC_ABORT;
		transfer->answer->may_have_arrived = true;
	} else if (left <= room) {
		left--;
	}
	size_t taken = left < room ? left : room;
	memcpy(to, (const char *)request->body + transfer->sent, taken);
	transfer->sent += taken;
	return taken;
}

static size_t on_answer(char *bytes, size_t size, size_t count, void *context)
{
	struct sn_buffer *body = context;
	size_t room = body->count < ANSWER_BYTES ? ANSWER_BYTES - body->count : 0;
	size_t length = size * count;
	sn_buffer_put(body, bytes, length < room ? length : room);
	return length; /* the rest is of no interest */
}

static int on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t upload_total,
		       curl_off_t upload_now)
{
	const struct transfer *transfer = context;
	const struct sn_http_request *request = transfer->request;
	return request->is_unwanted && !transfer->answer->may_have_arrived &&
	       request->is_unwanted(request->context);
}

static struct curl_slist *list_headers(const struct sn_http_request *request)
{
	/* without it a large body would wait for a server that need not know of it */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");
	for (size_t i = 0; list && i < request->header_count; i++) {
		struct curl_slist *longer = curl_slist_append(list, request->headers[i]);
		if (!longer)
			curl_slist_free_all(list);
		list = longer;
	}
	return list;
}

/* A request may not be begun again after a part of it has left: neither by another version of HTTP nor on a new
 * connection. */
static void set_request(CURL *curl, const struct sn_http_request *request,
			const struct curl_slist *headers)
{
	curl_easy_setopt(curl, CURLOPT_URL, request->url);
#if LIBCURL_VERSION_NUM >= 0x075500 /* 7.85 */
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "sonde/" SN_VERSION);
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->bytes);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)request->seconds);
	if (request->ca_file)
		curl_easy_setopt(curl, CURLOPT_CAINFO, request->ca_file);
}

static void set_callbacks(CURL *curl, struct transfer *transfer, char *why)
{
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_read);
	curl_easy_setopt(curl, CURLOPT_READDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer->answer->body);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
}

static void take_answer(CURL *curl, struct sn_http_answer *answer)
{
	long status = 0;
	curl_off_t retry = 0;
	const char *location = NULL;
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry);
	curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &location);
	answer->status = (unsigned)status;
	answer->retry_seconds = retry < 0 ? 0 : retry > 86400 ? 86400 : (unsigned)retry;
	if (location)
		strncpy(answer->location, location, sizeof(answer->location) - 1);
}

static int perform(CURL *curl, struct transfer *transfer, struct sn_error *error)
{
	char why[CURL_ERROR_SIZE] = "";
	struct curl_slist *headers = list_headers(transfer->request);
	if (!headers)
		return sn_fail_memory(error);
	set_request(curl, transfer->request, headers);
	set_callbacks(curl, transfer, why);
	CURLcode code = curl_easy_perform(curl);
	if (code == CURLE_OK)
		take_answer(curl, transfer->answer);
	curl_slist_free_all(headers);
	return code == CURLE_OK
		   ? 0
		   : sn_fail(error, SN_ERR_IO, "%s", *why ? why : curl_easy_strerror(code));
}

int sn_http_is_available(struct sn_error *error)
{
	return sn_late_curl_load() ? 0
				   : sn_fail(error, SN_ERR_UNSUPPORTED,
					     "libcurl.so.4 is missing (Debian: libcurl4)");
}

int sn_http_post(const struct sn_http_request *request, struct sn_http_answer *answer,
		 struct sn_error *error)
{
	struct transfer transfer = {.request = request, .answer = answer};
	*answer = (struct sn_http_answer){0};
	int result = sn_http_is_available(error);
	if (result)
		return result;
	CURL *curl = curl_easy_init();
	if (!curl)
		return sn_fail_memory(error);
	result = perform(curl, &transfer, error);
	curl_easy_cleanup(curl);
	return result;
}
