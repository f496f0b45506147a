/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of numbers in the fewest bytes that lose nothing; see database_plane.h. */
#include "database_plane.h"

#include <math.h>
#include <string.h>

/* In which the columns lie in a plane: the sum, on which others depend, first. */
static const enum sonde_db_part order[SONDE_DB_PART_COUNT] = {
    SONDE_DB_SUM, SONDE_DB_COUNT, SONDE_DB_MIN, SONDE_DB_MAX, SONDE_DB_SUM_SQUARES};

static enum sn_column_form form_of(uint32_t forms, enum sonde_db_part part)
{
	return forms >> 4 * part & 15;
}

static unsigned width_of(enum sn_column_form form)
{
	static const unsigned char widths[SN_COLUMN_FORMS] = {8, 1, 2, 4, 1, 2, 4, 0, 0};
	return widths[form];
}

static bool is_valid(uint32_t forms)
{
	for (int part = 0; part < SONDE_DB_PART_COUNT; part++) {
		enum sn_column_form form = form_of(forms, part);
		if (form >= SN_COLUMN_FORMS || (form == SN_COLUMN_IMPLIED && part == SONDE_DB_SUM))
			return false;
	}
	return forms >> 4 * SONDE_DB_PART_COUNT == 0;
}

uint64_t sn_plane_bytes(uint32_t forms, uint64_t count)
{
	uint64_t width = 0;
	if (!is_valid(forms))
		return UINT64_MAX;
	for (int part = 0; part < SONDE_DB_PART_COUNT; part++)
		width += width_of(form_of(forms, part));
	return width * count;
}

static double implied(enum sonde_db_part part, const double *stat, double period)
{
	switch (part) {
	case SONDE_DB_COUNT:
		return stat[SONDE_DB_SUM] / period;
	case SONDE_DB_MIN:
		return stat[SONDE_DB_COUNT] > 0 ? stat[SONDE_DB_SUM] / stat[SONDE_DB_COUNT] : 0;
	case SONDE_DB_MAX:
		return stat[SONDE_DB_MIN];
	default:
		return stat[SONDE_DB_COUNT] * stat[SONDE_DB_MIN] * stat[SONDE_DB_MIN];
	}
}

static bool is_same(double left, double right)
{
	return !memcmp(&left, &right, sizeof(left));
}

static bool is_whole(double number)
{
	return number >= 0 && number <= UINT32_MAX && is_same((double)(uint32_t)number, number);
}

/* True where every number is what the others imply. Mostly the first that is not comes early. */
static bool is_implied(const double *numbers, size_t stride, size_t count, double period,
		       enum sonde_db_part part)
{
	if (part == SONDE_DB_SUM)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!is_same(implied(part, numbers + i * stride, period),
			     numbers[i * stride + part]))
			return false;
	return true;
}

static bool is_one(const double *numbers, size_t stride, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!is_same(numbers[i * stride], 1))
			return false;
	return true;
}

/* The greatest, or -1 where not all are whole. */
static double max_whole(const double *numbers, size_t stride, size_t count)
{
	double max = 0;
	for (size_t i = 0; i < count; i++) {
		if (!is_whole(numbers[i * stride]))
			return -1;
		max = numbers[i * stride] > max ? numbers[i * stride] : max;
	}
	return max;
}

/* The same of multiples of the period. */
static double max_multiple(const double *numbers, size_t stride, size_t count, double period)
{
	double max = 0;
	for (size_t i = 0; i < count; i++) {
		double multiple = numbers[i * stride] / period;
		if (!is_whole(multiple) || !is_same(multiple * period, numbers[i * stride]))
			return -1;
		max = multiple > max ? multiple : max;
	}
	return max;
}

static enum sn_column_form narrow(double max, enum sn_column_form one_byte)
{
	return one_byte + (max > UINT8_MAX) + (max > UINT16_MAX);
}

static enum sn_column_form choose_column(const double *numbers, size_t stride, size_t count,
					 double period, enum sonde_db_part part)
{
	if (part == SONDE_DB_COUNT && is_one(numbers + part, stride, count))
		return SN_COLUMN_ONE;
	if (is_implied(numbers, stride, count, period, part))
		return SN_COLUMN_IMPLIED;
	double whole = max_whole(numbers + part, stride, count);
	double multiple = period > 1 && (whole < 0 || whole > UINT8_MAX)
			      ? max_multiple(numbers + part, stride, count, period)
			      : -1;
	enum sn_column_form plain = narrow(whole, SN_COLUMN_U8);
	enum sn_column_form scaled = narrow(multiple, SN_COLUMN_U8P);
	if (multiple >= 0 && (whole < 0 || width_of(scaled) < width_of(plain)))
		return scaled;
	return whole >= 0 ? plain : SN_COLUMN_F64;
}

uint32_t sn_plane_choose(const double *numbers, size_t stride, size_t count, double period)
{
	uint32_t forms = 0;
	for (int part = 0; part < SONDE_DB_PART_COUNT; part++)
		forms |= (uint32_t)choose_column(numbers, stride, count, period, part) << 4 * part;
	return forms;
}

static unsigned char *put_whole(unsigned char *bytes, unsigned width, double number)
{
	uint32_t whole = (uint32_t)number;
	memcpy(bytes, &whole, width); /* little endian, as the file */
	return bytes + width;
}

static unsigned char *encode_column(const double *numbers, size_t stride, size_t count,
				    double period, enum sn_column_form form, unsigned char *bytes)
{
	unsigned width = width_of(form);
	double divisor = form >= SN_COLUMN_U8P ? period : 1;
	for (size_t i = 0; i < count && width; i++) {
		if (form == SN_COLUMN_F64) {
			memcpy(bytes, numbers + i * stride, sizeof(*numbers));
			bytes += sizeof(*numbers);
		} else {
			bytes = put_whole(bytes, width, numbers[i * stride] / divisor);
		}
	}
	return bytes;
}

unsigned char *sn_plane_encode(const double *numbers, size_t stride, size_t count, double period,
			       uint32_t forms, unsigned char *bytes)
{
	for (int i = 0; i < SONDE_DB_PART_COUNT; i++)
		bytes = encode_column(numbers + order[i], stride, count, period,
				      form_of(forms, order[i]), bytes);
	return bytes;
}

unsigned char *sn_plane_slice(const unsigned char *bytes, uint32_t forms, uint64_t count,
			      uint64_t first, uint64_t taken, unsigned char *out)
{
	for (int i = 0; i < SONDE_DB_PART_COUNT; i++) {
		uint64_t width = width_of(form_of(forms, order[i]));
		memcpy(out, bytes + first * width, taken * width);
		out += taken * width;
		bytes += count * width;
	}
	return out;
}

const unsigned char *sn_plane_find_columns(const unsigned char *bytes, uint32_t forms,
					   uint64_t count, double period,
					   struct sonde_db_columns *columns)
{
	columns->forms = forms;
	columns->period = period;
	for (int i = 0; i < SONDE_DB_PART_COUNT; i++) {
		columns->numbers[order[i]] = bytes;
		bytes += width_of(form_of(forms, order[i])) * count;
	}
	return bytes;
}

static double finite_or_zero(double number)
{
	return isfinite(number) ? number : 0;
}

/* A number that is stored, or 1. */
static double stored(const struct sonde_db_columns *columns, enum sonde_db_part part,
		     size_t position)
{
	enum sn_column_form form = form_of(columns->forms, part);
	const unsigned char *bytes = columns->numbers[part];
	double number = 1;
	uint32_t whole;
	uint16_t half;
	switch (form) {
	case SN_COLUMN_F64:
		memcpy(&number, bytes + position * sizeof(number), sizeof(number));
		return finite_or_zero(number);
	case SN_COLUMN_U8:
	case SN_COLUMN_U8P:
		number = bytes[position];
		break;
	case SN_COLUMN_U16:
	case SN_COLUMN_U16P:
		memcpy(&half, bytes + position * sizeof(half), sizeof(half));
		number = half;
		break;
	case SN_COLUMN_U32:
	case SN_COLUMN_U32P:
		memcpy(&whole, bytes + position * sizeof(whole), sizeof(whole));
		number = whole;
		break;
	default:
		return 1;
	}
	return form >= SN_COLUMN_U8P ? number * columns->period : number;
}

double sn_columns_sum(const struct sonde_db_columns *columns, size_t position)
{
	return stored(columns, SONDE_DB_SUM, position);
}

void sn_columns_stat(const struct sonde_db_columns *columns, size_t position,
		     struct sonde_db_stat *stat)
{
	double parts[SONDE_DB_PART_COUNT] = {0};
	for (int i = 0; i < SONDE_DB_PART_COUNT; i++) {
		enum sonde_db_part part = order[i];
		parts[part] = form_of(columns->forms, part) == SN_COLUMN_IMPLIED
				  ? finite_or_zero(implied(part, parts, columns->period))
				  : stored(columns, part, position);
	}
	*stat =
	    (struct sonde_db_stat){parts[SONDE_DB_COUNT], parts[SONDE_DB_SUM], parts[SONDE_DB_MIN],
				   parts[SONDE_DB_MAX], parts[SONDE_DB_SUM_SQUARES]};
}

void sn_columns_numbers(const struct sonde_db_columns *columns, enum sonde_db_part part,
			size_t first, size_t count, double *numbers)
{
	if (form_of(columns->forms, part) != SN_COLUMN_IMPLIED) {
		for (size_t i = 0; i < count; i++)
			numbers[i] = stored(columns, part, first + i);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct sonde_db_stat stat;
		sn_columns_stat(columns, first + i, &stat);
		const double parts[] = {stat.count, stat.sum, stat.min, stat.max, stat.sum_squares};
		numbers[i] = parts[part];
	}
}
