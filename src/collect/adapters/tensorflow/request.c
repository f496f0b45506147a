/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes requests for tensors, and finds the ranks of tasks. */
#include "tensorflow.h"

#include "collect/interface/message.h"

#include <stdlib.h>
#include <string.h>

#define NO_RANK	  UINT32_MAX
#define RANKS_MAX 1000000u
#define JOB_STEP  1000u

/* ---- which rank ---- */

struct text {
	const char *at;
	size_t length;
};

static bool is_equal(struct text text, const char *other)
{
	return strlen(other) == text.length && !memcmp(text.at, other, text.length);
}

/* The text behind `name` up to the next slash. */
static struct text part_of(struct text device, const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; i + length <= device.length; i++)
		if (!memcmp(device.at + i, name, length)) {
			struct text part = {device.at + i + length, 0};
			while (i + length + part.length < device.length &&
			       part.at[part.length] != '/')
				part.length++;
			return part;
		}
	return (struct text){NULL, 0};
}

/* JSON's next string at or after *at, which moves behind it; false where none comes before one of
 * `ends`, on which *at stays. */
static bool next_string(const char **at, const char *ends, struct text *text)
{
	const char *now = *at;
	while (*now && *now != '"' && !strchr(ends, *now))
		now++;
	*at = now;
	if (*now != '"')
		return false;
	const char *end = now + 1;
	while (*end && *end != '"')
		end += *end == '\\' && end[1] ? 2 : 1;
	*text = (struct text){now + 1, (size_t)(end - now - 1)};
	*at = *end ? end + 1 : end;
	return true;
}

/* The next job of a cluster and how many tasks it has. */
static bool next_job(const char **at, struct text *name, uint32_t *tasks)
{
	struct text address;
	*tasks = 0;
	if (!next_string(at, "}", name))
		return false;
	while (**at && **at != '[' && **at != '}')
		(*at)++;
	while (*tasks < RANKS_MAX && next_string(at, "]}", &address))
		(*tasks)++;
	return true;
}

/* The jobs of TF_CONFIG; NULL for none. */
static const char *cluster_of(const char *config)
{
	const char *at = config ? strstr(config, "\"cluster\"") : NULL;
	at = at ? strchr(at, '{') : NULL;
	return at ? at + 1 : NULL;
}

/* Lower ones come first. */
static unsigned order_of(struct text job)
{
	static const char *const jobs[] = {"chief", "master", "worker", "ps"};
	unsigned order = 0;
	while (order < sizeof(jobs) / sizeof(*jobs) && !is_equal(job, jobs[order]))
		order++;
	return order;
}

/* The tasks of jobs that come before one; NO_RANK where the cluster has no such job. */
static uint32_t tasks_before(const char *cluster, struct text job)
{
	struct text name;
	uint32_t tasks, before = 0;
	bool is_there = false;
	while (next_job(&cluster, &name, &tasks)) {
		bool is_this = name.length == job.length && !memcmp(name.at, job.at, job.length);
		is_there |= is_this;
		if (!is_this && (order_of(name) < order_of(job) ||
				 (order_of(name) == order_of(job) && !is_there)))
			before += tasks;
	}
	return is_there ? before : NO_RANK;
}

uint32_t sn_tf_rank(const char *device, size_t length, const char *config)
{
	struct text whole = {device, length};
	struct text job = part_of(whole, "/job:"), task = part_of(whole, "/task:");
	const char *cluster = cluster_of(config);
	uint32_t number = 0, before = NO_RANK;
	if (!job.length || !task.length)
		return NO_RANK;
	for (size_t i = 0; i < task.length; i++) {
		if (task.at[i] < '0' || task.at[i] > '9' || number > RANKS_MAX)
			return NO_RANK;
		number = number * 10 + (uint32_t)(task.at[i] - '0');
	}
	if (cluster)
		before = tasks_before(cluster, job);
	return number + (before == NO_RANK ? JOB_STEP * order_of(job) : before);
}

/* ---- requests ---- */

struct field {
	uint32_t number;
	uint64_t value;
	struct text text;
};

static bool varint(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
		unsigned char byte = *(*at)++;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* False at the end, and where it is damaged. */
static bool next_field(const unsigned char **at, const unsigned char *end, struct field *field)
{
	uint64_t tag, length = 0;
	if (*at >= end || !**at || !varint(at, end, &tag))
		return false;
	*field = (struct field){.number = (uint32_t)(tag >> 3)};
	switch (tag & 7) {
	case 0:
		return varint(at, end, &field->value);
	case 1:
		length = 8;
		break;
	case 2:
		if (!varint(at, end, &length))
			return false;
		break;
	case 5:
		length = 4;
		break;
	default:
		return false;
	}
	if (length > (uint64_t)(end - *at))
		return false;
	field->text = (struct text){(const char *)*at, (size_t)length};
	*at += length;
	return true;
}

/* "SENDER'S DEVICE;incarnation;RECEIVER'S DEVICE;name;..." */
static void split_key(struct text key, struct text *sender, struct text *receiver)
{
	struct text parts[3] = {{key.at, 0}};
	unsigned part = 0;
	for (size_t i = 0; i < key.length && part < 3; i++) {
		if (key.at[i] != ';')
			parts[part].length++;
		else if (++part < 3)
			parts[part] = (struct text){key.at + i + 1, 0};
	}
	*sender = parts[0];
	*receiver = part >= 2 ? parts[2] : (struct text){key.at, 0};
}

static uint64_t hash(struct text text, uint64_t seed)
{
	for (size_t i = 0; i < text.length; i++)
		seed = (seed ^ (unsigned char)text.at[i]) * 0x100000001b3u;
	return seed;
}

bool sn_tf_decode(const unsigned char *bytes, size_t length, bool is_buffer,
		  struct sn_tf_request *request)
{
	enum { STEP = 1, KEY = 2, BYTES = 3, TENSOR_ID = 7, FROM = 8, TO = 9, BUFFER_ID = 10 };
	const unsigned char *at = bytes, *end = bytes + length;
	struct text key = {NULL, 0}, sender = {NULL, 0}, receiver = {NULL, 0};
	struct field field;
	uint64_t step = 0, id = 0;
	*request = (struct sn_tf_request){.bytes = SN_MESSAGE_NO_BYTES};
	while (next_field(&at, end, &field)) {
		if (field.number == STEP)
			step = field.value;
		else if (field.number == KEY)
			key = field.text;
		else if (is_buffer && field.number == BYTES)
			request->bytes = field.value;
		else if (is_buffer && field.number == FROM)
			sender = field.text;
		else if (is_buffer && field.number == TO)
			receiver = field.text;
		else if (field.number == (is_buffer ? BUFFER_ID : TENSOR_ID))
			id = field.value;
	}
	if (!is_buffer && key.at)
		split_key(key, &sender, &receiver);
	if ((at < end && *at) || !sender.at || !receiver.at)
		return false;
	/* a number that is known to be good as one of a kind; events have no use for its sign */
	request->id = sn_message_mix(id ? id : hash(key, step)) >> 1;
	const char *config = getenv("TF_CONFIG");
	request->sender = sn_tf_rank(sender.at, sender.length, config);
	request->receiver = sn_tf_rank(receiver.at, receiver.length, config);
	return request->sender != NO_RANK && request->receiver != NO_RANK;
}
