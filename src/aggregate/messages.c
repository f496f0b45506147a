/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives; see messages.h. */
#include "messages.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define COMPARE(left, right)                                                                       \
	if ((left) != (right))                                                                     \
	return (left) < (right) ? -1 : 1

enum { SENT = 1, RECEIVED = 2 }; /* the recorder's attribute `message` */

void sn_messages_release(struct sn_messages *messages)
{
	free(messages->items);
	free(messages->pairs);
	*messages = (struct sn_messages){0};
}

static uint32_t find_key(const struct sn_trace_directory *all, const char *name)
{
	for (uint32_t i = 0; i < all->key_count; i++)
		if (all->keys[i].name_length == strlen(name) &&
		    !memcmp(all->keys[i].name, name, strlen(name)))
			return i;
	return SN_ID_NONE;
}

void sn_message_keys_find(const struct sn_trace_directory *all, struct sn_message_keys *keys)
{
	*keys = (struct sn_message_keys){find_key(all, "message"), find_key(all, "peer"),
					 find_key(all, "tag"), find_key(all, "sequence"),
					 find_key(all, "bytes")};
}

static bool value_of(const struct sn_trace_event *event, uint32_t key, uint64_t *value)
{
	for (uint32_t i = 0; i < event->attribute_count; i++)
		if (event->attributes[i].key == key) {
			*value = event->attributes[i].value;
			return true;
		}
	return false;
}

bool sn_message_of(const struct sn_message_keys *keys, const struct sn_trace_event *event,
		   uint32_t file, uint32_t rank, struct sn_message *message)
{
	uint64_t direction, peer;
	*message =
	    (struct sn_message){.file = file, .start_ns = event->start_ns, .end_ns = event->end_ns};
	if (keys->message == SN_ID_NONE || !event->attribute_count ||
	    !value_of(event, keys->message, &direction) || direction < SENT ||
	    direction > RECEIVED || !value_of(event, keys->peer, &peer) || peer >= SN_ID_NONE)
		return false;
	message->is_sent = direction == SENT;
	message->from = message->is_sent ? rank : (uint32_t)peer;
	message->to = message->is_sent ? (uint32_t)peer : rank;
	value_of(event, keys->tag, &message->tag);
	value_of(event, keys->bytes, &message->bytes);
	message->is_numbered = value_of(event, keys->number, &message->number);
	return true;
}

int sn_messages_add(struct sn_messages *messages, const struct sn_message *message)
{
	if (sn_vec_reserve(&messages->items, &messages->capacity, messages->count + 1) < 0)
		return SN_ERR_MEMORY;
	messages->items[messages->count++] = *message;
	return 0;
}

/* ---- which is which ---- */

static int compare_kinds(const struct sn_message *a, const struct sn_message *b)
{
	COMPARE(a->from, b->from);
	COMPARE(a->to, b->to);
	COMPARE(a->tag, b->tag);
	return 0;
}

/* Those of one file and direction, in the order in which they were done. */
static int compare_order(const void *left, const void *right)
{
	const struct sn_message *a = left, *b = right;
	int order = compare_kinds(a, b);
	if (order)
		return order;
	COMPARE(a->is_sent, b->is_sent);
	COMPARE(a->file, b->file);
	COMPARE(a->end_ns, b->end_ns);
	COMPARE(a->start_ns, b->start_ns);
	return 0;
}

static int compare_numbers(const void *left, const void *right)
{
	const struct sn_message *a = left, *b = right;
	int order = compare_kinds(a, b);
	if (order)
		return order;
	COMPARE(a->number, b->number);
	COMPARE(b->is_sent, a->is_sent);
	COMPARE(a->file, b->file);
	COMPARE(a->end_ns, b->end_ns);
	return 0;
}

static int compare_places(const void *left, const void *right)
{
	const struct sn_message *a = left, *b = right;
	COMPARE(a->file, b->file);
	COMPARE(a->end_ns, b->end_ns);
	COMPARE(a->start_ns, b->start_ns);
	COMPARE(a->is_sent, b->is_sent);
	return compare_kinds(a, b);
}

static void sort(struct sn_messages *messages, int (*compare)(const void *, const void *))
{
	if (messages->count)
		qsort(messages->items, messages->count, sizeof(*messages->items), compare);
}

static void number(struct sn_messages *messages)
{
	sort(messages, compare_order);
	for (size_t i = 0; i < messages->count; i++) {
		struct sn_message *message = messages->items + i, *last = message - 1;
		bool is_next = i && !compare_kinds(last, message) && last->file == message->file &&
			       last->is_sent == message->is_sent;
		if (!message->is_numbered)
			message->number = is_next ? last->number + 1 : 0;
	}
}

static int add_pair(struct sn_messages *messages, struct sn_message *sent,
		    struct sn_message *received, uint64_t first_link)
{
	if (sn_vec_reserve(&messages->pairs, &messages->pair_capacity, messages->pair_count + 1) <
	    0)
		return SN_ERR_MEMORY;
	sent->link = received->link = first_link + messages->pair_count;
	messages->pairs[messages->pair_count++] =
	    (struct sn_message_pair){sent->file, received->file, sent->start_ns, received->end_ns};
	return 0;
}

int sn_messages_match(struct sn_messages *messages, uint64_t first_link)
{
	int result = 0;
	number(messages);
	sort(messages, compare_numbers);
	for (size_t first = 0, end; first < messages->count && !result; first = end) {
		struct sn_message *one = messages->items + first;
		for (end = first + 1;
		     end < messages->count && !compare_kinds(one, messages->items + end) &&
		     one->number == messages->items[end].number;
		     end++)
			;
		if (end == first + 2 && one->is_sent && !one[1].is_sent &&
		    one->bytes == one[1].bytes)
			result = add_pair(messages, one, one + 1, first_link);
	}
	sort(messages, compare_places);
	return result;
}

uint64_t sn_messages_link(const struct sn_messages *messages, const struct sn_message *message)
{
	const struct sn_message *found = messages->count
					     ? bsearch(message, messages->items, messages->count,
						       sizeof(*messages->items), compare_places)
					     : NULL;
	return found ? found->link : 0;
}
