/* SPDX-License-Identifier: Apache-2.0 */
/* What of command lines is secret, and what is not. */
#include "format/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define LETTERS "aBcD1234eFgH5678iJkL"
/* 40 letters, as AWS's secret keys have */
#define AWS_KEY "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

/* Arguments, separated by '|', and what is kept of them; NULL: all. */
static const struct {
	const char *command, *kept;
} cases[] = {
    /* names with values */
    {"run|--password=tiger", "run|--password=***"},
    {"run|--password|tiger|--fast", "run|--password|***|--fast"},
    {"run|-password|tiger", "run|-password|***"},
    {"run|--db-password=a b&c,d", "run|--db-password=***"},
    {"env|PGPASSWORD=tiger|psql", "env|PGPASSWORD=***|psql"},
    {"env|OPENAI_API_KEY=abc|AWS_SECRET_ACCESS_KEY=x/y+z|train",
     "env|OPENAI_API_KEY=***|AWS_SECRET_ACCESS_KEY=***|train"},
    {"run|token=abc", "run|token=***"},
    {"run|KEY=abc", "run|KEY=***"},
    {"run|--apiKey=abc|--accessToken|def", "run|--apiKey=***|--accessToken|***"},
    {"run|+wandb.api_key=abc|model.token=def", "run|+wandb.api_key=***|model.token=***"},
    {"run|--client-secret:abc", "run|--client-secret:***"},
    {"run|SECRET_1=abc|TOKEN2=def", "run|SECRET_1=***|TOKEN2=***"},
    {"run|-passin|pass:abc", "run|-passin|pass:***"},
    {"run|--hf-token|abc", "run|--hf-token|***"},
    {"run|host=db;Password=tiger;user=me", "run|host=db;Password=***;user=me"},
    {"run|{\"user\": \"me\", \"password\": \"ti\\\"ger\", \"n\": 3}",
     "run|{\"user\": \"me\", \"password\": \"***\", \"n\": 3}"},
    {"python3|-c|connect(user='me', password='tiger', n=3)",
     "python3|-c|connect(user='me', password='***', n=3)"},
    /* headers and URLs */
    {"curl|-H|Authorization: Bearer abc def|https://x/", "curl|-H|Authorization: ***|https://x/"},
    {"curl|-H|X-Api-Key: abc|https://x/", "curl|-H|X-Api-Key: ***|https://x/"},
    {"git|clone|https://me:tiger@host/x.git", "git|clone|https://me:***@host/x.git"},
    {"git|clone|https://me:ti@ger@host/x.git", "git|clone|https://me:***@host/x.git"},
    {"git|clone|https://" LETTERS "@host/x.git", "git|clone|https://***@host/x.git"},
    {"run|--uri=postgresql://me:tiger@host:5432/db", "run|--uri=postgresql://me:***@host:5432/db"},
    {"run|https://h/x?a=1&sig=abc&b=2", "run|https://h/x?a=1&sig=***&b=2"},
    {"run|https://h/x?access_token=abc#frag", "run|https://h/x?access_token=***"},
    /* tokens by their form */
    {"run|ghp_" LETTERS LETTERS, "run|***"},
    {"run|--login=me:ghp_" LETTERS LETTERS, "run|--login=me:***"},
    {"run|github_pat_" LETTERS "_" LETTERS, "run|***"},
    {"run|hf_" LETTERS LETTERS, "run|***"},
    {"run|AKIAIOSFODNN7EXAMPLE", "run|***"},
    {"run|--id|AKIAIOSFODNN7EXAMPLE:" AWS_KEY, "run|--id|***:***"},
    {"run|sk-proj-" LETTERS LETTERS, "run|***"},
    {"run|xoxb-123456789012-" LETTERS, "run|***"},
    {"run|eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-def_123", "run|***"},
    {"run|-----BEGIN RSA PRIVATE KEY-----\nabc", "run|***"},
    /* programs with options of one letter */
    {"mysql|-u|me|-ptiger|db", "mysql|-u|me|-p***|db"},
    {"/usr/bin/mysqldump|-ptiger", "/usr/bin/mysqldump|-p***"},
    {"sudo|env|sshpass|-p|tiger|ssh|host", "sudo|env|sshpass|-p|***|ssh|host"},
    {"curl|-u|me:tiger|https://h/", "curl|-u|me:***|https://h/"},
    {"curl|-ume:tiger|https://h/", "curl|-ume:***|https://h/"},
    {"docker|login|-u|me|-p|tiger", "docker|login|-u|me|-p|***"},
    {"7z|x|-ptiger|a.7z", "7z|x|-p***|a.7z"},
    {"redis-cli|-a|tiger|get|x", "redis-cli|-a|***|get|x"},
    {"cqlsh|-u|me|-p|tiger|host", "cqlsh|-u|me|-p|***|host"},
    {"mosquitto_pub|-u|me|-P|tiger|-t|x", "mosquitto_pub|-u|me|-P|***|-t|x"},
    {"bcp|db.t|out|x|-U|me|-Ptiger", "bcp|db.t|out|x|-U|me|-P***"},
    {"unar|-p|tiger|a.rar", "unar|-p|***|a.rar"},
    {"rpcclient|-U|me%tiger|host", "rpcclient|-U|me%***|host"},
    {"pkcs11-tool|-p|1234|-O", "pkcs11-tool|-p|***|-O"},
    {"keytool|-storepass|tiger|-keypass|lion", "keytool|-storepass|***|-keypass|***"},
    {"pdftotext|-upw|tiger|-opw|lion|a.pdf", "pdftotext|-upw|***|-opw|***|a.pdf"},
    /* command lines inside of one argument */
    {"sh|-c|mysql -ptiger db; run --token abc x", "sh|-c|mysql -p*** db; run --token *** x"},
    {"sh|-c|run '--password=a b' x", "sh|-c|run '--password=***' x"},
    {"sh|-c|curl -H \"Authorization: Bearer abc\" x", "sh|-c|curl -H \"Authorization: ***\" x"},
    /* not secret */
    {"python3|train.py|--max-tokens=512|--pad-token=<pad>|--tokenizer=gpt2|--num_tokens|7", NULL},
    {"run|--key-dim=64|--keys|a|--monkey=1|--keyboard|us", NULL},
    {"run|--no-password|x|--use-auth-token|y|--ask-password|z", NULL},
    {"run|--password-file=/etc/pw|--secret-name=db", NULL},
    {"run|--author=me|--passes=3|--bypass=no|compass=n", NULL},
    {"docker|run|-p|8080:80|image", NULL},
    /* of programs that nobody knows, -p is anything: a port, a path, a precision */
    {"./train|-p|float16|-P|4|-k|nearest", NULL},
    {"mkdir|-p|runs/one", NULL},
    {"ssh|git@host|https://me@host/x", NULL},
    {"run|sk-learn-contrib-examples|hf_transformer_model_training_loop", NULL},
    {"run|/home/user/projects/Resnet50/checkpoint/epoch1.pt", NULL},
    {"run|da39a3ee5e6b4b0d3255bfef95601890afd80709", NULL},
    {"python3|-m|torch.distributed.run|--nproc-per-node=8|train.py:42|std::key", NULL},
    {"run|--a=b=c|x=1|y:2|", NULL},
};

static void mask_arguments(const char *command, char *kept)
{
	struct sn_secrets secrets = {0};
	char argument[512], masked[1024];
	*kept = 0;
	for (const char *at = command;; at++) {
		size_t length = strcspn(at, "|");
		snprintf(argument, sizeof(argument), "%.*s", (int)length, at);
		sn_secret_mask(&secrets, argument, masked, sizeof(masked));
		strcat(kept, masked);
		at += length;
		if (!*at)
			break;
		strcat(kept, "|");
	}
}

static void secrets_are_masked_and_nothing_else(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char kept[4096];
		mask_arguments(cases[i].command, kept);
		assert_string_equal(kept, cases[i].kept ? cases[i].kept : cases[i].command);
		mask_arguments(kept, kept + 2048); /* what is masked stays so */
		assert_string_equal(kept + 2048, kept);
	}
}

static void lines_are_masked(void **state)
{
	static const struct {
		const char *line, *kept;
	} lines[] = {
	    {"mysql -u me -ptiger db", "mysql -u me -p*** db"},
	    {"run --password tiger --fast", "run --password *** --fast"},
	    {"run '--password=a b' x", "run '--password=***' x"},
	    {"run --password=tiger x", "run --password=*** x"},
	    {"run --token 'a b' x", "run --token '***' x"},
	    {"python3 train.py --lr 0.1", "python3 train.py --lr 0.1"},
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char masked[256];
		sn_secret_mask_line(lines[i].line, masked, sizeof(masked));
		assert_string_equal(masked, lines[i].kept);
	}
}

/* Whatever fits, and not a byte behind it. */
static void a_full_buffer_is_cut(void **state)
{
	for (size_t bytes = 1; bytes < 32; bytes++) {
		char masked[40];
		struct sn_secrets secrets = {0};
		memset(masked, '#', sizeof(masked));
		sn_secret_mask(&secrets, "a b --password=tiger", masked, bytes);
		assert_true(strlen(masked) < bytes && masked[bytes] == '#');
		assert_null(strstr(masked, "t"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(secrets_are_masked_and_nothing_else),
	    cmocka_unit_test(lines_are_masked),
	    cmocka_unit_test(a_full_buffer_is_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
