/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths and control flow of x86-64 instructions; see insn.h. */
#include "insn.h"

#include <string.h>

#define LENGTH_MAX 15

/* What follows an opcode. */
enum {
	M = 0x10,  /* a ModRM byte, with what it brings */
	I1 = 0x01, /* immediates of so many bytes */
	I2 = 0x02,
	I3 = 0x03,
	I4 = 0x04, /* always four */
	IZ = 0x05, /* four, or two with an operand-size prefix */
	IV = 0x06, /* ... or eight with REX.W */
	IA = 0x07, /* an address: eight, or four with an address-size prefix */
	IMMEDIATE = 0x07,
	X = 0x80, /* no instruction, or one that the code below knows */
};

/* clang-format off */
static const uint8_t one_byte[256] = {
	/*	0     1     2     3     4     5     6     7     8     9     A     B     C     D     E     F */
	/* 0 */ M,    M,    M,    M,    I1,   IZ,   X,    X,    M,    M,    M,    M,    I1,   IZ,   X,    X,
	/* 1 */ M,    M,    M,    M,    I1,   IZ,   X,    X,    M,    M,    M,    M,    I1,   IZ,   X,    X,
	/* 2 */ M,    M,    M,    M,    I1,   IZ,   X,    X,    M,    M,    M,    M,    I1,   IZ,   X,    X,
	/* 3 */ M,    M,    M,    M,    I1,   IZ,   X,    X,    M,    M,    M,    M,    I1,   IZ,   X,    X,
	/* 4 */ X,    X,    X,    X,    X,    X,    X,    X,    X,    X,    X,    X,    X,    X,    X,    X,
	/* 5 */ 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
	/* 6 */ X,    X,    X,    M,    X,    X,    X,    X,    IZ,   M|IZ, I1,   M|I1, 0,    0,    0,    0,
	/* 7 */ I1,   I1,   I1,   I1,   I1,   I1,   I1,   I1,   I1,   I1,   I1,   I1,   I1,   I1,   I1,   I1,
	/* 8 */ M|I1, M|IZ, X,    M|I1, M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,
	/* 9 */ 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    X,    0,    0,    0,    0,    0,
	/* A */ IA,   IA,   IA,   IA,   0,    0,    0,    0,    I1,   IZ,   0,    0,    0,    0,    0,    0,
	/* B */ I1,   I1,   I1,   I1,   I1,   I1,   I1,   I1,   IV,   IV,   IV,   IV,   IV,   IV,   IV,   IV,
	/* C */ M|I1, M|I1, I2,   0,    X,    X,    M|I1, M|IZ, I3,   0,    I2,   0,    0,    I1,   X,    0,
	/* D */ M,    M,    M,    M,    X,    X,    X,    0,    M,    M,    M,    M,    M,    M,    M,    M,
	/* E */ I1,   I1,   I1,   I1,   I1,   I1,   I1,   I1,   I4,   I4,   X,    I1,   0,    0,    0,    0,
	/* F */ X,    0,    X,    X,    0,    0,    M,    M,    0,    0,    0,    0,    0,    0,    M,    M,
};

static const uint8_t two_byte[256] = {
	/*	0     1     2     3     4     5     6     7     8     9     A     B     C     D     E     F */
	/* 0 */ M,    M,    M,    M,    X,    0,    0,    0,    0,    0,    X,    0,    X,    M,    0,    M|I1,
	/* 1 */ M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,
	/* 2 */ M,    M,    M,    M,    X,    X,    X,    X,    M,    M,    M,    M,    M,    M,    M,    M,
	/* 3 */ 0,    0,    0,    0,    0,    0,    X,    0,    X,    X,    X,    X,    X,    X,    X,    X,
	/* 4 */ M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,
	/* 5 */ M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,
	/* 6 */ M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,
	/* 7 */ M|I1, M|I1, M|I1, M|I1, M,    M,    M,    0,    M,    M,    X,    X,    M,    M,    M,    M,
	/* 8 */ I4,   I4,   I4,   I4,   I4,   I4,   I4,   I4,   I4,   I4,   I4,   I4,   I4,   I4,   I4,   I4,
	/* 9 */ M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,
	/* A */ 0,    0,    0,    M,    M|I1, M,    M,    M,    0,    0,    0,    M,    M|I1, M,    M,    M,
	/* B */ M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M|I1, M,    M,    M,    M,    M,
	/* C */ M,    M,    M|I1, M,    M|I1, M|I1, M|I1, M,    0,    0,    0,    0,    0,    0,    0,    0,
	/* D */ M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,
	/* E */ M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,
	/* F */ M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,    M,
};
/* clang-format on */

enum map {
	MAP_ONE,
	MAP_0F,
	MAP_0F38,
	MAP_0F3A,
	MAP_5 = 5,
	MAP_6,
	MAP_XOP8 = 8,
	MAP_XOP9,
	MAP_XOPA
};

struct decoding {
	const uint8_t *code;
	size_t bytes; /* at most LENGTH_MAX */
	size_t at;
	uint8_t opcode, modrm;
	enum map map;
	bool has_16_bit, has_short_address, has_rex_w, has_f2, has_vector_prefix;
	uint64_t memory; /* relative to the next instruction, if is_relative */
	bool is_relative;
};

static bool next_byte(struct decoding *d, uint8_t *byte)
{
	if (d->at >= d->bytes)
		return false;
	*byte = d->code[d->at++];
	return true;
}

/* Prefixes in any order and number; REX only directly before the opcode counts. */
static bool decode_prefixes(struct decoding *d)
{
	while (next_byte(d, &d->opcode)) {
		bool is_rex = (d->opcode & 0xf0) == 0x40;
		bool had_rex_w = d->has_rex_w;
		d->has_rex_w = is_rex && (d->opcode & 8);
		switch (d->opcode) {
		case 0x66:
			d->has_16_bit = true;
			break;
		case 0x67:
			d->has_short_address = true;
			break;
		case 0xf2:
			d->has_f2 = true;
			break;
		case 0xf3:
		case 0xf0:
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
			break;
		default:
			if (is_rex)
				break;
			d->has_rex_w = had_rex_w;
			return true;
		}
	}
	return false;
}

/* VEX, EVEX and XOP: the map is in the prefix. */
static bool decode_vector_prefix(struct decoding *d)
{
	uint8_t first, skipped;
	unsigned more = d->opcode == 0x62 ? 2 : d->opcode == 0xc5 ? 0 : 1;
	unsigned mask = d->opcode == 0x62 ? 0x07 : 0x1f;
	d->has_vector_prefix = true;
	if (!next_byte(d, &first))
		return false;
	d->map = d->opcode == 0xc5 ? MAP_0F : (enum map)(first & mask);
	if (d->opcode != 0x8f && (d->map == 0 || d->map == 4 || d->map > MAP_6))
		return false;
	while (more-- > 0)
		if (!next_byte(d, &skipped))
			return false;
	return next_byte(d, &d->opcode);
}

/* The opcode with its map. */
static bool decode_opcode(struct decoding *d)
{
	if (!decode_prefixes(d))
		return false;
	bool is_xop = d->opcode == 0x8f && d->at < d->bytes && (d->code[d->at] & 0x1f) >= MAP_XOP8;
	if (d->opcode == 0xc4 || d->opcode == 0xc5 || d->opcode == 0x62 || is_xop)
		return decode_vector_prefix(d);
	if (d->opcode != 0x0f)
		return true;
	d->map = MAP_0F;
	if (!next_byte(d, &d->opcode))
		return false;
	if (d->opcode != 0x38 && d->opcode != 0x3a)
		return true;
	d->map = d->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
	return next_byte(d, &d->opcode);
}

static uint8_t vector_form(const struct decoding *d)
{
	switch (d->map) {
	case MAP_0F:
		if (d->opcode == 0x77)
			return 0;
		return two_byte[d->opcode] == (M | I1) ? M | I1 : M;
	case MAP_0F3A:
	case MAP_XOP8:
		return M | I1;
	case MAP_0F38:
	case MAP_5:
	case MAP_6:
	case MAP_XOP9:
		return M;
	case MAP_XOPA:
		return M | I4;
	default:
		return X;
	}
}

/* What follows the opcode. */
static uint8_t form_of(const struct decoding *d)
{
	if (d->has_vector_prefix)
		return vector_form(d);
	switch (d->map) {
	case MAP_ONE:
		return d->opcode == 0x8f ? M : one_byte[d->opcode];
	case MAP_0F:
		/* SSE4a's extrq and insertq take two bytes */
		if (d->opcode == 0x78 && (d->has_16_bit || d->has_f2))
			return M | I2;
		return two_byte[d->opcode];
	case MAP_0F38:
		return M;
	default:
		return M | I1;
	}
}

static bool skip(struct decoding *d, size_t bytes)
{
	d->at += bytes;
	return d->at <= d->bytes;
}

static bool decode_modrm(struct decoding *d)
{
	uint8_t sib = 0;
	if (!next_byte(d, &d->modrm))
		return false;
	unsigned mode = d->modrm >> 6, rm = d->modrm & 7;
	/* moves to and from control registers have a register there, whatever the mode says */
	if (mode == 3 || (d->map == MAP_0F && !d->has_vector_prefix && (d->opcode & 0xfc) == 0x20))
		return true;
	if (rm == 4 && !next_byte(d, &sib))
		return false;
	if (mode == 1)
		return skip(d, 1);
	bool is_based = mode == 2 || (rm == 4 ? (sib & 7) == 5 : rm == 5);
	if (!is_based)
		return true;
	if (!skip(d, 4))
		return false;
	if (mode == 0 && rm == 5) {
		int32_t displacement;
		memcpy(&displacement, d->code + d->at - 4, sizeof(displacement));
		d->is_relative = true;
		d->memory = (uint64_t)(int64_t)displacement;
	}
	return true;
}

static size_t immediate_bytes(const struct decoding *d, uint8_t form)
{
	bool is_short = d->has_16_bit && !d->has_rex_w;
	/* test is the one of its group that has an immediate */
	bool is_test = d->map == MAP_ONE && !d->has_vector_prefix && (d->modrm & 0x38) < 0x10;
	if (is_test && d->opcode == 0xf6)
		return 1;
	if (is_test && d->opcode == 0xf7)
		return is_short ? 2 : 4;
	switch (form & IMMEDIATE) {
	case IZ:
		return is_short ? 2 : 4;
	case IV:
		return d->has_rex_w ? 8 : is_short ? 2 : 4;
	case IA:
		return d->has_short_address ? 4 : 8;
	default:
		return form & IMMEDIATE;
	}
}

static uint64_t relative(const struct decoding *d, unsigned bytes)
{
	int8_t near;
	int32_t far;
	if (bytes == 1) {
		memcpy(&near, d->code + d->at - 1, 1);
		return (uint64_t)(int64_t)near;
	}
	memcpy(&far, d->code + d->at - 4, 4);
	return (uint64_t)(int64_t)far;
}

/* What the group of opcode FF does, by its ModRM byte. */
static void classify_ff(const struct decoding *d, uint64_t next, struct sn_insn *insn)
{
	switch (d->modrm >> 3 & 7) {
	case 2:
	case 3:
		insn->kind = SN_INSN_CALL_INDIRECT;
		break;
	case 4:
	case 5:
		insn->kind = SN_INSN_JUMP_INDIRECT;
		break;
	default:
		return;
	}
	insn->target = d->is_relative ? next + d->memory : 0;
}

static void classify_one(const struct decoding *d, uint64_t next, struct sn_insn *insn)
{
	uint8_t opcode = d->opcode;
	if ((opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0 || opcode == 0xeb) {
		insn->kind = opcode == 0xeb ? SN_INSN_JUMP : SN_INSN_BRANCH;
		insn->target = next + relative(d, 1);
	} else if (opcode == 0xe8 || opcode == 0xe9) {
		insn->kind = opcode == 0xe8 ? SN_INSN_CALL : SN_INSN_JUMP;
		insn->target = next + relative(d, 4);
	} else if (opcode == 0xc2 || opcode == 0xc3 || opcode == 0xca || opcode == 0xcb ||
		   opcode == 0xcf) {
		insn->kind = SN_INSN_RETURN;
	} else if (opcode == 0xc7 && d->modrm == 0xf8 && !d->has_16_bit) { /* xbegin */
		insn->kind = SN_INSN_BRANCH;
		insn->target = next + relative(d, 4);
	} else if (opcode == 0xff) {
		classify_ff(d, next, insn);
	} else if (opcode == 0xf4 || opcode == 0xcc) {
		insn->kind = SN_INSN_TRAP;
	} else if (opcode == 0x90) {
		insn->kind = SN_INSN_PADDING;
	}
}

static void classify_two(const struct decoding *d, uint64_t next, struct sn_insn *insn)
{
	uint8_t opcode = d->opcode;
	if ((opcode & 0xf0) == 0x80) {
		insn->kind = SN_INSN_BRANCH;
		insn->target = next + relative(d, 4);
	} else if (opcode == 0x0b || opcode == 0xb9 || opcode == 0xff) {
		insn->kind = SN_INSN_TRAP;
	} else if (opcode == 0x07 || opcode == 0x35) {
		insn->kind = SN_INSN_RETURN;
	} else if (opcode == 0x1f) {
		insn->kind = SN_INSN_PADDING;
	}
}

bool sn_insn_decode_x86(const uint8_t *code, size_t bytes, uint64_t address, struct sn_insn *insn)
{
	struct decoding d = {.code = code, .bytes = bytes < LENGTH_MAX ? bytes : LENGTH_MAX};
	if (!decode_opcode(&d))
		return false;
	uint8_t form = form_of(&d);
	if ((form & X) || ((form & M) && !decode_modrm(&d)) || !skip(&d, immediate_bytes(&d, form)))
		return false;
	*insn = (struct sn_insn){.length = (uint8_t)d.at, .kind = SN_INSN_OTHER};
	if (!d.has_vector_prefix && d.map == MAP_ONE)
		classify_one(&d, address + d.at, insn);
	else if (!d.has_vector_prefix && d.map == MAP_0F)
		classify_two(&d, address + d.at, insn);
	return true;
}
