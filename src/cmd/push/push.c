/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde push`: a database, a range of a store, or what is new in a store, to a store of many machines. */
#include "follow.h"

#include "cmd/command.h"
#include "cmd/store/store.h"
#include "push/http.h"
#include "show/number.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REQUEST_SECONDS = 30 };

struct request {
	struct sn_options options;
	struct sn_push_target target;
	struct sn_push_follow follow;
	struct sn_texts labels;
};

/* "KEY=VALUE". The text is the command line's, and stays. */
static int parse_label(void *context, const struct sn_options *options, const char *text)
{
	struct sn_push_target *target = context;
	static char copies[64][1024];
	char *copy = copies[target->label_count];
	const char *equals = strchr(text, '=');
	if (!equals || equals == text || !equals[1])
		return sn_options_refuse(options, "--label", text, "no KEY=VALUE");
	if (target->label_count == sizeof(target->labels) / sizeof(*target->labels) ||
	    strlen(text) >= sizeof(copies[0]))
		return sn_options_refuse(options, "--label", text, "too long, or one too many");
	strcpy(copy, text);
	copy[equals - text] = '\0';
	target->labels[target->label_count++] =
	    (struct sn_export_label){copy, copy + (equals - text) + 1};
	return 0;
}

static bool read_options(struct request *request)
{
	struct sn_push_target *target = &request->target;
	const struct sn_option table[] = {
	    {"to", .text = &target->url},
	    {"as", SN_OPTION_CHOICE(target->form, "otlp", "pprof")},
	    {"label", .parse = parse_label, .context = target},
	    {"header-file", .text = &target->header_file, .is_path = true},
	    {"ca", .text = &target->ca_file, .is_path = true},
	    {"timeout", SN_OPTION_WHOLE(target->seconds, 1, 3600)},
	    {"follow", .flag = &request->follow.is_endless},
	    {"cursor", .text = &request->follow.cursor, .is_path = true},
	    {"resend", .flag = &request->follow.resends},
	    {"quiet", 'q', .flag = &request->follow.is_quiet},
	    SN_STORE_OPTIONS,
	    {0}};
	return sn_options_read(&request->options, table);
}

/* When it was measured. */
static void find_range(struct sn_push_parcel *parcel)
{
	const struct sonde_db *db = parcel->db;
	parcel->begin_ns = UINT64_MAX;
	for (uint32_t p = 0; p < sonde_db_profile_count(db); p++) {
		const struct sonde_db_profile *profile = sonde_db_profile(db, p);
		if (profile->start_ns < parcel->begin_ns)
			parcel->begin_ns = profile->start_ns;
		if (profile->end_ns > parcel->end_ns)
			parcel->end_ns = profile->end_ns;
	}
	if (parcel->begin_ns > parcel->end_ns)
		parcel->begin_ns = parcel->end_ns;
}

static int push_database(void *context, struct sonde_db *db, const char *path)
{
	const struct request *request = context;
	struct sn_push_parcel parcel = {.db = db, .path = path};
	find_range(&parcel);
	struct sn_push_verdict verdict = sn_push_send(&request->target, &parcel);
	if (verdict.fate != SN_PUSH_DONE)
		return sn_command_fail(
		    "cannot push to '%s': %s%s", request->target.url, verdict.why.text,
		    verdict.fate == SN_PUSH_UNSURE ? " (it may have arrived)" : "");
	if (!request->follow.is_quiet)
		sn_command_warn("pushed %s samples to '%s'",
				sn_number_counted((double)sn_push_samples(db)).text,
				request->target.url);
	return SN_EXIT_DONE;
}

/* The daemon makes the cursor's folder before its first flush. */
static bool may_follow(const char *store)
{
	char path[4200];
	struct stat status;
	snprintf(path, sizeof(path), "%s/push", store);
	return access(store, R_OK | X_OK) == 0 &&
	       (sn_store_is(store) || (stat(path, &status) == 0 && S_ISDIR(status.st_mode)));
}

static int follow_store(struct request *request)
{
	request->follow.target = &request->target;
	request->follow.store = sn_options_operand(&request->options, "store");
	if (!request->follow.store)
		return SN_EXIT_USAGE;
	if (sn_store_has_range())
		return sn_command_misuse(request->options.command,
					 "--since, --until and --image are for one push by hand");
	if (!may_follow(request->follow.store))
		return sn_command_fail(
		    "'%s' is no folder in which sonded keeps samples, or not yours "
		    "to read",
		    request->follow.store);
	return sn_push_follow(&request->follow);
}

int sn_command_push_run(int argc, char **argv)
{
	struct request request = {.options = {&sn_command_push, argc, argv},
				  .target = {.seconds = REQUEST_SECONDS}};
	struct sn_error error = {""};
	if (!read_options(&request))
		return request.options.status;
	if (!request.target.url)
		return sn_command_misuse(request.options.command, "say where to: --to URL");
	if (sn_http_check(request.target.url, &error))
		return sn_command_fail("%s", error.text);
	if (request.follow.is_endless || request.follow.cursor)
		return follow_store(&request);
	if (request.follow.resends)
		return sn_command_misuse(request.options.command,
					 "--resend is for --follow and --cursor");
	return sn_command_read(&request.options, "database", push_database, &request);
}
