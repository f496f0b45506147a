/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles the page into dist/page.html, which the C build embeds: style and script inlined, the
 * marks @TITLE@, @ENCODING@ and @DATA@ left for `sonde export`. With --tests, bundles the tests
 * into .tests/ instead; with --check, fails where dist/page.html is not what the sources give.
 */
import { build } from 'esbuild';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const root = new URL('.', import.meta.url).pathname;
const target = ['es2022', 'chrome103', 'firefox113', 'safari16.4'];

async function bundle(entry) {
	const result = await build({
		entryPoints: [root + entry], bundle: true, minify: true, write: false, format: 'iife', target, charset: 'ascii',
		legalComments: 'none',
	});
	return result.outputFiles[0].text.trim();
}

async function page() {
	const script = await bundle('src/main.ts');
	const style = await bundle('src/style.css');
	if (/<\/script|@(TITLE|ENCODING|DATA)@/i.test(script)) throw new Error('the script contains a mark of the page');
	return readFileSync(root + 'src/page.html', 'utf8')
		.replace('@STYLE@', () => style)
		.replace('@SCRIPT@', () => script);
}

async function tests() {
	rmSync(root + '.tests', { recursive: true, force: true });
	const entryPoints = readdirSync(root + 'test').filter((name) => name.endsWith('.test.ts') || name === 'sample-page.ts').map((name) => `${root}test/${name}`);
	await build({ entryPoints, bundle: true, platform: 'node', format: 'esm', outdir: root + '.tests', outExtension: { '.js': '.mjs' } });
}

if (process.argv.includes('--tests')) {
	await tests();
} else if (process.argv.includes('--check')) {
	if (readFileSync(root + 'dist/page.html', 'utf8') !== (await page())) {
		console.error('viewer/dist/page.html is not what viewer/src gives: run npm run build in viewer/ and commit it');
		process.exit(1);
	}
} else {
	mkdirSync(root + 'dist', { recursive: true });
	const text = await page();
	writeFileSync(root + 'dist/page.html', text);
	console.log(`dist/page.html: ${text.length} bytes`);
}
