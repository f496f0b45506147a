/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a Go program by the note and the needed libraries in the main program's headers. */
#include "go_program.h"

#include "collect/unwind/elf_symbol.h"

static bool has_go_note(const unsigned char *at, size_t bytes)
{
	struct sn_elf_note note;
	for (const unsigned char *end = at + bytes; sn_elf_note_next(&at, end, &note);)
		if (note.name_bytes == 4 && !memcmp(note.name, "Go\0\0", 4))
			return true;
	return false;
}

static bool needs_libraries(const ElfW(Dyn) * entry)
{
	for (; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_NEEDED)
			return true;
	return false;
}

/* The main program comes first. */
static int look_at_program(struct dl_phdr_info *info, size_t bytes, void *result)
{
	bool is_go = false, needs = false;
	for (int index = 0; index < info->dlpi_phnum; index++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[index];
		const void *at = (const void *)(info->dlpi_addr + segment->p_vaddr);
		if (segment->p_type == PT_NOTE && segment->p_align <= 4)
			is_go = is_go || has_go_note(at, segment->p_memsz);
		if (segment->p_type == PT_DYNAMIC)
			needs = needs_libraries(at);
	}
	*(enum sn_go *)result = !is_go ? SN_GO_NONE : needs ? SN_GO_CGO : SN_GO_ALONE;
	return 1;
}

enum sn_go sn_go_program(void)
{
	static _Atomic int known; /* the answer + 1 */
	int answer = known;
	if (!answer) {
		enum sn_go go = SN_GO_NONE;
		dl_iterate_phdr(look_at_program, &go);
		known = answer = (int)go + 1;
	}
	return (enum sn_go)(answer - 1);
}
