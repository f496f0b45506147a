/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of each kind, written here as their tools write them, and what is no table. */
#include "causal/table.h"
#include "causal/table/unit.h"
#include "causal/table/value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static int read_bytes(struct sn_causal_table *table, const char *bytes, size_t length,
		      struct sn_error *error)
{
	char path[] = "/tmp/sonde-table-XXXXXX";
	int file = mkstemp(path);
	assert_true(file >= 0);
	assert_int_equal(write(file, bytes, length), (ssize_t)length);
	close(file);
	int result = sn_causal_table_read(table, path, error);
	unlink(path);
	return result;
}

static struct sn_causal_table table_of(const char *text)
{
	struct sn_causal_table table;
	struct sn_error error = {""};
	if (read_bytes(&table, text, strlen(text), &error))
		fail_msg("%s", error.text);
	return table;
}

static void assert_refused(const char *bytes, size_t length, const char *why)
{
	struct sn_causal_table table;
	struct sn_error error = {""};
	assert_true(read_bytes(&table, bytes, length, &error) < 0);
	sn_causal_table_release(&table);
	if (!strstr(error.text, why))
		fail_msg("'%s' does not say '%s'", error.text, why);
}

static double value_at(const struct sn_causal_table *table, const char *name, size_t row)
{
	uint32_t column = sn_causal_table_find(table, name);
	if (column == UINT32_MAX)
		fail_msg("there is no column '%s'", name);
	assert_true(row < table->row_count);
	return table->columns[column].values[row];
}

static const char *level_at(const struct sn_causal_table *table, const char *name, size_t row)
{
	const struct sn_causal_column *column = &table->columns[sn_causal_table_find(table, name)];
	assert_true(column->levels > 0);
	return column->level_names[(uint32_t)column->values[row]];
}

static void assert_near(double value, double wanted)
{
	if (!(fabs(value - wanted) <= 1e-12 * fabs(wanted)))
		fail_msg("%.17g is not %.17g", value, wanted);
}

/* ---- fields ---- */

static void test_numbers_are_strtods(void **state)
{
	static const char *const texts[] = {"0",
					    "-0",
					    "1",
					    "-1.5",
					    ".5",
					    "5.",
					    "1e3",
					    "1E-3",
					    "123456789012345678",
					    "0.1",
					    "1.7976931348623157e308",
					    "5e-324",
					    "9007199254740993",
					    "1e22",
					    "1e23",
					    "3e-23",
					    "12345678901234567890123",
					    "0.000000000000000000001",
					    "+7",
					    "0x10",
					    "1e+05",
					    "00012.50"};
	double value;
	(void)state;
	for (size_t text = 0; text < sizeof(texts) / sizeof(*texts); text++) {
		double wanted = strtod(texts[text], NULL);
		assert_true(sn_value_number(texts[text], &value));
		assert_memory_equal(&value, &wanted, sizeof(value));
	}
	srand(7);
	for (int number = 0; number < 200000; number++) {
		char text[64];
		double any = (double)rand() / (double)(rand() + 1) * pow(10, rand() % 40 - 20);
		snprintf(text, sizeof(text), "%.*g", rand() % 18 + 1, any);
		double wanted = strtod(text, NULL);
		assert_true(sn_value_number(text, &value));
		assert_memory_equal(&value, &wanted, sizeof(value));
	}
}

static void test_what_is_a_number(void **state)
{
	static const char *const no[] = {"",	     "-",	 ".",	      "e5",	"1e",
					 "1.2.3",    "12a",	 "1,23",      "1,2345", ",123",
					 "1234,567", "1,234,56", "1,234.5,6", "a",	"--1"};
	double value;
	(void)state;
	for (size_t text = 0; text < sizeof(no) / sizeof(*no); text++)
		if (sn_value_number(no[text], &value))
			fail_msg("'%s' is taken for %g", no[text], value);
	assert_true(sn_value_number("1,234,567.5", &value) && value == 1234567.5);
	assert_true(sn_value_number("-12,345", &value) && value == -12345);
	assert_true(sn_value_number("123,456", &value) && value == 123456);
	assert_true(sn_value_number("inf", &value) && isnan(value));
	assert_true(sn_value_is_missing("") && sn_value_is_missing("-") &&
		    sn_value_is_missing("n/a") && sn_value_is_missing("None"));
	assert_false(sn_value_is_missing("0") || sn_value_is_missing("-1") ||
		     sn_value_is_missing("Nan "));
}

static void test_units(void **state)
{
	static const struct {
		const char *unit, *base;
		double scale;
	} cases[] = {{"ns", "ns", 1},
		     {"nsecond", "ns", 1},
		     {"usecond", "ns", 1e3},
		     {"us", "ns", 1e3},
		     {"msecond", "ns", 1e6},
		     {"second", "ns", 1e9},
		     {"byte", "byte", 1},
		     {"Kbyte", "byte", 1e3},
		     {"Mbyte", "byte", 1e6},
		     {"Gbyte/second", "byte/second", 1e9},
		     {"Kbyte/block", "byte/block", 1e3},
		     {"cycle/nsecond", "cycle/second", 1e9},
		     {"cycle/usecond", "cycle/second", 1e6},
		     {"Ghz", "hz", 1e9},
		     {"MHz", "hz", 1e6},
		     {"%", "%", 1},
		     {"register/thread", "register/thread", 1},
		     {"msomething", "msomething", 1}};
	struct sn_arena arena = {0};
	(void)state;
	for (size_t number = 0; number < sizeof(cases) / sizeof(*cases); number++) {
		const char *base;
		assert_near(sn_unit_scale(cases[number].unit, &arena, &base), cases[number].scale);
		assert_string_equal(base, cases[number].base);
	}
	sn_arena_release(&arena);
}

/* ---- plain ---- */

static void assert_two_by_two(const char *text)
{
	struct sn_causal_table table = table_of(text);
	assert_int_equal(table.kind, SN_TABLE_PLAIN);
	assert_int_equal(table.column_count, 2);
	assert_int_equal(table.row_count, 2);
	assert_string_equal(table.columns[0].name, "a");
	assert_string_equal(table.columns[1].name, "b");
	assert_true(value_at(&table, "a", 0) == 1 && value_at(&table, "a", 1) == 3);
	assert_true(value_at(&table, "b", 0) == 2 && value_at(&table, "b", 1) == -4.5);
	sn_causal_table_release(&table);
}

static void test_separators(void **state)
{
	(void)state;
	assert_two_by_two("a,b\n1,2\n3,-4.5\n");
	assert_two_by_two("a;b\n1;2\n3;-4.5");
	assert_two_by_two("a\tb\n1\t2\n3\t-4.5\n");
	assert_two_by_two("a b\n1 2\n3 -4.5\n");
	assert_two_by_two("a    b\n  1 2  \n3   -4.5 \n");
	assert_two_by_two("\"a\" \"b\"\n1 2\n3   -4.5 \n");
	assert_two_by_two("\xef\xbb\xbf"
			  "a,b\r\n1,2\r\n3,-4.5\r\n");
	assert_two_by_two("\xef\xbb\xbf\"a\",\"b\"\r\n\"1\",2\r\n\r\n 3 ,\"-4.5\"\r\n");
	assert_two_by_two("\n\na,b\n1,2\n3,-4.5\n");
}

static void test_separator_in_names(void **state)
{
	(void)state;
	struct sn_causal_table table = table_of("\"a, b, c\";\"d e\"\n1;2\n");
	assert_int_equal(table.column_count, 2);
	assert_string_equal(table.columns[0].name, "a, b, c");
	sn_causal_table_release(&table);
	/* one column, whose name has a blank */
	table = table_of("two words\n1\n2\n");
	assert_int_equal(table.column_count, 1);
	sn_causal_table_release(&table);
}

static void test_categories_and_gaps(void **state)
{
	(void)state;
	struct sn_causal_table table =
	    table_of("a,b,c,d\n1,x,,\"1,000\"\n1.0,y,NA,\"2,000\"\nz,x,n/a,-\n-,x,7,\n1.00,x,,\n");
	const struct sn_causal_column *columns = table.columns;
	assert_int_equal(columns[0].levels, 2); /* "1" and "1.0" are one */
	assert_string_equal(level_at(&table, "a", 1), "1");
	assert_string_equal(level_at(&table, "a", 2), "z");
	assert_true(isnan(columns[0].values[3]) && columns[0].missing == 1);
	assert_string_equal(level_at(&table, "a", 4), "1");
	assert_int_equal(columns[1].levels, 2);
	assert_int_equal(columns[2].levels, 0);
	assert_int_equal(columns[2].missing, 4);
	assert_int_equal(columns[3].levels, 0);
	assert_true(columns[3].values[1] == 2000 && columns[3].missing == 3);
	sn_causal_table_release(&table);
}

static void test_growth(void **state)
{
	char *text = malloc(1 << 20), *at = text;
	(void)state;
	at += sprintf(at, "a,b\n");
	for (int row = 0; row < 5000; row++)
		at += sprintf(at, "%d,%s\n", row, row % 3 ? "x" : "y");
	struct sn_causal_table table = table_of(text);
	assert_int_equal(table.row_count, 5000);
	for (int row = 0; row < 5000; row++) {
		assert_true(table.columns[0].values[row] == row);
		assert_string_equal(level_at(&table, "b", (size_t)row), row % 3 ? "x" : "y");
	}
	sn_causal_table_release(&table);
	free(text);
}

/* ---- Nsight Compute ---- */

#define DETAILS                                                                                    \
	"\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\","        \
	"\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\","              \
	"\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\",\"Rule Description\"\n"
#define LAUNCH(id, process, kernel, grid)                                                          \
	"\"" id "\",\"" process "\",\"app\",\"host\",\"" kernel                                    \
	"\",\"1\",\"7\",\"(256, 1, 1)\",\"(" grid ", 2, 1)\",\"0\",\"8.0\","

static void test_details(void **state)
{
	(void)state;
	struct sn_causal_table
	    table =
		table_of("==PROF== Connected to process 11\nthe program, says: \"hello\"\n" DETAILS
			     LAUNCH(
				 "0", "11", "f(int, int)",
				 "64") "\"Speed\",\"Duration\",\"usecond\",\"1,234."
				       "5\",\n" LAUNCH(
					   "0", "11", "f(int, int)",
					   "64") "\"Speed\",\"Throughput\",\"%"
						 "\",\"50\",\n" LAUNCH("0", "11", "f(int, int)", "64") "\"Memory\",\"Throughput\",\"Gbyte/second\",\"1.5\",\n" LAUNCH(
						     "0", "11", "f(int, int)",
						     "64") "\"Speed\",\"\","
							   "\"\",\"\","
							   "\"Rule\",\"do, "
							   "better\"\n"
							   "progress: 50 "
							   "%\n" LAUNCH("1", "11", "g()", "128") "\"Memory\",\"Throughput\",\"Mbyte/second\",\"700\",\n" LAUNCH(
							       "1", "11", "g()",
							       "128") "\"Speed"
								      "\","
								      "\"Durat"
								      "ion\","
								      "\"mseco"
								      "nd\","
								      "\"2\","
								      "\n" LAUNCH(
									  "1", "11",
									  "g("
									  ")",
									  "12"
									  "8") "\"L"
									       "aun"
									       "ch"
									       "\","
									       "\"C"
									       "ach"
									       "e\""
									       ",\""
									       "\","
									       "\"P"
									       "ref"
									       "erN"
									       "one"
									       "\","
									       "\n"
									       "=="
									       "PRO"
									       "F=="
									       " Di"
									       "sco"
									       "nne"
									       "cte"
									       "d "
									       "fro"
									       "m "
									       "pro"
									       "ces"
									       "s "
									       "11"
									       "\n" DETAILS LAUNCH(
										   "0", "12", "g()",
										   "32") "\"Speed\""
											 ",\"Durati"
											 "on\","
											 "\"ns\","
											 "\"500\","
											 "\n");
	assert_int_equal(table.kind, SN_TABLE_NSIGHT);
	assert_int_equal(table.row_count, 3);
	assert_near(value_at(&table, "Duration", 0), 1234500);
	assert_near(value_at(&table, "Duration", 1), 2000000);
	assert_near(value_at(&table, "Duration", 2), 500);
	assert_string_equal(table.columns[sn_causal_table_find(&table, "Duration")].unit, "ns");
	assert_near(value_at(&table, "Throughput (Speed)", 0), 50);
	assert_true(isnan(value_at(&table, "Throughput (Speed)", 1)));
	assert_near(value_at(&table, "Throughput (Memory)", 0), 1.5e9);
	assert_near(value_at(&table, "Throughput (Memory)", 1), 7e8);
	assert_string_equal(level_at(&table, "Kernel Name", 0), "f(int, int)");
	assert_string_equal(level_at(&table, "Cache", 1), "PreferNone");
	assert_string_equal(level_at(&table, "Device", 2), "0");
	assert_true(value_at(&table, "Grid Size x", 1) == 128 &&
		    value_at(&table, "Grid Size y", 1) == 2);
	assert_true(value_at(&table, "launch_order", 2) == 2);
	assert_int_equal(sn_causal_table_find(&table, "Process ID"), UINT32_MAX);
	assert_int_equal(sn_causal_table_find(&table, "ID"), UINT32_MAX);
	assert_int_equal(sn_causal_table_find(&table, ""), UINT32_MAX);
	assert_int_equal(table.apart_count, 8);
	assert_int_equal(table.columns[sn_causal_table_find(&table, "Throughput (Speed)")].missing,
			 2);
	sn_causal_table_release(&table);
}

static void test_same_metric_in_units_that_do_not_convert(void **state)
{
	(void)state;
	struct sn_causal_table table =
	    table_of(DETAILS LAUNCH("0", "1", "f", "1") "\"S\",\"Rate\",\"%\",\"3\"\n" LAUNCH(
		"1", "1", "f", "1") "\"S\",\"Rate\",\"byte\",\"4\"\n");
	assert_true(value_at(&table, "Rate (S) [%]", 0) == 3);
	assert_true(value_at(&table, "Rate (S) [byte]", 1) == 4);
	sn_causal_table_release(&table);
}

static void test_size_that_is_no_triple(void **state)
{
	(void)state;
	struct sn_causal_table table =
	    table_of(DETAILS LAUNCH("0", "1", "f", "1") "\"S\",\"T\",\"%\",\"3\"\n" LAUNCH(
		"1", "1", "f",
		"?") "\"S\",\"T\",\"%\",\"4\"\n" LAUNCH("2", "1", "f",
							"9") "\"S\",\"T\",\"%\",\"5\"\n");
	assert_string_equal(level_at(&table, "Grid Size x", 0), "1");
	assert_string_equal(level_at(&table, "Grid Size x", 1), "(?, 2, 1)");
	assert_string_equal(level_at(&table, "Grid Size x", 2), "(9, 2, 1)");
	sn_causal_table_release(&table);
}

#define RAW                                                                                        \
	"\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Kernel Time\","    \
	"\"Context\",\"Stream\",\"thread Domain:Push/Pop_Range:PL_Type\",\"dram__bytes.sum\","     \
	"\"gpu__time_duration.sum\",\"launch__name\"\n"                                            \
	"\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"Kbyte\",\"msecond\",\"\"\n"
#define RAW_LAUNCH(id) "\"" id "\",\"1\",\"app\",\"host\",\"f\",\"2024-01-01\",\"1\",\"7\",\"\","

static void test_raw(void **state)
{
	(void)state;
	struct sn_causal_table table =
	    table_of("==PROF== Profiling \"f\" - 0: 0%....100% - 3 passes\n" RAW RAW_LAUNCH(
		"0") "\"1,024.5\",\"1.5\",\"a\"\n" RAW_LAUNCH("1") "\"2\",\"n/a\",\"b\"\n");
	assert_int_equal(table.kind, SN_TABLE_NSIGHT);
	assert_int_equal(table.row_count, 2);
	assert_near(value_at(&table, "dram__bytes.sum", 0), 1024500);
	assert_near(value_at(&table, "gpu__time_duration.sum", 0), 1500000);
	assert_true(isnan(value_at(&table, "gpu__time_duration.sum", 1)));
	assert_string_equal(table.columns[sn_causal_table_find(&table, "dram__bytes.sum")].unit,
			    "byte");
	assert_string_equal(level_at(&table, "launch__name", 1), "b");
	assert_int_equal(table.column_count, 5);
	sn_causal_table_release(&table);
}

static void test_summary_is_refused(void **state)
{
	static const char text[] =
	    "\"Process ID\",\"Kernel Name\",\"Invocations\",\"Section Name\",\"Metric Name\","
	    "\"Metric Unit\",\"Minimum\",\"Maximum\",\"Average\"\n"
	    "\"1\",\"f\",\"2\",\"S\",\"Duration\",\"us\",\"1\",\"3\",\"2\"\n";
	(void)state;
	assert_refused(text, sizeof(text) - 1, "summary");
}

/* ---- rocprof ---- */

#define V3                                                                                         \
	"\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Process_Id\",\"Kernel_Name\",\"Grid_"   \
	"Size\","                                                                                  \
	"\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n"

static void test_rocprofv3(void **state)
{
	(void)state;
	/* times above 2^53, and a later dispatch before an earlier one */
	struct sn_causal_table table = table_of(
	    V3 "1,2,\"Agent 4\",9,\"f(int, "
	       "int)\",64,WAVES,10.0,9200000000000000103,9200000000000000204\n"
	       "1,2,\"Agent 4\",9,\"f(int, "
	       "int)\",64,BUSY,11.5,9200000000000000103,9200000000000000204\n"
	       "2,1,\"Agent 4\",9,\"g\",128,BUSY,12.5,9200000000000000001,9200000000000000008\n"
	       "2,1,\"Agent 4\",9,\"g\",128,WAVES,20,9200000000000000001,9200000000000000008\n");
	assert_int_equal(table.kind, SN_TABLE_ROCPROF);
	assert_int_equal(table.row_count, 2);
	assert_true(value_at(&table, "WAVES", 0) == 10 && value_at(&table, "BUSY", 1) == 12.5);
	assert_true(value_at(&table, "start_ns", 0) == 102 && value_at(&table, "start_ns", 1) == 0);
	assert_true(value_at(&table, "Grid_Size", 1) == 128);
	assert_string_equal(level_at(&table, "Agent_Id", 1), "Agent 4");
	assert_int_equal(sn_causal_table_find(&table, "Correlation_Id"), UINT32_MAX);
	sn_causal_table_release(&table);
	table = table_of(V3 "1,1,A,9,f,64,WAVES,10,9007199254740993,9007199254740996\n");
	assert_true(value_at(&table, "duration_ns", 0) == 3);
	sn_causal_table_release(&table);
}

static void test_passes(void **state)
{
	(void)state;
	struct sn_causal_table table = table_of(V3 "1,1,A,9,f,64,WAVES,10,100,200\n"
						   "2,2,A,9,f,64,WAVES,11,300,500\n"
						   "1,1,A,9,f,64,BUSY,5,1100,1400\n"
						   "1,1,A,9,f,64,WAVES,99,1100,1400\n"
						   "2,2,A,9,f,64,BUSY,6,1600,1700\n");
	assert_int_equal(table.row_count, 2);
	assert_true(value_at(&table, "WAVES", 0) == 10 && value_at(&table, "BUSY", 0) == 5);
	assert_true(value_at(&table, "duration_ns", 0) == 200 &&
		    value_at(&table, "duration_ns", 1) == 150);
	assert_true(value_at(&table, "launch_order", 1) == 1);
	assert_int_equal(sn_causal_table_find(&table, "start_ns"), UINT32_MAX);
	sn_causal_table_release(&table);
}

static void test_rocprof_wide(void **state)
{
	(void)state;
	struct sn_causal_table table =
	    table_of("Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,sig,obj,SQ_"
		     "WAVES,DispatchNs,BeginNs,EndNs,"
		     "CompleteNs,DurationNs\n"
		     "0,\"f(int, int)\",2,0,0,7,7,64,64,0x0,0x7f,5,90,100,150,160,50\n"
		     "1,\"f(int, int)\",2,0,2,7,7,128,64,0x0,0x7f,6,190,200,275,280,75\n");
	assert_int_equal(table.kind, SN_TABLE_ROCPROF);
	assert_true(value_at(&table, "duration_ns", 1) == 75 &&
		    value_at(&table, "start_ns", 1) == 100);
	assert_true(value_at(&table, "SQ_WAVES", 1) == 6 && value_at(&table, "grd", 1) == 128);
	assert_int_equal(sn_causal_table_find(&table, "DurationNs"), UINT32_MAX);
	assert_int_equal(sn_causal_table_find(&table, "sig"), UINT32_MAX);
	assert_int_equal(table.column_count, 7);
	sn_causal_table_release(&table);
	/* rocprofv2, without its times */
	table = table_of("Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Kernel_Name,GRBM_COUNT\n1,"
			 "0,1,7,7,64,f,9\n2,0,1,7,7,64,f,8\n");
	assert_int_equal(table.kind, SN_TABLE_ROCPROF);
	assert_int_equal(sn_causal_table_find(&table, "duration_ns"), UINT32_MAX);
	assert_true(value_at(&table, "launch_order", 1) == 1 &&
		    value_at(&table, "GRBM_COUNT", 1) == 8);
	sn_causal_table_release(&table);
}

/* ---- what is no table ---- */

/* Of the long form, a row that ends before its times. */
#define SHORT_OF_ITS_END                                                                           \
	"Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_"         \
	"Timestamp\n1,A,f,W,3,10,20\n2,A,f,W,3,10\n"

static void test_refused(void **state)
{
	(void)state;
	assert_refused("", 0, "is empty");
	assert_refused("\n \n", 3, "is empty");
	assert_refused("a,b\n", 4, "no row but the names");
	assert_refused("a,b\n1,2\n3\n", 10, "line 3 has 1 fields, and the first one 2");
	assert_refused("a,b\n1,2,3\n", 10, "line 2 has 3 fields");
	assert_refused("a,b\n1,2\n3,\"4", 13, "damaged in line 3");
	assert_refused("a,a\n1,2\n", 8, "two columns have the name 'a'");
	assert_refused("a,b\n1,\0\n", 9, "damaged in line 2");
	assert_refused("\x7f"
		       "ELF\0\0",
		       6, "damaged in line 1");
	assert_refused("\xff\xfe"
		       "a\0,\0b\0\n\0",
		       10, "UTF-16");
	assert_refused(DETAILS LAUNCH("0", "1", "f", "1") "\"S\",\"Dur\n",
		       strlen(DETAILS LAUNCH("0", "1", "f", "1") "\"S\",\"Dur\n"), "damaged");
	assert_refused(DETAILS LAUNCH("0", "1", "f", "1") "\"S\",\"Dur\"\n",
		       strlen(DETAILS LAUNCH("0", "1", "f", "1") "\"S\",\"Dur\"\n"),
		       "has 13 fields");
	assert_refused(V3, strlen(V3), "no row");
	assert_refused(SHORT_OF_ITS_END, strlen(SHORT_OF_ITS_END), "line 3 has 6 fields");
	struct sn_causal_table table;
	struct sn_error error;
	assert_true(sn_causal_table_read(&table, "/tmp", &error) < 0);
	assert_non_null(strstr(error.text, "directory"));
	sn_causal_table_release(&table);
	assert_true(sn_causal_table_read(&table, "/nonexistent", &error) < 0);
	assert_non_null(strstr(error.text, "No such file"));
	sn_causal_table_release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_numbers_are_strtods),
	    cmocka_unit_test(test_what_is_a_number),
	    cmocka_unit_test(test_units),
	    cmocka_unit_test(test_separators),
	    cmocka_unit_test(test_separator_in_names),
	    cmocka_unit_test(test_categories_and_gaps),
	    cmocka_unit_test(test_growth),
	    cmocka_unit_test(test_details),
	    cmocka_unit_test(test_same_metric_in_units_that_do_not_convert),
	    cmocka_unit_test(test_size_that_is_no_triple),
	    cmocka_unit_test(test_raw),
	    cmocka_unit_test(test_summary_is_refused),
	    cmocka_unit_test(test_rocprofv3),
	    cmocka_unit_test(test_passes),
	    cmocka_unit_test(test_rocprof_wide),
	    cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
