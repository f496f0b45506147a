/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives; see messages.h. */
#include "messages.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Not told at this end. */
#define NO_BYTES UINT64_MAX

enum { SENT = 1, RECEIVED = 2 }; /* the recorder's attribute `message` */

void sn_messages_release(struct sn_messages *messages)
{
	free(messages->items);
	free(messages->pairs);
	free(messages->groups);
	*messages = (struct sn_messages){0};
}

void sn_message_keys_find(const struct sn_trace_directory *all, struct sn_message_keys *keys)
{
	const struct {
		const char *name;
		uint32_t *key;
	} names[] = {{"message", &keys->message}, {"peer", &keys->peer},
		     {"tag", &keys->tag},	  {"sequence", &keys->number},
		     {"bytes", &keys->bytes},	  {"communicator", &keys->communicator},
		     {"group", &keys->group},	  {"communicator-rank", &keys->rank},
		     {"order", &keys->order}};
	memset(keys, 0xff, sizeof(*keys)); /* SN_ID_NONE */
	for (uint32_t i = all->key_count; i--;)
		for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
			if (all->keys[i].name_length == strlen(names[n].name) &&
			    !memcmp(all->keys[i].name, names[n].name, strlen(names[n].name)))
				*names[n].key = i;
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
		   uint32_t file, uint32_t rank, struct sn_recorded_message *message)
{
	uint64_t direction, peer, own = rank;
	*message = (struct sn_recorded_message){
	    .file = file, .bytes = NO_BYTES, .start_ns = event->start_ns, .end_ns = event->end_ns};
	if (keys->message == SN_ID_NONE || !event->attribute_count ||
	    !value_of(event, keys->message, &direction) || direction < SENT ||
	    direction > RECEIVED || !value_of(event, keys->peer, &peer) || peer >= SN_ID_NONE)
		return false;
	value_of(event, keys->rank, &own);
	if (own >= SN_ID_NONE)
		return false;
	message->is_sent = direction == SENT;
	message->from = message->is_sent ? (uint32_t)own : (uint32_t)peer;
	message->to = message->is_sent ? (uint32_t)peer : (uint32_t)own;
	value_of(event, keys->tag, &message->tag);
	value_of(event, keys->bytes, &message->bytes);
	value_of(event, keys->communicator, &message->communicator);
	value_of(event, keys->group, &message->group);
	value_of(event, keys->order, &message->order);
	message->is_numbered = value_of(event, keys->number, &message->number);
	message->recorded = message->is_numbered ? message->number : UINT64_MAX;
	return true;
}

int sn_messages_add(struct sn_messages *messages, const struct sn_recorded_message *message)
{
	return sn_vec_push(&messages->items, &messages->capacity, &messages->count, *message)
		   ? SN_ERR_MEMORY
		   : 0;
}

/* ---- which is which ---- */

static int compare_kinds(const struct sn_recorded_message *a, const struct sn_recorded_message *b)
{
	return SN_ORDER_BY(a, b, from, to, communicator, tag);
}

/* Those of one file and direction, in the order in which they were done. */
SN_SORT_BY(sort_in_order, struct sn_recorded_message, const void *,
	   SN_ORDER_BY(a, b, from, to, communicator, tag, is_sent, file, order, end_ns, start_ns));

/* Those with a number before those without, and what was sent before what was received. */
SN_SORT_BY(sort_by_number, struct sn_recorded_message, const void *,
	   compare_kinds(a, b)
	       ?: SN_ORDER(b->is_numbered, a->is_numbered)
	       ?: SN_ORDER(a->number, b->number)
	       ?: SN_ORDER(b->is_sent, a->is_sent)
	       ?: SN_ORDER_BY(a, b, file, end_ns));

/* One call may have waited for many: by what else tells them apart. */
SN_SORT_BY(sort_by_place, struct sn_recorded_message, const void *,
	   SN_ORDER_BY(a, b, file, end_ns, start_ns, is_sent, recorded, order, from, to,
		       communicator, tag));

/* Messages of one kind, those received before those sent, each in order. */
struct kind {
	struct sn_recorded_message *items;
	size_t count, received;
};

static size_t count_numbered(const struct sn_recorded_message *items, size_t count)
{
	size_t numbered = 0;
	for (size_t i = 0; i < count; i++)
		numbered += items[i].is_numbered;
	return numbered;
}

static bool is_of_one_file(const struct sn_recorded_message *items, size_t count)
{
	return !count || items[0].file == items[count - 1].file;
}

/* The n-th is the n-th, where nothing is missing. */
static void count_all(const struct kind *kind)
{
	if (kind->received * 2 != kind->count || !is_of_one_file(kind->items, kind->received) ||
	    !is_of_one_file(kind->items + kind->received, kind->received))
		return;
	for (size_t i = 0; i < kind->count; i++) {
		kind->items[i].number = i % kind->received;
		kind->items[i].is_numbered = true;
	}
}

/* Receives without a number take, in order, those sent that no other has: if there are as many. */
static int fill_in(const struct kind *kind)
{
	size_t sent = kind->count - kind->received, taken = 0, left = 0, at = 0;
	uint64_t *numbers = malloc(kind->count * sizeof(*numbers)), *others = numbers + sent;
	if (!numbers)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < sent; i++)
		numbers[i] = kind->items[kind->received + i].number;
	for (size_t i = 0; i < kind->received; i++)
		if (kind->items[i].is_numbered)
			others[taken++] = kind->items[i].number;
	sn_sort_u64(numbers, sent);
	sn_sort_u64(others, taken);
	for (size_t i = 0; i < sent; i++) {
		while (at < taken && others[at] < numbers[i])
			at++;
		if (at == taken || others[at] != numbers[i])
			numbers[left++] = numbers[i];
	}
	at = 0;
	for (size_t i = 0; i < kind->received && left == kind->received - taken; i++) {
		if (kind->items[i].is_numbered)
			continue;
		kind->items[i].number = numbers[at++];
		kind->items[i].is_numbered = true;
	}
	free(numbers);
	return 0;
}

static int number_kind(const struct kind *kind)
{
	size_t sent = kind->count - kind->received;
	size_t sent_numbers = count_numbered(kind->items + kind->received, sent);
	size_t received_numbers = count_numbered(kind->items, kind->received);
	if (received_numbers < kind->received && sent && sent_numbers == sent)
		return fill_in(kind);
	if (!sent_numbers && !received_numbers)
		count_all(kind);
	return 0;
}

static int number(struct sn_messages *messages)
{
	int result = 0;
	sort_in_order(messages->items, messages->count, NULL);
	for (size_t first = 0, end; first < messages->count && !result; first = end) {
		struct kind kind = {.items = messages->items + first};
		for (end = first;
		     end < messages->count && !compare_kinds(kind.items, messages->items + end);
		     end++)
			kind.received += !messages->items[end].is_sent;
		kind.count = end - first;
		result = number_kind(&kind);
	}
	return result;
}

/* ---- groups ---- */

SN_SORT_BY(sort_groups, struct sn_message_group, const void *, SN_ORDER_BY(a, b, file, name));

static struct sn_message_group *find_group(const struct sn_messages *messages, uint32_t file,
					   uint64_t name)
{
	struct sn_message_group wanted = {.file = file, .name = name};
	size_t count = messages->group_count;
	struct sn_message_group *groups = messages->groups;
	size_t at = sn_search(i, count, sort_groups_order(groups + i, &wanted, NULL) < 0);
	return at < count && !sort_groups_order(groups + at, &wanted, NULL) ? groups + at : NULL;
}

/* Those that a message names, each once. */
static int list_groups(struct sn_messages *messages)
{
	size_t kept = 0;
	for (size_t i = 0; i < messages->count; i++) {
		const struct sn_recorded_message *one = messages->items + i;
		if (one->group &&
		    sn_vec_push(&messages->groups, &messages->group_capacity,
				&messages->group_count,
				(struct sn_message_group){.file = one->file, .name = one->group}))
			return SN_ERR_MEMORY;
	}
	sort_groups(messages->groups, messages->group_count, NULL);
	for (size_t i = 0; i < messages->group_count; i++)
		if (!kept ||
		    sort_groups_order(messages->groups + kept - 1, messages->groups + i, NULL))
			messages->groups[kept++] = messages->groups[i];
	messages->group_count = kept;
	for (size_t i = 0; i < kept; i++)
		messages->groups[i].same = (uint32_t)i;
	return 0;
}

static uint32_t root_of(const struct sn_messages *messages, uint32_t at)
{
	while (messages->groups[at].same != at)
		at = messages->groups[at].same;
	return at;
}

static int join_groups(struct sn_messages *messages)
{
	if (list_groups(messages))
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < messages->pair_count; i++) {
		const struct sn_message_pair *pair = messages->pairs + i;
		const struct sn_message_group *from = find_group(messages, pair->from,
								 pair->from_group),
					      *to = find_group(messages, pair->to, pair->to_group);
		if (!from || !to)
			continue;
		uint32_t a = root_of(messages, (uint32_t)(from - messages->groups));
		uint32_t b = root_of(messages, (uint32_t)(to - messages->groups));
		messages->groups[a < b ? b : a].same = a < b ? a : b;
	}
	return 0;
}

uint64_t sn_messages_group(const struct sn_messages *messages, uint32_t file, uint64_t name)
{
	const struct sn_message_group *found = find_group(messages, file, name);
	return found
		   ? messages->groups[root_of(messages, (uint32_t)(found - messages->groups))].name
		   : name;
}

/* ---- pairs ---- */

static int add_pair(struct sn_messages *messages, struct sn_recorded_message *sent,
		    struct sn_recorded_message *received, uint64_t first_link)
{
	struct sn_message_pair pair = {sent->file,	 received->file, sent->start_ns,
				       received->end_ns, sent->group,	 received->group};
	sent->link = received->link = first_link + messages->pair_count;
	return sn_vec_push(&messages->pairs, &messages->pair_capacity, &messages->pair_count, pair)
		   ? SN_ERR_MEMORY
		   : 0;
}

int sn_messages_match(struct sn_messages *messages, uint64_t first_link)
{
	int result = number(messages);
	if (result)
		return result;
	sort_by_number(messages->items, messages->count, NULL);
	for (size_t first = 0, end; first < messages->count && !result; first = end) {
		struct sn_recorded_message *one = messages->items + first;
		for (end = first + 1;
		     end < messages->count && !compare_kinds(one, messages->items + end) &&
		     one->is_numbered == messages->items[end].is_numbered &&
		     one->number == messages->items[end].number;
		     end++)
			;
		if (end == first + 2 && one->is_numbered && one->is_sent && !one[1].is_sent &&
		    (one->bytes == one[1].bytes || one->bytes == NO_BYTES ||
		     one[1].bytes == NO_BYTES))
			result = add_pair(messages, one, one + 1, first_link);
	}
	sort_by_place(messages->items, messages->count, NULL);
	return result ? result : join_groups(messages);
}

uint64_t sn_messages_link(const struct sn_messages *messages,
			  const struct sn_recorded_message *message)
{
	const struct sn_recorded_message *items = messages->items;
	size_t at =
	    sn_search(i, messages->count, sort_by_place_order(items + i, message, NULL) < 0);
	bool is_it = at < messages->count && !sort_by_place_order(items + at, message, NULL);
	return is_it ? items[at].link : 0;
}
