/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of each compiled program (HLO, as XLA runs it) goes into a file of the measurement, one
 * behind the other: which operations a computation is made of, and which lines of the program wrote
 * them. XLA makes the text when a program is called for the first time, after it took far longer to
 * compile it.
 */
#include "xla.h"

#include "collect/adapters/jit/jit.h"
#include "collect/core/hash.h"
#include "collect/core/lock.h"
#include "collect/core/word_table.h"
#include "collect/intercept/real_symbol.h"
#include "collect/record/own_file.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEEN_BITS  14u
#define MOST_BYTES (64ul << 20) /* of all programs of a process */
#define BEGINNING  "HloModule "
#define NAME_AT	   (sizeof(BEGINNING) - 1) /* where a text has the program's name */

/* absl::StatusOr<std::string>, with room for more. */
struct text_or_status {
	uintptr_t status; /* 0 or 1, by release: there is a text */
	char *text;
	size_t length;
	char inside[16];
	uintptr_t reserve[8];
};

static struct sn_word_table seen = {.bits = SEEN_BITS};
static struct sn_own_file file = {.fd = -1};
static uint64_t written;

/* An executable may lie where another one lay before: its name is part of the word. */
static uintptr_t word_of(const void *executable, struct sn_xla_text name)
{
	uint64_t hash = sn_hash_mix(sn_hash_text(name.text, name.length), (uintptr_t)executable);
	return (uintptr_t)hash & ~(uintptr_t)7;
}

static void write_piece(const char *text, size_t length)
{
	long done = syscall(SYS_pwrite64, file.fd, text, length, written);
	if (done > 0)
		written += (uint64_t)done;
}

/* The text with the label in place of the program's name. */
static void write_text(struct sn_xla_text name, struct sn_xla_text label, struct sn_xla_text text)
{
	if (written + text.length + label.length > MOST_BYTES)
		return;
	bool is_ready = file.inode
			    ? sn_own_file_ready(&file)
			    : !sn_own_file_create(&file, sn_now_ns(), SN_PROGRAMS_FILE_SUFFIX);
	if (is_ready && sn_own_file_is_allowed(written + text.length + label.length)) {
		size_t behind = NAME_AT + name.length;
		write_piece(text.text, NAME_AT);
		write_piece(label.text, label.length);
		write_piece(text.text + behind, text.length - behind);
		write_piece("\n", 1);
	}
	sn_own_file_close(&file);
}

static const struct sn_xla_text *label_and_write(struct sn_xla_text name, struct sn_xla_text text)
{
	if (!sn_lock_wait(SN_LOCK_XLA_PROGRAMS))
		return NULL;
	const struct sn_xla_text *label = sn_xla_label(name, text);
	write_text(name, label ? *label : name, text);
	if (sn_lock_wait(SN_LOCK_JIT)) {
		sn_jit_note(sn_xla_jit_descriptor());
		sn_lock_release(SN_LOCK_JIT);
	}
	sn_lock_release(SN_LOCK_XLA_PROGRAMS);
	return label;
}

static bool is_program(const struct text_or_status *made, struct sn_xla_text name)
{
	return made->status <= 1 && made->length > NAME_AT + name.length &&
	       !memcmp(made->text, BEGINNING, NAME_AT) &&
	       !memcmp(made->text + NAME_AT, name.text, name.length);
}

static __attribute__((noinline)) void keep(const void *executable, struct sn_xla_text name,
					   uintptr_t word)
{
	typedef void *text_of(void *, const void *);
	text_of *make = (text_of *)sn_xla_function(SN_XLA_PROGRAM_TEXT);
	void (*release)(void *) = SN_REAL_SYMBOL("_ZdlPv"); /* operator delete */
	struct text_or_status made = {.status = 2};
	if (!make || !release)
		return;
	make(&made, executable);
	struct sn_thread *thread = is_program(&made, name) ? sn_enter() : NULL;
	if (thread) {
		struct sn_xla_text text = {made.length, made.text};
		sn_word_set(&seen, word, (uintptr_t)label_and_write(name, text));
		sn_leave(thread);
	}
	if (made.status <= 1 && made.text != made.inside)
		release(made.text);
}

const struct sn_xla_text *sn_xla_program_keep(const void *executable, struct sn_xla_text name)
{
	if (!name.length || !name.text || !seen.slots)
		return NULL;
	uintptr_t word = word_of(executable, name);
	const struct sn_word_slot *slot = word ? sn_word_find(&seen, word) : NULL;
	if (__builtin_expect(!slot && word && sn_word_add(&seen, word, 0), 0))
		keep(executable, name, word);
	return (const struct sn_xla_text *)sn_word_get(&seen, word);
}

void sn_xla_programs_init(void)
{
	sn_word_prepare(&seen);
}

void sn_xla_programs_after_fork(void)
{
	sn_word_clear(&seen);
	file = (struct sn_own_file){.fd = -1};
	written = 0;
}
