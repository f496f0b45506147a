/* SPDX-License-Identifier: Apache-2.0 */
/* For pgo.py: SQLite at work on tables in memory. pgo_sqlite SEED TURNS prints a number that depends on all answers. */
#include "sqlite3.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const setup[] = {
    "CREATE TABLE item (id INTEGER PRIMARY KEY, kind INTEGER, name TEXT, price REAL)",
    "CREATE TABLE sale (item INTEGER, shop INTEGER, day INTEGER, count INTEGER)",
    "CREATE INDEX sale_item ON sale (item)",
};

/* ?1 is the seed. */
static const char *const work[] = {
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) INSERT INTO "
    "item SELECT i, (i * ?1) % 17, printf('%x-%d', i * 7919 + ?1, i % 13), ((i * 31 + ?1) % 997) / "
    "7.0 FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000) INSERT INTO "
    "sale SELECT (i * 7 + ?1) % 4000, (i * ?1) % 40, i % 365, (i * 13 + ?1) % 9 FROM n",
    "SELECT sum(total * rank) FROM (SELECT kind, sum(price * count) AS total, count(*) AS rank "
    "FROM sale JOIN item ON item.id = sale.item WHERE day > ?1 % 200 GROUP BY kind ORDER BY total)",
    "SELECT sum(length(name)) FROM (SELECT name FROM item WHERE name LIKE '%a' || (?1 % 9) || '%' "
    "OR kind IN (3, 5, ?1 % 17) ORDER BY name)",
    "SELECT count(*) FROM (SELECT DISTINCT shop, day FROM sale WHERE count > ?1 % 5)",
    "UPDATE sale SET count = count + 1 WHERE item IN (SELECT id FROM item WHERE price > 100)",
    "SELECT sum(best) FROM (SELECT shop, max(count * (SELECT price FROM item WHERE id = item)) AS "
    "best FROM sale GROUP BY shop)",
    "SELECT total(avg) FROM (SELECT avg(count) OVER (PARTITION BY shop ORDER BY day ROWS 3 "
    "PRECEDING) AS avg FROM sale WHERE shop < 10)",
    "DELETE FROM sale WHERE day % 5 = ?1 % 5",
    "DELETE FROM sale",
    "DELETE FROM item",
};

static double run(sqlite3 *database, const char *text, int seed)
{
	sqlite3_stmt *statement;
	double sum = 0;
	if (sqlite3_prepare_v2(database, text, -1, &statement, NULL) != SQLITE_OK) {
		fprintf(stderr, "pgo_sqlite: %s\n", sqlite3_errmsg(database));
		exit(1);
	}
	if (sqlite3_bind_parameter_count(statement))
		sqlite3_bind_int(statement, 1, seed);
	while (sqlite3_step(statement) == SQLITE_ROW)
		sum += sqlite3_column_double(statement, 0);
	sqlite3_finalize(statement);
	return sum;
}

int main(int argc, char **argv)
{
	int seed = argc > 1 ? atoi(argv[1]) : 1, turns = argc > 2 ? atoi(argv[2]) : 1;
	sqlite3 *database;
	double sum = 0;
	if (sqlite3_open(":memory:", &database) != SQLITE_OK)
		return 1;
	for (size_t i = 0; i < sizeof(setup) / sizeof(*setup); i++)
		run(database, setup[i], 0);
	for (int turn = 0; turn < turns; turn++)
		for (size_t i = 0; i < sizeof(work) / sizeof(*work); i++)
			sum += run(database, work[i], seed + turn);
	printf("%.6f\n", sum);
	sqlite3_close(database);
	return 0;
}
