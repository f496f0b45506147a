/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the page: decodes the data that it carries and shows it, or says why it cannot. */
import { decode, unpack } from './format/decode.ts';
import { createPage } from './views/page.ts';
import type { Page } from './views/page.ts';

declare global {
	interface Window {
		/* The running page, for tests and for the browser's console. */
		sonde?: Page;
	}
}

function fail(error: unknown): void {
	const note = document.createElement('p');
	note.className = 'failure';
	note.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}.`;
	document.getElementById('app')!.replaceChildren(note);
}

async function start(): Promise<void> {
	performance.mark('sonde:start');
	const data = document.getElementById('sonde-data')!;
	const bytes = await unpack(data.textContent ?? '', data.dataset['encoding'] ?? '');
	data.textContent = '';
	performance.mark('sonde:unpacked');
	const profile = decode(bytes);
	performance.mark('sonde:decoded');
	window.sonde = createPage(profile, document.getElementById('app')!);
	requestAnimationFrame(() => {
		performance.mark('sonde:shown');
		performance.measure('sonde:load', 'sonde:start', 'sonde:shown');
	});
}

start().catch(fail);
