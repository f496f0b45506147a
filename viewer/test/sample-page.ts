/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a page with a made-up profile: node .tests/sample-page.mjs training|compiled|hostile|deep|empty|incomplete|CONTEXTS FILE. */
import { readFileSync, writeFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import { encode } from './encode.ts';
import type { Sample } from './encode.ts';
import { compiled, deep, empty, hostile, incomplete, large, training } from './samples.ts';

const [what = 'training', file = 'page.html'] = process.argv.slice(2);
const made: Record<string, () => Sample> = { training, compiled, hostile, deep: () => deep(5000), empty, incomplete };
const payload = encode(made[what]?.() ?? large(Number(what)));
const page = readFileSync(new URL('../dist/page.html', import.meta.url), 'utf8')
	.replace('@TITLE@', 'Sonde')
	.replace('@ENCODING@', 'deflate')
	.replace('@DATA@', () => deflateSync(payload, { level: 9 }).toString('base64'));
writeFileSync(file, page);
