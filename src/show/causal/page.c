/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a page of causes (docs/format/html.md); see page.h. */
#include "page.h"

#include "base/output.h"
#include "show/page/viewer.h"

#include <stdlib.h>

/* The picture as a text, and the ends of its arrows, by which the viewer checks it. */
static int put_drawing(const struct sn_causal_drawing *drawing, struct sn_json *json)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	int result = out ? sn_causal_svg(drawing, out) : SN_ERR_MEMORY;
	if (out && fclose(out))
		result = SN_ERR_MEMORY;
	if (!result) {
		struct sn_json exact = {.out = json->out, .needs_comma = json->needs_comma};
		sn_json_put_text(&exact, "picture", text); /* with its line ends */
		sn_json_open(json, "arrows", '[');
		for (size_t i = 0; i < drawing->arrow_count; i++) {
			sn_json_number(json, drawing->arrows[i].from);
			sn_json_number(json, drawing->arrows[i].to);
		}
		sn_json_end(json, ']');
	}
	free(text);
	return result;
}

static void put_raw(struct sn_json *json, const char *key, const char *text)
{
	if (!text)
		return;
	sn_json_key(json, key);
	fputs(text, json->out);
	json->needs_comma = true;
}

static int put_header(const struct sn_causal_page *page, FILE *out)
{
	struct sn_json json = {.out = out, .is_shown = true};
	int result = 0;
	sn_json_begin(&json, '{');
	sn_json_texts(&json, {"page", "causal"}, {"title", page->title});
	sn_json_open(&json, "sentences", '[');
	for (size_t i = 0; i < page->sentence_count; i++)
		sn_json_string(&json, page->sentences[i]);
	sn_json_end(&json, ']');
	if (page->drawing)
		result = put_drawing(page->drawing, &json);
	put_raw(&json, "graph", page->graph_json);
	put_raw(&json, "variability", page->variability_json);
	if (!result && page->parallel)
		result = sn_parallel_json(page->parallel, page->names, &json);
	sn_json_end(&json, '}');
	return ferror(out) ? SN_ERR_MEMORY : result;
}

static int write_page(const struct sn_causal_page *page, FILE *out, struct sn_error *error)
{
	struct sn_buffer payload = {0}, columns = {0};
	char *header = NULL;
	size_t length;
	FILE *text = open_memstream(&header, &length);
	int result = text ? put_header(page, text) : SN_ERR_MEMORY;
	if (text && fclose(text))
		result = SN_ERR_MEMORY;
	if (result) {
		sn_fail_code(error, result);
	} else {
		sn_viewer_payload(&payload, header, length, &columns);
		result = sn_viewer_write(out, page->title, &payload, error);
	}
	sn_buffer_release(&payload);
	free(header);
	return result;
}

int sn_causal_page(const struct sn_causal_page *page, const char *path, struct sn_error *error)
{
	struct sn_output output;
	int result = sn_output_open(&output, path, error);
	if (result)
		return result;
	FILE *out = sn_output_stream(&output);
	result = out ? write_page(page, out, error) : sn_fail_memory(error);
	if (out)
		fclose(out);
	if (!result)
		return sn_output_commit(&output, error);
	sn_output_abandon(&output);
	return result;
}
