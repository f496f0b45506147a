/* SPDX-License-Identifier: Apache-2.0 */
/* See elf_code.h. */
#include "elf_code.h"

#include <stdlib.h>

int sn_elf_code_of(const struct sn_elf_file *file, struct sn_elf_code *code)
{
	*code = (struct sn_elf_code){.pieces =
					 calloc(file->segment_count + 1ull, sizeof(*code->pieces))};
	if (!code->pieces)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < file->segment_count; i++) {
		Elf64_Phdr header;
		memcpy(&header, file->segments + i * sizeof(header), sizeof(header));
		if (header.p_type == PT_LOAD && header.p_flags & PF_X)
			code->pieces[code->count++] = (struct sn_elf_code_piece){
			    header.p_offset, header.p_filesz, header.p_vaddr};
	}
	return 0;
}

void sn_elf_code_release(struct sn_elf_code *code)
{
	free(code->pieces);
	*code = (struct sn_elf_code){0};
}

uint64_t sn_elf_code_address(const struct sn_elf_code *code, uint64_t offset)
{
	for (uint32_t i = 0; i < code->count; i++) {
		const struct sn_elf_code_piece *piece = code->pieces + i;
		/* mappings consist of whole pages, so they begin at or before the piece */
		if (offset >= (piece->offset & ~4095ull) && offset < piece->offset + piece->bytes)
			return offset - piece->offset + piece->address;
	}
	return offset;
}
