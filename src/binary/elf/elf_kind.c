/* SPDX-License-Identifier: Apache-2.0 */
/* What an executable file is; see elf_kind.h. */
#include "elf_kind.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPT_DEPTH_MAX    4 /* the kernel gives up after this many interpreters, too */
#define PROGRAM_HEADERS_MAX 512

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OWN_MACHINE EM_PPC64
#else
#define OWN_MACHINE EM_NONE
#endif

/* Finds the interpreter in a "#! interpreter [argument]" line. False if there is none. */
static bool script_interpreter(const char *head, size_t length, char *out, size_t out_bytes)
{
	if (length < 3 || head[0] != '#' || head[1] != '!')
		return false;
	size_t begin = 2;
	while (begin < length && (head[begin] == ' ' || head[begin] == '\t'))
		begin++;
	size_t end = begin;
	while (end < length && !memchr(" \t\r\n", head[end], 4) && head[end] != '\0')
		end++;
	if (end == begin || end - begin >= out_bytes)
		return false;
	memcpy(out, head + begin, end - begin);
	out[end - begin] = '\0';
	return true;
}

static void read_loader(int fd, const Elf64_Phdr *header, struct sn_elf_kind_info *info)
{
	size_t bytes = header->p_filesz < sizeof(info->loader) ? (size_t)header->p_filesz
							       : sizeof(info->loader) - 1;
	ssize_t got = pread(fd, info->loader, bytes, (off_t)header->p_offset);
	info->loader[got > 0 ? (size_t)got : 0] = '\0';
}

/* Go's linker leaves a note of its own. */
static bool has_go_note(int fd, const Elf64_Phdr *header)
{
	unsigned char notes[1024];
	ssize_t bytes = pread(fd, notes, sizeof(notes), (off_t)header->p_offset);
	if (bytes > 0 && (uint64_t)bytes > header->p_filesz)
		bytes = (ssize_t)header->p_filesz;
	for (ssize_t at = 0; at + (ssize_t)sizeof(Elf64_Nhdr) + 4 <= bytes;) {
		Elf64_Nhdr note;
		memcpy(&note, notes + at, sizeof(note));
		at += (ssize_t)sizeof(note);
		if (note.n_namesz == 4 && !memcmp(notes + at, "Go\0\0", 4))
			return true;
		if (note.n_namesz > sizeof(notes) || note.n_descsz > sizeof(notes))
			return false;
		at += (ssize_t)(((note.n_namesz + 3) & ~3u) + ((note.n_descsz + 3) & ~3u));
	}
	return false;
}

static bool needs_libraries(int fd, const Elf64_Phdr *header)
{
	Elf64_Dyn entry = {.d_tag = DT_NULL};
	for (uint64_t at = 0; at + sizeof(entry) <= header->p_filesz; at += sizeof(entry)) {
		off_t offset = (off_t)(header->p_offset + at);
		if (pread(fd, &entry, sizeof(entry), offset) != sizeof(entry) ||
		    entry.d_tag == DT_NULL)
			return false;
		if (entry.d_tag == DT_NEEDED)
			return true;
	}
	return false;
}

static enum sn_elf_kind kind_of_elf(int fd, const char *head, size_t length,
				    struct sn_elf_kind_info *info)
{
	if (length >= EI_NIDENT && head[EI_CLASS] == ELFCLASS32)
		return SN_ELF_32BIT;
	Elf64_Ehdr elf;
	if (length < sizeof(elf))
		return SN_ELF_NOT_ELF;
	memcpy(&elf, head, sizeof(elf));
	if (elf.e_ident[EI_DATA] != ELFDATA2LSB || elf.e_machine != OWN_MACHINE)
		return SN_ELF_FOREIGN;
	if (elf.e_type != ET_EXEC && elf.e_type != ET_DYN)
		return SN_ELF_NOT_ELF;
	bool is_dynamic = false, is_go = false, needs = false;
	for (unsigned i = 0; i < elf.e_phnum && i < PROGRAM_HEADERS_MAX; i++) {
		Elf64_Phdr header;
		off_t offset = (off_t)(elf.e_phoff + (uint64_t)i * sizeof(header));
		if (pread(fd, &header, sizeof(header), offset) != sizeof(header))
			break;
		if (header.p_type == PT_INTERP) {
			read_loader(fd, &header, info);
			is_dynamic = true;
		} else if (header.p_type == PT_NOTE) {
			is_go = is_go || has_go_note(fd, &header);
		} else if (header.p_type == PT_DYNAMIC) {
			needs = needs_libraries(fd, &header);
		}
	}
	if (!is_dynamic)
		return SN_ELF_STATIC;
	if (strstr(info->loader, "/ld-musl-"))
		return SN_ELF_OTHER_LIBC;
	return is_go && !needs ? SN_ELF_GO_ALONE : SN_ELF_DYNAMIC;
}

/* The kernel sets AT_SECURE, and the loader then ignores LD_PRELOAD, in these three cases. */
static void find_secure(int fd, const struct stat *status, struct sn_elf_kind_info *info)
{
	uint8_t capabilities[64];
	if ((status->st_mode & S_ISUID) && status->st_uid != getuid())
		info->secure_reason = "setuid";
	else if ((status->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		 status->st_gid != getgid())
		info->secure_reason = "setgid";
	else if (getuid() != 0 &&
		 fgetxattr(fd, "security.capability", capabilities, sizeof(capabilities)) > 0)
		info->secure_reason = "capabilities";
	info->is_secure = info->secure_reason != NULL;
}

/* Reads one file. Sets *next where it is a script. */
static int read_one(struct sn_elf_kind_info *info, char *next, size_t next_bytes,
		    struct sn_error *error)
{
	char head[512];
	struct stat status;
	int fd = open(info->program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", info->program,
			       strerror(errno));
	ssize_t length = -1;
	if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode))
		errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
	else
		length = pread(fd, head, sizeof(head), 0);
	if (length < 0) {
		int code = errno;
		close(fd);
		return sn_fail(error, SN_ERR_IO, "cannot read '%s': %s", info->program,
			       strerror(code));
	}
	next[0] = '\0';
	if (script_interpreter(head, (size_t)length, next, next_bytes)) {
		close(fd);
		return 0;
	}
	info->kind = SN_ELF_NOT_ELF;
	if (length >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0) {
		info->kind = kind_of_elf(fd, head, (size_t)length, info);
		find_secure(fd, &status, info);
	}
	close(fd);
	return 0;
}

int sn_elf_kind_read(const char *path, struct sn_elf_kind_info *info, struct sn_error *error)
{
	char next[sizeof(info->program)];
	memset(info, 0, sizeof(*info));
	if (strlen(path) >= sizeof(info->program))
		return sn_fail(error, SN_ERR_IO, "cannot open '%.64s...': path too long", path);
	strcpy(info->program, path);
	for (int depth = 0; depth <= SCRIPT_DEPTH_MAX; depth++) {
		int result = read_one(info, next, sizeof(next), error);
		if (result < 0 || next[0] == '\0')
			return result;
		info->is_script = true;
		strcpy(info->program, next);
	}
	info->kind = SN_ELF_SCRIPT_LOOP;
	return 0;
}

const char *sn_elf_kind_text(enum sn_elf_kind kind)
{
	switch (kind) {
	case SN_ELF_DYNAMIC:
		return "a dynamically linked program";
	case SN_ELF_GO_ALONE:
		return "a Go program without cgo (CGO_ENABLED=1 builds one that can be measured)";
	case SN_ELF_OTHER_LIBC:
		return "a program for the C library musl";
	case SN_ELF_STATIC:
		return "a statically linked program";
	case SN_ELF_32BIT:
		return "a 32-bit program";
	case SN_ELF_FOREIGN:
		return "a program for another machine";
	case SN_ELF_NOT_ELF:
		return "not an executable program";
	case SN_ELF_SCRIPT_LOOP:
		return "a script with too many interpreters in a row";
	}
	return "unknown";
}
