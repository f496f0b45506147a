// SPDX-License-Identifier: Apache-2.0
// Node's basics: child processes, worker threads, timers, sockets, files, signals. Prints what came of each.
import { spawn, spawnSync, fork, execFileSync } from "node:child_process";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import net from "node:net";
import http from "node:http";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createHash } from "node:crypto";
import { gzipSync, gunzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";

const self = fileURLToPath(import.meta.url);
const say = (what, ...values) => console.log(`${what}: ${values.map((value) => JSON.stringify(value)).join(" ")}`);
const once = (emitter, name) => new Promise((resolve) => emitter.once(name, (...values) => resolve(values)));

function compute(ms) {
	const end = Date.now() + ms;
	let sum = 0;
	while (Date.now() < end) for (let i = 0; i < 10000; i++) sum = (sum * 31 + i) | 0;
	return typeof sum;
}

async function children() {
	say("spawnSync", spawnSync("cat", { input: "x".repeat(3_000_000), maxBuffer: 1 << 24 }).stdout.length);
	say("exit code", spawnSync("sh", ["-c", "exit 7"]).status, spawnSync("sh", ["-c", "kill -TERM $$"]).signal);
	const child = spawn("sh", ["-c", "while read line; do echo got $line; done; exit 3"]);
	let text = "";
	child.stdout.on("data", (data) => (text += data));
	for (let i = 0; i < 50; i++) child.stdin.write(`line ${i}\n`);
	child.stdin.end();
	say("pipe", await once(child, "close"), createHash("sha256").update(text).digest("hex").slice(0, 12));
	const messenger = fork(self, ["messenger"]);
	messenger.send(20);
	say("message", (await once(messenger, "message"))[0], await once(messenger, "exit"));
	const sleeper = spawn("sleep", ["60"]);
	await sleep(20);
	sleeper.kill("SIGINT");
	say("killed", await once(sleeper, "exit"));
	say("execFile", execFileSync("printf", ["%s", "text"]).toString());
}

async function signals() {
	const counts = {};
	const names = ["SIGUSR2", "SIGHUP", "SIGURG", "SIGWINCH", "SIGTERM"];
	for (const name of names) process.on(name, () => (counts[name] = (counts[name] ?? 0) + 1));
	for (let round = 0; round < 5; round++)
		for (const name of names) {
			process.kill(process.pid, name);
			compute(2);
			await sleep(3);
		}
	say("signals", counts);
}

async function workers() {
	const results = [];
	for (let i = 0; i < 4; i++) results.push(once(new Worker(self, { workerData: i }), "message"));
	say("workers", (await Promise.all(results)).flat());
	const endless = new Worker("for (;;);", { eval: true });
	await once(endless, "online");
	say("terminated", await endless.terminate());
}

async function timers() {
	let ticks = 0;
	const interval = setInterval(() => ticks++, 5);
	const start = Date.now();
	for (let i = 0; i < 10; i++) {
		compute(3);
		await sleep(10);
	}
	clearInterval(interval);
	say("timers", Date.now() - start >= 100, ticks >= 5 && ticks <= 100);
}

async function sockets() {
	const echo = net.createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
	await once(echo, "listening");
	const socket = net.connect(echo.address().port, "127.0.0.1");
	const data = Buffer.alloc(4 << 20, "0123456789");
	const hash = createHash("sha256");
	let bytes = 0;
	socket.on("data", (piece) => {
		hash.update(piece);
		bytes += piece.length;
		if (bytes === data.length) socket.end();
	});
	socket.write(data);
	await once(socket, "close");
	say("echo", bytes, hash.digest("hex") === createHash("sha256").update(data).digest("hex"));
	echo.close();
	const server = http.createServer((request, response) => response.end(request.url)).listen(0, "127.0.0.1");
	await once(server, "listening");
	const answers = await Promise.all(
		Array.from({ length: 100 }, (_, i) =>
			fetch(`http://127.0.0.1:${server.address().port}/${i}`).then((answer) => answer.text()),
		),
	);
	say("http", answers.every((text, i) => text === `/${i}`));
	server.closeAllConnections();
	server.close();
}

async function files() {
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), "behave-node-"));
	const file = path.join(folder, "file");
	await fs.promises.writeFile(file, Buffer.alloc(8 << 20, 7));
	say("file", (await fs.promises.readFile(file)).length, fs.statSync(file).size);
	const piped = path.join(folder, "copy");
	fs.createReadStream(file).pipe(fs.createWriteStream(piped));
	while (!fs.existsSync(piped) || fs.statSync(piped).size < 8 << 20) await sleep(5);
	say("gzip", gunzipSync(gzipSync(fs.readFileSync(piped))).length);
	const changes = fs.watch(folder);
	const told = once(changes, "change");
	await sleep(20);
	fs.writeFileSync(path.join(folder, "new"), "x");
	say("watch", (await told)[1]);
	changes.close();
	fs.rmSync(folder, { recursive: true });
}

if (process.argv[2] === "messenger") {
	process.on("message", (value) => {
		compute(20);
		process.send(value * 2, () => process.exit(5));
	});
} else if (!isMainThread) {
	compute(60);
	parentPort.postMessage(workerData * 10);
} else {
	for (const part of [children, signals, workers, timers, sockets, files]) await part();
	let text = "";
	for (let i = 0; i < 20000; i++) text += `line ${i}\n`;
	process.stdout.write(text); // a megabyte to whoever reads
	process.exitCode = 9;
}
