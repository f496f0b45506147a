/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording of Level Zero, whose calls are made again: by Level Zero's own loader, on whatever driver that finds. Handles and memory are
 * those that this driver gives, in place of the recorded ones. A call is made when the recorded one had ended, so whatever it waited for has
 * been asked for before; where it found something done, it waits for that here. Calls that failed are not made.
 */
#include "play.h"

#include <dlfcn.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define NAMES		512u
#define MOST_PARAMETERS 16u
#define SCRATCH_BYTES	((size_t)1 << 30) /* of which what is used takes memory */
#define NOT_READY	1

typedef uint64_t word;
/* All parameters are whole numbers or pointers: those beyond what a function has are not looked at. */
typedef int function(word, word, word, word, word, word, word, word, word, word, word, word);

static const struct known {
	const char *name, *letters;
} all[] = {
#define ZE(name, letters) {"ze" #name, letters},
#include "../../gpu/record/levelzero/calls.def"
#undef ZE
};

static struct call {
	const struct known *known; /* NULL: it is not played */
	function *make;
} calls[NAMES];

/* ---- loading ---- */

void replay_load_begin(void)
{
}

static void read_name(const struct recording_head *head)
{
	const struct recording_name *name = (const void *)(head + 1);
	const char *text = replay_text_of(head, sizeof(*name));
	if (name->domain != RECORDING_LEVEL_ZERO || name->cbid >= NAMES)
		return;
	for (size_t index = 0; index < sizeof(all) / sizeof(*all); index++)
		if (!strcmp(all[index].name, text))
			calls[name->cbid].known = &all[index];
}

/* What a parameter pointed at, in the recording; it may be written to. 0: nothing was written of it. */
static word pointed(word address, size_t bytes)
{
	const struct recording_pointed *found = address ? replay_at(address) : NULL;
	const struct recording_head *head = (const void *)found;
	return found && replay_rest_of(head - 1, sizeof(*found)) >= bytes
		   ? (word)(uintptr_t)(found + 1)
		   : 0;
}

static uint32_t number_at(word place)
{
	return place ? *(const uint32_t *)(uintptr_t)place : 0;
}

/* A description has no other behind it here. */
static word description(word address, char letter)
{
	size_t bytes = letter == 'd' ? 24 : letter == 'q' ? 40 : 32;
	word *at = (word *)(uintptr_t)pointed(address, bytes);
	if (!at)
		return 0;
	at[1] = 0;
	if (letter == 'k')
		at[3] = replay_string_at(at[3]);
	return (word)(uintptr_t)at;
}

/* `words` are the recorded ones; those before `at` point at the recording already. */
static word point(const word *words, size_t at, char letter)
{
	switch (letter) {
	case 'o':
	case 'A':
		return pointed(words[at], sizeof(word));
	case 'c':
		return pointed(words[at], sizeof(uint32_t));
	case 'a':
		return pointed(words[at], (uint32_t)words[at - 1] * sizeof(word));
	case 'O':
		return pointed(words[at], number_at(words[at - 1]) * sizeof(word));
	case 'd':
	case 'e':
	case 'q':
	case 'k':
		return description(words[at], letter);
	case 'g':
		return pointed(words[at], 3 * sizeof(uint32_t));
	case 'r':
		return pointed(words[at], 6 * sizeof(uint32_t));
	default:
		return words[at];
	}
}

static void read_called(struct recording_head *head)
{
	struct recording_called *called = (void *)(head + 1);
	word *words = (word *)(called + 1);
	if (called->count > replay_rest_of(head, sizeof(*called)) / sizeof(word))
		replay_fail("a call's parameters are longer than its entry");
	const struct known *known = called->call < NAMES ? calls[called->call].known : NULL;
	if (!known || called->count != strlen(known->letters) || called->count > MOST_PARAMETERS)
		return;
	for (size_t at = 0; at < called->count; at++)
		words[at] = point(words, at, known->letters[at]);
	replay_add_event(head);
}

void replay_load(struct recording_head *head)
{
	if (head->kind == RECORDING_OF_name)
		read_name(head);
	else if (head->kind == RECORDING_OF_pointed)
		replay_put_at(((const struct recording_pointed *)(head + 1))->address, head + 1);
	else if (head->kind == RECORDING_OF_called)
		read_called(head);
}

/* ---- handles and memory, by what they were ---- */

struct pair {
	word recorded, ours;
};

static void *handles;

static int compare(const void *a, const void *b)
{
	word left = ((const struct pair *)a)->recorded, right = ((const struct pair *)b)->recorded;
	return (left > right) - (left < right);
}

static word handle(word recorded)
{
	struct pair key = {.recorded = recorded}, **found = tfind(&key, &handles, compare);
	return found ? (*found)->ours : 0;
}

static void set_handle(word recorded, word ours)
{
	struct pair *one = replay_new(sizeof(*one));
	*one = (struct pair){recorded, ours};
	struct pair **place = tsearch(one, &handles, compare);
	(*place)->ours = ours;
}

static struct memory {
	word recorded, bytes, ours;
	struct memory *next;
} * memories; /* the newest first */

/* What Level Zero did not give is the program's own, and somewhere. */
static word memory(word recorded)
{
	static void *scratch;
	for (const struct memory *one = memories; one; one = one->next)
		if (recorded - one->recorded < one->bytes)
			return one->ours + (recorded - one->recorded);
	if (!scratch)
		scratch = mmap(NULL, SCRATCH_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (scratch == MAP_FAILED)
		replay_fail("out of memory");
	return recorded ? (word)(uintptr_t)scratch : 0;
}

static void set_memory(word recorded, word bytes, word ours)
{
	struct memory *one = replay_new(sizeof(*one));
	*one = (struct memory){recorded, bytes, ours, memories};
	memories = one;
}

/* ---- calls ---- */

/* What a call is given. New handles and answers go into `places`. */
struct given {
	word words[MOST_PARAMETERS], places[MOST_PARAMETERS];
	word arrays[MOST_PARAMETERS][64];
	uint8_t answer[4096];
};

static word array(struct given *given, const word *words, size_t at)
{
	uint32_t count = (uint32_t)words[at - 1];
	const word *recorded = (const word *)(uintptr_t)words[at];
	for (uint32_t index = 0; recorded && index < count && index < 64; index++)
		given->arrays[at][index] = handle(recorded[index]);
	return recorded && count && count <= 64 ? (word)(uintptr_t)given->arrays[at] : 0;
}

static word parameter(struct given *given, const word *words, size_t at, char letter)
{
	static word module_description[16] = {0x1b};
	switch (letter) {
	case 'h':
		return handle(words[at]);
	case 'm':
		return memory(words[at]);
	case 'a':
		return array(given, words, at);
	case 'o':
	case 'A':
		return (word)(uintptr_t)&given->places[at];
	case 'c':
		given->places[at] = number_at(words[at]);
		return words[at] ? (word)(uintptr_t)&given->places[at] : 0;
	case 'O':
		return words[at] && number_at(words[at - 1]) <= 64
			   ? (word)(uintptr_t)given->arrays[at]
			   : 0;
	case 'M':
		return (word)(uintptr_t)module_description;
	case 't':
		return (word)(uintptr_t)given->answer;
	case 'n':
		return 0;
	default:
		return words[at];
	}
}

/* What the call has given is what the recorded one gave. */
static void take(const struct given *given, const word *words, size_t at, const char *letters)
{
	const word *recorded = (const word *)(uintptr_t)words[at];
	if (!recorded)
		return;
	if (letters[at] == 'o')
		set_handle(*recorded, given->places[at]);
	else if (letters[at] == 'A')
		set_memory(*recorded, words[strchr(letters, 'v') - letters], given->places[at]);
	for (uint32_t index = 0; letters[at] == 'O' && index < number_at(words[at - 1]) &&
				 index < given->places[at - 1] && index < 64;
	     index++)
		set_handle(recorded[index], given->arrays[at][index]);
}

static int make(function *call, const word *of)
{
	return call(of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7], of[8], of[9], of[10],
		    of[11]);
}

void replay_tell(const struct replay_event *event)
{
	const struct recording_called *called = (const void *)(event->head + 1);
	const word *words = (const word *)(called + 1);
	const struct known *known = calls[called->call].known;
	function *call = calls[called->call].make;
	struct given given = {.places = {0}};
	if (!call || (called->result && called->result != NOT_READY))
		return;
	for (size_t at = 0; at < called->count; at++)
		given.words[at] = parameter(&given, words, at, known->letters[at]);
	if (strstr(known->name, "Synchronize") && !called->result)
		given.words[1] = UINT64_MAX;
	int result = make(call, given.words);
	while (result == NOT_READY && !called->result && strstr(known->name, "Query")) {
		nanosleep(&(struct timespec){0, 20000}, NULL);
		result = make(call, given.words);
	}
	for (size_t at = 0; at < called->count && !result; at++)
		take(&given, words, at, known->letters);
}

/* The driver is initialised, as it was before anything was heard. */
void replay_attach(void)
{
	void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_GLOBAL);
	int (*initialize)(uint32_t) =
	    loader ? (int (*)(uint32_t))dlsym(RTLD_DEFAULT, "zeInit") : NULL;
	if (!initialize || initialize(0))
		replay_fail("there is no driver of Level Zero's");
	for (uint32_t number = 0; number < NAMES; number++)
		if (calls[number].known)
			calls[number].make = (function *)dlsym(loader, calls[number].known->name);
}
