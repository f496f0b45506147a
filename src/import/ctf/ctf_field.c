/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the values of CTF fields through libbabeltrace2. */
#include "ctf.h"

#include <string.h>

const bt_field *sn_ctf_member(const bt_field *structure, const char *name)
{
	if (!structure || bt_field_get_class_type(structure) != BT_FIELD_CLASS_TYPE_STRUCTURE)
		return NULL;
	return bt_field_structure_borrow_member_field_by_name_const(structure, name);
}

bool sn_ctf_integer(const bt_field *field, uint64_t *value)
{
	bt_field_class_type type = field ? bt_field_get_class_type(field) : 0;
	if (!field)
		return false;
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		*value = bt_field_integer_unsigned_get_value(field);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		*value = (uint64_t)bt_field_integer_signed_get_value(field);
	else
		return false;
	return true;
}

const char *sn_ctf_string(const bt_field *field)
{
	return field && bt_field_get_class_type(field) == BT_FIELD_CLASS_TYPE_STRING
		   ? bt_field_string_get_value(field)
		   : NULL;
}

uint64_t sn_ctf_integer_or(const bt_field *structure, const char *name, uint64_t missing)
{
	uint64_t value;
	return sn_ctf_integer(sn_ctf_member(structure, name), &value) ? value : missing;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

bool sn_ctf_scalar(struct sn_db_builder *builder, const bt_field *field,
		   enum sonde_attribute_type *type, uint64_t *value)
{
	bt_field_class_type class = bt_field_get_class_type(field);
	if (class == BT_FIELD_CLASS_TYPE_BOOL) {
		*type = SONDE_ATTRIBUTE_UNSIGNED;
		*value = bt_field_bool_get_value(field);
	} else if (class == BT_FIELD_CLASS_TYPE_BIT_ARRAY) {
		*type = SONDE_ATTRIBUTE_UNSIGNED;
		*value = bt_field_bit_array_get_value_as_integer(field);
	} else if (class == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL) {
		*type = SONDE_ATTRIBUTE_REAL;
		*value = bits_of(bt_field_real_single_precision_get_value(field));
	} else if (class == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL) {
		*type = SONDE_ATTRIBUTE_REAL;
		*value = bits_of(bt_field_real_double_precision_get_value(field));
	} else if (class == BT_FIELD_CLASS_TYPE_STRING) {
		*type = SONDE_ATTRIBUTE_STRING;
		*value = sn_db_builder_string(builder, bt_field_string_get_value(field));
	} else if (sn_ctf_integer(field, value)) {
		*type = bt_field_class_type_is(class, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)
			    ? SONDE_ATTRIBUTE_SIGNED
			    : SONDE_ATTRIBUTE_UNSIGNED;
	} else {
		return false;
	}
	return true;
}
