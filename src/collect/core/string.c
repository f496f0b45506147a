/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hidden copies of C library functions that others intercept. A sanitizer learns of accesses by its
 * memcpy(); the collector orders accesses by means that it cannot see (a handler, a snapshot of
 * another thread's tree), so it would report races in a program that has none. Also, no function of
 * the program then runs in the collector's handler. kernel.c has the system calls.
 *
 * The compiler generates calls of some of these, which come here as well. This file is compiled so
 * that a loop is not replaced by a call of the function that contains it.
 */
#include <stdint.h>
#include <string.h>

/* From here on the processor's own copying is as fast as any loop. */
#define LONG_BYTES 4096u

typedef uint64_t __attribute__((aligned(1), may_alias)) word;
typedef uint32_t __attribute__((aligned(1), may_alias)) half;
typedef uint16_t __attribute__((aligned(1), may_alias)) quarter;
typedef char __attribute__((vector_size(16), aligned(1), may_alias)) block;

#define AT(type, base, offset)	 (*(type *)((char *)(base) + (offset)))
#define FROM(type, base, offset) (*(const type *)((const char *)(base) + (offset)))

/* ---- memory ---- */

/* Both ends, which overlap in the middle; all is read before anything is written. */
static void copy_short(void *to, const void *from, size_t bytes)
{
	if (bytes >= 8) {
		uint64_t head = FROM(word, from, 0), tail = FROM(word, from, bytes - 8);
		AT(word, to, 0) = head;
		AT(word, to, bytes - 8) = tail;
	} else if (bytes >= 4) {
		uint32_t head = FROM(half, from, 0), tail = FROM(half, from, bytes - 4);
		AT(half, to, 0) = head;
		AT(half, to, bytes - 4) = tail;
	} else if (bytes >= 2) {
		uint16_t head = FROM(quarter, from, 0), tail = FROM(quarter, from, bytes - 2);
		AT(quarter, to, 0) = head;
		AT(quarter, to, bytes - 2) = tail;
	} else if (bytes) {
		AT(char, to, 0) = FROM(char, from, 0);
	}
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	if (bytes < 16) {
		copy_short(to, from, bytes);
		return to;
	}
	if (bytes >= LONG_BYTES) {
		void *end = to;
		__asm__ volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(bytes) : : "memory");
		return to;
	}
	block tail = FROM(block, from, bytes - 16);
	size_t done = 0;
	for (; done + 64 < bytes; done += 64) {
		block a = FROM(block, from, done), b = FROM(block, from, done + 16);
		block c = FROM(block, from, done + 32), d = FROM(block, from, done + 48);
		AT(block, to, done) = a;
		AT(block, to, done + 16) = b;
		AT(block, to, done + 32) = c;
		AT(block, to, done + 48) = d;
	}
	for (; done + 16 < bytes; done += 16)
		AT(block, to, done) = FROM(block, from, done);
	AT(block, to, bytes - 16) = tail;
	return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
	if (bytes < 16) {
		copy_short(to, from, bytes);
		return to;
	}
	if ((uintptr_t)to - (uintptr_t)from >= bytes) {
		/* forwards: what is read next has not been written yet */
		block tail = FROM(block, from, bytes - 16);
		for (size_t done = 0; done + 16 < bytes; done += 16)
			AT(block, to, done) = FROM(block, from, done);
		AT(block, to, bytes - 16) = tail;
		return to;
	}
	block head = FROM(block, from, 0);
	for (size_t left = bytes; left > 16; left -= 16)
		AT(block, to, left - 16) = FROM(block, from, left - 16);
	AT(block, to, 0) = head;
	return to;
}

void *memset(void *to, int value, size_t bytes)
{
	char *at = to, byte = (char)value;
	if (bytes >= LONG_BYTES) {
		__asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(value) : "memory");
		return to;
	}
	block many = {byte, byte, byte, byte, byte, byte, byte, byte,
		      byte, byte, byte, byte, byte, byte, byte, byte};
	for (; bytes >= 16; bytes -= 16, at += 16)
		AT(block, at, 0) = many;
	while (bytes--)
		*at++ = byte;
	return to;
}

int memcmp(const void *left, const void *right, size_t bytes)
{
	size_t at = 0;
	while (at + 8 <= bytes && FROM(word, left, at) == FROM(word, right, at))
		at += 8;
	for (; at < bytes; at++) {
		int difference = FROM(unsigned char, left, at) - FROM(unsigned char, right, at);
		if (difference)
			return difference;
	}
	return 0;
}

void *memchr(const void *memory, int value, size_t bytes)
{
	for (const unsigned char *at = memory, *end = at + bytes; at < end; at++)
		if (*at == (unsigned char)value)
			return (void *)at;
	return NULL;
}

void *memrchr(const void *memory, int value, size_t bytes)
{
	const unsigned char *at = memory;
	while (bytes--)
		if (at[bytes] == (unsigned char)value)
			return (void *)(at + bytes);
	return NULL;
}

void *memmem(const void *memory, size_t bytes, const void *wanted, size_t length)
{
	const unsigned char *at = memory;
	for (; bytes >= length; at++, bytes--)
		if (!memcmp(at, wanted, length))
			return (void *)at;
	return NULL;
}

/* ---- strings; ours are short ---- */

size_t strnlen(const char *text, size_t most)
{
	size_t length = 0;
	while (length < most && text[length])
		length++;
	return length;
}

size_t strlen(const char *text)
{
	return strnlen(text, SIZE_MAX);
}

int strncmp(const char *left, const char *right, size_t most)
{
	for (size_t at = 0; at < most; at++) {
		int difference = (unsigned char)left[at] - (unsigned char)right[at];
		if (difference || !left[at])
			return difference;
	}
	return 0;
}

int strcmp(const char *left, const char *right)
{
	return strncmp(left, right, SIZE_MAX);
}

char *strchrnul(const char *text, int wanted)
{
	while (*text && *text != (char)wanted)
		text++;
	return (char *)text;
}

char *strchr(const char *text, int wanted)
{
	char *found = strchrnul(text, wanted);
	return *found == (char)wanted ? found : NULL;
}

char *strrchr(const char *text, int wanted)
{
	const char *found = NULL;
	do
		if (*text == (char)wanted)
			found = text;
	while (*text++);
	return (char *)found;
}

size_t strcspn(const char *text, const char *stops)
{
	size_t length = 0;
	while (text[length] && !strchr(stops, text[length]))
		length++;
	return length;
}

char *strpbrk(const char *text, const char *wanted)
{
	text += strcspn(text, wanted);
	return *text ? (char *)text : NULL;
}

char *strstr(const char *text, const char *wanted)
{
	size_t length = strlen(wanted);
	for (; *text; text++)
		if (!strncmp(text, wanted, length))
			return (char *)text;
	return length ? NULL : (char *)text;
}

char *strncpy(char *restrict to, const char *restrict from, size_t bytes)
{
	size_t length = strnlen(from, bytes);
	memcpy(to, from, length);
	memset(to + length, 0, bytes - length);
	return to;
}

char *strcpy(char *restrict to, const char *restrict from)
{
	return memcpy(to, from, strlen(from) + 1);
}

char *strcat(char *restrict to, const char *restrict from)
{
	strcpy(to + strlen(to), from);
	return to;
}

char *strncat(char *restrict to, const char *restrict from, size_t most)
{
	char *end = to + strlen(to);
	size_t length = strnlen(from, most);
	memcpy(end, from, length);
	end[length] = 0;
	return to;
}
