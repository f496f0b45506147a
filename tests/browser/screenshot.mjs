/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a picture of an exported page, as the README shows one:
 *
 *	node tests/browser/screenshot.mjs PAGE.html OUT.png [light|dark] [ADDRESS HASH] [WIDTH HEIGHT]
 */
import { resolve } from 'node:path';
import { open, startBrowser, stopBrowser } from './page.mjs';

const [file, out, colorScheme = 'light', hash = '', width = '1280', height = '720'] = process.argv.slice(2);
if (!file || !out) {
	console.error('usage: node tests/browser/screenshot.mjs PAGE.html OUT.png [light|dark] [HASH] [WIDTH HEIGHT]');
	process.exit(129);
}
const browser = await startBrowser({ colorScheme, viewport: { width: Number(width), height: Number(height) } });
const { page } = await open(browser, resolve(file), hash && `#${hash.replace(/^#/, '')}`);
await page.waitForTimeout(300);
await page.screenshot({ path: out });
await stopBrowser(browser);
